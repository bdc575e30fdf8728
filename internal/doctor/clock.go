package doctor

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"schedlab/internal/record"
)

// A Clock reads the time of day and a monotonic clock at one moment. Each is the time since a fixed
// origin; the two origins may differ. Tests give a Clock of their own.
//
// The file has two checks: clockSteps, of a time of day that jumps while WatchClock watches it, and
// clockSource, of a clock that is slow to read.
type Clock func() (wall, mono time.Duration)

// SystemClock returns the clock of this system. The clock is safe for concurrent use.
func SystemClock() Clock {
	start := time.Now()
	return func() (wall, mono time.Duration) {
		now := time.Now()
		return time.Duration(now.UnixNano() - start.UnixNano()), now.Sub(start)
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
	last := read(clock)
	first := last
	var s Steps
	look := func() {
		now := read(clock)
		// The monotonic clock does not step, so a change of the difference is the time of day's.
		// Looks more than a second apart may see as much more slewing.
		moved := (now.wall - now.mono) - (last.wall - last.mono)
		if abs := max(moved, -moved); float64(abs) > float64(stepLimit)*max(1, (now.mono-last.mono).Seconds()) {
			s.Count++
			if abs > max(s.Largest, -s.Largest) {
				s.Largest = moved
			}
		}
		last = now
	}
	go func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				look()
			case <-end:
				look()
				s.Watched = last.mono - first.mono
				result <- s
				return
			}
		}
	}()
	return func() Steps {
		close(end)
		return <-result
	}
}

// A moment is one reading of a Clock: two times, read one after the other.
type moment struct{ wall, mono time.Duration }

// read reads the clock several times and returns the reading with the median difference between the
// two clocks: the thread may be preempted between reading one and the other.
func read(clock Clock) moment {
	var all [5]moment
	for i := range all {
		all[i].wall, all[i].mono = clock()
	}
	slices.SortFunc(all[:], func(a, b moment) int { return cmp.Compare(a.wall-a.mono, b.wall-b.mono) })
	return all[len(all)/2]
}

// clockSteps warns if the time of day stepped while it was watched.
func (m *Machine) clockSteps() seen {
	c := m.Clock
	if c.Watched == 0 {
		return seen{}
	}
	s := fine(clockSteady, record.Values{"watched": c.Watched.Seconds()}, nil)
	if c.Count > 0 {
		s = fine(clockStepped, record.Values{"watched": c.Watched.Seconds(), "steps": float64(c.Count), "largest": c.Largest.Seconds()}, nil)
	}
	return s.graded(false, c.Count > 0)
}

// slowClocks are clock sources that need a system call, and up to microseconds, for each reading.
var slowClocks = []string{"hpet", "acpi_pm", "refined-jiffies", "jiffies", "xen", "pit"}

// clockSource warns of a slow clock source, and names a faster one that the machine has. Linux
// lists the sources in the order in which it prefers them, so the first that is not slow is named.
func (m *Machine) clockSource() seen {
	const dir = "sys/devices/system/clocksource/clocksource0/"
	source := m.text(dir + "current_clocksource")
	if source == "" {
		return untold(nil)
	}
	if !slices.Contains(slowClocks, source) {
		return fine(clockSource, nil, record.Names{"source": source})
	}
	s := fine(clockSlow, nil, record.Names{"source": source}).graded(false, true)
	for other := range strings.FieldsSeq(m.text(dir + "available_clocksource")) {
		if !slices.Contains(slowClocks, other) {
			s.fact.Names["faster"], s.fact.Names["file"] = other, "/"+dir+"current_clocksource"
			break
		}
	}
	return s
}
