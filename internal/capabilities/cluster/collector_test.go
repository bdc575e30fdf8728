package cluster

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestCollected: what a command prints and records arrives, with its exit code; nothing is written outside
// of the root; a stream that breaks off is an error.
func TestCollected(t *testing.T) {
	t.Chdir(t.TempDir())
	script := "#!/bin/sh\n[ $1 = order ] && [ \"$(cat)\" = asked ] || exit 9\nmkdir -p runs/r1/trials && echo figures > runs/r1/trials/1 && ln -s r1 runs/latest && echo the answer && exit 3\n"
	if err := os.WriteFile("program", []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("request", []byte("asked"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var said bytes.Buffer
	ended := make(chan error, 1)
	go func() { ended <- Collect(ctx, []string{"./program", "order"}, "request", &said) }()
	var packed bytes.Buffer
	if err := Pack(t.Context(), &packed); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; err != nil || !strings.Contains(said.String(), "exit code 3") {
		t.Errorf("%v, %q", err, said.String())
	}
	root := filepath.Join(t.TempDir(), "runs")
	got, err := unpack(bytes.NewReader(packed.Bytes()), root, mostFetched)
	if err != nil || got.Exit != 3 || string(got.Answer) != "the answer\n" || len(got.Dirs) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if text, err := os.ReadFile(filepath.Join(root, "r1", "trials", "1")); err != nil || string(text) != "figures\n" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := unpack(bytes.NewReader(packed.Bytes()[:packed.Len()-20]), root, mostFetched); err == nil {
		t.Error("half of a stream is no error")
	}
	for _, most := range []int64{0, 1000, 2048} { // within the first file, and between two
		if _, err := unpack(bytes.NewReader(packed.Bytes()), root, most); !errors.Is(err, ErrTooLarge) {
			t.Errorf("more than %d bytes: %v, want it refused", most, err)
		}
	}
}

// TestFetchToAFullDisk: records that cannot be written are an error at once, although kubectl has more to write; they are not
// fetched again.
func TestFetchToAFullDisk(t *testing.T) {
	dir := t.TempDir()
	var record bytes.Buffer
	zipped := gzip.NewWriter(&record)
	if err := errors.Join(zipped.Close(), os.WriteFile(filepath.Join(dir, "record"), record.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\necho \"$@\" >> " + dir + "/asked\ncat " + dir + "/record\nexec cat /dev/zero\n"
	if err := os.WriteFile(filepath.Join(dir, "kubectl"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	// A directory below a file cannot be made.
	_, err := Kubectl{Namespace: "ns"}.Fetch(ctx, "run", "pod", filepath.Join(dir, "record", "runs"))
	if _, here := errors.AsType[*fs.PathError](err); !here || ctx.Err() != nil {
		t.Errorf("%v, and %v; want the error of the disk at once", err, ctx.Err())
	}
	if asked, err := os.ReadFile(filepath.Join(dir, "asked")); err != nil || strings.Count(string(asked), "\n") != 1 {
		t.Errorf("asked %q, %v; want it once", asked, err)
	}
}

// TestInterrupt: an interrupted command ends, and its record can be fetched.
func TestInterrupt(t *testing.T) {
	t.Chdir(t.TempDir())
	script := "#!/bin/sh\ntrap 'echo so far; exit 130' INT\ntouch ready\nwhile :; do sleep 0.05; done\n"
	if err := os.WriteFile("program", []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Interrupt(); err == nil {
		t.Error("nothing runs yet, and there is no error")
	}
	if err := os.WriteFile("request", []byte("asked"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Collect(ctx, []string{"./program"}, "request", &bytes.Buffer{}) }()
	for begun := time.Now(); time.Since(begun) < 10*time.Second; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat("ready"); err == nil && Interrupt() == nil {
			break
		}
	}
	var packed bytes.Buffer
	if err := Pack(t.Context(), &packed); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if got, err := unpack(&packed, t.TempDir(), mostFetched); err != nil || got.Exit != 130 {
		t.Errorf("%+v, %v", got, err)
	}
}
