package host

import (
	"cmp"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"

	"schedlab/internal/shared/cpuset"
	"schedlab/internal/shared/record"
)

// A look holds the CPU times of the machine, in seconds since boot, at one moment.
//
// All figures of others are differences of two looks. A Watchdog takes a look between windows, and
// adds up the differences by their cause: hypervisor, interrupts, named programs, and the rest.
type look struct {
	at       time.Time
	cpus     map[int]cpuTime
	programs map[int]program // by pid, including this one
	threads  map[int]program // of this process, by thread id
	// packets is the number of packets that all CPUs took from their receive queues. loopback is the
	// number among them that came by the loopback device. Both are 0 when unknown.
	packets, loopback float64
}

// cpuTime holds the times of one CPU, in seconds. busy is user and system time without interrupts.
type cpuTime struct{ busy, idle, irq, softirq, steal float64 }

// A program is a process or a thread.
type program struct {
	name         string
	parent       int
	cpu          int     // CPU on which it ran last
	began        uint64  // start time; pid and start time identify a process
	used, waited float64 // CPU seconds of the program, and of the children it has waited for
}

// A Watchdog watches the machine during a run, adds up by program the CPU time used between its looks, and
// reports what takes CPU time from the run. It is not safe for concurrent use. A nil Watchdog does nothing.
type Watchdog struct {
	parts []int // pids of this process and of servers that ran before the run; their descendants are part of the run
	cpus  Sides
	tell  func(record.Trouble)    // may be nil
	told  map[record.Trouble]bool // by cause, CPU and program alone

	first, last look
	ours        float64 // CPU time of this process, its children and the other parts
	own         float64 // of that, this process alone
	taken       map[taker]float64
	names       map[int]string // of the other programs, by pid; the last one counts if a program changes its name
	ended       endedPrograms
}

// A taker used CPU time: a program outside the run on one of the CPUs in use, the kernel's softirq thread
// of a CPU, or this process's own threads. cpu is the CPU where it was seen, pid is 0 but for a program.
type taker struct {
	cause    record.Cause
	pid, cpu int
}

// NewWatchdog returns a Watchdog that has taken its first look. tell is called from Between with each
// cause; it may be nil.
func NewWatchdog(cpus Sides, tell func(record.Trouble)) *Watchdog {
	w := newWatchdog(os.Getpid(), cpus, tell)
	w.add(lookAtMachine())
	return w
}

// newWatchdog returns a Watchdog without a look, for a run of the process self and its descendants.
func newWatchdog(self int, cpus Sides, tell func(record.Trouble)) *Watchdog {
	return &Watchdog{
		parts: []int{self}, cpus: cpus, tell: tell, told: map[record.Trouble]bool{},
		taken: map[taker]float64{}, names: map[int]string{}, ended: newEndedPrograms(),
	}
}

// add adds the next look, unless the machine did not tell its counters. The time that a program used
// since the last look counts for the CPU on which the program is seen now.
func (w *Watchdog) add(now look) {
	if len(now.cpus) == 0 {
		return
	}
	if len(w.last.cpus) == 0 {
		w.first, w.last = now, now
		return
	}
	w.ours += max(0, w.oursUntil(now)-w.oursUntil(w.last))
	w.own += max(0, since(now.programs[w.parts[0]], w.last.programs, w.parts[0]))
	w.ended.add(w.last, now, w.parts)
	inUse := w.used(now)
	for pid, p := range now.programs {
		used := since(p, w.last.programs, pid)
		// Only time on the CPUs in use disturbs the run.
		if used <= 0 || now.descends(pid, w.parts) || !slices.Contains(inUse, p.cpu) {
			continue
		}
		by := taker{record.Program, pid, p.cpu}
		if number, ok := strings.CutPrefix(p.name, "ksoftirqd/"); ok {
			by = taker{cause: record.SoftIRQ}
			by.cpu, _ = strconv.Atoi(number)
		}
		w.taken[by] += used
		w.names[pid] = p.name
	}
	for tid, t := range now.threads { // the load's own, by the CPU where each ran last
		w.taken[taker{cause: record.Own, cpu: t.cpu}] += max(0, since(t, w.last.threads, tid))
	}
	w.last = now
}

// since returns the CPU time that a program used after an earlier look.
func since(p program, earlier map[int]program, id int) float64 {
	// A pid that was used again belongs to another program, with another start time.
	if before, ok := earlier[id]; ok && before.began == p.began {
		return p.used - before.used
	}
	return p.used
}

// oursUntil returns the CPU time of all processes of the run up to a look, including ended ones that
// were waited for.
func (w *Watchdog) oursUntil(l look) (sum float64) {
	for pid, p := range l.programs {
		if l.descends(pid, w.parts) {
			sum += p.used + p.waited
		}
	}
	return sum
}

// descends reports whether a process is one of from, or a descendant of one.
func (l look) descends(pid int, from []int) bool {
	// Processes change while they are read, so parents could form a circle. The loop ends in any case.
	for range len(l.programs) {
		if slices.Contains(from, pid) {
			return true
		}
		p, ok := l.programs[pid]
		if !ok {
			return false
		}
		pid = p.parent
	}
	return false
}

// used returns the CPUs of server and load, ascending; all CPUs if they are not bound.
func (w *Watchdog) used(l look) (set cpuset.Set) {
	server, load := w.sets(l)
	set = slices.Concat(server, load)
	slices.Sort(set)
	return slices.Compact(set)
}

// sets returns the CPUs of the server and of the load; all CPUs for either if they are not bound.
func (w *Watchdog) sets(l look) (server, load cpuset.Set) {
	if len(w.cpus.Server)+len(w.cpus.Load) == 0 || !w.cpus.Pin {
		all := cpuset.Set(slices.Sorted(maps.Keys(l.cpus)))
		return all, all
	}
	return w.cpus.Server, w.cpus.Load
}

// side returns which side uses a CPU: the server, the load, or both.
func (w *Watchdog) side(cpu int) record.Side {
	server, load := slices.Contains(w.cpus.Server, cpu), slices.Contains(w.cpus.Load, cpu)
	switch {
	// A CPU of both sides, or of neither, belongs to no single side.
	case !w.cpus.Pin || w.cpus.Shared || server == load:
		return record.BothSides
	case server:
		return record.ServerSideCPU
	}
	return record.LoadSideCPU
}

// leastShare is the smallest ratio of a CPU's time for which a cause is recorded.
const leastShare = .001

// others returns the sum of all looks; nil before the second look.
func (w *Watchdog) others() *record.Others {
	span := w.last.at.Sub(w.first.at).Seconds()
	if span <= 0 {
		return nil
	}
	o := &record.Others{Seconds: span, Troubles: []record.Trouble{}}
	server, load := w.sets(w.last)
	used := w.used(w.last)
	// tell adds a cause by the seconds that it took on each CPU.
	tell := func(t record.Trouble, on map[int]float64) {
		t.Server, t.Load = share(on, server, span), share(on, load, span)
		if t.Share >= leastShare {
			o.Troubles = append(o.Troubles, t)
		}
	}
	strange := w.strangePackets()
	busy := map[int]float64{} // of the CPUs in use, without interrupts
	for cpu, now := range w.last.cpus {
		// Steal is over all CPUs of the machine; the causes below are of the CPUs in use.
		then := w.first.cpus[cpu]
		o.Steal += max(0, now.steal-then.steal) / span / float64(len(w.last.cpus))
		if !slices.Contains(used, cpu) {
			continue
		}
		softirqd := w.taken[taker{cause: record.SoftIRQ, cpu: cpu}]
		busy[cpu] = now.busy - then.busy - softirqd
		lost := func(cause record.Cause, seconds float64) {
			tell(record.Trouble{Cause: cause, CPU: cpu, Side: w.side(cpu), Share: seconds / span}, map[int]float64{cpu: seconds})
		}
		lost(record.Stolen, now.steal-then.steal)
		lost(record.Interrupt, now.irq-then.irq)
		// Only the share of packets from outside counts: the rest is the load's own traffic.
		lost(record.SoftIRQ, strange*(now.softirq-then.softirq+softirqd))
		// This process belongs on the load's CPUs. Its threads on a server's CPU disturb the server.
		if w.side(cpu) == record.ServerSideCPU {
			lost(record.Own, w.taken[taker{cause: record.Own, cpu: cpu}])
		}
	}
	named, unnamed := w.accounted(busy)
	for _, p := range named {
		// A program counts as a whole, for the CPU where it was seen most; ties go to the lower CPU.
		cpu, most, all := 0, -1., 0.
		for _, at := range slices.Sorted(maps.Keys(p.on)) {
			if all += p.on[at]; p.on[at] > most {
				cpu, most = at, p.on[at]
			}
		}
		t := record.Trouble{Cause: record.Program, CPU: cpu, Side: w.side(cpu), Share: all / span, Program: p.name}
		t.PID, t.Parent, t.Processes = w.processesOf(p)
		tell(t, p.on)
	}
	rest := record.Trouble{Cause: record.Passing, CPU: -1, Side: record.BothSides, Share: sum(unnamed) / span / float64(max(len(used), 1))}
	tell(rest, unnamed)
	slices.SortStableFunc(o.Troubles, largestFirst)
	return o
}

// sum returns the sum of the seconds on all CPUs.
func sum(on map[int]float64) (seconds float64) {
	for _, cpu := range slices.Sorted(maps.Keys(on)) { // in order, because a sum of floats depends on it
		seconds += on[cpu]
	}
	return seconds
}

// share returns the ratio of the time of a set of CPUs, over a span of seconds, that was taken on them.
func share(on map[int]float64, set cpuset.Set, span float64) (ratio float64) {
	for _, cpu := range set {
		ratio += on[cpu] / span / float64(len(set))
	}
	return max(0, ratio)
}

// largestFirst orders causes by descending share. Ties are ordered too, so that reports are stable.
func largestFirst(a, b record.Trouble) int {
	return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Cause, b.Cause), cmp.Compare(a.CPU, b.CPU), cmp.Compare(a.Program, b.Program))
}

// strangePackets returns the ratio of the packets that did not come by loopback, 0 when unknown. The
// kernel counts soft interrupts for all packets together; the loopback packets belong to the load.
func (w *Watchdog) strangePackets() float64 {
	all, own := w.last.packets-w.first.packets, w.last.loopback-w.first.loopback
	if all <= 0 {
		return 0
	}
	return min(1, max(0, 1-own/all))
}

// Between takes a look, at most one a second, and reports new causes: up to four, since the result holds all. A
// look at all processes costs some milliseconds, so call it between windows. A cause is reported once, when
// it has taken enough CPU time.
func (w *Watchdog) Between() {
	if w == nil || time.Since(w.last.at) < time.Second {
		return
	}
	w.add(lookAtMachine())
	w.report()
}

// report calls tell with each new cause that matters, once it has been watched for three seconds.
func (w *Watchdog) report() {
	o := w.others()
	if o == nil || w.tell == nil || o.Seconds < 3 {
		return
	}
	for _, t := range o.Troubles {
		// A program, or the interrupts of a CPU, are reported once, however large they grow later.
		key := record.Trouble{Cause: t.Cause, CPU: t.CPU, Program: t.Program}
		least := .03 // of a CPU
		switch t.Cause {
		case record.Program:
			key.CPU = 0 // a program may move between CPUs
		case record.Passing:
			least = .10 // it is the difference of two clocks that tick at different times
		}
		if t.Share >= least && !w.told[key] && len(w.told) < 4 {
			w.told[key] = true
			w.tell(t)
		}
	}
}

// Guest makes a server that was already running, and its descendants, a part of the run.
func (w *Watchdog) Guest(pid int) {
	if w == nil || pid <= 0 || slices.Contains(w.parts, pid) {
		return
	}
	w.parts = append(w.parts, pid)
	// It may have been counted as a stranger.
	maps.DeleteFunc(w.taken, func(by taker, _ float64) bool { return by.pid == pid })
}

// SoFar returns the sum of all looks until now, without another look; nil where the machine does not tell.
func (w *Watchdog) SoFar() *record.Others {
	if w == nil {
		return nil
	}
	return w.others()
}

// End takes the last look and returns the sum over the whole run; nil where the machine does not tell.
func (w *Watchdog) End() *record.Others {
	if w == nil {
		return nil
	}
	w.add(lookAtMachine())
	return w.others()
}

// lookAtMachine reads the kernel's counters. Parts that cannot be read stay empty, such as the programs
// of other users with a hidden /proc; where there are no counters, all do.
func lookAtMachine() look {
	l := look{at: time.Now(), cpus: map[int]cpuTime{}}
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return l
	}
	stat, err := fs.Stat()
	if err != nil || len(stat.CPU) == 0 {
		return l
	}
	for cpu, s := range stat.CPU { // User and Nice include the time of guests
		l.cpus[int(cpu)] = cpuTime{busy: s.User + s.Nice + s.System, idle: s.Idle + s.Iowait, irq: s.IRQ, softirq: s.SoftIRQ, steal: s.Steal}
	}
	all, _ := fs.AllProcs()
	threads, _ := fs.AllThreads(os.Getpid())
	l.programs, l.threads = programs(all), programs(threads)
	// Packets are known only if both counters are, since their difference is used.
	queues, err := fs.NetSoftnetStat()
	devices, err2 := fs.NetDev()
	if err == nil && err2 == nil {
		for _, q := range queues {
			l.packets += float64(q.Processed)
		}
		l.loopback = float64(devices["lo"].RxPackets)
	}
	return l
}

// programs reads the CPU times of processes or threads. It leaves out any that end in the meantime.
func programs(all procfs.Procs) map[int]program {
	read := make(map[int]program, len(all))
	for _, p := range all {
		if s, err := p.Stat(); err == nil {
			read[p.PID] = program{
				name: s.Comm, parent: s.PPID, cpu: int(s.Processor), began: s.Starttime,
				used: float64(s.UTime+s.STime) / userHZ, waited: float64(s.CUTime+s.CSTime) / userHZ,
			}
		}
	}
	return read
}
