package doctor

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Lateness sleeps n times for d by a given sleeper, and returns how much later
// than that each sleep ended, ascending. It ends early with ctx.
func Lateness(ctx context.Context, sleep func(time.Duration), n int, d time.Duration) (late []time.Duration) {
	for range n {
		if ctx.Err() != nil {
			break
		}
		due := time.Now().Add(d)
		sleep(d)
		late = append(late, max(0, time.Since(due)))
	}
	slices.Sort(late)
	return late
}

// lateTimer is how late a hundredth of sleeps may end.
const lateTimer = 300 * time.Microsecond

func (m *Machine) timer() seen {
	n := len(m.Lateness)
	if n == 0 {
		return seen{}
	}
	p50, p99 := m.Lateness[n/2], m.Lateness[n*99/100]
	return fine("a hundredth of sleeps end %v late or more, half of them %v", rounded(p99), rounded(p50)).
		graded(false, p99 > lateTimer, "give the load CPUs that nothing else runs on (--load-cpus, and see the check of other programs)")
}

// quickWindow is the window of quick comparisons.
const quickWindow = 500 * time.Millisecond

func (m *Machine) pause() seen {
	switch {
	case m.Pause == 0:
		return seen{}
	case m.Pause < 0:
		return unknown("threads cannot be bound to CPUs here, so pauses are not measured")
	}
	return m.paused(fmt.Sprintf("a busy thread is off its CPU for up to %v", rounded(m.Pause)), m.Pause)
}

// paused judges a pause by the windows whose p99 it is: those of which it takes more than
// a hundredth. One that server and load may have made themselves is theirs first.
func (m *Machine) paused(found string, d time.Duration) seen {
	cpu, together := m.together()
	if together {
		found += fmt.Sprintf(", where server and load take turns on CPU %d", cpu)
	}
	if d <= quickWindow/100 {
		return fine("%s", found)
	}
	needs := (100 * d).Round(10 * time.Millisecond)
	s := seen{Warn, fmt.Sprintf("%s: the p99 of any window shorter than %v that it falls into", found, needs),
		"keep other programs off these CPUs (isolcpus=, a cpuset, a dedicated machine), or compare --window " + needs.String()}
	if together {
		s.fix = m.cpus().fix
	}
	return s
}

// A Gap is the longest time in which a server that has next to nothing to do gave
// no reply to a client that always asks.
type Gap struct {
	Longest time.Duration // 0: not measured
	Replies int
	Span    time.Duration
	Err     error // why it could not be measured
}

func (m *Machine) gap() seen {
	switch {
	case m.Gap.Err != nil:
		return unknown("%v", m.Gap.Err)
	case m.Gap.Longest == 0:
		return seen{}
	}
	return m.paused(fmt.Sprintf("the longest gap between two of %d replies in %v is %v", m.Gap.Replies, m.Gap.Span, rounded(m.Gap.Longest)), m.Gap.Longest)
}

// rounded keeps three digits or so.
func rounded(d time.Duration) time.Duration {
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond)
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond)
	}
	return d.Round(100 * time.Nanosecond)
}
