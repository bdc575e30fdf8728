package host

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/procfs"

	"schedlab/internal/shared/cgroup"
	"schedlab/internal/shared/cpuset"
	"schedlab/internal/shared/record"
)

// A Watcher reads the clocks of server, load and machine around a window. Reading all of them takes
// milliseconds of the load's CPU. It therefore happens before the window and after the load. At the
// window's ends the load itself reads two CPU clocks only, in a microsecond each.
//
// Set Count before Begin, and read Footprint after Closing. Call Connections and Counted after End.
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
	begun          sync.WaitGroup // Begin's goroutine
	first, last    *Reading
	family         atomic.Pointer[[]int] // the server's processes, when first was read
	exact          [2]Reading            // the CPU times of server and load at the window's ends; at is 0 where they were not read
	// Count reads the server's connection counters; nil if they are not wanted. counts holds the
	// counters at both ends of the window, nil where they could not be read. counted holds the times
	// of the replies.
	Count   func() map[string]float64
	counts  [2]map[string]float64
	counted [2]time.Time
	// Footprint is the server's memory, threads and processes when the last request had its outcome.
	Footprint *record.Footprint
}

// beforeWindow is how long before the window the clocks are read: it takes some milliseconds, and must
// be over when the window begins. With a shorter warm-up, they are read at the load's start.
const beforeWindow = 30 * time.Millisecond

// Watch returns a watcher for one window of the server pid. warmup is the time from the load's start
// to the window. The caller calls End, also if the load has failed; it waits for Begin's goroutine.
func Watch(ctx context.Context, pid int, cpus Sides, warmup, window time.Duration) *Watcher {
	w := &Watcher{pid: pid, cpus: cpus, warmup: warmup, window: window}
	w.ctx, w.cancel = context.WithCancel(ctx)
	return w
}

// Begin starts to watch in a goroutine. Call it once, with the load's start.
func (w *Watcher) Begin(start time.Time) {
	w.begun.Go(func() {
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
		// The second scrape runs during the load. Its time is recorded, so that the change can be scaled.
		if w.sleep(start.Add(w.warmup + w.window)) {
			w.counts[1], w.counted[1] = w.Count(), time.Now()
		}
	})
}

// Moments returns the times, from the load's start, at which the load calls Moment: the window's ends.
func (w *Watcher) Moments() []time.Duration { return []time.Duration{w.warmup, w.warmup + w.window} }

// Moment reads the CPU clocks of server and load. The load calls it with 0 at the start of the window
// and with 1 at its end.
// It costs a microsecond for each process, and reads nothing before Begin's goroutine has found them.
func (w *Watcher) Moment(i int) {
	pids := w.family.Load()
	if pids == nil || w.pid <= 0 {
		return
	}
	r := Reading{at: time.Now(), Load: ProcessCPU(os.Getpid())}
	for _, pid := range *pids {
		own := ProcessCPU(pid)
		if own < 0 {
			return // the process has ended
		}
		r.Server += own
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
	select {
	case <-time.After(time.Until(until)):
		return true
	case <-w.ctx.Done():
		return false
	}
}

// End returns the change over the window. CPU times of server and load are those read at its ends.
// All other values, and these if they could not be read, are scaled from the time between the
// readings to the window; listen overflows are not scaled. Everything is unknown if the load never
// began or did not finish.
func (w *Watcher) End() Reading {
	defer w.cancel()
	if w.last == nil { // the load has failed
		w.cancel()
	}
	w.begun.Wait()
	if w.first == nil || w.last == nil {
		return unread()
	}
	// The readings lie outside of the window. The events that they counted are taken as spread evenly over their time.
	used := w.last.Since(*w.first)
	scale := w.window.Seconds() / w.last.at.Sub(w.first.at).Seconds()
	overflows := used.overflows
	for _, v := range used.values() {
		if *v > 0 {
			*v *= scale
		}
	}
	used.overflows = overflows
	// Foreign needs all times of the same span. All others need the exact ones.
	used.Foreign = w.cpus.foreign(used, w.window.Seconds())
	if a, b := w.exact[0], w.exact[1]; !a.at.IsZero() && b.at.After(a.at) && used.Server >= 0 {
		scale = w.window.Seconds() / b.at.Sub(a.at).Seconds()
		used.Server, used.Load = scale*max(0, b.Server-a.Server), scale*max(0, b.Load-a.Load)
	}
	return used
}

// Connections returns the change of the connection counters over the window; nil if they were not
// wanted or could not be read. An overloaded server may answer a scrape most of a second late, so the
// change is scaled from the time between the replies to the window.
func (w *Watcher) Connections() *record.Connections {
	accepted, done := w.Counted("schedlab_connections_accepted_total"), w.Counted("schedlab_connections_done_total")
	if accepted == nil || done == nil {
		return nil
	}
	return &record.Connections{Accepted: *accepted, Done: *done, Open: w.counts[1]["schedlab_connections_open"]}
}

// Counted returns the growth of one of the server's counters in the window; nil if the server has
// none of that name or Count was not set.
func (w *Watcher) Counted(name string) *float64 {
	if _, has := w.counts[0][name]; !has || w.counts[1] == nil {
		return nil
	}
	// The replies may be further apart than the window is long, or less.
	return new(w.window.Seconds() / w.counted[1].Sub(w.counted[0]).Seconds() * (w.counts[1][name] - w.counts[0][name]))
}

// LoopBusy is the name of the server's counter of the CPU time of its event loops, in seconds.
const LoopBusy = "schedlab_loop_busy_seconds_total"

// A Reading holds the values of the machine's clocks and counters at one moment, or their change
// between two moments. Times are in seconds. A value is negative where the kernel does not tell it.
//
// readClocks makes one, Since the change between two. A value falls only by rounding, or because a
// process or thread has ended and took its count along.
type Reading struct {
	at        time.Time
	Server    float64 // CPU time of the server process and its children
	Idle      float64 // idle time of the server's CPUs, summed
	stolen    float64 // steal time of the server's CPUs, summed
	Load      float64 // CPU time of this process
	Steal     float64 // steal time of all CPUs, summed
	Throttled float64 // time in which CPU limits throttled this process's control groups
	Stopped   float64 // time in which its CPU limit stopped the server, summed over CPUs

	Foreign float64 // in a window: time of the server's CPUs that other programs took

	// Counts: the server's context switches, and the connections of the whole host that found an
	// accept queue full.
	voluntary, involuntary, overflows float64
	Stops                             float64 // periods in which the server used up its CPU limit
}

// values returns pointers to the values: the times first, and from kernelCounts on the counts.
func (r *Reading) values() []*float64 {
	return []*float64{&r.Server, &r.Idle, &r.stolen, &r.Load, &r.Steal, &r.Throttled, &r.Stopped, &r.voluntary, &r.involuntary, &r.overflows, &r.Stops}
}

const kernelCounts = 7

// unread returns a reading in which every value is unknown.
func unread() Reading {
	r := Reading{Foreign: -1}
	for _, v := range r.values() {
		*v = -1
	}
	return r
}

// readClocks reads all clocks of the server pid, of its CPUs, and of this process.
func readClocks(pid int, cpus cpuset.Set) Reading {
	r := Reading{
		at:        time.Now(),
		Server:    FamilyCPU(pid),
		Load:      ProcessCPU(os.Getpid()),
		Throttled: cgroup.Throttled(fromRoot).Seconds(),
		overflows: listenOverflows(),
	}
	r.Idle, r.stolen, r.Steal = cpuTimes(cpus)
	r.voluntary, r.involuntary = switches(pid)
	r.Stopped, r.Stops = -1, -1
	if stops, ok := cgroup.StopsOf(fromRoot, pid); ok {
		r.Stopped, r.Stops = stops.Time.Seconds(), float64(stops.Periods)
	}
	return r
}

// Since returns the change from an earlier reading to r. If either value is unknown, so is the change.
func (r Reading) Since(earlier Reading) Reading {
	var change Reading
	now, then := r.values(), earlier.values()
	for i, v := range change.values() {
		switch fall := *then[i] - *now[i]; {
		case *now[i] < 0 || *then[i] < 0:
			*v = -1
		case i >= kernelCounts && fall > 0: // threads ended, and their counts are gone
			*v = -1
		case i == 0 && fall > backwards: // child processes ended, and no parent waited for them
			*v = -1
		default: // rounding may make a time fall a little; that counts as no change
			*v = max(0, -fall)
		}
	}
	return change
}

// userHZ is the number of clock ticks per second in /proc/stat. Linux fixes it at 100 for user space.
const userHZ = 100

// cpuTimes returns the idle and steal time of the server's CPUs, and the steal time of all CPUs, each
// summed over CPUs, in seconds since boot. A value is negative where the kernel does not tell it.
func cpuTimes(server cpuset.Set) (idle, stolen, steal float64) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return -1, -1, -1
	}
	stat, err := fs.Stat()
	if err != nil {
		return -1, -1, -1
	}
	for _, cpu := range server {
		t, ok := stat.CPU[int64(cpu)]
		if !ok {
			return -1, -1, stat.CPUTotal.Steal // it may have been taken offline
		}
		idle, stolen = idle+t.Idle+t.Iowait, stolen+t.Steal
	}
	return idle, stolen, stat.CPUTotal.Steal
}

// fromRoot reads a file by its path without the leading slash.
func fromRoot(name string) string { return readFile("/" + name) }

// mostThreads is the largest number of threads for which context switches are read. Each costs some
// 20 µs of the load's CPU, a fifth of the time that procfs takes for the whole file. For a server
// with more threads, the counts are unknown.
const mostThreads = 128

// switches returns the context switches of all threads of a process and its children: voluntary
// ones, when a thread waited, and involuntary ones, when a thread was preempted. Both are negative
// when they are unknown. The counts of ended threads are lost.
func switches(pid int) (voluntary, involuntary float64) {
	if pid <= 0 {
		return -1, -1
	}
	threads := 0
	for _, p := range Family(pid) {
		tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", p))
		if err != nil {
			continue // it has ended
		}
		if threads += len(tasks); threads > mostThreads {
			return -1, -1
		}
		for _, t := range tasks {
			var v, i float64 // stay 0 if the thread has ended
			var word string
			_, counts, _ := strings.Cut(readFile(fmt.Sprintf("/proc/%d/task/%s/status", p, t.Name())), "\nvoluntary_ctxt_switches:")
			_, _ = fmt.Sscan(counts, &v, &word, &i)
			voluntary, involuntary = voluntary+v, involuntary+i
		}
	}
	if voluntary == 0 { // every thread waits at some time, so this kernel does not count
		return -1, -1
	}
	return voluntary, involuntary
}

// listenOverflows returns how many connections of this network namespace (the host's, or the
// container's) found an accept queue full; negative when unknown.
func listenOverflows() float64 {
	self, err := procfs.Self()
	if err != nil {
		return -1
	}
	net, err := self.Netstat()
	if err != nil || net.ListenOverflows == nil {
		return -1
	}
	return *net.ListenOverflows
}

// Kernel returns the kernel's counts of a change between two readings.
func (r Reading) Kernel() *record.Kernel {
	return &record.Kernel{Voluntary: r.voluntary, Involuntary: r.involuntary, ListenOverflows: r.overflows}
}
