package attack

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The results of an attack get their name when it is free, and overwrite nothing that
// took it meanwhile.
func TestGive(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	holds := func(path, want string) {
		t.Helper()
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v; want %q", filepath.Base(path), got, err, want)
		}
	}
	free := filepath.Join(dir, "free.bin")
	if err := give(file("free.bin.part", "results"), free); err != nil {
		t.Error(err)
	}
	holds(free, "results")
	part, taken := file("taken.bin.part", "results"), file("taken.bin", "another's")
	if err := give(part, taken); err == nil || !strings.Contains(err.Error(), "was made meanwhile and is not overwritten; the results are in "+part) {
		t.Errorf("got %v, want that it is taken", err)
	}
	holds(taken, "another's")
	holds(part, "results")
}
