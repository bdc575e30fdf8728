package model_test

import (
	"os"
	"sync"
	"testing"
	"time"
)

// A lateness is how late a goroutine woke up that only slept while a test measured something.
// It does not depend on the server, so it shows what the machine itself delays.
type lateness struct{ late []time.Duration }

const (
	watchSleep = 2 * time.Millisecond
	usual      = 5 * time.Millisecond   // on an idle machine 99 % of the wake-ups are not later
	longest    = 100 * time.Millisecond // and none is
)

// watchMachine begins to measure lateness; over ends it.
func watchMachine() (over func() lateness) {
	var n lateness
	var watching sync.WaitGroup
	stop := make(chan struct{})
	watching.Go(func() {
		for {
			began := time.Now()
			select {
			case <-stop:
				return
			case <-time.After(watchSleep):
				n.late = append(n.late, time.Since(began)-watchSleep)
			}
		}
	})
	return func() lateness {
		close(stop)
		watching.Wait()
		return n
	}
}

// machineIdle reports whether times measured meanwhile can be blamed on the server.
func (n lateness) machineIdle() bool {
	return quantile(n.late, 0.99) <= usual && quantile(n.late, 1) <= longest
}

// trials is how often a measurement may be repeated.
const trials = 3

// timed, in the environment, asks that times be judged: make timed sets it. Without it they are
// logged, for the machine is busy with other packages' tests, or runs the race detector.
const timed = "SCHEDLAB_TIMED"

// judged repeats a measurement of times until it finds nothing wrong, and fails the test if it
// never does. If the machine was idle in none of the trials, the test is skipped instead, and
// says so. What is wrong whatever the time is not for it: measure fails the test itself.
func judged(t *testing.T, measure func() (wrong string)) {
	t.Helper()
	if os.Getenv(timed) == "" {
		t.Logf("NOT JUDGED without %s=1: %q", timed, measure())
		return
	}
	idle := false
	var wrong string
	for range trials {
		over := watchMachine()
		wrong = measure()
		n := over()
		if wrong == "" {
			return
		}
		t.Logf("%s; a sleeper was late by %v in 99 %% and by %v at most", wrong, quantile(n.late, 0.99), quantile(n.late, 1))
		idle = idle || n.machineIdle()
	}
	if !idle {
		t.Skipf("NOT JUDGED: in %d trials the machine was never idle enough to time a server on; the last: %s", trials, wrong)
	}
	t.Error(wrong)
}
