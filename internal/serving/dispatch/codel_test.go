package dispatch

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"schedlab/internal/shared/queueing"
)

// overload offers three times what two workers can do, evenly, for 20 s, and
// returns the waits of what was run in the second half.
func overload(t *testing.T, kind Kind, overflow string) (waits []time.Duration, l *ledger) {
	const service = 10 * time.Millisecond
	in(t, kind, Options[time.Duration]{Settings: Settings{Workers: 2, Depth: 1 << 10, Overflow: overflow}},
		func(_ *testing.T, d Dispatcher[time.Duration], led *ledger) {
			offer := func() {
				for began := time.Now(); time.Since(began) < 10*second; sleep(service / 6) {
					d.Put(service)
				}
			}
			offer()
			synctest.Wait()
			first := len(led.read().waits)
			offer()
			synctest.Wait()
			waits = slices.Sorted(slices.Values(led.read().waits[first:]))
			l = led
		})
	return waits, l
}

// At three times what can be done a first-come queue fills up and everybody waits
// for the whole of it. CoDel holds the wait near its target and does as much work;
// adaptive, which serves the newest first, holds most waits below it.
func TestCoDelHoldsTheWaitUnderOverload(t *testing.T) {
	t.Parallel()
	const capacity = 2 * 10 * 100 // jobs of 10 ms in 10 s on 2 workers
	for _, tc := range []struct {
		name     string
		kind     Kind
		overflow string
		median   [2]time.Duration // at least and at most
		most     time.Duration
	}{
		{"fifo", Shared, Reject, [2]time.Duration{4 * second, 6 * second}, 6 * second}, // 1024 places x 10 ms / 2
		{"codel", Shared, CoDel, [2]time.Duration{DefaultTarget, 2 * DefaultTarget}, 2 * DefaultTarget},
		{"codel perworker", PerWorker, CoDel, [2]time.Duration{DefaultTarget, 2 * DefaultTarget}, 2 * DefaultTarget},
		{"codel ring", Ring, CoDel, [2]time.Duration{DefaultTarget, 2 * DefaultTarget}, 2 * DefaultTarget},
		{"adaptive", Adaptive, Reject, [2]time.Duration{0, DefaultTarget}, 2 * DefaultTarget},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			waits, l := overload(t, tc.kind, tc.overflow)
			median, most := waits[len(waits)/2], waits[len(waits)-1]
			t.Logf("%d run, waits: median %v, most %v; refused full %d, stale %d", len(waits), median, most, len(l.read().refused[Full]), len(l.read().refused[Stale]))
			if median < tc.median[0] || median > tc.median[1] || most > tc.most {
				t.Errorf("got waits of median %v and at most %v, want %v and %v", median, most, tc.median, tc.most)
			}
			if n := len(waits); n < capacity*97/100 || n > capacity+2 {
				t.Errorf("got %d jobs run, want about %d: no work is lost", n, capacity)
			}
		})
	}
}

// At three times what can be done every job fares under the real law as under the
// simulator's, which is written by itself: run at the same nanosecond, or refused.
// At half of it, after an overload, nothing is refused by either.
func TestCoDelFaresAsInTheSimulator(t *testing.T) {
	t.Parallel()
	if queueing.CoDelTarget != DefaultTarget || queueing.CoDelInterval != DefaultInterval {
		t.Errorf("the simulator's defaults are %v in %v, the law's %v in %v", queueing.CoDelTarget, queueing.CoDelInterval, DefaultTarget, DefaultInterval)
	}
	const workers, depth = 2, 1 << 10
	trace := poisson(30_000, 3*workers*1000, exponential)
	calm := poisson(10_000, .5*workers*1000, exponential)
	for _, j := range calm {
		j.At += trace[29_999].At
		trace = append(trace, j)
	}
	for _, tc := range []struct {
		name     string
		kind     Kind
		overflow string
		ideal    queueing.Station
	}{
		{"shared", Shared, CoDel, queueing.Station{Places: workers + depth}},
		{"ring", Ring, CoDel, queueing.Station{Places: workers + depth}},
		{"perworker", PerWorker, CoDel, queueing.Station{Kind: queueing.PerWorker}},
		{"adaptive", Adaptive, Reject, queueing.Station{Places: workers + depth, Adaptive: true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			o := Options[int]{Settings: Settings{Workers: workers, Depth: depth, Overflow: tc.overflow, Target: DefaultTarget, Interval: DefaultInterval}}
			completions := replayed(t, tc.kind, o, trace)
			tc.ideal.Workers = workers
			tc.ideal.Target, tc.ideal.Interval = queueing.Span(queueing.CoDelTarget), queueing.Span(queueing.CoDelInterval)
			likeIdeal(t, tc.ideal, trace, completions)
			lost := func(completions []queueing.Completion) (n int) {
				for _, f := range completions {
					if f.Lost {
						n++
					}
				}
				return n
			}
			if n := lost(completions[:30_000]); n < 17_000 || n > 23_000 {
				t.Errorf("%d of 30,000 jobs at three times the capacity are refused, want two thirds", n)
			}
			if n := lost(completions[35_000:]); n > 0 {
				t.Errorf("%d jobs are refused at half the capacity, long after", n)
			}
		})
	}
}

// A burst that is worked off within the interval is no standing queue.
func TestCoDelLetsABurstPass(t *testing.T) {
	t.Parallel()
	for _, kind := range all {
		in(t, kind, Options[time.Duration]{Settings: Settings{Workers: 1, Depth: 64, Overflow: CoDel}},
			func(t *testing.T, d Dispatcher[time.Duration], l *ledger) {
				for range 5 {
					put(d, slices.Repeat([]time.Duration{2 * time.Millisecond}, 40)...) // 80 ms of work at once
					sleep(200 * time.Millisecond)
				}
				if len(l.read().ran) != 200 || len(l.read().refused) != 0 {
					t.Errorf("%v: got %d run and %v refused, want all 200 run", kind, len(l.read().ran), l.read().refused)
				}
			})
	}
}

// While the queue stands the newest comes first, afterwards the oldest again.
func TestAdaptiveTurnsAroundAndBack(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	o := Options[time.Duration]{Settings: Settings{Workers: 1, Depth: 64, Target: 100 * ms, Interval: 100 * ms}}
	in(t, Adaptive, o, func(t *testing.T, d Dispatcher[time.Duration], l *ledger) {
		after := func(want ...time.Duration) {
			t.Helper()
			before := len(l.read().ran)
			put(d, 50*ms, 3*ms, 1*ms, 2*ms) // the first runs at once
			sleep(second)
			if got := l.read().ran[before+1:]; !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		}
		after(3*ms, 1*ms, 2*ms)
		put(d, slices.Repeat([]time.Duration{60 * ms}, 8)...)
		sleep(245 * ms) // four have run, after 0, 60, 120 and 180 ms; then the queue stood
		if n := len(l.read().refused[Stale]); n != 4 {
			t.Errorf("got %d stale, want 4", n)
		}
		after(2*ms, 1*ms, 3*ms)
		after(3*ms, 1*ms, 2*ms)
	})
}
