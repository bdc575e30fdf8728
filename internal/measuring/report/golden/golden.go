// Package golden holds the pages of tests to the files that have them. Only tests import it.
package golden

import (
	"flag"
	"os"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite testdata")

// script finds the page's own script, which is in document/page.js and details.js and need not be in each file.
var script = regexp.MustCompile(`(?s)<script>// What a page can do.*?</script>`)

// Check reports an error if the file at path is not got, without the script of a page. With the test's flag -update it writes
// the file first.
func Check(t *testing.T, path, got string) {
	t.Helper()
	got = script.ReplaceAllLiteralString(got, "<script></script>")
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
}
