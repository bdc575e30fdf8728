package model_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"schedlab/internal/serving/model"
)

// Hostile requests in random order, some of them broken off, do not disturb ordinary requests,
// and leave nothing behind in memory.
func TestHostileStorm(t *testing.T) {
	eachMode(t, func(t *testing.T, mode model.Mode) {
		w := &storm{t: t, serverProcess: startProcess(t, mode.Name, 0), cases: hostileRequests()}
		if err := w.ask(); err != nil { // it has what the first request needs
			t.Fatal(err)
		}
		w.dialled.Add(1)
		before := w.usage(t)
		lasts := time.Duration(sized(2000, 60_000)) * time.Millisecond
		w.end = time.Now().Add(lasts)
		var all sync.WaitGroup
		for i := range uint64(4) { // fewer than workers, together with those who keep one
			random := rand.New(rand.NewPCG(9, i))
			all.Go(func() { w.attack(random) })
		}
		all.Go(func() { w.keep(get("/plaintext"), "Hello, World!") })
		all.Go(func() { w.keep(upload("POST /echo", "hello"), "hello") })
		all.Go(func() { w.come(getClose("/plaintext"), "Hello, World!") })
		all.Go(func() { w.come(upload("POST /echo", "hello", "Connection: close"), "hello") })
		grown := int64(0)
		all.Go(func() {
			for ; time.Now().Before(w.end); time.Sleep(lasts / 20) {
				grown = max(grown, w.usage(t).Heap-before.Heap)
			}
		})
		all.Wait()
		t.Logf("%v: %d ordinary requests with %d hostile ones; heap grown by %d KiB at most", lasts, w.answered.Load(), w.sent.Load(), grown>>10)
		if grown >= mostGrowth {
			t.Errorf("the heap grew by %d MiB, want less than %d", grown>>20, mostGrowth>>20)
		}
		eventually(t, "every connection is done", func() bool {
			u := w.usage(t)
			return u.Open == 0 && u.Done == w.dialled.Load()
		})
	})
}

// A storm is hostile and ordinary clients of one server until its end.
type storm struct {
	*serverProcess
	t                       *testing.T
	cases                   []hostileCase
	end                     time.Time
	sent, answered, dialled atomic.Uint64
}

func (w *storm) dial() *client {
	c, err := connect(w.addr)
	if err != nil {
		w.t.Errorf("connecting: %v", err)
		return nil
	}
	w.dialled.Add(1)
	return c
}

func (w *storm) attack(random *rand.Rand) {
	for ; time.Now().Before(w.end); time.Sleep(time.Millisecond) {
		tc := w.cases[random.IntN(len(w.cases))]
		c := w.dial()
		if c == nil {
			return
		}
		w.sent.Add(1)
		if random.IntN(4) == 0 {
			io.WriteString(c, tc.raw[:random.IntN(len(tc.raw))])
			c.reset()
		} else if _, err := tc.send(c); err != nil {
			w.t.Errorf("%s (%s): %v", tc.name, tc.rfc, err)
		}
	}
}

// keep makes ordinary requests on one connection, which stays open.
func (w *storm) keep(request, want string) {
	c := w.dial()
	if c == nil {
		return
	}
	defer c.Close()
	c.SetDeadline(w.end.Add(soon))
	for ; time.Now().Before(w.end); time.Sleep(2 * time.Millisecond) {
		if err := w.once(c, request, want); err != nil {
			w.t.Errorf("on a connection kept: %v", err)
			return
		}
	}
}

// come makes ordinary requests, each on a connection of its own.
func (w *storm) come(request, want string) {
	for ; time.Now().Before(w.end); time.Sleep(2 * time.Millisecond) {
		c := w.dial()
		if c == nil {
			return
		}
		err := w.once(c, request, want)
		c.Close()
		if err != nil {
			w.t.Errorf("on a connection of its own: %v", err)
			return
		}
	}
}

func (w *storm) once(c *client, request, want string) error {
	a, err := c.ask(request)
	if err != nil || a.Status != 200 || a.Body != want {
		return fmt.Errorf("got %+v %w, want 200 and %q", a, err, want)
	}
	w.answered.Add(1)
	return nil
}
