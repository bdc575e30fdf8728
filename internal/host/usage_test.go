package host

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"schedlab/internal/record"
)

// Other programs are told by what they used meanwhile: not this one, its children,
// what was used before, or by an earlier process of the same number.
func TestUsage(t *testing.T) {
	t.Parallel()
	start := time.Unix(1_800_000_000, 0)
	snapshot := func(after time.Duration, cpus map[int]cpuTime, programs map[int]program) Snapshot {
		return Snapshot{look: look{at: start.Add(after), cpus: cpus, programs: programs}}
	}
	before := snapshot(0, map[int]cpuTime{0: {busy: 4, idle: 5}, 1: {busy: 6, idle: 5, steal: .1}}, map[int]program{
		1: {"init", 0, 0, 1, 1, 0}, 20: {"schedlab", 1, 0, 5, .1, 0}, 30: {"hog", 1, 1, 7, 5, 0}, 40: {"gone", 1, 1, 8, 9, 0},
	})
	after := snapshot(time.Second, map[int]cpuTime{0: {busy: 4.3, idle: 5.68, irq: .02}, 1: {busy: 6.9, idle: 5, softirq: .08, steal: .12}}, map[int]program{
		1: {"init", 0, 0, 1, 1, 0}, 20: {"schedlab", 1, 0, 5, .2, 0}, 21: {"serve", 20, 0, 90, .1, 0},
		30: {"hog", 1, 1, 7, 5.9, 0}, 40: {"a (b) c", 1, 0, 95, .05, 0},
	})
	want := Usage{Interval: time.Second, Steal: .01, Unseen: .15, Others: []Program{{30, "hog", 1, .9}, {40, "a (b) c", 0, .05}}}
	if diff := cmp.Diff(want, after.since(before, 20), cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Error(diff)
	}
	after.cpus = record.CPUs{0} // where only the half is in use, but every program is told
	want.Steal, want.Unseen = 0, .32-.1-.1-.05
	if diff := cmp.Diff(want, after.since(before, 20), cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Error(diff)
	}
	if got := snapshot(time.Second, after.look.cpus, nil).since(before, 20); got.Interval != 0 {
		t.Errorf("got %+v from a machine that shows no processes, want nothing", got)
	}
}
