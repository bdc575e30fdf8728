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

// Quantiles returns the names of the primary metrics that are quantiles, in alphabetical order. A
// window must have enough requests for them.
func Quantiles() []string { return slices.Sorted(maps.Keys(window.Quantiles)) }

// firstLook returns the smallest number of blocks that can decide anything when this many comparisons
// share the probability of error.
func firstLook(comparisons int) int {
	if n := stats.FirstLook(comparisons); n > 0 {
		return n
	}
	return scenario.MaxBlocks + 1 // too many comparisons: no number of blocks decides
}

// chooseQuantiles sets the quantiles that must be decidable, and the settings that the user fixed.
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

// namedQuantiles returns the quantiles that expectations name, without duplicates.
func namedQuantiles(expect []string) (names []string) {
	for _, text := range expect {
		names = append(names, quantileName.FindAllString(text, -1)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// settleWindow lengthens the window for the quantiles asked for, and notes what still cannot be
// decided. It is called when the plan is made, and again when the rate is known.
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

// leastRate returns the lowest rate of the open-loop arms, in requests per second. It is 0 when a rate
// is not known yet, and +Inf when there is no such arm.
func (p *plan) leastRate() float64 {
	least := math.Inf(1)
	for _, a := range p.Arms {
		if !a.Clients.Closed() {
			least = min(least, a.Clients.Rate)
		}
	}
	return least
}

// leastFloor returns the lowest min_rate of the arms with a relative rate; +Inf when there is none.
func (p *plan) leastFloor() float64 {
	least := math.Inf(1)
	for _, a := range p.arms {
		if a.load.Rate.OfSlowest > 0 {
			least = min(least, a.load.MinRate.PerSecond)
		}
	}
	return least
}

// longestWindow returns the longest possible window. A trace file fixes the length of the window, and a
// log has an end.
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

// period returns the unit by which a window may grow. If the arrivals have a shape over the window,
// that is the window's own length; else it is 0, any unit.
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

// arrivalsOf returns a load's arrival process, not yet opened. The load must have been checked.
func arrivalsOf(l scenario.Load) arrivals.Process {
	a, _ := arrivals.Parse(l.Arrivals) // the scenario was checked
	return a
}

// tellCannot calls OnDoubt with each kind of doubt that makes or breaks the answer, and OnCannot if the
// run cannot decide a metric that was asked for.
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

// Undecided returns a fact for each metric that cannot be decided, with the flags that would help.
// Metrics that nothing asks for are left out, unless all is set.
func Undecided(f record.Feasibility, all bool) (facts []record.Fact) {
	for i, u := range f.Cannot {
		if !u.Asked && !all || u.Code != record.ShortRequests && i > 0 { // other shortages are the same for every metric: report one
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

// wouldDo returns flags in the form of a command line; "" for none.
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
