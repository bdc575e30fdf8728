// Package frozen holds recorded runs of an older schedlab and what it said of them. Its test judges
// them again, so that a change of types, of names or of files that means to change no answer can
// show that it changed none.
//
// testdata has an archive and a list of answers for each record; README.md there says where they are
// from. projection_test.go is the only file that knows the types of a result.
package frozen

import (
	"archive/tar"
	"compress/bzip2"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/shared/record"
)

// Not -update: 'make golden' must not rewrite what is frozen.
var freeze = flag.Bool("freeze", false, "write the answers of this schedlab into testdata")

// Each record gives the answers that it gave when it was frozen.
func TestFrozen(t *testing.T) {
	archives, err := filepath.Glob("testdata/*.tar.bz2")
	if err != nil {
		t.Fatal(err)
	}
	if len(archives) < 12 {
		t.Errorf("%d records, twelve were frozen", len(archives))
	}
	for _, archive := range archives {
		name := strings.TrimSuffix(filepath.Base(archive), ".tar.bz2")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if info, err := os.Stat(archive); err != nil || info.Size() > 500_000 {
				t.Errorf("%s: more than 500 kB (%v)", archive, err)
			}
			got := projected(t, opened(t, archive)...)
			answers := filepath.Join("testdata", name+".json")
			if *freeze {
				if err := os.WriteFile(answers, got, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(answers)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
				t.Errorf("%s: other answers than when it was frozen (-, +):\n%s", name, diff)
			}
		})
	}
}

// A run is a record and what run.json says of it.
type run struct {
	dir *record.Dir
	record.Run
}

// opened unpacks an archive and opens the runs in it, the oldest first.
func opened(t *testing.T, archive string) (runs []run) {
	t.Helper()
	root := t.TempDir()
	if err := unpack(archive, root); err != nil {
		t.Fatalf("unpacking %s: %v", archive, err)
	}
	names, err := record.Runs(root)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(names)
	for _, name := range names {
		dir, r, err := record.Open(name, root)
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, run{dir, r})
	}
	if len(runs) == 0 {
		t.Fatalf("%s holds no run", archive)
	}
	return runs
}

// unpack writes the files of an archive below root.
func unpack(archive, root string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	r := tar.NewReader(bzip2.NewReader(f))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		name := filepath.Join(root, filepath.FromSlash(h.Name))
		data, err := io.ReadAll(r)
		err = errors.Join(err, os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, data, 0o644))
		if err != nil {
			return err
		}
	}
}
