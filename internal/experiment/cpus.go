package experiment

import (
	"cmp"
	"context"
	"errors"
	"net"
	"runtime"
	"runtime/debug"
	"slices"

	"schedlab/internal/host"
	"schedlab/internal/load"
	"schedlab/internal/process"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
)

// chooseCPUs splits the CPUs that this process may use between server and load. Flags decide, if
// they are set. Otherwise the server gets the lower half, or more if the scenario needs more, and
// the load gets the rest. If no CPU is left for the load, it shares the last CPU of the server.
//
// A server and its load on the same CPU measure each other, so each side gets CPUs of its own
// where there are two or more.
func chooseCPUs(o Options, needs scenario.Needs) (host.Sides, error) {
	// Start with both sides on all CPUs, which is right where nothing can be bound.
	all, err := host.Affinity()
	sets := host.Sides{Server: all, Load: all, Pin: o.Pin != "none" && err == nil, Shared: true, Vegeta: cmp.Or(o.Engine, load.DefaultEngine) == load.EngineVegeta}
	told := o.ServerCPUs != "" || o.LoadCPUs != ""
	switch {
	case o.Pin == "none" && told:
		return sets, impossible("--pin none leaves no use for --server-cpus and --load-cpus; drop one of them")
	case errors.Is(err, host.ErrNoAffinity) && told:
		return sets, impossible("--server-cpus and --load-cpus: %v", err)
	case errors.Is(err, host.ErrNoAffinity) || o.Pin == "none":
		return sets, nil
	case err != nil:
		return sets, err
	// n CPUs for the server. If the scenario needs all of them, the load gets the last one as
	// well.
	case !told && len(all) >= 2:
		n := max(len(all)/2, min(needs.ServerCPUs, len(all)))
		sets.Server, sets.Load = all[:n], all[min(n, len(all)-1):]
		sets.Shared = n == len(all)
		return sets, nil
	}
	if o.ServerCPUs != "" {
		if sets.Server, err = parseCPUs("--server-cpus", o.ServerCPUs, all); err != nil {
			return sets, err
		}
	}
	if o.LoadCPUs != "" {
		if sets.Load, err = parseCPUs("--load-cpus", o.LoadCPUs, all); err != nil {
			return sets, err
		}
	}
	// If one side is given, the other takes the remaining CPUs, if there are any. If no CPU
	// remains, the load shares the server's last one.
	if o.LoadCPUs == "" {
		sets.Load = sets.Server[len(sets.Server)-1:]
		if rest := all.Without(sets.Server); len(rest) > 0 {
			sets.Load = rest
		}
	}
	if rest := all.Without(sets.Load); o.ServerCPUs == "" && len(rest) > 0 {
		sets.Server = rest
	}
	// Flags may overlap in part.
	sets.Shared = len(sets.Server.Without(sets.Load)) < len(sets.Server)
	return sets, nil
}

// parseCPUs reads a flag's list of CPUs like 0-3,5. All must be allowed. flag is its name in the
// message of the error.
func parseCPUs(flag, list string, allowed record.CPUs) (record.CPUs, error) {
	set, err := record.ParseCPUs(list)
	if err != nil {
		return nil, impossible("%s %v", flag, err)
	}
	for _, cpu := range set {
		if !slices.Contains(allowed, cpu) {
			return nil, impossible("%s %q: CPU %d is not one this process may use (%s)", flag, list, cpu, allowed)
		}
	}
	return set, nil
}

// ServerCPUs returns how many CPUs a comparison would give to the server, at least 1. It starts
// nothing.
func ServerCPUs(o Options) (int, error) {
	sets, err := chooseCPUs(o, scenario.Needs{})
	return max(len(sets.Server), 1), err
}

// Ways in which a generator rests between requests, for [SettleGenerator].
const (
	RestAuto = "auto" // spin if the load has a CPU that the server may not use, or four CPUs in all
	RestSpin = "spin" // poll without sleeping
	RestWait = "wait" // sleep
)

// manyCPUs is the number of CPUs from which on the generator may spin on a CPU that the server
// could use as well. With fewer, a generator that spins would take too large a share from a server
// that runs everywhere.
const manyCPUs = 4

// SettleGenerator prepares this process to be the load on a server at addr (host:port). It moves
// the process to the CPUs that the server may not use, if there are any, and switches the garbage
// collector off. shared reports that the load should sleep between requests because it has no CPU
// to itself; the engine vegeta always sleeps. undo reverts everything. engine and rest are an
// engine of package load and one of the constants above. The caller calls undo after the load, if
// err is nil.
//
// It is for a load on a server that somebody else started; a comparison uses withLab instead.
func SettleGenerator(ctx context.Context, addr, engine, rest string) (shared bool, undo func(), err error) {
	quiet := pauseGC()
	ours, err := host.Affinity()
	if err != nil { // this system cannot bind threads
		return true, quiet, nil
	}
	sets := host.Sides{Server: ours, Load: ours, Vegeta: cmp.Or(engine, load.DefaultEngine) == load.EngineVegeta}
	name, port, _ := net.SplitHostPort(addr)
	// Without the server's process nobody knows its CPUs. Then assume that it may run everywhere.
	if pid := process.Listener(ctx, name, port); pid > 0 {
		if own := ours.Without(host.MayRun(pid)); len(own) > 0 {
			sets.Load, sets.Pin = own, len(own) < len(ours)
		} else {
			sets.Shared = len(ours) < manyCPUs
		}
	} else {
		sets.Shared = len(ours) == 1
	}
	if rest != RestAuto {
		sets.Shared = rest == RestWait
	}
	unbind, err := sets.BindLoad()
	if err != nil {
		quiet()
		return false, nil, err
	}
	return sets.Shared, func() {
		unbind()
		quiet()
	}, nil
}

// quietRoom is how much garbage a trial may leave, in bytes: its own records, up to 0.8 GB (see
// judge.MostRequests), and the garbage of the load engine.
const quietRoom = 1 << 30

// pauseGC switches the garbage collector off for a window. If the window uses up quietRoom, the
// collector still runs, so that the machine does not run out of memory; the trial's proof counts
// it. undo switches the collector on again and collects the garbage of the window. A collection in
// the generator would delay requests, and look like a slow server.
func pauseGC() (undo func()) {
	percent, limit := debug.SetGCPercent(-1), debug.SetMemoryLimit(-1)
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	// With the percentage off, only the memory limit starts the collector. It counts from the
	// memory in use now. A lower limit of the user stays.
	debug.SetMemoryLimit(min(limit, int64(now.Sys-now.HeapReleased)+quietRoom))
	return func() {
		debug.SetMemoryLimit(limit)
		debug.SetGCPercent(percent)
		runtime.GC()
	}
}
