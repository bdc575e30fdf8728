package runner

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"schedlab/internal/measuring/arrivals"
	"schedlab/internal/measuring/judge"
	"schedlab/internal/measuring/scenario"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// probeSpare is the part (one in so many) by which an advised window is longer where the probes choose
// the rate, since the next run's probes may choose a lower one.
const probeSpare = 10

// windowStep is the unit to which windows are rounded up. Round lengths are easier to read and to repeat.
const windowStep = 50 * time.Millisecond

// roundUp rounds a duration up to a multiple of step.
func roundUp(d, step time.Duration) time.Duration { return (d + step - 1).Truncate(step) }

// times are the length of a window and the longest time of a comparison.
type times struct{ window, budget time.Duration }

// limits are what a plan's window and budget depend on.
type limits struct {
	needs    judge.Needs
	first    int           // blocks of the first look with a verdict
	roomy    int           // blocks for which there must be room before a window grows, if more than first
	rate     float64       // of requests that quantiles are about, the lowest of the arms, per second; 0 while it is not known
	floor    float64       // no lower rate will be chosen, per second; +Inf where rates are given
	relative bool          // probes choose the rate
	shaped   bool          // arrivals have a shape over the window
	longest  time.Duration // a window may be
	blocks   int           // that flags give; 0 for none
	window   bool          // flags give the window
	budget   bool          // flags or the scenario give the budget
	// cost is about how long blocks with windows of a length take.
	cost func(window time.Duration, blocks int) time.Duration
}

// limits returns what the plan's window and budget depend on.
func (p plan) limits() limits {
	needs := p.needs()
	first := cmp.Or(stats.FirstLook(needs.Comparisons, needs.Bases), scenario.MaxBlocks+1)
	return limits{
		// More comparisons share the probability of error and leave a smaller one to each, and so need more
		// blocks. With too many, no number of blocks decides.
		needs: needs, first: first, roomy: p.raceBlocks(first),
		rate: p.quantileRate(), floor: p.leastFloor(), relative: p.relative(), shaped: p.shaped(), longest: p.longestWindow(),
		blocks: p.opts.Blocks, window: p.opts.Window > 0, budget: p.opts.Budget > 0 || p.scenario.Protocol.Budget > 0,
		cost: p.costOf,
	}
}

// fit returns the window and the budget for what has to be decided, and what still cannot be decided with them. asked are
// the times that flags and scenario name, and never an earlier result: so the same rates give the same times before the
// probes and after them.
//
// A quantile can be judged only from enough requests beyond it, so a window must be long enough at the planned
// rate; longer windows need a larger budget. This file finds the shortest window that does, and tells what
// would help where the plan leaves no room. It only calculates: nothing is measured.
func fit(l limits, asked times) (times, record.Feasibility) {
	f, window := l.decide(asked)
	// A larger budget may have room for a longer window.
	if more := l.moreBudget(f, window); more > 0 {
		asked.budget = more
		f, window = l.decide(asked)
	}
	return times{window, asked.budget}, f
}

// decide returns what can be decided within a budget, and the window for it. The window is the shortest
// from given.window on with enough requests for every quantile asked for. If the budget has no room for
// that, it is the shortest for those quantiles that fit.
func (l limits) decide(given times) (record.Feasibility, time.Duration) {
	window, asked := given.window, l.needs.Quantiles
	f := record.Feasibility{First: l.first}
	// length is the window with room in the budget, all the window for everything that was asked for.
	length, all := window, window
	for _, m := range stats.Quantiles() { // p50 first: it needs the fewest requests
		if l.rate == 0 || !slices.Contains(asked, m.Figure) {
			continue
		}
		roomy, least := l.windowsFor(m.Quantile, window)
		fits := func(length time.Duration, blocks int, budget time.Duration) bool {
			return length <= l.longest && l.cost(length, blocks) <= budget
		}
		if fits(roomy, l.first, scenario.Full.Budget) {
			all = max(all, roomy)
		} else {
			all = max(all, least)
		}
		switch blocks := max(l.first, l.roomy); {
		case l.window:
		case fits(roomy, blocks, given.budget):
			length = max(length, roomy)
		case fits(least, blocks, given.budget):
			length = max(length, least)
		}
	}
	if length > window {
		f.Planned = record.Lasting(window)
	}
	few := l.blocks > 0 && l.blocks < l.first
	for _, m := range stats.Quantiles() {
		// The first cause that applies is told: too few blocks or a short budget leave every
		// metric undecided, too few requests only this one.
		u := record.Undecidable{Metric: m.Figure, Asked: slices.Contains(asked, m.Figure) && !(l.needs.Tail && m.Quantile > .5)}
		switch {
		case few:
			u.Code, u.Value, u.Limit = record.ShortBlocks, float64(l.blocks), float64(l.first)
		case l.cost(length, l.first) > given.budget:
			u.Code, u.Value, u.Limit = record.ShortBudget, given.budget.Seconds(), l.cost(length, l.first).Seconds()
		case l.isShort(length, m.Quantile):
			u.Code, u.Value, u.Limit = record.ShortRequests, math.Floor(l.rate*length.Seconds()), math.Ceil(judge.RequestsFor(m.Quantile))
		default:
			continue
		}
		f.Cannot = append(f.Cannot, u)
	}
	// While the rate is not known, tell the rate that would be enough, if even the lowest rate is
	// not sure to be.
	for _, quantile := range asked {
		if need := judge.RequestsFor(quantile.Row().Quantile) / length.Seconds(); l.rate == 0 && need > l.floor {
			f.NeedsRate = max(f.NeedsRate, math.Ceil(need))
		}
	}
	// Would holds the flags that would help together. No flag helps if the window cannot be that long.
	lacking := slices.ContainsFunc(f.Cannot, func(u record.Undecidable) bool { return u.Asked })
	if lacking && all <= l.longest {
		f.Would = &record.WouldDo{}
		if all > length {
			if l.relative {
				all = min(roundUp(all+all/probeSpare, windowStep), l.longest)
			}
			f.Would.Window = record.Lasting(all)
		}
		if cost := l.cost(all, l.first); cost > given.budget {
			f.Would.Budget = record.Lasting(roundUp(cost, time.Second))
		}
		if few {
			f.Would.Blocks = l.first
		}
	}
	return f, length
}

// windowsFor returns two windows for a quantile at the planned rate, no shorter than window: a roomy one, which hardly ever has too
// few requests, and the least with which the quantile is judged at all, which may have too few in some blocks. They grow by whole
// steps. If the arrivals have a shape over the window, a step is the window itself: a part of a period would have another mean
// rate than the whole.
func (l limits) windowsFor(quantile float64, window time.Duration) (roomy, least time.Duration) {
	step := windowStep
	if l.shaped {
		step = max(window, windowStep)
	}
	holding := func(requests float64) time.Duration {
		return window + roundUp(max(time.Duration(requests/l.rate*float64(time.Second))-window, 0), step)
	}
	return holding(stats.PlannedRequests(stats.MinRequests(quantile))), holding(judge.RequestsFor(quantile))
}

// isShort reports whether a window has too few requests for a quantile, 0 for none. A rate that is not known yet is short of nothing.
func (l limits) isShort(window time.Duration, quantile float64) bool {
	return quantile > 0 && l.rate > 0 && l.rate*window.Seconds() < judge.RequestsFor(quantile)
}

// short returns which of the quantiles among figures have too few requests in a window of this length.
func (l limits) short(window time.Duration, figures []stats.Figure) (short []stats.Figure) {
	for _, f := range figures {
		if l.isShort(window, f.Row().Quantile) {
			short = append(short, f)
		}
	}
	return short
}

// roomyBlocks is the number of blocks that a budget has room for after it grew for judge.Needs.Must. The
// first look alone would leave most expectations open.
const roomyBlocks = 16

// moreBudget returns a budget in which the window can grow for judge.Needs.Must, no longer than
// scenario.Full's. It is 0 if none is needed, or if the budget or the window is the user's.
func (l limits) moreBudget(f record.Feasibility, window time.Duration) time.Duration {
	// A limit that somebody chose is kept; mustJudge then tells what to change.
	if l.budget || l.window || f.Would == nil || f.Would.Window.Duration == 0 || len(l.short(window, l.needs.Must)) == 0 {
		return 0
	}
	most, length := scenario.Full.Budget, f.Would.Window.Duration
	if l.cost(length, f.First) > most {
		return 0
	}
	// Some blocks beyond the first look, as far as scenario.Full goes.
	return min(roundUp(l.cost(length, max(f.First, roomyBlocks)), time.Second), most)
}

// shorter returns the plan with the longest windows that are shorter than these and that fit, and whether there are any. The
// windows must have grown for quantiles that were asked for; they may lose one, but none that the aim must have.
func (p plan) shorter(fits func(window time.Duration) bool) (plan, bool) {
	l, lengths := p.limits(), []time.Duration{p.asked.window}
	for _, f := range l.needs.Quantiles {
		roomy, least := l.windowsFor(f.Row().Quantile, p.asked.window)
		lengths = append(lengths, roomy, least)
	}
	slices.Sort(lengths)
	for _, window := range slices.Backward(lengths) {
		if window >= p.Window.Duration || len(l.short(window, l.needs.Must)) > 0 || !fits(window) {
			continue
		}
		p.opts.Window, p.asked.window = window, window // as if asked for: it does not grow again
		p.Arms = slices.Clone(p.Arms)                  // settle sets their rates, and the longer plan stays as it is
		err := p.settle()
		return p, err == nil
	}
	return p, false
}

// needs returns what the plan has to make decidable.
func (p plan) needs() judge.Needs {
	n := p.opts.Aim.Needs(p.Expect, len(p.Arms))
	if slices.ContainsFunc(p.Arms, func(a arm) bool { return a.Clients.Impatient() }) {
		n.Comparisons += n.Pairs
	}
	return n
}

// settleWindow lengthens the window for the quantiles asked for, and notes what still cannot be
// decided. It is called when the plan is made, and again when the rate is known.
func (p *plan) settleWindow() {
	fitted, lacks := fit(p.limits(), p.asked)
	p.Feasible, p.Window, p.budget = &lacks, record.Lasting(fitted.window), fitted.budget
	p.Estimate = record.Lasting(min(p.cost(p.Blocks), p.budget))
}

// mustJudge returns an error if a window holds too few requests for a quantile of judge.Needs.Must. It names the
// flags that help. Refusing at once is better than a run that ends without the answer that was asked for.
func (p plan) mustJudge() error {
	rate, window := p.quantileRate(), p.Window.Duration
	needs := p.needs()
	short := p.limits().short(window, needs.Must)
	if len(short) == 0 {
		return nil
	}
	// The last is the highest quantile, which needs the most requests.
	metric := short[len(short)-1].Row()
	advice := "raise --rate, or expect a lower quantile"
	if flags := wouldDo(p.Feasible.Would); flags != "" {
		advice = "give " + flags
	}
	return &Impossible{Usage: true, Flag: strings.TrimPrefix(needs.Flag, "--"), msg: fmt.Sprintf("%s asks for %s, and it cannot be judged: a window of %v holds %.0f requests at %s, and %s needs %.0f; %s",
		needs.Flag, metric.Name, window, math.Floor(rate*window.Seconds()), scenario.Rate{PerSecond: rate}, metric.Name, math.Ceil(judge.RequestsFor(metric.Quantile)), advice)}
}

// leastRate returns the lowest rate of the open-loop arms; see judge.LowestRate.
func (p plan) leastRate() float64 { return judge.LowestRate(p.recorded()) }

// quantileRate returns the rate of the requests that quantiles are about; see judge.QuantileRate.
func (p plan) quantileRate() float64 { return judge.QuantileRate(p.recorded()) }

// leastFloor returns the lowest min_rate of the arms with a relative rate; +Inf when there is none.
func (p plan) leastFloor() float64 {
	least := math.Inf(1)
	for _, a := range p.Arms {
		if a.load.Rate.OfSlowest > 0 {
			least = min(least, a.load.MinRate.PerSecond)
		}
	}
	if c, ok := p.JudgedClass(); ok {
		least *= c.Share
	}
	return least
}

// longestWindow returns the longest possible window. A trace file fixes the length of the window,
// and a log has an end. The span of a log shrinks as its rate grows.
func (p plan) longestWindow() time.Duration {
	switch {
	case p.scenario.Log != nil:
		if rate := p.leastRate(); rate > 0 && !math.IsInf(rate, 1) {
			return p.scenario.Log.Span(rate) - p.Warmup.Duration
		}
	case slices.ContainsFunc(p.Arms, func(a arm) bool { return a.arrivals.Kind == arrivals.KindTrace }):
		return p.asked.window
	}
	return scenario.Longest
}

// shaped reports whether the arrivals of an arm have a shape over the window.
func (p plan) shaped() bool {
	shapeless := []arrivals.Kind{"", arrivals.KindPoisson, arrivals.KindConstant, arrivals.KindLog}
	return slices.ContainsFunc(p.Arms, func(a arm) bool {
		kind := a.arrivals.Kind
		return !slices.Contains(shapeless, kind) && (kind != arrivals.KindBurst || a.arrivals.Period > 0)
	})
}

// tellFirst tells the observer what the user should know before the blocks start.
func (p plan) tellFirst() {
	// Many arms may have the same doubt. Once is enough here: the report shows them all.
	told := map[fact.Code]bool{}
	for _, d := range p.Doubts {
		if d.Code.Decides() && !told[d.Code] {
			told[d.Code] = true
			p.opts.Observer.Doubt(d)
		}
	}
	if p.Feasible != nil {
		for _, f := range append(p.foreseen(), Undecided(*p.Feasible, false)...) {
			p.opts.Observer.Doubt(f)
		}
	}
}

// foreseen returns what the plan means for the expectations: that windows are longer for judge.Needs.Must,
// and which expectations it cannot judge because of too few requests in a window.
func (p plan) foreseen() (facts []fact.Fact) {
	if needs := p.needs(); p.Feasible.Planned.Duration > 0 && needs.Flag != "" {
		v := longerWindows{Window: p.Window.Duration, Planned: p.Feasible.Planned.Duration, Flag: needs.Flag}
		if p.budget > p.asked.budget {
			v.Budget = p.budget
		}
		facts = append(facts, windowsLonger.Of(v))
	}
	if p.grown > 0 && p.grown == p.budget {
		facts = append(facts, budgetGrown.Of(grownBudget{p.budget}))
	}
	var open []string
	l := p.limits()
	for _, e := range p.Expect {
		if len(l.short(p.Window.Duration, e.Quantiles())) > 0 {
			open = append(open, e.String())
		}
	}
	if open != nil {
		facts = append(facts, expectationsShort.Of(shortExpectations{Short: len(open), All: len(p.Expect), Which: strings.Join(open, ", ")}))
	}
	return facts
}

// Undecided returns a fact for each metric that cannot be decided, with the flags that would help.
// Metrics that nothing asks for are left out, unless all is set.
func Undecided(f record.Feasibility, all bool) (facts []fact.Fact) {
	for i, u := range f.Cannot {
		if !u.Asked && !all || u.Code != record.ShortRequests && i > 0 { // other shortages are the same for every metric: report one
			continue
		}
		v := undecidable{Short: u.Code, Has: u.Value, Needs: u.Limit, First: f.First, Asked: "no"}
		if u.Asked {
			v.Asked, v.Remedy = "yes", &Remedy{wouldDo(f.Would)}
		}
		facts = append(facts, cannotBeDecided.Of(v).At(u.Metric.String()))
	}
	return facts
}

// wouldDo returns flags in the form of a command line; "" for none. The user can copy them to the
// command as they are.
func wouldDo(w *record.WouldDo) string {
	if w == nil {
		return ""
	}
	var flags []string
	if w.Window.Duration > 0 {
		flags = append(flags, "--window "+w.Window.Round(time.Millisecond).String())
	}
	if w.Budget.Duration > 0 {
		flags = append(flags, "--budget "+w.Budget.String())
	}
	if w.Blocks > 0 {
		flags = append(flags, fmt.Sprintf("--blocks %d", w.Blocks))
	}
	return strings.Join(flags, " ")
}
