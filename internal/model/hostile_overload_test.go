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
				s.judged(times, capacity, 5*service)
				began := time.Now()
				s.visit(1, getClose("/work?sleep=20ms"))
				if took := time.Since(began); took > time.Second+slack {
					t.Errorf("%v times capacity: a request afterwards took %v, want a second at most", times, took)
				}
			}
			if grown := int64(heap()) - int64(before); grown > 64<<20 {
				t.Errorf("the heap grew by %d MiB, want 64 at most", grown>>20)
			}
		})
	}
}

// judged overloads the server and holds it to what it must do. A machine that
// stalls the clients stalls the server: such a trial is repeated, and the last is
// told but not held against the mode. A refusal is due within 20 ms; half of them
// within patience must do, because other tests share the processors.
func (s *subject) judged(times, capacity float64, patience time.Duration) {
	const trials, stall = 3, 10 * time.Millisecond
	lasts := time.Duration(sized(1000, 10_000)) * time.Millisecond
	for trial := 1; ; trial++ {
		o := s.overload(times*capacity, lasts)
		goodput := float64(len(o.served)) / (capacity * lasts.Seconds())
		s.t.Logf("%v times capacity: goodput %.2f of it, %d refused, half of them within %v, 95 %% within %v; %d failed; stalled for up to %v",
			times, goodput, len(o.refused), quantile(o.refused, 0.5), quantile(o.refused, 0.95), o.failed, o.stalled)
		switch {
		case goodput >= 0.8 && len(o.refused) > 0 && o.failed == 0 && quantile(o.refused, 0.5) <= patience:
			return
		case trial < trials:
		case o.stalled > stall:
			s.t.Log("not judged: the machine was busy with something else")
			return
		default:
			s.t.Errorf("%v times capacity: want goodput of 0.8, refusals, half of them within %v, and no failure", times, patience)
			return
		}
	}
}

// An outcome is what an overload's requests came to, by time to the answer.
type outcome struct {
	mu              sync.Mutex
	served, refused []time.Duration
	failed          int
	stalled         time.Duration // the longest that the sender was late
}

// overload makes rate requests a second, each on a connection of its own,
// whatever becomes of them, and waits for the last.
func (s *subject) overload(rate float64, lasts time.Duration) *outcome {
	var o outcome
	var all sync.WaitGroup
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	began := time.Now()
	var last time.Duration
	for sent := 0; ; <-tick.C {
		elapsed := time.Since(began)
		o.stalled = max(o.stalled, elapsed-last)
		last = elapsed
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
