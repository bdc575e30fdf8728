package host

import (
	"context"
	"os"
	"testing"
	"testing/synctest"
	"time"
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
			w.Abandon()
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
