package experiment

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"schedlab/internal/record"
	"schedlab/internal/timeline"
)

// Levels of stamping, as the servers' --stamps.
const (
	stampsOff  = "off"
	stampsFull = "full"
)

// timelineLimit is how long a server may take to tell its stamps.
const timelineLimit = 10 * time.Second

// serverRing is the number of requests whose stamps a server keeps by itself.
const serverRing = 1 << 18

// command is an arm's command line for a trial.
func (p *plan) command(arm int) []string {
	argv := p.Arms[arm].Command
	requests := int(p.Arms[arm].Clients.Rate * (p.Warmup + p.Window))
	if _, own := p.arms[arm].Flags["timeline"]; own || !p.accounts(arm) || requests < serverRing/2 {
		return argv
	}
	return append(slices.Clip(argv), "--timeline", strconv.Itoa(min(2*requests, timeline.MaxRing)))
}

// timeline reads the stamps of the requests the server has answered.
func (p *process) timeline(ctx context.Context) ([]timeline.Server, error) {
	ctx, cancel := context.WithTimeout(ctx, timelineLimit)
	defer cancel()
	reply, err := p.ask(ctx, "http://"+p.admin+"/debug/timeline?format=binary", "application/octet-stream")
	if err != nil {
		return nil, fmt.Errorf("reading the server's timeline: %w", err)
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(reply.Body, 200))
		return nil, fmt.Errorf("reading the server's timeline: answered %d, %q", reply.StatusCode, said)
	}
	return timeline.Read(reply.Body)
}

// join gives every request the server's stamps that bear its number. What cannot
// be joined is told by the record, not an error: there is none to join where the
// server died, refused or never heard of a request.
func join(start time.Time, client []record.Stamps, server []timeline.Server) {
	zero := timeline.At(start)
	from := func(at int64) int64 {
		if at == 0 {
			return 0
		}
		return max(at-zero, 1) // a connection may be older than the attack
	}
	for _, s := range server {
		if s.Seq >= uint64(len(client)) {
			continue
		}
		r := &client[s.Seq]
		r.Accept, r.Received, r.Read = from(s.Accept), from(s.Received), from(s.Read)
		r.Enqueue, r.Dequeue = from(s.Enqueue), from(s.Dequeue)
		r.Begin, r.End, r.Write = from(s.Begin), from(s.End), from(s.Write)
	}
}

// partsOf divides the response time of a good request by its stamps.
func partsOf(r record.Request, s record.Stamps) timeline.Parts {
	c := timeline.Client{Scheduled: r.Scheduled, Sent: r.Sent, Ready: s.Ready, Wrote: s.Wrote, First: s.First, Done: r.Done}
	if !s.Joined() {
		return timeline.Unjoined(c)
	}
	return timeline.Split(c, timeline.Server{
		Accept: s.Accept, Received: s.Received, Read: s.Read,
		Enqueue: s.Enqueue, Dequeue: s.Dequeue, Begin: s.Begin, End: s.End, Write: s.Write,
	})
}
