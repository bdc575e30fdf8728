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
	// MostRequests bounds one trial, of about 165 bytes of memory each: 48 of a
	// record.Request, 88 of its stamps, up to 28 of the trace. What vegeta drops of a
	// hit, about 2 KB, is left to the collector: see quietCollector.
	MostRequests = 5_000_000

	// runMargin is the surplus of requests that a Poisson window needs so that
	// it rarely falls short of a quantile's minimum.
	runMargin = 1.1
)

// SearchOptions are what a plan tells its search: the rates that windows can judge,
// and that the generator has room for, among them.
func SearchOptions(p record.Plan, slo stats.SLO) capacity.Options {
	return capacity.Options{
		SLO: slo, Seed: p.Seed, Windows: p.Windows, Floor: runMargin * float64(hardest(slo).Requests()) / p.Window, Ceiling: MostRequests / (p.Warmup + p.Window),
	}
}

// hardest is the term that needs the most requests in a window.
func hardest(slo stats.SLO) stats.Term {
	return slices.MaxFunc(slo, func(a, b stats.Term) int { return cmp.Compare(a.Requests(), b.Requests()) })
}

// Reduced is a window of the search as the search takes it.
func Reduced(t record.TrialRecord, e record.Env, c record.Clients, slo stats.SLO) capacity.Window {
	w, _, _ := reduced(t, e, c, slo)
	return w
}

// reduced is that with all its figures, and why it is no evidence, if so.
func reduced(t record.TrialRecord, e record.Env, c record.Clients, slo stats.SLO) (capacity.Window, window.Window, record.Fact) {
	c.Rate = t.Rate
	w := window.Reduce(t, e, c)
	why := unfit(&w, e, slo)
	out := capacity.Window{
		Purpose: capacity.Purpose(t.Purpose), Rate: t.Rate, Sent: float64(w.Requests) / t.Window,
		Errors: w.Values["errors"], Refused: !why.None(),
	}
	var response []float64
	for _, r := range t.Requests {
		if t.InWindow(r) {
			response = append(response, time.Duration(r.Done-r.Scheduled).Seconds())
		}
	}
	slices.Sort(response)
	for _, term := range slo {
		v := w.Values[term.Metric]
		switch {
		case w.Requests < term.Requests():
			v = math.NaN()
		case term.Quantile > 0:
			v = stats.Quantile(response, term.Quantile)
		}
		out.Values = append(out.Values, v)
	}
	return out, w, why
}

// TooSlow says why an arm with that X_max cannot be searched in windows of so many
// seconds, for an error and an answer.
func TooSlow(o capacity.Options, window, xmax float64) string {
	term := hardest(o.SLO)
	other := "promise less"
	if term.Quantile > 0 {
		other = "ask for a lower quantile"
	}
	return fmt.Sprintf("does %s at most, and a window of %g s needs %s to judge %s; lengthen --window to %.0fs or %s",
		prose.PerSecond(xmax), window, prose.PerSecond(o.Floor), term, window*2*o.Floor/xmax+1, other)
}

// rateLimit is by how much the load may miss the rate that it was to offer, a ratio.
const rateLimit = .01

// ofGenerator reports whether a window was refused, by [unfit], because the
// generator could not offer its rate.
func ofGenerator(why record.Fact) bool {
	return why.Code == rateOff || why.Code == sentLate
}

// unfit says why a window is no evidence about its server, if so: its data are
// wrong, or the load did not offer the rate. That a server falls behind is what a search
// looks for. Noise counts: the search asks every rate several times.
func unfit(w *window.Window, e record.Env, slo stats.SLO) (why record.Fact) {
	for _, b := range w.Breaches(serverCPUs(e), nil, false) { // too few requests for a term are [tooFew]'s
		if b.Rule != window.RuleBacklog && !strings.HasPrefix(b.Rule, "Little") {
			return record.Fact{Code: ruleBroken, Names: record.Names{"rule": b.Rule}, Values: record.Values{"value": b.Value, "limit": b.Limit}}
		}
	}
	if w.RateOff > rateLimit {
		return record.Fact{Code: rateOff, Values: record.Values{"value": w.RateOff, "limit": rateLimit}}
	}
	for _, t := range slo {
		own, sent := w.Values[t.Metric], w.Values[t.Metric+window.FromSent]
		if _, known := window.Quantiles[t.Metric]; known && !math.IsNaN(own) && !t.Holds(own) && t.Holds(sent) {
			return record.Fact{Code: sentLate, Metric: t.Metric, Values: record.Values{"own": own, "sent": sent}}
		}
	}
	return why
}
