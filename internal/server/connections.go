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

const (
	tick         = 100 * time.Millisecond // between two readings of the connection counters
	keptReadings = 600                    // a minute of them
)

// A reading is a server's connection counters at one moment:
// Accepted == Done + Rejected + Dropped + Open.
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
	taken int // ever
}

func (h *history) take(at int64, c model.Counts) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ring[h.taken%keptReadings] = reading{at, c.Accepted, c.Done, sum(c.Rejected[:]), sum(c.Dropped[:]), c.Open}
	h.taken++
}

// all are the readings kept, oldest first.
func (h *history) all() []reading {
	h.mu.Lock()
	defer h.mu.Unlock()
	kept := make([]reading, min(h.taken, keptReadings))
	for i := range kept {
		kept[i] = h.ring[(h.taken-len(kept)+i)%keptReadings]
	}
	return kept
}

// record reads the counters at once and at every tick until ctx ends. The parent of a fleet knows what
// its processes told at their tick: it reads half a tick later, and takes the tick's time.
func (h *history) record(ctx context.Context, counts func() model.Counts, fleet bool) {
	lag := time.Duration(0)
	if fleet {
		lag = tick / 2
	}
	read := func() { h.take(timeline.Now()-int64(lag), counts()) }
	read()
	everyTick(ctx, lag, read)
}

// everyTick calls f lag after every tick, until ctx ends. Ticks are those of the machine's
// clock, so all processes have the same.
func everyTick(ctx context.Context, lag time.Duration, f func()) {
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

// untilTick is the time until lag after a tick. It is half a tick at the least: after a late
// call the next is left out if it is nearer, so that no rate is taken of a very short time.
func untilTick(lag time.Duration) time.Duration {
	past := time.Duration(timeline.Now()) - lag
	return past.Round(tick) + tick - past
}

// connections answers with the readings kept, oldest first, a line of JSON each.
func (s *Server) connections(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := json.NewEncoder(w)
	for _, r := range s.history.all() {
		if out.Encode(r) != nil {
			return
		}
	}
}
