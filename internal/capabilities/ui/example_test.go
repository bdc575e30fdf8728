package ui

import (
	"archive/tar"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"io"
	"net/http"
	"os"
	"path"
	"strings"
	"testing"
	"time"

	"schedlab/internal/shared/record"
)

// Where there is no run, the first page has a report, marked as an example, and leads to the whole of it. With a run it does not.
func TestExample(t *testing.T) {
	t.Parallel()
	v := serve(t, Config{})
	_, empty := v.get("/")
	code, whole := v.get("/example/")
	for _, page := range []string{empty, whole} {
		if code != http.StatusOK || !strings.Contains(page, "An example, and no run of yours") || !strings.Contains(page, "pool is slower") {
			t.Errorf("%d: no example, marked as one, in\n%.3000s", code, page)
		}
	}
	if !strings.Contains(empty, `href="/example/"`) || !strings.Contains(whole, `href="/"`) {
		t.Error("one does not lead to the other")
	}
	dir, err := record.Create(v.Root, "quick", time.Now(), func() uint32 { return 1 })
	if err == nil {
		err = dir.WriteRun(record.Run{Name: dir.Name(), Status: record.Interrupted})
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, body := v.get("/"); strings.Contains(body, "An example") {
		t.Error("there is an example beside a run")
	}
}

// The example is what the frozen record has.
func TestExampleIsFrozen(t *testing.T) {
	t.Parallel()
	archive, err := os.Open("../../frozen/testdata/compare.tar.bz2")
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	unpacked, err := gzip.NewReader(bytes.NewReader(exampleRun))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	for files := tar.NewReader(bzip2.NewReader(archive)); ; {
		file, err := files.Next()
		if err != nil {
			t.Fatalf("no run.json in the record: %v", err)
		}
		if path.Base(file.Name) != "run.json" {
			continue
		}
		if want, err := io.ReadAll(files); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%v: the example is not the frozen record; gzip -9n its run.json into example.json.gz", err)
		}
		return
	}
}
