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

// timelineLimit is how long a server may take to send its stamps.
const timelineLimit = 10 * time.Second

const (
	// serverRing is the number of requests for which a server keeps stamps by default.
	serverRing = 1 << 18
	// ringMargin is the ratio of the ring to the expected requests. pipelineMargin is the ratio of the
	// expected throughput with a pipeline to the throughput of the probe, which has none.
	ringMargin     = 2
	pipelineMargin = 4
)

// ring returns the number of requests for which the servers must keep stamps. Without a rate, it
// follows from the arms' throughput xmax, in requests per second. The number is the same for all arms:
// a ring is on the heap, and a larger heap delays the garbage collector.
func (p *plan) ring(xmax map[string]float64) int {
	most := 0.0
	for _, a := range p.arms { // the copy was not probed; its baseline stands for it
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

// command returns the command line of an arm's server for a trial. The server keeps the stamps of ring
// requests.
func (p *plan) command(a arm, ring int) []string {
	if _, own := a.asked.Flags["timeline"]; own || !p.accounts(a) || ring <= serverRing {
		return a.Command
	}
	return append(slices.Clip(a.Command), "--timeline", strconv.Itoa(ring))
}

// readTimeline reads the server's stamps of the requests that it has answered. lost is the number of
// further requests with overwritten stamps.
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

// inOrder returns a function that maps a request's number to its index in a trace of n requests, which
// are in the order of their numbers; -1 for none.
func inOrder(n int) func(seq uint64) int {
	return func(seq uint64) int {
		if seq >= uint64(n) {
			return -1
		}
		return int(seq)
	}
}

// bySeq returns a function that maps a request's number to its index in seqs; -1 for none. seqs, the
// numbers of a closed loop's requests, ascend.
func bySeq(seqs []uint64) func(seq uint64) int {
	return func(seq uint64) int {
		if i, found := slices.BinarySearch(seqs, seq); found {
			return i
		}
		return -1
	}
}

// join copies the server's stamps to the requests with the same number. A request without server stamps
// is no error: the server died, refused it, or never received it.
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

// accounts reports whether the response times of an arm are broken down into parts.
func (p *plan) accounts(a arm) bool { return judge.Accounts(p.Plan, a.Name) }
