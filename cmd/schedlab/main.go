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

	"schedlab/internal/report/document"
)

// Exit codes of every command.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitExpectation = 3 // an expectation failed, the machine is unfit, or audited figures are impossible
	exitPartial     = 4
	exitInterrupted = 130
)

func main() {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel(errInterrupted)
		<-signals
		os.Exit(exitInterrupted)
	}()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// errInterrupted is the cause of a context ended by a signal.
var errInterrupted = errors.New("interrupted")

// An exitError carries an exit code other than 1 up to main.
type exitError struct {
	code int
	err  error // nil: nothing more to say
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usage marks err as the user's to mend: exit code 2.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{exitUsage, err}
}

func usagef(format string, args ...any) error { return usage(fmt.Errorf(format, args...)) }

// run is the program without the process around it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot(stdout, stderr)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitDone
	}
	var exit *exitError
	if !errors.As(err, &exit) {
		exit = &exitError{exitFailed, err}
	}
	if exit.err != nil {
		for line := range strings.SplitSeq(document.Harmless(sourced(cmd, exit.err.Error())), "\n") { // joined errors are a line each
			fmt.Fprintf(stderr, "schedlab: %s\n", line)
		}
	}
	return exit.code
}
