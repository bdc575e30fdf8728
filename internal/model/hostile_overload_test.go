package model_test

import (
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"schedlab/internal/dispatch"
	"schedlab/internal/model"
)

// refuses reports whether a mode can refuse what it cannot serve.
func refuses(mode model.Mode) bool { return mode.Has("overflow") || mode.Has("wait") }

// Modes that refuse what they cannot serve keep serving what they can, at any
// overload, and are as before when it ends. Work is sleep, so that capacity is
// workers by time, and known.
func TestHostileOverload(t *testing.T) {
	const workers, service = 4, 20 * time.Millisecond
	const capacity = float64(workers) / 0.020 // requests a second
	for _, mode := range model.Modes() {
		if !refuses(mode) {
			continue
		}
		t.Run(mode.Name, func(t *testing.T) {
			s := start(t, mode, func(with *setup) {
				with.Workers = workers
				with.Overflow = dispatch.Reject
				if with.QueueDepth > 0 {
					with.QueueDepth = 2 * workers
				}
				with.Wait = service
				with.Target, with.Interval = service, 5*service
			})
			before := heap()
			for _, times := range []float64{2, 5, 10} {
				lasts := time.Duration(sized(1000, 10_000)) * time.Millisecond
				o := s.overload(times*capacity, lasts)
				goodput := float64(len(o.served)) / (capacity * lasts.Seconds())
				t.Logf("%v times capacity: goodput %.2f of it, %d refused, half of them within %v, 95 %% within %v; %d failed",
					times, goodput, len(o.refused), quantile(o.refused, 0.5), quantile(o.refused, 0.95), o.failed)
				if goodput < 0.8 {
					t.Errorf("%v times capacity: goodput is %.2f of capacity, want 0.8", times, goodput)
				}
				if len(o.refused) == 0 || o.failed > 0 {
					t.Errorf("%v times capacity: %d refused, %d failed, want refusals and no failure", times, len(o.refused), o.failed)
				}
				// A refusal is due within 20 ms; other tests share the processors.
				if took := quantile(o.refused, 0.5); took > 5*service {
					t.Errorf("%v times capacity: half of the refusals took %v or more", times, took)
				}
				began := time.Now()
				s.visit(1, getClose("/work?sleep=20ms"))
				if took := time.Since(began); took > time.Second {
					t.Errorf("%v times capacity: a request afterwards took %v, want a second at most", times, took)
				}
			}
			if grown := int64(heap()) - int64(before); grown > 64<<20 {
				t.Errorf("the heap grew by %d MiB, want 64 at most", grown>>20)
			}
		})
	}
}

// An outcome is what an overload's requests came to, by time to the answer.
type outcome struct {
	mu              sync.Mutex
	served, refused []time.Duration
	failed          int
}

// overload makes rate requests a second, each on a connection of its own,
// whatever becomes of them, and waits for the last.
func (s *subject) overload(rate float64, lasts time.Duration) *outcome {
	var o outcome
	var all sync.WaitGroup
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	began := time.Now()
	for sent := 0; ; <-tick.C {
		elapsed := time.Since(began)
		if elapsed >= lasts {
			break
		}
		for ; sent < int(rate*elapsed.Seconds()); sent++ {
			all.Go(func() { o.count(s.one()) })
		}
	}
	all.Wait()
	return &o
}

// one makes one request; its status is 0 without an answer.
func (s *subject) one() (status int, took time.Duration) {
	began := time.Now()
	c, err := s.tryDial()
	if err != nil {
		return 0, 0
	}
	defer c.Close()
	a, err := c.ask(getClose("/work?sleep=20ms"))
	if err != nil {
		return 0, 0
	}
	return a.Status, time.Since(began)
}

func (o *outcome) count(status int, took time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch status {
	case 200:
		o.served = append(o.served, took)
	case 503:
		o.refused = append(o.refused, took)
	default:
		o.failed++
	}
}

func quantile(d []time.Duration, q float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	d = slices.Sorted(slices.Values(d))
	return d[int(q*float64(len(d)-1))]
}

// heap is what lives, in bytes.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
