package host

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"schedlab/internal/record"
)

// A look is the CPU time that was used up to one moment, seconds since the machine's
// start.
type look struct {
	at       time.Time
	cpus     map[int]cpuTime
	programs map[int]program // by pid, this one among them
	threads  map[int]program // of this process, by thread id
	// packets are those that all CPUs took from their queues, loopback those of them
	// that never left the machine; both 0 where that is not told.
	packets, loopback float64
}

// cpuTime is that of one CPU.
type cpuTime struct{ busy, idle, irq, softirq, steal float64 }

// A program is a process or a thread.
type program struct {
	name         string
	parent       int
	cpu          int     // it ran on last
	began        uint64  // with its pid it tells one process from another
	used, waited float64 // CPU time of its own, and of the children it has waited for
}

// A meter adds up who used the CPUs of a run between its looks at the machine.
type meter struct {
	parts []int // pids of this process and of servers that ran before the run: what descends from them is part of it
	cpus  Sides

	looks       int
	first, last look
	ours        float64           // CPU time of this process, its children and the other parts
	taken       map[int]*consumer // of other programs on the CPUs in use, by pid
	softirqd    map[int]float64   // of the kernel's softirq threads, by CPU
	own         map[int]float64   // of this process's threads, by the CPU they were seen on
}

// A consumer is another program and the CPU time it took of the CPUs in use.
type consumer struct {
	name string
	on   map[int]float64 // by the CPU it was seen on
}

func newMeter(self int, cpus Sides) *meter {
	return &meter{parts: []int{self}, cpus: cpus, taken: map[int]*consumer{}, softirqd: map[int]float64{}, own: map[int]float64{}}
}

// add takes the next look. A program's time since the last one counts for the CPU that
// it is seen on now.
func (m *meter) add(now look) {
	m.looks++
	if m.looks == 1 {
		m.first, m.last = now, now
		return
	}
	m.ours += max(0, m.oursUntil(now)-m.oursUntil(m.last))
	for pid, p := range now.programs {
		used := since(p, m.last.programs, pid)
		cpu, daemon := softirqThread(p.name)
		switch {
		case used <= 0 || m.isOurs(now, pid) || !m.inUse(now, p.cpu):
		case daemon:
			m.softirqd[cpu] += used
		default:
			c := m.taken[pid]
			if c == nil {
				c = &consumer{on: map[int]float64{}}
				m.taken[pid] = c
			}
			c.name = p.name
			c.on[p.cpu] += used
		}
	}
	for tid, t := range now.threads {
		m.own[t.cpu] += max(0, since(t, m.last.threads, tid))
	}
	m.last = now
}

// since is the CPU time a program used after an earlier look.
func since(p program, earlier map[int]program, id int) float64 {
	if before, ok := earlier[id]; ok && before.began == p.began {
		return p.used - before.used
	}
	return p.used
}

// softirqThread reports whether a name is that of the kernel thread which does a CPU's
// soft interrupts, and which CPU that is.
func softirqThread(name string) (cpu int, ok bool) {
	number, ok := strings.CutPrefix(name, "ksoftirqd/")
	if !ok {
		return 0, false
	}
	cpu, err := strconv.Atoi(number)
	return cpu, err == nil
}

// oursUntil is the CPU time of this process and of all below it, also of those that have
// ended and were waited for.
func (m *meter) oursUntil(l look) (sum float64) {
	for pid, p := range l.programs {
		if m.isOurs(l, pid) {
			sum += p.used + p.waited
		}
	}
	return sum
}

// isOurs reports whether a process is part of the run: it descends from this one or from
// a server that ran before it.
func (m *meter) isOurs(l look, pid int) bool {
	return l.descends(pid, m.parts)
}

// descends reports whether a process is one of these, or comes from one.
func (l look) descends(pid int, from []int) bool {
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

// inUse reports whether server or load may run on a CPU.
func (m *meter) inUse(l look, cpu int) bool { return slices.Contains(m.used(l), cpu) }

// used are the CPUs of server and load; all there are where neither is bound.
func (m *meter) used(l look) (set record.CPUs) {
	if len(m.cpus.Server)+len(m.cpus.Load) == 0 || !m.cpus.Pin {
		for cpu := range l.cpus {
			set = append(set, cpu)
		}
	} else {
		set = slices.Concat(m.cpus.Server, m.cpus.Load)
	}
	slices.Sort(set)
	return slices.Compact(set)
}

// side says whose a CPU is.
func (m *meter) side(cpu int) record.Side {
	server, load := slices.Contains(m.cpus.Server, cpu), slices.Contains(m.cpus.Load, cpu)
	switch {
	case !m.cpus.Pin || m.cpus.Shared || server == load:
		return record.BothSides
	case server:
		return record.ServerSideCPU
	}
	return record.LoadSideCPU
}

// leastShare is what is recorded of a cause.
const leastShare = .001

// others sums up all looks; nil before the second.
func (m *meter) others() *record.Others {
	span := m.last.at.Sub(m.first.at).Seconds()
	if m.looks < 2 || span <= 0 || len(m.last.cpus) == 0 {
		return nil
	}
	o := &record.Others{Seconds: span, Troubles: []record.Trouble{}}
	add := func(t record.Trouble) {
		if t.Share >= leastShare {
			o.Troubles = append(o.Troubles, t)
		}
	}
	used := m.used(m.last)
	strange := m.strangePackets()
	unnamed := -m.ours
	for cpu, now := range m.last.cpus {
		then := m.first.cpus[cpu]
		o.Steal += max(0, now.steal-then.steal) / span / float64(len(m.last.cpus))
		if !slices.Contains(used, cpu) {
			continue
		}
		unnamed += now.busy - then.busy - m.softirqd[cpu]
		lost := func(cause record.Cause, seconds float64) {
			add(record.Trouble{Cause: cause, CPU: cpu, Side: m.side(cpu), Share: seconds / span})
		}
		lost(record.Stolen, now.steal-then.steal)
		lost(record.Interrupt, now.irq-then.irq)
		lost(record.SoftIRQ, strange*(now.softirq-then.softirq+m.softirqd[cpu]))
		if m.side(cpu) == record.ServerSideCPU {
			lost(record.Own, m.own[cpu])
		}
	}
	for _, t := range m.named(span) {
		unnamed -= t.Share * span
		add(t)
	}
	add(record.Trouble{Cause: record.Passing, CPU: -1, Side: record.BothSides, Share: unnamed / span / float64(max(len(used), 1))})
	slices.SortFunc(o.Troubles, largestFirst)
	return o
}

// mostNamed bounds the programs that are named; what others took is told in one sum.
const mostNamed = 8

// named are the programs that took the most over a span of seconds.
func (m *meter) named(span float64) (all []record.Trouble) {
	for pid, c := range m.taken {
		sum, most := 0., -1
		for cpu, seconds := range c.on {
			sum += seconds
			if most < 0 || seconds > c.on[most] || seconds == c.on[most] && cpu < most {
				most = cpu
			}
		}
		if sum/span >= leastShare {
			all = append(all, record.Trouble{Cause: record.Program, CPU: most, Side: m.side(most), Share: sum / span, Program: c.name, PID: pid})
		}
	}
	slices.SortFunc(all, largestFirst)
	return all[:min(len(all), mostNamed)]
}

func largestFirst(a, b record.Trouble) int {
	return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Cause, b.Cause), cmp.Compare(a.CPU, b.CPU), cmp.Compare(a.PID, b.PID))
}

// strangePackets is the share of the packets handled that were not loopback's: soft
// interrupts are counted for all packets together, and those of loopback are the load's
// own. 0 where it is not told.
func (m *meter) strangePackets() float64 {
	all, own := m.last.packets-m.first.packets, m.last.loopback-m.first.loopback
	if all <= 0 {
		return 0
	}
	return min(1, max(0, 1-own/all))
}

const (
	// toldShare is what a cause must take of a CPU to be told while the run goes on. What
	// cannot be named is a difference of two clocks that tick apart, so it must be more.
	toldShare, toldPassing = .03, .10
	// toldAfter is for how long a meter watches before it tells anything.
	toldAfter = 3 * time.Second
)

// matters reports whether a cause is worth telling of while the run goes on.
func matters(t record.Trouble) bool {
	if t.Cause == record.Passing {
		return t.Share >= toldPassing
	}
	return t.Share >= toldShare
}

// foreignTime is the CPU time, in seconds, that programs which are not part of the run
// took of so many CPUs in a window: what was neither idle, nor stolen by the hypervisor,
// nor used by the run's own. It is negative where a part is not known, as a negative one is.
func foreignTime(cpus int, window, idle, stolen, own float64) float64 {
	if idle < 0 || stolen < 0 || own < 0 {
		return -1
	}
	return max(0, float64(cpus)*window-idle-stolen-own)
}
