package host

import (
	"context"
	"os"
	"sync/atomic"
	"time"

	"schedlab/internal/record"
)

// A Watcher reads the clocks of server, load and machine around a window. Reading all of them takes
// milliseconds of the load's CPU. It therefore happens before the window and after the load. At the
// window's ends the load itself reads two CPU clocks only, in a microsecond each.
//
// Set Count before Begin, and read Footprint after Closing. Call Connections and LoopBusy after End.
//
// The timeline of a load with a Watcher: Begin at its start; all clocks shortly before the window;
// Moment(0) and Moment(1) at the window's ends; Closing after the last request; End after the load.
// The three callbacks are load.Options' Started, Moment and Closing.
type Watcher struct {
	pid            int
	cpus           Sides
	warmup, window time.Duration
	ctx            context.Context
	cancel         context.CancelFunc
	done           chan struct{} // closed when Begin's goroutine has ended
	began          bool
	first, last    *Reading
	family         atomic.Pointer[[]int] // the server's processes, when first was read
	exact          [2]quickReading       // at the window's ends
	// Count reads the server's connection counters; nil if they are not wanted. counts holds the
	// counters at both ends of the window, nil where they could not be read. counted holds the times
	// of the replies.
	Count   func() map[string]float64
	counts  [2]map[string]float64
	counted [2]time.Time
	// Footprint is the server's memory, threads and processes when the last request had its outcome.
	Footprint *record.Footprint
}

// A quickReading holds the clocks that cost next to nothing to read. The zero value means not read.
type quickReading struct {
	at           time.Time
	server, load float64 // CPU time, seconds
}

// beforeWindow is how long before the window the clocks are read. With a shorter warm-up, they are
// read at the load's start.
// Reading takes some milliseconds. It must be over when the window begins, but not long before.
const beforeWindow = 30 * time.Millisecond

// Watch returns a watcher for one window of the server pid. warmup is the time from the load's start
// to the window. The caller calls End or Abandon; either waits for Begin's goroutine.
func Watch(ctx context.Context, pid int, cpus Sides, warmup, window time.Duration) *Watcher {
	w := &Watcher{pid: pid, cpus: cpus, warmup: warmup, window: window, done: make(chan struct{})}
	w.ctx, w.cancel = context.WithCancel(ctx)
	return w
}

// Begin starts to watch in a goroutine. Call it once, with the load's start.
func (w *Watcher) Begin(start time.Time) {
	w.began = true
	go func() {
		defer close(w.done)
		if !w.sleep(start.Add(max(0, w.warmup-beforeWindow))) {
			return
		}
		first, pids := readClocks(w.pid, w.cpus.Server), Family(w.pid)
		w.first = &first
		// Moment runs on the load's goroutine and must not list processes, so it finds the list ready here.
		w.family.Store(&pids)
		if w.Count == nil {
			return
		}
		w.counts[0], w.counted[0] = w.Count(), time.Now()
		// The second scrape runs beside the load; its own time is recorded, so that the change can be scaled.
		if w.sleep(start.Add(w.warmup + w.window)) {
			w.counts[1], w.counted[1] = w.Count(), time.Now()
		}
	}()
}

// Moments returns the times, from the load's start, at which the load calls Moment: the window's ends.
func (w *Watcher) Moments() []time.Duration { return []time.Duration{w.warmup, w.warmup + w.window} }

// Moment reads the CPU clocks of server and load. The load calls it with 0 at the start of the window
// and with 1 at its end.
// It costs a microsecond for each process of the server, and reads nothing before Begin's goroutine
// has found the processes.
func (w *Watcher) Moment(i int) {
	pids := w.family.Load()
	if pids == nil || w.pid <= 0 {
		return
	}
	r := quickReading{at: time.Now(), load: ProcessCPU(os.Getpid())}
	for _, pid := range *pids {
		own := ProcessCPU(pid)
		if own < 0 {
			return // the process has ended
		}
		r.server += own
	}
	w.exact[i] = r
}

// Closing reads all clocks and the server's footprint. The load calls it when every request has its
// outcome and the connections are still open.
func (w *Watcher) Closing() {
	last := readClocks(w.pid, w.cpus.Server)
	w.last, w.Footprint = &last, footprint(w.pid)
}

// sleep waits until a time. It returns false if the context ends first.
func (w *Watcher) sleep(until time.Time) bool {
	alarm := time.NewTimer(time.Until(until))
	defer alarm.Stop()
	select {
	case <-alarm.C:
		return true
	case <-w.ctx.Done():
		return false
	}
}

// Abandon ends the watch of a load that has failed.
func (w *Watcher) Abandon() {
	w.cancel()
	w.End()
}

// End returns the change over the window. CPU times of server and load are those read at its ends.
// All other values, and these if they could not be read, are scaled from the time between the
// readings to the window; listen overflows are not scaled. Everything is unknown if the load never
// began or did not finish.
func (w *Watcher) End() Reading {
	defer w.cancel()
	if !w.began {
		return unread()
	}
	// The load has failed: Begin's goroutine must not wait for the rest of the window.
	if w.last == nil {
		w.cancel()
	}
	<-w.done
	if w.first == nil || w.last == nil {
		return unread()
	}
	// The readings lie outside of the window. What they counted is taken as even over their time.
	used := w.last.Since(*w.first)
	scale := w.window.Seconds() / w.last.at.Sub(w.first.at).Seconds()
	for _, v := range []*float64{&used.Server, &used.Idle, &used.stolen, &used.Load, &used.Steal, &used.Throttled, &used.voluntary, &used.involuntary} {
		if *v > 0 {
			*v *= scale
		}
	}
	// Foreign needs times of the same span as Idle. All others need the exact ones.
	used.spanServer, used.spanLoad = used.Server, used.Load
	if a, b := w.exact[0], w.exact[1]; !a.at.IsZero() && b.at.After(a.at) && used.Server >= 0 {
		scale = w.window.Seconds() / b.at.Sub(a.at).Seconds()
		used.Server, used.Load = scale*max(0, b.server-a.server), scale*max(0, b.load-a.load)
	}
	return used
}

// Connections returns the change of the connection counters over the window; nil if they were not
// wanted or could not be read. An overloaded server may answer a scrape most of a second late, so the
// change is scaled from the time between the replies to the window.
func (w *Watcher) Connections() *record.Connections {
	first, last := w.counts[0], w.counts[1]
	if first == nil || last == nil {
		return nil
	}
	change := func(name string) float64 { return w.counter("schedlab_connections_" + name + "_total") }
	return &record.Connections{
		Accepted: change("accepted"), Done: change("done"), Open: last["schedlab_connections_open"],
	}
}

// counter returns the growth of one of the server's counters, scaled to the window.
func (w *Watcher) counter(name string) float64 {
	return w.window.Seconds() / w.counted[1].Sub(w.counted[0]).Seconds() * (w.counts[1][name] - w.counts[0][name])
}

// LoopBusy is the name of the server's counter of the CPU time of its event loops.
const LoopBusy = "schedlab_loop_busy_seconds_total"

// LoopBusy returns the CPU time, in seconds, of the server's event loops in the window; nil if the
// server has no loops or Count was not set.
func (w *Watcher) LoopBusy() *float64 {
	if _, has := w.counts[0][LoopBusy]; !has || w.counts[1] == nil {
		return nil
	}
	return new(w.counter(LoopBusy))
}
