package server

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"schedlab/internal/model"
	"schedlab/internal/timeline"
)

// Memory for a history is fixed: 600 readings of 48 bytes.
const (
	tick         = 100 * time.Millisecond // between two readings of the connection counters
	keptReadings = 600                    // one minute of readings
)

// A reading is a server's connection counters at one moment:
// Accepted == Done + Rejected + Dropped + Open.
//
// The measuring half fetches readings from /debug/connections. From two of them it computes how
// many connections came and went between two moments, without asking the server at those moments.
type reading struct {
	At       int64  `json:"at_ns"` // the machine's monotonic clock, nanoseconds
	Accepted uint64 `json:"accepted"`
	Done     uint64 `json:"done"`
	Rejected uint64 `json:"rejected"`
	Dropped  uint64 `json:"dropped"`
	Open     uint64 `json:"open"`
}

// A history keeps the newest readings. Its zero value is empty; it is safe for concurrent
// use. A reading costs a short lock of the counters ten times a second, and no allocation.
type history struct {
	mu    sync.Mutex
	ring  [keptReadings]reading
	taken int // number of readings so far
}

// take adds a reading. When the ring is full it replaces the oldest.
func (h *history) take(at int64, c model.Counts) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ring[h.taken%keptReadings] = reading{at, c.Accepted, c.Done, sum(c.Rejected[:]), sum(c.Dropped[:]), c.Open}
	h.taken++
}

// all returns the readings that are kept, oldest first.
func (h *history) all() []reading {
	h.mu.Lock()
	defer h.mu.Unlock()
	kept := make([]reading, min(h.taken, keptReadings))
	for i := range kept {
		kept[i] = h.ring[(h.taken-len(kept)+i)%keptReadings]
	}
	return kept
}

// record reads the counters at once and then at every tick, until ctx ends. The parent of a fleet
// has only the counts that its processes reported at their tick. So it reads half a tick later,
// and stamps the reading with the time of the tick.
func (h *history) record(ctx context.Context, counts func() model.Counts, fleet bool) {
	// Half a tick is enough for the reports of all processes to arrive, and half a tick before the
	// next ones.
	lag := time.Duration(0)
	if fleet {
		lag = tick / 2
	}
	read := func() { h.take(timeline.Now()-int64(lag), counts()) }
	read()
	everyTick(ctx, lag, read)
}

// everyTick calls f lag after every tick, until ctx ends. Ticks follow the machine's clock, so
// they come at the same time in all processes.
func everyTick(ctx context.Context, lag time.Duration, f func()) {
	// The timer is set again after each call, so a slow f leaves out ticks and never runs twice at
	// a time.
	timer := time.NewTimer(untilTick(lag))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			f()
			timer.Reset(untilTick(lag))
		}
	}
}

// untilTick returns the time until lag after a tick: the next one that is at least half a tick
// away. After a late call a nearer tick is left out, so that no rate is computed over a very
// short time.
func untilTick(lag time.Duration) time.Duration {
	// Rounding to the nearest tick and adding one gives a wait of half a tick to one and a half.
	past := time.Duration(timeline.Now()) - lag
	return past.Round(tick) + tick - past
}

// connections answers with the readings that are kept, oldest first, one line of JSON each.
func (s *Server) connections(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := json.NewEncoder(w)
	// all returned a copy, so a slow client holds no lock.
	for _, r := range s.history.all() {
		if out.Encode(r) != nil {
			return
		}
	}
}
