package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"

	"schedlab/internal/expect"
	"schedlab/internal/host"
	"schedlab/internal/process"
	"schedlab/internal/record"
	"schedlab/internal/timeline"
)

// A trial is one window of load on an arm's server. Its methods are the steps of the trial. A comparison
// takes all steps, with a fresh server for each window (see runTrial). A search for capacity takes some
// steps, for several windows of the same server (see benchServer.Offer).
type trial struct {
	*runner
	record.Trial
	arm     arm
	clients record.Clients // the arm's clients; a search chooses their rate
	server  *process.Process
	seen    observed     // the clients' view; set by measure
	files   record.Files // files to record with the requests
}

// newTrial returns a trial of an arm on a running server. number counts trials from 1, block from 0.
func (r *runner) newTrial(number, block int, a arm, server *process.Process) *trial {
	p := r.plan
	t := &trial{runner: r, arm: a, clients: a.Clients, server: server, Trial: record.Trial{
		Number: number, Block: block + 1, Arm: a.Name, Seed: blockSeed(p.Seed, block),
		Warmup: p.Warmup, Window: p.Window, Server: unknownServer(),
	}}
	t.Server.PID, t.Server.Doubts = server.Pid(), server.Doubts
	return t
}

// start starts the server of an arm.
func (r *runner) start(ctx context.Context, a arm) (*process.Process, error) {
	server, err := r.launcher.Start(ctx, r.plan.command(a, r.ring), r.plan.scenario.ReadyPath(a.asked))
	if err != nil {
		return nil, fmt.Errorf("arm %q: %w", a.asked.Given(), err)
	}
	r.others.Guest(server.Found)
	server.ShowsMetrics(a.Metrics)
	return server, nil
}

// runTrial measures one window of one arm with a fresh server. It is an error if the server dies or
// stops replying. Everything else that a server does is in the record.
func (r *runner) runTrial(ctx context.Context, number, block int, a arm) (record.TrialRecord, error) {
	server, err := r.start(ctx, a)
	if err != nil {
		return record.TrialRecord{}, err
	}
	defer server.Kill()
	t := r.newTrial(number, block, a, server)
	t.files.Before = scrapeForeign(ctx, server, a.asked, &t.Server)
	switch err := t.measure(ctx); {
	case errors.Is(err, errOutOfPorts):
		return record.TrialRecord{}, fmt.Errorf("arm %q: %w; lower --rate or raise the limits", a.asked.Given(), err)
	case err != nil:
		return record.TrialRecord{}, fmt.Errorf("arm %q: %w", a.asked.Given(), err)
	}
	t.readCounters(ctx)
	if err := t.joinStamps(ctx); err != nil {
		return record.TrialRecord{}, fmt.Errorf("arm %q, block %d: %w", a.asked.Given(), t.Block, err)
	}
	if err := t.stop(); err != nil {
		return record.TrialRecord{}, errors.Join(fmt.Errorf("arm %q, block %d: %w", a.asked.Given(), t.Block, err), t.write())
	}
	return record.TrialRecord{Trial: t.Trial, Requests: t.seen.requests, Stamps: t.seen.stamps}, t.write()
}

// errOutOfPorts is the error when the load, not the server, was the limit.
var errOutOfPorts = errors.New("the load ran out of local ports or descriptors")

// measure warms the server up, sends the load for the window, and reads the clocks of both.
func (t *trial) measure(ctx context.Context) error {
	p := t.plan
	quiet := quietCollector()
	clocks := host.Watch(ctx, t.server.Pid(), p.cpus, record.Duration(p.Warmup), record.Duration(p.Window))
	if t.arm.Mode != "" && expect.UsesAny(p.Expect, "accepted", "done", "open", "loops") {
		clocks.Count = func() (sums map[string]float64) {
			if text, err := t.server.Scrape(ctx); err == nil && text != nil {
				sums = counters(text)
			}
			return sums
		}
	}
	got, err := t.drive(ctx, clocks)
	quiet()
	if err == nil && !got.ran {
		err = errOutOfPorts
	}
	if err != nil {
		clocks.Abandon()
		return err
	}
	t.seen = got
	used := clocks.End()
	t.Server.CPU, t.Server.Foreign = used.Server, p.cpus.Foreign(used, p.Window)
	t.Server.Within, t.Server.Footprint, t.Server.Kernel = clocks.Connections(), clocks.Footprint, used.Kernel()
	t.Server.LoopBusy = clocks.LoopBusy()
	if used.Server < 0 && host.FamilyCPU(t.server.Pid()) >= 0 {
		t.Server.Doubts = append(t.Server.Doubts, record.Fact{Code: cpuTimeUnknown})
	}
	t.server.Place(p.cpus, &t.Server)
	t.Client = got.client
	t.Client.CPU, t.Client.Steal, t.Client.Throttled = used.Load, used.Steal, used.Throttled
	return nil
}

// readCounters reads the server's counters after its connections have closed.
func (t *trial) readCounters(ctx context.Context) {
	if brokeOff(t.seen.requests) {
		t.server.AwaitDeath()
	}
	t.files.Metrics = settle(ctx, t.server, t.arm.asked, &t.Server)
	if t.arm.Mode != "" && t.server.Admin != "" {
		from := timeline.At(t.seen.start.Add(record.Duration(t.Warmup)))
		t.Server.Readings = thinned(within(readings(ctx, t.server, from), t.Window))
	}
}

// joinStamps reads the server's stamps and joins them with the clients' stamps.
func (t *trial) joinStamps(ctx context.Context) error {
	t.files.Stamps = t.seen.stamps
	if !t.plan.accounts(t.arm) || !t.server.Alive() {
		return nil
	}
	stamps, lost, err := readTimeline(ctx, t.server)
	if err != nil {
		return err
	}
	t.Server.StampsLost = lost
	join(t.seen.start, t.seen.stamps, t.seen.place, stamps)
	return nil
}

// stop makes the server drain and end. If it takes too long, stop raises a doubt.
func (t *trial) stop() error {
	err := t.server.Stop()
	if slow, ok := errors.AsType[*process.LingeredError](err); ok {
		t.Server.Doubts = append(t.Server.Doubts, record.Fact{Code: lingered, Names: record.Names{"error": slow.Error()}})
		t.slowToEnd = t.arm.Name
		return nil
	}
	if err != nil {
		t.Failure = err.Error()
	}
	return err
}

// write records the trial.
func (t *trial) write() error {
	t.files.Log = t.server.Output()
	return t.dir.WriteTrial(t.Trial, t.seen.requests, t.files)
}

// brokeOff reports whether the last request to end was refused or reset: the server may be gone.
func brokeOff(requests []record.Request) bool {
	if len(requests) == 0 {
		return false
	}
	last := slices.MaxFunc(requests, func(a, b record.Request) int { return cmp.Compare(a.Done, b.Done) })
	return last.Outcome == record.Refused || last.Outcome == record.Reset
}

// unknownServer returns a ServerSide in which all figures are unknown, -1.
func unknownServer() record.ServerSide {
	return record.ServerSide{CPU: -1, Foreign: -1, Accepted: -1, Done: -1, Rejected: -1, Dropped: -1, Open: -1}
}

// quietRoom is how much garbage a trial may leave, in bytes: its own records, up to 0.8 GB (see
// judge.MostRequests), and the garbage of the load engine.
const quietRoom = 1 << 30

// quietCollector switches the garbage collector off for a window. If the window uses up quietRoom, the
// collector still runs, so that the machine does not run out of memory; the trial's proof counts it.
// undo switches the collector on again and collects the garbage of the window.
func quietCollector() (undo func()) {
	percent, limit := debug.SetGCPercent(-1), debug.SetMemoryLimit(-1)
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	debug.SetMemoryLimit(min(limit, int64(now.Sys-now.HeapReleased)+quietRoom))
	return func() {
		debug.SetMemoryLimit(limit)
		debug.SetGCPercent(percent)
		runtime.GC()
	}
}
