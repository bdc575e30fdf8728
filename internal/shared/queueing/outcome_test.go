package queueing

import (
	"math"
	"testing"
	"time"
)

// evenly is a trace of n jobs 1 ms apart, each of so much CPU time and blocking.
func evenly(n int, cpu, block time.Duration) []Job {
	trace := make([]Job, n)
	for i := range trace {
		trace[i] = Job{At: time.Duration(i) * ms, CPU: cpu, Block: block}
	}
	return trace
}

// An outcome is by Erlang's formulas where workers are as good as servers, by the
// utilisation law where the cores cannot keep up, and by replay elsewhere.
func TestOutcomeByFormula(t *testing.T) {
	t.Parallel()
	ask := func(rate, service, block float64, cores int, exponential bool) Ask {
		a := Ask{Load: exponentials(rate, service), Cores: cores, Exponential: exponential}
		a.Block, a.Trace = block, evenly(400, ms, 0)
		return a
	}
	const s, tick = 0.001, 1.0 / 1024
	small := MMcK(1200, 0.8*s, 1, 4)
	waits := small.Response - 0.8*s
	for _, c := range []struct {
		what         string
		ask          Ask
		at           setting
		formula      string
		approximate  bool
		served, mean float64
		wait, busy   float64
		cores        float64
	}{
		{"a core for each", ask(1000, s, s, 2, true), setting{2, Unbounded, 0.9, 0.8}, "M/M/c", false, 900, MMc(900, 1.6*s, 2), MMc(900, 1.6*s, 2) - 1.6*s, 900 * 1.6 * s, 0.36},
		{"bounded", ask(1000, s, 0, 1, true), setting{1, 3, 1.2, 0.8}, "M/M/c/K", false, small.Throughput, small.Response, waits, small.Throughput * 0.8 * s, 0.96},
		{"workers that cannot keep up", ask(1000, s, 3*s, 2, true), setting{2, Unbounded, 1, 1}, "M/M/c", false, 500, inf, inf, 2, 0.5},
		{"asleep", ask(100, tick, 20*tick, 1, true), setting{64, Unbounded, 1, 1}, "M/M/c", true, 100, MMc(100, 21*tick, 64), MMc(100, 21*tick, 64) - 21*tick, 2100 * tick, 100 * tick},
		{"asleep at half the rate", ask(200, tick, 20*tick, 1, true), setting{64, Unbounded, 0.5, 1}, "M/M/c", true, 100, MMc(100, 21*tick, 64), MMc(100, 21*tick, 64) - 21*tick, 2100 * tick, 100 * tick},
		{"asleep for half the time", ask(200, tick, 20*tick, 1, true), setting{64, Unbounded, 1, 0.5}, "M/M/c", true, 200, MMc(200, 10.5*tick, 64), MMc(200, 10.5*tick, 64) - 10.5*tick, 2100 * tick, 100 * tick},
		{"asleep for twice the time", ask(50, tick, 12*tick, 1, true), setting{64, Unbounded, 1, 2}, "M/M/c", true, 50, MMc(50, 26*tick, 64), MMc(50, 26*tick, 64) - 26*tick, 1300 * tick, 100 * tick},
		{"asleep without a worker each", ask(100, tick, 20*tick, 1, true), setting{0, Unbounded, 1, 1}, "M/M/∞", true, 100, 21 * tick, 0, 2100 * tick, 100 * tick},
		{"never awake", ask(100, 0, tick, 1, true), setting{0, Unbounded, 2, 0.5}, "M/M/∞", false, 200, tick / 2, 0, 100 * tick, 0},
		{"no CPU time left", ask(1000, s, s, 1, true), setting{1, Unbounded, 1, 1}, "utilisation law", false, 1000, inf, inf, 1, 1},
		{"half of it is done", ask(1000, s, s, 1, true), setting{3, Unbounded, 2, 1}, "utilisation law", false, 1000, inf, inf, 3, 2},
		{"half of it is done, a goroutine each", ask(1000, s, s, 1, true), setting{0, Unbounded, 1, 2}, "utilisation law", false, 500, inf, 0, 0, 2},
		{"a goroutine each", ask(500, s, 0, 1, true), setting{0, Unbounded, 1, 1}, "replay", false, 500, s, 0, 0.5, 0.5},
		{"more workers than cores", ask(500, s, 0, 1, true), setting{2, Unbounded, 1, 1}, "replay", false, 500, s, 0, 0.5, 0.5},
		{"not exponential", ask(500, s, 0, 1, false), setting{1, Unbounded, 1, 1}, "replay", false, 500, s, 0, 0.5, 0.5},
	} {
		o := c.ask.outcome(c.at)
		if o.Formula != c.formula || o.Approximate != c.approximate || o.Workers != c.at.workers || o.Queue != c.at.queue {
			t.Errorf("%s: got %+v, want %s, approximate %v", c.what, o, c.formula, c.approximate)
		}
		near(t, c.what+": rate", o.Rate, c.ask.Rate*c.at.rate, exact)
		near(t, c.what+": held", o.Held, (c.ask.Service+c.ask.Block)*c.at.held, exact)
		near(t, c.what+": served", o.Throughput, c.served, 1e-9)
		near(t, c.what+": mean", o.Mean, c.mean, 1e-9)
		near(t, c.what+": wait", o.Wait, c.wait, 1e-9)
		near(t, c.what+": busy", o.Busy, c.busy, 1e-9)
		near(t, c.what+": cores", o.Cores, c.cores, 1e-9)
		if wait, all := o.Waited(0.5), o.Response(0.5); wait > all || c.wait == 0 && wait != 0 || math.IsInf(c.mean, 1) && all != inf || math.IsInf(c.wait, 1) && wait != inf {
			t.Errorf("%s: half wait for %v of %v", c.what, wait, all)
		}
	}
}

// A replay leaves the first tenth of its jobs out, and serves late what has piled up.
func TestOutcomeByReplay(t *testing.T) {
	t.Parallel()
	ask := func(cpu, block time.Duration) Ask {
		return Ask{Load: Load{Rate: 1000, Service: cpu.Seconds(), Block: block.Seconds(), Trace: evenly(20, cpu, block)}, Cores: 1}
	}
	half, twice := ask(ms/2, 0), ask(0, 2*ms)
	o := half.outcome(setting{1, Unbounded, 1, 1})
	if o.Counted != 18 || o.Loss != 0 || o.Response(0.99) != 0.0005 || o.Waited(0.99) != 0 {
		t.Errorf("half of the time: %+v", o)
	}
	near(t, "mean", o.Mean, 0.0005, exact)
	near(t, "in 18 ms and the half until the last is served", o.Throughput, 18/0.0185, exact)

	// Of 2 ms every 1 ms job k begins at 2k and is there at k.
	o = twice.outcome(setting{1, Unbounded, 1, 1})
	if o.Counted != 18 || o.Loss != 0 || o.Response(0) != 0.004 || o.Response(1) != 0.021 || o.Waited(1) != 0.019 {
		t.Errorf("twice the time: %+v", o)
	}
	near(t, "mean of what piles up", o.Mean, (0.004+0.021)/2, exact)
	near(t, "mean wait of it", o.Wait, (0.002+0.019)/2, exact)
	near(t, "in 18 ms and the 21 until all is served", o.Throughput, 18/0.039, exact)
	near(t, "one worker is busy of the time", o.Busy, 18/0.039*0.002, 1e-9)

	// One may wait: from the third job on every other one is lost, the others wait for one.
	o = twice.outcome(setting{1, 1, 1, 1})
	if o.Loss != 0.5 || o.Response(0) != 0.004 || o.Response(1) != 0.004 || o.Waited(1) != 0.002 {
		t.Errorf("a queue of one: %+v, %v", o, o.Response(1))
	}
	o = twice.outcome(setting{2, 0, 1, 1})
	if o.Loss != 0 || o.Response(1) != 0.002 {
		t.Errorf("two workers and no queue: %+v", o)
	}
	o = twice.outcome(setting{1, Unbounded, 0.5, 0.5})
	if o.Wait != 0 || o.Response(1) != 0.001 || o.Rate != 500 || o.Held != 0.001 {
		t.Errorf("half the rate and half the time: %+v", o)
	}
	o = twice.outcome(setting{0, Unbounded, 1, 1})
	if o.Wait != 0 || o.Response(1) != 0.002 {
		t.Errorf("a goroutine each: %+v", o)
	}
}

func TestStretched(t *testing.T) {
	t.Parallel()
	a := Ask{Load: Load{Trace: []Job{{At: 8 * ms, CPU: 6 * ms, Block: 2 * ms, Conn: 3}}}}
	if got := a.stretched(setting{rate: 2, held: 0.5}); got[0] != (Job{At: 4 * ms, CPU: 3 * ms, Block: ms, Conn: 3}) || a.Trace[0].At != 8*ms {
		t.Errorf("got %+v of %+v", got, a.Trace)
	}
}

func TestRanked(t *testing.T) {
	t.Parallel()
	three := ranked([]float64{3, 1, 2})
	for q, want := range map[float64]float64{-0.1: nan, 0: 1, 1e-9: 1, 1.0 / 3: 1, 0.34: 2, 2.0 / 3: 2, 0.67: 3, 1: 3, 1.1: nan} {
		near(t, "a quantile of three", three(q), want, 0)
	}
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(i + 1)
	}
	near(t, "0.07 of a hundred, which is above 7 in binary", ranked(hundred)(0.07), 7, 0)
	near(t, "of nothing", ranked(nil)(0.5), nan, 0)
}
