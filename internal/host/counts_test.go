package host

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/record"
)

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
