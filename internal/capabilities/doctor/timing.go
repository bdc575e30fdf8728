package doctor

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"schedlab/internal/shared/fact"
)

// Lateness calls sleep n times with d, and returns how late each sleep ended, ascending. It returns
// early when ctx ends. A sleep that ends early counts as 0.
//
// The file's checks are about time that goes missing: sleeps that end late (timer), a busy thread
// off its CPU (pause), an idle server that does not reply (gap), and what the load engine adds
// (engine). Their inputs are measured by the caller. The checks at the end are about clocks.
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

// timer warns if a hundredth of the sleeps end late.
func (m *Machine) timer() Finding {
	n := len(m.Lateness)
	if n == 0 {
		return Finding{}
	}
	p50, p99 := m.Lateness[n/2], m.Lateness[n*99/100]
	return fine(timerLate.Of(sleepsLate{P50: p50, P99: p99})).graded(false, p99 > 300*time.Microsecond)
}

// quickWindow is the window length of a quick comparison, the shortest that has to bear a pause.
const quickWindow = 500 * time.Millisecond

// pause judges how long a busy thread is taken off its CPU: by the hypervisor, by interrupts, or by
// other programs.
func (m *Machine) pause() Finding {
	switch {
	case m.Pause == 0:
		return Finding{}
	case m.Pause < 0:
		return untold(nil)
	}
	v, mend, short := m.paused(m.Pause)
	return fine(threadPaused.Of(v), mend...).graded(false, short)
}

// paused judges a pause of length d. A pause of more than a hundredth of a window determines the
// window's p99: requests that arrive during it are more than 1 % of all. A longer window is advised
// only if it is at least a tenth longer than the scenario's own; otherwise these do. If server and
// load take turns on a CPU, they may have caused the pause themselves. The fix is then to separate
// them, and mend has the fact of the check "cpus". short tells whether windows are too short for it.
func (m *Machine) paused(d time.Duration) (v pauses, mend []fact.Fact, short bool) {
	v.CPU, mend = m.turns()
	v.Longest = d
	needs, own := 100*d, cmp.Or(m.Window, quickWindow)
	short = 10*needs >= 11*own
	switch {
	case short:
		v.Needs = needs
	case needs > quickWindow:
		v.Own, v.Scenario = own, cmp.Or(m.Scenario, "quick")
	}
	return v, mend, short
}

// A Gap is the longest time without a reply of an almost idle server to a client that sends its
// next request at once. Such a server has nothing to do but to reply, so a gap is the machine's.
type Gap struct {
	Longest time.Duration // 0: not measured
	Replies int           // number of replies in Span
	Span    time.Duration // duration of the measurement
	Err     error         // why it could not be measured
}

// gap judges the longest time without a reply.
func (m *Machine) gap() Finding {
	switch {
	case m.Gap.Err != nil:
		return untold(m.Gap.Err)
	case m.Gap.Longest == 0:
		return Finding{}
	}
	v, mend, short := m.paused(m.Gap.Longest)
	return fine(replyGap.Of(gaps{v, m.Gap.Replies, m.Gap.Span}), mend...).graded(false, short)
}

// An Engine holds the time, in seconds, that the load engine adds to every response time. It is the
// response time of a server that replies at once and does nothing else.
type Engine struct {
	Rate float64 `json:"rate"` // offered rate, requests per second; 0: not measured
	P50  float64 `json:"p50"`  // from the scheduled time to the end of the reply
	P99  float64 `json:"p99"`
	Err  error   `json:"-"` // why it could not be measured
}

// engine judges the time that the load engine adds.
func (m *Machine) engine() Finding {
	e := m.Engine
	switch {
	case e.Err != nil:
		return untold(e.Err)
	case e.Rate == 0:
		return Finding{}
	}
	_, mend := m.turns()
	// On a virtual machine, an engine that spins alone on a CPU adds some 40 µs at p50 and 100 µs at p99.
	// An engine that sleeps, or that waits for its CPU, adds several times as long.
	return fine(engineAdds.Of(engineTimes{P50: e.P50, P99: e.P99, Rate: e.Rate}), mend...).
		graded(false, e.P50 > 150e-6 || e.P99 > 1e-3)
}

// A Clock returns by how much the time of day is ahead of a monotonic clock. The two clocks have different
// origins, so only changes of the result mean something. Tests replace it.
//
// Two checks are about clocks: clockSteps finds jumps of the time of day while WatchClock watches it, and
// clockSource finds a clock that is slow to read.
type Clock func() time.Duration

// SystemClock returns the clock of this system. The clock is safe for concurrent use.
func SystemClock() Clock {
	start := time.Now()
	return func() time.Duration {
		// The thread may be preempted between reading one clock and the other, so the median counts.
		var ahead [5]time.Duration
		for i := range ahead {
			now := time.Now()
			ahead[i] = time.Duration(now.UnixNano()-start.UnixNano()) - now.Sub(start)
		}
		slices.Sort(ahead[:])
		return ahead[len(ahead)/2]
	}
}

// Steps are the steps of the time of day relative to the monotonic clock. A step is a change of
// their difference between two looks.
type Steps struct {
	Watched time.Duration // how long the clock was watched; 0: not at all
	Largest time.Duration // the largest step beyond stepLimit, negative if backwards; 0 for none
	Count   int           // number of steps beyond stepLimit
}

// stepLimit is how far the time of day may move within a second, or a shorter time. NTP slews by at
// most half of that (adjtimex(2): 500 ppm).
const stepLimit = time.Millisecond

// WatchClock reads the clock at once, then at intervals of every, and last when stop is called.
// stop ends the watch and returns the steps seen; call it once. The watch is a goroutine that ends
// with stop.
func WatchClock(clock Clock, every time.Duration) (stop func() Steps) {
	end, result := make(chan struct{}), make(chan Steps)
	began, ahead := time.Now(), clock()
	go func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		var s Steps
		for ended := false; !ended; {
			select {
			case <-tick.C:
			case <-end:
				ended = true
			}
			before, watched := ahead, s.Watched
			ahead, s.Watched = clock(), time.Since(began)
			moved := ahead - before
			// Looks more than a second apart may see as much more slewing.
			if abs := max(moved, -moved); float64(abs) > float64(stepLimit)*max(1, (s.Watched-watched).Seconds()) {
				s.Count++
				if abs > max(s.Largest, -s.Largest) {
					s.Largest = moved
				}
			}
		}
		result <- s
	}()
	return func() Steps {
		close(end)
		return <-result
	}
}

// clockSteps warns if the time of day stepped while it was watched.
func (m *Machine) clockSteps() Finding {
	c := m.Clock
	if c.Watched == 0 {
		return Finding{}
	}
	if c.Count == 0 {
		return fine(clockSteady.Of(clockWatched{Watched: c.Watched}))
	}
	return fine(clockStepped.Of(clockMoved{clockWatched{Watched: c.Watched}, c.Count, c.Largest})).
		graded(false, true)
}

// slowClocks are clock sources that need a system call, and up to microseconds, for each reading.
var slowClocks = []string{"hpet", "acpi_pm", "refined-jiffies", "jiffies", "xen", "pit"}

// clockSource warns of a slow clock source, and names a faster one that the machine has. Linux
// lists the sources in the order in which it prefers them, so the first that is not slow is named.
func (m *Machine) clockSource() Finding {
	const dir = "sys/devices/system/clocksource/clocksource0/"
	source := m.text(dir + "current_clocksource")
	if source == "" {
		return untold(nil)
	}
	if !slices.Contains(slowClocks, source) {
		return fine(clockSource.Of(clockNamed{Source: source}))
	}
	v := clockNamed{Source: source}
	for other := range strings.FieldsSeq(m.text(dir + "available_clocksource")) {
		if !slices.Contains(slowClocks, other) {
			v.Faster, v.File = other, "/"+dir+"current_clocksource"
			break
		}
	}
	return fine(clockSlow.Of(v)).graded(false, true)
}
