package runner

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"schedlab/internal/measuring/arrivals"
	"schedlab/internal/measuring/expect"
	"schedlab/internal/measuring/host"
	"schedlab/internal/measuring/load"
	"schedlab/internal/measuring/process"
	"schedlab/internal/measuring/scenario"
	"schedlab/internal/measuring/window"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
	"schedlab/internal/shared/stats"
	"schedlab/internal/shared/workload"
)

// Settings of the probes of throughput.
const (
	// probeClients is the number of closed-loop clients of a probe that measures X_max. probeWindow
	// is the length of such a probe, and probeWarmup the time before it that does not count.
	probeClients = record.TurnClients
	probeWindow  = 600 * time.Millisecond
	probeWarmup  = 50 * time.Millisecond
	// shortProbe is long enough to see that an arm can take a rate that does not depend on the probe.
	shortProbe = 300 * time.Millisecond
	// crowdedClients keep all workers of a large pool busy, even while some clients reconnect.
	crowdedClients = 256
)

// Findings are the measurements of a plan before its first block. Rates are in requests per
// second. The maps have no entry for an arm that was not probed.
//
// This file measures before the first block. The floor is the load's own time, measured on a
// server that does nothing. X_max is the throughput of clients that ask again at once: no open
// loop can be served faster for long, so relative rates are ratios of it. A rehearsal checks that
// the generator itself can send the rate that follows.
type findings struct {
	floor    *record.Floor            // what the load itself adds to a response time; nil if not measured
	xmax     map[string]float64       // closed-loop throughput of each probed arm, by its name
	apart    map[string]float64       // difference between the halves of its probe, as a ratio of xmax
	doubts   []fact.Fact              // about the probes
	ends     map[string]record.ArmEnd // why the search of an arm ends before its first window
	sendable float64                  // highest rate that the load can send to every arm; 0: no limit is known
	// sharedMost is the highest rate at which the load does not take too much of the CPUs that it shares
	// with the servers; 0: no limit is known.
	sharedMost float64
}

// probe takes all measurements that come before the first block: whether the servers that run
// already answer, the load itself, and what the arms can do. The findings are complete up to an
// error. Without a program to run as the null server, it measures no floor.
func (l lab) probe(ctx context.Context, p plan) (findings, error) {
	if err := l.checkRunning(ctx, p); err != nil {
		return findings{}, err
	}
	var floor *record.Floor
	if p.self != "" {
		l.tell(p, "measuring the load itself", 0, len(p.Arms))
		var err error
		if floor, err = l.floor(ctx, p.self, p.dearest(), p.cpus.Shared); err != nil {
			return findings{}, err
		}
	}
	found, err := l.probeArms(ctx, p)
	found.floor = floor
	return found, err
}

// checkRunning sends a request to each server that is already running, before anything is
// measured. A server that does not reply so fails the run at once. A search goes on
// without such an arm, and skips this check. Such a server is not started here, so nothing else
// would notice that it is missing until its first trial.
func (l lab) checkRunning(ctx context.Context, p plan) error {
	if p.strategy.policy().loses {
		return nil
	}
	for _, a := range p.Arms {
		if a.URL == "" {
			continue
		}
		launcher, err := l.to(a)
		if err != nil {
			return err
		}
		if _, err := launcher.Attach(ctx, a.URL, p.scenario.ReadyPath(a.asked)); err != nil {
			return fmt.Errorf("arm %q: %w", a.asked.Given(), err)
		}
	}
	return nil
}

// probeArms measures the throughput of every arm for which the plan needs it. Before that, it measures
// the load's share of a CPU that server and load share.
func (l lab) probeArms(ctx context.Context, p plan) (findings, error) {
	found := findings{xmax: map[string]float64{}, apart: map[string]float64{}, ends: map[string]record.ArmEnd{}}
	var err error
	if found.sharedMost, err = l.sharedMost(ctx, p); err != nil {
		return found, err
	}
	results := make([]throughput, len(p.Arms))
	for i, a := range p.Arms {
		if !p.probes(a) {
			continue
		}
		got := &results[i]
		if same := p.sameAs(i); same >= 0 {
			*got = results[same]
		} else {
			l.tell(p, "measuring the throughput of "+a.Name, i, len(p.Arms))
			*got, err = p.calmest(func() (throughput, error) { return l.probeArm(ctx, p, a) })
			// A search goes on with the other arms.
			if err != nil && (!p.strategy.policy().loses || ctx.Err() != nil) {
				return found, fmt.Errorf("arm %q: %w", a.Name, err)
			}
			got.failed = err
			found.doubts = append(found.doubts, got.doubts(a.Name)...)
		}
		switch {
		case got.failed != nil:
			found.ends[a.Name] = armEnd(a.Name, 0, got.failed)
		case got.x > 0: // not so if the arm with the same server needed no probe
			found.xmax[a.Name], found.apart[a.Name] = got.x, got.apart
		}
		// It applies to every arm, so the lowest limit counts.
		if got.sendable > 0 && (found.sendable == 0 || got.sendable < found.sendable) {
			found.sendable = got.sendable
		}
	}
	return found, nil
}

// A throughput is what the probe of an arm found.
type throughput struct {
	x        float64 // closed-loop throughput, requests per second
	apart    float64 // difference between the two halves of the probe, as a ratio of x
	taken    float64 // ratio of the CPU time of server and load that others took during the probe; 0 unknown
	most     string  // the program that took most of it, "" for none
	sendable float64 // see rehearse
	failed   error   // why nothing was found; nil if something was
}

// doubts returns the doubts about x.
func (t throughput) doubts(arm string) (all []fact.Fact) {
	if t.apart > expect.ProbeDoubt {
		all = append(all, unevenProbe.Of(halves{t.apart}).On(arm))
	}
	if t.taken > expect.ProbeDoubt {
		all = append(all, doubt.DisturbedProbe.Of(doubt.Probe{Taken: t.taken, Most: t.most}).On(arm))
	}
	return all
}

// calmest probes an arm until others took next to nothing of its CPU time, three times at most, and returns the
// probe from which others took least. In a search one probe has to do: it comes out of the arm's budget, and the
// search corrects a rate that it began too low. So it has where each probe has to heat its server first.
func (p plan) calmest(probe func() (throughput, error)) (throughput, error) {
	best, err := probe()
	if err != nil {
		return best, err
	}
	for n := 1; n < p.strategy.policy().probes && p.Heating.Duration == 0 && best.taken > expect.ProbeDoubt; n++ {
		next, err := probe()
		if err != nil { // if that is a fault of the server, its trials show it
			break
		}
		if next.taken < best.taken {
			best = next
		}
	}
	return best, nil
}

// takenBy returns the ratio of the CPU time of server or load that others took, of the side from which they took more,
// and the name of the program that took most there.
func takenBy(o *record.Others) (taken float64, most string) {
	if o == nil {
		return 0, ""
	}
	side := record.ServerSideCPU
	if o.On(record.LoadSideCPU) > o.On(side) {
		side = record.LoadSideCPU
	}
	largest := 0.
	for _, t := range o.Troubles {
		if t.Cause == record.Program && t.On(side) > largest {
			largest, most = t.On(side), t.Program
		}
	}
	return o.On(side), most
}

// sameAs returns the index of an earlier arm with the same server and clients, so that one probe
// is enough for both; -1 for none. So arms that ask one server for different loads share a probe.
func (p plan) sameAs(arm int) int {
	for i := range arm {
		a, b := p.Arms[i], p.Arms[arm]
		if a.KeepAlive == b.KeepAlive && a.Clients.Speaks == b.Clients.Speaks && slices.Equal(a.Command, b.Command) && maps.Equal(a.asked.Flags, b.asked.Flags) {
			return i
		}
	}
	return -1
}

// probes reports whether the plan needs an arm's X_max, its closed-loop throughput: for a search,
// for a rate that is relative to it or limited by it, for the ring of a closed loop, or for an
// expectation. The copy is never probed itself.
func (p plan) probes(a arm) bool {
	bounded := func(a arm) bool { return a.load.MaxRate != scenario.Rate{} }
	if p.strategy.policy().first && a.Role != record.Baseline {
		return false
	}
	return a.Role != record.Copy && (p.measures() || a.Clients.Closed() || slices.ContainsFunc(p.Arms, bounded))
}

// measures reports whether the plan needs the figure of X_max of every arm.
func (p plan) measures() bool {
	return p.strategy.policy().probe > 0 || p.relative() || slices.ContainsFunc(p.Expect, expect.Expectation.Probes)
}

// probeFor returns how long a probe lasts. A probe is short if it only has to show that an arm can
// take a rate. A search has the longest probe, because its first rates depend on X_max.
func (p plan) probeFor() time.Duration {
	closed := func(a arm) bool { return a.load.Loop == "closed" }
	switch every := p.strategy.policy().probe; {
	case every > 0:
		return every
	case p.measures() || slices.ContainsFunc(p.Arms, closed):
		return probeWindow
	}
	return shortProbe
}

// probeArm measures an arm's closed-loop throughput. The probe is longer in a search. If
// the arm's rate is relative to the throughput, probeArm also rehearses that load.
func (l lab) probeArm(ctx context.Context, p plan, a arm) (found throughput, err error) {
	launcher, err := l.to(a)
	if err != nil {
		return found, err
	}
	server, err := launcher.Start(ctx, a.Command, p.scenario.ReadyPath(a.asked))
	if err != nil {
		return found, err
	}
	defer server.Kill()
	l.others.Guest(server.Found)
	p.heat(ctx, a, server, p.Seed)
	// A probe that only has to show that an arm can take a rate needs more clients: if a pool has one
	// worker per client, each worker waits for the next connection of its client.
	clients := probeClients
	if p.probeFor() == shortProbe {
		clients = crowdedClients
	}
	o := load.Options{
		Clients: p.saturating(a, clients),
		Targets: p.targets(server.Addr, a.Clients), Trace: p.scenario.Cycle(p.Seed, p.iters),
		Duration: p.probeFor(), Warmup: probeWarmup, Shared: p.cpus.Shared,
	}
	// A server without a reply in the probe's window gets a longer window. It gives up when a
	// whole timeout has passed without a reply, or when requests fail.
	for ; ; o.Duration *= 4 {
		var others *host.Watchdog
		// CPU time of a server whose process is not known would count as another program's.
		if p.opts.Site == nil && server.Pid() > 0 {
			others = host.NewWatchdog(p.cpus, nil)
			others.Guest(server.Found)
		}
		result, _, err := send(ctx, p.opts.Site, o, workload.Dist{})
		switch {
		case err != nil:
			return found, err
		case !server.Alive():
			return found, server.Died("while its throughput was measured")
		case result.Answered > 0:
			found.x, found.apart = result.Rate(), unevenness(result)
			found.taken, found.most = takenBy(others.End())
			found.sendable, err = rehearse(ctx, p, server, a, found.x, result.Proof.Work()/float64(result.Answered))
			return found, err
		case result.Failed > 0 || o.Duration >= p.Timeout.Duration:
			ends := request.FailedEnds(result.Requests)
			return found, fmt.Errorf("not one good reply to %s in %v of closed-loop load (%d failed: %s); %s",
				o.Targets[0].URL, o.Duration, result.Failed, cmp.Or(request.Mostly(ends), "no reply came at all"), a.tryFirst(ends))
		}
	}
}

// unevenness returns the difference in throughput between the two halves of a loop, as a ratio of the
// throughput of the whole. (A second loop instead would meet the requests that the first one left in a slow
// server's queue.) A large value means that the machine or the server changed during the probe.
func unevenness(r load.ClosedResult) float64 {
	// The first half has Answered - second replies, so the halves differ by Answered - 2 second.
	return math.Abs(float64(r.Answered-2*inSecondHalf(r, probeWarmup))) / (float64(r.Answered) / 2)
}

// inSecondHalf returns the number of good replies in the second half of a loop's time, after its warm-up.
func inSecondHalf(r load.ClosedResult, warmup time.Duration) (n int) {
	middle := int64(warmup + r.Elapsed/2)
	for _, q := range r.Requests {
		if q.Good() && q.Done >= middle {
			n++
		}
	}
	return n
}

const (
	// openFactor is an upper limit of the ratio of the engine's cost per request in an open loop to that in a
	// closed loop. It and busiest apply to rates that are chosen here, not to rates that a user gives.
	openFactor = 2
	// busiest is the highest ratio of the time that the engine may be busy at a rate chosen here. At a
	// higher ratio, requests wait for each other in the engine.
	busiest = .6
	// A rehearsal is short, because the generator's cost varies little.
	rehearsal      = 250 * time.Millisecond
	mostRehearsals = 3
)

// rehearse finds out whether the generator can send the planned load to an arm with the closed-loop
// throughput x, in requests per second. If not, sendable is the rate that it can send; else it is 0. cost
// is the generator's busy time, in seconds, per request of the closed loop. If twice that cost leaves
// enough room, nothing is rehearsed.
func rehearse(ctx context.Context, p plan, server *process.Process, a arm, x, cost float64) (sendable float64, err error) {
	share := 0.0 // an arm with another rate may share this arm's probe
	for _, other := range p.Arms {
		share = max(share, other.load.Rate.OfSlowest)
	}
	wanted := share * x
	if !p.strategy.policy().rates || a.Clients.Closed() || openFactor*cost*wanted <= busiest {
		return 0, nil
	}
	a.Clients.Rate = wanted
	for range mostRehearsals {
		result, err := p.rehearsed(ctx, server.Addr, a, min(rehearsal, p.span()))
		switch {
		case !server.Alive():
			return 0, server.Died("while its load was rehearsed")
		case err != nil:
			return 0, err
		case result.Proof.Sent == 0:
			return 0, nil
		}
		// each is the generator's busy time per request, now measured in the open loop itself.
		each := result.Proof.Work() / float64(result.Proof.Sent)
		if each*a.Clients.Rate <= busiest {
			break
		}
		// The rate is lowered, so it is a limit of the generator.
		sendable = scenario.Rounded(busiest / each)
		a.Clients.Rate = sendable
	}
	return sendable, nil
}

// rehearsed sends an arm's open loop to a server for a span, with the collector off. It sends the arrivals of block 0.
func (p plan) rehearsed(ctx context.Context, addr string, a arm, span time.Duration) (result load.ClosedResult, err error) {
	trace, err := p.trace(a, 0, span)
	if err != nil {
		return result, err
	}
	defer pauseGC(quietRoom)()
	result, _, err = send(ctx, p.opts.Site, p.loadOn(addr, a.Clients, trace), workload.Dist{})
	return result, err
}

// Settings of sharedMost, which finds the highest rate at which the load does not take too much of the
// CPUs that it shares with the servers.
const (
	shareSpan   = 500 * time.Millisecond // length of one measurement
	mostShares  = 4                      // most measurements
	firstShared = 2000                   // requests per second, if no rate is known yet
	shareAim    = .85                    // ratio of window.ShareLimit to aim at: the share varies between windows
	nearAim     = .1                     // relative distance from the aim that is near enough
	shareCost   = shareSpan*mostShares + 500*time.Millisecond
)

// sharingArm returns the first arm with a rate that the load's share of the CPUs may limit. Arms that open a
// connection for each request come first, because they cost the load most. ok is false if there is no such arm.
// If server and load share no CPU, there is none. Nor is there in a search, which chooses its own rates.
func (p plan) sharingArm() (a arm, ok bool) {
	if len(p.cpus.SharedCPUs()) == 0 || !p.strategy.policy().rates || p.self == "" {
		return arm{}, false
	}
	for _, next := range p.Arms {
		if !next.Clients.Closed() && !p.offeredAsTold(next) && (!ok || a.KeepAlive && !next.KeepAlive) {
			a, ok = next, true
		}
	}
	return a, ok
}

// sharedMost finds the rate, in requests per second, above which the load would take too much of the CPUs
// that it shares with the servers; 0 if it takes less at every planned rate. It measures with a server
// that does nothing, because the load's cost per request hardly depends on the server.
func (l lab) sharedMost(ctx context.Context, p plan) (rate float64, err error) {
	a, ok := p.sharingArm()
	if !ok {
		return 0, nil
	}
	l.tell(p, "measuring what the load takes of the CPU it shares", 0, len(p.Arms))
	server, err := l.startNull(ctx, p.self, asNull(a.Clients).Speaks)
	if err != nil {
		return 0, err
	}
	defer server.Kill()
	a.Clients = asNull(a.Clients)
	planned := 0.0
	for _, other := range p.Arms {
		planned = max(planned, other.Clients.Rate)
	}
	// Try the planned rate first: if it takes little enough, no limit is needed.
	a.Clients.Rate = cmp.Or(planned, firstShared)
	const aim = shareAim * window.ShareLimit
	for range mostShares {
		got, err := p.rehearsed(ctx, server.Addr, a, shareSpan)
		if err != nil {
			return 0, fmt.Errorf("measuring the load's share of the CPU: %w", err)
		}
		// share is the ratio of the load's CPU time to what its CPUs have in that time.
		share := got.Proof.CPU / got.Proof.Elapsed / float64(len(p.cpus.Load))
		if share <= 0 || a.Clients.Rate == planned && share <= window.ShareLimit {
			break // the share is unknown or small enough
		}
		// The load's cost grows about in proportion to the rate, so a few steps come near the aim.
		rate = scenario.Rounded(a.Clients.Rate * aim / share)
		if a.Clients.Rate = rate; share >= (1-nearAim)*aim && share <= (1+nearAim)*aim {
			break
		}
	}
	return rate, nil
}

// Settings for the measurement of the load's own response time, with a server that does next to
// nothing. Rates are in requests per second.
const (
	// floorRate × floorWindow are 3,000 requests, three times what a p99 needs. floorConns is the
	// number of kept connections. The requests of floorWarmup do not count.
	floorRate   = 10_000
	floorConns  = 64
	floorWarmup = 50 * time.Millisecond
	floorWindow = 300 * time.Millisecond
	// For a load that shares its CPU, and can send far less.
	sharedFloorRate   = 2000
	sharedFloorWindow = time.Second
)

// asNull returns the clients of a load on the null server: its certificate is known to nobody, and it asks for none.
func asNull(c record.Clients) record.Clients {
	c.Speaks = record.Speaks{HTTP2: c.Speaks.HTTP2, TLS: c.Speaks.TLS}
	if c.Speaks.TLS != "" {
		c.Speaks.TLS = record.TrustAny
	}
	return c
}

// dearest returns the clients of the arm that cost the load most: of those that speak TLS, or else HTTP/2.
func (p plan) dearest() record.Clients {
	cost := func(a arm) int {
		return 2*stats.Count(a.Clients.Speaks.TLS != "") + stats.Count(a.Clients.Speaks.HTTP2)
	}
	return slices.MaxFunc(p.Arms, func(a, b arm) int { return cmp.Compare(cost(a), cost(b)) }).Clients
}

// floor measures the part of every response time that is due to the load and the kernel. It
// measures the null server of the program self, on the servers' CPUs, with the engine of the clients c, which
// speak as c do. Times are in seconds. Response times near it tell little about a server.
func (l lab) floor(ctx context.Context, self string, c record.Clients, shared bool) (*record.Floor, error) {
	spoken := asNull(c).Speaks
	server, err := l.startNull(ctx, self, spoken)
	if err != nil {
		return nil, err
	}
	defer server.Kill()
	rate, span := float64(floorRate), floorWindow
	// With TLS or HTTP/2 both sides can do less, too.
	if shared || spoken != (record.Speaks{}) {
		rate, span = sharedFloorRate, sharedFloorWindow
	}
	defer pauseGC(quietRoom)()
	got, _, err := send(ctx, l.site, load.Options{
		Clients: record.Clients{Engine: c.Engine, Connections: floorConns, KeepAlive: true, Speaks: spoken},
		Targets: load.Secured([]load.Target{{Method: "GET", URL: "http://" + server.Addr + "/"}}, spoken.TLS != ""), Shared: shared,
		// The seed is fixed: every measurement gets the same arrivals.
		Trace: arrivals.Process{}.Draw(rate, floorWarmup+span, rand.New(rand.NewPCG(1, 1))),
	}, workload.Dist{})
	if err != nil {
		return nil, fmt.Errorf("measuring the null server: %w", err)
	}
	good := slices.DeleteFunc(got.Requests, func(r request.Request) bool { return !r.Good() })
	trial := record.Trial{Warmup: record.Lasting(floorWarmup), Window: record.Lasting(span)}
	w := window.Reduce(record.TrialRecord{Trial: trial, Requests: good}, record.Env{}, record.Clients{})
	if w.Good < stats.MinRequests(.99) {
		return nil, fmt.Errorf("measuring the null server: %d good replies, too few", w.Good)
	}
	return &record.Floor{
		Rate: rate, P50: w.Values[stats.P50].Float(), P99: w.Values[stats.P99].Float(),
		LagP50: w.Late[stats.P50].Float(), LagP99: w.Late[stats.P99].Float(), Rest: got.Proof.Rest, Speaks: spoken,
	}, nil
}
