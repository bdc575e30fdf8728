package experiment

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"schedlab/internal/arrivals"
	"schedlab/internal/expect"
	"schedlab/internal/host"
	"schedlab/internal/load"
	"schedlab/internal/process"
	"schedlab/internal/prose"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
)

// runTrial serves one window of one arm from a fresh process. A server that
// dies, or stops answering altogether, is an error; everything else a server
// does is in the record.
func (r *runner) runTrial(ctx context.Context, number, block, arm int) (record.TrialRecord, error) {
	p := r.plan
	a := p.arms[arm]
	t := record.Trial{
		Number: number, Block: block + 1, Arm: a.Name, Seed: blockSeed(p.Seed, block),
		Warmup: p.Warmup, Window: p.Window, Server: unknownServer(),
	}
	server, err := r.launcher.Start(ctx, p.command(arm), p.scenario.ReadyPath(a))
	if err != nil {
		return record.TrialRecord{}, fmt.Errorf("arm %q: %w", a.Given(), err)
	}
	defer server.Kill()
	r.others.Guest(server.Found)
	server.ShowsMetrics(a.Metrics)
	t.Server.PID, t.Server.Doubts = server.Pid(), server.Doubts
	before := scrapeOwn(ctx, server, a, &t.Server)

	quiet := quietCollector()
	clocks := host.Watch(ctx, server.Pid(), p.cpus, record.Duration(p.Warmup), record.Duration(p.Window))
	if a.Mode != "" && expect.UsesAny(p.Expect, "accepted", "done", "open") {
		clocks.Count = func() (sums map[string]float64) {
			if text, err := server.Scrape(ctx); err == nil && text != nil {
				sums = counters(text)
			}
			return sums
		}
	}
	got, err := r.drive(ctx, server.Addr, block, arm, clocks)
	quiet()
	if err != nil {
		clocks.Abandon()
		return record.TrialRecord{}, fmt.Errorf("arm %q: %w", a.Given(), err)
	}
	used := clocks.End()
	t.Server.CPU, t.Server.RunWait, t.Server.Foreign = used.Server, used.RunWait, p.cpus.Foreign(used, p.Window)
	t.Server.Within, t.Server.Footprint, t.Server.Kernel = clocks.Connections(), clocks.Footprint, used.Kernel()
	if used.Server < 0 && host.FamilyCPU(server.Pid()) >= 0 {
		t.Server.Doubts = append(t.Server.Doubts, "CPU time is not known: processes of it ended that it did not wait for")
	}
	server.Place(p.cpus, &t.Server)
	t.Client = got.client
	t.Client.CPU, t.Client.Steal, t.Client.Throttled = used.Load, used.Steal, used.Throttled
	if !got.ran {
		return record.TrialRecord{}, fmt.Errorf("arm %q: the load ran out of local ports or descriptors; lower --rate or raise the limits", a.Given())
	}
	if brokeOff(got.requests) {
		server.AwaitDeath()
	}
	metrics := r.settle(ctx, server, a, &t.Server)
	if p.accounts(arm) && server.Alive() {
		stamps, lost, err := readTimeline(ctx, server)
		if err != nil {
			return record.TrialRecord{}, fmt.Errorf("arm %q, block %d: %w", a.Given(), block+1, err)
		}
		t.Server.StampsLost = lost
		join(got.start, got.stamps, got.place, stamps)
	}
	err = server.Stop()
	if slow, ok := errors.AsType[*process.LingeredError](err); ok {
		t.Server.Doubts = append(t.Server.Doubts, slow.Error())
		r.lingers, err = a.Name, nil
	}
	if err != nil {
		t.Failure = err.Error()
		return record.TrialRecord{}, errors.Join(fmt.Errorf("arm %q, block %d: %w", a.Given(), block+1, err),
			r.dir.WriteTrial(t, got.requests, record.Files{Stamps: got.stamps, Log: server.Output()}))
	}
	full := record.TrialRecord{Trial: t, Requests: got.requests, Stamps: got.stamps}
	return full, r.dir.WriteTrial(t, got.requests, record.Files{Stamps: got.stamps, Metrics: metrics, Before: before, Log: server.Output()})
}

// brokeOff reports whether the last request to end found no server any more.
func brokeOff(requests []record.Request) bool {
	if len(requests) == 0 {
		return false
	}
	last := slices.MaxFunc(requests, func(a, b record.Request) int { return cmp.Compare(a.Done, b.Done) })
	return last.Outcome == record.Refused || last.Outcome == record.Reset
}

func unknownServer() record.ServerSide {
	return record.ServerSide{CPU: -1, RunWait: -1, Foreign: -1, Accepted: -1, Done: -1, Rejected: -1, Dropped: -1, Open: -1}
}

// quietRoom is what a trial may leave to the garbage collector, in bytes: its own
// records, 0.8 GB at the most (see mostRequests), and what the attacker drops.
const quietRoom = 1 << 30

// quietCollector keeps the garbage collector out of the window, unless quietRoom is
// used up before it ends: then it runs rather than have the machine run out of
// memory, and the trial's proof counts that. What it undoes collects what the window
// left.
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

// settleTime is how long the server's counters get to agree that the clients
// have gone.
const settleTime, settlePoll = 500 * time.Millisecond, 2 * time.Millisecond

// scrapeOwn reads the metrics of a server that is not ours, nil for others. That
// they cannot be read is a doubt.
func scrapeOwn(ctx context.Context, p *process.Process, a scenario.Arm, side *record.ServerSide) []byte {
	if a.Metrics == "" {
		return nil
	}
	text, err := p.Scrape(ctx)
	if err != nil {
		said := "its metrics could not be read: " + p.General(prose.FirstLine(err.Error()))
		if !slices.Contains(side.Doubts, said) {
			side.Doubts = append(side.Doubts, said)
		}
	}
	return text
}

// settle scrapes the server until its connections are closed, and reads the
// counters. A server without them stays unknown.
func (r *runner) settle(ctx context.Context, server *process.Process, a scenario.Arm, side *record.ServerSide) []byte {
	if a.Mode == "" {
		return scrapeOwn(ctx, server, a, side)
	}
	deadline := time.Now().Add(settleTime)
	for {
		text, err := server.Scrape(ctx)
		if err != nil || text == nil {
			return nil
		}
		c := counters(text)
		side.Accepted, side.Done, side.Open = c["schedlab_connections_accepted_total"], c["schedlab_connections_done_total"], c["schedlab_connections_open"]
		side.Rejected, side.Dropped = c["schedlab_connections_rejected_total"], c["schedlab_connections_dropped_total"]
		if side.Open == 0 || time.Now().After(deadline) || ctx.Err() != nil {
			return text
		}
		time.Sleep(settlePoll)
	}
}

// counters sums the connection series of a scrape by name, over their labels.
func counters(text []byte) map[string]float64 {
	sums := map[string]float64{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		l := lines.Text()
		if !strings.HasPrefix(l, "schedlab_connections_") {
			continue
		}
		name, rest, _ := strings.Cut(l, "{")
		_, value, ok := strings.Cut(rest, "} ")
		if !ok {
			continue
		}
		value, _, _ = strings.Cut(value, " ")
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			sums[name] += v
		}
	}
	return sums
}

// probe measures an arm's closed-loop throughput, and how far apart the halves of the
// time were, as a share of it. A search for capacity takes longer. An arm that is to
// be offered a share of it rehearses that load.
func (r *runner) probe(ctx context.Context, arm int) (x, apart float64, err error) {
	p := r.plan
	a := p.arms[arm]
	server, err := r.launcher.Start(ctx, p.Arms[arm].Command, p.scenario.ReadyPath(a))
	if err != nil {
		return 0, 0, fmt.Errorf("arm %q: %w", a.Name, err)
	}
	defer server.Kill()
	r.others.Guest(server.Found)
	var d []arrivals.Demand
	if p.scenario.AsksWork() {
		d = scenario.Demands(p.scenario.Workload, cycle, p.Seed, r.iters)
	}
	window := p.probeFor()
	// A server that is slower than the probe's window gets a longer one.
	for {
		result, err := load.Closed(ctx, load.ClosedOptions{
			Targets: p.scenario.Targets(server.Addr), Which: p.scenario.Which(), Demands: d, Connections: p.probeWith(), KeepAlive: p.Arms[arm].KeepAlive,
			Duration: window, Warmup: probeWarmup, Timeout: record.Duration(p.Timeout), Shared: p.cpus.Shared,
		})
		switch {
		case err != nil:
			return 0, 0, fmt.Errorf("arm %q: %w", a.Name, err)
		case !server.Alive():
			return 0, 0, fmt.Errorf("arm %q: %w", a.Name, server.Died("while its throughput was measured"))
		case result.Answered > 0:
			x = result.Rate()
			if err := r.rehearse(ctx, server, arm, x, result.Proof.Work().Seconds()/float64(result.Answered)); err != nil {
				return 0, 0, fmt.Errorf("arm %q: %w", a.Name, err)
			}
			return x, unevenness(result), nil
		case result.Failed > 0 || window >= record.Duration(p.Timeout):
			return 0, 0, fmt.Errorf("arm %q: not one good reply to %s in %v of closed-loop load (%d failed); try it with curl first", a.Name, p.scenario.Targets(server.Addr)[0].URL, window, result.Failed)
		default:
			window *= 4
		}
	}
}

// unevenness is how far apart the throughput of the two halves of a loop was, as a
// share of the whole's. (A second loop would find the requests that the first left
// in a slow server's queue.)
func unevenness(r load.ClosedResult) float64 {
	middle := int64(probeWarmup + r.Elapsed/2)
	second := 0
	for _, q := range r.Requests {
		if q.Good() && q.Done >= middle {
			second++
		}
	}
	return math.Abs(float64(r.Answered-2*second)) / (float64(r.Answered) / 2)
}

// sameAs finds an earlier arm that is served and asked alike, so that one probe
// does for both; -1 for none.
func (p *plan) sameAs(arm int) int {
	for i := range arm {
		a, b := p.Arms[i], p.Arms[arm]
		if a.KeepAlive == b.KeepAlive && slices.Equal(a.Command, b.Command) && maps.Equal(p.arms[i].Flags, p.arms[arm].Flags) {
			return i
		}
	}
	return -1
}
