package doctor

import (
	"time"

	"schedlab/internal/record"
)

// An Engine holds the time that the load engine adds to every response time. It is the response time
// of a server that replies at once and does nothing else.
type Engine struct {
	Rate     float64       // offered rate, requests per second; 0: not measured
	P50, P99 time.Duration // from the scheduled time to the end of the reply
	Err      error         // why it could not be measured
}

// EngineTime is the JSON form of an Engine. Times are in seconds.
type EngineTime struct {
	Rate float64 `json:"rate"` // requests per second
	P50  float64 `json:"p50"`
	P99  float64 `json:"p99"`
}

// Limits on the time that the engine may add. On a virtual machine, an engine that spins on a CPU by
// itself adds some 40 µs at p50 and 100 µs at p99. An engine that sleeps, or that waits for its CPU,
// adds several times as long.
const (
	slowEngineP50 = 150 * time.Microsecond
	slowEngineP99 = time.Millisecond
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
	return fine(engineAdds, record.Values{"p50": e.P50.Seconds(), "p99": e.P99.Seconds(), "rate": e.Rate}, nil, m.turns()...).
		graded(false, e.P50 > slowEngineP50 || e.P99 > slowEngineP99)
}

// time returns the JSON form, nil when the engine was not measured.
func (e Engine) time() *EngineTime {
	if e.Err != nil || e.Rate == 0 {
		return nil
	}
	return &EngineTime{e.Rate, e.P50.Seconds(), e.P99.Seconds()}
}
