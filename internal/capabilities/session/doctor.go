package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"time"

	"schedlab/internal/capabilities/doctor"
	"schedlab/internal/measuring/host"
	"schedlab/internal/measuring/load"
	"schedlab/internal/measuring/runner"
	"schedlab/internal/measuring/scenario"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/workload"
)

// A Doctor asks which faults of this machine would spoil a measurement. It uses only CPUs, AllowRemote and Out of Where;
// Out is the directory to check.
type Doctor struct {
	Where
	Scenario string // its name, or a file
	Quick    bool   // start no server
	Full     bool   // measure what a full comparison can judge as well
}

// examining is a Doctor that is carried out: it measures and package doctor judges. machine reads what needs no time,
// measure fills in the rest.
type examining struct {
	Program
	Doctor
	o     runner.Options
	show  Observer
	asked scenario.Scenario
	rate  float64 // of its first arm, if the scenario's rate is relative; 0 before that is measured, and otherwise
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

// Run measures the machine and judges it. A faulty scenario, or one with arms on
// other machines, is refused before anything is measured: planning the comparison once finds its
// faults. After an interrupt it judges nothing, as half a machine may look fit.
func (r Doctor) Run(ctx context.Context, p Program, show Observer) (report doctor.Report, err error) {
	if r.Quick && r.Full {
		return report, Usagef("--quick and --full exclude each other; drop one of them")
	}
	e := examining{Program: p, Doctor: r, o: p.options(), show: show}
	e.o.CPUs = r.CPUs
	// Wrong CPUs are found here.
	cpus, err := runner.CPUs(e.o)
	if err != nil {
		return report, err
	}
	if e.asked, err = Find(r.Scenario); err == nil && !r.AllowRemote {
		err = stayLocal(ctx, e.asked.Arms)
	}
	if err == nil {
		_, err = e.alike(scenario.Timing{})
	}
	if err != nil {
		return report, err
	}
	m := machine(cpus, r.Out)
	m.Scenario, m.Window = e.asked.Name, time.Duration(e.asked.Protocol.Window)
	if err := p.begin(ctx); err != nil {
		return report, err
	}
	err = e.measure(ctx, cpus, m)
	show.Done()
	if ctx.Err() != nil {
		return report, &Error{Code: Interrupted, Err: errors.New("interrupted; nothing is judged")}
	}
	if err != nil {
		return report, err
	}
	return doctor.Examine(m), nil
}

// measure fills in the properties that take time to measure. The clock is watched all along. It returns
// early without an error when ctx ends; the caller asks ctx.
func (e *examining) measure(ctx context.Context, cpus host.Sides, m *doctor.Machine) error {
	// The look at the clock ends with the function, however that ends.
	clock := doctor.WatchClock(doctor.SystemClock(), watchClock)
	defer func() { m.Clock = clock() }()
	others := watchdog(cpus)
	m.Others = watch(ctx, cpus, watchOthers)
	// A thread on the load's CPUs measures how late the load would be.
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
	if !e.Quick && ctx.Err() == nil {
		e.show.Step("asking a null server", 0, 1, nullSpan)
		m.Gap.Span = nullSpan
		m.Gap.Longest, m.Gap.Replies, m.Gap.Err = runner.Gap(ctx, cpus, e.Self, nullMode, nullSpan)
		if ctx.Err() == nil {
			e.show.Step("measuring the load engine itself", 0, 1, nullSpan)
			floor, err := runner.Floor(ctx, cpus, e.Self, record.Clients{})
			if m.Engine.Err = err; err == nil {
				m.Engine = doctor.Engine{Rate: floor.Rate, P50: floor.P50, P99: floor.P99}
			}
		}
		if err := e.noise(ctx, m); err != nil {
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
func (e *examining) noise(ctx context.Context, m *doctor.Machine) error {
	// Blocks to run of each comparison. Four show a spread in ten seconds or so. --full runs both, so that
	// nothing has to be scaled.
	blocks := []int{4}
	if e.Full {
		blocks = []int{12, 6}
	}
	// One calibration for all comparisons.
	e.o.Iters = workload.Calibrate()
	// A rate that is a share of the slowest arm's throughput is measured first, so that the copies run
	// at the load that a real comparison of the scenario would have. It stays 0 for any other.
	throughput, err := e.plan(e.asked, scenario.Timing{Budget: 24 * time.Hour})
	if err == nil {
		e.rate, err = throughput.Shortened(0).Offered(ctx, e.show.Step)
	}
	var runs []record.Run
	var plans []record.Plan // of both comparisons, whatever is run
	for i, times := range []scenario.Timing{{}, scenario.Full} {
		var c *runner.Comparison
		if err == nil {
			c, err = e.alike(times)
		}
		if err == nil && i < len(blocks) {
			var run record.Run
			run, err = runAside(ctx, c.Shortened(blocks[i]), e.show)
			runs = append(runs, run)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil: // a finding, not the end
			m.Noise = doctor.NoNoise(e.Scenario, doctor.NoiseNotRun.Of(doctor.NotRun{Comparison: doctor.Comparisons[i], Error: err.Error()}))
			return nil
		}
		// A real comparison may run until its budget is full.
		p := c.Planned()
		_, p.Blocks = c.Budget()
		plans = append(plans, p)
	}
	m.Noise = doctor.NewNoise(e.Scenario, runs, plans)
	m.Noise.Sleeps = e.asked.Workload.MeanSleep() > 0
	return nil
}

// alike plans the scenario with its baseline as the only contestant: two arms of it, and the first
// has a copy. The rate is the scenario's, or the one that noise found.
func (e *examining) alike(times scenario.Timing) (*runner.Comparison, error) {
	s := e.asked
	one := s.Contestants()[0]
	// The found rate replaces the relative one, also where the arm itself has a rate.
	if e.rate > 0 {
		s.Load.Rate, s.Load.MinRate = scenario.Rate{PerSecond: e.rate}, scenario.Rate{}
		one.Clients = maps.Clone(one.Clients)
		delete(one.Clients, "rate")
	}
	s.Arms, s.Load.Vary = []scenario.Arm{one}, nil
	return e.plan(s, times)
}

// plan lays the scenario out, a single arm twice; times of 0 are the scenario's. The seed is fixed:
// two looks at a machine should differ by the machine alone. Expectations and claims are about the
// scenario's arms, so they are dropped.
func (e *examining) plan(s scenario.Scenario, times scenario.Timing) (*runner.Comparison, error) {
	s.Expect, s.Claims = nil, nil
	if len(s.Arms) == 1 {
		again := s.Arms[0]
		again.Name += "-again"
		s.Arms = []scenario.Arm{s.Arms[0], again}
	}
	o := e.o
	o.Seed, o.Warmup, o.Window, o.Budget = 1, times.Warmup, times.Window, times.Budget
	return runner.Plan(s, o)
}

// runAside runs a comparison in a directory that is removed. The run is returned with its result. Servers
// that die, or too few files, are errors here and findings of noise.
func runAside(ctx context.Context, c *runner.Comparison, show Observer) (run record.Run, err error) {
	dir, err := os.MkdirTemp("", "schedlab-doctor-")
	if err != nil {
		return run, fmt.Errorf("measuring the noise: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	_, run, err = c.Run(ctx, dir, show.Step)
	return run, err
}
