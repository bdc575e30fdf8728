package model_test

import (
	"io"
	"sync"
	"testing"
	"time"

	"schedlab/internal/serving/dispatch"
	"schedlab/internal/serving/model"
)

// In every mode with a queue it can be seen how long the oldest waits, and how many
// gave up: connections where connections wait, requests where requests do, each
// once, and none of those that were served while they waited.
func TestClientsThatGiveUp(t *testing.T) {
	for name, giveUp := range map[string]func(*client){
		"close": func(c *client) { c.Close() },
		"reset": (*client).reset,
	} {
		t.Run(name, func(t *testing.T) {
			eachMode(t, func(t *testing.T, mode model.Mode) {
				if !mode.Has("workers") {
					t.Skip("no queue")
				}
				s, g, waiting := full(t, mode.Name, 1, 2, dispatch.Reject)
				eventually(t, "the oldest has waited", func() bool { return s.ln.OldestWait() > 30*time.Millisecond })
				if c, r := s.ln.Counts(), s.model.Requests(); c.GaveUp+r.GaveUp != 0 {
					t.Errorf("while all wait: got %d connections and %d requests that gave up, want none", c.GaveUp, r.GaveUp)
				}
				giveUp(waiting[1])
				g.open()
				for _, c := range []*client{waiting[0], waiting[2]} {
					if a, err := c.read("GET"); err != nil || a.Status != 200 {
						t.Errorf("got %d %v, want 200 for who stayed", a.Status, err)
					}
					c.Close()
				}
				s.open(0)
				if got := s.ln.OldestWait(); got != 0 {
					t.Errorf("got an oldest wait of %v with an empty queue, want 0", got)
				}
				connections, requests := uint64(1), uint64(0)
				if mode.Axes.Unit == "request" {
					connections, requests = 0, 1
				}
				c, r := s.ln.Counts(), s.model.Requests()
				if c.GaveUp != connections || r.GaveUp != requests || c.Done != 3 {
					t.Errorf("got %+v and %d requests that gave up, want %d connections and %d requests, and 3 done",
						c, r.GaveUp, connections, requests)
				}
			})
		})
	}
}

// A refusal ends the wait, and who is refused has not given up.
func TestRefusedDoNotWait(t *testing.T) {
	for name, depth := range map[string]int{"pool": 1, "pool-requeue": 1, "pool-request": 1, "semaphore": 0, "loop-offload": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, g, waiting := full(t, name, 1, depth, dispatch.Reject, func(with *setup) { with.Wait = 0 })
			refused := s.dial() // and stays, where its connection does
			a, err := refused.ask(get("/work"))
			refusedPolitely(t, a, err)
			g.open()
			for _, c := range waiting {
				if a, err := c.read("GET"); err != nil || a.Status != 200 {
					t.Errorf("got %d %v, want 200", a.Status, err)
				}
				c.Close()
			}
			if got := s.ln.OldestWait(); got != 0 {
				t.Errorf("got an oldest wait of %v after the refusal, want 0", got)
			}
			refused.Close()
			s.open(0)
			if c, r := s.ln.Counts(), s.model.Requests(); c.GaveUp+r.GaveUp != 0 {
				t.Errorf("got %d connections and %d requests that gave up, want none", c.GaveUp, r.GaveUp)
			}
		})
	}
}

// Clients that come and go at random moments are counted once, whatever they do;
// the subject compares in every reading.
func TestGivingUpUnderChurn(t *testing.T) {
	eachMode(t, func(t *testing.T, mode model.Mode) {
		if !mode.Has("workers") {
			t.Skip("no queue")
		}
		s := start(t, mode, func(with *setup) { with.Workers = 1 })
		var scrapes sync.WaitGroup
		done := make(chan struct{})
		scrapes.Go(func() {
			for {
				select {
				case <-done:
					return
				case <-time.After(50 * time.Microsecond): // thousands of readings, which without a pause would take the CPUs from other tests
					if got := s.ln.OldestWait(); got < 0 {
						t.Errorf("got an oldest wait of %v", got)
						return
					}
				}
			}
		})
		crowd(12, 10, func() {
			c, err := s.tryDial()
			if err != nil {
				t.Error(err)
				return
			}
			defer c.reset()
			io.WriteString(c, get("/work?sleep=2ms"))
			c.SetReadDeadline(time.Now().Add(15 * time.Millisecond))
			_, _ = c.read("GET") // it may take longer than the client likes
		})
		eventually(t, "all connects are accepted", func() bool { return s.ln.Counts().Accepted == s.dialled.Load() })
		s.open(0)
		close(done)
		scrapes.Wait()
		if got := s.ln.OldestWait(); got != 0 {
			t.Errorf("got an oldest wait of %v with an empty queue, want 0", got)
		}
	})
}
