package experiment

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"schedlab/internal/arrivals"
	"schedlab/internal/judge"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
	"schedlab/internal/stats"
	"schedlab/internal/window"
)

// Quantiles are the primary metrics that a window must hold requests enough for.
func Quantiles() []string { return slices.Sorted(maps.Keys(window.Quantiles)) }

// firstLook is how many blocks decide anything at the earliest when so many comparisons
// share the probability of error.
func firstLook(comparisons int) int {
	if n := stats.FirstLook(comparisons); n > 0 {
		return n
	}
	return scenario.MaxBlocks + 1 // too many share it
}

// chooseQuantiles notes which quantiles must be decidable and what the user has fixed.
func (p *plan) chooseQuantiles(o Options) {
	p.fixed, p.most, p.asks = o.Window > 0, o.Blocks, o.Asks
	switch {
	case p.asks != nil:
	case len(p.Expect) > 0:
		p.asks = namedQuantiles(p.Expect)
	default:
		p.asks = Quantiles()
	}
}

var quantileName = regexp.MustCompile(`\bp(50|90|99)\b`)

// namedQuantiles are those that expectations name.
func namedQuantiles(expect []string) (names []string) {
	for _, text := range expect {
		names = append(names, quantileName.FindAllString(text, -1)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// settleWindow lengthens the window for what is asked and notes what cannot be decided
// all the same. It is called when the plan is made, and again when a rate was chosen.
func (p *plan) settleWindow() {
	d := decision{
		rate: p.leastRate(), floor: p.leastFloor(), window: record.Duration(p.Window), budget: p.budget, blocks: p.most,
		first: firstLook(judge.Primaries() * (len(p.arms) - 2)), asked: p.asks, fixed: p.fixed, step: p.period(), most: p.longestWindow(),
		cost: p.costOf,
	}
	f, window := d.decide()
	if p.Feasible != nil && p.Feasible.Planned > 0 {
		f.Planned = p.Feasible.Planned
	}
	p.Feasible = &f
	if window > d.window {
		p.Window = window.Seconds()
	}
	p.Estimate = min(p.cost(p.Blocks), p.budget).Seconds()
}

// leastRate is that of the open-loop arm that is asked least; 0 when one is not known
// yet, +Inf when there is none.
func (p *plan) leastRate() float64 {
	least := math.Inf(1)
	for _, a := range p.Arms {
		if !a.Clients.Closed() {
			least = min(least, a.Clients.Rate)
		}
	}
	return least
}

// leastFloor is the least of what arms with a relative rate are asked at all events.
func (p *plan) leastFloor() float64 {
	least := math.Inf(1)
	for _, a := range p.arms {
		if a.load.Rate.OfSlowest > 0 {
			least = min(least, a.load.MinRate.PerSecond)
		}
	}
	return least
}

// longestWindow is what a window may be: a trace file says what is sent in a window of
// its own length, and a log ends.
func (p *plan) longestWindow() time.Duration {
	switch {
	case p.scenario.Log != nil:
		if rate := p.leastRate(); rate > 0 && !math.IsInf(rate, 1) {
			return p.scenario.Log.LogSpan(rate) - record.Duration(p.Warmup)
		}
	case slices.ContainsFunc(p.arms, func(a arm) bool { return arrivalsOf(a.load).Kind == arrivals.KindTrace }):
		return record.Duration(p.Window)
	}
	return scenario.Longest
}

// period is what a window may grow by: its own length where the arrivals have a shape
// over the window.
func (p *plan) period() time.Duration {
	shaped := slices.ContainsFunc(p.arms, func(arm arm) bool {
		switch a := arrivalsOf(arm.load); a.Kind {
		case "", arrivals.KindPoisson, arrivals.KindConstant, arrivals.KindLog:
			return false
		default:
			return a.Kind != arrivals.KindBurst || a.Period > 0
		}
	})
	if shaped {
		return record.Duration(p.Window)
	}
	return 0
}

func arrivalsOf(l scenario.Load) arrivals.Process {
	a, _ := arrivals.Parse(l.Arrivals) // the scenario was checked
	return a
}

// tellCannot reports doubts that will break the answer to OnDoubt, and to OnCannot what the run
// cannot decide.
func (c *Comparison) tellCannot() {
	told := map[record.Code]bool{}
	for _, d := range c.plan.Doubts {
		if c.opts.OnDoubt != nil && d.Code.Decides() && !told[d.Code] {
			told[d.Code] = true
			c.opts.OnDoubt(d)
		}
	}
	if f := c.plan.Feasible; f != nil && lacking(*f) && c.opts.OnCannot != nil {
		c.opts.OnCannot(*f)
	}
}

// Undecided are what cannot be decided, one for each shortage, with the flags that would
// do. What nothing asks for is left out unless all is wanted.
func Undecided(f record.Feasibility, all bool) (facts []record.Fact) {
	for i, u := range f.Cannot {
		if !u.Asked && !all || u.Code != record.ShortRequests && i > 0 { // that one is the same for every metric
			continue
		}
		said := record.Fact{
			Code: cannotBeDecided, Metric: u.Metric, Values: record.Values{"has": u.Value, "needs": u.Limit, "first": float64(f.First)},
			Names: record.Names{"short": string(u.Code), "asked": "no"},
		}
		if u.Asked {
			said.Names["asked"], said.Names["would"] = "yes", wouldDo(f.Would)
		}
		facts = append(facts, said)
	}
	return facts
}

// wouldDo writes flags as a command line has them; "" for none.
func wouldDo(w *record.WouldDo) string {
	if w == nil {
		return ""
	}
	var flags []string
	if w.Window > 0 {
		flags = append(flags, "--window "+record.Duration(w.Window).Round(time.Millisecond).String())
	}
	if w.Budget > 0 {
		flags = append(flags, "--budget "+record.Duration(w.Budget).String())
	}
	if w.Blocks > 0 {
		flags = append(flags, fmt.Sprintf("--blocks %d", w.Blocks))
	}
	return strings.Join(flags, " ")
}
