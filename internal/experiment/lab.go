package experiment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"schedlab/internal/command"
	"schedlab/internal/host"
	"schedlab/internal/process"
	"schedlab/internal/record"
)

// A lab is where a run starts servers, and how it tells of its progress. A lab is a value that
// steps pass on; launcher is valid while withLab runs. began is when the run began, from which the
// budget counts.
type lab struct {
	launcher *process.Launcher
	others   *host.Watchdog // watches other programs on the CPUs; may be nil
	progress Progress       // may be nil
	began    time.Time
}

// withLab runs f in a lab like l that has a launcher for servers. While f runs, this process is
// bound to the load's CPUs. Nothing that f started outlives it: the launcher kills servers that
// are still there.
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
	return f(l)
}

// tell lets the watchdog look at the machine, and reports progress. doing, done and total are as
// in [Progress]. It is called between windows only, because the look costs CPU time.
func (l lab) tell(p plan, doing string, done, total int) {
	l.others.Between()
	if l.progress != nil {
		left := record.Duration(p.Estimate) - time.Since(l.began)
		l.progress(doing, done, total, max(0, left))
	}
}

// start starts the server of an arm. The caller stops it. The watchdog is told of a server that
// was already running, because it is part of the run and no disturbance.
func (l lab) start(ctx context.Context, p probed, a arm) (*process.Process, error) {
	server, err := l.launcher.Start(ctx, p.command(a), p.scenario.ReadyPath(a.asked))
	if err != nil {
		return nil, fmt.Errorf("arm %q: %w", a.asked.Given(), err)
	}
	l.others.Guest(server.Found)
	server.ShowsMetrics(a.Metrics)
	return server, nil
}

// NullServer is the name of this program's hidden command that runs the null server.
const NullServer = "null-server"

// startNull starts the null server of the program self. It does next to nothing. What it shows is
// the cost of the load and the kernel alone.
func (l lab) startNull(ctx context.Context, self string) (*process.Process, error) {
	server, err := l.launcher.Start(ctx, []string{self, NullServer, "--addr", command.AddrMark}, "/")
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
// judging and recording take after the given number of trials. A search for capacity has no deadline;
// its number of windows limits it.
func (l lab) bounded(ctx context.Context, p plan, trials int) (context.Context, context.CancelFunc) {
	if p.slo != nil {
		return ctx, func() {}
	}
	return context.WithDeadlineCause(ctx, l.began.Add(p.budget-after(trials)), errBudget)
}
