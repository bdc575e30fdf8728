package dispatch

import "github.com/alitto/pond/v2"

// pondPool is alitto/pond: a bounded queue under a lock, and workers that end
// when it is empty. A job travels as a closure.
type pondPool[T any] struct {
	*crew[T]
	pool pond.Pool
}

func newPond[T any](o Options[T]) *pondPool[T] {
	return &pondPool[T]{newCrew(o), pond.NewPool(o.Workers,
		pond.WithQueueSize(o.Depth), // to it 0 is no bound
		pond.WithNonBlocking(o.Overflow != Block))}
}

// Start does nothing: a worker starts with a job.
func (p *pondPool[T]) Start() {}

func (p *pondPool[T]) Put(job T) {
	j := p.stamp(job)
	if p.pool.Go(func() { p.do(j) }) != nil {
		p.Refuse(job, Full)
	}
}

func (p *pondPool[T]) Close()        { p.pool.StopAndWait() }
func (p *pondPool[T]) Depth() int    { return int(p.pool.WaitingTasks()) }
func (p *pondPool[T]) Capacity() int { return p.Options.Depth }
