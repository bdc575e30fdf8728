package doctor

import (
	"fmt"
	"maps"
	"slices"

	"schedlab/internal/cgroup"
	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// used returns the CPUs of server and load, ascending, without duplicates. It is empty if neither
// was told.
//
// The checks of this file are about these CPUs: how server and load share them (cpus, siblings),
// how much of them a control group allows (cpuLimit), and how fast they run (governor).
func (m *Machine) used() []int {
	all := slices.Sorted(slices.Values(slices.Concat(m.ServerCPUs, m.LoadCPUs)))
	return slices.Compact(all)
}

// shared reports whether server and load have a CPU in common.
func (m *Machine) shared() bool {
	return slices.ContainsFunc(m.ServerCPUs, func(cpu int) bool { return slices.Contains(m.LoadCPUs, cpu) })
}

// cpus judges the split of CPUs between server and load. One CPU for both is bad, and so is a
// pinned load that has all CPUs of the server. Sharing some, or sharing without pinning, is a
// warning.
func (m *Machine) cpus() seen {
	used := m.used()
	online, _ := record.ParseCPUs(m.text("sys/devices/system/cpu/online")) // empty if the machine does not tell
	names := record.Names{"server": listed(m.ServerCPUs), "load": listed(m.LoadCPUs), "used": listed(used)}
	// partly is "" if server and load share no CPU, or if the load has all CPUs of the server.
	partly := listed(record.Shared(m.ServerCPUs, m.LoadCPUs))
	switch half := len(used) / 2; {
	case len(used) == 0:
		return untold(nil)
	case len(used) == 1:
		names["online"] = listed(online)
		return fine(cpusOne, record.Values{"online": float64(len(online))}, names).graded(true, false)
	case partly != "" && m.Pinned:
		names["shared"] = partly
		return fine(cpusPartlyShared, nil, names).graded(false, true)
	case m.shared() && m.Pinned:
		names["first"], names["second"] = listed(used[:half]), listed(used[half:])
		return fine(cpusShared, nil, names).graded(true, false)
	case !m.Pinned:
		return fine(cpusUnpinned, nil, names).graded(false, true)
	}
	return fine(cpusApart, record.Values{"server": float64(len(m.ServerCPUs))}, names)
}

// siblings looks for a core with one hardware thread used by the server and another by the load. A
// core that both sides use with the same threads is the check "cpus"'s affair.
func (m *Machine) siblings() seen {
	cores, known := m.cores()
	if !known {
		return untold(nil)
	}
	for _, core := range cores {
		of := func(side []int) []int {
			return slices.DeleteFunc(slices.Clone(core), func(cpu int) bool { return !slices.Contains(side, cpu) })
		}
		server, load := of(m.ServerCPUs), of(m.LoadCPUs)
		if len(server) == 0 || len(load) == 0 || slices.Equal(server, load) {
			continue
		}
		names := record.Names{"server": listed(server), "load": listed(load)}
		// The fix is to deal out whole cores: half of them to each side.
		if half := len(cores) / 2; half > 0 {
			names["first"], names["second"] = listed(flat(cores[:half])), listed(flat(cores[half:]))
		}
		return fine(coreShared, nil, names).graded(false, true)
	}
	return fine(coresApart, record.Values{"shared": float64(stats.Count(m.shared()))}, nil)
}

// together reports whether the first CPUs of server and load, which the timing checks use, are the
// same CPU, and which.
func (m *Machine) together() (cpu int, yes bool) {
	if len(m.ServerCPUs) == 0 || len(m.LoadCPUs) == 0 {
		return 0, false
	}
	return m.ServerCPUs[0], m.ServerCPUs[0] == m.LoadCPUs[0]
}

// turns returns the finding of the check "cpus" if server and load take turns on a CPU: it is to be
// mended first. Otherwise it returns nil. Timing checks put it into their facts, so that their fix
// is the fix of that finding.
func (m *Machine) turns() []record.Fact {
	if _, together := m.together(); together {
		return []record.Fact{m.cpus().fact}
	}
	return nil
}

// cores groups the CPUs in use by core: the hardware threads of each core, ascending. Threads that
// neither side uses are left out. known is false if the machine does not tell.
func (m *Machine) cores() (cores [][]int, known bool) {
	used := m.used()
	for _, cpu := range used {
		threads, err := record.ParseCPUs(m.text(fmt.Sprintf("sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu)))
		if err != nil {
			return nil, false
		}
		ours := slices.DeleteFunc(threads, func(t int) bool { return !slices.Contains(used, t) })
		if len(ours) > 0 && ours[0] == cpu { // add each core once, at its first thread
			cores = append(cores, ours)
		}
	}
	return cores, len(cores) > 0
}

// flat returns the CPUs of all cores, ascending.
func flat(cores [][]int) []int { return slices.Sorted(slices.Values(slices.Concat(cores...))) }

// cpuLimit looks for a CPU quota of this process's cgroup, or of one above it. The smallest quota
// counts. It is bad if it is less than the CPUs in use: the kernel then stops server and load
// together.
func (m *Machine) cpuLimit() seen {
	if m.text(cgroup.Self) == "" {
		return untold(nil)
	}
	least, where, limited := cgroup.Least(m.text)
	if !limited {
		return fine(cpuLimit, nil, nil)
	}
	used := float64(len(m.used()))
	return fine(cpuLimit, record.Values{"limit": least, "used": used}, record.Names{"file": where}).graded(least < used, false)
}

// governor warns of a frequency governor other than performance, and of turbo. Both let the clock
// rate depend on the load, and turbo on the temperature, too.
func (m *Machine) governor() seen {
	governors := map[string][]int{}
	for _, cpu := range m.used() {
		if g := m.text(fmt.Sprintf("sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor", cpu)); g != "" {
			governors[g] = append(governors[g], cpu)
		}
	}
	var good, bad []record.Fact
	values, names := record.Values{}, record.Names{}
	for _, g := range slices.Sorted(maps.Keys(governors)) {
		f := record.Fact{Code: governor, Names: record.Names{"governor": g, "cpus": listed(governors[g])}}
		if g == "performance" {
			good = append(good, f)
		} else {
			bad = append(bad, f)
			values["governors"]++
		}
	}
	turbo := func(now string) record.Fact {
		return record.Fact{Code: governor, Names: record.Names{"turbo": now}}
	}
	// Intel's driver has a switch that turns turbo off, the others one that turns it on.
	for _, t := range []struct{ file, on, off string }{
		{"sys/devices/system/cpu/intel_pstate/no_turbo", "0", "1"},
		{"sys/devices/system/cpu/cpufreq/boost", "1", "0"},
	} {
		switch m.text(t.file) {
		case t.on:
			bad = append(bad, turbo("on"))
			names["turbo"], names["off"] = t.file, t.off
		case t.off:
			good = append(good, turbo("off"))
		}
	}
	if len(bad)+len(good) == 0 {
		return untold(nil)
	}
	return fine(clockRate, values, names, slices.Concat(bad, good)...).graded(false, len(bad) > 0)
}
