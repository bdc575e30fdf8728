package experiment

import (
	"context"
	"os"
	"sync/atomic"
	"time"

	"schedlab/internal/record"
)

// A watcher reads the clocks of server, load and machine around a window. Reading all of
// them takes the load's CPU for milliseconds, so that is done before the window and when
// the load is over; within it only two CPU clocks are read, by the load itself, in a
// microsecond each.
type watcher struct {
	pid            int
	cpus           cpuSets
	warmup, window time.Duration
	ctx            context.Context
	cancel         context.CancelFunc
	done           chan struct{} // closed when the goroutine that begin starts has ended
	began          bool
	first, last    *reading
	family         atomic.Pointer[[]int] // the server's processes, when first was read
	exact          [2]quickReading       // at the window's ends
	// count reads the server's connection counters, if they are asked for; counts
	// are those of both ends, nil unless both could be read, and counted when each
	// was answered.
	count   func() map[string]float64
	counts  [2]map[string]float64
	counted [2]time.Time
	// footprint is what the server held when the last request had its outcome.
	footprint *record.Footprint
}

// A quickReading is what costs next to nothing to read; the zero one was not.
type quickReading struct {
	at           time.Time
	server, load float64 // CPU time, seconds
}

// beforeWindow is how long before the window the clocks are read, if the warm-up is that
// long.
const beforeWindow = 30 * time.Millisecond

// watch makes a watcher of a server's window. Who has it calls end, or abandon: either
// waits for the goroutine that begin has started.
func watch(ctx context.Context, pid int, cpus cpuSets, warmup, window time.Duration) *watcher {
	w := &watcher{pid: pid, cpus: cpus, warmup: warmup, window: window, done: make(chan struct{})}
	w.ctx, w.cancel = context.WithCancel(ctx)
	return w
}

// begin is called once with the attack's start.
func (w *watcher) begin(start time.Time) {
	w.began = true
	go func() {
		defer close(w.done)
		if !w.sleep(start.Add(max(0, w.warmup-beforeWindow))) {
			return
		}
		first, pids := readClocks(w.pid, w.cpus.server), family(w.pid)
		w.first = &first
		w.family.Store(&pids)
		if w.count == nil {
			return
		}
		w.counts[0], w.counted[0] = w.count(), time.Now()
		if w.sleep(start.Add(w.warmup + w.window)) {
			w.counts[1], w.counted[1] = w.count(), time.Now()
		}
	}()
}

// moments are when the load is to call moment.
func (w *watcher) moments() []time.Duration { return []time.Duration{w.warmup, w.warmup + w.window} }

// moment is called by the load itself at both ends of the window.
func (w *watcher) moment(i int) {
	pids := w.family.Load()
	if pids == nil || w.pid <= 0 {
		return
	}
	r := quickReading{at: time.Now(), load: processCPU(os.Getpid())}
	for _, pid := range *pids {
		own := processCPU(pid)
		if own < 0 {
			return // it has ended
		}
		r.server += own
	}
	w.exact[i] = r
}

// closing is called when every request has its outcome, and connections are still open.
func (w *watcher) closing() {
	last := readClocks(w.pid, w.cpus.server)
	w.last, w.footprint = &last, footprint(w.pid)
}

// sleep waits until a time, and reports whether it came before the context's end.
func (w *watcher) sleep(until time.Time) bool {
	alarm := time.NewTimer(time.Until(until))
	defer alarm.Stop()
	select {
	case <-alarm.C:
		return true
	case <-w.ctx.Done():
		return false
	}
}

// abandon ends the watch of an attack that has failed.
func (w *watcher) abandon() {
	w.cancel()
	w.end()
}

// end returns the change over the window: CPU times as they were at its ends, all else
// scaled to it from the time between the readings. All of it is unknown when the attack
// never began or did not come to its end.
func (w *watcher) end() reading {
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
	used := w.last.since(*w.first)
	scale := w.window.Seconds() / w.last.at.Sub(w.first.at).Seconds()
	for _, v := range []*float64{&used.server, &used.runWait, &used.idle, &used.stolen, &used.load, &used.steal, &used.throttled, &used.pressure, &used.voluntary, &used.involuntary} {
		if *v > 0 {
			*v *= scale
		}
	}
	used.spanServer, used.spanLoad = used.server, used.load
	if a, b := w.exact[0], w.exact[1]; !a.at.IsZero() && b.at.After(a.at) && used.server >= 0 {
		scale = w.window.Seconds() / b.at.Sub(a.at).Seconds()
		used.server, used.load = scale*max(0, b.server-a.server), scale*max(0, b.load-a.load)
	}
	return used
}

// connections are the counters' change over the window, after end; nil when
// they were not asked for or could not be read. An overloaded server may answer a
// scrape most of a second late, so the change is scaled from the time between the
// answers to the window.
func (w *watcher) connections() *record.Connections {
	first, last := w.counts[0], w.counts[1]
	if first == nil || last == nil {
		return nil
	}
	scale := w.window.Seconds() / w.counted[1].Sub(w.counted[0]).Seconds()
	change := func(name string) float64 {
		name = "schedlab_connections_" + name + "_total"
		return scale * (last[name] - first[name])
	}
	return &record.Connections{
		Accepted: change("accepted"), Done: change("done"), Open: last["schedlab_connections_open"],
	}
}
