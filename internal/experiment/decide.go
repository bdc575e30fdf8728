package experiment

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"schedlab/internal/arrivals"
	"schedlab/internal/expect"
	"schedlab/internal/fact"
	"schedlab/internal/judge"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
	"schedlab/internal/stats"
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

// fit returns the window and the budget that the plan needs, and what it still cannot decide with them. asked are the
// times that flags and scenario name. Always pass these and never an earlier result, so that the same rates give the
// same times before the probes and after them.
//
// A quantile can be judged only from enough requests beyond it, so a window must be long enough at the planned
// rate; longer windows need a larger budget. This file finds the shortest window that does, and tells what
// would help where the plan leaves no room. It only calculates: nothing is measured.
func (p plan) fit(asked times) (times, record.Feasibility) {
	f, window := p.decide(asked)
	// A larger budget may have room for a longer window.
	if more := p.moreBudget(f, window); more > 0 {
		asked.budget = more
		f, window = p.decide(asked)
	}
	return times{window, asked.budget}, f
}

// decide returns what the plan can decide within a budget, and the window for it. The window is the shortest
// from given.window on with enough requests for every quantile asked for. If the budget has no room for
// that, it is the shortest for those quantiles that fit.
func (p plan) decide(given times) (record.Feasibility, time.Duration) {
	window, longest, rate, needs := given.window, p.longestWindow(), p.leastRate(), p.needs()
	asked := needs.Quantiles
	// More comparisons share the probability of error and leave a smaller one to each, and so need more
	// blocks. With too many, no number of blocks decides.
	first := cmp.Or(stats.FirstLook(needs.Comparisons, needs.Bases), scenario.MaxBlocks+1)
	f := record.Feasibility{First: first}
	// length is the window with room in the budget, all the window for everything that was asked for.
	length, all := window, window
	for _, m := range stats.Quantiles() { // p50 first: it needs the fewest requests
		if rate == 0 || !slices.Contains(asked, m.Figure) {
			continue
		}
		need := p.windowFor(m.Quantile, window)
		all = max(all, need)
		if p.opts.Window == 0 && need <= longest && p.costOf(need, first) <= given.budget {
			length = max(length, need)
		}
	}
	if length > window {
		f.Planned = record.Lasting(window)
	}
	few := p.opts.Blocks > 0 && p.opts.Blocks < first
	for _, m := range stats.Quantiles() {
		// The first cause that applies is told: too few blocks or a short budget leave every
		// metric undecided, too few requests only this one.
		u := record.Undecidable{Metric: m.Figure, Asked: slices.Contains(asked, m.Figure)}
		switch {
		case few:
			u.Code, u.Value, u.Limit = record.ShortBlocks, float64(p.opts.Blocks), float64(first)
		case p.costOf(length, first) > given.budget:
			u.Code, u.Value, u.Limit = record.ShortBudget, given.budget.Seconds(), p.costOf(length, first).Seconds()
		case rate > 0 && rate*length.Seconds() < judge.RequestsFor(m.Quantile):
			u.Code, u.Value, u.Limit = record.ShortRequests, math.Floor(rate*length.Seconds()), math.Ceil(judge.RequestsFor(m.Quantile))
		default:
			continue
		}
		f.Cannot = append(f.Cannot, u)
	}
	// While the rate is not known, tell the rate that would be enough, if even the lowest rate is
	// not sure to be.
	for _, quantile := range asked {
		if need := judge.RequestsFor(quantile.Row().Quantile) / length.Seconds(); rate == 0 && need > p.leastFloor() {
			f.NeedsRate = max(f.NeedsRate, math.Ceil(need))
		}
	}
	// Would holds the flags that would help together. No flag helps if the window cannot be that long.
	lacking := slices.ContainsFunc(f.Cannot, func(u record.Undecidable) bool { return u.Asked })
	if lacking && all <= longest {
		f.Would = &record.WouldDo{}
		if all > length {
			if p.relative() {
				all = min(roundUp(all+all/probeSpare, windowStep), longest)
			}
			f.Would.Window = record.Lasting(all)
		}
		if cost := p.costOf(all, first); cost > given.budget {
			f.Would.Budget = record.Lasting(roundUp(cost, time.Second))
		}
		if few {
			f.Would.Blocks = first
		}
	}
	return f, length
}

// windowFor returns the shortest window, no shorter than window, with enough requests for a quantile at the planned rate. It grows
// by whole steps, so that arrivals with a shape have whole periods in it.
func (p plan) windowFor(quantile float64, window time.Duration) time.Duration {
	exact := time.Duration(judge.RequestsFor(quantile) / p.leastRate() * float64(time.Second))
	return window + roundUp(max(exact-window, 0), p.step(window))
}

// shorter returns the plan with the longest windows that are shorter than these and that fit, and whether there are any. The
// windows must have grown for quantiles that were asked for; they may lose one, but none that the aim must have.
func (p plan) shorter(fits func(window time.Duration) bool) (plan, bool) {
	lengths := []time.Duration{p.asked.window}
	for _, f := range p.needs().Quantiles {
		lengths = append(lengths, p.windowFor(f.Row().Quantile, p.asked.window))
	}
	slices.Sort(lengths)
	for _, window := range slices.Backward(lengths) {
		if window >= p.Window.Duration || len(p.short(window, p.needs().Must)) > 0 || !fits(window) {
			continue
		}
		p.opts.Window, p.asked.window = window, window // as if asked for: it does not grow again
		err := p.settle()
		return p, err == nil
	}
	return p, false
}

// needs returns what the plan has to make decidable.
func (p plan) needs() judge.Needs { return p.opts.Aim.Needs(p.Expect, len(p.Arms)) }

// settleWindow lengthens the window for the quantiles asked for, and notes what still cannot be
// decided. It is called when the plan is made, and again when the rate is known.
func (p *plan) settleWindow() {
	fitted, lacks := p.fit(p.asked)
	p.Feasible, p.Window, p.budget = &lacks, record.Lasting(fitted.window), fitted.budget
	p.Estimate = record.Lasting(min(p.cost(p.Blocks), p.budget))
}

// short returns which of the quantiles among figures have too few requests in a window of this length. A rate that is not
// known yet is short of nothing.
func (p plan) short(window time.Duration, figures []stats.Figure) (short []stats.Figure) {
	rate := p.leastRate()
	for _, f := range figures {
		if q := f.Row().Quantile; q > 0 && rate > 0 && rate*window.Seconds() < judge.RequestsFor(q) {
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
func (p plan) moreBudget(f record.Feasibility, window time.Duration) time.Duration {
	// A limit that somebody chose is kept; mustJudge then tells what to change.
	given := p.opts.Budget > 0 || p.scenario.Protocol.Budget > 0 || p.opts.Window > 0
	if given || f.Would == nil || f.Would.Window.Duration == 0 || len(p.short(window, p.needs().Must)) == 0 {
		return 0
	}
	most, length := scenario.Full.Budget, f.Would.Window.Duration
	if p.costOf(length, f.First) > most {
		return 0
	}
	// Some blocks beyond the first look, as far as scenario.Full goes.
	return min(roundUp(p.costOf(length, max(f.First, roomyBlocks)), time.Second), most)
}

// mustJudge returns an error if a window holds too few requests for a quantile of judge.Needs.Must. It names the
// flags that help. Refusing at once is better than a run that ends without the answer that was asked for.
func (p plan) mustJudge() error {
	rate, window := p.leastRate(), p.Window.Duration
	needs := p.needs()
	short := p.short(window, needs.Must)
	if len(short) == 0 {
		return nil
	}
	// The last is the highest quantile, which needs the most requests.
	metric := short[len(short)-1].Row()
	advice := "raise --rate, or expect a lower quantile"
	if flags := wouldDo(p.Feasible.Would); flags != "" {
		advice = "give " + flags
	}
	return &Impossible{Usage: true, msg: fmt.Sprintf("%s asks for %s, and it cannot be judged: a window of %v holds %.0f requests at %s, and %s needs %.0f; %s",
		needs.Flag, metric.Name, window, math.Floor(rate*window.Seconds()), scenario.Rate{PerSecond: rate}, metric.Name, math.Ceil(judge.RequestsFor(metric.Quantile)), advice)}
}

// leastRate returns the lowest rate of the open-loop arms; see judge.LowestRate.
func (p plan) leastRate() float64 { return judge.LowestRate(p.recorded()) }

// leastFloor returns the lowest min_rate of the arms with a relative rate; +Inf when there is none.
func (p plan) leastFloor() float64 {
	least := math.Inf(1)
	for _, a := range p.Arms {
		if a.load.Rate.OfSlowest > 0 {
			least = min(least, a.load.MinRate.PerSecond)
		}
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
		return p.Window.Duration
	}
	return scenario.Longest
}

// step returns the unit by which a window of this length may grow. If the arrivals have a shape over the window,
// that is the length itself. A part of a period would have another mean rate than the whole.
func (p plan) step(window time.Duration) time.Duration {
	shapeless := []arrivals.Kind{"", arrivals.KindPoisson, arrivals.KindConstant, arrivals.KindLog}
	for _, a := range p.Arms {
		if kind := a.arrivals.Kind; !slices.Contains(shapeless, kind) && (kind != arrivals.KindBurst || a.arrivals.Period > 0) {
			return max(window, windowStep)
		}
	}
	return windowStep
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
	var open []string
	for _, text := range p.Expect {
		if len(p.short(p.Window.Duration, expect.Quantiles([]string{text}))) > 0 {
			open = append(open, text)
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
