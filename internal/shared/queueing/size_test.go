package queueing

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"
)

// asked is an ask for exponential time held, whose trace is only replayed when
// Erlang's formulas are not to be used.
func asked(rate, held float64, erlang bool, keep func(Outcome) bool) Ask {
	trace := draw(1, 40_000, rate, constant(0))
	blocks := draw(2, len(trace), rate, exponential(time.Duration(held*1e9)))
	for i := range trace {
		trace[i].Block = blocks[i].CPU
	}
	return Ask{
		Load:        Load{Rate: rate, SCV: 1, Block: held, Trace: trace},
		Exponential: erlang, Cores: 1, Keep: keep,
	}
}

func size(t *testing.T, a Ask) Advice {
	t.Helper()
	adv, err := Size(a)
	if err != nil {
		t.Fatal(err)
	}
	return adv
}

// The tabled values of M/M/c and M/M/c/K are borders: just above them a pool is large
// enough, just below it is not.
func TestSizeFindsTheTabledBorders(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what           string
		load           float64
		figure         func(Outcome) float64
		border         float64
		workers, queue int
	}{
		{"mean of M/M/4 at 0.8", 3.2, func(o Outcome) float64 { return o.Mean }, 1.7455, 4, -1},
		{"mean of M/M/16 at 0.9", 14.4, func(o Outcome) float64 { return o.Mean }, 1.3696, 16, -1},
		{"loss of M/M/1/17 at 0.9", 0.9, func(o Outcome) float64 { return o.Loss }, 0.0196, 1, 16},
		{"p99 of M/M/1 at 0.5", 0.5, func(o Outcome) float64 { return o.Response(0.99) }, math.Log(100) / 0.5, 1, -1},
	} {
		for _, side := range []float64{0.997, 1.003} {
			most := c.border * side
			a := asked(c.load, 1, true, func(o Outcome) bool { return c.figure(o) <= most && (c.queue >= 0 || o.Loss < 1e-6) })
			adv := size(t, a)
			workers, queue := c.workers, c.queue
			if side < 1 && queue >= 0 {
				queue++
			} else if side < 1 {
				workers++
			}
			if adv.Workers != workers || queue >= 0 && adv.Queue != queue {
				t.Errorf("%s up to %.4f: %d workers and a queue of %d, want %d and %d", c.what, most, adv.Workers, adv.Queue, workers, queue)
			}
		}
	}
}

// Where a formula holds, the replay that stands in for it elsewhere says the same.
func TestSizeByReplayAgreesWithErlang(t *testing.T) {
	long(t)
	for _, held := range []float64{0.005, 0.02} {
		keep := func(o Outcome) bool { return o.Response(0.99) <= 6*held && o.Loss <= 0.005 }
		formula, replay := size(t, asked(400, held, true, keep)), size(t, asked(400, held, false, keep))
		if d := formula.Workers - replay.Workers; d < -1 || d > 1 {
			t.Errorf("%g s held: %d workers by formula, %d by replay", held, formula.Workers, replay.Workers)
		}
		a := asked(400, held, true, keep)
		s := setting{formula.Workers, formula.Queue, 1, 1}
		want := a.outcome(s)
		a.Exponential = false
		got := a.outcome(s)
		near(t, "mean", got.Mean, want.Mean, 0.03)
		near(t, "p99", got.Response(0.99), want.Response(0.99), 0.06)
		near(t, "mean wait", got.Wait+held, want.Wait+held, 0.03)
		near(t, "p99 of the wait", got.Waited(0.99)+held, want.Waited(0.99)+held, 0.1)
		near(t, "busy", got.Busy, want.Busy, 0.03)
	}
}

// One worker fewer breaks what is asked at the rate with its margin, or it was not the
// fewest; the advice keeps it there.
func TestSizeIsTight(t *testing.T) {
	t.Parallel()
	for _, erlang := range []bool{true, false} {
		a := asked(300, 0.02, erlang, func(o Outcome) bool { return o.Response(0.99) <= 0.12 && o.Loss <= 0.001 })
		a.Margin = 0.1
		adv := size(t, a)
		if !a.Keep(adv.Strained) || !a.Keep(adv.Expected) || adv.Least > adv.Workers {
			t.Errorf("erlang %v: %+v keeps nothing", erlang, adv)
		}
		near(t, "the strained rate", adv.Strained.Rate, 330, 1e-9)
		if one := a.outcome(setting{adv.Workers - 1, Unbounded, 1.1, 1}); a.Keep(one) {
			t.Errorf("erlang %v: %d workers would do, not %d", erlang, adv.Workers-1, adv.Workers)
		}
		if short := a.outcome(setting{adv.Workers, adv.Queue - 1, 1.1, 1}); a.Keep(short) {
			t.Errorf("erlang %v: a queue of %d would do, not %d", erlang, adv.Queue-1, adv.Queue)
		}
		near(t, "busy workers", adv.Expected.Busy, Little(300*(1-adv.Expected.Loss), 0.02), 0.03)
	}
}

// What being wrong costs points the right way, and 20 % fewer workers are at least one.
func TestSizeSaysWhatBeingWrongCosts(t *testing.T) {
	t.Parallel()
	a := asked(1000, 0.02, true, func(o Outcome) bool { return o.Response(0.99) <= 0.1 && o.Loss <= 0.001 })
	adv := size(t, a)
	var got []string
	for _, c := range adv.Wrong {
		got = append(got, fmt.Sprintf("%s %+.0f %%: %v", c.What, 100*c.By, c.Kept))
	}
	want := []string{
		"rate -20 %: true", "rate +20 %: false", "time held -20 %: true", "time held +20 %: false",
		fmt.Sprintf("workers %+.0f %%: false", 100*float64(Fewer(adv.Workers)-adv.Workers)/float64(adv.Workers)),
		fmt.Sprintf("workers %+.0f %%: true", 100*float64(more(adv.Workers)-adv.Workers)/float64(adv.Workers)),
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	for i, want := range []struct {
		workers    int
		rate, held float64
	}{{adv.Workers, 800, 0.02}, {adv.Workers, 1200, 0.02}, {adv.Workers, 1000, 0.016}, {adv.Workers, 1000, 0.024}, {Fewer(adv.Workers), 1000, 0.02}, {more(adv.Workers), 1000, 0.02}} {
		if o := adv.Wrong[i].Outcome; o.Workers != want.workers || o.Queue != adv.Queue || math.Abs(o.Rate-want.rate) > 1e-9 || math.Abs(o.Held-want.held) > 1e-9 {
			t.Errorf("%s: %+v, want %+v", adv.Wrong[i].What, o, want)
		}
	}
	alone := size(t, asked(10, 0.01, true, func(o Outcome) bool { return o.Loss <= 0.5 }))
	if alone.Workers != 1 || len(alone.Wrong) != 5 || alone.Wrong[4].What != "workers" || alone.Wrong[4].By != 1 {
		t.Errorf("one worker less is none: %+v", alone.Wrong)
	}
	for workers, fewer := range map[int]int{1: 0, 2: 1, 3: 2, 4: 3, 5: 4, 8: 6, 10: 8, 11: 9, 12: 10, 13: 10, 21: 17} {
		if got := Fewer(workers); got != fewer {
			t.Errorf("20 %% fewer than %d: %d, want %d", workers, got, fewer)
		}
	}
	for workers, want := range map[int]int{1: 2, 2: 3, 3: 4, 4: 5, 5: 6, 8: 10, 10: 12, 11: 13, 12: 14, 13: 16, 21: 25} {
		if got := more(workers); got != want {
			t.Errorf("20 %% more than %d: %d, want %d", workers, got, want)
		}
	}
}

// Workers make no CPU: the cores' limit, and an objective below a request's own
// demand, are said, with the rate that could be promised.
func TestSizeWithoutHope(t *testing.T) {
	t.Parallel()
	a := Ask{Load: Load{SCV: 1, Trace: draw(3, 20_000, 900, exponential(2*time.Millisecond))}, Cores: 1, Margin: 0.1}
	a.Rate, a.Service = 900, 0.002
	a.Keep = func(o Outcome) bool { return o.Response(0.99) <= 0.030 }
	adv := size(t, a)
	if adv.Workers != 0 || adv.Hopeless != TooFewCores {
		t.Fatalf("1.8 cores of demand on one: %+v", adv)
	}
	// M/M/1: ln 100/(500 - rate) = 30 ms at 346/s, a tenth less with the margin.
	near(t, "the most rate", adv.MostRate, (500-math.Log(100)/0.030)/1.1, 0.05)

	a.Keep = func(o Outcome) bool { return o.Response(0.99) <= 0.005 }
	if adv = size(t, a); adv.MostRate != 0 || adv.Hopeless != TooLong {
		t.Errorf("an objective below the demand itself: %+v", adv)
	}

	// 90 % of a core: there is CPU enough, and waiting for it takes too long.
	a.Rate, a.Trace = 400, draw(3, 20_000, 400, exponential(2*time.Millisecond))
	a.Keep = func(o Outcome) bool { return o.Response(0.99) <= 0.030 }
	if adv = size(t, a); adv.Workers != 0 || !(adv.MostRate > 250 && adv.MostRate < 346) || adv.Hopeless != CoresWait {
		t.Errorf("a full core: %+v", adv)
	}
}

// What the most rate is, and why, where all that counts is the share of the cores in use.
func TestSizeWithoutHopeOfCores(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rate, margin, most float64 // most: of the cores
		cores              int
		hopeless           Hopeless // "" for none
		mostRate           float64
	}{
		{1000, 0.2, 0.61, 2, "", 0},
		{1000, 0.2, 0.59, 2, CoresWait, 1000 * 1.18 / 1.2},
		{1000, 0.99, 1, 2, "", 0},
		{1000, 1, 1, 2, TooFewCores, 1000},
		{2e6, 0.25, 0.5, 1, TooFewCores, 500 / 1.25},
		{1000, 0, 0, 2, TooLong, 0},
	} {
		a := Ask{Load: exponentials(c.rate, 0.001), Cores: c.cores, Margin: c.margin, Keep: func(o Outcome) bool { return o.Cores <= c.most }}
		a.Trace = evenly(20, 0, 0)
		adv := size(t, a)
		if adv.Hopeless != c.hopeless {
			t.Errorf("%+v: %q", c, adv.Hopeless)
		}
		near(t, "the most rate", adv.MostRate, c.mostRate, 0.006)
	}
	all := asked(300, 0.02, true, func(Outcome) bool { return true })
	all.Margin = 0.2
	if adv := size(t, all); adv.Workers != 8 || adv.Least != 7 {
		t.Errorf("if all is kept: %d workers and %d without the margin, want the fewest that keep up, 8 and 7", adv.Workers, adv.Least)
	}
}

// Whether a worker for each request would do is asked of the same theory as how many
// workers do: just below the quantile of the demand itself no number does, whatever the
// sample of it says, and just above a few are enough.
func TestSizeAtTheBorderOfTheDemand(t *testing.T) {
	t.Parallel()
	const held = 0.02
	alone := math.Log(100) * held // p99 of an exponential demand
	for _, side := range []float64{0.999, 1.001} {
		adv := size(t, asked(400, held, true, func(o Outcome) bool { return o.Response(0.99) <= alone*side }))
		if side < 1 && (adv.Workers != 0 || adv.Hopeless == "" || adv.MostRate != 0) {
			t.Errorf("below it: %d workers, %q, %g/s", adv.Workers, adv.Hopeless, adv.MostRate)
		}
		if side > 1 && (adv.Hopeless != "" || adv.Workers < 9 || adv.Workers > 40) {
			t.Errorf("above it: %d workers, %q", adv.Workers, adv.Hopeless)
		}
		near(t, "p99 with a worker for each request", adv.Expected.Response(0.99), alone, 0.002)
	}
}

func TestLeast(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ low, from int }{{0, 0}, {0, 1}, {5, 6}, {7, 1000}, {3, MostTried}, {3 * MostTried, 3*MostTried + 10}} {
		if n, ok := least(c.low, func(n int) bool { return n >= c.from }); n != c.from || !ok {
			t.Errorf("from %d on, searched from %d: got %d, %v", c.from, c.low, n, ok)
		}
	}
	for _, low := range []int{0, 9, 3 * MostTried} {
		asked := 0
		if n, ok := least(low, func(int) bool { asked++; return false }); ok || asked > 30 {
			t.Errorf("none is good: got %d, %v after %d questions", n, ok, asked)
		}
	}
}

func TestSizeRefuses(t *testing.T) {
	t.Parallel()
	good := asked(10, 0.1, true, func(Outcome) bool { return true })
	for what, spoil := range map[string]func(*Ask){
		"no rate":               func(a *Ask) { a.Rate = 0 },
		"no demand":             func(a *Ask) { a.Block = 0 },
		"less than no blocking": func(a *Ask) { a.Service, a.Block = 0.2, -0.1 },
		"nine jobs":             func(a *Ask) { a.Trace = a.Trace[:9] },
		"negative margin":       func(a *Ask) { a.Margin = -0.1 },
		"NaN":                   func(a *Ask) { a.Service = math.NaN() },
		"no cores":              func(a *Ask) { a.Cores = 0 },
		"margin":                func(a *Ask) { a.Margin = 1.5 },
		"nothing kept":          func(a *Ask) { a.Keep = nil },
		"no trace":              func(a *Ask) { a.Trace = nil },
		"disorder":              func(a *Ask) { a.Trace = slices.Concat(a.Trace[9:], a.Trace[:9]) },
	} {
		a := good
		spoil(&a)
		if adv, err := Size(a); err == nil {
			t.Errorf("%s: %+v, want an error", what, adv)
		}
	}
	good.Margin, good.Trace = 1, good.Trace[:10]
	if _, err := Size(good); err != nil {
		t.Errorf("a margin of 1 and ten jobs: %v", err)
	}
}

// Waits fall with workers, from the fewest that keep up to where next to nobody waits; the
// knee is the first below a tenth of the time held.
func TestWaits(t *testing.T) {
	t.Parallel()
	const held = 0.02
	for _, rate := range []float64{20, 50, 100, 300, 1000, 3000, 9000} {
		all, knee, err := Waits(asked(rate, held, true, nil))
		if err != nil || len(all) < 3 || len(all) > 12 {
			t.Fatalf("%g/s: %d outcomes, error %v", rate, len(all), err)
		}
		last := len(all) - 1
		if span := all[last].Workers - all[0].Workers; len(all) <= min(span, 6) {
			t.Errorf("%g/s: %d outcomes of %d to %d workers", rate, len(all), all[0].Workers, all[last].Workers)
		}
		if all[0].Workers != Workers(rate, held) || all[last].Wait > 0.001*held || all[last-1].Wait <= 0.001*held {
			t.Errorf("%g/s: from %d workers to a wait of %g s, and %g s before", rate, all[0].Workers, all[last].Wait, all[last-1].Wait)
		}
		if all[knee].Wait > 0.1*held || all[knee-1].Wait <= 0.1*held {
			t.Errorf("%g/s: the knee is at %d workers with a wait of %g s", rate, all[knee].Workers, all[knee].Wait)
		}
		for i := 1; i < len(all); i++ {
			if all[i].Wait >= all[i-1].Wait || all[i].Workers <= all[i-1].Workers {
				t.Errorf("%g/s: %d workers wait %g s, %d wait %g s", rate, all[i-1].Workers, all[i-1].Wait, all[i].Workers, all[i].Wait)
			}
		}
	}
	border := Ask{Load: exponentials(1000, 0.001), Cores: 1, Exponential: true}
	border.Trace = evenly(20, ms, 0)
	if all, _, err := Waits(border); err != nil || len(all) != 0 {
		t.Errorf("cores that just keep up: %d outcomes, error %v", len(all), err)
	}
	full := Ask{Load: exponentials(900, 0.002), Cores: 1}
	full.Trace = draw(3, 1000, 900, exponential(2*time.Millisecond))
	if all, _, err := Waits(full); err != nil || len(all) != 0 {
		t.Errorf("cores that cannot keep up: %d outcomes, error %v", len(all), err)
	}
}

// Quantiles of the wait are where its tail is, and a long bounded queue is unbounded.
func TestWaitQuantiles(t *testing.T) {
	t.Parallel()
	for _, q := range []float64{0.5, 0.9, 0.99, 0.999} {
		at := mmcWaitQuantile(14.4, 1, 16, q)
		if tail := MMcWait(14.4, 1, 16, at); at > 0 {
			near(t, "the tail at its quantile", tail, 1-q, 1e-9)
		} else if tail > 1-q {
			t.Errorf("p%g of the wait is 0, but %g wait", 100*q, tail)
		}
		bounded := mmckWaitQuantile(14.4, 1, 16, 1000, q)
		if math.Abs(bounded-at) > 1e-6 {
			t.Errorf("p%g of the wait: %g bounded far away, %g unbounded", 100*q, bounded, at)
		}
	}
	for q, want := range map[float64]float64{0: 0, -0.1: nan, 1: nan, nan: nan} {
		near(t, "the wait of M/M/c", mmcWaitQuantile(2, 1, 3, q), want, 0)
		near(t, "the wait of M/M/c/K", mmckWaitQuantile(2, 1, 3, 9, q), want, 0)
	}
	near(t, "nobody waits for nobody", mmcWaitQuantile(0, 1, 3, 0.99), 0, 0)
	near(t, "saturated", mmcWaitQuantile(3, 1, 3, 0.5), inf, 0)
	near(t, "no server", mmcWaitQuantile(3, 1, 0, 0.5), nan, 0)
	if wait := mmckWaitQuantile(5, 1, 2, 2, 0.99); wait != 0 {
		t.Errorf("without a queue p99 of the wait is %g", wait)
	}
}
