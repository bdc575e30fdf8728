package process

import (
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
)

// atStart is Died's "when" for a server that ended before its first reply, as one does that cannot
// read its command line.
const atStart = "before it answered"

// Died returns a *[DiedError] for a server that ended before it was stopped. when says when, like
// "during its trial". Call it after the server has ended. The message has the exit status and one
// line of the log that explains it best.
func (p *Process) Died(when string) error {
	state := "exit status 0"
	switch {
	case errors.Is(p.err, exec.ErrWaitDelay):
		state += ", leaving children behind"
	case p.err != nil:
		state = p.err.Error()
	}
	log := string(p.log.Bytes())
	said := "its log ends with: " + lastWords(log)
	// A server that cannot read its flags has just started, so later its log is not searched for that.
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

// killed reports whether err is an exit by SIGKILL. A program cannot catch that signal, so its log
// does not mention it.
func killed(err error) bool {
	exit, ok := errors.AsType[*exec.ExitError](err)
	return ok && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL // -1 if no signal ended it
}

// portTaken reports whether a log has a message for EADDRINUSE: of the C library, of Go, or of our
// own server. Start then tries another port.
func portTaken(log string) bool {
	log = strings.ToLower(log)
	return strings.Contains(log, "address already in use") || strings.Contains(log, "the port is in use")
}

// DiedError is the error for a server that ended before it was stopped. It ends the trial, and the
// record tells why.
//
// This file turns the end of a process into a sentence for the user: which line of its log matters
// depends on when and how it ended.
type DiedError struct {
	msg  string
	port bool // its log says that its port is taken
}

// Error tells when and how the server ended, and the line of its log that explains it best.
func (e *DiedError) Error() string { return e.msg }

// badFlag matches messages of common flag parsers about a flag that they cannot read.
var badFlag = regexp.MustCompile(`(?i)flag provided but not defined|(unknown|unrecogni[sz]ed|invalid|illegal) (\S+ )?(flag|option|argument|value)|^error: |: error: `)

// complaint returns the line of a log that says which flag the program cannot read. Programs print
// their usage after that line, so the last line would not help. If no line looks like such a
// message, complaint returns the first line of a log that goes on to print a usage, else "".
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

// lastWords returns the line of a log that best explains why the server ended: the last panic (a
// stack follows it), or else the last line. The result has at most logTail bytes.
func lastWords(log string) string {
	last := "(nothing)"
	panicked := false
	for l := range strings.Lines(log) {
		l = strings.TrimSpace(l)
		now := strings.HasPrefix(l, "panic: ") || strings.HasPrefix(l, "fatal error: ")
		// After a panic only another panic replaces the line: the lines that follow are its stack.
		if now || l != "" && !panicked {
			last, panicked = l, now
		}
	}
	return last[max(0, len(last)-logTail):]
}
