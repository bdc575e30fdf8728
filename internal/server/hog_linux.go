package server

import (
	"context"
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// startHog keeps a CPU busy with a thread of its own until ctx is done. The thread has the
// kernel compute random numbers, 50 ms or so at a time: meanwhile it has no P, so the server's
// goroutines have all of them. The function that it returns waits for its end.
func startHog(ctx context.Context, cpu int) (wait func(), err error) {
	source, err := unix.Open("/dev/urandom", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening /dev/urandom: %w", err)
	}
	begun, ended := make(chan error), make(chan struct{})
	go func() {
		defer close(ended)
		defer func() { _ = unix.Close(source) }()
		runtime.LockOSThread() // the thread ends with the goroutine
		var set unix.CPUSet
		set.Set(cpu)
		err := unix.SchedSetaffinity(0, &set)
		if begun <- err; err != nil {
			return
		}
		for random := make([]byte, 16<<20); ctx.Err() == nil; {
			_, _ = unix.Read(source, random)
		}
	}()
	if err := <-begun; err != nil {
		return nil, fmt.Errorf("moving a thread to CPU %d: %w", cpu, err)
	}
	return func() { <-ended }, nil
}
