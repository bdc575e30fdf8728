package window

import (
	"math"
	"slices"
	"strings"
	"testing"

	"schedlab/internal/record"
	"schedlab/internal/stats"
	"schedlab/internal/window/closedloop"
)

// The laws of a closed loop hold with requests at the window's ends as long as they
// are, so that they can fail however many clients there are and however few cycles.
func TestClosedLaws(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		loop  closedloop.Clients
		think float64 // that the record tells of
		edit  func(*record.Trial, *record.Clients)
		broke string
	}{
		{"no pause", closedloop.Clients{N: 8, Took: .005}, 0, nil, ""},
		{"a pause", closedloop.Clients{N: 8, Took: .005, Pause: .02}, .02, nil, ""},
		{"a pause not told", closedloop.Clients{N: 8, Took: .005, Pause: .02}, 0, nil, LawInteractive},
		{"a short one not told", closedloop.Clients{N: 8, Took: .005, Pause: .001}, 0, nil, LawInteractive},
		{"starved clients", closedloop.Clients{N: 8, Took: .005, Starved: 6}, 0, nil, ""},
		{"thousands of clients, three cycles", closedloop.Clients{N: 4096, Took: .3}, 0, nil, ""},
		{"the same, and the load late for a tenth", closedloop.Clients{N: 4096, Took: .3, Pause: .033}, 0, nil, LawInteractive},
		{"clients that never came", closedloop.Clients{N: 4096, Took: .3}, 0, func(_ *record.Trial, c *record.Clients) { c.Connections = 5000 }, LawInteractive},
		{"paced", closedloop.Clients{N: 8, Took: .005, Pause: .02}, 0, func(_ *record.Trial, c *record.Clients) { c.Rate = 320 }, ""},
		{"a pipeline that is never full", closedloop.Clients{N: 8, Took: .005, Pause: .001}, 0, func(_ *record.Trial, c *record.Clients) { c.Connections, c.Pipeline = 4, 2 }, ""},
		{"a server that stops", closedloop.Clients{N: 64, Took: .001, Stall: .8}, 0, nil, LawLittle},
		{"requests that are lost", closedloop.Clients{N: 8, Took: .005}, 0, func(t *record.Trial, _ *record.Clients) { t.Client.Proof = &record.Proof{Sent: 1} }, LawFlow},
	} {
		trial, clients := c.loop.Window()
		clients.Think = c.think
		if c.edit != nil {
			c.edit(&trial.Trial, &clients)
		}
		w := Reduce(trial, record.Env{CPUs: 2}, clients)
		var broke []string
		for _, b := range w.Breaches(1, nil, false) {
			broke = append(broke, b.Rule)
		}
		if c.broke == "" && len(broke) > 0 || c.broke != "" && !slices.ContainsFunc(broke, func(rule string) bool { return strings.HasPrefix(rule, c.broke) }) {
			t.Errorf("%s: breaks %q among %+v, want %q", c.name, broke, w.Laws(1), c.broke)
		}
	}
}

// A queue that goes up and down is told from one that grows by how far it swings.
func TestSwing(t *testing.T) {
	t.Parallel()
	const second = int64(1e9)
	for name, c := range map[string]struct {
		gone func(at float64) float64 // when a request that came then goes, s
		want float64                  // the swing over what the number under way grows by
	}{
		"even growth":              {func(at float64) float64 { return 2 * at }, 1 / math.Sqrt(12)},
		"a pile in the last tenth": {func(at float64) float64 { return at + max(0, at-.9)*1e9 }, math.Sqrt(.1/3 - .0025)},
	} {
		p := presence{from: 0, to: second}
		n, under := 10_000, 0
		for i := range n {
			at := float64(i) / float64(n)
			gone := c.gone(at)
			p.add(int64(at*1e9), int64(min(gone, 10)*1e9)+1, true)
			under += stats.Count(gone > 1)
		}
		if got := p.swing() / float64(under); math.Abs(got/c.want-1) > .05 {
			t.Errorf("%s: swings by %.3f of its growth, want %.3f", name, got, c.want)
		}
	}
	p := presence{from: 0, to: second}
	for i := range int64(1000) { // ten stalls of 50 ms, the last at the end
		at := i * second / 1000
		p.add(at, at+100*second/1000-(at%(100*second/1000)), true)
	}
	if got := p.swing(); got < 25 || got > 33 { // 0 to 100 evenly: 100/√12
		t.Errorf("a sawtooth of 100 swings by %.1f, want about 29", got)
	}
}

// A connection of an open loop that starves from the warm-up on takes no part in the flow, so it breaks
// no law. A request that is lost on a connection with answers does.
func TestStarvedOpenLoop(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		starved, unclocked int
		broke              []string
	}{{55, 55, nil}, {64, 55, nil}, {0, 0, []string{LawLittle + " (ratio)"}}} {
		trial := record.TrialRecord{Trial: record.Trial{Warmup: .5, Window: 1, Server: record.ServerSide{CPU: -1, Accepted: -1}}}
		for i := range int64(450) { // 300/s, of which the first 55 are never answered
			r := record.Request{Scheduled: i * 1e9 / 300, Sent: i * 1e9 / 300, Done: i*1e9/300 + 20e6, Status: 200}
			if i < 55 {
				r.Done, r.Status, r.Outcome = 11e9, 0, record.TimedOut
			}
			trial.Requests = append(trial.Requests, r)
		}
		trial.Client.Asked, trial.Client.Starved = 64, c.starved
		w := Reduce(trial, record.Env{CPUs: 2}, record.Clients{Loop: "open", Connections: 64, KeepAlive: true})
		var broke []string
		for _, b := range w.Breaches(1, nil, false) {
			broke = append(broke, b.Rule)
		}
		if !slices.Equal(broke, c.broke) || w.Unclocked != c.unclocked {
			t.Errorf("%d starved: breaks %q, %d without a time; want %q, %d", c.starved, broke, w.Unclocked, c.broke, c.unclocked)
		}
	}
}
