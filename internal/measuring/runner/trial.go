package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"schedlab/internal/measuring/arrivals"
	"schedlab/internal/measuring/expect"
	"schedlab/internal/measuring/host"
	"schedlab/internal/measuring/load"
	"schedlab/internal/measuring/process"
	"schedlab/internal/measuring/scenario"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/prose"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
	"schedlab/internal/shared/stats"
	"schedlab/internal/shared/timeline"
)

// A trial is one window of load on an arm's server. Its methods are the steps of the trial. A
// comparison takes all steps, with a fresh server for each window (see runTrial). A search
// takes some steps, for several windows of the same server (see search.offer).
//
// The steps are: measure sends the load and reads the clocks, readCounters and joinStamps read
// what the server tells, stop ends the server, write records it all. The order matters: counters
// settle only after the load, and stamps must be read before the server ends.
type trial struct {
	record.Trial
	plan   probed
	arm    arm // a search has chosen the rate of its clients
	server *process.Process
	seen   load.ClosedResult // the clients' view, of an open loop too; set by measure
	files  record.Files      // files to record with the requests
	lost   error             // a part of the load was lost, so the trial has failed
}

// newTrial returns a trial of an arm on a running server. number counts trials from 1, block from
// 0. Figures of the server are unknown until a step sets them.
func newTrial(p probed, number, block int, a arm, server *process.Process) *trial {
	t := &trial{plan: p, arm: a, server: server, Trial: record.Trial{
		Number: number, Block: block + 1, Arm: a.Name, Seed: blockSeed(p.Seed, block),
		Warmup: p.Warmup, Window: p.Window, Server: record.UnknownServer(),
	}}
	t.Server.PID, t.Server.Doubts = server.Pid(), server.Doubts
	return t
}

// runTrial measures one window of one arm with a fresh server, and records it in dir. It is an error if
// the server dies or stops replying. Everything else that a server does is in the record.
func (l lab) runTrial(ctx context.Context, p probed, dir *record.Dir, number, block int, a arm) (record.TrialRecord, error) {
	server, err := l.start(ctx, p, a)
	if err != nil {
		return record.TrialRecord{}, err
	}
	// On every way out, end what still runs, and remove the server's temporary directory.
	defer server.Kill()
	t := newTrial(p, number, block, a, server)
	p.heat(ctx, a, server, t.Seed)
	// Another program's counters run since its start, so read them before the load and after it.
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
	t.saturate(ctx)
	// The trial of a server that died is recorded as failed, so that the record shows how it died.
	if err := t.stop(); err != nil {
		return record.TrialRecord{Trial: t.Trial}, errors.Join(fmt.Errorf("arm %q, block %d: %w", a.asked.Given(), t.Block, err), t.write(dir))
	}
	return record.TrialRecord{Trial: t.Trial, Requests: t.seen.Requests, Stamps: t.seen.Stamps}, t.write(dir)
}

// errOutOfPorts is the error when the load, not the server, was the limit.
var errOutOfPorts = errors.New("the load ran out of local ports or descriptors")

// measure warms the server up, sends the load for the window, and reads the clocks of both. With
// an error, nothing is set.
func (t *trial) measure(ctx context.Context) error {
	p := t.plan
	quiet := pauseGC(quietRoom)
	// The watcher reads the clocks at the window's two ends, while the load runs.
	clocks := host.Watch(ctx, t.server.Pid(), p.cpus, p.Warmup.Duration, p.Window.Duration)
	scraped := func(e expect.Expectation) bool {
		return e.AsksFor(stats.Accepted, stats.Done, stats.StillOpen, stats.Loops)
	}
	// Scraping at the window's ends costs the server some time, so do it only for expectations
	// that ask for these figures, and on another site, where nothing else tells the server's CPU time.
	if p.opts.Site != nil || t.arm.Mode != "" && slices.ContainsFunc(p.Expect, scraped) {
		clocks.Count = func() (sums map[string]float64) {
			if text, err := t.server.Scrape(ctx); err == nil && text != nil {
				sums = counters(text)
			}
			return sums
		}
	}
	got, shards, err := t.drive(ctx, clocks)
	// The window is over, so collect its garbage now.
	quiet()
	if err != nil {
		clocks.End()
		return err
	}
	t.seen = got
	used := clocks.End()
	t.Server.CPU, t.Server.Foreign = used.Server, used.Foreign
	t.Server.Within, t.Server.Footprint, t.Server.Kernel = clocks.Connections(), clocks.Footprint, used.Kernel()
	if used.Stopped >= 0 {
		t.Server.Throttled, t.Server.ThrottledPeriods = used.Stopped, new(used.Stops)
	}
	t.Server.LoopBusy = clocks.Counted(host.LoopBusy)
	// The server is still there, but the CPU time of some of its children is lost.
	if used.Server < 0 && host.FamilyCPU(t.server.Pid()) >= 0 {
		t.Server.Doubts = append(t.Server.Doubts, doubt.CPUTimeLost)
	}
	t.server.Place(p.cpus, &t.Server)
	t.Client = got.Client(t.arm.Clients)
	t.Client.CPU, t.Client.Steal, t.Client.Throttled = used.Load, used.Steal, used.Throttled
	if shards != nil {
		t.remember(clocks, *shards)
	}
	return nil
}

// readCounters reads the server's counters after its connections have closed. What cannot be read
// stays unknown.
func (t *trial) readCounters(ctx context.Context) {
	// A server that crashed may not be known to be dead yet.
	if brokeOff(t.seen.Requests) {
		t.server.AwaitDeath()
	}
	t.files.Metrics = settle(ctx, t.server, t.arm.asked, &t.Server)
	t.Server.Procs = published(t.files.Metrics)
	if planned := t.plan.setup(t.arm.asked).procs; t.arm.Mode != "" && t.Server.Procs > 0 && t.Server.Procs != planned {
		t.Server.Doubts = append(t.Server.Doubts, otherProcs.Of(procs{Is: t.Server.Procs, Planned: planned}))
	}
	if t.arm.Mode != "" && t.server.Admin != "" {
		from := timeline.At(t.seen.Start.Add(t.Warmup.Duration))
		// What a server that is gone, or keeps none, does not tell is missing.
		_ = t.server.Get(ctx, "http://"+t.server.Admin+"/debug/connections", "application/x-ndjson", timelineLimit, func(reply *http.Response) error {
			t.Server.Readings = readings(reply.Body, from, t.Window.Seconds())
			return nil
		})
	}
}

// joinStamps reads the server's stamps and joins them with the clients' stamps. Without stamps of
// the server, the client's are recorded alone.
func (t *trial) joinStamps(ctx context.Context) error {
	t.files.Stamps = t.seen.Stamps
	if !t.plan.accounts(t.arm) || !t.server.Alive() {
		return nil
	}
	stamps, lost, err := readTimeline(ctx, t.server)
	if err != nil {
		return err
	}
	t.Server.StampsLost = lost
	join(t.seen, stamps)
	return nil
}

// stop makes the server drain and end. If it takes too long, stop raises a doubt. A server that
// died is an error, as is a lost part of the load, and the trial then has it as its failure.
func (t *trial) stop() error {
	err := t.server.Stop()
	if slow, ok := errors.AsType[*process.LingeredError](err); ok {
		t.Server.Doubts = append(t.Server.Doubts, lingered.Of(failure{slow.Error()}))
		return nil
	}
	if t.lost != nil {
		err = t.lost
	}
	if err != nil {
		t.Failure = err.Error()
	}
	return err
}

// write records the trial in dir. It includes the end of the server's log, and is called once.
func (t *trial) write(dir *record.Dir) error {
	t.files.Log = t.server.Output()
	return dir.WriteTrial(t.Trial, t.seen.Requests, t.files)
}

// brokeOff reports whether the last request to end was refused or reset: the server may be gone. A
// connection that breaks is the first sign.
func brokeOff(requests []request.Request) bool {
	if len(requests) == 0 {
		return false
	}
	last := slices.MaxFunc(requests, func(a, b request.Request) int { return cmp.Compare(a.Done, b.Done) })
	return last.Outcome.Broke()
}

// drive sends the arm's load to the server while clocks watches both. shards are the clocks of a load that
// another machine sent, else nil.
func (t *trial) drive(ctx context.Context, clocks *host.Watcher) (got load.ClosedResult, shards *Clocks, err error) {
	p, c, think := t.plan, t.arm.Clients, t.arm.load.Think
	var trace arrivals.Trace
	if c.Closed() {
		trace = p.scenario.Cycle(t.Seed, p.iters)
	} else if trace, err = p.trace(t.arm, t.Block-1, p.span()); err != nil {
		return got, nil, err
	}
	o := p.loadOn(t.server.Addr, c, trace)
	// What starves since the warm-up need not time out before the trial ends.
	o.Warmup = p.Warmup.Duration
	o.Started, o.Moments, o.Moment, o.Closing = clocks.Begin, clocks.Moments(), clocks.Moment, clocks.Closing
	if c.Closed() {
		// A closed loop has no schedule, so it is told how long to go on.
		o.Duration, o.Seed, o.Pause = p.Window.Duration, t.Seed, think.Pauses()
	}
	got, shards, err = send(ctx, p.opts.Site, o, think)
	if err == nil && got.Exhausted > 0 {
		err = errOutOfPorts
	}
	return got, shards, err
}

// loadOn returns the options of a load that sends trace to the server at addr. The clients'
// settings are c, with the rate that was chosen.
func (p plan) loadOn(addr string, c record.Clients, trace arrivals.Trace) load.Options {
	return load.Options{Clients: c, Targets: p.targets(addr, c), Trace: trace, Shared: p.cpus.Shared}
}

// settleTime is how long settle waits until the server's counters show no open connection.
// Connections close one by one after the load has ended, and the flow law needs the counters of a
// server without any open one. settlePoll is the time between two scrapes.
const settleTime, settlePoll = 500 * time.Millisecond, 2 * time.Millisecond

// scrapeForeign reads the metrics that an arm's own server publishes; nil if the arm names none.
// It raises a doubt if they cannot be read. It returns nil then, too.
func scrapeForeign(ctx context.Context, p *process.Process, a scenario.Arm, side *record.ServerSide) []byte {
	if a.Metrics == "" {
		return nil
	}
	text, err := p.Scrape(ctx)
	if err != nil {
		side.Doubts = append(side.Doubts, metricsUnreadable.Of(failure{p.General(prose.FirstLine(err.Error()))}))
	}
	return text
}

// settle scrapes the server until its connections are closed, and stores its counters in side. The
// counters stay unknown for a server without them. settle returns the text of the last scrape.
//
// What the server itself tells about a trial is read here and below: its counters, its readings of them
// over time, and its stamps of each request. All of that is optional. Only our own servers have it
// in full, and a trial without it is judged by the client's side alone.
func settle(ctx context.Context, server *process.Process, a scenario.Arm, side *record.ServerSide) []byte {
	// Another program's metrics have names of their own, so nothing in them tells whether it has settled.
	if a.Mode == "" {
		return scrapeForeign(ctx, server, a, side)
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

// mostReadings is the largest number of readings that are recorded of a window.
const mostReadings = 200

// readings returns the readings of connection counters in a window of window seconds, and the last one before
// it, which tells the counters as the window begins. Their times count from the moment from of the machine's
// clock, in nanoseconds: server and load read the same clock. Of more than mostReadings it keeps one
// of each group of neighbours: the reading with the most open connections. So a peak stays visible.
func readings(lines io.Reader, from int64, window float64) (all []record.Reading) {
	for next := json.NewDecoder(lines); ; {
		var r struct {
			record.Reading
			At int64 `json:"at_ns"`
		}
		// An error ends the list: the end of the stream, or a line cut off with the server. What came before is good.
		err := next.Decode(&r)
		if r.Reading.At = time.Duration(r.At - from).Seconds(); err != nil || r.Reading.At >= window {
			break
		}
		if r.Reading.At < 0 {
			all = all[:0]
		}
		all = append(all, r.Reading)
	}
	if len(all) <= mostReadings {
		return all
	}
	var kept []record.Reading
	for near := range slices.Chunk(all, (len(all)+mostReadings-1)/mostReadings) {
		kept = append(kept, slices.MaxFunc(near, func(a, b record.Reading) int { return cmp.Compare(a.Open, b.Open) }))
	}
	return kept
}

// counted are the prefixes of the names that counters looks for.
var counted = []string{"schedlab_connections_", host.LoopBusy, cpuCounter, stealCounter, throttleCounter}

// counters returns, by name, the counted metrics in a scrape, each summed over its labels. It reads the text format of Prometheus just far enough: a
// metric, its labels, its value, and perhaps a time or exemplar after a space. Lines of other metrics are
// skipped, because a scrape during a window must be quick.
func counters(text []byte) map[string]float64 {
	sums := map[string]float64{}
	for l := range strings.SplitSeq(string(text), "\n") {
		if !slices.ContainsFunc(counted, func(prefix string) bool { return strings.HasPrefix(l, prefix) }) {
			continue
		}
		name, value, _ := strings.Cut(l, " ")
		if before, rest, labels := strings.Cut(l, "{"); labels {
			name = before
			_, value, _ = strings.Cut(rest, "} ")
		}
		value, _, _ = strings.Cut(value, " ")
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			sums[name] += v
		}
	}
	return sums
}

// procsMetric is the number of Ps of a Go program, as Prometheus' client library publishes it.
const procsMetric = "go_sched_gomaxprocs_threads"

// published returns the number of Ps that a server publishes in a scrape; 0 if it publishes none. The
// processes of prefork have a label, and their series are passed over.
func published(text []byte) int {
	for l := range strings.SplitSeq(string(text), "\n") {
		if value, ok := strings.CutPrefix(l, procsMetric+" "); ok {
			value, _, _ = strings.Cut(value, " ")
			n, err := strconv.ParseFloat(value, 64)
			if err == nil && n >= 1 && n <= math.MaxInt32 {
				return int(n)
			}
		}
	}
	return 0
}

// timelineLimit is how long a server may take to send its stamps or its readings.
const timelineLimit = 10 * time.Second

// readTimeline reads the server's stamps of the requests that it has answered. lost is the number
// of further requests with overwritten stamps. The stamps are in the machine's monotonic clock, in
// nanoseconds, in no order that join relies on.
func readTimeline(ctx context.Context, p *process.Process) (stamps []timeline.Server, lost uint64, err error) {
	err = p.Get(ctx, "http://"+p.Admin+"/debug/timeline?format=binary", "application/octet-stream", timelineLimit, func(reply *http.Response) error {
		if lost, err = strconv.ParseUint(cmp.Or(reply.Header.Get(timeline.LostHeader), "0"), 10, 64); err != nil {
			return fmt.Errorf("its header %s: %w", timeline.LostHeader, err)
		}
		stamps, err = timeline.Read(reply.Body)
		return err
	})
	if err != nil {
		return nil, 0, fmt.Errorf("reading the server's timeline: %w", err)
	}
	return stamps, lost, nil
}

// join copies the server's stamps to the requests with the same number. A request without server
// stamps is no error: the server died, refused it, or never received it. start is the zero of the
// client's stamps. A server's stamp of 0 means that the step did not happen, and stays 0.
//
// In an open loop the number of a request is its place in the schedule, and seqs is nil. In a closed
// loop only finished requests are recorded, so numbers are missing: seqs has them, ascending.
//
// A request that was sent again has the stamps of its last attempt.
func join(seen load.ClosedResult, server []timeline.Server) {
	client, seqs, zero := seen.Stamps, seen.Seqs, timeline.At(seen.Start)
	from := func(at int64) int64 {
		if at == 0 {
			return 0
		}
		return max(at-zero, 1) // a connection may be older than the attack
	}
	for _, s := range server {
		number, retry := load.Attempt(s.Seq)
		i, found := int(number), number < uint64(len(client)) && (seqs != nil || retry == seen.Requests[number].Retries)
		if seqs != nil {
			i, found = slices.BinarySearch(seqs, s.Seq)
		}
		if !found {
			continue
		}
		r := &client[i]
		r.Accept, r.Received, r.Read = from(s.Accept), from(s.Received), from(s.Read)
		r.Enqueue, r.Dequeue = from(s.Enqueue), from(s.Dequeue)
		r.Begin, r.End, r.Write = from(s.Begin), from(s.End), from(s.Write)
	}
}
