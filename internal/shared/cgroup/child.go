package cgroup

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Place is a directory in which control groups with a CPU limit may be made, as a path from the root without the
// leading slash.
type Place struct {
	Dir string
	V1  bool // of cgroup version 1
}

// Places returns where this process could make such groups, the nearest first: in version 1 below its own group, in
// version 2 below each group on the way to the root that has the controller cpu in its cgroup.subtree_control (a group
// that holds processes cannot have it there). It does not ask whether this process has the permission.
func Places(read Reader) (all []Place) {
	for _, g := range groups(read, Self) {
		switch controllers := strings.Fields(read(path.Join(g.dir, "cgroup.subtree_control"))); {
		case g.v1 && read(path.Join(g.dir, "cpu.cfs_period_us")) != "":
			return []Place{{g.dir, true}}
		case !g.v1 && slices.Contains(controllers, "cpu"):
			all = append(all, Place{g.dir, false})
		}
	}
	return all
}

// Stops are how often, and for how long, a limit stopped the processes of a group.
type Stops struct {
	Periods int64         // in which the quota was used up
	Time    time.Duration // summed over CPUs
}

// StopsOf returns the stops of the group that a process is in, since the group was made. ok is false if that is the
// group of this process, or if the kernel does not tell it.
func StopsOf(read Reader, pid int) (stops Stops, ok bool) {
	theirs, ours := groups(read, "proc/"+strconv.Itoa(pid)+"/cgroup"), groups(read, Self)
	if len(theirs) == 0 || len(ours) > 0 && theirs[0] == ours[0] {
		return stops, false
	}
	return theirs[0].stops(read)
}
