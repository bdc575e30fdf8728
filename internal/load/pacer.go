package load

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"schedlab/internal/arrivals"
	"schedlab/internal/timeline"
)

// maxInFlight bounds the requests in flight: each is a goroutine, and a server that
// answers nothing must not exhaust the generator's memory.
const maxInFlight = arrivals.MaxBurst

// A pacer is the schedule as a vegeta.Pacer. vegeta calls Pace once per hit, in
// order and from one goroutine, so the pacer itself sleeps until the arrival and
// always answers 0: vegeta's own pause is time.Sleep, which an idle Go process
// ends up to a millisecond late.
type pacer struct {
	ctx     context.Context
	at      []time.Duration
	sleep   func(time.Duration)
	start   time.Time       // of the attack, set by the first Pace
	zero    int64           // the same on the timeline's clock
	started func(time.Time) // called with start; nil: not called
	ended   atomic.Uint64   // requests that have an outcome
	limit   uint64          // of requests in flight
	err     error           // why the schedule was given up; read after the attack
}

// longestSleep bounds how late a cancelled attack is noticed.
const longestSleep = 100 * time.Millisecond

// Pace implements vegeta.Pacer. It returns when hit number hits is due.
func (p *pacer) Pace(_ time.Duration, hits uint64) (wait time.Duration, stop bool) {
	if hits == 0 {
		p.start = time.Now()
		p.zero = timeline.At(p.start)
		if p.started != nil {
			p.started(p.start)
		}
	}
	if hits >= uint64(len(p.at)) {
		return 0, true
	}
	for due := p.at[hits]; ; {
		if p.err = p.ctx.Err(); p.err != nil {
			return 0, true
		}
		early := due - time.Since(p.start)
		if early <= 0 {
			break
		}
		p.sleep(min(early, longestSleep))
	}
	if flight := hits - p.ended.Load(); flight >= p.limit {
		p.err = fmt.Errorf("attacking: %d requests in flight after %v, the most this generator holds; lower the rate, or the timeout", flight, time.Since(p.start).Round(time.Millisecond))
		return 0, true
	}
	return 0, false
}

// Rate implements vegeta.Pacer: the schedule's mean rate, hits per second.
func (p *pacer) Rate(time.Duration) float64 {
	if len(p.at) < 2 || p.at[len(p.at)-1] == 0 {
		return 0
	}
	return float64(len(p.at)-1) / p.at[len(p.at)-1].Seconds()
}
