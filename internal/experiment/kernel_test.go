package experiment

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/record"
)

func TestTCPCounters(t *testing.T) {
	t.Parallel()
	const text = "TcpExt: SyncookiesSent ListenOverflows ListenDrops\nTcpExt: 0 12 15\nIpExt: InNoRoutes ListenDrops\nIpExt: 3 4\n"
	if diff := cmp.Diff(map[string]float64{"SyncookiesSent": 0, "ListenOverflows": 12, "ListenDrops": 15}, tcpCounters(text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, bad := range []string{"", "TcpExt: ListenDrops\n", "TcpExt: ListenOverflows ListenDrops\nTcpExt: 1\n", "TcpExt: ListenDrops\nTcpExt: many\n"} {
		if got := tcpCounters(bad); len(got) != 0 {
			t.Errorf("%q: got %v, want nothing known", bad, got)
		}
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
	then.voluntary, then.involuntary, then.overflows, then.pressure = 100, 50, 7, 1
	now.voluntary, now.involuntary, now.overflows, now.drops, now.pressure = 160, 20, 7, 3, 1.25
	want := &record.Kernel{Voluntary: 60, Involuntary: -1, ListenOverflows: 0, ListenDrops: -1, Pressure: .25}
	if diff := cmp.Diff(want, now.since(then).kernel()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Each figure is known or not on its own, and an arm's only if every window's is.
func TestKernelFigures(t *testing.T) {
	t.Parallel()
	texts := []string{
		`switches("nethttp") > 1.99 && switches("nethttp") < 2.01`, `overflows("nethttp") == 0`,
		`switches("pool") > 0`, `overflows("pool") == 7`, `switches("fasthttp") > 0`, `overflows("fasthttp") == 0`,
	}
	s := synthetic{edit: func(t *record.Trial, requests []record.Request) []record.Request {
		switch k := (&record.Kernel{Voluntary: 2000, Involuntary: 400}); {
		case t.Arm == "fasthttp":
		case t.Arm == "pool":
			k.Involuntary, k.ListenOverflows = -1, 7
			t.Server.Kernel = k
		default:
			t.Server.Kernel = k
		}
		return requests
	}}
	got := asserted(t, s, texts...)
	for i, want := range []record.Answer{record.Passed, record.Passed, record.Undecided, record.Passed, record.Undecided, record.Undecided} {
		if e := got[texts[i]]; e.Outcome != want {
			t.Errorf("%s: got %+v, want %s", texts[i], e, want)
		}
	}
	r := s.judged(t)
	base, fasthttp, pool := r.Arms[0], r.Arms[2], r.Arms[3]
	if base.Switches == nil || *base.Overflows != 0 || fasthttp.Switches != nil || fasthttp.Overflows != nil || pool.Switches != nil || *pool.Overflows != 7*12 {
		t.Errorf("got %v %v, %v %v, %v %v; want about 2 and 0, nothing, and 84 overflows", base.Switches, base.Overflows, fasthttp.Switches, fasthttp.Overflows, pool.Switches, pool.Overflows)
	}
}
