package doctor

import (
	"math"
	"testing"
	"testing/synctest"
	"time"
)

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
			stop := WatchClock(func() time.Duration {
				mono := time.Since(start)
				return c.wall(mono) - mono
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
	first := clock()
	time.Sleep(20 * time.Millisecond)
	if moved := clock() - first; math.Abs(moved.Seconds()) > .01 {
		t.Errorf("the time of day moved by %v in 20 ms", moved)
	}
}
