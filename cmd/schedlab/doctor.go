package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"schedlab/internal/doctor"
	"schedlab/internal/experiment"
	"schedlab/internal/host"
	"schedlab/internal/load"
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
		Short: "Say what on this machine will spoil a measurement, and how to mend it",
		Long: `Look for what would spoil a comparison on this machine: too few descriptors,
local ports or places in the listen backlog, CPUs that server and load share,
quotas, other programs, steal, late timers, pauses, a clock that steps, a
directory that cannot be written. Every finding says what it spoils and the fix.

Then compare the baseline of a SCENARIO (default quick) with itself, at the rate
that a comparison of all its arms would offer: what copies of one program differ by
is what this machine cannot tell apart on that load. A table says which differences
a quick and a full comparison can judge, and how long they take.

It takes about 15 seconds; --quick leaves the servers out (2 s), --full compares
more blocks, and the longer windows of the full protocol too (2 min). It changes
nothing, and keeps no record.

Exit codes: 0 fit, with or without reservations, 3 unfit (something is BAD), 130
interrupted.`,
		Example: `  schedlab doctor
  schedlab doctor --quick --out /var/tmp/runs
  schedlab doctor pool-cpu
  schedlab doctor --full --output markdown
  schedlab doctor --server-cpus 0-1 --load-cpus 2-3`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeScenarios,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.name = defaultScenario
			if len(args) > 0 {
				f.name = args[0]
			}
			return f.run(cmd)
		},
	}
	fl := cmd.Flags()
	// How thorough.
	fl.BoolVar(&f.quick, "quick", false, "read and time, but start no server: 2 seconds")
	fl.BoolVar(&f.full, "full", false, "measure what both protocols can judge: 2 minutes")
	// The same flags as compare's, so that the machine is looked at as a comparison would use it.
	fl.StringVar(&f.ServerCPUs, "server-cpus", "", "CPUs of the servers, like 0-3 (default the lower half)")
	fl.StringVar(&f.LoadCPUs, "load-cpus", "", "CPUs of the load (default the rest)")
	oneOf(fl, &f.Pin, "pin", "auto", "auto pins servers and load to separate CPUs, none leaves both free", "auto", "none")
	fl.BoolVar(&f.allowRemote, "allow-remote", false, "take a scenario with an arm that runs on another machine")
	// Where records would go, and the output.
	fl.StringVar(&f.out, "out", record.DefaultRoot, "directory that run records will be kept in")
	oneOf(fl, &f.output, "output", "text", strings.Join(doctor.Formats, ", "), doctor.Formats...)
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "print every finding with what it spoils, and not the answer only")
	oneOf(fl, &f.progress, "progress", "auto", "progress on stderr: auto, plain, none", progressKinds...)
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

// run measures the machine, judges it and prints the report. After an interrupt it judges nothing,
// as half a machine may look fit. An unfit machine has exit code 3.
func (f *doctorFlags) run(cmd *cobra.Command) error {
	if f.quick && f.full {
		return usagef("--quick and --full exclude each other; drop one of them")
	}
	// An empty --out would leave the check of the directory out.
	if f.out == "" {
		return usagef("--out is empty; give it a value or leave it out")
	}
	show := newProgress(cmd.ErrOrStderr(), f.progress)
	if err := knowSelf(&f.Options); err != nil {
		return err
	}
	// Wrong --server-cpus or --load-cpus are found here.
	survey, err := experiment.NewSurvey(f.Options)
	if err != nil {
		return usageIfImpossible(err)
	}
	if err := f.check(cmd.Context()); err != nil {
		return err
	}
	// From here on: read, measure, judge, print.
	m := machine(survey, f.out)
	m.Scenario, m.Window = f.asked.Name, time.Duration(f.asked.Protocol.Window)
	err = f.measure(cmd.Context(), survey, m, show)
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
	if report.Verdict == doctor.Unfit {
		return &exitError{code: exitExpectation}
	}
	return nil
}

// check refuses a faulty scenario, or one with arms on other machines, before anything is measured.
// Planning the comparison once finds its faults.
func (f *doctorFlags) check(ctx context.Context) error {
	var err error
	if f.asked, _, err = findScenario(f.name); err != nil {
		return err
	}
	if err := f.stayLocal(ctx, f.asked.Arms); err != nil {
		return err
	}
	_, err = f.alike("quick")
	return err
}

// machine reads the properties of this machine that need no measuring. out is the directory for
// records. The CPUs are the ones that a comparison would use now.
func machine(survey *experiment.Survey, out string) *doctor.Machine {
	m := &doctor.Machine{
		Root: os.DirFS("/"), Environ: os.Environ(), Out: out, Need: record.MaxBytes,
		ServerCPUs: survey.CPUs.Server, LoadCPUs: survey.CPUs.Load, Pinned: survey.CPUs.Pin,
	}
	var files unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &files) == nil {
		m.Files = doctor.Limit{Soft: files.Cur, Hard: files.Max}
	}
	return m
}

// snap looks at the CPUs that server and load would have, each once where they share some.
func snap(m *doctor.Machine) host.Snapshot {
	cpus := slices.Concat(m.ServerCPUs, m.LoadCPUs)
	slices.Sort(cpus)
	return host.Snap(slices.Compact(cpus))
}

// watch measures the CPU time of other programs for a span, or until ctx ends. It sleeps meanwhile,
// so that it measures itself as little as possible. The result is in m.Usage; it is zero where the
// machine does not tell.
func watch(ctx context.Context, m *doctor.Machine, span time.Duration) {
	before := snap(m)
	select {
	case <-time.After(span):
	case <-ctx.Done():
	}
	m.Usage = snap(m).Since(before)
}

// measure fills in the properties that take time to measure. The clock is watched all along, and
// steal is the larger of a quiet and a loaded time. It returns early without an error when ctx
// ends; the caller asks ctx.
func (f *doctorFlags) measure(ctx context.Context, survey *experiment.Survey, m *doctor.Machine, show *progress) error {
	// The look at the clock ends with the function, however that ends.
	clock := doctor.WatchClock(doctor.SystemClock(), watchClock)
	defer func() { m.Clock = clock() }()
	before := snap(m)
	watch(ctx, m, watchOthers)
	err := survey.OnLoadCPUs(func() { m.Lateness = doctor.Lateness(ctx, load.Sleep, sleeps, sleepOf) })
	if err != nil || ctx.Err() != nil {
		return err
	}
	// The steps run one after the other, as each would disturb the next.
	m.Pause = survey.Pause()
	// All that needs servers.
	if !f.quick && ctx.Err() == nil {
		show.update("asking a null server", 0, 1, nullSpan)
		m.Gap.Span = nullSpan
		m.Gap.Longest, m.Gap.Replies, m.Gap.Err = survey.Gap(ctx, nullMode, nullSpan)
		if ctx.Err() == nil {
			show.update("measuring the load engine itself", 0, 1, nullSpan)
			m.Engine = engineTime(survey.Floor(ctx))
		}
		if err := f.noise(ctx, m, show); err != nil {
			return err
		}
	}
	// Steal may begin only when the CPUs are in use.
	m.Usage.Steal = max(m.Usage.Steal, snap(m).Since(before).Steal)
	return nil
}

// engineTime converts the time that the load engine adds to a response time, or the reason why it
// is not known.
func engineTime(f *record.Floor, err error) doctor.Engine {
	if err != nil {
		return doctor.Engine{Err: err}
	}
	return doctor.Engine{Rate: f.Rate, P50: f.P50, P99: f.P99}
}

// aPlan is one comparison of a program with itself: a protocol, and how many blocks of it to run.
type aPlan struct {
	protocol string
	blocks   int
}

// noise measures by how much copies of one program seem to differ. A comparison that cannot run
// here is a finding and no error. Fewer blocks than a real comparison's are enough: package doctor
// computes from their spread what the protocol's own number would tell. Its error is a context that
// has ended, or a scenario that cannot be planned.
func (f *doctorFlags) noise(ctx context.Context, m *doctor.Machine, show *progress) error {
	// Four blocks show a spread in ten seconds or so. --full runs both protocols, so that nothing
	// has to be scaled.
	plans := []aPlan{{"quick", 4}}
	if f.full {
		plans = []aPlan{{"quick", 12}, {"full", 6}}
	}
	// One calibration for all comparisons.
	f.Iters = workload.Calibrate()
	var runs []record.Run
	err := f.findRate(ctx, show)
	for _, p := range plans {
		var run record.Run
		if err == nil {
			run, err = f.compareAlike(ctx, p, show)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil: // a finding, not the end
			m.Noise = doctor.NoNoise(f.name, record.Fact{Code: doctor.NoiseNotRun, Names: record.Names{"protocol": p.protocol, "error": err.Error()}})
			return nil
		}
		runs = append(runs, run)
	}
	// Both protocols are judged, whatever was run.
	var protocols []record.Plan
	for _, name := range []string{"quick", "full"} {
		c, err := f.alike(name)
		if err != nil {
			return err
		}
		// A real comparison runs up to as many blocks as its budget has room for.
		p := c.Planned()
		_, p.Blocks = c.Budget()
		protocols = append(protocols, p)
	}
	m.Noise = doctor.NewNoise(f.name, runs, protocols)
	m.Noise.Sleeps = f.asked.Workload.Sleep.Mean() > 0
	return nil
}

// alike plans the scenario with its baseline as the only contestant: two arms of it, and the first
// has a copy. The rate is the scenario's, or the one that findRate found.
func (f *doctorFlags) alike(protocol string) (*experiment.Comparison, error) {
	s := f.asked
	one := s.First()
	// The found rate replaces the relative one, also where the arm itself has a rate.
	if f.rate > 0 {
		s.Load.Rate, s.Load.MinRate = scenario.Rate{PerSecond: f.rate}, scenario.Rate{}
		one.Clients = maps.Clone(one.Clients)
		delete(one.Clients, "rate")
	}
	s.Arms, s.Load.Vary = twice(one), nil
	return f.plan(s, protocol, 0)
}

// findRate asks all arms of the scenario for their throughput when its rate is a share of the
// slowest one's. So the copies run at the load that a real comparison of the scenario would have.
// It leaves f.rate 0 if the rate is not relative.
func (f *doctorFlags) findRate(ctx context.Context, show *progress) error {
	s := f.asked
	if len(s.Arms) == 1 {
		s.Arms = twice(s.Arms[0])
	}
	c, err := f.plan(s, "quick", 24*time.Hour)
	if err != nil {
		return err
	}
	f.rate, err = c.Shortened(0).Offered(ctx, show.update)
	return err
}

// twice returns an arm and another one like it.
func twice(a scenario.Arm) []scenario.Arm {
	again := a
	again.Name += "-again"
	return []scenario.Arm{a, again}
}

// plan lays the scenario out; a budget of 0 is the protocol's. The seed is fixed: two looks at a
// machine should differ by the machine alone. Expectations and claims are about the scenario's
// arms, so they are dropped.
func (f *doctorFlags) plan(s scenario.Scenario, protocol string, budget time.Duration) (*experiment.Comparison, error) {
	s.Expect, s.Claims = nil, nil
	o := f.Options
	o.Protocol, o.Seed, o.Budget = protocol, 1, budget
	c, err := experiment.Plan(s, o)
	return c, usageIfImpossible(err)
}

// compareAlike runs the comparison that p describes, in a directory that is removed. The run is
// returned with its result. Servers that die, or too few files, are errors here and findings of
// noise.
func (f *doctorFlags) compareAlike(ctx context.Context, p aPlan, show *progress) (run record.Run, err error) {
	c, err := f.alike(p.protocol)
	if err != nil {
		return run, err
	}
	dir, err := os.MkdirTemp("", "schedlab-doctor-")
	if err != nil {
		return run, fmt.Errorf("measuring the noise: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	_, run, err = c.Shortened(p.blocks).Run(ctx, dir, show.update)
	return run, err
}

// briefWatch is how long a comparison watches other programs before it starts. It is short, as
// everybody waits for it.
const briefWatch = 150 * time.Millisecond

// seeMachine returns a line about what on this machine is not fit for comparisons. If anything is not,
// every record gets a doubt. It starts no server. An error means that the CPUs cannot be dealt out
// as asked.
func (f *compareFlags) seeMachine(ctx context.Context) (line string, err error) {
	survey, err := experiment.NewSurvey(f.Options)
	if err != nil {
		return "", usageIfImpossible(err)
	}
	m := machine(survey, f.out)
	clock := doctor.WatchClock(doctor.SystemClock(), briefWatch)
	watch(ctx, m, briefWatch)
	m.Clock = clock()
	report := doctor.Examine(m)
	if report.Verdict != doctor.Fit {
		f.Machine = report.Summary(len(report.Findings))
	}
	return machineLine(report), nil
}

// machineLine returns the line about a machine after a short look. It calls no machine fit: that is
// for `schedlab doctor` to say, which makes more checks.
func machineLine(r doctor.Report) string {
	if r.Verdict == doctor.Fit {
		return "machine: a short look found nothing that disturbs it; `schedlab doctor` checks more"
	}
	return fmt.Sprintf("machine: %s; `schedlab doctor` says more", r.Sentence)
}
