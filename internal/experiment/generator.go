package experiment

import (
	"cmp"
	"context"
	"net"

	"schedlab/internal/host"
	"schedlab/internal/load"
	"schedlab/internal/process"
)

// How a generator rests between requests, for [SettleGenerator].
const (
	RestAuto = "auto" // it spins where it has a CPU that the server has not, or four in all
	RestSpin = "spin"
	RestWait = "wait"
)

// manyCPUs is the number of CPUs from which on the generator may keep one busy that the
// server could use as well.
const manyCPUs = 4

// SettleGenerator prepares this process to be the load of a server at addr (host:port):
// it moves to the CPUs that the server may not use, if there are any, and switches the
// garbage collector off. shared says that the load has no CPU of its own and should sleep
// between requests, as the engine vegeta does anyway; undo takes everything back.
func SettleGenerator(ctx context.Context, addr, engine, rest string) (shared bool, undo func(), err error) {
	quiet := quietCollector()
	ours, err := host.Affinity()
	if err != nil { // this system binds nothing
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
