package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/spf13/pflag"

	"schedlab/internal/experiment"
	"schedlab/internal/host"
	"schedlab/internal/judge"
	"schedlab/internal/record"
)

// What a command does about others that use the CPUs of servers and load, before its first window.
const (
	// With --wait-idle the command starts after quietFor without other programs. Otherwise it watches for surelyBusy
	// and prints what it saw. On a terminal it then waits for timeToEnd, or until quietAgain passed without other programs.
	quietFor   = 3 * time.Second
	surelyBusy = 500 * time.Millisecond
	timeToEnd  = 5 * time.Second
	quietAgain = time.Second
)

// bindWaitIdle declares --wait-idle.
func (f *compareFlags) bindWaitIdle(fl *pflag.FlagSet) {
	fl.DurationVar(&f.waitIdle, "wait-idle", 0, fmt.Sprintf("start as soon as other programs have left the CPUs alone for %v; if that takes longer than this, start nothing: exit code 4 (default: start at once)", quietFor))
}

// checkWaitIdle refuses a --wait-idle that is too short to tell, or of servers that are elsewhere.
func (f *compareFlags) checkWaitIdle() error {
	return mistakes{
		{f.waitIdle != 0 && f.waitIdle < quietFor, fmt.Sprintf("--wait-idle %v is too short for %v without others; give that or more", f.waitIdle, quietFor)},
		{f.waitIdle != 0 && f.Site != nil, fmt.Sprintf("--wait-idle %v watches the CPUs of this machine, and the servers are elsewhere; leave it out", f.waitIdle)},
	}.first()
}

// beforeStart waits for a quiet machine, if --wait-idle asks for it, or else tells who uses the CPUs of servers and
// load, if others use much of them. It reports whether it waited for a quiet machine. After such a wait the caller
// must measure the machine again. o has the CPUs. After an error the caller must not start anything.
func (f *compareFlags) beforeStart(ctx context.Context, o experiment.Options, show *progress) (waited bool, err error) {
	if f.Site != nil {
		return false, nil
	}
	cpus, err := experiment.CPUs(o)
	if err != nil {
		return false, err
	}
	cpus.Pin = true // nothing is bound to its CPUs yet
	if f.waitIdle > 0 {
		return true, f.awaitIdle(ctx, cpus, show)
	}
	// The short look keeps the delay on a quiet machine at briefWatch. The longer one below confirms what it saw.
	if watch(ctx, cpus, briefWatch).Quiet() {
		return false, nil
	}
	busy := judge.Busy(watch(ctx, cpus, surelyBusy), envOf(cpus))
	if busy.None() || ctx.Err() != nil {
		return false, interrupted(ctx)
	}
	show.machine("busy: " + busy.Part("now"))
	if !show.terminal {
		return false, nil
	}
	show.machine(fmt.Sprintf("starting in %v, or as soon as it is quiet; Ctrl-C ends it", timeToEnd))
	limited, cancel := context.WithTimeout(ctx, timeToEnd)
	defer cancel()
	host.AwaitQuiet(limited, cpus, quietAgain)
	return false, interrupted(ctx)
}

// awaitIdle waits until others have left the CPUs alone for quietFor, for at most --wait-idle.
func (f *compareFlags) awaitIdle(ctx context.Context, cpus host.Sides, show *progress) error {
	show.say(fmt.Sprintf("waiting until other programs have left the CPUs alone for %v, for %v at most", quietFor, f.waitIdle))
	limited, cancel := context.WithTimeout(ctx, f.waitIdle)
	defer cancel()
	last, quiet := host.AwaitQuiet(limited, cpus, quietFor)
	switch {
	case quiet:
		return nil
	case ctx.Err() != nil:
		return interrupted(ctx)
	case last == nil:
		return usagef("--wait-idle %v: this machine does not tell who uses its CPUs; leave it out", f.waitIdle)
	}
	why := "others came back again and again"
	if busy := judge.Busy(last, envOf(cpus)); !busy.None() {
		why = busy.Part("took")
	}
	return &exitError{exitPartial, fmt.Errorf("--wait-idle %v: no %v of that were quiet, so nothing was started: in the last %v %s",
		f.waitIdle, quietFor, record.Duration(last.Seconds).Round(100*time.Millisecond), why)}
}

// interrupted returns the error of a command that was interrupted before it measured anything; nil if it was not.
func interrupted(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return &exitError{exitInterrupted, errors.New("interrupted; nothing was started")}
}

// envOf returns the part of a machine's description that tells which CPUs the sides have.
func envOf(cpus host.Sides) record.Env {
	return record.Env{CPUs: runtime.NumCPU(), ServerCPUs: cpus.Server.String(), LoadCPUs: cpus.Load.String()}
}
