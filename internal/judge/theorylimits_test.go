package judge

import (
	"math"
	"testing"
	"time"

	"schedlab/internal/queueing"
	"schedlab/internal/record"
	"schedlab/internal/window"
)

// lossOf is the share that M/M/1/K turns away.
func lossOf(rho float64, k int) float64 {
	return (1 - rho) * math.Pow(rho, float64(k)) / (1 - math.Pow(rho, float64(k+1)))
}

// What each simple theory takes for its queue, its servers and its demand.
func TestTheoriesByHand(t *testing.T) {
	t.Parallel()
	load := queueing.Load{Rate: 1500, CA2: 1, Service: 1e-3, SCV: 1}
	own := record.Station{Kind: queueing.PerWorker, Workers: 4, Cores: 1, Turn: queueing.GoTurn, Places: 3}
	near(t, "loss of four queues of three", predicted(t, "mm1", own, load).Loss, lossOf(1.5, 12))
	shared := record.Station{Kind: queueing.Pool, Workers: 4, Cores: 1, Turn: queueing.GoTurn, Places: 12}
	near(t, "loss of one queue of twelve", predicted(t, "mm1", shared, load).Loss, lossOf(1.5, 12))

	waits := queueing.Load{Rate: 5, CA2: 1, Service: .01, SCV: 1, Block: .09}
	one := record.Station{Kind: queueing.Pool, Workers: 1, Cores: 1, Turn: queueing.GoTurn}
	near(t, "M/M/1 of computing and waiting", predicted(t, "mm1", one, waits).Mean, 1/(10.-5))
	near(t, "sharing, and waiting beside it", predicted(t, "ps", one, waits).Mean, .01/(1-.05)+.09)

	// Pollaczek-Khinchin: S + rho (1 + C²)/2 S/(1 - rho)
	uneven := queueing.Load{Rate: 500, CA2: 1, Service: 1e-3, SCV: 4}
	near(t, "goroutines that only compute, in order", predicted(t, "mgc", record.Station{Kind: queueing.Goroutines, Cores: 1, Turn: queueing.GoTurn}, uneven).Mean, 1e-3+.5*2.5*1e-3/.5)
	// Workers that wait as long as they compute are no more servers than there are cores.
	half := queueing.Load{Rate: 400, CA2: 1, Service: 1e-3, SCV: 1, Block: 1e-3}
	near(t, "computing as long as waiting", predicted(t, "mgc", record.Station{Kind: queueing.Pool, Workers: 4, Cores: 1, Turn: queueing.GoTurn}, half).Mean, 2e-3/(1-.8))

	bounds := func(c record.Clients) queueing.Prediction {
		for _, th := range theories() {
			if th.name == "bounds" {
				return th.predict(record.Station{Cores: 2}, queueing.Load{Service: 1e-3, Block: 1e-3}, c)
			}
		}
		return queueing.Prediction{}
	}
	thinks := bounds(record.Clients{Connections: 3, Pipeline: 2, Think: .010})
	near(t, "six that think: N/(D+Z)", thinks.Throughput, 6/.012)
	near(t, "their time, D", thinks.Mean, .002)
	greedy := bounds(record.Clients{Connections: 6})
	near(t, "six that do not: 1/Dmax", greedy.Throughput, 2/1e-3)
	near(t, "their time, N Dmax", greedy.Mean, 6*.5e-3)
}

// Connections that are kept take turns; the rate is that of the whole window.
func TestTheWindowAsALoad(t *testing.T) {
	t.Parallel()
	trial := record.TrialRecord{Trial: record.Trial{Window: 2, Server: record.ServerSide{CPU: .004}}}
	for i := range 4 {
		at := int64(i) * 1e8
		trial.Requests = append(trial.Requests, record.Request{Scheduled: at, Done: at + 1e6, Iters: 500, Status: 200})
	}
	for i, j := range jobs(trial, 1e-6, 5e-4, record.Clients{Connections: 3, KeepAlive: true}) {
		if j.Conn != i%3 || j.CPU != time.Millisecond {
			t.Errorf("request %d: %+v, want connection %d and a millisecond", i, j, i%3)
		}
	}

	run := record.Run{Env: record.Env{ItersPerUsec: 1}, Plan: record.Plan{Predict: []string{"ps"}}}
	station := &record.Station{Kind: "pool", Workers: 1, Cores: 1}
	predicts := func(edit func(*modelled, *record.PlanArm, *record.Run)) map[string]queueing.Prediction {
		w, arm, own := &modelled{Window: window.Window{Values: map[string]float64{"cpu_per_request": .001}}}, record.PlanArm{Station: station}, run
		edit(w, &arm, &own)
		predict(w, trial, arm, own)
		return w.predicted
	}
	p := predicts(func(*modelled, *record.PlanArm, *record.Run) {})["ps"]
	near(t, "two requests a second of a millisecond", p.Mean, 1e-3/(1-2e-3)) // 1 ms each: all of the server's CPU time
	for name, edit := range map[string]func(*modelled, *record.PlanArm, *record.Run){
		"no CPU time":        func(w *modelled, _ *record.PlanArm, _ *record.Run) { w.Values["cpu_per_request"] = 0 },
		"no station":         func(_ *modelled, a *record.PlanArm, _ *record.Run) { a.Station = nil },
		"no theory asked":    func(_ *modelled, _ *record.PlanArm, r *record.Run) { r.Plan.Predict = nil },
		"no demand measured": func(_ *modelled, _ *record.PlanArm, r *record.Run) { r.Env.ItersPerUsec = 0 },
	} {
		if p := predicts(edit); p != nil {
			t.Errorf("%s: predicts %+v", name, p)
		}
	}
}

// Which clients an ideal scheduler can be put in front of, and how many wait outside.
func TestTwinsOfClients(t *testing.T) {
	t.Parallel()
	pool := record.Station{Kind: "pool", Workers: 1, Cores: 1}
	aging := record.Station{Kind: "pool", Workers: 1, Cores: 1, Target: .005, Interval: .1, Places: 8}
	bounded := record.Station{Kind: "pool", Workers: 1, Cores: 1, Places: 8, Overflow: "reject"}
	open, closed := record.Clients{Loop: "open", KeepAlive: true}, record.Clients{Loop: "closed", KeepAlive: true, Connections: 4}
	with := func(c record.Clients, edit func(*record.Clients)) record.Clients { edit(&c); return c }
	conns := func(c record.Clients, n int) record.Clients { c.Connections = n; return c }
	for _, c := range []struct {
		name    string
		station record.Station
		clients record.Clients
		why     record.Code
		places  int
		blocks  bool
	}{
		{"closed", pool, closed, "", 0, false},
		{"closed, one at a time", pool, with(closed, func(c *record.Clients) { c.Pipeline = 1 }), "", 0, false},
		{"closed, pipelined", pool, with(closed, func(c *record.Clients) { c.Pipeline = 2 }), twinOfClients, 0, false},
		{"closed, thinking", pool, with(closed, func(c *record.Clients) { c.Think = .1 }), twinOfClients, 0, false},
		{"closed, paced", pool, with(closed, func(c *record.Clients) { c.Rate = 10 }), twinOfClients, 0, false},
		{"closed, in sessions", pool, with(closed, func(c *record.Clients) { c.Session = 10 }), twinOfClients, 0, false},
		{"open, any number", pool, open, "", 0, false},
		{"open, of four", pool, conns(open, 4), "", 4, true},
		{"open, as many as places", bounded, conns(open, 8), "", 8, true},
		{"open, more than places", bounded, conns(open, 9), "", 8, false},
		{"open, any number, and places", bounded, open, "", 8, false},
		{"aging, as many as places", aging, conns(open, 8), twinOfAging, 0, false},
		{"aging, more than places", aging, conns(open, 9), "", 8, false},
		{"aging, any number", aging, open, "", 8, false},
	} {
		st, note, why := TwinOf(record.PlanArm{Mode: "pool", Station: &c.station, Clients: c.clients})
		if why.Code != c.why || c.why == "" && (st.Places != c.places || (st.Overflow == queueing.Blocks) != c.blocks) || note != "" {
			t.Errorf("%s: %d places, overflow %q, note %q, for %+v; want %d, %v, %q", c.name, st.Places, st.Overflow, note, why, c.places, c.blocks, c.why)
		}
	}
	for workers, noted := range map[int]bool{1: false, 2: true} {
		st := record.Station{Kind: "loops", Workers: workers, Cores: 1}
		if _, note, why := TwinOf(record.PlanArm{Mode: "loop", Station: &st, Clients: open}); !why.None() || (note != "") != noted {
			t.Errorf("%d loops: the note %q, %+v", workers, note, why)
		}
	}
}

// What a replay needs: requests, not too many, with demands and CPU time that are known.
func TestReplaysThatCannotBe(t *testing.T) {
	t.Parallel()
	trial := func(n int, iters uint32, cpu float64) record.TrialRecord {
		r := record.TrialRecord{Trial: record.Trial{Window: 1, Server: record.ServerSide{CPU: cpu}}, Requests: make([]record.Request, n)}
		for i := range r.Requests {
			at := int64(i) * 1e9 / int64(n)
			r.Requests[i] = record.Request{Scheduled: at, Sent: at, Done: at + 1000, Iters: iters, Status: 200}
		}
		return r
	}
	for name, c := range map[string]struct {
		t     record.TrialRecord
		iters float64
		want  record.Code
	}{
		"as it should be":           {trial(10, 500, .01), 1, ""},
		"a server that took no CPU": {trial(10, 500, 0), 1, ""},
		"as many as are replayed":   {trial(mostTwin, 0, .01), 1, twinCostUnknown},
		"one more":                  {trial(mostTwin+1, 0, .01), 1, twinTooLong},
		"CPU time unknown":          {trial(10, 500, -1), 1, twinCPUUnknown},
		"demand unknown":            {trial(10, 500, .01), 0, twinCPUUnknown},
		"no reply":                  {trial(0, 500, .01), 1, twinCostUnknown},
	} {
		w := &modelled{Window: window.Window{Values: map[string]float64{}}}
		why := replay(w, c.t, record.Station{Kind: queueing.Pool, Workers: 1, Cores: 1, Turn: queueing.GoTurn}, record.PlanArm{}, record.Env{ItersPerUsec: c.iters})
		if why.Code != c.want {
			t.Errorf("%s: %+v, want %q", name, why, c.want)
		}
	}
}

// The CPU time beyond the demand is that of the good replies that ended in the window, which
// begins with its first nanosecond and ends before its last.
func TestBeyondTheDemand(t *testing.T) {
	t.Parallel()
	reply := func(done int64, status uint16) record.Request {
		return record.Request{Done: done, Iters: 1000, Status: status}
	}
	trial := record.TrialRecord{
		Trial:    record.Trial{Warmup: 1, Window: 1, Server: record.ServerSide{CPU: .009}},
		Requests: []record.Request{reply(1e9-1, 200), reply(1e9, 200), reply(15e8, 500), reply(2e9-1, 200), reply(2e9, 200)},
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
	trial := record.TrialRecord{Trial: record.Trial{Window: 1}}
	for i := range 20 {
		at := int64(i/2) * 1e8 // two at a time
		trial.Requests = append(trial.Requests, record.Request{Scheduled: at, Done: at + 1e6, Iters: 1000, Status: 200})
	}
	two := record.Station{Kind: queueing.Loops, Workers: 2, Cores: 2, Turn: queueing.Whole}
	p := play(two, record.Clients{Loop: "open", KeepAlive: true, Connections: 2}, trial, 1e-6, 0)
	near(t, "two requests on two loops", p.Mean, 1e-3)
}

// An overloaded arm has no twin where its queue has no end; a bounded one has.
func TestTwinsOfOverloadedArms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		st   record.Station
		over bool
		want record.Code
	}{
		{record.Station{}, true, twinOverload}, {record.Station{Places: 8, Overflow: queueing.Blocks}, true, twinOverload},
		{record.Station{Places: 8}, true, ""}, {record.Station{}, false, ""},
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
	if s := record.SpreadOf(v); *s != (record.Spread{Median: 6.5, Low: 3, High: 10}) {
		t.Errorf("got %+v", *s)
	}
}
