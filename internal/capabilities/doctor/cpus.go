package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"schedlab/internal/shared/cgroup"
	"schedlab/internal/shared/cpuset"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/record"
)

// used returns the CPUs of server and load, ascending, without duplicates. It is empty if neither
// was told.
//
// The checks of this file are about these CPUs: how server and load share them (cpus, siblings),
// how much of them a control group allows (cpuLimit), how fast they run (governor), and who else
// takes time of them (others, steal, pressure).
func (m *Machine) used() cpuset.Set { return union(m.ServerCPUs, m.LoadCPUs) }

func union(sets ...cpuset.Set) cpuset.Set {
	all := slices.Concat(sets...)
	slices.Sort(all)
	return slices.Compact(all)
}

// shared reports whether server and load have a CPU in common.
func (m *Machine) shared() bool {
	return len(m.ServerCPUs.Without(m.LoadCPUs)) < len(m.ServerCPUs)
}

// cpus judges the split of CPUs between server and load. One CPU for both is bad, and so is a
// pinned load that has all CPUs of the server. Sharing some, or sharing without pinning, is a
// warning.
func (m *Machine) cpus() Finding {
	used := m.used()
	online, _ := cpuset.Parse(m.text("sys/devices/system/cpu/online")) // empty if the machine does not tell
	sides := cpuSides{Server: m.ServerCPUs.String(), Load: m.LoadCPUs.String(), Used: used.String()}
	// partly is "" if server and load share no CPU, or if the load has all CPUs of the server.
	partly := cpuset.Shared(m.ServerCPUs, m.LoadCPUs).String()
	switch half := len(used) / 2; {
	case len(used) == 0:
		return untold(nil)
	case len(used) == 1:
		return fine(cpusOne.Of(oneCPU{sides, len(online), online.String()})).graded(true, false)
	case partly != "" && m.Pinned:
		return fine(cpusPartlyShared.Of(cpusInCommon{sides, partly})).graded(false, true)
	case m.shared() && m.Pinned:
		return fine(cpusShared.Of(cpusMixed{sides, used[:half].String(), used[half:].String()})).graded(true, false)
	case !m.Pinned:
		return fine(cpusUnpinned.Of(sides)).graded(false, true)
	}
	return fine(cpusApart.Of(cpuSplit{sides, len(m.ServerCPUs)}))
}

// siblings looks for a core with one hardware thread used by the server and another by the load. A
// core that both sides use with the same threads is the check "cpus"'s affair.
func (m *Machine) siblings() Finding {
	cores, known := m.cores()
	if !known {
		return untold(nil)
	}
	for _, core := range cores {
		// The threads of the core that each side uses.
		server, load := core.Without(core.Without(m.ServerCPUs)), core.Without(core.Without(m.LoadCPUs))
		if len(server) == 0 || len(load) == 0 || slices.Equal(server, load) {
			continue
		}
		v := coreMixed{Server: server.String(), Load: load.String()}
		// The fix is to deal out whole cores: half of them to each side.
		if half := len(cores) / 2; half > 0 {
			v.First, v.Second = union(cores[:half]...).String(), union(cores[half:]...).String()
		}
		return fine(coreShared.Of(v)).graded(false, true)
	}
	return fine(coresApart.Of(coreSplit{Shared: m.shared()}))
}

// turns returns the number of the CPU on which server and load take turns, and the fact of the check
// "cpus"; "" and nil if they do not take turns. It compares the first CPUs of both sides, because the timing
// checks use these. The timing checks put the fact into their own facts, so that they give its fix.
func (m *Machine) turns() (cpu string, mend []fact.Fact) {
	if len(m.ServerCPUs) == 0 || len(m.LoadCPUs) == 0 || m.ServerCPUs[0] != m.LoadCPUs[0] {
		return "", nil
	}
	return strconv.Itoa(m.ServerCPUs[0]), []fact.Fact{m.cpus().Fact}
}

// cores groups the CPUs in use by core: the hardware threads of each core, ascending. Threads that
// neither side uses are left out. known is false if the machine does not tell.
func (m *Machine) cores() (cores []cpuset.Set, known bool) {
	used := m.used()
	for _, cpu := range used {
		threads, err := cpuset.Parse(m.text(fmt.Sprintf("sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu)))
		if err != nil {
			return nil, false
		}
		ours := threads.Without(threads.Without(used))
		if len(ours) > 0 && ours[0] == cpu { // add each core once, at its first thread
			cores = append(cores, ours)
		}
	}
	return cores, len(cores) > 0
}

// cpuLimit looks for a CPU quota of this process's cgroup, or of one above it. The smallest quota
// counts. It is bad if it is less than the CPUs in use: the kernel then stops server and load
// together.
func (m *Machine) cpuLimit() Finding {
	if m.text(cgroup.Self) == "" {
		return untold(nil)
	}
	least, where, limited := cgroup.Least(m.text)
	if !limited {
		return fine(cpuLimit.Of(cpuQuota{}))
	}
	used := len(m.used())
	return fine(cpuLimit.Of(cpuQuota{Limit: least, Used: used, File: where})).graded(least < float64(used), false)
}

// governor warns of a frequency governor other than performance, and of turbo. Both let the clock
// rate depend on the load, and turbo on the temperature, too.
func (m *Machine) governor() Finding {
	governors := map[string]cpuset.Set{}
	for _, cpu := range m.used() {
		if g := m.text(fmt.Sprintf("sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor", cpu)); g != "" {
			governors[g] = append(governors[g], cpu)
		}
	}
	var good, bad []fact.Fact
	var v clockRates
	for _, g := range slices.Sorted(maps.Keys(governors)) {
		f := governor.Of(governed{Governor: g, CPUs: governors[g].String()})
		if g == "performance" {
			good = append(good, f)
		} else {
			bad = append(bad, f)
			v.Governors++
		}
	}
	turbo := func(now string) fact.Fact { return governor.Of(governed{Turbo: now}) }
	// Intel's driver has a switch that turns turbo off, the others one that turns it on.
	for _, t := range []struct{ file, on, off string }{
		{"sys/devices/system/cpu/intel_pstate/no_turbo", "0", "1"},
		{"sys/devices/system/cpu/cpufreq/boost", "1", "0"},
	} {
		switch m.text(t.file) {
		case t.on:
			bad = append(bad, turbo("on"))
			v.Turbo, v.Off = t.file, t.off
		case t.off:
			good = append(good, turbo("off"))
		}
	}
	if len(bad)+len(good) == 0 {
		return untold(nil)
	}
	return fine(clockRate.Of(v), slices.Concat(bad, good)...).graded(false, len(bad) > 0)
}

// Limits on the CPU time that other programs may take of the CPUs in use, in CPUs.
const (
	// Above someForeign the check warns, above muchForeign it is bad. mostNamed is how many
	// programs it names.
	someForeign = .05
	muchForeign = .25
	mostNamed   = 5
)

// tick is the resolution of the CPU times that Linux shows to user space: USER_HZ is 100.
const tick = 10 * time.Millisecond

// others looks for programs other than this one on the CPUs in use. The load average is only told: it
// covers all CPUs.
func (m *Machine) others() Finding {
	o := m.Others
	if o == nil {
		return untold(nil)
	}
	// A ratio of less than 2.5 ticks cannot be told from 0.
	least := max(someForeign, 2.5*tick.Seconds()/o.Seconds)
	sum, unseen := 0.0, 0.0
	var found []fact.Fact
	var pids []string
	for _, t := range o.Troubles {
		switch t.Cause {
		case record.Passing:
			unseen = t.Share * float64(len(m.used()))
		case record.Program:
			sum += t.Share
			// The list begins with the busiest. A program that takes a trifle is not worth a name.
			if len(pids) < mostNamed && t.Share > someForeign/mostNamed {
				pids = append(pids, strconv.Itoa(t.PID))
				found = append(found, programNow.Of(busyProgram{Program: t.Program, PID: t.PID, CPU: t.CPU, Share: t.Share}))
			}
		}
	}
	if sum <= least { // no program is in the way; if sum is larger and pids is empty, many small programs run
		pids = nil
	}
	// Programs of another container, or of the host, show only as CPU time that no visible program
	// used.
	if unseen > muchForeign {
		at := len(found)
		if unseen > sum { // the larger comes first, since a headline has room for one
			at = 0
		}
		found = slices.Insert(found, at, unseenNow.Of(unseenPrograms{unseen}))
		sum += unseen
	}
	if average, _, ok := strings.Cut(m.text("proc/loadavg"), " "); ok {
		found = append(found, loadAverage.Of(averages{average}))
	}
	return fine(othersNow.Of(lookedAt{Watched: o.Seconds, PIDs: strings.Join(pids, " ")}), found...).
		graded(sum > muchForeign, sum > least)
}

// leastSteal is the least steal that is printed as more than 0.0 %.
const leastSteal = .0005

// steal judges the ratio of CPU time that the hypervisor took.
func (m *Machine) steal() Finding {
	if m.Others == nil {
		return untold(nil)
	}
	return fine(stealNow.Of(stolenTime{Share: m.stolen(), Watched: m.Others.Seconds})).
		graded(m.stolen() > .10, m.stolen() > .01)
}

// stolen returns the ratio of the time of the CPUs in use that the hypervisor took: the larger one of
// Others and Loaded.
func (m *Machine) stolen() float64 {
	sum := func(o *record.Others) (sum float64) {
		if o == nil {
			return 0
		}
		for _, t := range o.Troubles {
			if t.Cause == record.Stolen {
				sum += t.Share
			}
		}
		return sum
	}
	return max(sum(m.Others), sum(m.Loaded)) / float64(max(len(m.used()), 1))
}

// pressure warns if tasks waited for CPU or memory in the last ten seconds (pressure stall
// information, Documentation/accounting/psi.rst of the Linux kernel).
func (m *Machine) pressure() Finding {
	cpu, ok := pressed(m.text("proc/pressure/cpu"))
	memory, ok2 := pressed(m.text("proc/pressure/memory"))
	if !ok || !ok2 {
		return untold(nil)
	}
	// Waiting for a CPU is common on a machine in use; waiting for memory means that the kernel is
	// short of it.
	short := memory > .01
	return fine(pressure.Of(pressures{CPU: cpu, Memory: memory, ShortOfMemory: short})).
		graded(false, short || cpu > .20)
}

// pressed returns the ratio of a first line like "some avg10=0.00 avg60=...", which is in percent.
func pressed(text string) (ratio float64, ok bool) {
	_, err := fmt.Sscanf(text, "some avg10=%f", &ratio)
	return ratio / 100, err == nil
}
