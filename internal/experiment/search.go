package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"schedlab/internal/arrivals"
	"schedlab/internal/capacity"
	"schedlab/internal/judge"
	"schedlab/internal/process"
	"schedlab/internal/prose"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
	"schedlab/internal/stats"
)

// The defaults of a search (docs/guide/capacity.md).
const (
	// patience keeps requests of an overloaded server from waiting long after they broke the objective.
	// searchProbe is longer than the probe of a comparison, because a search rests on one arm's X_max.
	capacityWarmup = 500 * time.Millisecond
	capacityWindow = 3 * time.Second
	capacityBudget = 90 * time.Second
	patience       = 100 // a request times out after this many times the objective's largest limit

	searchProbe = judge.ProbeCost - probeWarmup - judge.StepCost
)

// bySearch is the strategy of a search for the highest rate at which each arm keeps an objective. It ignores the options
// Blocks and Rate; Budget is the budget of each arm. One arm is enough. The windows that fit into the budget are the only
// limit of a search.
type bySearch struct{ slo stats.SLO }

// accept refuses loads whose rate a search cannot choose.
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
	o.Warmup, o.Window, o.Budget = cmp.Or(o.Warmup, capacityWarmup), cmp.Or(o.Window, capacityWindow), cmp.Or(o.Budget, capacityBudget)
	if err := by.refuse(p, o); err != nil {
		return err
	}
	if err := p.takeSpan(o.Warmup, o.Window); err != nil {
		return err
	}
	// The probe comes out of the arm's budget.
	p.Windows = int((o.Budget - judge.ProbeCost) / (o.Warmup + o.Window + judge.StepCost))
	// Each arm has a budget of its own, so the search takes as long as all together.
	p.Budget = record.Lasting(o.Budget)
	p.budget = time.Duration(len(p.Arms)) * o.Budget
	p.Estimate = record.Lasting(p.budget + fixedCost)
	slowest := time.Duration(0) // largest time limit of the objective
	for _, t := range by.slo {
		if t.Timed() {
			slowest = max(slowest, time.Duration(math.Round(t.Limit*float64(time.Second))))
		}
	}
	// A request that took a hundred times its limit has broken the objective. Longer timeouts would only delay
	// the end of an overloaded window; shorter than a second they might cut off a pause.
	for i := range p.Arms {
		c := &p.Arms[i].Clients
		c.Rate = 0 // the search chooses it
		if slowest > 0 {
			c.Timeout = record.Lasting(min(c.Timeout.Duration, max(time.Second, patience*slowest)))
		}
		p.Timeout = record.Lasting(max(p.Timeout.Duration, c.Timeout.Duration))
	}
	return nil
}

// refuse returns an error if a search with such a warm-up, window and budget is impossible. It tells all
// faults at once, and the flags that do together: a longer window also needs a larger budget.
func (by bySearch) refuse(p *plan, asked Options) error {
	var faults, flags []string
	do := asked // times with which a search is possible
	if err := new(plan).takeSpan(capacityWarmup, asked.Window); err != nil {
		do.Window, faults = min(max(asked.Window, shortestWindow), scenario.Longest), append(faults, err.Error())
	}
	if err := new(plan).takeSpan(asked.Warmup, capacityWindow); err != nil {
		do.Warmup, faults = capacityWarmup, append(faults, err.Error())
	}
	if floor, most := judge.SearchOptions(record.Plan{Window: record.Lasting(do.Window)}, by.slo).Floor, p.most(); floor > mostSlack*most {
		faults = append(faults, fmt.Sprintf("%s needs %s in windows of %v, and no arm does more than %s",
			judge.Hardest(by.slo), prose.PerSecond(floor), do.Window, prose.PerSecond(most)))
		do.Window = judge.SearchWindow(do.Window, floor, most)
	}
	step, needs := do.Warmup+do.Window+judge.StepCost, judge.SearchBudget(do.Warmup, do.Window)
	switch {
	case asked.Budget < 0 || asked.Budget > scenario.Longest:
		do.Budget, faults = needs, append(faults, fmt.Sprintf("--budget %v is outside 0 to %v", asked.Budget, scenario.Longest))
	case asked.Budget < needs:
		do.Budget = needs
		faults = append(faults, fmt.Sprintf("a budget of %v for each arm holds %d windows of %v, and a search needs %d",
			asked.Budget, max(0, int((asked.Budget-judge.ProbeCost)/step)), step, capacity.Least))
	}
	if len(faults) == 0 {
		return nil
	}
	for _, f := range []struct {
		name      string
		asked, do time.Duration
	}{{"--window", asked.Window, do.Window}, {"--warmup", asked.Warmup, do.Warmup}, {"--budget", asked.Budget, do.Budget}} {
		if f.do != f.asked {
			flags = append(flags, fmt.Sprintf("%s %v", f.name, f.do))
		}
	}
	return impossible("%s; this would do: %s", strings.Join(faults, "; "), strings.Join(flags, " "))
}

// mostSlack is how far, as a factor, a server may exceed the rate that its demands allow.
const mostSlack = 1.1

// most returns a rate, in requests per second, that no arm can exceed: the CPUs do no more requests,
// and by Little's law neither do an arm's workers or its connections. It is +Inf if an arm is not
// known to be so limited.
func (p *plan) most() (most float64) {
	cpu, held := p.scenario.Workload.CPU.Mean().Seconds(), (p.scenario.Workload.CPU.Mean() + p.scenario.Workload.Sleep.Mean()).Seconds()
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

// A search finds the capacities of arms. It starts their servers, one at a time.
//
// Package capacity decides which rates to offer, and this file starts servers, offers the rates and
// records what came of it. A window is a trial like the trials of a comparison, so the record can be
// judged again.
type search struct {
	lab
	plan    probed
	dir     *record.Dir
	run     record.Run     // as it is recorded so far
	trials  int            // number of windows recorded
	arms    []arm          // the arms that are searched
	windows map[string]int // number of windows measured, by arm
	lost    error          // the error of the first arm that could not be measured any more
	slo     stats.SLO
}

// measure finds the capacity of every arm that can be searched. Each window is a trial of
// the record, and the run that it returns tells why an arm's search ended early. If the server of
// an arm fails, it goes on with the other arms, and returns the first such error at the end. An
// arm that is too slow is an error only if no arm is left. p has no rates of its own.
func (by bySearch) measure(ctx context.Context, l lab, p plan, _ findings, dir *record.Dir, run record.Run) (record.Run, error) {
	o := judge.SearchOptions(p.recorded(), by.slo)
	s := &search{lab: l, plan: probed{plan: p}, dir: dir, run: run, windows: map[string]int{}, slo: by.slo}
	var xmax []float64
	var slow, failed error
	for _, a := range p.Arms {
		x, measured := run.XMax[a.Name]
		switch {
		// Its probe failed, and the run already has the reason.
		case !measured:
			failed = cmp.Or(failed, fmt.Errorf("arm %q: %s", a.Name, run.Ends[a.Name].Why))
		// Not even its throughput is enough to judge the objective in a window.
		case x < o.Floor:
			slow = cmp.Or(slow, impossible("arm %q %s", a.Name, judge.TooSlow(p.recorded(), o, x)))
		default:
			s.arms, xmax = append(s.arms, a), append(xmax, x)
		}
	}
	// An arm that failed is worse news than one that is too slow.
	if len(xmax) == 0 {
		return run, cmp.Or(failed, slow)
	}
	if err := dir.WriteRun(run); err != nil {
		return run, err
	}
	err := capacity.Run(ctx, s.bench, xmax, o)
	s.run.Trials = s.trials
	return s.run, cmp.Or(err, s.lost, failed)
}

// searchEnd returns the reason for the record why the search of an arm ends early, at a rate if it
// is not 0. The name of the arm is taken off the error, because the record shows it with the arm.
func searchEnd(arm string, rate float64, err error) record.SearchEnd {
	_, died := errors.AsType[*process.DiedError](err)
	return record.SearchEnd{Died: died, Rate: rate, Why: strings.TrimPrefix(prose.FirstLine(err.Error()), fmt.Sprintf("arm %q: ", arm))}
}

// end records why the search of one arm ends early, at a rate if it is not 0. The arm's windows so far are kept. It
// returns [capacity.ErrLost], which ends the search of this arm only. If the user interrupts or recording fails, the
// error ends the whole search. It writes the run at once, so that the reason is there even if this program is killed.
func (s *search) end(ctx context.Context, a arm, rate float64, err error) error {
	if ctx.Err() != nil {
		return err
	}
	s.run.Ends[a.Name], s.lost = searchEnd(a.Name, rate, err), cmp.Or(s.lost, err)
	if werr := s.dir.WriteRun(s.run); werr != nil {
		return errors.Join(err, werr)
	}
	return capacity.ErrLost
}

// bench is a [capacity.Bench]. searched is an index of arms. A server that has to be killed is no error here.
func (s *search) bench(ctx context.Context, searched int, step capacity.Step, next capacity.Next) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	a := s.arms[searched]
	server, err := s.start(ctx, s.plan, a)
	if err != nil {
		return s.end(ctx, a, 0, err)
	}
	defer server.Kill()
	for more := true; more; {
		w, err := s.offer(ctx, step, a, server)
		if err != nil {
			return err
		}
		step, more = next(w)
	}
	err = server.Stop()
	if _, slow := errors.AsType[*process.LingeredError](err); err == nil || slow {
		return nil
	}
	return s.end(ctx, a, 0, fmt.Errorf("arm %q: %w", a.Name, err))
}

// offer measures one window: it runs and records a trial. The trial counts in the record even if its window is
// refused. If the server dies under the load, the trial is recorded first, as proof, and then the arm's search ends.
func (s *search) offer(ctx context.Context, step capacity.Step, a arm, server *process.Process) (record.RateWindow, error) {
	none := record.RateWindow{}
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
	return judge.Reduced(record.TrialRecord{Trial: t.Trial, Requests: t.seen.Requests}, s.run.Env, t.arm.Clients, s.slo), nil
}
