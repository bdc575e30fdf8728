package process

import (
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
)

// atStart is when a server ends that cannot read its command line.
const atStart = "before it answered"

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
	if words := complaint(log); when == atStart && words != "" {
		said = "it says: " + words
	}
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

var badFlag = regexp.MustCompile(`(?i)flag provided but not defined|(unknown|unrecogni[sz]ed|invalid|illegal) (\S+ )?(flag|option|argument|value)|^error: |: error: `)

// complaint is the line of a log that says which flag its program cannot read: programs print
// their usage after it. Where no line is known as that, it is the first, if usage follows. "" for none.
func complaint(log string) string {
	first, usage := "", false
	for l := range strings.Lines(log) {
		switch l = strings.TrimSpace(l); {
		case badFlag.MatchString(l):
			return l[:min(len(l), logTail)]
		case first == "":
			first = l
		case strings.HasPrefix(strings.ToLower(l), "usage"):
			usage = true
		}
	}
	if !usage {
		return ""
	}
	return first[:min(len(first), logTail)]
}

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
