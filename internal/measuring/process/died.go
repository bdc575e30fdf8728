package process

import (
	"cmp"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
)

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
	exit, failed := errors.AsType[*exec.ExitError](p.err)
	switch words := complaint(log); {
	// A program cannot catch this signal, so its log does not mention it.
	case failed && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL:
		said = "no program can log a signal 9: it was somebody's kill -9, or the kernel when memory ran out (see dmesg)"
	// A server that cannot read its flags has just started, so later its log is not searched for that.
	case when == atStart && words != "":
		said = "it says: " + words
	}
	return &DiedError{fmt.Sprintf("the server ended %s (%s); %s", when, state, said), portTaken.MatchString(log)}
}

var (
	// portTaken matches messages for EADDRINUSE: of the C library, of Go, or of our own server. Start then
	// tries another port.
	portTaken = regexp.MustCompile(`(?i)address already in use|the port is in use`)
	// badFlag matches messages of common flag parsers about a flag that they cannot read.
	badFlag = regexp.MustCompile(`(?im)^(.*(flag provided but not defined|(unknown|unrecogni[sz]ed|invalid|illegal) (\S+ )?(flag|option|argument|value)|: error: )|\s*error: ).*`)
	// beforeUsage matches the first line of a log that goes on to print a usage.
	beforeUsage = regexp.MustCompile(`(?is)^\s*([^\n]+)\n(.*\n)?[ \t]*usage`)
	// panics matches the line that a stack follows.
	panics = regexp.MustCompile(`(?m)^\s*(panic: |fatal error: ).*`)
)

// complaint returns the line of a log that says which flag the program cannot read. Programs print
// their usage after that line, so the last line would not help. If no line looks like such a
// message, complaint returns the first line of a log that goes on to print a usage, else "".
func complaint(log string) string {
	line := badFlag.FindString(log)
	if first := beforeUsage.FindStringSubmatch(log); line == "" && first != nil {
		line = first[1]
	}
	line = strings.TrimSpace(line)
	return line[:min(len(line), logTail)]
}

// lastWords returns the line of a log that best explains why the server ended: the last panic (a
// stack follows it), or else the last line. The result has at most logTail bytes.
func lastWords(log string) string {
	log = strings.TrimSpace(log)
	last := cmp.Or(log[strings.LastIndexByte(log, '\n')+1:], "(nothing)")
	if all := panics.FindAllString(log, -1); all != nil {
		last = all[len(all)-1]
	}
	last = strings.TrimSpace(last)
	return last[max(0, len(last)-logTail):]
}
