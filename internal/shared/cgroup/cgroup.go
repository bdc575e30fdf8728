// Package cgroup finds the control groups that limit the CPU time of a process: its own
// group and every one above it, and where a group could be made. It reads files through a
// function of the caller, and changes no setting.
package cgroup

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Self is the file that lists this process's groups, in the form that a Reader takes.
const Self = "proc/self/cgroup"

// A Reader returns the text of a file, "" when the file cannot be read. name is the path from the
// root without the leading slash.
type Reader func(name string) string

// A group is one directory of the CPU controller, of cgroup version 1 or 2.
// The two versions have other files and units.
type group struct {
	dir string
	v1  bool
}

// groups returns the control groups of a process: its own first, then each parent. of is the file that lists them, as
// /proc/self/cgroup; if it lists none, groups returns nil. In a container the last group is the container's root, the
// highest that the process can see.
func groups(read Reader, of string) (all []group) {
	for line := range strings.Lines(read(of)) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, own, ok := strings.Cut(rest, ":")
		v1 := slices.Contains(strings.Split(controllers, ","), "cpu")
		// A line is "number:controllers:path". Version 2 has no controllers; in version 1 only the group of
		// the controller cpu matters.
		// A group outside of this process's cgroup namespace is shown as /../NAME and cannot be read.
		if !ok || controllers != "" && !v1 || strings.HasPrefix(own, "/..") {
			continue
		}
		mount := "sys/fs/cgroup"
		if v1 {
			mount = "sys/fs/cgroup/cpu"
		}
		for dir := path.Clean("/" + own); ; dir = path.Dir(dir) {
			all = append(all, group{path.Join(mount, dir), v1})
			if dir == "/" {
				break
			}
		}
	}
	return all
}

// Least returns the smallest limit among the groups of this process, in CPUs, and the file that
// sets it. ok is false if no group has a limit.
//
// Every group on the way to the root limits its processes, so the smallest limit is the one that holds.
func Least(read Reader) (cpus float64, file string, ok bool) {
	for _, g := range groups(read, Self) {
		if limit, name, limited := g.limit(read); limited && (!ok || limit < cpus) {
			cpus, file, ok = limit, name, true
		}
	}
	return cpus, file, ok
}

// Own returns the limit of this process's own group in CPUs, 0 if that group has none. Go's runtime
// takes its default GOMAXPROCS from this limit and asks no group above it.
func Own(read Reader) (cpus float64) {
	if all := groups(read, Self); len(all) > 0 {
		cpus, _, _ = all[0].limit(read)
	}
	return cpus
}

// limit returns the limit of one group in CPUs, and the file that sets it. ok is false if the group
// has none.
func (g group) limit(read Reader) (cpus float64, file string, ok bool) {
	file = path.Join(g.dir, "cpu.max")
	quota, period, _ := strings.Cut(strings.TrimSpace(read(file)), " ")
	if g.v1 {
		file = path.Join(g.dir, "cpu.cfs_quota_us")
		quota, period = strings.TrimSpace(read(file)), strings.TrimSpace(read(path.Join(g.dir, "cpu.cfs_period_us")))
	}
	// Without a limit the quota is "max" in version 2 and -1 in version 1.
	q, err1 := strconv.ParseFloat(quota, 64)
	p, err2 := strconv.ParseFloat(period, 64)
	if err1 != nil || err2 != nil || !(q > 0 && p > 0) {
		return 0, "", false
	}
	return q / p, file, true
}

// Throttled returns the time for which the quotas of all groups of this process have held processes
// back so far, summed over groups and CPUs. A group without the figure counts as 0, so 0 may also mean
// unknown.
func Throttled(read Reader) (sum time.Duration) {
	for _, g := range groups(read, Self) {
		stops, _ := g.stops(read)
		sum += stops.Time
	}
	return sum
}

// stops returns what the kernel counted of a group's limit; ok is false if it counted nothing.
func (g group) stops(read Reader) (stops Stops, ok bool) {
	key, unit := "throttled_usec", time.Microsecond
	if g.v1 {
		key, unit = "throttled_time", time.Nanosecond
	}
	for line := range strings.Lines(read(path.Join(g.dir, "cpu.stat"))) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, _ := strconv.ParseInt(value, 10, 64)
		switch name {
		case key:
			stops.Time, ok = max(0, time.Duration(n)*unit), true
		case "nr_throttled":
			stops.Periods = n
		}
	}
	return stops, ok
}
