package dispatch

import (
	"context"
	"sync/atomic"

	"github.com/panjf2000/ants/v2"
)

// ReleaseDefault ends the pool that ants starts by being imported: two goroutines
// that wake twice a second, whatever the program does. A program calls it before
// anything it measures; calling it again does nothing.
func ReleaseDefault() { ants.Release() }

// antsPool is panjf2000/ants: a stack of idle workers and no queue of jobs.
// What waits are the submitters themselves, on a condition variable, even under
// the policy to reject; then Depth of them may.
type antsPool[T any] struct {
	*crew[T]
	pool atomic.Pointer[ants.PoolWithFuncGeneric[queued[T]]] // nil before Start
}

func newAnts[T any](o Options[T]) *antsPool[T] { return &antsPool[T]{crew: newCrew(o)} }

func (a *antsPool[T]) Start() {
	options := []ants.Option{ants.WithDisablePurge(true)} // as fixed as our own workers
	if a.Overflow != Block {
		options = append(options, ants.WithNonblocking(a.Options.Depth == 0), ants.WithMaxBlockingTasks(a.Options.Depth))
	}
	pool, err := ants.NewPoolWithFuncGeneric(a.Options.Workers, a.do, options...)
	if err != nil {
		panic(err) // the options are wrong: a bug here
	}
	a.pool.Store(pool)
}

func (a *antsPool[T]) Put(job T) {
	if a.pool.Load().Invoke(a.stamp(job)) != nil {
		a.Refuse(job, Full)
	}
}

func (a *antsPool[T]) Close() {
	if err := a.pool.Load().ReleaseContext(context.Background()); err != nil {
		panic(err) // closed twice: a bug in the caller
	}
}

// Depth is the number of submitters waiting.
func (a *antsPool[T]) Depth() int {
	if pool := a.pool.Load(); pool != nil {
		return pool.Waiting()
	}
	return 0
}

func (a *antsPool[T]) Capacity() int { return a.Options.Depth }
