package experiment

import (
	"cmp"
	"slices"
	"time"

	"schedlab/internal/arrivals"
	"schedlab/internal/capacity"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
	"schedlab/internal/stats"
)

// protocolCapacity is the protocol of the plan of a search for capacity.
const protocolCapacity = "capacity"

// The defaults of measurement.md §6.
const (
	capacityWarmup = 500 * time.Millisecond
	capacityWindow = 3 * time.Second
	capacityBudget = 90 * time.Second
	stepCost       = 100 * time.Millisecond // per window, for start, settling and drain of its server
	patience       = 100                    // a request times out after this many times the objective's largest limit

	searchProbe     = 2 * time.Second
	searchProbeCost = searchProbe + probeWarmup + stepCost
)

// PlanCapacity plans a search for the highest rate at which each arm of a scenario keeps an objective.
// It starts nothing. It ignores the options Protocol, Blocks and Rate; Budget is the budget of each
// arm. One arm is enough. If the search is impossible as asked, the error is an [*Impossible] that
// tells how to change it.
func PlanCapacity(s scenario.Scenario, o Options, slo stats.SLO) (*Comparison, error) {
	if err := steady(s); err != nil {
		return nil, err
	}
	if o.Stamps == "" {
		o.Stamps = record.StampsOff // a search does not use stamps
	}
	p, err := layOut(s, o, slo, func(p *plan) error { return p.takeSearch(o) })
	if err != nil {
		return nil, err
	}
	return &Comparison{p, o}, nil
}

// steady returns an error if the search cannot choose the rate of a load: closed loops, varied loads,
// and arrivals without a steady rate.
func steady(s scenario.Scenario) error {
	kind := func(l scenario.Load) arrivals.Kind {
		a, _ := arrivals.Parse(l.Arrivals) // the scenario was checked
		return a.Kind
	}
	if len(s.Load.Vary) > 0 {
		return impossible("scenario %q varies its load, and a search chooses the rate itself; take vary out of its load", s.Name)
	}
	for _, a := range s.Contestants() {
		l, err := s.Clients(a)
		if err != nil {
			return impossible("arm %q: %v", a.Name, err)
		}
		varied := slices.ContainsFunc(a.Levels, func(l record.Level) bool { return !scenario.IsFlag(l.Factor) })
		switch {
		case l.Loop == "closed":
			return impossible("arm %q of scenario %q is asked in a closed loop, whose clients slow down with the server; make a copy with load: {loop: open, rate: 0.7x}", a.Name, s.Name)
		case varied || a.Clients["rate"] != "":
			return impossible("arm %q has a load of its own, and a search chooses the rate itself; name the arm's mode with --arms instead", a.Name)
		case kind(l) == arrivals.KindRamp, kind(l) == arrivals.KindSine, kind(l) == arrivals.KindTrace, kind(l) == arrivals.KindLog:
			return impossible("arrivals %s of scenario %q have no steady rate to search for; use poisson, constant or burst(SIZE)", l.Arrivals, s.Name)
		}
	}
	return nil
}

// takeSearch sets the windows and the budget of a search.
func (p *plan) takeSearch(o Options) error {
	warmup, window, budget := cmp.Or(o.Warmup, capacityWarmup), cmp.Or(o.Window, capacityWindow), cmp.Or(o.Budget, capacityBudget)
	switch {
	case window < 100*time.Millisecond || window > scenario.Longest:
		return impossible("--window %v is outside 100ms to %v", window, scenario.Longest)
	case warmup < 0 || warmup > scenario.Longest:
		return impossible("--warmup %v is outside 0 to %v", warmup, scenario.Longest)
	case budget < 0 || budget > scenario.Longest:
		return impossible("--budget %v is outside 0 to %v", budget, scenario.Longest)
	}
	step := warmup + window + stepCost
	if p.Windows = int((budget - searchProbeCost) / step); p.Windows < capacity.Least {
		return impossible("a budget of %v for each arm holds %d windows of %v, and a search needs %d; raise --budget to %v or shorten --window",
			budget, max(0, p.Windows), step, capacity.Least, (capacity.Least*step + searchProbeCost).Round(100*time.Millisecond))
	}
	p.Protocol, p.SLO = protocolCapacity, p.slo.String()
	p.Warmup, p.Window, p.Budget = warmup.Seconds(), window.Seconds(), budget.Seconds()
	p.budget = time.Duration(len(p.arms)) * budget
	p.Estimate = (p.budget + fixedCost).Seconds()
	slowest := 0.0 // largest time limit of the objective, seconds
	for _, t := range p.slo {
		if t.Quantile > 0 || t.Metric == "mean" {
			slowest = max(slowest, t.Limit)
		}
	}
	for i := range p.Arms {
		c := &p.Arms[i].Clients
		c.Rate = 0 // the search chooses it
		if slowest > 0 {
			c.Timeout = min(c.Timeout, max(1, patience*slowest))
		}
		p.Timeout = max(p.Timeout, c.Timeout)
	}
	return nil
}
