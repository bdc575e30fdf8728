package doctor

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"schedlab/internal/record"
)

// Lateness calls sleep n times with d, and returns how late each sleep ended, ascending. It returns
// early when ctx ends. A sleep that ends early counts as 0.
//
// The file's checks are about time that goes missing: sleeps that end late (timer), a busy thread
// off its CPU (pause), an idle server that does not reply (gap), and what the load engine adds
// (engine). Their inputs are measured by the caller.
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

// lateTimer is the limit on the 99th percentile of how late sleeps end.
const lateTimer = 300 * time.Microsecond

// timer warns if sleeps end late.
func (m *Machine) timer() seen {
	n := len(m.Lateness)
	if n == 0 {
		return seen{}
	}
	p50, p99 := m.Lateness[n/2], m.Lateness[n*99/100]
	return fine(timerLate, record.Values{"p50": p50.Seconds(), "p99": p99.Seconds()}, nil).graded(false, p99 > lateTimer)
}

// quickWindow is the window length of the protocol quick, the shortest that has to bear a pause.
const quickWindow = 500 * time.Millisecond

// pause judges how long a busy thread is taken off its CPU: by the hypervisor, by interrupts, or by
// other programs.
func (m *Machine) pause() seen {
	switch {
	case m.Pause == 0:
		return seen{}
	case m.Pause < 0:
		return untold(nil)
	}
	return m.paused(threadPaused, m.Pause, record.Values{})
}

// paused judges a pause of length d. A pause of more than a hundredth of a window determines the
// window's p99: requests that arrive during it are more than 1 % of all. A longer window is advised
// only if it is at least a tenth longer than the scenario's own; otherwise these do. If server and
// load take turns on a CPU, they may have caused the pause themselves, and the fix is to separate
// them. v holds further values for the sentence of code; paused adds to it, so it must not be nil.
func (m *Machine) paused(code record.Code, d time.Duration, v record.Values) seen {
	s := fine(code, v, record.Names{}, m.turns()...)
	v["longest"] = d.Seconds()
	if cpu, together := m.together(); together {
		s.fact.Names["cpu"] = strconv.Itoa(cpu)
	}
	needs, own := 100*d, cmp.Or(m.Window, quickWindow)
	short := 10*needs >= 11*own
	switch {
	case short:
		v["needs"] = needs.Seconds()
	case needs > quickWindow:
		v["own"], s.fact.Names["scenario"] = own.Seconds(), cmp.Or(m.Scenario, "quick")
	}
	return s.graded(false, short)
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
func (m *Machine) gap() seen {
	switch {
	case m.Gap.Err != nil:
		return untold(m.Gap.Err)
	case m.Gap.Longest == 0:
		return seen{}
	}
	return m.paused(replyGap, m.Gap.Longest, record.Values{"replies": float64(m.Gap.Replies), "span": m.Gap.Span.Seconds()})
}

// An Engine holds the time, in seconds, that the load engine adds to every response time. It is the
// response time of a server that replies at once and does nothing else.
type Engine struct {
	Rate float64 `json:"rate"` // offered rate, requests per second; 0: not measured
	P50  float64 `json:"p50"`  // from the scheduled time to the end of the reply
	P99  float64 `json:"p99"`
	Err  error   `json:"-"` // why it could not be measured
}

// Limits on the time that the engine may add. On a virtual machine, an engine that spins on a CPU by
// itself adds some 40 µs at p50 and 100 µs at p99. An engine that sleeps, or that waits for its CPU,
// adds several times as long.
const (
	slowEngineP50 = 150e-6 // seconds
	slowEngineP99 = 1e-3
)

// engine judges the time that the load engine adds.
func (m *Machine) engine() seen {
	e := m.Engine
	switch {
	case e.Err != nil:
		return untold(e.Err)
	case e.Rate == 0:
		return seen{}
	}
	return fine(engineAdds, record.Values{"p50": e.P50, "p99": e.P99, "rate": e.Rate}, nil, m.turns()...).
		graded(false, e.P50 > slowEngineP50 || e.P99 > slowEngineP99)
}
