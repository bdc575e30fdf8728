package report

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// The answer of every run fits a screen, and stands first.
func TestBriefGolden(t *testing.T) {
	t.Parallel()
	all := results()
	all["capacity"] = promised()
	for name, r := range all {
		var b bytes.Buffer
		if err := Brief(&b, r, TextOptions{}); err != nil {
			t.Fatal(err)
		}
		got := b.String()
		path := filepath.Join("testdata", name+".brief.txt")
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s differs (go test -update rewrites it): %s", path, diff)
		}
		lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
		if len(lines) > 24 {
			t.Errorf("%s has %d lines, want 24 at most", name, len(lines))
		}
		for _, l := range lines {
			if n := utf8.RuneCountInString(l); n > 100 {
				t.Errorf("%s has a line of %d columns: %s", name, n, l)
			}
		}
	}
}
