package model_test

import (
	"fmt"
	"os"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"schedlab/internal/serving/dispatch"
	"schedlab/internal/serving/model"
)

// refuses reports whether a mode can refuse what it cannot serve.
func refuses(mode model.Mode) bool { return mode.Has("overflow") || mode.Has("wait") }

// The work of an overload is sleep, so that capacity is workers by time, and known.
const (
	overloadWork    = "/work?sleep=20ms"
	overloadService = 20 * time.Millisecond
	overloadWorkers = 4
	overloadRate    = float64(overloadWorkers) / 0.020 // the capacity, in requests a second
)

// What a mode that refuses must achieve at any overload, on an idle machine.
const (
	leastGoodput = 0.8                    // of the capacity
	refusedIn    = 20 * time.Millisecond  // 95 % of the refusals
	servedIn     = 150 * time.Millisecond // 95 % of what is accepted
	recoveredIn  = 500 * time.Millisecond // after the last request of the load
	mostGrowth   = 64 << 20               // of the heap, in bytes, at any time
)

// Modes that refuse requests serve at their capacity under any overload, and recover when it
// ends. Not parallel: it measures times.
func TestHostileOverload(t *testing.T) {
	lasts := 500 // ms, five of CoDel's intervals: long enough to see both answers and refusals
	if os.Getenv(timed) != "" {
		lasts = 1000 // for a goodput and quantiles that can be judged
	}
	for _, mode := range model.Variants() {
		if !refuses(mode) {
			continue
		}
		t.Run(mode.Name, func(t *testing.T) {
			s := start(t, mode, func(with *setup) {
				with.Workers = overloadWorkers
				with.Overflow = dispatch.Reject
				if with.Depth > 0 {
					with.Depth = 2 * overloadWorkers
				}
				with.Wait = refusedIn / 2
				with.Target, with.Interval = dispatch.DefaultTarget, dispatch.DefaultInterval
			})
			for _, times := range []float64{2, 5, 10} {
				t.Run(fmt.Sprintf("times=%g", times), func(t *testing.T) {
					judged(t, func() string {
						before := s.ln.Counts()
						o := s.overload(times*overloadRate, time.Duration(sized(lasts, 10_000))*time.Millisecond)
						t.Log(o)
						if len(o.refused) == 0 || len(o.served) == 0 {
							t.Errorf("got %d served, %d refused, want some of both", len(o.served), len(o.refused))
						}
						// On a starved machine the refuser has no slot left and closes at once.
						shed := s.ln.Counts().Dropped[model.ShedBusy] - before.Dropped[model.ShedBusy]
						if len(o.failed) > 0 && shed == 0 {
							t.Errorf("%d had no answer (the first: %v), yet none was shed", len(o.failed), o.failed[0])
						}
						if o.grown >= mostGrowth {
							t.Errorf("the heap grew by %d MiB, want %d at most", o.grown>>20, mostGrowth>>20)
						}
						return o.wrong()
					})
				})
			}
		})
	}
}

// Modes that never refuse answer every request in the end, and recover.
func TestHostileRush(t *testing.T) {
	for _, mode := range model.Variants() {
		t.Run(mode.Name, func(t *testing.T) {
			s := start(t, mode, func(with *setup) { with.Overflow = dispatch.Block })
			judged(t, func() string {
				const clients = 100
				var answered atomic.Int64
				crowd(clients, 1, func() {
					if status, _, _ := s.one(); status == 200 {
						answered.Add(1)
					}
				})
				if n := answered.Load(); n != clients {
					t.Errorf("got %d of %d answered, want all", n, clients)
				}
				if took := s.recovery(func(err error) { t.Error(err) }); took > recoveredIn {
					return fmt.Sprintf("normal again after %v, want %v at most", took, recoveredIn)
				}
				return ""
			})
		})
	}
}

// An outcome counts how the requests of an overload ended, with their response times.
type outcome struct {
	rate     float64 // requests a second
	lasted   time.Duration
	recovery time.Duration
	grown    int64 // the heap at its largest, less what it was before, in bytes

	mu              sync.Mutex
	served, refused []time.Duration
	failed          []error // of requests with neither answer
}

// goodput is of the capacity.
func (o *outcome) goodput() float64 {
	return float64(len(o.served)) / (overloadRate * o.lasted.Seconds())
}

func (o *outcome) String() string {
	ms := func(d []time.Duration, q float64) string {
		return fmt.Sprintf("%.1f ms", quantile(d, q).Seconds()*1000)
	}
	return fmt.Sprintf("%g times capacity for %v: goodput %.2f; %d refused, half within %s, 95 %% within %s, 99 %% within %s; 95 %% served within %s; %d failed; normal after %v; heap grown by %.1f MiB",
		o.rate/overloadRate, o.lasted, o.goodput(), len(o.refused), ms(o.refused, 0.5), ms(o.refused, 0.95), ms(o.refused, 0.99),
		ms(o.served, 0.95), len(o.failed), o.recovery.Round(time.Millisecond), float64(o.grown)/(1<<20))
}

// wrong says which limit of time was missed; "" for none.
func (o *outcome) wrong() string {
	var wrong []string
	check := func(ok bool, format string, args ...any) {
		if !ok {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	check(len(o.failed) == 0, "%d of the refused had no answer (the first: %v), want none", len(o.failed), slices.Concat(o.failed, []error{nil})[0])
	check(o.goodput() >= leastGoodput, "goodput %.2f of the capacity, want %.2f", o.goodput(), leastGoodput)
	check(quantile(o.refused, 0.95) < refusedIn, "95 %% were refused within %v, want %v", quantile(o.refused, 0.95), refusedIn)
	check(quantile(o.served, 0.95) < servedIn, "95 %% were served within %v, want %v", quantile(o.served, 0.95), servedIn)
	check(o.recovery < recoveredIn, "normal again after %v, want %v", o.recovery, recoveredIn)
	return strings.Join(wrong, "; ")
}

// overload makes rate requests a second, each on a connection of its own,
// whatever becomes of them, and waits for the last.
func (s *subject) overload(rate float64, lasts time.Duration) *outcome {
	o := &outcome{rate: rate, lasted: lasts}
	var all sync.WaitGroup
	before := heap()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	sent := 0
	for began := time.Now(); time.Since(began) < lasts; <-tick.C {
		for ; sent < int(rate*min(time.Since(began), lasts).Seconds()); sent++ {
			all.Go(func() { o.count(s.one()) })
		}
		o.grown = max(o.grown, heap()-before)
	}
	o.recovery = s.recovery(o.fail)
	all.Wait()
	return o
}

// recovery is the time until a single client is served as before the overload: three answers
// in a row, whose work is not counted. failed is told of every request without an answer.
func (s *subject) recovery(failed func(error)) time.Duration {
	began := time.Now()
	for row := 0; ; {
		sent := time.Since(began)
		status, took, err := s.one()
		if err != nil {
			failed(err)
		}
		if status == 200 && took < 3*overloadService {
			row++
		} else {
			row = 0
		}
		if row == 3 || sent > soon {
			return time.Since(began) - time.Duration(row)*overloadService
		}
	}
}

// one makes one request; err is why it has no answer.
func (s *subject) one() (status int, took time.Duration, err error) {
	began := time.Now()
	c, err := connect(s.addr())
	if err != nil {
		return 0, 0, err
	}
	defer c.Close()
	a, err := c.ask(getClose(overloadWork))
	return a.Status, time.Since(began), err
}

func (o *outcome) count(status int, took time.Duration, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case err != nil:
		o.failed = append(o.failed, err)
	case status == 200:
		o.served = append(o.served, took)
	case status == 503:
		o.refused = append(o.refused, took)
	default:
		o.failed = append(o.failed, fmt.Errorf("status %d", status))
	}
}

func (o *outcome) fail(err error) { o.count(0, 0, err) }

// quantile is the nearest value below; of none it is 0.
func quantile(d []time.Duration, q float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	d = slices.Sorted(slices.Values(d))
	return d[int(q*float64(len(d)-1))]
}

// heap is what the process has allocated and not yet collected, in bytes: client
// and server, alive or not.
func heap() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}
