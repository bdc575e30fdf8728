package report

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
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
		golden(t, filepath.Join("testdata", name+".brief.txt"), got)
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
