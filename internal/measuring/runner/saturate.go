package runner

import (
	"context"
	"slices"
	"time"

	"schedlab/internal/measuring/host"
	"schedlab/internal/measuring/load"
	"schedlab/internal/measuring/process"
	"schedlab/internal/shared/cpuset"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/workload"
)

// How a server is saturated after its window. The clients are those of a probe: each asks again as soon as it has its reply.
const (
	turnWarmup   = 30 * time.Millisecond
	secureWarmup = 100 * time.Millisecond // over TLS, for the handshakes
	longestTurn  = 400 * time.Millisecond // unless the rate is low
	turnReplies  = 200                    // that a turn should bring, as far as a window is long enough for them
)

// turn returns how long each server is saturated after a window of this length; 0 if the question does not ask for that. It is as
// long as the window, up to longestTurn, so that longer windows tell more of the capacity, too. At a low rate it may be
// longer than longestTurn.
func (p plan) turn(window time.Duration) time.Duration {
	if !p.needs().Capacity {
		return 0
	}
	enough := time.Duration(0)
	if rate := p.leastRate(); rate > 0 { // 0 while it is not known
		enough = record.Duration(turnReplies / rate)
	}
	return min(max(longestTurn, enough), window)
}

// turnWarm returns how long a turn is warmed up.
func (p plan) turnWarm() time.Duration {
	for _, a := range p.Arms {
		if load.EngineFor(a.Clients) != "" {
			return secureWarmup
		}
	}
	return turnWarmup
}

// Who asks for a warm-up of longWarmup or more has a program that compiles while it runs. It compiles what is called often, so the
// server is kept busy (heated) for all of this time but the last ownWarmup.
const (
	longWarmup = 500 * time.Millisecond
	ownWarmup  = 200 * time.Millisecond
	heatSlice  = time.Second // heating is sent in slices, since the load holds each request's times until its end

	// After it a server is idle if it uses less than this share of a CPU; it has so long to become so.
	idleShare    = .1
	mostSettling = time.Second
)

// heating returns for how much of the time of --warmup servers are kept busy. It is 0 if an arm is a mode of ours, if one runs already
// and is not ours to keep busy, and in a closed loop, which keeps them busy anyway.
func (p plan) heating(warmup time.Duration) time.Duration {
	last := ownWarmup
	for _, a := range p.Arms {
		if a.Mode != "" || a.asked.URL != "" || a.Clients.Closed() {
			return 0
		}
		last = max(last, time.Duration(a.load.Ramp))
	}
	if warmup < longWarmup || p.opts.Site != nil {
		return 0
	}
	return max(0, warmup-last)
}

// heat keeps an arm's server busy for the plan's heating, and then waits until it is idle. It returns no error: a server that fails
// fails in the window, too, and that is told.
func (p plan) heat(ctx context.Context, a arm, server *process.Process, seed uint64) {
	if p.Heating.Duration == 0 {
		return
	}
	for left := p.Heating.Duration; left > 0 && ctx.Err() == nil && server.Alive(); left -= heatSlice {
		if _, _, err := send(ctx, nil, p.flood(a, server.Addr, seed, min(left, heatSlice)), workload.Dist{}); err != nil {
			return
		}
	}
	const look = 20 * time.Millisecond
	for began, used := time.Now(), host.FamilyCPU(server.Pid()); time.Since(began) < mostSettling && ctx.Err() == nil; {
		time.Sleep(look)
		now := host.FamilyCPU(server.Pid())
		if now-used < idleShare*look.Seconds() {
			return
		}
		used = now
	}
}

// flood returns a load that keeps an arm's server at addr busy for a time.
func (p plan) flood(a arm, addr string, seed uint64, length time.Duration) load.Options {
	return load.Options{
		Clients: p.saturating(a, probeClients),
		Targets: p.targets(addr, a.Clients), Trace: p.scenario.Cycle(seed, p.iters), Seed: seed,
		Duration: length, Warmup: p.turnWarm(), Shared: p.cpus.Shared,
	}
}

// saturate keeps the server busy for a turn and tells what it did. A turn that could not be sent leaves no figure: the window
// before it counts anyway, and stop tells of a server that died.
func (t *trial) saturate(ctx context.Context) {
	p := t.plan
	length := p.turn(p.Window.Duration)
	if length == 0 || !t.server.Alive() {
		return
	}
	defer pauseGC(quietRoom)()
	cpus := p.ownCPUs(t.arm)
	idle, family := host.NewIdleClock(cpus), host.Family(t.server.Pid())
	waited := host.WaitedCPU(family)
	var ends [2]busyTime
	o := p.flood(t.arm, t.server.Addr, t.Seed, length)
	o.Moments, o.Moment = []time.Duration{o.Warmup, o.Warmup + length}, func(i int) { ends[i] = busyNow(family, idle) }
	got, _, err := send(ctx, p.opts.Site, o, workload.Dist{})
	if err != nil {
		return
	}
	s := record.Saturation{Answered: got.Answered, Later: inSecondHalf(got, o.Warmup), Failed: got.Failed, Elapsed: got.Elapsed.Seconds()}
	// The time of a process that began or ended meanwhile is not in the sums.
	same := slices.Equal(family, host.Family(t.server.Pid())) && waited == host.WaitedCPU(family)
	if ends[0].known && ends[1].known && same {
		s.CPUs, s.CPU, s.Idle = len(cpus), ends[1].cpu-ends[0].cpu, (ends[1].idle - ends[0].idle).Seconds()
	}
	s.LoadLimited = p.loadLimits(o.Clients, got.Proof, s)
	t.Server.Saturated = &s
}

// Where the load, and not the server, limits a turn: it took mostLoad of its CPUs' time, and the server's were idle for more
// than mostIdle.
const (
	mostLoad = .5
	mostIdle = .1
)

// loadLimits reports whether a turn tells what the load can do and not what the server can. The engine spin is faster than any
// server; net/http's client, which speaks TLS and HTTP/2, is slower than many.
func (p plan) loadLimits(c record.Clients, did load.Proof, s record.Saturation) bool {
	if load.EngineFor(c) == "" || did.Elapsed <= 0 || did.CPU/did.Elapsed/float64(max(1, len(p.cpus.Load))) < mostLoad {
		return false
	}
	return !(s.Used() >= 1-mostIdle)
}

// A busyTime is the CPU time of a server in seconds, and the idle time of its CPUs, at one moment.
type busyTime struct {
	cpu   float64
	idle  time.Duration
	known bool
}

// busyNow reads the clocks of a server's processes and of its CPUs. It runs on the load's goroutine.
func busyNow(family []int, cpus host.IdleClock) (t busyTime) {
	for _, pid := range family {
		own := host.ProcessCPU(pid)
		if own < 0 {
			return t
		}
		t.cpu += own
	}
	t.idle, t.known = cpus.Read()
	return t
}

// ownCPUs returns the CPUs on which an arm's server runs, if it runs nowhere else, and the load does not run there; else nil.
func (p plan) ownCPUs(a arm) cpuset.Set {
	if !p.cpus.Pin || p.cpus.Shared || a.URL != "" { // a server that ran already may run anywhere
		return nil
	}
	return p.cpus.Server
}
