package dispatch

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"schedlab/internal/shared/queueing"
)

// A full queue: one job of a minute in service and jobs of 1, 2 s waiting, then
// one of 3 s.
func TestOverflow(t *testing.T) {
	for _, tc := range []struct {
		overflow string
		ran      []time.Duration
		why      Why
		refused  []time.Duration
		blocked  time.Duration
	}{
		{overflow: Block, ran: []time.Duration{time.Minute, second, 2 * second, 3 * second}, blocked: time.Minute},
		{overflow: Reject, ran: []time.Duration{time.Minute, second, 2 * second}, why: Full, refused: []time.Duration{3 * second}},
		{overflow: Drop, ran: []time.Duration{time.Minute, second, 2 * second}, why: Dropped, refused: []time.Duration{3 * second}},
		{overflow: DropOldest, ran: []time.Duration{time.Minute, 2 * second, 3 * second}, why: Evicted, refused: []time.Duration{second}},
		{overflow: Expire, ran: []time.Duration{time.Minute, second, 2 * second}, why: Full, refused: []time.Duration{3 * second}},
		{overflow: CoDel, ran: []time.Duration{time.Minute, second, 2 * second}, why: Full, refused: []time.Duration{3 * second}},
	} {
		t.Run(tc.overflow, func(t *testing.T) {
			each(t, all, func(t *testing.T, kind Kind, o Options[time.Duration]) {
				o.Target, o.Interval, o.Wait = time.Hour, time.Hour, time.Hour // nothing ages
				o.Workers, o.Depth, o.Overflow = 1, 2, tc.overflow
				in(t, kind, o, func(t *testing.T, d Dispatcher[time.Duration], l *ledger) {
					put(d, time.Minute, second, 2*second)
					began := time.Now()
					d.Put(3 * second)
					blocked := time.Since(began)
					synctest.Wait()
					if blocked != tc.blocked {
						t.Errorf("Put took %v, want %v", blocked, tc.blocked)
					}
					if !slices.Equal(l.read().refused[tc.why], tc.refused) {
						t.Errorf("got refused %v, want %v as %v", l.read().refused, tc.refused, tc.why)
					}
					sleep(time.Hour)
					if !slices.Equal(l.read().ran, tc.ran) {
						t.Errorf("got run %v, want %v", l.read().ran, tc.ran)
					}
				})
			})
		})
	}
}

// A job that waited longer than its client does is dropped before it takes a worker, and costs it no time: the next one runs at
// once.
func TestExpiredJobsTakeNoWorker(t *testing.T) {
	each(t, []Kind{Shared, PerWorker, Ring}, func(t *testing.T, kind Kind, o Options[time.Duration]) {
		o.Workers, o.Depth, o.Overflow, o.Wait = 1, 4, Expire, 10*second
		in(t, kind, o, func(t *testing.T, d Dispatcher[time.Duration], l *ledger) {
			put(d, time.Minute, second, 2*second)
			sleep(55 * time.Second)
			put(d, 3*second)
			sleep(time.Hour)
			if got, want := l.read().ran, []time.Duration{time.Minute, 3 * second}; !slices.Equal(got, want) {
				t.Errorf("got run %v, want %v", got, want)
			}
			if got, want := l.read().refused[Expired], []time.Duration{second, 2 * second}; !slices.Equal(got, want) {
				t.Errorf("got expired %v, want %v", got, want)
			}
			if waits := l.read().waits; len(waits) != 2 || waits[1] != 5*second {
				t.Errorf("got waits %v, want the last of 5 s: until the worker was free", waits)
			}
		})
	})
}

// At one and a half times what can be done every job fares as with the simulator's patient clients, who leave the queue after a
// time: it runs at the same nanosecond, or it is lost. All that runs is in time, and the workers are busy all the time.
func TestExpireFaresAsInTheSimulator(t *testing.T) {
	t.Parallel()
	const workers, depth, wait = 2, 1 << 12, 50 * time.Millisecond
	trace := poisson(30_000, 1.5*workers*1000, exponential)
	for kind, name := range map[Kind]string{Shared: "shared", Ring: "ring"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			completions := replayed(t, kind, Options[int]{Settings: Settings{Workers: workers, Depth: depth, Overflow: Expire, Wait: wait}}, trace)
			likeIdeal(t, queueing.Station{Workers: workers, Patience: queueing.Span(wait)}, trace, completions)
			ran := 0
			for i, f := range completions {
				if f.Lost {
					continue
				}
				if ran++; f.Start-trace[i].At > wait {
					t.Fatalf("job %d ran after %v, longer than clients wait", i, f.Start-trace[i].At)
				}
			}
			if ran < 19_000 || ran > 21_000 {
				t.Errorf("%d of 30,000 jobs ran at one and a half times the capacity, want two thirds", ran)
			}
		})
	}
}
