package queueing

import (
	"testing"
	"time"
)

// exponentials is a load of exponential demands without blocking.
func exponentials(rate, service float64) Load { return Load{Rate: rate, Service: service, SCV: 1} }

// measured is the load that a trace offers, by its own moments, and the Ca² of its gaps.
func measured(trace []Job) (l Load, ca2 float64) {
	n := len(trace)
	gap, ca2 := moments(n-1, func(i int) time.Duration { return trace[i+1].At - trace[i].At })
	l = Load{Rate: 1 / gap, Long: Long(trace), Trace: trace}
	l.Service, _ = moments(n, func(i int) time.Duration { return trace[i].CPU })
	l.Block, _ = moments(n, func(i int) time.Duration { return trace[i].Block })
	_, l.SCV = moments(n, func(i int) time.Duration { return trace[i].CPU + trace[i].Block })
	return l, ca2
}

// moments are the mean of n times in seconds, and their variance divided by the squared mean; 0 if all are 0.
func moments(n int, value func(i int) time.Duration) (mean, scv float64) {
	var sum, squares float64
	for i := range n {
		t := value(i).Seconds()
		sum += t
		squares += t * t
	}
	if sum > 0 {
		scv = max(0, squares*float64(n)/(sum*sum)-1)
	}
	return sum / float64(n), scv
}

// A twin has the figures of a whole trace.
type twin struct {
	Prediction
	quantile   func(q float64) float64 // of the response times, seconds
	throughput float64                 // served per second, from the first arrival to a mean gap after the last
}

// twinOf replays a trace.
func twinOf(s Station, trace []Job) twin {
	completions, err := Replay(s, trace)
	if err != nil {
		panic(err)
	}
	took, _ := after(trace, completions, finished)
	last := len(trace) - 1
	from, to := trace[0].At, trace[last].At+(trace[last].At-trace[0].At)/time.Duration(last)
	served := 0
	for _, c := range completions {
		if !c.Lost && c.Finish < to {
			served++
		}
	}
	return twin{Figures(trace, completions), ranked(took), float64(served) / (to - from).Seconds()}
}

// Every formula that MeanByFormula picks, against a replay of the same pool: the
// choice is wrong if the two disagree.
func TestFormulaAgreesWithTheReplay(t *testing.T) {
	long(t)
	blocking := func(trace []Job, block time.Duration) []Job {
		for i := range trace {
			trace[i].Block = block
		}
		return trace
	}
	const n = 400_000
	for _, tt := range []struct {
		formula        string
		workers, cores int
		trace          []Job
		tol            float64
	}{
		{"M/M/c", 4, 4, draw(1, n, 3200, exponential(ms)), 0.05},
		{"M/M/c", 64, 2, draw(1, n, 1600, exponential(ms)), 0.05},
		{"M/M/c", 64, 2, draw(1, n, 160, exponential(10*ms)), 0.05},
		{"M/M/c", 0, 2, draw(1, n, 1600, exponential(ms)), 0.05},
		{"M/G/1 (Pollaczek-Khinchine)", 1, 1, draw(1, n, 700, mixed(ms/2, 0.1, 5*ms)), 0.05},
		{"M/D/1", 1, 1, draw(1, n, 700, constant(ms)), 0.05},
		{"M/D/1", 0, 1, draw(1, n, 700, constant(ms)), 0.05},
		{"M/G/c processor sharing", 0, 2, draw(1, n, 6, mixed(100*ms, 0.1, 1500*ms)), 0.06},
		{"G/G/c (Allen-Cunneen)", 4, 4, draw(1, n, 3200, constant(ms)), 0.1},
		{"G/G/c (Allen-Cunneen)", 8, 1, blocking(draw(1, n, 300, constant(ms/10)), 20*ms), 0.1},
		{"M/D/1", 0, 1, blocking(draw(1, n, 700, constant(ms)), 20*ms), 0.05},
		{"no queue", 0, 1, blocking(draw(1, n, 700, constant(0)), 20*ms), 0.05},
	} {
		t.Run(tt.formula, func(t *testing.T) {
			t.Parallel()
			l, _ := measured(tt.trace)
			mean, formula := MeanByFormula(tt.workers, tt.cores, l)
			if formula != tt.formula {
				t.Fatalf("%d workers: got %q, want %s", tt.workers, formula, tt.formula)
			}
			s := Station{Workers: tt.workers, Cores: tt.cores, Turn: GoTurn}
			if tt.workers == 0 {
				s.Kind = Goroutines
			}
			near(t, "mean", mean, *twinOf(s, tt.trace).Mean, tt.tol)
		})
	}
}

func TestFiguresByHand(t *testing.T) {
	t.Parallel()
	trace := jobs(100, 1, 101, 1, 102, 1, 130, 3)
	completions, err := Replay(poolOf1, trace)
	if err != nil {
		t.Fatal(err)
	}
	p := Figures(trace, completions)
	if *p.Loss != 0 || *p.P99 != 0.003 {
		t.Errorf("got a loss of %v and a p99 of %v", *p.Loss, *p.P99)
	}
	near(t, "mean", *p.Mean, 0.0015, exact)
	lost := Figures(trace[:2], []Completion{{Lost: true}, {Lost: true}})
	if *lost.Loss != 1 || lost.Mean != nil || lost.P99 != nil {
		t.Errorf("all are lost: %+v", lost)
	}
	many := make([]Completion, 100)
	for i := range many {
		many[i].Finish = time.Duration(i+1) * time.Second
	}
	near(t, "p99 of a hundred", *Figures(make([]Job, 100), many).P99, 99, 0)
}

func TestLong(t *testing.T) {
	t.Parallel()
	near(t, "demand beyond which 1 % of the work is", Long(jobs(0, 1, 10, 3, 20, 1, 30, 3)), 0.003, exact)
	// The longest of 200 has just 1 % of the work, so that what is beyond the others is enough.
	heavy := make([]Job, 200)
	for i := range heavy[:198] {
		heavy[i].CPU = time.Second / 2
	}
	heavy[198].CPU = time.Second
	near(t, "a demand beyond which just 1 % of the work is", Long(heavy), 0.5, exact)
	near(t, "the longest demand of one", Long(jobs(0, 3)), 0.003, exact)
	near(t, "of exponential demands", Long(draw(12, 200_000, 50, exponential(ms))), 0.00664, 0.03) // the 99 % point of Erlang-2
}
