package experiment

import (
	"bufio"
	"bytes"
	"context"
	"strconv"
	"strings"
	"time"

	"schedlab/internal/host"
	"schedlab/internal/process"
	"schedlab/internal/prose"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
)

// settleTime is how long the server's counters get to agree that the clients
// have gone.
const settleTime, settlePoll = 500 * time.Millisecond, 2 * time.Millisecond

// scrapeForeign reads the metrics that an arm says its own server publishes; nil where it
// names none. That they cannot be read is a doubt.
func scrapeForeign(ctx context.Context, p *process.Process, a scenario.Arm, side *record.ServerSide) []byte {
	if a.Metrics == "" {
		return nil
	}
	text, err := p.Scrape(ctx)
	if err != nil {
		side.Doubts = append(side.Doubts, record.Fact{Code: record.MetricsUnreadable, Names: record.Names{"error": p.General(prose.FirstLine(err.Error()))}})
	}
	return text
}

// settle scrapes the server until its connections are closed, and reads the
// counters. A server without them stays unknown.
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

// counters sums the series of a scrape on connections and on event loops' work by name, over
// their labels.
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
