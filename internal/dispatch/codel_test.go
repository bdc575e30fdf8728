package dispatch

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// overload offers three times what two workers can do, evenly, for 20 s, and
// returns the waits of what was run in the second half.
func overload(t *testing.T, kind Kind, overflow Overflow) (waits []time.Duration, l *ledger) {
	const service = 10 * time.Millisecond
	in(t, kind, Options[time.Duration]{Workers: 2, Depth: 1 << 10, Overflow: overflow},
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
		overflow Overflow
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

// A burst that is worked off within the interval is no standing queue.
func TestCoDelLetsABurstPass(t *testing.T) {
	t.Parallel()
	for _, kind := range own {
		in(t, kind, Options[time.Duration]{Workers: 1, Depth: 64, Overflow: CoDel},
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
	o := Options[time.Duration]{Workers: 1, Depth: 64, Target: 100 * ms, Interval: 100 * ms}
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
