package doctor

import (
	"strconv"
	"strings"
	"time"
)

// An Engine is what the load engine adds to every response time by itself: its response
// times against a server that replies at once and does nothing else.
type Engine struct {
	Rate     float64       // requests per second that were offered; 0: not measured
	P50, P99 time.Duration // from the scheduled time to the end of the reply
	Err      error         // why it could not be measured
}

// EngineTime is an Engine as JSON. Times are seconds.
type EngineTime struct {
	Rate float64 `json:"rate"` // requests per second
	P50  float64 `json:"p50"`
	P99  float64 `json:"p99"`
}

// Limits on what the engine may add. A thread of its own that never sleeps adds some 40 µs
// at p50 and 100 µs at p99 on a virtual machine; one that sleeps, or waits for its CPU,
// adds several times that.
const (
	slowEngineP50 = 150 * time.Microsecond
	slowEngineP99 = time.Millisecond
)

func (m *Machine) engine() seen {
	e := m.Engine
	switch {
	case e.Err != nil:
		return unknown("%v", e.Err)
	case e.Rate == 0:
		return seen{}
	}
	s := fine("the load engine adds %v at p50 and %v at p99 (null server, %s/s)", rounded2(e.P50), rounded2(e.P99), grouped(e.Rate))
	fix := "give the load a CPU that nothing else runs on (--load-cpus, and see the checks of other programs and steal)"
	if _, together := m.together(); together {
		fix = m.cpus().fix
	}
	return s.graded(false, e.P50 > slowEngineP50 || e.P99 > slowEngineP99, fix)
}

// time is nil when the engine was not measured.
func (e Engine) time() *EngineTime {
	if e.Err != nil || e.Rate == 0 {
		return nil
	}
	return &EngineTime{e.Rate, e.P50.Seconds(), e.P99.Seconds()}
}

// rounded2 keeps two digits, which is what differs from run to run.
func rounded2(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d/unit >= 100 {
		unit *= 10
	}
	return d.Round(unit)
}

// grouped writes a number in groups of three digits.
func grouped(n float64) string {
	digits := strconv.FormatFloat(n, 'f', 0, 64)
	var groups []string
	for len(digits) > 3 {
		groups = append([]string{digits[len(digits)-3:]}, groups...)
		digits = digits[:len(digits)-3]
	}
	return strings.Join(append([]string{digits}, groups...), ",")
}
