package host

import (
	"runtime"
	"slices"
	"time"

	"schedlab/internal/record"
)

// Pause measures pauseRounds rounds of length pauseRound.
const (
	pauseRounds = 3
	pauseRound  = 200 * time.Millisecond
)

// Pause returns how long the platform takes a busy thread off its CPU. It keeps the first CPU of each
// side busy in several rounds, and returns the median of the rounds' longest pauses, so that a
// single event does not count. It returns a negative value where threads cannot be bound to CPUs.
// It takes as long as all rounds together, 0.6 s.
func Pause(cpus Sides) time.Duration {
	var rounds []time.Duration
	for range pauseRounds {
		d := longestPause(cpus, pauseRound)
		if d < 0 {
			return -1
		}
		rounds = append(rounds, d)
	}
	slices.Sort(rounds)
	return rounds[pauseRounds/2]
}

// longestPause reads the clock in a loop for span, on one CPU of each side, and returns the longest
// time between two readings.
func longestPause(cpus Sides, span time.Duration) time.Duration {
	results := make(chan time.Duration, 2)
	watch := func(set record.CPUs) {
		runtime.LockOSThread() // never unlocked: the thread, with its changed affinity, ends with the goroutine
		if len(set) == 0 || BindThread(set[:1]) != nil {
			results <- -1
			return
		}
		// Reading the clock takes tens of nanoseconds. A much longer step is a pause.
		longest, last := time.Duration(0), time.Now()
		for end := last.Add(span); last.Before(end); {
			now := time.Now()
			longest = max(longest, now.Sub(last))
			last = now
		}
		results <- longest
	}
	go watch(cpus.Server)
	go watch(cpus.Load)
	a, b := <-results, <-results
	if min(a, b) < 0 {
		return -1
	}
	return max(a, b)
}
