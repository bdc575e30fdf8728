package host

import (
	"runtime"
	"slices"
	"time"

	"schedlab/internal/record"
)

// The platform's pauses are looked for so often and so long each time.
const (
	pauseRounds = 3
	pauseRound  = 200 * time.Millisecond
)

// Pause is how long the platform takes a busy thread off its CPU: the
// middle one of the longest pauses of several rounds, so that a single event
// does not count, on the first CPU of each side. Negative where threads cannot be
// bound.
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

// longestPause reads the clock without rest on a CPU of each side.
func longestPause(cpus Sides, span time.Duration) time.Duration {
	results := make(chan time.Duration, 2)
	watch := func(set record.CPUs) {
		runtime.LockOSThread() // never unlocked: the thread ends, and its affinity with it
		if len(set) == 0 || BindThread(set[:1]) != nil {
			results <- -1
			return
		}
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
