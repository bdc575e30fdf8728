package attack

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"schedlab/internal/measuring/load"
	"schedlab/internal/shared/request"
	"schedlab/internal/shared/responses"
)

// A write that failed is told at the end, too: it may have come after the last request, when there is nothing left to stop.
func TestFinishTellsOfAFailedWrite(t *testing.T) {
	t.Parallel()
	const full = "/dev/full"
	if _, err := os.Stat(full); err != nil {
		t.Skip(err)
	}
	files, err := OpenFiles(full, "", []load.Target{{Method: "GET", URL: "http://server/"}}, nil, load.ScheduledStamp)
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	failed := 0
	for seq := range 10_000 { // more than the buffer holds
		if err := files.Write(seq, request.Request{Done: 1, Status: 200}); err != nil {
			failed++
		}
	}
	if err := files.Finish(responses.NewHistogram()); !errors.Is(err, syscall.ENOSPC) || failed != 1 {
		t.Errorf("%d writes failed, and at the end %v; want one, and that there is no space", failed, err)
	}
}

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
