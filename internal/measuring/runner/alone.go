package runner

import (
	"cmp"
	"context"
	"net"
	"net/url"

	"schedlab/internal/measuring/host"
	"schedlab/internal/measuring/load"
	"schedlab/internal/measuring/process"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/workload"
)

// Ways in which a generator rests between requests, for [Alone].
const (
	RestAuto = "auto" // spin if the load has a CPU that the server may not use, or four CPUs in all
	RestSpin = "spin" // poll without sleeping
	RestWait = "wait" // sleep
)

// manyCPUs is the number of CPUs from which on the generator may spin on a CPU that the server could use as
// well. With fewer, a generator that spins would take too large a share from a server that runs everywhere.
const manyCPUs = 4

// Alone sends a load to a server that somebody else started, as a trial sends it to a server of its own. rest is one of
// the constants above. While the load runs, this process is tuned to be the load. The machine is as the record tells it.
//
// After an error the result covers the requests sent until then; its Start is zero if there were none.
func Alone(ctx context.Context, version string, o load.Options, rest string) (got load.ClosedResult, machine record.Env, err error) {
	// The server's address, by which its process and so its CPUs are found.
	addr := ""
	if u, err := url.Parse(o.Targets[0].URL); err == nil {
		addr = net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), map[string]string{"https": "443"}[u.Scheme], "80"))
	}
	sets, undo, err := settleGenerator(ctx, addr, o.Engine, rest, o.Times != nil)
	if err != nil {
		return got, machine, err
	}
	defer undo()
	machine = host.Fingerprint(version, sets)
	machine.ServerCPUs, machine.ServerProcs = "", 0 // of a server that is not known
	o.Shared = sets.Shared
	got, _, err = send(ctx, nil, o, workload.Dist{})
	return got, machine, err
}

// settleGenerator prepares this process to be the load on a server at addr (host:port). It moves the process to
// the CPUs that the server may not use, if there are any, and switches the garbage collector off. sets has the
// load's CPUs; Shared reports that the load should sleep between requests because it has no CPU to itself; the
// engine vegeta always sleeps. undo reverts everything. The caller calls undo after the load, if err is nil.
//
// It is for a load on a server that somebody else started; a comparison uses withLab instead. The
// load may run for hours, so with long its memory must not grow.
func settleGenerator(ctx context.Context, addr, engine, rest string, long bool) (sets host.Sides, undo func(), err error) {
	room := int64(quietRoom)
	if long {
		room = longRoom
	}
	quiet := pauseGC(room)
	ours, err := host.Affinity()
	if err != nil { // this system cannot bind threads
		return host.Sides{Shared: true}, quiet, nil
	}
	sets = host.Sides{Server: ours, Load: ours, Vegeta: cmp.Or(engine, load.DefaultEngine) == load.EngineVegeta}
	name, port, _ := net.SplitHostPort(addr)
	pid := process.Listener(ctx, name, port)
	switch own := ours.Without(host.MayRun(pid)); {
	case pid == 0: // nobody knows the server's CPUs, so assume that it may run everywhere
		sets.Shared = len(ours) == 1
	case len(own) == 0:
		sets.Shared = len(ours) < manyCPUs
	default:
		sets.Load, sets.Pin = own, len(own) < len(ours)
	}
	if rest != RestAuto {
		sets.Shared = rest == RestWait
	}
	unbind, err := sets.BindLoad()
	if err != nil {
		quiet()
		return sets, nil, err
	}
	return sets, func() {
		unbind()
		quiet()
	}, nil
}
