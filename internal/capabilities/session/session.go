// Package session carries out what a command, a page of the ui or a Pod asks. A request is a value: a
// [Compare], a [Gate] or a [Capacity], which may come as JSON, an [Explain], a [Doctor] or a [Size]. It says what is
// asked, where, within which limits and with which aim. A session plans it, runs it, writes its record, and returns
// an answer:
//
//	flags, a form, JSON   → request    checked; nothing has been looked at
//	Question.read         → questions  scenarios with the arms that were asked for
//	conduct               → plans      of all questions, after a short look at the machine
//	carryOut, pack        → records    with their reports, one for each question
//	Run                   → Answer     which the caller prints
//
// What happens meanwhile goes to an [Observer]. The package prints nothing, and knows no flag but by name, for the
// messages that say what to change.
package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"schedlab/internal/measuring/report"
	"schedlab/internal/measuring/runner"
	"schedlab/internal/measuring/scenario"
	"schedlab/internal/shared/mode"
	"schedlab/internal/shared/record"
	"schedlab/loadtests"
)

// A Program is the program that carries out requests.
type Program struct {
	Self    string               // its path: the servers with a mode are this very program
	Version string               // which records keep
	Modes   map[string]mode.Mode // the modes it serves, by name
	// Begin is called before the first thing that an interrupt must not leave half done: a server, load, a
	// record. An error ends the request. It may be nil.
	Begin func(context.Context) error
}

// begin calls Begin.
func (p Program) begin(ctx context.Context) error {
	if p.Begin == nil {
		return nil
	}
	return p.Begin(ctx)
}

// An Observer follows a request while it is carried out. Its methods are called one at a time, and never
// during a window that is measured.
type Observer interface {
	runner.Observer
	Step(doing string, done, total int, left time.Duration) // an [runner.Progress]
	Say(sentence string)                                    // for a person, once
	Machine(sentence string)                                // a defect of the machine, or what the run waits for; "" for none
	Ended(*record.Dir, record.Run)                          // a run, with its record
	Done()                                                  // the steps of a run have ended, and other output follows
	// Entry is called after each scenario of several, or cell of a grid. An error ends the request.
	Entry(report.PackEntry) error
	// Watched reports whether a person reads all this while it happens, who could end it.
	Watched() bool
}

// A Request is a Compare, a Gate or a Capacity.
type Request interface {
	// Run carries out the request. The answer holds what there is, also with an error; see [Error].
	Run(context.Context, Program, Observer) (Answer, error)
}

// An Answer is what came of a request. Which fields it has depends on the request: Plans of a dry run, Entries of
// several scenarios, and Result of any other, which is nil if nothing was measured.
type Answer struct {
	Result  record.Result
	Entries []report.PackEntry
	Page    string // file of a grid's page, "" for none
	Plans   []Plan
	Total   time.Duration // the limit of all Plans together, 0 for none
}

// A Plan is what a dry run found of one scenario or cell. NotRun is why it would not run: the machine lacks
// something, or the time that is left; nil if it would run.
type Plan struct {
	runner.Packed
	NotRun error
}

// Codes tell how a request ended. They are the exit codes of the program, so that a script can tell a bad answer
// (NotKept) from no answer (NoAnswer) and from a mistake in its own call (Mistake). Interrupted is the shell's code for
// SIGINT, 128+2.
const (
	Done        = 0
	Failed      = 1
	Mistake     = 2
	NotKept     = 3
	NoAnswer    = 4
	Interrupted = 130
)

// An Error says how a request ended. With a nil Err the answer has said everything, as of a gate that is worse. Flag is
// the flag that has the mistake, without dashes; "" for none or for several.
type Error struct {
	Code int
	Err  error
	Flag string
}

func (e *Error) Error() string { return fmt.Sprint(e.Err) }

// Unwrap returns the error without its code.
func (e *Error) Unwrap() error { return e.Err }

// Exit returns the error of a request for which the answer says everything: nil for Done.
func Exit(code int) error {
	if code == Done {
		return nil
	}
	return &Error{Code: code}
}

// Usage marks err as the user's to mend. nil stays nil.
func Usage(err error) error {
	if err == nil {
		return nil
	}
	return &Error{Code: Mistake, Err: err}
}

// Usagef is Usage of a formatted error. Such a message quotes the flag with its value, and tells what to give instead.
func Usagef(format string, args ...any) error { return Usage(fmt.Errorf(format, args...)) }

// usageOf is Usagef of a message about the value of one flag.
func usageOf(flag, format string, args ...any) error {
	return &Error{Code: Mistake, Err: fmt.Errorf(format, args...), Flag: flag}
}

// FlagOf returns the flag that an error is about, without dashes: the one to change. It is "" where the error names none,
// or several.
func FlagOf(err error) string {
	if bad, ok := errors.AsType[*runner.Impossible](err); ok {
		return bad.Flag
	}
	if bad, ok := errors.AsType[*Error](err); ok {
		return bad.Flag
	}
	return ""
}

// ErrInterrupted is the cause of a context that a signal has ended.
var ErrInterrupted = errors.New("interrupted")

// interrupted returns the error of a request that was interrupted before it measured anything; nil if it was not.
func interrupted(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return &Error{Code: Interrupted, Err: errors.New("interrupted; nothing was started")}
}

// Scenarios are the embedded scenarios. Find also reads files.
var Scenarios = scenario.Library{FS: loadtests.Scenarios}

// DefaultScenario is compared where no scenario is named, in half a minute.
const DefaultScenario = "quick"

// Find reads an embedded scenario by name or one from a file. An unknown name and a faulty file are wrong usage. Its
// arms are not planned yet.
func Find(name string) (scenario.Scenario, error) {
	s, err := Scenarios.Find(name)
	return s, Usage(err)
}
