package model_test

import (
	"fmt"
	"os"
	"testing"
)

// A worker or connection with a thread of its own costs that thread, and a switch of threads
// for each request that it waits for, which free goroutines do without.
func TestLockedWorkersCost(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ free, locked string }{{"pool", "threadpool"}, {"goroutine", "threads"}} {
		t.Run(tc.locked, func(t *testing.T) {
			var free, locked cost
			for range 3 { // on a busy machine free goroutines switch threads as well, which hides the difference
				free, locked = alternate(t, tc.free), alternate(t, tc.locked)
				t.Logf("%s: %v; %s: %v", tc.free, free, tc.locked, locked)
				if locked.switches >= dearer*free.switches {
					break
				}
			}
			if locked.threads < alternating || free.threads >= locked.threads {
				t.Errorf("got %d threads of %s and %d of %s, want one for each of %d connections, and fewer", locked.threads, tc.locked, free.threads, tc.free, alternating)
			}
			if locked.switches < dearer*free.switches {
				t.Errorf("got %.2f context switches a request of %s and %.2f of %s, want half as many again at least", locked.switches, tc.locked, free.switches, tc.free)
			}
		})
	}
}

// dearer is how many more switches a locked worker makes, at least.
const dearer = 1.5

// A cost is what serving took.
type cost struct {
	threads  int
	switches float64 // voluntary, for each request
}

func (l cost) String() string {
	return fmt.Sprintf("%d threads, %.2f context switches a request", l.threads, l.switches)
}

// alternating is how many clients alternate: one for each worker.
const alternating = 8

// alternate makes requests on kept connections in turn, so that each one wakes a goroutine that
// waits.
func alternate(t *testing.T, mode string) cost {
	const rounds = 250
	a := startProcess(t, mode, 0)
	var clients []*client
	for range alternating {
		c, err := connect(a.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		clients = append(clients, c)
	}
	round := func() {
		for _, c := range clients {
			if answer, err := c.ask(get("/plaintext")); err != nil || answer.Status != 200 {
				t.Fatalf("%s: got %d %v, want 200", mode, answer.Status, err)
			}
		}
	}
	round()
	before := a.usage(t)
	for range rounds {
		round()
	}
	switches := a.usage(t).Switches - before.Switches
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", a.pid))
	if err != nil {
		t.Fatal(err)
	}
	return cost{len(tasks), float64(switches) / (rounds * alternating)}
}
