package experiment

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"schedlab/internal/judge"
	"schedlab/internal/process"
	"schedlab/internal/record"
	"schedlab/internal/timeline"
)

// timelineLimit is how long a server may take to tell its stamps.
const timelineLimit = 10 * time.Second

const (
	// serverRing is of how many requests a server keeps the stamps by default.
	serverRing = 1 << 18
	// ringMargin is the surplus of the ring over the requests to come, and
	// pipelineMargin that over the throughput of the probe, which has no pipeline.
	ringMargin     = 2
	pipelineMargin = 4
)

// ring is of how many requests the servers must keep the stamps. Where no rate bounds that,
// it follows from their throughput. It is one number for all arms: a ring
// is heap, and heap puts off the garbage collector.
func (p *plan) ring(xmax map[string]float64) int {
	most := 0.0
	for _, a := range p.arms { // the copy has no throughput of its own, and is as its baseline
		rate := a.Clients.Rate
		if a.Clients.Closed() && rate == 0 {
			if rate = xmax[a.Name]; a.Clients.Pipeline > 1 {
				rate *= pipelineMargin
			}
		}
		if p.accounts(a) {
			most = max(most, rate*(p.Warmup+p.Window))
		}
	}
	return int(min(ringMargin*most, timeline.MaxRing))
}

// command is an arm's command line for a trial, of a server that keeps the stamps of so
// many requests.
func (p *plan) command(a arm, ring int) []string {
	if _, own := a.asked.Flags["timeline"]; own || !p.accounts(a) || ring <= serverRing {
		return a.Command
	}
	return append(slices.Clip(a.Command), "--timeline", strconv.Itoa(ring))
}

// readTimeline reads the stamps of the requests the server has answered, and how many
// more it had, whose stamps were overwritten.
func readTimeline(ctx context.Context, p *process.Process) (stamps []timeline.Server, lost uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, timelineLimit)
	defer cancel()
	reply, err := p.Ask(ctx, "http://"+p.Admin+"/debug/timeline?format=binary", "application/octet-stream")
	if err != nil {
		return nil, 0, fmt.Errorf("reading the server's timeline: %w", err)
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(reply.Body, 200))
		return nil, 0, fmt.Errorf("reading the server's timeline: answered %d, %q", reply.StatusCode, said)
	}
	if lost, err = strconv.ParseUint(cmp.Or(reply.Header.Get(timeline.LostHeader), "0"), 10, 64); err != nil {
		return nil, 0, fmt.Errorf("reading the server's timeline: its header %s: %w", timeline.LostHeader, err)
	}
	stamps, err = timeline.Read(reply.Body)
	return stamps, lost, err
}

// inOrder finds the n requests of a trace, which are in the order of their numbers.
func inOrder(n int) func(seq uint64) int {
	return func(seq uint64) int {
		if seq >= uint64(n) {
			return -1
		}
		return int(seq)
	}
}

// bySeq finds the requests of a closed loop by their numbers, which ascend.
func bySeq(seqs []uint64) func(seq uint64) int {
	return func(seq uint64) int {
		if i, found := slices.BinarySearch(seqs, seq); found {
			return i
		}
		return -1
	}
}

// join gives every request the server's stamps with its number. A request without any is
// no error: the server died, refused it, or never received it.
func join(start time.Time, client []record.Stamps, place func(seq uint64) int, server []timeline.Server) {
	zero := timeline.At(start)
	from := func(at int64) int64 {
		if at == 0 {
			return 0
		}
		return max(at-zero, 1) // a connection may be older than the attack
	}
	for _, s := range server {
		i := place(s.Seq)
		if i < 0 {
			continue
		}
		r := &client[i]
		r.Accept, r.Received, r.Read = from(s.Accept), from(s.Received), from(s.Read)
		r.Enqueue, r.Dequeue = from(s.Enqueue), from(s.Dequeue)
		r.Begin, r.End, r.Write = from(s.Begin), from(s.End), from(s.Write)
	}
}

// accounts reports whether the time of an arm's requests is told in parts.
func (p *plan) accounts(a arm) bool { return judge.Accounts(p.Plan, a.Name) }
