package host

import (
	"context"
	"os"
	"sync/atomic"
	"time"

	"schedlab/internal/record"
)

// A Watcher reads the clocks of server, load and machine around a window. Reading all of
// them takes the load's CPU for milliseconds, so that is done before the window and when
// the load is over; within it only two CPU clocks are read, by the load itself, in a
// microsecond each.
type Watcher struct {
	pid            int
	cpus           Sides
	warmup, window time.Duration
	ctx            context.Context
	cancel         context.CancelFunc
	done           chan struct{} // closed when the goroutine that Begin starts has ended
	began          bool
	first, last    *Reading
	family         atomic.Pointer[[]int] // the server's processes, when first was read
	exact          [2]quickReading       // at the window's ends
	// Count reads the server's connection counters, if they are asked for; counts
	// are those of both ends, nil unless both could be read, and counted when each
	// was answered.
	Count   func() map[string]float64
	counts  [2]map[string]float64
	counted [2]time.Time
	// Footprint is what the server held when the last request had its outcome.
	Footprint *record.Footprint
}

// A quickReading is what costs next to nothing to read; the zero one was not.
type quickReading struct {
	at           time.Time
	server, load float64 // CPU time, seconds
}

// beforeWindow is how long before the window the clocks are read, if the warm-up is that
// long.
const beforeWindow = 30 * time.Millisecond

// Watch makes a watcher of a server's window. Who has it calls End, or Abandon: either
// waits for the goroutine that Begin has started.
func Watch(ctx context.Context, pid int, cpus Sides, warmup, window time.Duration) *Watcher {
	w := &Watcher{pid: pid, cpus: cpus, warmup: warmup, window: window, done: make(chan struct{})}
	w.ctx, w.cancel = context.WithCancel(ctx)
	return w
}

// Begin is called once with the attack's start.
func (w *Watcher) Begin(start time.Time) {
	w.began = true
	go func() {
		defer close(w.done)
		if !w.sleep(start.Add(max(0, w.warmup-beforeWindow))) {
			return
		}
		first, pids := readClocks(w.pid, w.cpus.Server), Family(w.pid)
		w.first = &first
		w.family.Store(&pids)
		if w.Count == nil {
			return
		}
		w.counts[0], w.counted[0] = w.Count(), time.Now()
		if w.sleep(start.Add(w.warmup + w.window)) {
			w.counts[1], w.counted[1] = w.Count(), time.Now()
		}
	}()
}

// Moments are when the load is to call moment.
func (w *Watcher) Moments() []time.Duration { return []time.Duration{w.warmup, w.warmup + w.window} }

// Moment is called by the load itself at both ends of the window.
func (w *Watcher) Moment(i int) {
	pids := w.family.Load()
	if pids == nil || w.pid <= 0 {
		return
	}
	r := quickReading{at: time.Now(), load: ProcessCPU(os.Getpid())}
	for _, pid := range *pids {
		own := ProcessCPU(pid)
		if own < 0 {
			return // it has ended
		}
		r.server += own
	}
	w.exact[i] = r
}

// Closing is called when every request has its outcome, and connections are still open.
func (w *Watcher) Closing() {
	last := readClocks(w.pid, w.cpus.Server)
	w.last, w.Footprint = &last, footprint(w.pid)
}

// sleep waits until a time, and reports whether it came before the context's end.
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

// Abandon ends the watch of an attack that has failed.
func (w *Watcher) Abandon() {
	w.cancel()
	w.End()
}

// End returns the change over the window: CPU times as they were at its ends, all else
// scaled to it from the time between the readings. All of it is unknown when the attack
// never began or did not come to its end.
func (w *Watcher) End() Reading {
	defer w.cancel()
	if !w.began {
		return unread()
	}
	if w.last == nil {
		w.cancel()
	}
	<-w.done
	if w.first == nil || w.last == nil {
		return unread()
	}
	used := w.last.Since(*w.first)
	scale := w.window.Seconds() / w.last.at.Sub(w.first.at).Seconds()
	for _, v := range []*float64{&used.Server, &used.Idle, &used.stolen, &used.Load, &used.Steal, &used.Throttled, &used.voluntary, &used.involuntary} {
		if *v > 0 {
			*v *= scale
		}
	}
	used.spanServer, used.spanLoad = used.Server, used.Load
	if a, b := w.exact[0], w.exact[1]; !a.at.IsZero() && b.at.After(a.at) && used.Server >= 0 {
		scale = w.window.Seconds() / b.at.Sub(a.at).Seconds()
		used.Server, used.Load = scale*max(0, b.server-a.server), scale*max(0, b.load-a.load)
	}
	return used
}

// Connections are the counters' change over the window, after end; nil when
// they were not asked for or could not be read. An overloaded server may answer a
// scrape most of a second late, so the change is scaled from the time between the
// answers to the window.
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

// counter is by how much one of the server's counters grew, scaled to the window.
func (w *Watcher) counter(name string) float64 {
	return w.window.Seconds() / w.counted[1].Sub(w.counted[0]).Seconds() * (w.counts[1][name] - w.counts[0][name])
}

// LoopBusy is the server's counter of the CPU time of its event loops.
const LoopBusy = "schedlab_loop_busy_seconds_total"

// LoopBusy is the CPU time, in seconds, of the server's event loops in the window;
// nil where it has none, or was not asked.
func (w *Watcher) LoopBusy() *float64 {
	if _, has := w.counts[0][LoopBusy]; !has || w.counts[1] == nil {
		return nil
	}
	return new(w.counter(LoopBusy))
}
