package record

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Profiles lie in a directory of their arm, also of arms whose names begin alike.
func TestWriteProfile(t *testing.T) {
	t.Parallel()
	d := Dir{path: t.TempDir()}
	seen := map[string]bool{}
	long := strings.Repeat("x", 60)
	for _, arm := range []string{"pool", "pool,workers=8", long + "1", long + "2"} {
		at, err := d.WriteProfile(arm, "cpu.pb.gz", func(w io.Writer) error { _, err := io.WriteString(w, arm); return err })
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(d.path, at)); err != nil || string(got) != arm || seen[at] {
			t.Errorf("%s: got %q at %s (%v), which another arm has: %v", arm, got, at, err, seen[at])
		}
		seen[at] = true
	}
	if !seen["profiles/pool/cpu.pb.gz"] || !seen["profiles/pool-workers-8/cpu.pb.gz"] {
		t.Errorf("got %v, want the arms' names in the paths", seen)
	}
}
