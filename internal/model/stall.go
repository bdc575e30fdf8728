package model

import (
	"log/slog"
	"time"

	"schedlab/internal/dispatch"
)

// stallTime is how long who puts a job waits for a place before it is said.
const stallTime = time.Second

// An entrance puts jobs with a dispatcher, and under the policy to block says so
// when that waits long for a place. It is safe for concurrent use where the
// dispatcher's Put is.
type entrance[T any] struct {
	pool  dispatch.Dispatcher[T]
	what  string // waits when the queue is full
	lanes int    // queues among which the places are divided
	waits bool   // the policy is to block
	log   *slog.Logger
	often seldom
}

func newEntrance[T any](cfg Config, pool dispatch.Dispatcher[T], what string) *entrance[T] {
	return &entrance[T]{pool: pool, what: what, lanes: 1, waits: cfg.Overflow == dispatch.Block, log: cfg.Log}
}

// put queues job. A timer runs only while a queue may be full.
func (e *entrance[T]) put(job T) {
	if !e.waits || (e.pool.Depth()+1)*e.lanes <= e.pool.Capacity() {
		e.pool.Put(job)
		return
	}
	stalled := time.AfterFunc(stallTime, e.warn)
	e.pool.Put(job)
	stalled.Stop()
}

func (e *entrance[T]) warn() {
	if e.often.now() {
		e.log.Warn("the queue is full and "+e.what+" waits for a worker; raise --workers or --queue-depth, or refuse with --overflow reject",
			"for", stallTime, "workers", e.pool.Workers(), "queue_depth", e.pool.Capacity())
	}
}
