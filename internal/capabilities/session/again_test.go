package session

import (
	"archive/tar"
	"compress/bzip2"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"schedlab/internal/shared/record"
)

// A record of a cluster that is judged again has the flags of a cluster in its doubts, which the record does not hold.
func TestJudgedAgainWithTheWordsOfACluster(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	archive, err := os.Open("../../frozen/testdata/cluster.tar.bz2")
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	for files := tar.NewReader(bzip2.NewReader(archive)); ; {
		h, err := files.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(files)
		if err != nil || h.Typeflag != tar.TypeReg {
			continue
		}
		name := filepath.Join(root, filepath.Clean("/"+h.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	names, err := record.Runs(root)
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	dir, run, err := record.Open(names[0], root)
	if err != nil {
		t.Fatal(err)
	}
	run.Env.Site.ServerMachines, run.Env.Site.LoadMachines = []string{"node1"}, []string{"node1"}
	r, err := Judge(dir, run)
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for _, f := range r.Head().Doubts {
		said.WriteString(f.String() + "\n")
	}
	for _, want := range []string{
		"give the servers more with --server-cpu\n",
		"repeat with --server-cpu 2 or more\n",
		"servers and load shared node1 (--server-nodes and --load-nodes part them); ",
	} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("got the doubts\n%swant %q", said.String(), want)
		}
	}
}
