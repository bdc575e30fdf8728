package arrivals

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"time"
)

// An Ask says which schedule to draw for an open loop. Equal asks give equal schedules.
type Ask struct {
	Process Process // a trace or a log is open
	Rate    float64 // mean, in requests per second; kinds of arrivals that have rates ignore it
	Span    time.Duration
	Seed    uint64
	// Demands draws the demands of n requests; nil: no demands. The demands of a trace take precedence.
	Demands func(n int) []Demand
	// Which draws the targets of n requests; nil: all targets in rotation. Those of a log take precedence.
	Which func(n int) []uint32
	// Streams allows a long schedule to be drawn while it is sent.
	Streams bool
}

// A Schedule holds the arrivals of an open loop and their demands. Times is nil, or the times of a schedule
// that is too long to keep; then Trace has no times, and its demands are used in turn.
type Schedule struct {
	Trace
	Times iter.Seq[time.Duration]
}

// Limits of a schedule, in requests.
const (
	// mostKept limits a load that keeps its requests to 3.3 GB of memory: a request takes about 165 bytes (a
	// request.Request, its stamps and its place in the schedule).
	mostKept = 20_000_000
	// MostStreamed limits a schedule that is drawn while it is sent. The load's log has int32 for an index.
	MostStreamed = math.MaxInt32

	streamedFrom    = 500_000 // requests from which on a schedule is drawn while it is sent
	streamedDemands = 1 << 20
)

// MeanRate returns the mean rate of the schedule, in requests per second.
func (a Ask) MeanRate() float64 { return a.Process.MeanRate(a.Rate, a.Span) }

// Schedule draws the schedule. It returns an error if the arrivals cannot be drawn at the rate, or are more than
// memory has room for. A schedule may be empty.
func (a Ask) Schedule() (s Schedule, err error) {
	if err := a.Process.Check(a.Rate); err != nil {
		return s, err
	}
	// Times and demands have separate generators, so that demands do not depend on the kind of arrivals.
	rng, expected, most := rand.New(rand.NewPCG(a.Seed, 1)), a.MeanRate()*a.Span.Seconds(), float64(mostKept)
	if a.Streams && expected > streamedFrom {
		s.Times, most = a.Process.Times(a.Rate, a.Span, rng), MostStreamed
	}
	// Checked before drawing, because the draw itself would fill the memory.
	if expected > most {
		return Schedule{}, fmt.Errorf("arrivals %s for %v is more than %.0f requests; shorten one", a.Process, a.Span, most)
	}
	demands := streamedDemands
	if s.Times == nil {
		s.Trace = a.Process.Draw(a.Rate, a.Span, rng)
		demands = len(s.At)
	}
	if s.Demand == nil && a.Demands != nil {
		s.Demand = a.Demands(demands)
	}
	if s.Which == nil && a.Which != nil {
		s.Which = a.Which(demands)
	}
	return s, nil
}
