package experiment

import (
	"context"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"
)

// The collector is off in a window, but not whatever it costs: past a limit it runs.
// Afterwards all is as it was.
func TestQuietCollector(t *testing.T) {
	percent, limit := debug.SetGCPercent(80), debug.SetMemoryLimit(math.MaxInt64)
	defer func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}()
	undo := quietCollector()
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	room := debug.SetMemoryLimit(-1) - int64(now.Sys-now.HeapReleased)
	if off := debug.SetGCPercent(-1); off != -1 || room > quietRoom || room < quietRoom/2 {
		t.Errorf("in the window the collector is at %d %%, with room for %d bytes; want it off, with about %d", off, room, quietRoom)
	}
	undo()
	if on, after := debug.SetGCPercent(80), debug.SetMemoryLimit(-1); on != 80 || after != math.MaxInt64 {
		t.Errorf("afterwards %d %% and a limit of %d, want 80 and none", on, after)
	}
	debug.SetMemoryLimit(1 << 29) // the user's own
	undo = quietCollector()
	if got := debug.SetMemoryLimit(-1); got > 1<<29 {
		t.Errorf("the limit is raised to %d, want the user's", got)
	}
	undo()
}

// A watcher whose attack fails ends at once, and one whose window passes has its
// readings from both ends.
func TestWatcherEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, began := range []bool{false, true} {
			w := watch(t.Context(), os.Getpid(), cpuSets{}, time.Hour, time.Hour)
			start := time.Now()
			if began {
				w.begin(start)
			}
			w.abandon()
			if took := time.Since(start); took > 0 {
				t.Errorf("began %v: abandoned after %v", began, took)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		w := watch(ctx, os.Getpid(), cpuSets{}, time.Second, time.Hour)
		w.begin(time.Now())
		time.AfterFunc(time.Minute, cancel)
		if used := w.end(); used.load != -1 || used.steal != -1 {
			t.Errorf("the context ended first: got %+v, want nothing known", used)
		}
		w = watch(t.Context(), os.Getpid(), cpuSets{}, time.Second, time.Hour)
		w.begin(time.Now())
		time.Sleep(time.Second)
		w.moment(0)
		time.Sleep(time.Hour)
		w.moment(1)
		w.closing()
		if used := w.end(); used.load < 0 || w.exact[0].at.IsZero() || w.exact[1].at.Sub(w.exact[0].at) != time.Hour {
			t.Errorf("got %+v, want the window's change", used)
		}
	})
}
