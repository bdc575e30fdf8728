package session

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"schedlab/internal/capabilities/doctor"
	"schedlab/internal/measuring/host"
	"schedlab/internal/measuring/judge"
	"schedlab/internal/measuring/runner"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/record"
)

// What a request does about others that use the CPUs of servers and load, before its first window.
const (
	// QuietFor is how long the CPUs must have been idle before a request with WaitIdle starts.
	QuietFor = 3 * time.Second
	// Without WaitIdle it watches for surelyBusy and reports the programs it saw. If a person reads this, it then waits for
	// timeToEnd, or until quietAgain passed without other programs.
	surelyBusy = 500 * time.Millisecond
	timeToEnd  = 5 * time.Second
	quietAgain = time.Second
	// briefWatch is how long a comparison watches other programs in any case. It is short, as everybody waits for it.
	briefWatch = 150 * time.Millisecond
)

// machine reads the properties of this machine that need no measuring. out is the directory for
// records. The CPUs are the ones that a comparison would use now.
func machine(cpus host.Sides, out string) *doctor.Machine {
	m := &doctor.Machine{
		Root: os.DirFS("/"), Environ: os.Environ(), Out: out, Need: record.MaxBytes,
		ServerCPUs: cpus.Server, LoadCPUs: cpus.Load, Pinned: cpus.Pin,
	}
	_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &m.Files) // an error leaves it 0: not read
	return m
}

// watch looks for a span, or until ctx ends, at who uses the CPUs. It sleeps meanwhile, so that it
// measures itself as little as possible.
func watch(ctx context.Context, cpus host.Sides, span time.Duration) *record.Others {
	others := watchdog(cpus)
	select {
	case <-time.After(span):
	case <-ctx.Done():
	}
	return others.End()
}

// watchdog watches the CPUs that server and load would have, though nothing is bound to them yet.
func watchdog(cpus host.Sides) *host.Watchdog {
	cpus.Pin = true
	return host.NewWatchdog(cpus, nil)
}

// A Machine is what a short look at this machine found. The zero value stands for servers and load that are elsewhere.
type Machine struct {
	Line   string         // for people: what is not fit for comparisons
	Quiet  bool           // nothing is unfit
	Others *record.Others // who else used the CPUs during the look; nil if the machine does not tell
}

// seeMachine returns what on this machine is not fit for comparisons, and the doubt that every record gets if anything
// is not. It starts no server. An error means that the CPUs cannot be dealt out as asked.
func seeMachine(ctx context.Context, o runner.Options, out string) (found Machine, doubt fact.Fact, err error) {
	// Servers and load are elsewhere.
	if o.Site != nil {
		return found, doubt, nil
	}
	cpus, err := runner.CPUs(o)
	if err != nil {
		return found, doubt, err
	}
	m := machine(cpus, out)
	clock := doctor.WatchClock(doctor.SystemClock(), briefWatch)
	m.Others = watch(ctx, cpus, briefWatch)
	m.Clock = clock()
	report := doctor.Examine(m)
	if !report.Quiet() {
		doubt = report.Summary(len(report.Findings))
	}
	return Machine{machineLine(report), report.Quiet(), m.Others}, doubt, nil
}

// machineLine returns the line about a machine after a short look. It calls no machine fit: that is
// for `schedlab doctor` to say, which makes more checks.
func machineLine(r doctor.Report) string {
	if r.Quiet() {
		return "machine: a short look found nothing that disturbs it; `schedlab doctor` checks more"
	}
	return fmt.Sprintf("machine: %s; `schedlab doctor` says more", r.Sentence)
}

// checkWaitIdle refuses a wait that is too short to tell, or for servers that are elsewhere.
func checkWaitIdle(limit time.Duration, elsewhere bool) error {
	switch {
	case limit != 0 && limit < QuietFor:
		return usageOf("wait-idle", "--wait-idle %v is too short for %v without others; give that or more", limit, QuietFor)
	case limit != 0 && elsewhere:
		return usageOf("wait-idle", "--wait-idle %v watches the CPUs of this machine, and the servers are elsewhere; leave it out", limit)
	}
	return nil
}

// beforeStart waits for a quiet machine for up to limit, if that is not 0, or else tells who uses the CPUs of servers
// and load, if others use much of them. It reports whether it waited for a quiet machine. After such a wait the caller
// must measure the machine again. o has the CPUs. After an error the caller must not start anything.
func beforeStart(ctx context.Context, o runner.Options, limit time.Duration, show Observer) (waited bool, err error) {
	if o.Site != nil {
		return false, nil
	}
	cpus, err := runner.CPUs(o)
	if err != nil {
		return false, err
	}
	cpus.Pin = true // nothing is bound to its CPUs yet
	if limit > 0 {
		return true, awaitIdle(ctx, cpus, limit, show)
	}
	// The short look keeps the delay on a quiet machine at briefWatch. The longer one below confirms what it saw.
	if watch(ctx, cpus, briefWatch).Quiet() {
		return false, nil
	}
	busy := judge.Busy(watch(ctx, cpus, surelyBusy), envOf(cpus))
	if busy.None() || ctx.Err() != nil {
		return false, interrupted(ctx)
	}
	show.Machine("busy: " + busy.Part("now"))
	if !show.Watched() {
		return false, nil
	}
	show.Machine(fmt.Sprintf("starting in %v, or as soon as it is quiet; Ctrl-C ends it", timeToEnd))
	limited, cancel := context.WithTimeout(ctx, timeToEnd)
	defer cancel()
	host.AwaitQuiet(limited, cpus, quietAgain)
	return false, interrupted(ctx)
}

// awaitIdle waits until others have left the CPUs alone for QuietFor, for at most limit.
func awaitIdle(ctx context.Context, cpus host.Sides, limit time.Duration, show Observer) error {
	show.Say(fmt.Sprintf("waiting until other programs have left the CPUs alone for %v, for %v at most", QuietFor, limit))
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	last, quiet := host.AwaitQuiet(limited, cpus, QuietFor)
	switch {
	case quiet:
		return nil
	case ctx.Err() != nil:
		return interrupted(ctx)
	case last == nil:
		return usageOf("wait-idle", "--wait-idle %v: this machine does not tell who uses its CPUs; leave it out", limit)
	}
	why, first := "others came back again and again", ""
	if busy := judge.Busy(last, envOf(cpus)); !busy.None() {
		why, first = busy.Part("took"), busy.Part("end")+", "
	}
	return &Error{Code: NoAnswer, Err: fmt.Errorf("--wait-idle %v: no %v of that were quiet, so nothing was started: in the last %v %s; %swait longer, with --wait-idle %v, or run it on another machine",
		limit, QuietFor, record.Duration(last.Seconds).Round(100*time.Millisecond), why, first, longerWait(limit))}
}

// longerWait returns a wait to try when one was too short: four times as long.
func longerWait(limit time.Duration) string { return strings.TrimSuffix((4 * limit).String(), "0s") }

// envOf returns the part of a machine's description that tells which CPUs the sides have.
func envOf(cpus host.Sides) record.Env {
	return record.Env{CPUs: runtime.NumCPU(), ServerCPUs: cpus.Server.String(), LoadCPUs: cpus.Load.String()}
}
