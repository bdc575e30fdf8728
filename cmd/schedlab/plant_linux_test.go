package main

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"schedlab/internal/serving/server"
)

func init() { plant = makeFault }

// mostPlanted is the longest that one fault may take at a time.
const mostPlanted = 100 * time.Millisecond

// makeFault reads FAULT or FAULT=VALUE.
func makeFault(name string) (server.Fault, error) {
	f, cpu := server.Fault{Name: name}, 0
	fault, value, _ := strings.Cut(name, "=")
	var err error
	switch fault {
	case "accept":
		f.Accept, err = time.ParseDuration(value)
	case "queue":
		f.Queue, err = time.ParseDuration(value)
	case "lock":
		f.Lock, err = time.ParseDuration(value)
	case "pin":
		f.Pin = true
	case "hog":
		cpu, err = strconv.Atoi(value)
		f.Hog = func(ctx context.Context) (func(), error) { return startHog(ctx, cpu) }
	default:
		return f, fmt.Errorf("--plant %q is none of accept=TIME, queue=TIME, lock=TIME, pin, hog=CPU", name)
	}
	if err != nil || cpu < 0 || min(f.Accept, f.Queue, f.Lock) < 0 || max(f.Accept, f.Queue, f.Lock) > mostPlanted {
		return f, fmt.Errorf("--plant %q: want a time from 0 to %v, or the number of a CPU", name, mostPlanted)
	}
	return f, nil
}

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

func TestPlantedFaults(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"pin": "", "hog=0": "", "accept=1ms": "", "queue=100ms": "", "lock=0s": "",
		"sloth":     `--plant "sloth" is none of accept=TIME, queue=TIME, lock=TIME, pin, hog=CPU`,
		"lock":      `--plant "lock": want a time from 0 to 100ms, or the number of a CPU`,
		"accept=1h": `--plant "accept=1h": want a time from 0 to 100ms, or the number of a CPU`,
		"queue=-1s": `--plant "queue=-1s": want a time from 0 to 100ms, or the number of a CPU`,
		"hog=-1":    `--plant "hog=-1": want a time from 0 to 100ms, or the number of a CPU`,
	} {
		err := checkArm("nethttp", map[string]string{"plant": name})
		if got := fmt.Sprint(err); (err == nil) != (want == "") || err != nil && got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// A server's fault lasts as long as the server.
func TestHogEnds(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	wait, err := startHog(ctx, 0)
	stop()
	if err != nil {
		t.Skip(err) // no such CPU for this process
	}
	wait()
}
