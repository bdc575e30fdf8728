package host

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/shared/record"
)

// A watcher whose attack fails ends at once, and one whose window passes has its
// readings from both ends. It is not parallel: a child of another test that ends within the
// window would leave the ends unread.
func TestWatcherEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, began := range []bool{false, true} {
			w := Watch(t.Context(), os.Getpid(), Sides{}, time.Hour, time.Hour)
			start := time.Now()
			if began {
				w.Begin(start)
			}
			w.End()
			if took := time.Since(start); took > 0 {
				t.Errorf("began %v: abandoned after %v", began, took)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		w := Watch(ctx, os.Getpid(), Sides{}, time.Second, time.Hour)
		w.Begin(time.Now())
		time.AfterFunc(time.Minute, cancel)
		if used := w.End(); used.Load != -1 || used.Steal != -1 {
			t.Errorf("the context ended first: got %+v, want nothing known", used)
		}
		w = Watch(t.Context(), os.Getpid(), Sides{}, time.Second, time.Hour)
		w.Begin(time.Now())
		time.Sleep(time.Second)
		w.Moment(0)
		time.Sleep(time.Hour)
		w.Moment(1)
		w.Closing()
		if used := w.End(); used.Load < 0 || w.exact[0].at.IsZero() || w.exact[1].at.Sub(w.exact[0].at) != time.Hour {
			t.Errorf("got %+v, want the window's change", used)
		}
	})
}

// A server is all its processes.
func TestFamily(t *testing.T) {
	t.Parallel()
	theirs, ours, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", "cat <&3 & cat <&3 & wait") // until the pipe is closed
	cmd.ExtraFiles = []*os.File{theirs}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	defer cmd.Wait()
	defer ours.Close()
	if len(Family(os.Getpid())) < 2 {
		if os.Getenv("SCHEDLAB_REQUIRE") == "1" {
			t.Fatal("the kernel does not list children")
		}
		t.Skip("NOT RUN: the kernel does not list children")
	}
	for late := time.Now().Add(time.Minute); len(Family(cmd.Process.Pid)) != 3; time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("got the processes %v, want the shell and its two children", Family(cmd.Process.Pid))
		}
	}
}

func TestClocks(t *testing.T) {
	t.Parallel()
	all, err := Affinity()
	if err != nil && !errors.Is(err, ErrNoAffinity) {
		t.Fatal(err)
	}
	now := readClocks(os.Getpid(), all)
	if now.Server <= 0 || now.Load <= 0 {
		t.Errorf("this process: got %+v, want CPU time", now)
	}
	if later := ProcessCPU(os.Getpid()); later < now.Load {
		t.Errorf("this process's CPU time went from %v s back to %v", now.Load, later)
	}
	gone := readClocks(1<<22+1, nil) // above every pid
	if gone.Server != -1 {
		t.Errorf("no such process: got %v s of CPU, want unknown", gone.Server)
	}
	diff := Reading{Server: 3, Load: 1, Idle: -1, Steal: 2}.Since(Reading{Server: 1, Load: 2, Idle: 1, Steal: -1})
	if diff.Server != 2 || diff.Load != 0 || diff.Idle != -1 || diff.Steal != -1 {
		t.Errorf("got %+v, want 2, never below 0, and unknown where either is", diff)
	}
}

// This process waits, and its context switches are counted with every thread's.
func TestSwitches(t *testing.T) {
	t.Parallel()
	before, _ := switches(os.Getpid())
	if before < 0 {
		if os.Getenv("SCHEDLAB_REQUIRE") == "1" && runtime.GOOS == "linux" {
			t.Fatal("the kernel does not tell context switches")
		}
		t.Skip("NOT RUN: context switches are not known here")
	}
	for late := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		now, preempted := switches(os.Getpid())
		if now >= before+10 && preempted >= 0 {
			break
		}
		if time.Now().After(late) {
			t.Fatalf("from %v to %v switches while it slept over and over", before, now)
		}
	}
	for _, pid := range []int{0, 1<<22 + 1} { // above every pid
		if v, i := switches(pid); v != -1 || i != -1 {
			t.Errorf("process %d: got %v and %v, want unknown", pid, v, i)
		}
	}
}

// What was not known at one end, or fell because threads ended, is not known.
func TestKernelSince(t *testing.T) {
	t.Parallel()
	then, now := unread(), unread()
	then.voluntary, then.involuntary, then.overflows = 100, 50, 7
	now.voluntary, now.involuntary, now.overflows = 160, 20, 7
	want := &record.Kernel{Voluntary: 60, Involuntary: -1, ListenOverflows: 0}
	if diff := cmp.Diff(want, now.Since(then).Kernel()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
