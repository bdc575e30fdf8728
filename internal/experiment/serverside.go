package experiment

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"schedlab/internal/host"
	"schedlab/internal/process"
	"schedlab/internal/prose"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
	"schedlab/internal/timeline"
)

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
		side.Doubts = append(side.Doubts, record.Fact{Code: metricsUnreadable, Names: record.Names{"error": p.General(prose.FirstLine(err.Error()))}})
	}
	return text
}

// settle scrapes the server until its connections are closed, and stores its counters in side. The
// counters stay unknown for a server without them. settle returns the text of the last scrape.
//
// This file reads what the server itself tells about a trial: its counters, its readings of them
// over time, and its stamps of each request. All of that is optional. Only our own servers have it
// in full, and a trial without it is judged by the client's side alone.
func settle(ctx context.Context, server *process.Process, a scenario.Arm, side *record.ServerSide) []byte {
	// Another program's metrics have names of their own, so nothing in them tells whether it has
	// settled.
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

// readings returns the readings of connection counters that the server has kept. Their times count
// from the moment from of the machine's clock, in nanoseconds. It returns none if the server is gone or
// keeps none.
func readings(ctx context.Context, server *process.Process, from int64) (all []record.Reading) {
	ctx, cancel := context.WithTimeout(ctx, timelineLimit)
	defer cancel()
	reply, err := server.Ask(ctx, "http://"+server.Admin+"/debug/connections", "application/x-ndjson")
	if err != nil {
		return nil
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		return nil
	}
	lines := json.NewDecoder(reply.Body)
	for {
		var r struct {
			record.Reading
			At int64 `json:"at_ns"`
		}
		// The end of the stream, or a line cut off with the server: what came before is good.
		if lines.Decode(&r) != nil {
			return all
		}
		// Server and load read the same clock of the machine, so their times can be subtracted.
		r.Reading.At = time.Duration(r.At - from).Seconds()
		all = append(all, r.Reading)
	}
}

// within returns the readings of a window of window seconds, and the last reading before it. all
// is in the order of time. The reading before the window tells the counters as the window begins.
func within(all []record.Reading, window float64) []record.Reading {
	first, _ := slices.BinarySearchFunc(all, 0, func(r record.Reading, at float64) int { return cmp.Compare(r.At, at) })
	end, _ := slices.BinarySearchFunc(all, window, func(r record.Reading, at float64) int { return cmp.Compare(r.At, at) })
	return all[max(first-1, 0):end]
}

// mostReadings is the largest number of readings that are recorded of a window.
const mostReadings = 200

// thinned returns at most mostReadings of all. It keeps one of each group of neighbours: the
// reading with the most open connections. So a peak stays visible. The order stays, too.
func thinned(all []record.Reading) []record.Reading {
	if len(all) <= mostReadings {
		return all
	}
	var kept []record.Reading
	for near := range slices.Chunk(all, (len(all)+mostReadings-1)/mostReadings) {
		kept = append(kept, slices.MaxFunc(near, func(a, b record.Reading) int { return cmp.Compare(a.Open, b.Open) }))
	}
	return kept
}

// counters returns, by name, the counters of connections and of event loops in a scrape, each
// summed over its labels. It reads the text format of Prometheus just far enough: a metric with
// labels, its value, and perhaps a time or exemplar after a space. Lines of other metrics are
// skipped, because a scrape during a window must be quick.
func counters(text []byte) map[string]float64 {
	sums := map[string]float64{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		l := lines.Text()
		if !strings.HasPrefix(l, "schedlab_connections_") && !strings.HasPrefix(l, host.LoopBusy) {
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

// timelineLimit is how long a server may take to send its stamps.
const timelineLimit = 10 * time.Second

// readTimeline reads the server's stamps of the requests that it has answered. lost is the number
// of further requests with overwritten stamps. The stamps are in the machine's monotonic clock, in
// nanoseconds, in no order that join relies on.
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

// join copies the server's stamps to the requests with the same number. A request without server
// stamps is no error: the server died, refused it, or never received it. start is the zero of the
// client's stamps. A server's stamp of 0 means that the step did not happen, and stays 0.
//
// In an open loop the number of a request is its place in the schedule, and seqs is nil. In a closed
// loop only finished requests are recorded, so numbers are missing: seqs has them, ascending.
func join(start time.Time, client []record.Stamps, seqs []uint64, server []timeline.Server) {
	zero := timeline.At(start)
	from := func(at int64) int64 {
		if at == 0 {
			return 0
		}
		return max(at-zero, 1) // a connection may be older than the attack
	}
	for _, s := range server {
		i, found := int(s.Seq), s.Seq < uint64(len(client))
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
