package record

import (
	"errors"
	"os"
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
