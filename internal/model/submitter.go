package model

import (
	"log/slog"
	"time"

	"schedlab/internal/dispatch"
)

// stallTime is how long a wait for a place in the queue may last before it is logged.
const stallTime = time.Second

// A submitter hands jobs to a dispatcher, and logs a warning when the overflow policy is to
// block and a job waits long for a place in the queue. It is safe for concurrent use where
// the dispatcher's Put is.
type submitter[T any] struct {
	pool    dispatch.Dispatcher[T]
	what    string // what waits when the queue is full
	queues  int    // the number of queues that share the places
	blocks  bool   // the policy is to block
	log     *slog.Logger
	limiter warnLimiter
}

func newSubmitter[T any](cfg Config, pool dispatch.Dispatcher[T], what string) *submitter[T] {
	return &submitter[T]{pool: pool, what: what, queues: 1, blocks: cfg.Overflow == dispatch.Block, log: cfg.Log}
}

// submit queues job. A timer runs only while a queue may be full.
func (e *submitter[T]) submit(job T) {
	if !e.blocks || (e.pool.Depth()+1)*e.queues <= e.pool.Capacity() {
		e.pool.Put(job)
		return
	}
	stalled := time.AfterFunc(stallTime, e.warn)
	e.pool.Put(job)
	stalled.Stop()
}

func (e *submitter[T]) warn() {
	if e.limiter.allow() {
		e.log.Warn("the queue is full and "+e.what+" waits for a worker; raise --workers or --queue-depth, or refuse with --overflow reject",
			"for", stallTime, "workers", e.pool.Workers(), "queue_depth", e.pool.Capacity())
	}
}
