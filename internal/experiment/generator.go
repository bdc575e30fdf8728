package experiment

import (
	"cmp"
	"context"
	"net"

	"schedlab/internal/host"
	"schedlab/internal/load"
	"schedlab/internal/process"
)

// Ways in which a generator rests between requests, for [SettleGenerator].
const (
	RestAuto = "auto" // spin if the load has a CPU that the server may not use, or four CPUs in all
	RestSpin = "spin" // poll without sleeping
	RestWait = "wait" // sleep
)

// manyCPUs is the number of CPUs from which on the generator may spin on a CPU that the server could
// use as well.
const manyCPUs = 4

// SettleGenerator prepares this process to be the load on a server at addr (host:port). It moves the
// process to the CPUs that the server may not use, if there are any, and switches the garbage collector
// off. shared reports that the load should sleep between requests because it has no CPU to itself; the
// engine vegeta always sleeps. undo reverts everything.
func SettleGenerator(ctx context.Context, addr, engine, rest string) (shared bool, undo func(), err error) {
	quiet := quietCollector()
	ours, err := host.Affinity()
	if err != nil { // this system cannot bind threads
		return true, quiet, nil
	}
	sets := host.Sides{Server: ours, Load: ours, Vegeta: cmp.Or(engine, load.DefaultEngine) == load.EngineVegeta}
	name, port, _ := net.SplitHostPort(addr)
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
