package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"schedlab/internal/capabilities/session"
)

// The first signal ends a command that waits for its input, of whatever kind: standard input, or a
// named pipe that nobody writes to, which even its opening waits for.
func TestInterruptedInput(t *testing.T) {
	t.Parallel()
	commands := []string{
		"audit -", "audit PIPE", "size --rate 300/s --histogram PIPE",
		"attack --targets -", "attack --targets PIPE", "attack --target http://127.0.0.1:1/ --body @PIPE",
		"attack --target http://127.0.0.1:1 --arrivals log(PIPE)",
		"compare PIPE", "compare --config PIPE", "compare --targets PIPE --arms nethttp,fasthttp", "compare --log PIPE --arms nethttp,fasthttp",
		"scenarios PIPE", "capacity PIPE", "doctor PIPE", "serve --config PIPE",
	}
	signals := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}
	for i, command := range commands {
		for kind, written := range map[string]bool{"never opened": false, "opened and silent": true} {
			if written && !strings.Contains(command, "PIPE") {
				continue
			}
			t.Run(command+" "+kind, func(t *testing.T) {
				t.Parallel()
				// A signal that comes before the program catches it ends it by itself.
				for wait := 500 * time.Millisecond; ; wait *= 2 {
					code, said, took := interruptReading(t, command, written, signals[i%len(signals)], wait)
					if code == -1 && wait < 10*time.Second {
						continue
					}
					if code != session.Interrupted || !strings.HasSuffix(said, "schedlab: interrupted\n") {
						t.Errorf("got exit code %d after %v, want %d and a word:\n%s", code, took, session.Interrupted, said)
					}
					return
				}
			})
		}
	}
}

// interruptReading starts a command and sends it one signal, after wait. It returns the exit code, the
// output, and how long the end took. PIPE in the command is a named pipe; written says that somebody
// holds it open.
func interruptReading(t *testing.T, command string, written bool, s syscall.Signal, wait time.Duration) (code int, said string, took time.Duration) {
	t.Helper()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if written {
		w, err := os.OpenFile(pipe, os.O_RDWR, 0) // does not wait for a reader
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
	}
	cmd := exec.Command("schedlab", strings.Fields(strings.ReplaceAll(command, "PIPE", pipe))...)
	cmd.Dir = dir
	in, err := cmd.StdinPipe() // which stays open
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		t.Fatalf("it did not wait for its input: %v\n%s", err, &out)
	case <-time.After(wait):
	}
	began := time.Now()
	if err := cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(childLimit):
		cmd.Process.Kill()
		<-ended
		t.Fatalf("it still waits for its input %v after %v", childLimit, s)
	}
	return cmd.ProcessState.ExitCode(), out.String(), time.Since(began)
}

// A signal that comes before a command begins its work keeps it from beginning, and one that comes
// later leaves the end to the command.
func TestBegin(t *testing.T) {
	t.Parallel()
	interrupted, cancel := context.WithCancelCause(t.Context())
	cancel(session.ErrInterrupted)
	j := new(job)
	if !j.idle() {
		t.Error("a job that has not begun is not idle")
	}
	if err := begin(context.WithValue(interrupted, jobKey{}, j)); !errors.Is(err, session.ErrInterrupted) {
		t.Errorf("after the interrupt: got %v, want %v", err, session.ErrInterrupted)
	}
	j = new(job)
	if err := begin(context.WithValue(interrupted, jobKey{}, j)); err != nil || j.idle() {
		t.Errorf("got %v, want a job that has begun", err)
	}
}
