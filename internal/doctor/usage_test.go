package doctor

import (
	"fmt"
	"math"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// snapshot reads a machine on which user, idle and stolen ticks were counted, and
// these processes.
func snapshot(user, idle, steal int, procs map[int]string) Snapshot {
	root := fstest.MapFS{"proc/stat": {Data: fmt.Appendf(nil, "cpu  %d 0 0 %d 0 0 0 %d 0 0\ncpu0 1 2 3\n", user, idle, steal)}}
	for pid, stat := range procs {
		root[fmt.Sprintf("proc/%d/stat", pid)] = &fstest.MapFile{Data: []byte(stat)}
	}
	return Snap(root)
}

// stat is /proc/PID/stat.
func stat(pid int, name string, parent, user, system, began, cpu int) string {
	return fmt.Sprintf("%d (%s) R %d 1 1 0 -1 4194304 0 0 0 0 %d %d 0 0 20 0 1 0 %d 3133440 416 1 1 1 0 0 0 0 0 0 0 0 0 0 17 %d 0 0 0 0 0\n",
		pid, name, parent, user, system, began, cpu)
}

// Other programs are told by what they used meanwhile: not this one, its children,
// what was used before, or by an earlier process of the same number.
func TestUsage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		before := snapshot(1000, 1000, 10, map[int]string{
			1: stat(1, "init", 0, 50, 50, 1, 0), 20: stat(20, "schedlab", 1, 10, 0, 5, 0), 30: stat(30, "hog", 1, 500, 0, 7, 1),
			40: stat(40, "gone", 1, 900, 0, 8, 1),
		})
		time.Sleep(time.Second)
		after := snapshot(1130, 1068, 12, map[int]string{
			1: stat(1, "init", 0, 50, 50, 1, 0), 20: stat(20, "schedlab", 1, 20, 0, 5, 0), 21: stat(21, "serve", 20, 5, 5, 90, 0),
			30: stat(30, "hog", 1, 560, 30, 7, 1), 40: stat(40, "a (b) c", 1, 3, 2, 95, 0),
		})
		want := Usage{Interval: time.Second, Steal: .01, Unseen: .15, Others: []Program{{30, "hog", 1, .9}, {40, "a (b) c", 0, .05}}}
		if diff := cmp.Diff(want, after.Since(before, 20), cmpopts.EquateApprox(0, 1e-9)); diff != "" {
			t.Error(diff)
		}
		if got := snapshot(1, 1, 1, nil).Since(before, 20); got.Interval != 0 {
			t.Errorf("got %+v from a machine that shows no processes, want nothing", got)
		}
	})
}

func TestDamagedStat(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "1 (a", "1 a) R", "1 (a) R 1 2", "1 (a) R x 1 1 0 -1 0 0 0 0 0 y 0"} {
		if p, ok := parseProcess(text); ok {
			t.Errorf("%q: got %+v, want nothing", text, p)
		}
	}
	if got, ok := parseCPU("cpu 1 2 3"); ok {
		t.Errorf("got %+v of a short line, want nothing", got)
	}
}

// A sleeper's lateness is what it adds to the time asked for.
func TestLateness(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := 0
		late := Lateness(t.Context(), func(d time.Duration) {
			n++
			time.Sleep(d + time.Duration(100-n)*time.Microsecond)
		}, 100, time.Millisecond)
		if len(late) != 100 || late[0] != 0 || late[50] != 50*time.Microsecond || late[99] != 99*time.Microsecond {
			t.Errorf("got %v, want 0 to 99 µs", late)
		}
	})
}

// The time of day is watched against the monotonic clock: steps are found, either
// way, and NTP's slewing is not one.
func TestClockSteps(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		wall    func(mono time.Duration) time.Duration
		largest time.Duration
		count   int
	}{
		{"steady", func(mono time.Duration) time.Duration { return mono }, 0, 0},
		{"slewed", func(mono time.Duration) time.Duration { return mono + mono/2000 }, 0, 0},
		{"stepped", func(mono time.Duration) time.Duration {
			if mono > 3*time.Second {
				mono += 5 * time.Millisecond
			}
			return mono
		}, 5 * time.Millisecond, 1},
		{"set back at the end", func(mono time.Duration) time.Duration {
			if mono >= 10*time.Second {
				mono -= time.Hour
			}
			return mono
		}, -time.Hour, 1},
		{"stepping", func(mono time.Duration) time.Duration {
			return mono + mono.Truncate(2*time.Second)/100
		}, 20 * time.Millisecond, 5},
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			stop := WatchClock(func() (wall, mono time.Duration) {
				mono = time.Since(start)
				return c.wall(mono), mono
			}, 250*time.Millisecond)
			time.Sleep(10 * time.Second)
			want := Steps{10 * time.Second, c.largest, c.count}
			if got := stop(); got != want {
				t.Errorf("%s: got %+v, want %+v", c.name, got, want)
			}
		})
	}
}

// This system's clocks are read at one moment, whatever came between.
func TestSystemClock(t *testing.T) {
	t.Parallel()
	clock := SystemClock()
	first := read(clock)
	time.Sleep(20 * time.Millisecond)
	last := read(clock)
	apart := (last.wall - last.mono) - (first.wall - first.mono)
	if last.mono-first.mono < 20*time.Millisecond || math.Abs(apart.Seconds()) > .01 {
		t.Errorf("got %v and %v, want 20 ms or more by both", first, last)
	}
}
