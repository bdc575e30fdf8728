package host

import (
	"os"
	"slices"
	"time"

	"github.com/prometheus/procfs"

	"schedlab/internal/record"
)

// lookEvery is the shortest time between two looks at all processes. A look costs some milliseconds,
// and happens between windows only.
const lookEvery = time.Second

// mostTold limits the reports during a run. The result holds all causes.
const mostTold = 4

// A Watchdog watches the machine during a run and reports what takes CPU time from it. It is not safe
// for concurrent use. A nil Watchdog does nothing in Between and Guest.
type Watchdog struct {
	meter *meter
	looks func() (look, bool)
	tell  func(record.Trouble)
	told  map[toldOf]bool
}

// toldOf identifies a cause, which is reported once.
type toldOf struct {
	cause    record.Cause
	cpu, pid int
}

// NewWatchdog returns a Watchdog that has taken its first look. tell is called from Between with each
// cause; it may be nil.
func NewWatchdog(cpus Sides, tell func(record.Trouble)) *Watchdog {
	w := &Watchdog{meter: newMeter(os.Getpid(), cpus), looks: lookAtMachine, tell: tell, told: map[toldOf]bool{}}
	w.look()
	return w
}

// look adds one look to the meter, if the machine tells its counters.
func (w *Watchdog) look() {
	if now, ok := w.looks(); ok {
		w.meter.add(now)
	}
}

// Between takes a look and reports new causes. Call it between windows. A cause is reported once, when
// it has taken enough CPU time.
func (w *Watchdog) Between() {
	// Windows may be much shorter than the time that looks should be apart.
	if w == nil || time.Since(w.meter.last.at) < lookEvery {
		return
	}
	w.look()
	w.report()
}

// report calls tell with each new cause that matters, up to mostTold in all.
func (w *Watchdog) report() {
	o := w.meter.others()
	if o == nil || w.tell == nil || o.Seconds < toldAfter.Seconds() {
		return
	}
	for _, t := range o.Troubles {
		// One program or one CPU's interrupts are told once, however large they grow later.
		key := toldOf{t.Cause, t.CPU, t.PID}
		if t.Cause == record.Program {
			key.cpu = 0 // a program may move between CPUs
		}
		if matters(t) && !w.told[key] && len(w.told) < mostTold {
			w.told[key] = true
			w.tell(t)
		}
	}
}

// Guest makes a server that was already running a part of the run.
// Its descendants belong to the run too.
func (w *Watchdog) Guest(pid int) {
	if w == nil || pid <= 0 || slices.Contains(w.meter.parts, pid) {
		return
	}
	w.meter.parts = append(w.meter.parts, pid)
	// It may have been counted as a stranger before.
	delete(w.meter.taken, pid)
}

// End takes the last look and returns the sum over the whole run; nil where the machine does not tell.
// Unlike Between and Guest it needs a Watchdog that is not nil.
func (w *Watchdog) End() *record.Others {
	w.look()
	return w.meter.others()
}

// lookAtMachine reads the kernel's counters. It returns false where there are none.
//
// Parts that cannot be read stay empty, such as the programs of other users with a hidden /proc.
func lookAtMachine() (look, bool) {
	l := look{at: time.Now(), cpus: map[int]cpuTime{}}
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return l, false
	}
	stat, err := fs.Stat()
	if err != nil || len(stat.CPU) == 0 {
		return l, false
	}
	for cpu, s := range stat.CPU { // User and Nice include the time of guests
		l.cpus[int(cpu)] = cpuTime{busy: s.User + s.Nice + s.System, idle: s.Idle + s.Iowait, irq: s.IRQ, softirq: s.SoftIRQ, steal: s.Steal}
	}
	if all, err := fs.AllProcs(); err == nil {
		l.programs = programs(all)
	}
	if threads, err := fs.AllThreads(os.Getpid()); err == nil {
		l.threads = programs(threads)
	}
	// Packets are known only if both counters are, since their difference is used.
	queues, err := fs.NetSoftnetStat()
	devices, err2 := fs.NetDev()
	if err == nil && err2 == nil {
		for _, q := range queues {
			l.packets += float64(q.Processed)
		}
		l.loopback = float64(devices["lo"].RxPackets)
	}
	return l, true
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
