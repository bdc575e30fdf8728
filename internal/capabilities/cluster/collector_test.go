package cluster

import (
	"bytes"
	"context"
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
	got, err := unpack(bytes.NewReader(packed.Bytes()), root)
	if err != nil || got.Exit != 3 || string(got.Answer) != "the answer\n" || len(got.Dirs) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if text, err := os.ReadFile(filepath.Join(root, "r1", "trials", "1")); err != nil || string(text) != "figures\n" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := unpack(bytes.NewReader(packed.Bytes()[:packed.Len()-20]), root); err == nil {
		t.Error("half of a stream is no error")
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
	if got, err := unpack(&packed, t.TempDir()); err != nil || got.Exit != 130 {
		t.Errorf("%+v, %v", got, err)
	}
}
