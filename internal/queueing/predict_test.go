package queueing

import (
	"math"
	"reflect"
	"testing"
	"time"
)

// Every formula that Predict picks, against a replay of the same station: the
// choice is wrong if the two disagree.
func TestPredictAgreesWithItsTwin(t *testing.T) {
	long(t)
	blocking := func(trace []Job, block time.Duration) []Job {
		for i := range trace {
			trace[i].Block = block
		}
		return trace
	}
	even := draw(1, 400_000, 1, exponential(ms))
	for i := range even {
		even[i].At = time.Duration(i) * 1250 * time.Microsecond
	}
	const n = 400_000
	for _, tt := range []struct {
		formula string
		station Station
		trace   []Job
		tol     float64
	}{
		{"M/M/c", Station{Workers: 4, Cores: 4, Turn: GoTurn}, draw(1, n, 3200, exponential(ms)), 0.05},
		{"M/M/c", Station{Workers: 64, Cores: 2, Turn: GoTurn}, draw(1, n, 1600, exponential(ms)), 0.05},
		{"M/M/c", Station{Workers: 64, Cores: 2, Turn: GoTurn}, draw(1, n, 160, exponential(10*ms)), 0.05},
		{"M/M/c", Station{Kind: Goroutines, Cores: 2, Turn: GoTurn}, draw(1, n, 1600, exponential(ms)), 0.05},
		{"M/M/c", Station{Workers: 64, Cores: 2, Turn: GoTurn, Patience: Span(100 * time.Millisecond)}, draw(1, n, 1600, exponential(ms)), 0.05},
		{"M/M/c", Station{Kind: Loops, Workers: 2, Cores: 2, Turn: GoTurn}, draw(1, n, 1600, exponential(ms)), 0.06},
		{"M/M/c/K", Station{Workers: 2, Cores: 2, Turn: GoTurn, Places: 8}, draw(1, n, 2000, exponential(ms)), 0.05},
		{"M/M/c/K", Station{Workers: 64, Cores: 2, Turn: GoTurn, Places: 80}, draw(1, n, 3000, exponential(ms)), 0.05},
		{"M/M/c/K", Station{Kind: Goroutines, Cores: 1, Turn: GoTurn, Places: 20}, draw(1, n, 1300, exponential(ms)), 0.05},
		{"M/M/c/K", Station{Kind: Loops, Workers: 3, Cores: 4, Turn: GoTurn, Places: 5}, draw(1, n, 3000, exponential(ms)), 0.05},
		{"M/G/c/c (Erlang B)", Station{Workers: 2, Cores: 2, Turn: GoTurn, Places: 2}, draw(1, n, 2000, constant(ms)), 0.05},
		{"M/G/1 (Pollaczek-Khinchine)", Station{Workers: 1, Cores: 1, Turn: GoTurn}, draw(1, n, 700, mixed(ms/2, 0.1, 5*ms)), 0.05},
		{"M/D/1", Station{Kind: Loops, Workers: 2, Cores: 2, Turn: GoTurn}, draw(1, n, 1400, constant(ms)), 0.05},
		{"M/D/1", goroutines, draw(1, n, 700, constant(2*ms/2)), 0.05},
		{"M/G/c processor sharing", Station{Kind: Goroutines, Cores: 2, Turn: GoTurn}, draw(1, n, 6, mixed(100*ms, 0.1, 1500*ms)), 0.06},
		{"G/G/1 (Kingman)", Station{Workers: 1, Cores: 1, Turn: GoTurn}, even, 0.15}, // D/M/1 is its bad side: it bounds from above
		{"G/G/c (Allen-Cunneen)", Station{Workers: 4, Cores: 4, Turn: GoTurn}, draw(1, n, 3200, constant(ms)), 0.1},
		{"G/G/c (Allen-Cunneen)", Station{Workers: 8, Cores: 1, Turn: GoTurn}, blocking(draw(1, n, 300, constant(ms/10)), 20*ms), 0.1},
		{"E_c/M/1", Station{Kind: PerWorker, Workers: 4, Cores: 4, Turn: GoTurn}, draw(1, n, 3200, exponential(ms)), 0.05},
		{"M/D/1", Station{Kind: Goroutines, Cores: 1, Turn: GoTurn}, blocking(draw(1, n, 700, constant(ms)), 20*ms), 0.05},
		{"no queue", Station{Kind: Goroutines, Cores: 1, Turn: GoTurn}, blocking(draw(1, n, 700, constant(0)), 20*ms), 0.05},
	} {
		t.Run(tt.formula, func(t *testing.T) {
			t.Parallel()
			l := Measure(tt.trace)
			l.Trace = nil
			got, twin := Predict(tt.station, l), Twin(tt.station, tt.trace)
			if got.Formula != tt.formula || got.Mean == nil {
				t.Fatalf("%+v: got %+v, want %s", tt.station, got, tt.formula)
			}
			near(t, "utilization", got.Utilization, twin.Utilization, 1e-9)
			for what, pair := range map[string][2]*float64{
				"mean": {got.Mean, twin.Mean}, "p50": {got.P50, twin.P50}, "p90": {got.P90, twin.P90}, "p99": {got.P99, twin.P99},
				"throughput": {got.Throughput, twin.Throughput}, "loss": {got.Loss, twin.Loss},
			} {
				if pair[0] != nil {
					near(t, what, *pair[0], *pair[1], tt.tol)
				}
			}
		})
	}
}

func TestPredictSaysWhenThereIsNone(t *testing.T) {
	t.Parallel()
	heavy := Measure(draw(1, 20_000, 350, mixed(ms, 0.01, 100*ms)))
	blocks := Poisson(350, 0.001)
	blocks.Block = 0.002
	for what, tt := range map[string]struct {
		station Station
		load    Load
	}{
		"demands of some turns":      {goroutines, heavy},
		"a few such demands":         {Station{Workers: 8, Cores: 2, Turn: GoTurn}, Measure(draw(1, 20_000, 3000, mixed(ms/5, 0.01, 20*ms)))},
		"impatience":                 {Station{Workers: 1, Cores: 1, Turn: GoTurn, Patience: Span(time.Millisecond)}, Poisson(500, 0.001)},
		"the oldest lost":            {Station{Workers: 1, Cores: 1, Turn: GoTurn, Places: 9, Overflow: Oldest}, Poisson(500, 0.001)},
		"the shortest queue":         {Station{Kind: PerWorker, Workers: 2, Cores: 2, Turn: GoTurn, Pick: Least}, Poisson(500, 0.001)},
		"stealing":                   {Station{Kind: PerWorker, Workers: 2, Cores: 2, Turn: GoTurn, Steal: true}, Poisson(500, 0.001)},
		"waiting outside":            {Station{Workers: 1, Cores: 1, Turn: GoTurn, Places: 9, Overflow: Blocks}, Poisson(500, 0.001)},
		"loops that share a core":    {Station{Kind: Loops, Workers: 2, Cores: 1, Turn: GoTurn}, Poisson(500, 0.001)},
		"workers that wait for both": {Station{Workers: 4, Cores: 1, Turn: GoTurn}, blocks},
	} {
		l := tt.load
		l.Trace = nil
		if got := Predict(tt.station, l); got.Formula != "" || got.Mean != nil {
			t.Errorf("%s, without a trace: got %+v, want no formula", what, got)
		}
		l.Trace = heavy.Trace
		if got := Predict(tt.station, l); got.Formula != "replay" || got.Mean == nil || got.P99 == nil {
			t.Errorf("%s, with a trace: got %+v, want a replay", what, got)
		}
	}
	for what, got := range map[string]Prediction{
		"no cores": Predict(Station{Workers: 1}, Poisson(1, 1)), "negative rate": Predict(poolOf1, Poisson(-1, 1)),
		"no rate": Predict(poolOf1, Measure(jobs(0, 1))), "no jobs": Twin(poolOf1, nil), "jobs out of order": Twin(poolOf1, jobs(1, 1, 0, 1)),
	} {
		if !reflect.DeepEqual(got, Prediction{}) {
			t.Errorf("%s: got %+v, want nothing", what, got)
		}
	}
}

func TestPredictAnyQuantile(t *testing.T) {
	t.Parallel()
	p := Predict(poolOf1, Poisson(500, 0.001)) // M/M/1: ln(1/(1-q))/(mu - lambda)
	for _, q := range []float64{.5, .95, .99, .999, .9999} {
		near(t, "a quantile of M/M/1", p.Quantile(q), -math.Log1p(-q)/500, 1e-9)
	}
	near(t, "that of p99", p.Quantile(.99), *p.P99, 1e-12)
	trace := draw(1, 40_000, 500, exponential(ms))
	replayed := Twin(poolOf1, trace)
	near(t, "p95 of a replay", replayed.Quantile(.95), p.Quantile(.95), .1)
	if least := replayed.Quantile(1e-9); !(least >= 0 && least < *replayed.P50) {
		t.Errorf("the least of a replay is %v", least)
	}
	// Where sharing changes all but the mean there is none.
	if p = Predict(Station{Workers: 8, Cores: 1, Turn: ms}, Poisson(500, 0.001)); p.Mean == nil || p.Quantile != nil {
		t.Errorf("of workers that share a core: %+v, want a mean alone", p)
	}
}

// Beyond saturation there is a throughput and no response time.
func TestPredictOverload(t *testing.T) {
	t.Parallel()
	for _, s := range []Station{poolOf1, goroutines, {Kind: Loops, Workers: 1, Cores: 1}, {Kind: PerWorker, Workers: 1, Cores: 1}} {
		p := Predict(s, Poisson(1500, 0.001))
		if p.Mean != nil || p.P99 != nil || p.Quantile != nil || p.Throughput == nil || math.Abs(*p.Throughput-1000) > 1e-6 || math.Abs(p.Utilization-1.5) > 1e-9 {
			t.Errorf("%v at 1.5: got %+v, want 1000/s and no response time", s.Kind, p)
		}
	}
}

// A twin's figures are those of its trace, from the first arrival to a mean gap after the last.
func TestTwinByHand(t *testing.T) {
	t.Parallel()
	trace := jobs(100, 1, 101, 1, 102, 1, 130, 3)
	p := Twin(poolOf1, trace)
	if p.Formula != "replay" || *p.Loss != 0 || *p.P50 != 0.001 || *p.P99 != 0.003 || *p.Throughput != 100 {
		t.Errorf("got %+v of %v/s", p, *p.Throughput)
	}
	near(t, "mean", *p.Mean, 0.0015, exact)
	near(t, "utilization", p.Utilization, 0.15, exact)
	if one := Twin(poolOf1, trace[:1]); one.Throughput != nil || *one.Mean != 0.001 {
		t.Errorf("of one job: %+v, want no throughput", one)
	}
	lost := Figures(trace[:2], []Completion{{Lost: true}, {Lost: true}})
	if *lost.Loss != 1 || lost.Mean != nil || lost.P50 != nil || lost.Quantile != nil {
		t.Errorf("all are lost: %+v", lost)
	}
	many := Figures(make([]Job, 100), func() (completions []Completion) {
		for i := range 100 {
			completions = append(completions, Completion{Finish: time.Duration(i+1) * time.Second})
		}
		return completions
	}())
	for q, want := range map[float64]float64{1e-9: 1, 0.07: 7, 0.071: 8, 0.99: 99, 0.991: 100} {
		near(t, "a quantile of a hundred", many.Quantile(q), want, 0)
	}
}

// A window holds what was served from its start to just before its end.
func TestThroughputOfAWindow(t *testing.T) {
	t.Parallel()
	completions := []Completion{{Finish: 9}, {Finish: 10}, {Finish: 15, Lost: true}, {Finish: 19}, {Finish: 20}}
	if got := Throughput(completions, 10, 20); got == nil || *got != 2e8 {
		t.Errorf("two in ten nanoseconds: %v", got)
	}
	if Throughput(completions, 20, 20) != nil || Throughput(completions, 20, 10) != nil {
		t.Error("a window of no time has a throughput")
	}
}

// What is busy is the cores, or the workers if they are scarcer.
func TestUtilization(t *testing.T) {
	t.Parallel()
	l := Poisson(100, 0.001)
	l.Block = 0.01
	for _, c := range []struct {
		station Station
		want    float64
	}{
		{Station{Workers: 4, Cores: 2}, 100 * 0.011 / 4},
		{Station{Workers: 64, Cores: 2}, 0.05},
		{Station{Kind: Goroutines, Cores: 2}, 0.05},
	} {
		near(t, "utilization", Predict(c.station, l).Utilization, c.want, exact)
	}
}

func TestMeasure(t *testing.T) {
	t.Parallel()
	trace := jobs(0, 1, 10, 3, 20, 1, 30, 3)
	trace[1].Block = 2 * ms
	got := Measure(trace)
	near(t, "rate", got.Rate, 100, exact)
	if got.CA2 > 1e-12 {
		t.Errorf("Ca² of even gaps: got %v, want 0", got.CA2)
	}
	near(t, "service", got.Service, 0.002, exact)
	near(t, "block", got.Block, 0.0005, exact)
	near(t, "Cs² of 1, 5, 1, 3", got.SCV, 36.0*4/100-1, 1e-9)
	near(t, "demand beyond which 1 % of the work is", got.Long, 0.003, exact)
	// The longest of 200 has just 1 % of the work, so that what is beyond the others is enough.
	heavy := make([]Job, 200)
	for i := range heavy[:198] {
		heavy[i].CPU = time.Second / 2
	}
	heavy[198].CPU = time.Second
	near(t, "a demand beyond which just 1 % of the work is", Measure(heavy).Long, 0.5, exact)
	near(t, "the longest demand of one", Measure(jobs(0, 3)).Long, 0.003, exact)
	if l := Measure(jobs(5, 1, 5, 1)); !math.IsNaN(l.Rate) || !math.IsNaN(l.CA2) {
		t.Errorf("all at one moment: %v/s, Ca² %v; want none", l.Rate, l.CA2)
	}
	exp := Measure(draw(12, 200_000, 50, exponential(ms)))
	near(t, "Ca² of Poisson", exp.CA2, 1, 0.03)
	near(t, "Cs² of exponential", exp.SCV, 1, 0.03)
	near(t, "the same of exponential", exp.Long, 0.00664, 0.03) // the 99 % point of Erlang-2
}
