package host

import (
	"os"
	"slices"
	"time"

	"github.com/prometheus/procfs"

	"schedlab/internal/record"
)

// lookEvery is the least time between two looks at all processes, which cost some
// milliseconds; they are taken between windows only.
const lookEvery = time.Second

// mostTold bounds what is told while a run goes on; the rest is in its result.
const mostTold = 4

// A Watchdog looks at the machine as a run goes on and tells of what takes its CPUs.
type Watchdog struct {
	meter *meter
	looks func() (look, bool)
	tell  func(record.Trouble)
	told  map[toldOf]bool
}

// toldOf is what is told of once.
type toldOf struct {
	cause    record.Cause
	cpu, pid int
}

// NewWatchdog takes the first look. tell may be nil.
func NewWatchdog(cpus Sides, tell func(record.Trouble)) *Watchdog {
	w := &Watchdog{meter: newMeter(os.Getpid(), cpus), looks: lookAtMachine, tell: tell, told: map[toldOf]bool{}}
	w.look()
	return w
}

func (w *Watchdog) look() {
	if now, ok := w.looks(); ok {
		w.meter.add(now)
	}
}

// Between is called between windows. Each cause is told once, when it has taken enough.
func (w *Watchdog) Between() {
	if w == nil || time.Since(w.meter.last.at) < lookEvery {
		return
	}
	w.look()
	w.report()
}

func (w *Watchdog) report() {
	o := w.meter.others()
	if o == nil || w.tell == nil || o.Seconds < toldAfter.Seconds() {
		return
	}
	for _, t := range o.Troubles {
		key := toldOf{t.Cause, t.CPU, t.PID}
		if t.Cause == record.Program {
			key.cpu = 0 // it may move
		}
		if matters(t) && !w.told[key] && len(w.told) < mostTold {
			w.told[key] = true
			w.tell(t)
		}
	}
}

// Guest makes a server that ran before the run a part of it.
func (w *Watchdog) Guest(pid int) {
	if w == nil || pid <= 0 || slices.Contains(w.meter.parts, pid) {
		return
	}
	w.meter.parts = append(w.meter.parts, pid)
	delete(w.meter.taken, pid)
}

// End takes the last look and sums up the whole run; nil where the machine does not tell.
func (w *Watchdog) End() *record.Others {
	w.look()
	return w.meter.others()
}

// lookAtMachine reads the kernel's counters; false where there are none.
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
	for cpu, s := range stat.CPU { // guests' time is in User and Nice already
		l.cpus[int(cpu)] = cpuTime{busy: s.User + s.Nice + s.System, idle: s.Idle + s.Iowait, irq: s.IRQ, softirq: s.SoftIRQ, steal: s.Steal}
	}
	if all, err := fs.AllProcs(); err == nil {
		l.programs = programs(all)
	}
	if threads, err := fs.AllThreads(os.Getpid()); err == nil {
		l.threads = programs(threads)
	}
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

// programs reads what processes or threads used; those that end meanwhile are left out.
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
