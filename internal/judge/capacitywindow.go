package judge

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"schedlab/internal/capacity"
	"schedlab/internal/prose"
	"schedlab/internal/record"
	"schedlab/internal/stats"
	"schedlab/internal/window"
)

const (
	// MostRequests limits the requests of one trial. Each takes about 165 bytes of memory: 48 for
	// a record.Request, 88 for its stamps, up to 28 for the trace. Vegeta's garbage, about 2 KB
	// per hit, is left to the collector: see pauseGC.
	MostRequests = 5_000_000

	// runMargin is the factor by which a window's expected requests must exceed a quantile's
	// minimum, so that a window of Poisson arrivals rarely falls short of the minimum.
	runMargin = 1.1

	// StepCost is what a window of a search takes beside its load: start, settling and drain of its
	// server.
	StepCost = 100 * time.Millisecond

	// ProbeCost is what the probe of X_max takes.
	ProbeCost = 2150 * time.Millisecond
)

// SearchBudget returns the shortest budget of an arm's search with such windows, rounded up.
func SearchBudget(warmup, window time.Duration) time.Duration {
	const unit = 100 * time.Millisecond
	return (capacity.Least*(warmup+window+StepCost) + ProbeCost + unit - 1).Truncate(unit)
}

// SearchWindow returns a window of whole seconds that is long enough to judge an arm that does most
// requests per second, where one of length window can judge from floor requests per second on; a day
// at most. Twice as many requests as needed leave room for the rates below.
func SearchWindow(window time.Duration, floor, most float64) time.Duration {
	longer := float64(window)*2*floor/most + float64(time.Second)
	return time.Duration(min(longer, float64(24*time.Hour))).Round(time.Second)
}

// SearchOptions returns the search options of a plan. Floor is the lowest rate that its windows
// can judge, Ceiling the highest rate that MostRequests allows. Rates are requests per second.
func SearchOptions(p record.Plan, slo stats.SLO) capacity.Options {
	return capacity.Options{
		SLO: slo, Seed: p.Seed, Windows: p.Windows, Floor: runMargin * float64(Hardest(slo).Requests()) / p.Window, Ceiling: MostRequests / (p.Warmup + p.Window),
	}
}

// Hardest returns the term that needs the most requests in a window.
func Hardest(slo stats.SLO) stats.Term {
	return slices.MaxFunc(slo, func(a, b stats.Term) int { return cmp.Compare(a.Requests(), b.Requests()) })
}

// Reduced reduces a trial of a search to the window that the search uses. It depends on nothing
// else, so that the search and the judge of its record get the same windows.
func Reduced(t record.TrialRecord, e record.Env, c record.Clients, slo stats.SLO) record.RateWindow {
	w, _ := reduced(t, e, c, slo)
	return w
}

// reduced returns the same window as [Reduced] together with all its figures. A window with too few
// requests to judge one of the terms is refused, unless it overloads the server.
func reduced(t record.TrialRecord, e record.Env, c record.Clients, slo stats.SLO) (record.RateWindow, window.Window) {
	// The plan has no rate: the search chose it.
	c.Rate = t.Rate
	w := window.Reduce(t, e, c)
	out := record.RateWindow{
		Trial: t.Number, Purpose: t.Purpose, Rate: t.Rate, Sent: float64(w.Requests) / t.Window,
		Goodput: w.Values["goodput"], Errors: w.Values["errors"], Values: map[string]float64{}, Refused: unfit(&w, e, slo),
	}
	response := t.Responses()
	for _, term := range slo {
		v := w.Values[term.Metric]
		switch {
		case w.Requests < term.Requests():
			v = math.NaN()
		// An objective may ask for any quantile, so take it from the requests and not from the
		// named ones.
		case term.Quantile > 0:
			v = stats.Quantile(response, term.Quantile)
		}
		switch {
		case !math.IsNaN(v):
			out.Values[term.Metric] = v
		case out.Refused.None() && out.Purpose != capacity.Overload:
			out.Refused = record.Fact{Code: tooFewForTerm, Metric: term.Metric}
		}
	}
	out.Kept = out.Refused.None() && capacity.Keeps(out, slo)
	return out, w
}

// TooSlow explains, for an error or an answer, why an arm with this X_max (requests per second)
// cannot be searched in windows of this length, and which window would do, with the budget that it
// takes if that is above this one. It begins with a verb, to follow the arm's name.
func TooSlow(o capacity.Options, warmup, window, budget time.Duration, xmax float64) string {
	term := Hardest(o.SLO)
	other := "promise less"
	if term.Quantile > 0 {
		other = "ask for a lower quantile"
	}
	longer, with := SearchWindow(window, o.Floor, xmax), ""
	if needs := SearchBudget(warmup, longer); needs > budget {
		with = fmt.Sprintf(" with --budget %v", needs)
	}
	return fmt.Sprintf("does %s at most, and a window of %g s needs %s to judge %s; lengthen --window to %.0fs%s or %s",
		prose.PerSecond(xmax), window.Seconds(), prose.PerSecond(o.Floor), term, longer.Seconds(), with, other)
}

// rateLimit is the largest relative difference allowed between the sent rate and the planned rate,
// a ratio.
const rateLimit = .01

// ofGenerator reports whether [unfit] refused a window because the generator could not offer the
// rate.
func ofGenerator(why record.Fact) bool {
	return why.Code == rateOff || why.Code == sentLate
}

// unfit returns the reason if a window is not evidence about its server: its data are wrong, or
// the load did not offer the rate. A server that falls behind is no reason, because the search
// looks for exactly that. Noise is no reason either, because the search tries every rate several
// times.
func unfit(w *window.Window, e record.Env, slo stats.SLO) (why record.Fact) {
	for _, b := range w.Breaches(serverCPUs(e), nil, false) { // [reduced] handles too few requests
		// Both break for a server that falls behind, which is an answer and no fault.
		if b.Rule != window.RuleBacklog && !strings.HasPrefix(b.Rule, "Little") {
			return record.Fact{Code: ruleBroken, Names: record.Names{"rule": b.Rule}, Values: record.Values{"value": b.Value, "limit": b.Limit}}
		}
	}
	if w.RateOff > rateLimit {
		return record.Fact{Code: rateOff, Values: record.Values{"value": w.RateOff, "limit": rateLimit}}
	}
	for _, t := range slo {
		// The term fails from the scheduled times and holds from the sending, so the lateness of
		// the load alone breaks it.
		own, sent := w.Values[t.Metric], w.Values[t.Metric+window.FromSent]
		if stats.MetricOf(t.Metric).Quantile > 0 && !math.IsNaN(own) && !t.Holds(own) && t.Holds(sent) {
			return record.Fact{Code: sentLate, Metric: t.Metric, Values: record.Values{"own": own, "sent": sent}}
		}
	}
	return why
}
