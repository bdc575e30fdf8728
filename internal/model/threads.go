package model

import (
	"runtime"
	"runtime/debug"
	"sync"
)

// threadsModel gives every connection an operating-system thread that is made for it and ends
// with it. The sockets stay non-blocking under Go's poller, so this is a thread per goroutine,
// not blocking reads. The cost is making the thread, and waking it: some 5 µs for each time
// its goroutine waited.
type threadsModel struct{ goroutineModel }

func newThreads(cfg Config) Model { return &threadsModel{goroutineModel{newFasthttpEngine(cfg)}} }

func (m *threadsModel) Serve(l *Listener) error {
	allowThreads(l.MaxConns() + spareThreads)
	var conns sync.WaitGroup
	err := eachConn(l, func(c *Conn) {
		conns.Go(func() {
			runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
			m.server.ServeConn(c)
		})
	})
	conns.Wait()
	return err
}

// spareThreads are for the runtime, the admin listener and system calls.
const spareThreads = 1000

// usualThreads is the number of threads at which Go ends the process by default.
const usualThreads = 10_000

// allowThreads raises that limit to n. It never lowers it: a process above its limit ends at
// once.
func allowThreads(n int) {
	if n > usualThreads {
		debug.SetMaxThreads(n)
	}
}
