// Command schedlab says which goroutine scheduling model should serve a
// workload, by how much, and with what doubt.
//
//	schedlab compare              compare net/http, a worker pool and fasthttp, in half a minute
//	schedlab serve --mode pool    run one model as a real HTTP service
//	schedlab attack --target URL  drive open-loop load at any server
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"schedlab/internal/report/document"
)

// Exit codes of every command.
const (
	// Every command uses the same codes, so that a script can tell a bad answer (3) from no answer
	// (4) and from a mistake in its own call (2). 130 is the shell's code for SIGINT, 128+2.
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitExpectation = 3 // an expectation failed, the machine is unfit, or audited figures are impossible
	exitPartial     = 4
	exitInterrupted = 130
)

// main ends the program's context at the first SIGINT or SIGTERM, so that servers drain and records
// are finished, and the process at the second. The channel has room for both, as signal.Notify
// never waits.
//
// A command is a function newNAME, mostly in a file of its name, that declares its flags into a
// struct and returns the *cobra.Command; a method run does the work. root.go puts the commands
// together. Files without a command are shared: flags.go and settings.go (flags, and their values
// from the environment and a file), advise.go, pack.go and plan.go (comparisons), progress.go,
// trust.go.
func main() {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		// The first signal ends everything in its own time, the second at once.
		cancel(errInterrupted)
		<-signals
		os.Exit(exitInterrupted)
	}()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// errInterrupted is the cause of a context ended by a signal.
var errInterrupted = errors.New("interrupted")

// An exitError carries an exit code other than 1 up to main. With a nil err the command has said
// everything already, in its report: main prints nothing more.
type exitError struct {
	code int
	err  error // nil: nothing more to say
}

func (e *exitError) Error() string { return fmt.Sprint(e.err) }

func (e *exitError) Unwrap() error { return e.err }

// exit returns the error of a command that has said everything in its report: nil for exitDone.
func exit(code int) error {
	if code == exitDone {
		return nil
	}
	return &exitError{code: code}
}

// usage marks err as the user's to mend: exit code 2. nil stays nil.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{exitUsage, err}
}

// usagef is usage of a formatted error. Such a message quotes the flag with its value, and tells
// what to give instead.
func usagef(format string, args ...any) error { return usage(fmt.Errorf(format, args...)) }

// run is the program without the process around it: args are without the program's name, and the
// result is the exit code. Tests call it. Errors are printed here and nowhere else, in plain text:
// Harmless takes control characters out of names that come from files.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot(stdout, stderr)
	root.SetArgs(args)
	begun := false
	// Runs before every command, to give flags their values from the environment and a file. cobra
	// refuses wrong arguments before that.
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		begun = true
		return settle(cmd)
	}
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitDone
	}
	exit, ok := errors.AsType[*exitError](err)
	switch {
	case !ok && begun:
		exit = &exitError{exitFailed, err}
	case !ok:
		exit = &exitError{exitUsage, err}
	}
	if exit.err != nil {
		for line := range strings.SplitSeq(document.Harmless(sourced(cmd, exit.err.Error())), "\n") { // joined errors are a line each
			fmt.Fprintf(stderr, "schedlab: %s\n", line)
		}
	}
	return exit.code
}
