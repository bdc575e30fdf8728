package process

import (
	"fmt"
	"runtime"
	"time"

	"schedlab/internal/host"
)

// A Launcher starts processes from one thread that is bound to the server's
// CPUs, so that they inherit them. The thread lives until Close: the kernel
// kills the processes when it ends, so none outlives this program.
type Launcher struct {
	jobs                  chan func()
	readyLimit, stopLimit time.Duration // for a server to answer, and to end
}

// NewLauncher makes that thread.
func NewLauncher(c host.Sides) (*Launcher, error) {
	l := &Launcher{jobs: make(chan func()), readyLimit: readyLimit, stopLimit: stopLimit}
	bound := make(chan error)
	go func() {
		// Never unlocked: a thread with its own affinity must not return to the pool.
		runtime.LockOSThread()
		if c.Pin {
			if err := host.BindThread(c.Server); err != nil {
				bound <- fmt.Errorf("pinning the server to CPUs %s: %w; use --pin none", c.Server, err)
				return
			}
		}
		close(bound)
		for job := range l.jobs {
			job()
		}
	}()
	return l, <-bound
}

func (l *Launcher) run(f func() error) error {
	done := make(chan error, 1)
	l.jobs <- func() { done <- f() }
	return <-done
}

// Close ends it.
func (l *Launcher) Close() { close(l.jobs) }
