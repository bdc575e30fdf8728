package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"schedlab/internal/measuring/host"
	"schedlab/internal/measuring/judge"
	"schedlab/internal/measuring/load"
	"schedlab/internal/measuring/process"
	"schedlab/internal/measuring/scenario"
	"schedlab/internal/shared/cmdline"
	"schedlab/internal/shared/cpuset"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/record"
)

// A lab is where a run starts servers, and how it tells of its progress. A lab is a value that steps pass on;
// launcher is valid while withLab runs. began is when the run began, from which the budget counts.
type lab struct {
	launcher *process.Launcher
	others   *host.Watchdog // watches other programs on the CPUs; may be nil
	progress Progress       // may be nil
	site     Site           // nil for this machine
	began    time.Time
}

// busy returns the fact that others took much of the CPUs so far; no fact if they did not.
func (l lab) busy(p plan) fact.Fact { return judge.Busy(l.others.SoFar(), (&Comparison{p}).Env()) }

// withLab runs f in a lab like l that has a launcher for servers. While f runs, this process is bound to the
// load's CPUs. Nothing that f started outlives it: the launcher kills servers that are still there.
func withLab(cpus host.Sides, l lab, f func(lab) error) error {
	undo, err := cpus.BindLoad()
	if err != nil {
		return err
	}
	defer undo()
	if l.launcher, err = process.NewLauncher(cpus); err != nil {
		return err
	}
	defer l.launcher.Close()
	if l.site != nil {
		l.launcher.Elsewhere = l.site.Start
	}
	return f(l)
}

// tell lets the watchdog look at the machine, and reports progress. doing, done and total are as
// in [Progress]; the time left is the plan's estimate. It is called between windows only, because the
// look costs CPU time.
func (l lab) tell(p plan, doing string, done, total int) {
	l.tellLeft(doing, done, total, p.Estimate.Duration-time.Since(l.began))
}

// tellLeft does the same with the time left.
func (l lab) tellLeft(doing string, done, total int, left time.Duration) {
	l.others.Between()
	if l.progress != nil {
		l.progress(doing, done, total, max(0, left))
	}
}

// start starts the server of an arm. The caller stops it. A server that ran already is
// reported to the watchdog, which then counts it as part of the run and not as a disturbance.
func (l lab) start(ctx context.Context, p probed, a arm) (*process.Process, error) {
	launcher, err := l.to(a)
	if err != nil {
		return nil, fmt.Errorf("arm %q: %w", a.asked.Given(), err)
	}
	server, err := launcher.Start(ctx, p.command(a), p.scenario.ReadyPath(a.asked))
	if err != nil {
		return nil, fmt.Errorf("arm %q: %w", a.asked.Given(), err)
	}
	l.others.Guest(server.Found)
	server.ShowsMetrics(a.Metrics)
	return server, nil
}

// to returns the launcher for the server of an arm, which is asked as the arm's clients ask it. The error names a file that the
// arm's settings name.
func (l lab) to(a arm) (*process.Launcher, error) { return l.through(a.Clients.Speaks) }

// through returns the launcher for servers that clients with these settings ask.
func (l lab) through(c record.Speaks) (*process.Launcher, error) {
	if c == (record.Speaks{}) {
		return l.launcher, nil
	}
	by, err := load.Transport(record.Clients{Speaks: c})
	if err != nil {
		return nil, err
	}
	return l.launcher.Through(process.Door{TLS: c.TLS != "", Host: c.Host, By: by}), nil
}

// targets returns the scenario's requests to a server at addr, in the scheme that clients speak.
func (p plan) targets(addr string, c record.Clients) []load.Target {
	return load.Secured(p.scenario.Targets(addr), c.Speaks.TLS != "")
}

// saturating returns the clients of a closed loop that keeps an arm's server busy. They speak as the arm's own do.
func (p plan) saturating(a arm, clients int) record.Clients {
	return record.Clients{
		Loop: "closed", Connections: clients, KeepAlive: a.KeepAlive, Timeout: p.Timeout, Speaks: a.Clients.Speaks, Engine: load.EngineFor(a.Clients),
	}
}

// NullServer is the name of this program's hidden command that runs the null server.
const NullServer = "null-server"

// startNull starts the null server of the program self. It does next to nothing, so a
// load on it shows the cost of the load and the kernel alone.
// It speaks as clients with these settings do.
func (l lab) startNull(ctx context.Context, self string, c record.Speaks) (*process.Process, error) {
	launcher, err := l.through(c)
	if err != nil {
		return nil, err
	}
	argv := []string{self, NullServer, "--addr", cmdline.AddrMark}
	if c.TLS != "" {
		argv = append(argv, "--tls")
	}
	if c.HTTP2 {
		argv = append(argv, "--http2")
	}
	server, err := launcher.Start(ctx, argv, "/")
	if err != nil {
		return nil, fmt.Errorf("starting the null server: %w", err)
	}
	return server, nil
}

// Time needed after the last block: closing for the reports, and judging for each trial.
const (
	// A run's budget includes this time, so that the user has the result when the budget ends.
	closing = 1500 * time.Millisecond
	judging = 10 * time.Millisecond
)

// after returns the time needed after the last of a number of trials.
func after(trials int) time.Duration { return closing + time.Duration(trials)*judging }

// errBudget is the cause of the deadline that bounded sets. It tells the end of the budget from an
// interrupt by the user.
var errBudget = errors.New("the budget ended")

// bounded returns a context with the deadline of a comparison: the end of its budget, less the time that
// judging and recording take after the given number of trials. A search has no deadline;
// its number of windows limits it.
func (l lab) bounded(ctx context.Context, p plan, trials int) (context.Context, context.CancelFunc) {
	if !p.strategy.policy().bounded {
		return ctx, func() {}
	}
	return context.WithDeadlineCause(ctx, l.began.Add(p.budget-after(trials)), errBudget)
}

// chooseCPUs splits the CPUs that this process may use between server and load. Flags decide, if
// they are set. Otherwise the server gets the lower half, or more if the scenario needs more, and
// the load gets the rest. If no CPU is left for the load, it shares the last CPU of the server.
//
// A server and its load on the same CPU measure each other, so each side gets CPUs of its own
// where there are two or more.
func chooseCPUs(o Options, needs scenario.Needs) (host.Sides, error) {
	if o.Site != nil {
		return siteCPUs(o.Site), nil
	}
	// Start with both sides on all CPUs, which is right where nothing can be bound.
	all, err := host.Affinity()
	free := o.CPUs == FreeCPUs
	sets := host.Sides{Server: all, Load: all, Pin: !free && err == nil, Shared: true, Vegeta: cmp.Or(o.Engine, load.DefaultEngine) == load.EngineVegeta, Inherited: host.Inherit()}
	told := o.CPUs != "" && !free
	server, sender, _ := strings.Cut(o.CPUs, "/")
	switch {
	case errors.Is(err, host.ErrNoAffinity) && told:
		return sets, impossibleBy("cpus", "--cpus %s: %v", o.CPUs, err)
	case errors.Is(err, host.ErrNoAffinity) || free:
		return sets, nil
	case err != nil:
		return sets, err
	case !told:
		sets.Server = all[:max(len(all)/2, min(needs.ServerCPUs, len(all)), 1)]
	case server == "" && sender == "":
		return sets, impossibleBy("cpus", "--cpus %s names no CPU; %s", o.CPUs, cpusForm)
	}
	if server != "" {
		if sets.Server, err = parseCPUs(o.CPUs, server, all); err != nil {
			return sets, err
		}
	}
	if sender != "" {
		if sets.Load, err = parseCPUs(o.CPUs, sender, all); err != nil {
			return sets, err
		}
	}
	// A side without a list takes the remaining CPUs, if there are any. If no CPU remains, the load
	// shares the server's last one.
	if sender == "" {
		sets.Load = sets.Server[len(sets.Server)-1:]
		if rest := all.Without(sets.Server); len(rest) > 0 {
			sets.Load = rest
		}
	}
	if rest := all.Without(sets.Load); told && server == "" && len(rest) > 0 {
		sets.Server = rest
	}
	// Flags may overlap in part.
	sets.Shared = len(sets.Server.Without(sets.Load)) < len(sets.Server)
	return sets, nil
}

// FreeCPUs as Options.CPUs lets the kernel choose the CPUs of servers and load.
const FreeCPUs = "none"

// cpusForm tells how --cpus is written.
const cpusForm = "give the servers' CPUs, a slash and the load's, like 0-1/2-3, or none"

// parseCPUs reads one side's list of CPUs like 0-3,5. All must be allowed. whole is the value of
// --cpus, for the message of the error.
func parseCPUs(whole, list string, allowed cpuset.Set) (cpuset.Set, error) {
	set, err := cpuset.Parse(list)
	if err != nil {
		return nil, impossibleBy("cpus", "--cpus %s: %v; %s", whole, err, cpusForm)
	}
	if others := set.Without(allowed); len(others) > 0 {
		return nil, impossibleBy("cpus", "--cpus %s: CPU %d is not one this process may use (%s)", whole, others[0], allowed)
	}
	return set, nil
}

// CPUs returns the CPUs that a comparison would give to server and load. It starts nothing, and of the
// options it reads only Site, Engine and CPUs. An [*Impossible] error tells how to change them.
func CPUs(o Options) (host.Sides, error) { return chooseCPUs(o, scenario.Needs{}) }

// ServerCPUs returns how many CPUs a comparison would give to the server, at least 1. It starts nothing.
func ServerCPUs(o Options) (int, error) {
	sets, err := CPUs(o)
	return max(len(sets.Server), 1), err
}

// quietRoom is how much garbage a trial may leave, in bytes: its own records, up to 0.8 GB (see
// MostRequests), and the garbage of the load engine.
const quietRoom = 1 << 30

// longRoom is the same for a load that keeps no requests. Its garbage is of the results that it writes.
const longRoom = 96 << 20

// pauseGC switches the garbage collector off for a window. If the window uses up room, in bytes, the
// collector still runs, so that the machine does not run out of memory; the trial's proof counts
// it. undo switches the collector on again and collects the garbage of the window. A collection in
// the generator would delay requests, and look like a slow server.
func pauseGC(room int64) (undo func()) {
	percent, limit := debug.SetGCPercent(-1), debug.SetMemoryLimit(-1)
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	// With the percentage off, only the memory limit starts the collector. It counts from the
	// memory in use now. A lower limit of the user stays.
	debug.SetMemoryLimit(min(limit, int64(now.Sys-now.HeapReleased)+room))
	return func() {
		debug.SetMemoryLimit(limit)
		debug.SetGCPercent(percent)
		runtime.GC()
	}
}
