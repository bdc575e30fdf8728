package experiment

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
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
)

// settleTime is how long settle waits until the server's counters show no open connection.
const settleTime, settlePoll = 500 * time.Millisecond, 2 * time.Millisecond

// scrapeForeign reads the metrics that an arm's own server publishes; nil if the arm names none. It
// raises a doubt if they cannot be read.
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
func settle(ctx context.Context, server *process.Process, a scenario.Arm, side *record.ServerSide) []byte {
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
		if lines.Decode(&r) != nil {
			return all
		}
		r.Reading.At = time.Duration(r.At - from).Seconds()
		all = append(all, r.Reading)
	}
}

// within returns the readings of a window of window seconds, and the last reading before it. all is in
// the order of time.
func within(all []record.Reading, window float64) []record.Reading {
	first, _ := slices.BinarySearchFunc(all, 0, func(r record.Reading, at float64) int { return cmp.Compare(r.At, at) })
	end, _ := slices.BinarySearchFunc(all, window, func(r record.Reading, at float64) int { return cmp.Compare(r.At, at) })
	return all[max(first-1, 0):end]
}

// mostReadings is the largest number of readings that are recorded of a window.
const mostReadings = 200

// thinned returns at most mostReadings of all. It keeps one of each group of neighbours: the reading
// with the most open connections.
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

// counters returns, by name, the counters of connections and of event loops in a scrape, each summed
// over its labels.
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
