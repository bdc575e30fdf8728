package host

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/shared/record"
)

// Processes of one name are one program, whatever their pids: the ones that live, and the ones that started and
// ended between two looks, whose time the kernel adds to the process that waited for them.
func TestProcessesOfOneNameAreOneProgram(t *testing.T) {
	t.Parallel()
	const makePID, gccPID, shellPID = 400, 401, 390
	shell := program{name: "bash", parent: 1, began: 1}
	at := func(waited float64) program {
		return program{name: "make", parent: shellPID, began: 2, waited: waited}
	}
	cpus := func(busy float64) map[int]cpuTime { return map[int]cpuTime{0: {busy: busy}, 1: {}} }
	for name, c := range map[string]struct {
		looks []look
		want  []record.Trouble
	}{
		"two that live": {[]look{
			lookedAt(0, cpus(0), nil, nil),
			lookedAt(10, cpus(5), map[int]program{7: {name: "hog", cpu: 0, used: 2, began: 3}, 8: {name: "hog", cpu: 0, used: 3, began: 3}}, nil),
		}, []record.Trouble{{Cause: record.Program, CPU: 0, Side: record.ServerSideCPU, Share: .5, Server: .5, Program: "hog", PID: 8, Processes: 2}}},
		// Each look sees another cc1, and gcc between it and make. 8 s of them were waited for, of which looks have seen 1.5 s.
		"a compile": {[]look{
			lookedAt(0, cpus(0), map[int]program{shellPID: shell, makePID: at(0), gccPID: {name: "gcc", parent: makePID, began: 4}, 402: {name: "cc1", parent: gccPID, began: 5, used: .5}}, nil),
			lookedAt(5, cpus(4), map[int]program{shellPID: shell, makePID: at(4.5), 410: {name: "gcc", parent: makePID, began: 6}, 411: {name: "cc1", parent: 410, began: 7, used: 1}}, nil),
			lookedAt(10, cpus(8), map[int]program{shellPID: shell, makePID: at(8.5)}, nil),
		}, []record.Trouble{{Cause: record.Program, CPU: 0, Side: record.ServerSideCPU, Share: .8, Server: .8, Program: "cc1", PID: makePID, Parent: "make"}}},
		// No look has seen a child, so the process that waited for them has the name.
		"children unseen": {[]look{
			lookedAt(0, cpus(0), map[int]program{makePID: at(0)}, nil),
			lookedAt(10, cpus(4), map[int]program{makePID: at(4)}, nil),
		}, []record.Trouble{{Cause: record.Program, CPU: 0, Side: record.ServerSideCPU, Share: .4, Server: .4, Program: "make", PID: makePID}}},
		// Of the children's time no more counts than the CPUs in use were busy: most of it was elsewhere.
		"children elsewhere": {[]look{
			lookedAt(0, cpus(0), map[int]program{makePID: at(0)}, nil),
			lookedAt(10, cpus(1), map[int]program{makePID: at(9)}, nil),
		}, []record.Trouble{{Cause: record.Program, CPU: 0, Side: record.ServerSideCPU, Share: .1, Server: .1, Program: "make", PID: makePID}}},
		// The run's own children are no strangers.
		"our own": {[]look{
			lookedAt(0, cpus(0), map[int]program{selfPID: {name: "schedlab"}, serverPID: {name: "server", parent: selfPID, began: 1}}, nil),
			lookedAt(10, cpus(6), map[int]program{selfPID: {name: "schedlab", waited: 6}}, nil),
		}, []record.Trouble{}},
		// Nobody is seen that used the CPU.
		"unseen": {[]look{
			lookedAt(0, cpus(0), nil, nil),
			lookedAt(10, cpus(3), nil, nil),
		}, []record.Trouble{{Cause: record.Passing, CPU: -1, Side: record.BothSides, Share: .15, Server: .3}}},
	} {
		w := newWatchdog(selfPID, twoCPUs(), nil)
		for _, l := range c.looks {
			w.add(l)
		}
		if diff := cmp.Diff(c.want, w.others().Troubles, nearly); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A tenth of the CPUs of one side is where a machine is no longer quiet. Time of our own threads is nobody else's.
func TestQuiet(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		troubles []record.Trouble
		quiet    bool
	}{
		{nil, true},
		{[]record.Trouble{{Cause: record.Program, Server: .1}, {Cause: record.Program, Load: .1}}, true},
		{[]record.Trouble{{Cause: record.Program, Server: .06}, {Cause: record.Stolen, Server: .05}}, false},
		{[]record.Trouble{{Cause: record.Program, Load: .11}}, false},
		{[]record.Trouble{{Cause: record.Passing, Server: .11}}, false},
		{[]record.Trouble{{Cause: record.Passing, Server: .04}, {Cause: record.Program, Server: .09}}, true}, // two clocks may differ by so little
		{[]record.Trouble{{Cause: record.Own, Server: .5}}, true},
	} {
		if got := (&record.Others{Seconds: 1, Troubles: c.troubles}).Quiet(); got != c.quiet {
			t.Errorf("%+v: got quiet %v", c.troubles, got)
		}
	}
	if !(*record.Others)(nil).Quiet() {
		t.Error("a machine that does not tell is taken to be busy")
	}
}
