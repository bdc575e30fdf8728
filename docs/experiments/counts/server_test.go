package main

import (
	"os/exec"
	"strings"
	"testing"
)

// The error for a server that ends by itself has what it said.
func TestServerEndsByItself(t *testing.T) {
	t.Parallel()
	if _, err := start(t.Context(), "cat {addr}"); err == nil || !strings.Contains(err.Error(), ": cat: ") {
		t.Errorf("before it listened: got %v", err)
	}
	s := &server{cmd: exec.Command("cat", "no-such-file"), ended: make(chan error, 1)}
	s.cmd.Stderr = &s.said
	s.ended <- s.cmd.Run()
	if err := s.kill(); err == nil || !strings.Contains(err.Error(), ": cat: ") {
		t.Errorf("later: got %v", err)
	}
}

func TestTail(t *testing.T) {
	t.Parallel()
	var last tail
	for range 1000 {
		last.Write([]byte("line\n"))
	}
	if want := strings.Repeat("line\n", 400); string(last) != want {
		t.Errorf("got %d bytes, want the last %d", len(last), len(want))
	}
}
