package loadtests

import (
	"io/fs"
	"slices"
	"strings"
	"testing"
)

// Each scenario is in one group, and no group names another one.
func TestGroups(t *testing.T) {
	files, err := fs.Glob(Scenarios, "*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all, grouped []string
	for _, file := range files {
		all = append(all, strings.TrimSuffix(file, ".yaml"))
	}
	for _, g := range Groups() {
		grouped = append(grouped, g.Names...)
	}
	slices.Sort(all) // files have their suffix in the order
	if slices.Sort(grouped); !slices.Equal(grouped, all) {
		t.Errorf("the groups have\n%q, want\n%q", grouped, all)
	}
}
