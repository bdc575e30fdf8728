package workload

import (
	"fmt"
	"math"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func mustWork(t *testing.T, a *App, query, seq string) work {
	t.Helper()
	w, err := a.parseWork(query, seq)
	if err != nil {
		t.Fatalf("%q: %v", query, err)
	}
	return w
}

func TestWorkIsDrawnFromSeed(t *testing.T) {
	t.Parallel()
	a := New(Options{ItersPerMicro: 100})
	const q = "cpu=exp(10ms)&sleep=exp(10ms)"
	want := mustWork(t, a, q, "17")
	for _, same := range []struct{ query, seq string }{
		{q, "17"},
		{q + "&seed=17", ""},
		{"seed=17&" + q, "18"}, // seed goes before the header
		{"sleep=exp(10ms)&cpu=exp(10ms)&seed=1%37", ""},
	} {
		if got := mustWork(t, a, same.query, same.seq); got != want {
			t.Errorf("%q seq %q: got %+v, want %+v", same.query, same.seq, got, want)
		}
	}
	for _, other := range []struct{ query, seq string }{{q, "18"}, {q, "71"}, {q, ""}, {q + "&seed=18", "17"}} {
		if got := mustWork(t, a, other.query, other.seq); got.iters == want.iters || got.sleep == want.sleep {
			t.Errorf("%q seq %q: got %+v, want another draw", other.query, other.seq, got)
		}
	}
}

// The draw of a request is part of every published trace: it must not change
// from one version to the next.
func TestWorkDrawIsFixed(t *testing.T) {
	t.Parallel()
	a := New(Options{ItersPerMicro: 100})
	got := mustWork(t, a, "cpu=exp(1ms)&sleep=exp(1ms)", "1")
	want := work{iters: 44_059, sleep: 822_913}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	got = mustWork(t, a, "cpu=lognormal(1ms,4)&lock=exp(50us)&alloc=64KiB", "1")
	want = work{iters: 28_030, locked: 2_210, alloc: 64 << 10}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// A planted factor multiplies what a request computes, in and out of the lock,
// and leaves its sleep and its memory alone.
func TestPlantCPUMultipliesCPUAlone(t *testing.T) {
	t.Parallel()
	plain, planted := New(Options{ItersPerMicro: 100}), New(Options{ItersPerMicro: 100, PlantCPU: 1.10})
	for _, tc := range []struct {
		query string
		want  work
	}{
		{"iters=1000&sleep=1ms&alloc=4KiB", work{iters: 1100, sleep: time.Millisecond, alloc: 4 << 10}},
		{"cpu=200us&lock=50us", work{iters: 22_000, locked: 5_500}},
		{"sleep=1ms", work{sleep: time.Millisecond}},
	} {
		if got := mustWork(t, planted, tc.query, "1"); got != tc.want {
			t.Errorf("%q: got %+v, want %+v", tc.query, got, tc.want)
		}
	}
	const drawn = "cpu=exp(1ms)"
	got, want := mustWork(t, planted, drawn, "7").iters, 1.10*float64(mustWork(t, plain, drawn, "7").iters)
	if math.Abs(float64(got)-want) > 0.5 {
		t.Errorf("%q: got %d iterations, want %.1f: the same draw, multiplied", drawn, got, want)
	}
}

// Sequence numbers are short strings that differ in one digit. Their draws must
// still be exponential and independent of each other and between streams.
func TestWorkStreamsAreIndependent(t *testing.T) {
	t.Parallel()
	const n, mean = 50_000, 10_000 // mean in us: far below both caps
	a := New(Options{ItersPerMicro: 1})
	var cpu, sleep [n]float64
	for i := range n {
		w := mustWork(t, a, "cpu=exp(10ms)&sleep=exp(10ms)", strconv.Itoa(i))
		cpu[i], sleep[i] = float64(w.iters)/mean, float64(w.sleep)/(mean*1e3)
	}
	// correlation of unit exponentials: E[(X-1)(Y-1)], standard error 1/√n
	check := func(name string, x, y []float64, want, tolerance float64) {
		t.Helper()
		var sum float64
		for i := range x {
			sum += (x[i] - 1) * (y[i] - 1)
		}
		if got := sum / float64(len(x)); math.Abs(got-want) > tolerance {
			t.Errorf("%s: got %.4f, want %.4f within %.4f", name, got, want, tolerance)
		}
	}
	se := 1 / math.Sqrt(n)
	check("cpu variance", cpu[:], cpu[:], 1, 4*math.Sqrt(8)*se)
	check("sleep variance", sleep[:], sleep[:], 1, 4*math.Sqrt(8)*se)
	check("cpu and sleep", cpu[:], sleep[:], 0, 4*se)
	check("neighbouring cpu", cpu[1:], cpu[:n-1], 0, 4*se)
	check("neighbouring sleep", sleep[1:], sleep[:n-1], 0, 4*se)
}

// The median of a lognormal is m / √(1 + c²), and its share below the mean is
// Φ(σ/2), σ² = ln(1 + c²).
func TestLognormalQuantiles(t *testing.T) {
	t.Parallel()
	const n = 100_000
	for _, scv := range []float64{0.5, 4, 100} {
		d, err := ParseDist(fmt.Sprintf("lognormal(1ms,%g)", scv))
		if err != nil {
			t.Fatal(err)
		}
		r := NewRand(7)
		var belowMedian, belowMean float64
		median := float64(time.Millisecond) / math.Sqrt(1+scv)
		for range n {
			v := float64(d.Sample(r))
			if v < median {
				belowMedian++
			}
			if v < float64(time.Millisecond) {
				belowMean++
			}
		}
		sigma := math.Sqrt(math.Log1p(scv))
		want := 0.5 * math.Erfc(-sigma/2/math.Sqrt2)
		if tolerance := 4 * 0.5 / math.Sqrt(n); math.Abs(belowMedian/n-0.5) > tolerance || math.Abs(belowMean/n-want) > tolerance {
			t.Errorf("c² %g: got %.4f below the median and %.4f below the mean, want 0.5 and %.4f within %.4f",
				scv, belowMedian/n, belowMean/n, want, tolerance)
		}
	}
}

// Memory is held until the answer: requests that sleep keep theirs alive.
func TestWorkHoldsItsMemory(t *testing.T) {
	live := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	synctest.Test(t, func(t *testing.T) {
		const requests, bytes = 8, 4 << 20
		a := newTestApp()
		before := live()
		var all sync.WaitGroup
		for range requests {
			all.Go(func() { a.Serve(&Exchange{Method: "GET", Path: "/work", Query: "alloc=4MiB&sleep=1s"}) })
		}
		synctest.Wait()
		during := live()
		all.Wait()
		if got := int64(during - before); got < requests*bytes*9/10 || got > requests*bytes*11/10 { // others free a little
			t.Errorf("got %d bytes held, want %d", got, requests*bytes)
		}
		if after := live(); after > before+bytes {
			t.Errorf("got %d bytes left behind", after-before)
		}
	})
}

// Requests that ask for the lock take turns; the others pass.
func TestWorkTakesTurnsAtTheLock(t *testing.T) {
	t.Parallel()
	a := newTestApp()
	a.lock.Lock()
	waiting := &Exchange{Method: "GET", Path: "/work", Query: "lock=50us"}
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.Serve(waiting)
	}()
	passing := &Exchange{Method: "GET", Path: "/work", Query: "cpu=50us"}
	if a.Serve(passing); passing.Status != 200 {
		t.Errorf("got %d, want 200 without the lock", passing.Status)
	}
	select {
	case <-done:
		t.Error("a request passed the lock while it was held")
	default:
	}
	a.lock.Unlock()
	if <-done; waiting.Status != 200 {
		t.Errorf("got %d, want 200", waiting.Status)
	}
}

func TestWorkClampsDrawsToTheCaps(t *testing.T) {
	t.Parallel()
	a := newTestApp()
	var atCPU, atSleep int
	for i := range 1000 {
		w := mustWork(t, a, "cpu=exp(1s)&sleep=exp(10s)", strconv.Itoa(i))
		if w.iters > a.maxIters || w.sleep > maxSleep {
			t.Fatalf("seq %d: got %+v, above the caps", i, w)
		}
		if w.iters == a.maxIters {
			atCPU++
		}
		if w.sleep == maxSleep {
			atSleep++
		}
	}
	// P(X > mean) of an exponential is 1/e: 368 of 1000
	for name, got := range map[string]int{"cpu": atCPU, "sleep": atSleep} {
		if got < 300 || got > 440 {
			t.Errorf("%s: %d of 1000 draws at the cap, want about 368", name, got)
		}
	}
}

func TestWorkConvertsCPUByCalibration(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		perMicro float64
		query    string
		want     int
	}{
		{100, "cpu=200us", 20_000},
		{0.5, "cpu=3us", 2}, // rounds half away from zero
		{1e-9, "cpu=1s", 0},
		{100, "iters=7", 7},
		{100, "", 0},
	} {
		a := New(Options{ItersPerMicro: tc.perMicro})
		if got := mustWork(t, a, tc.query, "").iters; got != tc.want {
			t.Errorf("%q at %g per microsecond: got %d iterations, want %d", tc.query, tc.perMicro, got, tc.want)
		}
	}
}

func TestWorkSleeps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newTestApp()
		const q = "sleep=exp(1s)"
		want := mustWork(t, a, q, "5").sleep
		start := time.Now()
		x := &Exchange{Method: "GET", Path: "/work", Query: q, Seq: "5"}
		a.Serve(x)
		if got := time.Since(start); got != want || x.Status != 200 {
			t.Errorf("got %v and %d, want %v and 200", got, x.Status, want)
		}
	})
}

func TestSpinTakesAnyCount(t *testing.T) {
	t.Parallel()
	for _, n := range []int{math.MinInt, -1, 0, 1, chunkIters, chunkIters + 1, 3 * chunkIters} {
		spin(n)
	}
}

func TestCalibrationIsUsable(t *testing.T) {
	t.Parallel()
	for _, given := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if got := New(Options{ItersPerMicro: given}).itersPerMicro; !(got > 0) || math.IsInf(got, 0) {
			t.Errorf("from %g: got %g, want a positive finite figure", given, got)
		}
	}
	if got := New(Options{ItersPerMicro: 42}).itersPerMicro; got != 42 {
		t.Errorf("got %g, want 42", got)
	}
}

// BenchmarkSpin reports the nanoseconds of what calibration calls a microsecond:
// on a quiet core close to 1000.
func BenchmarkSpin(b *testing.B) {
	perMicro := Calibrate()
	iters := int(math.Round(perMicro * 1000))
	for b.Loop() {
		spin(iters)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/demanded-us")
	b.ReportMetric(perMicro, "iters/us")
}

func BenchmarkServe(b *testing.B) {
	a := newTestApp()
	for _, bc := range []struct{ name, path, query string }{
		{"plaintext", "/plaintext", ""},
		{"json", "/json", ""},
		{"work-iters", "/work", "iters=0"},
		{"work-exp", "/work", "cpu=exp(1ns)&seed=1"},
		{"bytes", "/bytes/1000", ""},
	} {
		b.Run("route="+bc.name, func(b *testing.B) {
			x := &Exchange{Method: "GET", Path: bc.path, Query: bc.query, Seq: "17"}
			b.ReportAllocs()
			for b.Loop() {
				a.Serve(x)
			}
		})
	}
}
