package host

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/shared/cpuset"
	"schedlab/internal/shared/record"
)

var nearly = cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })

// twoCPUs has the server on CPU 0 and the load on CPU 1.
func twoCPUs() Sides { return Sides{Server: cpuset.Set{0}, Load: cpuset.Set{1}, Pin: true} }

// lookedAt is a look so many seconds after the first.
func lookedAt(seconds float64, cpus map[int]cpuTime, programs, threads map[int]program) look {
	return look{at: time.Unix(0, 0).Add(time.Duration(seconds * 1e9)), cpus: cpus, programs: programs, threads: threads}
}

const (
	selfPID   = 100 // pid of the program under test
	serverPID = 101
	guestPID  = 200
	noisyPID  = 300
)

// Over 10 s every cause is told with its amount, and nothing of what the run uses itself.
func TestTroubleSaysWhoTookWhat(t *testing.T) {
	t.Parallel()
	m := newWatchdog(selfPID, twoCPUs(), nil)
	m.parts = append(m.parts, guestPID)
	m.add(lookedAt(0, map[int]cpuTime{0: {idle: 5}, 1: {idle: 5}}, map[int]program{
		selfPID: {name: "schedlab", cpu: 1, used: 1}, guestPID: {name: "prod", cpu: 0, used: 50}, noisyPID: {name: "ffmpeg", cpu: 0, began: 7, used: 90},
		14: {name: "ksoftirqd/1", cpu: 1, used: 3},
	}, map[int]program{selfPID: {cpu: 1, used: 1}, selfPID + 50: {cpu: 0}}))
	m.add(lookedAt(4, map[int]cpuTime{0: {idle: 6}, 1: {idle: 5}}, map[int]program{
		selfPID: {name: "schedlab", cpu: 1, used: 4}, serverPID: {name: "schedlab", parent: selfPID, cpu: 0, used: .5}, guestPID: {name: "prod", cpu: 0, used: 50.5},
		noisyPID: {name: "ffmpeg", cpu: 0, began: 7, used: 91}, 14: {name: "ksoftirqd/1", cpu: 1, used: 3.2},
	}, map[int]program{selfPID: {cpu: 1, used: 4}, selfPID + 50: {cpu: 0, used: .1}}))
	last := lookedAt(10, map[int]cpuTime{
		0: {busy: 5.7, idle: 7.5, irq: .1, softirq: .4, steal: 1.2}, 1: {busy: 8.4, idle: 6, softirq: .4, steal: .2},
	}, map[int]program{
		// The server ended and was waited for; ffmpeg moved to the other CPU.
		selfPID: {name: "schedlab", cpu: 1, used: 8, waited: 3}, guestPID: {name: "prod", cpu: 0, used: 50.5}, noisyPID: {name: "ffmpeg", cpu: 1, began: 7, used: 91.5},
		14: {name: "ksoftirqd/1", cpu: 1, used: 3.2},
	}, map[int]program{selfPID: {cpu: 1, used: 8}, selfPID + 50: {cpu: 0, used: .4}})
	last.packets, last.loopback = 1000, 750
	m.add(last)
	want := &record.Others{Seconds: 10, Steal: .07, Troubles: []record.Trouble{
		{Cause: record.Program, CPU: 0, Side: record.ServerSideCPU, Share: .15, Server: .1, Load: .05, Program: "ffmpeg", PID: noisyPID},
		{Cause: record.Stolen, CPU: 0, Side: record.ServerSideCPU, Share: .12, Server: .12},
		// 14.1 s busy less 10.5 s ours, 1.5 s ffmpeg's, 0.2 s ksoftirqd's. On the server's CPU 5.7 s less 3.5 s of the
		// server and prod, 0.4 s of our threads and 1 s of ffmpeg.
		{Cause: record.Passing, CPU: -1, Side: record.BothSides, Share: .095, Server: .08, Load: .11},
		{Cause: record.Own, CPU: 0, Side: record.ServerSideCPU, Share: .04, Server: .04},
		{Cause: record.Stolen, CPU: 1, Side: record.LoadSideCPU, Share: .02, Load: .02},
		{Cause: record.SoftIRQ, CPU: 1, Side: record.LoadSideCPU, Share: .015, Load: .015}, // a quarter of the packets was not ours
		{Cause: record.Interrupt, CPU: 0, Side: record.ServerSideCPU, Share: .01, Server: .01},
		{Cause: record.SoftIRQ, CPU: 0, Side: record.ServerSideCPU, Share: .01, Server: .01},
	}}
	if diff := cmp.Diff(want, m.others(), nearly); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A pid that another program got is not charged with the first one's time.
func TestTroubleKnowsReusedPids(t *testing.T) {
	t.Parallel()
	m := newWatchdog(selfPID, twoCPUs(), nil)
	cpus := map[int]cpuTime{0: {}, 1: {}}
	m.add(lookedAt(0, cpus, map[int]program{noisyPID: {name: "old", began: 1, used: 3}}, nil))
	m.add(lookedAt(1, cpus, map[int]program{noisyPID: {name: "new", began: 2, used: .25}}, nil))
	got := m.others().Troubles
	if len(got) != 1 || got[0].Program != "new" || got[0].Share != .25 {
		t.Errorf("got %+v, want the new program with a quarter of a CPU", got)
	}
}

// Where nothing is bound, all CPUs are in use by both sides.
func TestTroubleUnpinned(t *testing.T) {
	t.Parallel()
	m := newWatchdog(selfPID, Sides{Shared: true}, nil)
	m.add(lookedAt(0, map[int]cpuTime{0: {}, 5: {}}, nil, map[int]program{selfPID: {}}))
	m.add(lookedAt(1, map[int]cpuTime{0: {}, 5: {steal: .5}}, nil, map[int]program{selfPID: {used: 1}}))
	want := []record.Trouble{{Cause: record.Stolen, CPU: 5, Side: record.BothSides, Share: .5, Server: .25, Load: .25}}
	if diff := cmp.Diff(want, m.others().Troubles); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What takes 3 % is told once, after three seconds; what takes less is not, and a cause
// that cannot be named has to take more.
func TestTroubleIsToldOnce(t *testing.T) {
	t.Parallel()
	var told []record.Trouble
	w := newWatchdog(selfPID, twoCPUs(), func(tr record.Trouble) { told = append(told, tr) })
	second := 0.
	look := func() {
		w.add(lookedAt(second, map[int]cpuTime{0: {steal: .12 * second, busy: .1 * second}, 1: {steal: .02 * second}}, nil, nil))
		w.report()
		second++
	}
	for range 3 {
		look()
	}
	if len(told) != 0 {
		t.Errorf("told within three seconds: %+v", told)
	}
	for range 5 {
		look()
	}
	want := []record.Trouble{{Cause: record.Stolen, CPU: 0, Side: record.ServerSideCPU, Share: .12, Server: .12}}
	if diff := cmp.Diff(want, told, nearly); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Time that the hypervisor stole is nobody's program: with 30 % stolen and the rest the
// server's own or idle, nothing is foreign.
func TestStealIsNotForeign(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cpus                            int
		window, idle, stolen, own, want float64
	}{
		{1, 1, .2, .3, .5, 0},
		{1, 1, .2, .1, .5, .2},
		{2, 1, 1, 0, .5, .5},
		{1, 1, .5, 0, .6, 0}, // clocks tick apart
		{1, 1, -1, 0, .5, -1},
		{1, 1, .5, -1, .5, -1},
		{1, 1, .5, 0, -1, -1},
	} {
		used := Reading{Idle: c.idle, stolen: c.stolen, Server: c.own}
		if got := (Sides{Server: make(cpuset.Set, c.cpus)}).foreign(used, c.window); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%+v: got %g", c, got)
		}
	}
}

// A host with many small programs has the largest named and the others in one sum.
func TestTroubleSumsSmallPrograms(t *testing.T) {
	t.Parallel()
	m := newWatchdog(selfPID, twoCPUs(), nil)
	cpus := func(busy float64) map[int]cpuTime { return map[int]cpuTime{0: {busy: busy}, 1: {}} }
	m.add(lookedAt(0, cpus(0), nil, nil))
	many := map[int]program{}
	for pid := range 20 {
		many[1000+pid] = program{name: fmt.Sprintf("job%02d", pid), used: .2}
	}
	m.add(lookedAt(10, cpus(4), many, nil))
	got := m.others().Troubles
	last := got[0] // 2.4 of 20 s; the largest
	if len(got) != 1+mostNamed || last.Cause != record.Passing || math.Abs(last.Share-.12) > 1e-9 || got[1].PID != 1000 {
		t.Errorf("got %+v, want eight by name and 12 %% of others", got)
	}
}
