package capacity

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"schedlab/internal/measuring/runner"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/stats"
)

// A simulated server has one worker, Poisson arrivals and exponential demands,
// served in order of arrival: M/M/1 in windows of finite length.
type simulated struct {
	mu             float64 // requests per second
	places         int     // more than these present are turned away; 0: no bound
	paused         float64 // share of windows in which the server stands still for a while
	pause          float64 // longest, seconds
	breaks         bool    // after an overload it is slow for ever
	refuses        float64 // share of windows that are no evidence
	refusesFrom    float64 // so are all from this rate on; 0: no bound
	ceiling        float64 // no higher rate may be offered; 0: no bound
	constant       bool    // demands are all alike
	slo            stats.SLO
	rng            *rand.Rand
	warmup, window float64
}

func newSimulated(t *testing.T, mu float64, slo string, seed uint64) *simulated {
	t.Helper()
	terms, err := stats.ParseSLO(slo)
	if err != nil {
		t.Fatal(err)
	}
	return &simulated{mu: mu, slo: terms, rng: rand.New(rand.NewPCG(seed, 99)), warmup: .5, window: 3}
}

// bench measures an arm's windows on a server of its own, and appends them to measured.
func (s *simulated) bench(measured [][]RateWindow) bench {
	return func(_ context.Context, arm int, step runner.Step, took func(RateWindow) (runner.Step, bool)) error {
		broken := false
		for more := true; more; {
			w := s.offer(step, broken)
			w.Purpose, w.Rate = step.Purpose, step.Rate
			measured[arm] = append(measured[arm], w)
			broken = broken || step.Purpose == purposeOverload && s.breaks && w.Refused.None()
			step, more = took(w)
		}
		return nil
	}
}

// offer measures one window of a server, which is broken after an overload.
func (s *simulated) offer(step runner.Step, broken bool) RateWindow {
	w := RateWindow{Values: map[stats.Measure]float64{}}
	if s.rng.Float64() < s.refuses || s.refusesFrom > 0 && step.Rate >= s.refusesFrom {
		w.Refused = fact.Fact{Code: "refused"}
		return w
	}
	mu := s.mu
	if broken {
		mu /= 2
	}
	from, until := -1., -1.
	if s.rng.Float64() < s.paused {
		from = s.warmup + s.rng.Float64()*s.window
		until = from + s.pause*(.3+.7*s.rng.Float64())
	}
	var took, leaves []float64
	at, free, all, lost, good := 0., 0., 0, 0, 0
	for {
		at += s.rng.ExpFloat64() / step.Rate
		if at > s.warmup+s.window {
			break
		}
		measured := at >= s.warmup
		if measured {
			all++
		}
		for len(leaves) > 0 && leaves[0] <= at {
			leaves = leaves[1:]
		}
		if s.places > 0 && len(leaves) >= s.places {
			if measured {
				lost++
				took = append(took, 1e-4)
			}
			continue
		}
		demand := s.rng.ExpFloat64() / mu
		if s.constant {
			demand = 1 / mu
		}
		start := max(at, free)
		if start < until && start+demand > from {
			demand += until - max(start, from)
		}
		free = start + demand
		leaves = append(leaves, free)
		if measured {
			took = append(took, free-at)
			if free < s.warmup+s.window {
				good++
			}
		}
	}
	slices.Sort(took)
	w.Sent = float64(all) / s.window
	w.Errors = float64(lost) / float64(max(all, 1))
	for _, t := range s.slo {
		switch {
		case all < t.Requests():
			if step.Purpose != purposeOverload {
				w.Refused = fact.Fact{Code: "too few requests"}
			}
		case t.Metric.Quantile > 0:
			w.Values[t.Metric] = stats.Quantile(took, t.Metric.Quantile)
		case t.Metric.Figure == stats.Errors:
			w.Values[t.Metric] = w.Errors
		case t.Metric.Figure == stats.Goodput:
			w.Values[t.Metric] = float64(good) / s.window
		}
	}
	return w
}

// search runs one search to its end.
func (s *simulated) search(t *testing.T, xmax float64, windows int, seed uint64) (finding, []RateWindow) {
	t.Helper()
	o := options{SLO: s.slo, Seed: seed, Windows: windows, Floor: 1.1 * 1000 / s.window, Ceiling: s.ceiling}
	all := make([][]RateWindow, 1)
	if err := searchAll(t.Context(), s.bench(all), []float64{xmax}, o); err != nil {
		t.Fatal(err)
	}
	return findingOf(o, all[0]), all[0]
}

// TestAccuracyUnderPauses is the promise of measurement.md §6: a root mean square
// error of 4 % at most on a server that stands still for a while in one window of
// five, against the capacity of M/M/1 in the long run.
func TestAccuracyUnderPauses(t *testing.T) {
	t.Parallel()
	const mu = 2000.
	truth := mu - math.Log(100)/.010
	const searches = 200
	var squares, width float64
	between, holds, lost := 0, 0, 0
	for seed := range uint64(searches) {
		s := newSimulated(t, mu, "p99<=10ms", seed)
		s.paused, s.pause = .2, .15
		// X_max is measured, too, in a window of a second or so.
		f, _ := s.search(t, mu*(1+.03*s.rng.NormFloat64()), windowsOfBudget, seed)
		lost += stats.Count(f.Recovers == outcome.No)
		off := f.Estimate/truth - 1
		squares += off * off
		if f.Outcome == outcome.Yes && f.High > 0 {
			between++
			width += (f.High - f.Low) / truth
			if f.Low <= truth && truth <= f.High {
				holds++
			}
		}
	}
	rmse := math.Sqrt(squares / searches)
	t.Logf("rmse %.2f %%; %d of %d searches ended in an interval, %.0f %% wide on average; %d of those hold the truth", 100*rmse, between, searches, 100*width/float64(between), holds)
	if rmse > .04 {
		t.Errorf("root mean square error %.2f %%, above 4 %%", 100*rmse)
	}
	// The server does recover: three windows of three break the objective by chance alone.
	if t.Logf("%d are said not to recover", lost); lost > searches/20 {
		t.Errorf("%d of %d servers that recover are said not to", lost, searches)
	}
	if between < searches*9/10 || holds < between*9/10 {
		t.Errorf("%d of %d searches ended in an interval, and %d of those hold the truth", between, searches, holds)
	}
}

// windowsOfBudget is how many windows of 3.5 s fit the budget of an arm, 90 s.
const windowsOfBudget = 24
