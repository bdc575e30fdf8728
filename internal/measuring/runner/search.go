package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"schedlab/internal/measuring/arrivals"
	"schedlab/internal/measuring/process"
	"schedlab/internal/measuring/scenario"
	"schedlab/internal/shared/prose"
	"schedlab/internal/shared/record"
)

// Limits and costs of trials.
const (
	// MostRequests limits the requests of one trial. Each takes about 140 bytes of memory: 48 for a request.Request, 88 for
	// its stamps. Vegeta's garbage, about 2 KB a hit, is left to the collector: see pauseGC.
	MostRequests = 5_000_000

	// StepCost is the time that a window of a search takes beyond its load, to start, settle and drain the
	// server.
	StepCost = 100 * time.Millisecond

	// ProbeCost is what the probe of X_max takes in a search. It is longer than the probe of a comparison, because a search
	// rests on one arm's X_max.
	ProbeCost   = 2150 * time.Millisecond
	searchProbe = ProbeCost - probeWarmup - StepCost
)

// A Search asks for windows of single arms, at rates that it chooses itself, in place of blocks of all arms. Rates are
// requests per second.
type Search interface {
	// Record notes in a plan what a reader of the record needs.
	Record(p *record.Plan)
	// Times returns the times of the search: those in asked, and a default for each that is 0. No arm can answer more than
	// most requests a second; most is +Inf if no limit is known.
	Times(asked SearchTimes, most float64) (SearchTimes, error)
	// TooSlow tells why no window of the plan can judge an arm with this closed-loop throughput; "" if one can. It begins with
	// a verb, to follow the arm's name.
	TooSlow(p record.Plan, xmax float64) string
	// Lead measures windows of these arms with the bench, until the search has its answers. The run has their X_max.
	Lead(ctx context.Context, run record.Run, arms []record.PlanArm, bench Bench) error
	// Judge computes the result of a search from its record.
	Judge(dir *record.Dir, run record.Run) (record.Result, error)
}

// SearchTimes are the times of a search.
type SearchTimes struct {
	Warmup, Window time.Duration // of each window
	Budget         time.Duration // of each arm, its probe included
	// Timeout limits how long a request may take, beside what the scenario says; 0 for no limit. Without it, requests to an
	// overloaded server would go on waiting although the window is already decided.
	Timeout time.Duration
}

// A Step is the next window of a search.
type Step struct {
	Rate    float64 // requests per second
	Purpose string  // what the window is for, which is recorded
}

// A Bench measures windows of an arm on one fresh server; arm is an index of the arms of [Search.Lead]. It measures the step,
// passes the trial to next, and goes on with the step that next returns, until more is false. An error ends the search of
// all arms, but [ErrLost] only the search of this one.
type Bench func(ctx context.Context, arm int, step Step, next func(record.TrialRecord) (step Step, more bool)) error

// ErrLost is the error of a [Bench] for an arm that cannot be measured any more.
var ErrLost = errors.New("the arm cannot be measured any more")

// bySearch is the strategy of a search. It ignores the options Blocks and Rate; Budget is the budget of each arm. One arm is
// enough. The windows that fit into the budget are the only limit of a search.
type bySearch struct{ Search }

// accept refuses a load if a search cannot choose its rate.
func (bySearch) accept(s scenario.Scenario, o Options) (scenario.Scenario, Options, error) {
	o.Stamps = cmp.Or(o.Stamps, record.StampsOff) // a search does not use stamps
	return s, o, steady(s)
}

// cast returns the arms; a search has no copy of the first one.
func (bySearch) cast(asked []scenario.Arm) (arms []contestant, err error) {
	if len(asked) == 0 {
		return nil, impossible("a search needs an arm; name one with --arm or --arms")
	}
	for _, a := range asked {
		arms = append(arms, contestant{a, record.Challenger})
	}
	arms[0].role = record.Baseline
	return arms, nil
}

// lacks asks for one arm that serves all its clients.
func (bySearch) lacks(serving []arm) (what, which string) {
	if len(serving) > 0 {
		return "", ""
	}
	return "search", "one arm or more"
}

// policy probes each arm once: the probe comes out of the arm's budget, and the search corrects a rate that it began too low.
func (bySearch) policy() policy { return policy{probe: searchProbe, probes: 1, loses: true} }

// steady returns an error if the search cannot choose the rate of a load: closed loops, varied
// loads, and arrivals without a steady rate. The error tells what to change.
func steady(s scenario.Scenario) error {
	if len(s.Load.Vary) > 0 {
		return impossible("scenario %q varies its load, and a search chooses the rate itself; take vary out of its load", s.Name)
	}
	for _, a := range s.Contestants() {
		l, err := s.Clients(a)
		if err != nil {
			return impossible("arm %q: %v", a.Name, err)
		}
		asked, _ := arrivals.Parse(l.Arrivals) // the scenario was checked
		kind := asked.Kind
		// A level of --vary that is no flag of the server changes the load.
		varied := slices.ContainsFunc(a.Levels, func(l record.Level) bool { return !scenario.IsFlag(l.Factor) })
		switch {
		case l.Loop == "closed":
			return impossible("arm %q of scenario %q is asked in a closed loop, whose clients slow down with the server; make a copy with load: {loop: open, rate: 0.7x}", a.Name, s.Name)
		case varied || a.Clients["rate"] != "":
			return impossible("arm %q has a load of its own, and a search chooses the rate itself; name the arm's mode with --arms instead", a.Name)
		case kind == arrivals.KindRamp, kind == arrivals.KindSine, kind == arrivals.KindTrace, kind == arrivals.KindLog:
			return impossible("arrivals %s of scenario %q have no steady rate to search for; use poisson, constant or burst(SIZE)", l.Arrivals, s.Name)
		}
	}
	return nil
}

// schedule sets the windows and the budget of a search.
func (by bySearch) schedule(p *plan) error {
	o := p.opts
	t, err := by.Times(SearchTimes{Warmup: o.Warmup, Window: o.Window, Budget: o.Budget}, p.most())
	if err != nil {
		return impossible("%v", err)
	}
	p.Heating, p.Warmup, p.Window = record.Span{}, record.Lasting(t.Warmup), record.Lasting(t.Window)
	// The probe comes out of the arm's budget.
	p.Windows = int((t.Budget - ProbeCost) / (p.span() + StepCost))
	// Each arm has a budget of its own, so the search takes as long as all together.
	p.Budget = record.Lasting(t.Budget)
	p.budget = time.Duration(len(p.Arms)) * t.Budget
	p.Estimate = record.Lasting(p.budget + fixedCost)
	for i := range p.Arms {
		c := &p.Arms[i].Clients
		c.Rate = 0 // the search chooses it
		if t.Timeout > 0 {
			c.Timeout = record.Lasting(min(c.Timeout.Duration, t.Timeout))
		}
		p.Timeout = record.Lasting(max(p.Timeout.Duration, c.Timeout.Duration))
	}
	return nil
}

// most returns a rate, in requests per second, that no arm can exceed: the CPUs do no more requests,
// and by Little's law neither do an arm's workers or its connections. It is +Inf if an arm is not
// known to be so limited.
func (p *plan) most() (most float64) {
	cpu, held := p.scenario.Workload.MeanCPU().Seconds(), (p.scenario.Workload.MeanCPU() + p.scenario.Workload.MeanSleep()).Seconds()
	for _, a := range p.Arms {
		mode := p.modeOf(a)
		if a.Mode == "" || !p.scenario.AsksWork() {
			return math.Inf(1)
		}
		limit := math.Inf(1)
		if n := len(p.cpus.Server); n > 0 && cpu > 0 {
			limit = float64(n) / cpu
		}
		if a.KeepAlive {
			limit = min(limit, float64(a.Clients.Connections)/held)
		}
		if mode.Has("workers") {
			limit = min(limit, float64(p.setup(a.asked).workers)/held)
		}
		most = max(most, limit)
	}
	return most
}

// A search measures the windows that a [Search] asks for. It starts the arms' servers, one at a time.
//
// A window is a trial like the trials of a comparison, so the record can be judged again.
type search struct {
	lab
	plan    probed
	dir     *record.Dir
	run     record.Run     // as it is recorded so far
	trials  int            // number of windows recorded
	arms    []arm          // the arms that are searched
	windows map[string]int // number of windows measured, by arm
	lost    error          // the error of the first arm that could not be measured any more
}

// measure measures what the search asks for, of every arm that can be searched. Each window is a trial of
// the record, and the run that it returns tells why an arm's search ended early. If the server of
// an arm fails, it goes on with the other arms, and returns the first such error at the end. An
// arm that is too slow is an error only if no arm is left. p has no rates of its own.
func (by bySearch) measure(ctx context.Context, l lab, p plan, _ findings, dir *record.Dir, run record.Run) (record.Run, error) {
	s := &search{lab: l, plan: probed{plan: p}, dir: dir, run: run, windows: map[string]int{}}
	var planned []record.PlanArm
	var slow, failed error
	for _, a := range p.Arms {
		x, measured := run.XMax[a.Name]
		why := by.TooSlow(p.recorded(), x)
		switch {
		// Its probe failed, and the run already has the reason.
		case !measured:
			failed = cmp.Or(failed, fmt.Errorf("arm %q: %s", a.Name, run.Ends[a.Name].Why))
		// Not even its throughput is enough to judge a window.
		case why != "":
			slow = cmp.Or(slow, impossible("arm %q %s", a.Name, why))
		default:
			s.arms, planned = append(s.arms, a), append(planned, a.PlanArm)
		}
	}
	// An arm that failed is worse news than one that is too slow.
	if len(planned) == 0 {
		return run, cmp.Or(failed, slow)
	}
	if err := dir.WriteRun(run); err != nil {
		return run, err
	}
	err := by.Lead(ctx, run, planned, s.bench)
	s.run.Trials = s.trials
	return s.run, cmp.Or(err, s.lost, failed)
}

// armEnd returns the reason for the record why the search of an arm ends early, at a rate if it
// is not 0. The name of the arm is taken off the error, because the record shows it with the arm.
func armEnd(arm string, rate float64, err error) record.ArmEnd {
	_, died := errors.AsType[*process.DiedError](err)
	return record.ArmEnd{Died: died, Rate: rate, Why: strings.TrimPrefix(prose.FirstLine(err.Error()), fmt.Sprintf("arm %q: ", arm))}
}

// end records why the search of one arm ends early, at a rate if it is not 0. The arm's windows so far are kept. It
// returns [ErrLost], which ends the search of this arm only. If the user interrupts or recording fails, the
// error ends the whole search. It writes the run at once, so that the reason is there even if this program is killed.
func (s *search) end(ctx context.Context, a arm, rate float64, err error) error {
	if ctx.Err() != nil {
		return err
	}
	s.run.Ends[a.Name], s.lost = armEnd(a.Name, rate, err), cmp.Or(s.lost, err)
	if werr := s.dir.WriteRun(s.run); werr != nil {
		return errors.Join(err, werr)
	}
	return ErrLost
}

// bench is a [Bench]. A server that has to be killed is no error here.
func (s *search) bench(ctx context.Context, index int, step Step, next func(record.TrialRecord) (Step, bool)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	a := s.arms[index]
	server, err := s.start(ctx, s.plan, a)
	if err != nil {
		return s.end(ctx, a, 0, err)
	}
	defer server.Kill()
	for more := true; more; {
		t, err := s.offer(ctx, step, a, server)
		if err != nil {
			return err
		}
		step, more = next(t)
	}
	err = server.Stop()
	if _, slow := errors.AsType[*process.LingeredError](err); err == nil || slow {
		return nil
	}
	return s.end(ctx, a, 0, fmt.Errorf("arm %q: %w", a.Name, err))
}

// offer measures one window: it runs and records a trial. The trial counts in the record even if its window is
// refused. If the server dies under the load, the trial is recorded first, as proof, and then the arm's search ends.
func (s *search) offer(ctx context.Context, step Step, a arm, server *process.Process) (none record.TrialRecord, err error) {
	p := s.plan
	s.tell(p.plan, fmt.Sprintf("%s at %.0f/s: %s", a.Name, step.Rate, step.Purpose), s.trials, len(p.Arms)*p.Windows)
	t := newTrial(p, s.trials+1, s.windows[a.Name], a, server)
	t.Rate, t.Purpose, t.arm.Clients.Rate = step.Rate, step.Purpose, step.Rate
	s.windows[a.Name]++
	if err := t.measure(ctx); err != nil {
		// A limit of the load, not of the server: no higher rate can be offered to this arm.
		if errors.Is(err, errOutOfPorts) {
			err = fmt.Errorf("%w at %.0f/s; keep connections or raise the limits", err, step.Rate)
		}
		return none, s.end(ctx, a, step.Rate, fmt.Errorf("arm %q: %w", a.Name, err))
	}
	t.readCounters(ctx)
	// A server that died during the window may have answered some requests. The trial is marked as failed.
	var died error
	if !server.Alive() {
		err := server.Died(fmt.Sprintf("at %.0f/s", step.Rate))
		t.Failure, died = err.Error(), fmt.Errorf("arm %q: %w", a.Name, err)
	}
	if err := t.write(s.dir); err != nil {
		return none, errors.Join(died, err)
	}
	s.trials++
	if died != nil {
		return none, s.end(ctx, a, step.Rate, died)
	}
	return record.TrialRecord{Trial: t.Trial, Requests: t.seen.Requests}, nil
}
