package model_test

import (
	"sync"
	"testing"
	"time"
)

// A null is what a goroutine that only sleeps saw meanwhile: it has nothing to do
// with the server, so what it was late by is the machine's doing.
type null struct{ late []time.Duration }

const (
	nullSleep = 2 * time.Millisecond
	usual     = 5 * time.Millisecond   // 99 % of the wake-ups of a machine that holds still are not later
	longest   = 100 * time.Millisecond // and none is
)

// watch starts a null; over ends it.
func watch() (over func() null) {
	var n null
	var watching sync.WaitGroup
	stop := make(chan struct{})
	watching.Go(func() {
		for {
			began := time.Now()
			select {
			case <-stop:
				return
			case <-time.After(nullSleep):
				n.late = append(n.late, time.Since(began)-nullSleep)
			}
		}
	})
	return func() null {
		close(stop)
		watching.Wait()
		return n
	}
}

// still reports whether times measured meanwhile are the server's.
func (n null) still() bool { return quantile(n.late, 0.99) <= usual && quantile(n.late, 1) <= longest }

// trials is how often a measurement may be repeated.
const trials = 3

// judged repeats a measurement until it is as it must be, and fails the test
// with what was wrong if it never is. When the machine stood still in none of
// the trials there is nothing to judge, and the test says so and is skipped.
func judged(t *testing.T, measure func() (wrong string)) {
	t.Helper()
	still := false
	var wrong string
	for range trials {
		over := watch()
		wrong = measure()
		n := over()
		if wrong == "" {
			return
		}
		t.Logf("%s; a sleeper was late by %v in 99 %% and by %v at most", wrong, quantile(n.late, 0.99), quantile(n.late, 1))
		still = still || n.still()
	}
	if !still {
		t.Skipf("NOT JUDGED: in %d trials the machine was never idle enough to time a server on; the last: %s", trials, wrong)
	}
	t.Error(wrong)
}
