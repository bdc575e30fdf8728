package doctor

import (
	"fmt"
	"slices"
	"strings"

	"schedlab/internal/cgroup"
	"schedlab/internal/record"
)

// used are the CPUs of server and load, each once.
func (m *Machine) used() []int {
	all := slices.Sorted(slices.Values(slices.Concat(m.ServerCPUs, m.LoadCPUs)))
	return slices.Compact(all)
}

func (m *Machine) cpus() seen {
	used := m.used()
	if len(used) == 0 {
		return unknown("the CPUs that this process may use are not told here")
	}
	s := fine("server %s, load %s", listed(m.ServerCPUs), listed(m.LoadCPUs))
	shared := slices.ContainsFunc(m.ServerCPUs, func(cpu int) bool { return slices.Contains(m.LoadCPUs, cpu) })
	online, _ := record.ParseCPUs(m.text("sys/devices/system/cpu/online")) // none: not told
	switch {
	case len(used) == 1:
		s.state, s.found = Bad, fmt.Sprintf("one CPU only (%s): server and load share it", listed(used))
		s.fix = "use a machine with two CPUs or more"
		if len(online) > 1 {
			s.fix = fmt.Sprintf("%d CPUs are online: taskset -c %s schedlab ..., or a wider --cpuset-cpus of the container", len(online), listed(online))
		}
	case shared && m.Pinned && len(record.Shared(m.ServerCPUs, m.LoadCPUs)) > 0:
		s.state, s.found = Warn, fmt.Sprintf("the load shares CPU %s with the servers: %s", listed(record.Shared(m.ServerCPUs, m.LoadCPUs)), s.found)
		s.fix = "a question for two Ps (GOMAXPROCS) on two CPUs needs it; otherwise leave --server-cpus out"
	case shared && m.Pinned:
		s.state, s.found = Bad, "server and load share CPUs: "+s.found
		s.fix = fmt.Sprintf("give them CPUs of their own: --server-cpus %s --load-cpus %s", listed(used[:len(used)/2]), listed(used[len(used)/2:]))
	case !m.Pinned:
		s.state, s.found = Warn, fmt.Sprintf("server and load are not pinned and share CPUs %s", listed(used))
		s.fix = "--pin auto, on Linux"
	case len(m.ServerCPUs) == 1:
		s.found += ": one for the server, whose GOMAXPROCS is 1"
	}
	return s
}

// siblings looks for a core of which the server has one hardware thread and the
// load another.
func (m *Machine) siblings() seen {
	cores, known := m.cores()
	if !known {
		return unknown("which CPUs share a core is not told here")
	}
	for _, core := range cores {
		of := func(side []int) []int {
			return slices.DeleteFunc(slices.Clone(core), func(cpu int) bool { return !slices.Contains(side, cpu) })
		}
		server, load := of(m.ServerCPUs), of(m.LoadCPUs)
		if len(server) == 0 || len(load) == 0 || slices.Equal(server, load) {
			continue
		}
		s := seen{Warn, fmt.Sprintf("CPU %s of the server and %s of the load are threads of one core", listed(server), listed(load)), ""}
		if len(cores) < 2 {
			s.fix = "it is the only core: use a machine with two, or turn hardware threads off (echo off > /sys/devices/system/cpu/smt/control)"
			return s
		}
		s.fix = fmt.Sprintf("give each whole cores: --server-cpus %s --load-cpus %s", listed(flat(cores[:len(cores)/2])), listed(flat(cores[len(cores)/2:])))
		return s
	}
	if slices.ContainsFunc(m.ServerCPUs, func(cpu int) bool { return slices.Contains(m.LoadCPUs, cpu) }) {
		return fine("server and load share whole CPUs, of which the check of CPUs tells")
	}
	return fine("server and load share no core")
}

// together is the CPU on which the threads of server and load that are looked at take
// turns, if they do.
func (m *Machine) together() (cpu int, yes bool) {
	if len(m.ServerCPUs) == 0 || len(m.LoadCPUs) == 0 {
		return 0, false
	}
	return m.ServerCPUs[0], m.ServerCPUs[0] == m.LoadCPUs[0]
}

// cores groups the CPUs in use by the core they belong to.
func (m *Machine) cores() (cores [][]int, known bool) {
	used := m.used()
	for _, cpu := range used {
		threads, err := record.ParseCPUs(m.text(fmt.Sprintf("sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu)))
		if err != nil {
			return nil, false
		}
		ours := slices.DeleteFunc(threads, func(t int) bool { return !slices.Contains(used, t) })
		if len(ours) > 0 && ours[0] == cpu { // a core is told by its first thread
			cores = append(cores, ours)
		}
	}
	return cores, len(cores) > 0
}

func flat(cores [][]int) []int { return slices.Sorted(slices.Values(slices.Concat(cores...))) }

// cpuLimit looks for a quota of CPU time on the cgroup of this process, or on one
// above it.
func (m *Machine) cpuLimit() seen {
	if m.text(cgroup.Self) == "" {
		return unknown("cgroups are not told of here")
	}
	least, where, limited := cgroup.Least(cgroup.CPU(m.text), m.text)
	if !limited {
		return fine("none")
	}
	return fine("%.2f CPUs (%s), for %d in use", least, where, len(m.used())).
		graded(least < float64(len(m.used())), false, "run without the limit: docker run without --cpus, no cpu limit in the pod, or echo max > /"+where)
}

func (m *Machine) governor() seen {
	governors := map[string][]int{}
	for _, cpu := range m.used() {
		if g := m.text(fmt.Sprintf("sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor", cpu)); g != "" {
			governors[g] = append(governors[g], cpu)
		}
	}
	var good, bad, fixes []string
	for g, cpus := range governors {
		text := fmt.Sprintf("%s on CPU %s", g, listed(cpus))
		if g == "performance" {
			good = append(good, text)
		} else {
			bad = append(bad, text)
			fixes = append(fixes, "for f in /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor; do echo performance > $f; done")
		}
	}
	for _, turbo := range []struct{ file, on, off string }{
		{"sys/devices/system/cpu/intel_pstate/no_turbo", "0", "1"},
		{"sys/devices/system/cpu/cpufreq/boost", "1", "0"},
	} {
		switch m.text(turbo.file) {
		case turbo.on:
			bad = append(bad, "turbo on")
			fixes = append(fixes, "echo "+turbo.off+" > /"+turbo.file)
		case turbo.off:
			good = append(good, "turbo off")
		}
	}
	slices.Sort(bad)
	found := slices.Concat(bad, good)
	fixes = slices.Compact(slices.Sorted(slices.Values(fixes)))
	switch {
	case len(found) == 0:
		return unknown("not told here, as in most virtual machines: the host decides the clock rate")
	case len(bad) > 0:
		return seen{Warn, strings.Join(found, ", "), "as root: " + strings.Join(fixes, "; ")}
	}
	return fine("%s", strings.Join(found, ", "))
}
