package model_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"schedlab/internal/model"
)

// These name, in the environment, the mode that the test binary is to serve instead
// of running tests, and the descriptors it may have; 0 leaves them alone.
const (
	apartMode  = "SCHEDLAB_TEST_APART_MODE"
	apartFiles = "SCHEDLAB_TEST_APART_FILES"
)

// apartConns is the cap on the connections of a server apart.
const apartConns = 5000

// A usage is what a server apart says of itself.
type usage struct {
	Open, Done uint64        // connections
	Heap       int64         // bytes alive
	CPU        time.Duration // user and system
	Switches   int64         // voluntary, of all its threads
}

// serveApart serves until its standard input ends. It prints its address, and for
// every line that it reads its usage.
func serveApart(name string) int {
	if err := serveUntilEOF(name); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func serveUntilEOF(name string) error {
	files, err := strconv.ParseUint(os.Getenv(apartFiles), 10, 64)
	if err != nil {
		return err
	}
	if files > 0 {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: files, Max: files}); err != nil {
			return err
		}
	}
	mode, err := model.Lookup(name)
	if err != nil {
		return err
	}
	with := newSetup(nil, mode)
	with.Workers = 8
	with.QueueDepth *= 8           // room for a crowd of full size
	with.Steal = mode.Has("steal") // or else clients wait behind a connection that is kept
	with.HeaderTimeout, with.BodyTimeout, with.WriteTimeout, with.IdleTimeout = soon, soon, soon, soon
	with.Socket.MaxConns = apartConns
	with.Drain = 10 * time.Second // a crowd of locked threads on a busy machine
	ln, err := with.Socket.Listen(context.Background(), nil)
	if err != nil {
		return err
	}
	fmt.Println(ln.Addr())
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for asked := bufio.NewScanner(os.Stdin); asked.Scan(); {
			u := used(ln)
			fmt.Println(u.Open, u.Done, u.Heap, int64(u.CPU), u.Switches)
		}
		cancel()
	}()
	_, err = model.Serve(ctx, mode.New(with.Config), ln, with.Drain)
	if ctx.Err() == nil {
		return fmt.Errorf("the server ended by itself: %w", err)
	}
	return err
}

func used(ln *model.Listener) usage {
	var self unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &self); err != nil {
		panic(err)
	}
	c := ln.Counts()
	runtime.GC()
	runtime.GC() // what pools keep for one collection longer
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return usage{
		c.Open, c.Done, int64(m.HeapAlloc), time.Duration(self.Utime.Nano() + self.Stime.Nano()), self.Nvcsw,
	}
}

// An apart is a server in a process of its own, whose costs are not the clients'.
type apart struct {
	addr string
	pid  int
	in   io.Writer
	out  *bufio.Reader
}

// startApart runs the mode until the test ends.
func startApart(t *testing.T, mode string, files int) *apart {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), apartMode+"="+mode, apartFiles+"="+strconv.Itoa(files))
	cmd.Stderr = t.Output()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	a := &apart{pid: cmd.Process.Pid, in: in, out: bufio.NewReader(out)}
	if _, err := fmt.Fscanln(a.out, &a.addr); err != nil {
		t.Fatalf("reading the address: %v", err)
	}
	return a
}

func (a *apart) usage(t *testing.T) (u usage) {
	t.Helper()
	fmt.Fprintln(a.in)
	if _, err := fmt.Fscanln(a.out, &u.Open, &u.Done, &u.Heap, (*int64)(&u.CPU), &u.Switches); err != nil {
		t.Fatalf("reading the usage: %v", err)
	}
	return u
}

// cores is the CPU time the server takes for each second of a while: the least of
// some, as the first may see it end what it was doing.
func (a *apart) cores(t *testing.T, while time.Duration) (least float64) {
	t.Helper()
	least = math.Inf(1)
	for range trials {
		before, began := a.usage(t), time.Now()
		time.Sleep(while)
		least = min(least, (a.usage(t).CPU-before.CPU).Seconds()/time.Since(began).Seconds())
		if least < mostCores {
			break
		}
	}
	return least
}
