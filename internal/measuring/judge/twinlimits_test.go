package judge

import (
	"math"
	"testing"
	"time"

	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/queueing"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
	"schedlab/internal/shared/stats"
)

// Which clients an ideal scheduler can be put in front of, and how many wait outside.
func TestTwinsOfClients(t *testing.T) {
	t.Parallel()
	pool := queueing.Station{Kind: "pool", Workers: 1, Cores: 1}
	aging := queueing.Station{Kind: "pool", Workers: 1, Cores: 1, Target: queueing.Span(queueing.CoDelTarget), Interval: queueing.Span(queueing.CoDelInterval), Places: 8}
	bounded := queueing.Station{Kind: "pool", Workers: 1, Cores: 1, Places: 8, Overflow: "reject"}
	open, closed := record.Clients{Loop: "open", KeepAlive: true}, record.Clients{Loop: "closed", KeepAlive: true, Connections: 4}
	with := func(c record.Clients, edit func(*record.Clients)) record.Clients { edit(&c); return c }
	conns := func(c record.Clients, n int) record.Clients { c.Connections = n; return c }
	for _, c := range []struct {
		name    string
		station queueing.Station
		clients record.Clients
		why     fact.Code
		places  int
		blocks  bool
	}{
		{"closed", pool, closed, "", 0, false},
		{"closed, one at a time", pool, with(closed, func(c *record.Clients) { c.Pipeline = 1 }), "", 0, false},
		{"closed, pipelined", pool, with(closed, func(c *record.Clients) { c.Pipeline = 2 }), twinOfClients.Code, 0, false},
		{"closed, thinking", pool, with(closed, func(c *record.Clients) { c.Think = record.Lasting(100 * time.Millisecond) }), twinOfClients.Code, 0, false},
		{"closed, paced", pool, with(closed, func(c *record.Clients) { c.Rate = 10 }), twinOfClients.Code, 0, false},
		{"closed, in sessions", pool, with(closed, func(c *record.Clients) { c.Session = 10 }), twinOfClients.Code, 0, false},
		{"open, any number", pool, open, "", 0, false},
		{"open, of four", pool, conns(open, 4), "", 4, true},
		{"open, as many as places", bounded, conns(open, 8), "", 8, true},
		{"open, more than places", bounded, conns(open, 9), "", 8, false},
		{"open, any number, and places", bounded, open, "", 8, false},
		{"aging, as many as places", aging, conns(open, 8), twinOfAging.Code, 0, false},
		{"aging, more than places", aging, conns(open, 9), "", 8, false},
		{"aging, any number", aging, open, "", 8, false},
	} {
		st, note, why := twinOf(record.PlanArm{Mode: "pool", Station: &c.station, Clients: c.clients})
		if why.Code != c.why || c.why == "" && (st.Places != c.places || (st.Overflow == queueing.Blocks) != c.blocks) || note != "" {
			t.Errorf("%s: %d places, overflow %q, note %q, for %+v; want %d, %v, %q", c.name, st.Places, st.Overflow, note, why, c.places, c.blocks, c.why)
		}
	}
	for workers, noted := range map[int]bool{1: false, 2: true} {
		st := queueing.Station{Kind: "loops", Workers: workers, Cores: 1}
		if _, note, why := twinOf(record.PlanArm{Mode: "loop", Station: &st, Clients: open}); !why.None() || (note != "") != noted {
			t.Errorf("%d loops: the note %q, %+v", workers, note, why)
		}
	}
}

// What a replay needs: requests, not too many, with demands and CPU time that are known.
func TestReplaysThatCannotBe(t *testing.T) {
	t.Parallel()
	trial := func(n int, iters uint32, cpu float64) record.TrialRecord {
		r := record.TrialRecord{Trial: record.Trial{Window: record.Lasting(time.Second), Server: record.ServerSide{CPU: cpu}}, Requests: make([]request.Request, n)}
		for i := range r.Requests {
			at := int64(i) * 1e9 / int64(n)
			r.Requests[i] = request.Request{Scheduled: at, Sent: at, Done: at + 1000, Iters: iters, Status: 200}
		}
		return r
	}
	for name, c := range map[string]struct {
		t     record.TrialRecord
		iters float64
		want  fact.Code
	}{
		"as it should be":           {trial(10, 500, .01), 1, ""},
		"a server that took no CPU": {trial(10, 500, 0), 1, ""},
		"as many as are replayed":   {trial(mostTwin, 0, .01), 1, twinCostUnknown.Code},
		"one more":                  {trial(mostTwin+1, 0, .01), 1, twinTooLong.Code},
		"CPU time unknown":          {trial(10, 500, -1), 1, twinCPUUnknown.Code},
		"demand unknown":            {trial(10, 500, .01), 0, twinCPUUnknown.Code},
		"no reply":                  {trial(0, 500, .01), 1, twinCostUnknown.Code},
	} {
		w := &modelled{}
		why := replay(w, c.t, queueing.Station{Kind: queueing.Pool, Workers: 1, Cores: 1, Turn: queueing.GoTurn}, record.PlanArm{}, record.Env{ItersPerUsec: c.iters})
		if why.Code != c.want {
			t.Errorf("%s: %+v, want %q", name, why, c.want)
		}
	}
}

// The CPU time beyond the demand is that of the good replies that ended in the window, which
// begins with its first nanosecond and ends before its last.
func TestBeyondTheDemand(t *testing.T) {
	t.Parallel()
	reply := func(done int64, status uint16) request.Request {
		return request.Request{Done: done, Iters: 1000, Status: status}
	}
	trial := record.TrialRecord{
		Trial:    record.Trial{Warmup: record.Lasting(time.Second), Window: record.Lasting(time.Second), Server: record.ServerSide{CPU: .009}},
		Requests: []request.Request{reply(1e9-1, 200), reply(1e9, 200), reply(15e8, 500), reply(2e9-1, 200), reply(2e9, 200)},
	}
	if beyond, ok := beyondDemand(trial, 1e-6); !ok || math.Abs(beyond-(.009-.002)/2) > 1e-12 {
		t.Errorf("got %v, %v; want 9 ms less two of 1 ms, over two", beyond, ok)
	}
	trial.Requests = trial.Requests[:1]
	if _, ok := beyondDemand(trial, 1e-6); ok {
		t.Error("a window without a good reply has CPU time beyond the demand")
	}
}

// Kept connections come to the loops in turn, in a replay as in the window.
func TestReplayKeepsConnections(t *testing.T) {
	t.Parallel()
	trial := record.TrialRecord{Trial: record.Trial{Window: record.Lasting(time.Second)}}
	for i := range 20 {
		at := int64(i/2) * 1e8 // two at a time
		trial.Requests = append(trial.Requests, request.Request{Scheduled: at, Done: at + 1e6, Iters: 1000, Status: 200})
	}
	two := queueing.Station{Kind: queueing.Loops, Workers: 2, Cores: 2, Turn: math.MaxInt64}
	p := play(two, record.Clients{Loop: "open", KeepAlive: true, Connections: 2}, trial, 1e-6, 0)
	near(t, "two requests on two loops", p.Mean, 1e-3)
}

// An overloaded arm has no twin where its queue has no end; a bounded one has.
func TestTwinsOfOverloadedArms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		st   queueing.Station
		over bool
		want fact.Code
	}{
		{queueing.Station{}, true, twinOverload.Code}, {queueing.Station{Places: 8, Overflow: queueing.Blocks}, true, twinOverload.Code},
		{queueing.Station{Places: 8}, true, ""}, {queueing.Station{}, false, ""},
	} {
		b := blocks{over: map[string]bool{"a": c.over}}
		if why := b.withoutTwin("a", c.st); why.Code != c.want {
			t.Errorf("%+v, overloaded %v: %+v, want %q", c.st, c.over, why, c.want)
		}
	}
}

// A spread is the median within its exact interval: of twelve values the third to the tenth.
func TestSpreadOfTwelve(t *testing.T) {
	t.Parallel()
	v := []float64{12, 1, 11, 2, 10, 3, 9, 4, 8, 5, 7, 6}
	if s := stats.SpreadOf(v); *s != (stats.Spread{Median: 6.5, Low: 3, High: 10}) {
		t.Errorf("got %+v", *s)
	}
}
