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

	"schedlab/internal/serving/model"
)

// These environment variables make the test binary serve a mode instead of running tests, and
// limit its descriptors; 0: no limit.
const (
	processMode  = "SCHEDLAB_TEST_PROCESS_MODE"
	processFiles = "SCHEDLAB_TEST_PROCESS_FILES"
)

// processConns is the cap on the connections of a serverProcess.
const processConns = 5000

// A usage is what a serverProcess has used and counted.
type usage struct {
	Open, Done uint64        // connections
	Heap       int64         // bytes alive
	CPU        time.Duration // user and system
	Switches   int64         // voluntary, of all its threads
}

// serveInProcess serves until its standard input ends. It prints its address, and its usage for
// every line that it reads.
func serveInProcess(name string) int {
	if err := serveUntilEOF(name); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func serveUntilEOF(name string) error {
	files, err := strconv.ParseUint(os.Getenv(processFiles), 10, 64)
	if err != nil {
		return err
	}
	if files > 0 {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: files, Max: files}); err != nil {
			return err
		}
	}
	mode := lookup(nil, name)
	with := newSetup(nil, mode)
	with.Workers = 8
	with.Depth *= 8                // room for a crowd of full size
	with.Steal = mode.Has("steal") // or else clients wait behind a connection that is kept
	with.Socket.MaxConns = processConns
	with.Drain = 10 * time.Second // a crowd of locked threads on a busy machine
	ln, err := with.Socket.Listen(context.Background(), nil)
	if err != nil {
		return err
	}
	fmt.Println(ln.Addr())
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			u := used(ln)
			fmt.Println(u.Open, u.Done, u.Heap, int64(u.CPU), u.Switches)
		}
		cancel()
	}()
	_, err = model.Serve(ctx, with.model(mode), ln, with.Drain)
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

// A serverProcess is a server in a process of its own, whose costs can be told from the clients'.
type serverProcess struct {
	addr string
	pid  int
	in   io.Writer
	out  *bufio.Reader
}

// startProcess serves the mode in a process of its own until the test ends.
func startProcess(t *testing.T, mode string, files int) *serverProcess {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), processMode+"="+mode, processFiles+"="+strconv.Itoa(files))
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
	a := &serverProcess{pid: cmd.Process.Pid, in: in, out: bufio.NewReader(out)}
	if _, err := fmt.Fscanln(a.out, &a.addr); err != nil {
		t.Fatalf("reading the address: %v", err)
	}
	return a
}

func (a *serverProcess) usage(t *testing.T) (u usage) {
	t.Helper()
	fmt.Fprintln(a.in)
	if _, err := fmt.Fscanln(a.out, &u.Open, &u.Done, &u.Heap, (*int64)(&u.CPU), &u.Switches); err != nil {
		t.Fatalf("reading the usage: %v", err)
	}
	return u
}

// cores is how much CPU time the server uses per second, over a while: the least of several
// trials, because in the first it may still be finishing earlier work.
func (a *serverProcess) cores(t *testing.T, while time.Duration) (least float64) {
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
