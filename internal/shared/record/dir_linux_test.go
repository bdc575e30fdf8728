package record

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A real full disk: a tmpfs too small for the probe, then one that fills up
// between two trials.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		size   string
		create bool
	}{{"512k", false}, {"2m", true}} {
		root := t.TempDir()
		if err := syscall.Mount("tmpfs", root, "tmpfs", 0, "size="+c.size); err != nil {
			t.Skipf("NOT RUN: mounting a tmpfs: %v", err)
		}
		t.Cleanup(func() {
			if err := syscall.Unmount(root, 0); err != nil {
				t.Error(err)
			}
		})
		d, err := Create(root, "quick", noon, sequence(1))
		if !c.create {
			if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), root) {
				t.Errorf("creating on a full disk: got %v, want no space and the path", err)
			}
			if left, _ := os.ReadDir(root); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		requests := sample(20_000)
		for n := 1; ; n++ {
			err := d.WriteTrial(Trial{Number: n, Arm: "pool"}, requests, Files{})
			if err == nil && n < 50 {
				continue
			}
			if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), root) {
				t.Errorf("trial %d on a full disk: got %v, want no space and the path", n, err)
			}
			for trial, err := range d.Trials() {
				if err != nil || len(trial.Requests) != len(requests) {
					t.Errorf("earlier trial %d: %d requests, %v", trial.Number, len(trial.Requests), err)
				}
			}
			if left, _ := d.Unfinished(); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			break
		}
	}
}

// A pipe in the place of a record's file would keep its reader waiting for ever. It is refused, and a
// directory with one is not listed as a run.
func TestPipesInARecord(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	d, err := Create(root, "quick", noon, sequence(1))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(d.WriteRun(Run{Schema: Schema}), d.WriteTrial(Trial{Schema: Schema, Number: 1, Arm: "pool"}, sample(5), Files{})); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"trials/001-pool/requests.col.gz", "trials/001-pool/stamps.col.gz", "trials/001-pool/trial.json", "why.json", "signature", "run.json"} {
		path := filepath.Join(d.Path(), file)
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		var errs []error
		for _, err := range d.Trials() {
			errs = append(errs, err)
		}
		_, explained := d.ReadJSON("why.json", &struct{}{})
		_, _, opened := Open(filepath.Base(d.Path()), root)
		switch failure := errors.Join(append(errs, explained, opened)...); {
		case d.Signed(Plan{}):
			t.Error("a pipe is a signature")
		case file == "signature":
		case failure == nil || !strings.Contains(failure.Error(), "not a regular file"):
			t.Errorf("%s: got %v, want that it is no regular file", file, failure)
		}
	}
	if runs, err := Runs(root); len(runs) > 0 || err != nil {
		t.Errorf("runs %v, %v; want none", runs, err)
	}
}

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
