package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"schedlab/internal/doctor"
	"schedlab/internal/experiment"
	"schedlab/internal/host"
	"schedlab/internal/load"
	"schedlab/internal/outcome"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
	"schedlab/internal/workload"
)

// doctorFlags are the flags of doctor, with the scenario that they name.
//
// The command measures and package doctor judges: machine reads what needs no time, measure fills
// in the rest, doctor.Examine judges all of it. seeMachine, at the end, is the short look that
// other commands take before a comparison. full and quick are opposites: more blocks, or no servers
// at all.
type doctorFlags struct {
	compareFlags
	name        string            // of the scenario, or its file
	asked       scenario.Scenario // the scenario itself
	rate        float64           // of its first arm, if the scenario's rate is relative; 0 before that is measured, and otherwise
	quick, full bool
}

// newDoctor declares the flags of doctor.
func newDoctor() *cobra.Command {
	var f doctorFlags
	cmd := &cobra.Command{
		Use:   "doctor [SCENARIO]",
		Short: "Check whether this machine is fit to measure, and say what to mend",
		Long: `Look for what would spoil a comparison on this machine: too few descriptors,
local ports or places in the listen backlog, CPUs that server and load share,
quotas, other programs, steal, late timers, pauses, a clock that steps, a
directory that cannot be written. Every finding says what it spoils and the fix.

Then compare the baseline of a SCENARIO (default quick) with itself, at the rate
that a comparison of all its arms would offer: two copies of one program differ by
noise, so a smaller difference cannot be told here. A table says which differences a
quick comparison (the default) and a full one (--window 3.6s --budget 10m) can judge,
and how long they take. It changes nothing, keeps no record, and takes about 15 seconds.`,
		Example: `  schedlab doctor
  schedlab doctor --quick --out /var/tmp/runs
  schedlab doctor pool-cpu
  schedlab doctor --full --output markdown
  schedlab doctor --cpus 0-1/2-3`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeScenarios,
		RunE:              f.run,
	}
	fl := cmd.Flags()
	fl.BoolVar(&f.quick, "quick", false, "read and time, but start no server: 2 seconds")
	fl.BoolVar(&f.full, "full", false, "measure what a full comparison can judge as well: 2 minutes")
	// The same flags as compare's, so that the machine is looked at as a comparison would use it.
	bindCPUs(fl, &f.CPUs)
	fl.BoolVar(&f.allowRemote, "allow-remote", false, "take a scenario with an arm that runs on another machine")
	fl.StringVar(&f.out, "out", record.DefaultRoot, "directory that run records will be kept in")
	oneOf(fl, &f.output, "output", "text", strings.Join(doctor.Formats, ", "), doctor.Formats...)
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "print every finding with what it spoils, and not the answer only")
	oneOf(fl, &f.progress, "progress", "auto", "progress"+progressHelp, progressKinds...)
	inSections(cmd,
		helpSection{"What to check", "quick full out"},
		helpSection{theMachine, "cpus allow-remote"},
		helpSection{theOutput, "output verbose progress help"},
	)
	return cmd
}

// How long and how often each thing is measured.
const (
	// The figures keep a quick look at 2 s. watchOthers is long enough to tell 5 % of a CPU from
	// the clock's tick of 10 ms, and 1000 sleeps are enough for a p99.
	watchOthers = 500 * time.Millisecond // other programs' CPU time
	watchClock  = 250 * time.Millisecond // between looks at the clocks
	sleeps      = 1000
	sleepOf     = 500 * time.Microsecond
	nullSpan    = 2 * time.Second
	nullMode    = "nethttp" // of the server that is asked for it
)

// run measures the machine, judges it and prints the report. A faulty scenario, or one with arms on
// other machines, is refused before anything is measured: planning the comparison once finds its
// faults. After an interrupt it judges nothing, as half a machine may look fit. An unfit machine has
// exit code 3.
func (f *doctorFlags) run(cmd *cobra.Command, args []string) (err error) {
	if f.quick && f.full {
		return usagef("--quick and --full exclude each other; drop one of them")
	}
	// An empty --out would leave the check of the directory out.
	if err := checkValues(cmd.Flags(), "out"); err != nil {
		return err
	}
	show := newProgress(cmd.ErrOrStderr(), f.progress)
	knowSelf(&f.Options)
	// A wrong --cpus is found here.
	cpus, err := experiment.CPUs(f.Options)
	if err != nil {
		return err
	}
	f.name = append(args, defaultScenario)[0]
	if f.asked, err = findScenario(f.name); err == nil {
		err = f.stayLocal(cmd.Context(), f.asked.Arms)
	}
	if err == nil {
		_, err = f.alike(scenario.Timing{})
	}
	if err != nil {
		return err
	}
	m := machine(cpus, f.out)
	m.Scenario, m.Window = f.asked.Name, time.Duration(f.asked.Protocol.Window)
	if err := begin(cmd.Context()); err != nil {
		return err
	}
	err = f.measure(cmd.Context(), cpus, m, show)
	show.done()
	if cmd.Context().Err() != nil {
		return &exitError{exitInterrupted, errors.New("interrupted; nothing is judged")}
	}
	if err != nil {
		return err
	}
	report := doctor.Examine(m)
	if err := report.Write(cmd.OutOrStdout(), f.output, f.verbose); err != nil {
		return err
	}
	switch report.Outcome {
	case outcome.No:
		return exit(exitExpectation)
	case outcome.Open:
		return exit(exitPartial)
	}
	return nil
}

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

// measure fills in the properties that take time to measure. The clock is watched all along. It returns
// early without an error when ctx ends; the caller asks ctx.
func (f *doctorFlags) measure(ctx context.Context, cpus host.Sides, m *doctor.Machine, show *progress) error {
	// The look at the clock ends with the function, however that ends.
	clock := doctor.WatchClock(doctor.SystemClock(), watchClock)
	defer func() { m.Clock = clock() }()
	others := watchdog(cpus)
	m.Others = watch(ctx, cpus, watchOthers)
	// The load's lateness is that of a thread on its CPUs.
	undo, err := cpus.BindLoad()
	if err != nil {
		return err
	}
	m.Lateness = doctor.Lateness(ctx, load.Sleep, sleeps, sleepOf)
	undo()
	if ctx.Err() != nil {
		return nil
	}
	// The steps run one after the other, as each would disturb the next.
	m.Pause = host.Pause(cpus)
	// All that needs servers.
	if !f.quick && ctx.Err() == nil {
		show.update("asking a null server", 0, 1, nullSpan)
		m.Gap.Span = nullSpan
		m.Gap.Longest, m.Gap.Replies, m.Gap.Err = experiment.Gap(ctx, cpus, f.Self, nullMode, nullSpan)
		if ctx.Err() == nil {
			show.update("measuring the load engine itself", 0, 1, nullSpan)
			floor, err := experiment.Floor(ctx, cpus, f.Self)
			if m.Engine.Err = err; err == nil {
				m.Engine = doctor.Engine{Rate: floor.Rate, P50: floor.P50, P99: floor.P99}
			}
		}
		if err := f.noise(ctx, m, show); err != nil {
			return err
		}
	}
	m.Loaded = others.End()
	return nil
}

// noise measures by how much copies of one program seem to differ. A comparison that cannot run
// here is a finding and no error. Fewer blocks than a real comparison's are enough: package doctor
// computes from their spread what a comparison's own number would tell. Its error is a context that
// has ended.
func (f *doctorFlags) noise(ctx context.Context, m *doctor.Machine, show *progress) error {
	// Blocks to run of each comparison. Four show a spread in ten seconds or so. --full runs both, so that
	// nothing has to be scaled.
	blocks := []int{4}
	if f.full {
		blocks = []int{12, 6}
	}
	// One calibration for all comparisons.
	f.Iters = workload.Calibrate()
	// A rate that is a share of the slowest arm's throughput is measured first, so that the copies run
	// at the load that a real comparison of the scenario would have. It stays 0 for any other.
	throughput, err := f.plan(f.asked, scenario.Timing{Budget: 24 * time.Hour})
	if err == nil {
		f.rate, err = throughput.Shortened(0).Offered(ctx, show.update)
	}
	var runs []record.Run
	var plans []record.Plan // of both comparisons, whatever is run
	for i, times := range []scenario.Timing{{}, scenario.Full} {
		var c *experiment.Comparison
		if err == nil {
			c, err = f.alike(times)
		}
		if err == nil && i < len(blocks) {
			var run record.Run
			run, err = runAside(ctx, c.Shortened(blocks[i]), show)
			runs = append(runs, run)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil: // a finding, not the end
			m.Noise = doctor.NoNoise(f.name, doctor.NoiseNotRun.Of(doctor.NotRun{Comparison: doctor.Comparisons[i], Error: err.Error()}))
			return nil
		}
		// A real comparison runs up to as many blocks as its budget has room for.
		p := c.Planned()
		_, p.Blocks = c.Budget()
		plans = append(plans, p)
	}
	m.Noise = doctor.NewNoise(f.name, runs, plans)
	m.Noise.Sleeps = f.asked.Workload.Sleep.Mean() > 0
	return nil
}

// alike plans the scenario with its baseline as the only contestant: two arms of it, and the first
// has a copy. The rate is the scenario's, or the one that noise found.
func (f *doctorFlags) alike(times scenario.Timing) (*experiment.Comparison, error) {
	s := f.asked
	one := s.Contestants()[0]
	// The found rate replaces the relative one, also where the arm itself has a rate.
	if f.rate > 0 {
		s.Load.Rate, s.Load.MinRate = scenario.Rate{PerSecond: f.rate}, scenario.Rate{}
		one.Clients = maps.Clone(one.Clients)
		delete(one.Clients, "rate")
	}
	s.Arms, s.Load.Vary = []scenario.Arm{one}, nil
	return f.plan(s, times)
}

// plan lays the scenario out, a single arm twice; times of 0 are the scenario's. The seed is fixed:
// two looks at a machine should differ by the machine alone. Expectations and claims are about the
// scenario's arms, so they are dropped.
func (f *doctorFlags) plan(s scenario.Scenario, times scenario.Timing) (*experiment.Comparison, error) {
	s.Expect, s.Claims = nil, nil
	if len(s.Arms) == 1 {
		again := s.Arms[0]
		again.Name += "-again"
		s.Arms = []scenario.Arm{s.Arms[0], again}
	}
	o := f.Options
	o.Seed, o.Warmup, o.Window, o.Budget = 1, times.Warmup, times.Window, times.Budget
	return experiment.Plan(s, o)
}

// runAside runs a comparison in a directory that is removed. The run is returned with its result. Servers
// that die, or too few files, are errors here and findings of noise.
func runAside(ctx context.Context, c *experiment.Comparison, show *progress) (run record.Run, err error) {
	dir, err := os.MkdirTemp("", "schedlab-doctor-")
	if err != nil {
		return run, fmt.Errorf("measuring the noise: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	_, run, err = c.Run(ctx, dir, show.update)
	return run, err
}

// briefWatch is how long a comparison watches other programs before it starts. It is short, as
// everybody waits for it.
const briefWatch = 150 * time.Millisecond

// seeMachine returns a line about what on this machine is not fit for comparisons. If anything is not,
// every record gets a doubt. It starts no server. An error means that the CPUs cannot be dealt out
// as asked.
func (f *compareFlags) seeMachine(ctx context.Context) (line string, err error) {
	// Servers and load are elsewhere.
	if f.Site != nil {
		return "", nil
	}
	cpus, err := experiment.CPUs(f.Options)
	if err != nil {
		return "", err
	}
	m := machine(cpus, f.out)
	clock := doctor.WatchClock(doctor.SystemClock(), briefWatch)
	m.Others = watch(ctx, cpus, briefWatch)
	m.Clock = clock()
	report := doctor.Examine(m)
	f.Machine = record.Fact{} // of an earlier look
	if !report.Quiet() {
		f.Machine = report.Summary(len(report.Findings))
	}
	return machineLine(report), nil
}

// machineLine returns the line about a machine after a short look. It calls no machine fit: that is
// for `schedlab doctor` to say, which makes more checks.
func machineLine(r doctor.Report) string {
	if r.Quiet() {
		return "machine: a short look found nothing that disturbs it; `schedlab doctor` checks more"
	}
	return fmt.Sprintf("machine: %s; `schedlab doctor` says more", r.Sentence)
}
