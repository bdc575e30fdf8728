package process

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
)

// Died describes an exit nobody asked for.
func (p *Process) Died(when string) error {
	state := "exit status 0"
	switch {
	case errors.Is(p.err, exec.ErrWaitDelay):
		state += ", leaving children behind"
	case p.err != nil:
		state = p.err.Error()
	}
	log := p.log.String()
	said := "its log ends with: " + lastWords(log)
	if killed(p.err) {
		said = "signal 9 leaves no last words: somebody's kill -9, or the kernel when memory ran out (dmesg tells)"
	}
	return &DiedError{
		msg:  fmt.Sprintf("the server ended %s (%s); %s", when, state, said),
		port: portTaken(log),
	}
}

// killed reports an end by SIGKILL, which no program sees coming.
func killed(err error) bool {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// portTaken is what servers say of EADDRINUSE: the C library, Go, and our own.
func portTaken(log string) bool {
	log = strings.ToLower(log)
	return strings.Contains(log, "address already in use") || strings.Contains(log, "the port is in use")
}

// DiedError is the end of a server that nobody asked for.
type DiedError struct {
	msg  string
	port bool // it says that somebody has its port
}

func (e *DiedError) Error() string { return e.msg }

// lastWords is the line of a log that says most about an end: the last panic,
// since a stack follows it, or else the last line.
func lastWords(log string) string {
	last := "(nothing)"
	panicked := false
	for l := range strings.Lines(log) {
		l = strings.TrimSpace(l)
		now := strings.HasPrefix(l, "panic: ") || strings.HasPrefix(l, "fatal error: ")
		if now || l != "" && !panicked {
			last, panicked = l, now
		}
	}
	return last[max(0, len(last)-logTail):]
}
