package judge

import (
	"math"
	"testing"
	"time"

	"schedlab/internal/queueing"
	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// straight is a theory whose mean and quantiles at a rate are as many seconds as it is
// requests a second.
func straight(name string, term stats.Term, edit func(*queueing.Prediction, float64)) curve {
	return curve{term: term, load: queueing.Load{Rate: 100}, theory: theory{name: name, predict: func(_ record.Station, l queueing.Load, _ record.Clients) queueing.Prediction {
		p := queueing.Prediction{Formula: "straight", Mean: &l.Rate, Quantile: func(float64) float64 { return l.Rate }}
		if edit != nil {
			edit(&p, l.Rate)
		}
		return p
	}}}
}

func over(c curve, rates ...float64) record.RateTheory {
	var windows []record.RateWindow
	for _, rate := range rates {
		windows = append(windows, record.RateWindow{Rate: rate})
	}
	var r record.RateTheory
	c.over(windows, &r)
	return r
}

// A theory's curve has sixteen points from the lowest rate measured to the highest; where it
// meets the limit is sought from a quarter of the lowest.
func TestTheoryOverTheRates(t *testing.T) {
	t.Parallel()
	mean := func(limit float64) stats.Term { return stats.Term{Metric: "mean", Limit: limit} }
	r := over(straight("mm1", mean(812.5), nil), 700, 100, 1600)
	if len(r.Curve) != 16 || r.Formula != "straight" || !r.Why.None() {
		t.Fatalf("got %+v", r)
	}
	for i, p := range r.Curve {
		if want := 100 * float64(i+1); math.Abs(p.Rate-want) > 1e-9 || p.Seconds != p.Rate {
			t.Errorf("point %d at %v, want %v", i, p, want)
		}
	}
	if r.Rate < 812.5 || r.Rate > 812.6 { // which is the first place looked at, and within the limit
		t.Errorf("meets 812.5 s at %v/s", r.Rate)
	}
	for limit, want := range map[float64]record.Code{25: "", 24.9: theoryAbove, 1600: theoryWithin, 1599: ""} {
		if r := over(straight("mm1", mean(limit), nil), 100, 1600); r.Why.Code != want || want == "" && math.Abs(r.Rate-limit) > .1 {
			t.Errorf("limit %v: %+v at %v/s, want %q", limit, r.Why, r.Rate, want)
		}
	}
	nothing := straight("mm1", mean(500), func(p *queueing.Prediction, rate float64) {
		if rate == 0 {
			p.Mean = new(float64)
		}
	})
	if r := over(nothing, 0, 1500); len(r.Curve) != 15 || r.Curve[0].Rate != 100 {
		t.Errorf("a rate of 0 has a point: %+v", r.Curve)
	}
}

// A theory may know the mean and no quantile, or be a replay that is too short for one.
func TestTheoryHasAFigureOrSaysWhy(t *testing.T) {
	t.Parallel()
	const q = .9
	least := stats.MinRequests(q)
	replay := func(p *queueing.Prediction, _ float64) { p.Formula = "replay" }
	meanless := func(p *queueing.Prediction, _ float64) { p.Mean = nil }
	formula := func(p *queueing.Prediction, _ float64) { p.Quantile = nil }
	for _, c := range []struct {
		name     string
		term     stats.Term
		edit     func(*queueing.Prediction, float64)
		requests int
		known    bool
		replayed float64 // that the reason tells of
	}{
		{"a mean", stats.Term{Metric: "mean"}, formula, 0, true, 0},
		{"no mean", stats.Term{Metric: "mean"}, meanless, 0, false, 0},
		{"a quantile", stats.Term{Metric: "p90", Quantile: q}, meanless, 0, true, 0},
		{"no quantile", stats.Term{Metric: "p90", Quantile: q}, formula, least, false, 0},
		{"no quantile, of few requests", stats.Term{Metric: "p90", Quantile: q}, formula, least - 1, false, float64(least - 1)},
		{"a replay of enough", stats.Term{Metric: "p90", Quantile: q}, replay, least, true, 0},
		{"a replay of too few", stats.Term{Metric: "p90", Quantile: q}, replay, least - 1, false, float64(least - 1)},
		{"the mean of a replay of few", stats.Term{Metric: "mean"}, replay, 1, true, 0},
	} {
		c.term.Limit = 500
		theory := straight("mm1", c.term, c.edit)
		theory.load.Trace = make([]queueing.Job, c.requests)
		r := over(theory, 100, 1600)
		if known := r.Why.Code != theoryNoFigure; known != c.known || r.Why.Values["replayed"] != c.replayed || len(r.Why.Values) != stats.Count(c.replayed > 0) {
			t.Errorf("%s: %+v, want known %v and %v requests told", c.name, r.Why, c.known, c.replayed)
		}
	}
}

// Past saturation a formula without a figure says "for ever"; one below it says nothing, but
// for fit, which asks the ideal scheduler then.
func TestTheoryWithoutAFigure(t *testing.T) {
	t.Parallel()
	at := func(name, formula string, utilisation float64) (float64, string) {
		c := straight(name, stats.Term{Metric: "mean"}, func(p *queueing.Prediction, _ float64) {
			*p = queueing.Prediction{Formula: formula, Utilization: utilisation}
		})
		c.station = record.Station{Kind: queueing.Pool, Workers: 1, Cores: 1, Turn: queueing.GoTurn}
		c.load.Trace = []queueing.Job{{CPU: time.Millisecond}, {At: time.Second, CPU: time.Millisecond}}
		return c.at(100)
	}
	for utilisation, want := range map[float64]float64{1: math.Inf(1), 2: math.Inf(1), .99: math.NaN()} {
		if v, _ := at("mm1", "M/M/1", utilisation); v != want && !(math.IsNaN(v) && math.IsNaN(want)) {
			t.Errorf("at a load of %v: %v, want %v", utilisation, v, want)
		}
	}
	if v, formula := at("fit", "", 0); math.Abs(v-.001) > 1e-4 || formula != "replay" {
		t.Errorf("fit without a formula: %v by %q, want the twin's millisecond", v, formula)
	}
	if v, _ := at("mm1", "", 2); !math.IsNaN(v) {
		t.Errorf("no formula at all: %v", v)
	}
}

// The trace of an arm is its windows' requests one after the other, at the first window's
// rate, and no longer than is replayed.
func TestTheTraceOfASearch(t *testing.T) {
	t.Parallel()
	env := record.Env{ItersPerUsec: 1}
	window := func(rate float64, n int) record.TrialRecord {
		r := record.TrialRecord{Trial: record.Trial{Warmup: 1, Window: 100, Rate: rate}}
		for i := range n {
			at := int64(1e9 + float64(i)/rate*1e9)
			r.Requests = append(r.Requests, record.Request{Scheduled: at, Done: at, Iters: 500})
		}
		return r
	}
	a := searched{plan: record.PlanArm{Clients: record.Clients{KeepAlive: true, Connections: 2}}}
	a.Windows = []record.RateWindow{{Rate: 100}}
	a.take(window(100, 2), env)
	a.take(window(400, 3), env) // four times as dense, and stretched
	want := []time.Duration{0, 10, 20, 30, 40}
	if len(a.jobs) != len(want) {
		t.Fatalf("got %d jobs, want %d", len(a.jobs), len(want))
	}
	for i, j := range a.jobs {
		if off := j.At - want[i]*time.Millisecond; off.Abs() > time.Microsecond || j.Conn != i%2 || j.CPU != 500*time.Microsecond {
			t.Errorf("job %d: %+v, want it at %v ms on connection %d", i, j, want[i], i%2)
		}
	}

	// The server's own CPU time is the same for each: 1.5 ms a request, of which 0.5 were asked for.
	for _, j := range a.trace(.0015) {
		if off := j.CPU - 1500*time.Microsecond; off.Abs() > time.Microsecond {
			t.Errorf("a request takes %v, want 1.5 ms", j.CPU)
		}
	}
	if j := a.trace(.0001)[0]; j.CPU != 500*time.Microsecond {
		t.Errorf("a server that took less than was asked for: %v", j.CPU)
	}

	a.take(window(100, 2), record.Env{})
	a.take(window(100, 0), env)
	if len(a.jobs) != 5 {
		t.Errorf("%d jobs after windows of no demand and no request", len(a.jobs))
	}
	a.jobs = make([]queueing.Job, replayed-3)
	a.take(window(100, 5), env)
	a.take(window(100, 5), env)
	if len(a.jobs) != replayed {
		t.Errorf("%d jobs, want %d at most", len(a.jobs), replayed)
	}
}

// The terms that theory has a time for: the first, and the one that gives way first.
func TestTimedTerms(t *testing.T) {
	t.Parallel()
	slo, err := stats.ParseSLO("errors<=1%,mean<=5ms,p99<=10ms,p90<=5ms")
	if err != nil {
		t.Fatal(err)
	}
	for binding, want := range map[int]string{-1: "mean ", 0: "mean ", 1: "mean ", 2: "mean p99 ", 3: "mean p90 "} {
		got := ""
		for _, term := range timedTerms(slo, binding) {
			got += term.Metric + " "
		}
		if got != want {
			t.Errorf("term %d gives way: got %q, want %q", binding, got, want)
		}
	}
}

// Where theory has no ground, it says which is missing.
func TestTheoriesNeedGround(t *testing.T) {
	t.Parallel()
	env := record.Env{ItersPerUsec: 1}
	term := []stats.Term{{Metric: "mean", Limit: 1}}
	jobs := []queueing.Job{{CPU: time.Millisecond}, {At: time.Second, CPU: time.Millisecond}}
	full := func() searched {
		a := searched{run: record.Run{Env: env}, plan: record.PlanArm{Mode: "pool", Station: &record.Station{Kind: queueing.Pool, Workers: 1, Cores: 1}}, jobs: jobs}
		a.CPUPerRequest, a.Windows = .001, []record.RateWindow{{Rate: 10}, {Rate: 100}}
		return a
	}
	for name, c := range map[string]struct {
		edit  func(*searched)
		terms []stats.Term
		want  record.Code
	}{
		"all there":             {func(*searched) {}, term, ""},
		"no term":               {func(*searched) {}, nil, theoryNoTime},
		"no mode":               {func(a *searched) { a.plan.Mode = "" }, term, theoryOfProgram},
		"no station":            {func(a *searched) { a.plan.Station = nil }, term, theoryNoStation},
		"no CPU time":           {func(a *searched) { a.CPUPerRequest = 0 }, term, theoryNoCPU},
		"one request":           {func(a *searched) { a.jobs = a.jobs[:1] }, term, twinCostUnknown},
		"a demand of no length": {func(a *searched) { a.run.Env.ItersPerUsec = 0 }, term, twinCostUnknown},
	} {
		a := full()
		c.edit(&a)
		all, why := a.theories(c.terms)
		if why.Code != c.want || (len(all) == 1) != (c.want == "") {
			t.Errorf("%s: %+v for %+v, want %q", name, all, why, c.want)
		}
	}

	a := full()
	a.run.Plan.Predict = []string{"bounds", "mm1", "twin", "fit"}
	all, _ := a.theories(append(term, term...))
	for _, th := range all {
		if closed := th.Why.Code == theoryOfClosed; closed != (th.Model == "bounds") {
			t.Errorf("%s: %+v; bounds are of closed loops, and no other theory", th.Model, th.Why)
		}
	}
	if len(all) != 2*4 {
		t.Errorf("%d theories, want four for each of two terms", len(all))
	}
	a.plan.Clients = record.Clients{Loop: "closed", Connections: 4, Think: .1} // of which there is no twin
	a.run.Plan.Predict = []string{"mm1", "twin", "fit"}
	all, _ = a.theories(term)
	for _, th := range all {
		if none := len(th.Curve) == 0 && !th.Why.None(); none != (th.Model != "mm1") {
			t.Errorf("without a twin %s says %+v", th.Model, th)
		}
	}
}
