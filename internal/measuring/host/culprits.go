package host

import (
	"cmp"
	"maps"
	"slices"

	"schedlab/internal/shared/cpuset"
	"schedlab/internal/shared/record"
)

// endedPrograms has the CPU time of processes that started and ended between two looks, such as the many
// processes of a compiler. No look sees their whole time, and the kernel adds it to the process that waited for
// them.
//
// So the total time of a living process's ended children is exact, and their names are those of the children that
// a look happened to see.
type endedPrograms struct {
	time  map[int]float64           // by the pid of the process that waited: seconds that no look has seen
	seen  map[int]map[named]float64 // by the pid of an ancestor: seconds of descendants that a look has seen and that have ended
	heirs map[int]int               // by the pid of a process that has ended: the nearest ancestor that outlived it
	hosts map[int]named             // by the pid of an ancestor: its name, and the CPU where it ran last
}

// named is a program on a CPU.
type named struct {
	name string
	cpu  int
}

func newEndedPrograms() endedPrograms {
	return endedPrograms{time: map[int]float64{}, seen: map[int]map[named]float64{}, heirs: map[int]int{}, hosts: map[int]named{}}
}

// add takes the change from one look to the next. It leaves out the run's own processes, ours, and their descendants.
func (e endedPrograms) add(last, now look, ours []int) {
	alive := func(pid int) bool {
		p, is := now.programs[pid]
		return is && p.began == last.programs[pid].began
	}
	known := map[int]float64{} // by ancestor: what earlier looks have counted of the descendants that ended
	for pid, p := range last.programs {
		if alive(pid) || last.descends(pid, ours) {
			continue
		}
		heir := 0
		for parent, steps := p.parent, 0; steps < len(last.programs); steps++ {
			q, is := last.programs[parent]
			if !is {
				break
			}
			if e.seen[parent] == nil {
				e.seen[parent] = map[named]float64{}
			}
			e.seen[parent][named{p.name, p.cpu}] += p.used
			if heir == 0 && alive(parent) {
				heir = parent
			}
			parent = q.parent
		}
		if heir > 0 {
			e.heirs[pid] = heir
			known[heir] += p.used + p.waited
		}
	}
	for pid, p := range now.programs {
		waited := p.waited // of a process that began after the last look, all of it
		if alive(pid) {
			waited -= last.programs[pid].waited
		}
		if waited -= known[pid]; waited > 0 && !now.descends(pid, ours) {
			e.time[pid] += waited
			e.hosts[pid] = named{p.name, p.cpu}
		}
	}
}

// A sharer is all programs of one name: the seconds that they used on each CPU in use, and on all by process. A
// process that ended counts for the nearest ancestor that outlived it.
type sharer struct {
	name  string
	on    map[int]float64
	pids  map[int]float64 // of processes that the last look has seen
	short map[int]float64 // of processes that ended, by ancestor
	seen  int             // processes
}

// accounted divides the time for which CPUs were busy among the run, the programs that used most of it, and the
// rest. named has at most mostNamed programs, the largest first; unnamed is the rest of each CPU's time. Where
// it is unknown on which of several CPUs the rest was, they share it evenly.
func (w *Watchdog) accounted(busy map[int]float64) (largest []*sharer, unnamed map[int]float64) {
	all := map[string]*sharer{}
	of := func(name string) *sharer {
		if all[name] == nil {
			all[name] = &sharer{name: name, on: map[int]float64{}, pids: map[int]float64{}, short: map[int]float64{}}
		}
		return all[name]
	}
	counted := map[int]bool{}
	for by, seconds := range w.taken {
		if by.cause != record.Program {
			continue
		}
		s := of(w.names[by.pid])
		s.on[by.cpu] += seconds
		if !counted[by.pid] {
			counted[by.pid] = true
			s.seen++
		}
		if heir := w.heir(by.pid); heir == by.pid {
			s.pids[by.pid] += seconds
		} else {
			s.short[heir] += seconds
		}
	}
	// Programs that ended cannot have used more time than is left.
	unnamed = w.left(busy, all)
	ended := w.ended.divided()
	sums := map[int]float64{}
	for _, e := range ended {
		sums[e.cpu] += e.seconds
	}
	for _, e := range ended {
		left, is := unnamed[e.cpu]
		if seconds := e.seconds * min(1, max(0, left)/sums[e.cpu]); is && seconds > 0 {
			s := of(e.name)
			s.on[e.cpu] += seconds
			s.short[w.heir(e.ancestor)] += seconds
		}
	}
	for cpu, seconds := range sums {
		if _, is := unnamed[cpu]; is {
			unnamed[cpu] -= min(seconds, max(0, unnamed[cpu]))
		}
	}
	largest = slices.SortedFunc(maps.Values(all), func(a, b *sharer) int {
		return cmp.Or(cmp.Compare(sum(b.on), sum(a.on)), cmp.Compare(a.name, b.name))
	})
	for _, small := range largest[min(len(largest), mostNamed):] {
		for cpu, seconds := range small.on {
			unnamed[cpu] += seconds
		}
	}
	return largest[:min(len(largest), mostNamed)], unnamed
}

// heir returns pid itself while the process runs, and else its nearest known ancestor that outlived it.
func (w *Watchdog) heir(pid int) int {
	for range len(w.ended.heirs) + 1 { // which could form a circle, if pids are used again
		next, known := w.ended.heirs[pid]
		if _, alive := w.last.programs[pid]; alive || !known {
			break
		}
		pid = next
	}
	return pid
}

// mostNamed is the largest number of programs that are named. The rest counts in one sum.
const mostNamed = 8

// left returns the time for which each CPU was busy less the time of the run and of these programs. The rest is
// shared evenly among the servers' CPUs, and likewise among the load's; if the two have CPUs in common, among all.
func (w *Watchdog) left(busy map[int]float64, programs map[string]*sharer) map[int]float64 {
	server, load := w.sets(w.last)
	groups := []cpuset.Set{server, load}
	// Divide the run's own time. This process ran on the load's CPUs, apart from threads that were seen on a
	// server's CPU. All other processes of the run ran on the servers' CPUs.
	strayed := 0.
	for _, cpu := range server {
		strayed += w.taken[taker{cause: record.Own, cpu: cpu}]
	}
	ours := []float64{w.ours - w.own + strayed, w.own - strayed}
	if len(server.Without(load)) < len(server) {
		groups, ours = []cpuset.Set{w.used(w.last)}, []float64{w.ours}
	}
	left := map[int]float64{}
	for i, group := range groups {
		seconds := -ours[i]
		for _, cpu := range group {
			seconds += busy[cpu]
			for _, p := range programs {
				seconds -= p.on[cpu]
			}
		}
		for _, cpu := range group {
			left[cpu] = seconds / float64(len(group))
		}
	}
	return left
}

// An endedShare is CPU time of programs that ended between two looks. ancestor is the pid of the process that
// waited for them.
type endedShare struct {
	named
	ancestor int
	seconds  float64
}

// divided divides the time that no look has seen among the programs that were seen to end below the same ancestor. The
// ancestor itself gets the time if no such program was seen.
func (e endedPrograms) divided() (all []endedShare) {
	for pid, seconds := range e.time {
		seen := 0.
		for _, used := range e.seen[pid] {
			seen += used
		}
		if seen == 0 {
			all = append(all, endedShare{e.hosts[pid], pid, seconds})
			continue
		}
		for program, used := range e.seen[pid] {
			all = append(all, endedShare{program, pid, seconds * used / seen})
		}
	}
	return all
}

// processesOf returns the process that took most of a program's time. If most of it is of processes that ended, that
// is the process that started them, and parent its name. seen is the number of processes, if it is more than one.
func (w *Watchdog) processesOf(p *sharer) (pid int, parent string, seen int) {
	most := func(by map[int]float64) (pid int) {
		for _, id := range slices.Sorted(maps.Keys(by)) {
			if pid == 0 || by[id] > by[pid] {
				pid = id
			}
		}
		return pid
	}
	if p.seen > 1 {
		seen = p.seen
	}
	if sum(p.short) <= sum(p.pids) {
		return most(p.pids), "", seen
	}
	pid = most(p.short)
	if parent = w.last.programs[pid].name; parent == p.name {
		parent = ""
	}
	return pid, parent, seen
}
