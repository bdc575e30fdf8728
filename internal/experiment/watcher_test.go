package experiment

import (
	"context"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

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
