package window

import (
	"math"
	"slices"
	"testing"
	"time"

	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
	"schedlab/internal/shared/stats"
	"schedlab/internal/shared/timeline"
)

// at makes a request that was scheduled, sent and done so many milliseconds after the start.
func at(scheduled, sent, done int64, status uint16, outcome request.End) request.Request {
	const ms = int64(time.Millisecond)
	if sent >= 0 {
		sent *= ms
	}
	return request.Request{Scheduled: scheduled * ms, Sent: sent, Done: done * ms, Status: status, Outcome: outcome}
}

// A window of two seconds after one of warm-up, counted by hand.
func TestReduce(t *testing.T) {
	t.Parallel()
	trial := record.TrialRecord{
		Trial: record.Trial{
			Warmup: record.Lasting(time.Second), Window: record.Lasting(2 * time.Second),
			Server: record.ServerSide{CPU: .5, Throttled: .3, ThrottledPeriods: new(4.), LoopBusy: new(.2), Foreign: .4, Kernel: &record.Kernel{Voluntary: 7, Involuntary: 3, ListenOverflows: 2}, Within: &record.Connections{Accepted: 1, Done: 2, Open: 3}},
			Client: record.ClientSide{CPU: 1, Steal: .2, Throttled: .1, ConnAnswers: []uint32{3, 1}, Asked: 5, Starved: 2, FirstReply: .25},
		},
		Requests: []request.Request{
			at(900, 900, 1100, 200, request.Answered),   // before the window, done in it
			at(1000, 1000, 1100, 200, request.Answered), // at its first moment
			at(1500, 1510, 1700, 302, request.Answered),
			at(1600, 1600, 1900, 503, request.Answered),
			at(1700, 1700, 2100, 404, request.Answered),
			at(1800, -1, 2800, 0, request.TimedOut),     // never sent
			at(1900, 1890, 2000, 200, request.Answered), // sent too early: out of order
			at(2000, 2100, 2050, 200, request.Answered), // done before it was sent: out of order
			at(2900, 2900, 3000, 200, request.Answered), // done after the window
			at(3000, 3000, 3100, 200, request.Answered), // after the window
		},
	}
	w := Reduce(trial, record.Env{CPUs: 4, ServerCPUs: "0,3", LoadCPUs: "1-2"}, record.Clients{Loop: "open"})

	if w.Requests != 8 || w.Good != 5 || w.completions != 8 || w.outcomes != 9 || w.backwards != 2 || w.Tau != 1 {
		t.Errorf("%d requests, %d good, %d done, %d sent in all, %d out of order, tau %v; want 8, 5, 8, 9, 2, 1",
			w.Requests, w.Good, w.completions, w.outcomes, w.backwards, w.Tau)
	}
	for status, want := range map[uint16]float64{200: .5, 302: .125, 503: .125, 404: .125, 0: .125} {
		if w.Status[status] != want {
			t.Errorf("a share of %v ended with status %d, want %v", w.Status[status], status, want)
		}
	}
	if len(w.Failures) != 3 || w.Failures["status 503"] != 1 || w.Failures["status 404"] != 1 || w.Failures["timed out"] != 1 {
		t.Errorf("failures are %v", w.Failures)
	}
	for f, want := range map[stats.Figure]float64{
		stats.Goodput:       5. / 2, // also the one from before the window
		stats.Throughput:    8. / 2,
		stats.Mean:          (.1 + .2 + .3 + .4 + 1 + .1 + .05 + .1) / 8,
		stats.GoodMean:      (.1 + .2 + .1 + .05 + .1) / 5,
		stats.Errors:        3. / 8,
		stats.Loss:          2. / 8, // timed out and 503
		stats.Tail:          math.NaN(),
		stats.P50:           math.NaN(), // of too few requests
		stats.CPUPerRequest: .5 / 8,
		stats.Switches:      10. / 8,
		stats.Overflows:     2,
		stats.Throttled:     .3 / 2, stats.Stops: 4. / 2,
		stats.Accepted: 1, stats.Done: 2, stats.StillOpen: 3, stats.Loops: .4,
		stats.Starved: 2, stats.Served: 3, stats.FirstReply: .25,
		stats.Busy: math.NaN(),
	} {
		if got := w.Values[f].Float(); !near(got, want) {
			t.Errorf("%s is %v, want %v", f, got, want)
		}
	}
	for name, c := range map[string]struct {
		got  stats.Opt
		want float64
	}{
		"late p50": {w.Late[stats.P50], 0}, "late p99": {w.Late[stats.P99], .1},
		"foreign load": {w.Foreign, .4 / 4}, "steal": {w.Stolen, .2 / (2 * 4)}, "throttling": {w.Throttled, .1 / 2},
		"CPU time of the load": {w.LoadShare, math.NaN()}, // it has its own CPUs
		"unsent":               {stats.Known(w.Unsent), 0},
	} {
		if got := c.got.Float(); !near(got, c.want) {
			t.Errorf("%s is %v, want %v", name, got, c.want)
		}
	}
	if !near(w.RateOff, 1./8) { // 7 of 8 were sent in the window
		t.Errorf("the rate is off by %v, want 1/8", w.RateOff)
	}
	if !near(w.Generator, 1./4) || w.Behind() {
		t.Errorf("the load used %v of its CPUs, behind %v; want 1/4, false", w.Generator, w.Behind())
	}
	if !near(w.Jain, 16./20) {
		t.Errorf("Jain's index is %v, want 0.8", w.Jain)
	}
}

// Of CPUs that it shares with the server, the load's share is told where the server has
// others beside them.
func TestShareOfTheLoad(t *testing.T) {
	t.Parallel()
	trial := record.TrialRecord{
		Trial:    record.Trial{Window: record.Lasting(2 * time.Second), Client: record.ClientSide{CPU: .3}},
		Requests: []request.Request{at(1500, 1500, 1600, 200, request.Answered)},
	}
	for _, c := range []struct {
		server, load string
		want         float64
	}{
		{"0-1", "1", .15},
		{"0-2", "1-2", .075},
		{"0", "1", math.NaN()},
		{"0", "0", math.NaN()},
		{"", "", math.NaN()}, // not bound
	} {
		w := Reduce(trial, record.Env{CPUs: 4, ServerCPUs: c.server, LoadCPUs: c.load}, record.Clients{})
		if got := w.LoadShare.Float(); !near(got, c.want) {
			t.Errorf("server on %q, load on %q: got %v, want %v", c.server, c.load, got, c.want)
		}
	}
}

// The engine spin uses all of its CPU: how busy it was is what it says itself. Nothing is
// made up of what is not known.
func TestReduceWhatIsNotKnown(t *testing.T) {
	t.Parallel()
	trial := record.TrialRecord{Trial: record.Trial{Warmup: record.Lasting(time.Second), Window: record.Lasting(2 * time.Second),
		Server: record.ServerSide{CPU: -1, Foreign: -1, Kernel: &record.Kernel{Voluntary: -1, Involuntary: 3, ListenOverflows: -1}},
		Client: record.ClientSide{CPU: 2, Steal: -1, Throttled: -1, Proof: &record.Proof{Busy: .9, Rest: "spins"}},
	}, Requests: []request.Request{at(1500, 1500, 1600, 200, request.Answered)}}
	w := Reduce(trial, record.Env{CPUs: 1}, record.Clients{})
	for _, f := range []stats.Figure{stats.CPUPerRequest, stats.Switches, stats.Overflows, stats.Starved, stats.Served, stats.FirstReply, stats.Accepted, stats.Done, stats.StillOpen, stats.Loops} {
		if got, known := w.Values[f].Get(); known {
			t.Errorf("%s is %v, want it unknown", f, got)
		}
	}
	if unknown := (stats.Opt{}); w.Foreign != unknown || w.Stolen != unknown || w.Throttled != unknown {
		t.Errorf("foreign load is %v, steal %v, throttling %v; want all unknown", w.Foreign, w.Stolen, w.Throttled)
	}
	if w.Generator != .9 || !w.Behind() || w.Values[stats.Busy] != stats.Known(.9) {
		t.Errorf("the load is busy for %v and %v, behind %v; want 0.9 and true", w.Generator, w.Values[stats.Busy], w.Behind())
	}

	zero := trial
	zero.Server = record.ServerSide{Kernel: &record.Kernel{}}
	zero.Client = record.ClientSide{Proof: &record.Proof{Busy: .9}, CPU: 1.6} // of another engine
	w = Reduce(zero, record.Env{}, record.Clients{})
	zeros := map[string]stats.Opt{"foreign load": w.Foreign, "steal": w.Stolen, "throttling": w.Throttled}
	for _, f := range []stats.Figure{stats.CPUPerRequest, stats.Switches, stats.Overflows} {
		zeros[f.String()] = w.Values[f]
	}
	for name, got := range zeros {
		if got != stats.Known(0) {
			t.Errorf("%s is %v, want the 0 that was measured", name, got)
		}
	}
	if !near(w.Generator, .8) || w.Behind() {
		t.Errorf("the load used %v of its CPU, behind %v; want 0.8, just not behind", w.Generator, w.Behind())
	}

	zero.Requests, zero.Server = nil, record.ServerSide{CPU: 1, Kernel: &record.Kernel{Voluntary: 1}}
	w = Reduce(zero, record.Env{}, record.Clients{})
	if got, known := w.Values[stats.CPUPerRequest].Get(); known {
		t.Errorf("without an answer a request took %v of CPU time, want it unknown", got)
	}
	if got, known := w.Values[stats.Switches].Get(); known {
		t.Errorf("without an answer there were %v switches a request, want it unknown", got)
	}
	if w.Values[stats.Errors] != stats.Known(0) || w.RateOff != 1 {
		t.Errorf("without a request errors are %v, the rate is off by %v; want 0 and 1", w.Values[stats.Errors], w.RateOff)
	}
}

// A quantile needs ten requests beyond it, and is nearest rank from the scheduled time, and
// from the sending.
func TestQuantiles(t *testing.T) {
	t.Parallel()
	for _, n := range []int{19, 20, 99, 100, 999, 1000} {
		var trial record.TrialRecord
		trial.Window = record.Lasting(time.Second)
		for i := range int64(n) {
			began := int64(time.Second) / int64(n) * i
			trial.Requests = append(trial.Requests, request.Request{Scheduled: began, Sent: began + 1000, Done: began + 1000*(i+2), Status: 200}) // 2, 3, … n+1 µs
		}
		w := Reduce(trial, record.Env{}, record.Clients{})
		for _, m := range stats.Quantiles() {
			q, got, fromSent, late := m.Quantile, w.Values[m.Figure].Float(), w.FromSent[m.Figure].Float(), w.Late[m.Figure].Float()
			rank := math.Ceil(q*float64(n) - 1e-9)
			want, sent := (rank+1)*1e-6, rank*1e-6
			if beyond := float64(n) * (1 - q); beyond < 10-1e-9 {
				want, sent = math.NaN(), math.NaN()
			}
			if !near(got*1e6, want*1e6) || !near(fromSent*1e6, sent*1e6) || !near(late*1e6, 1) {
				t.Errorf("%d requests: %s is %v, from the sending %v, late by %v; want %v, %v, 1e-6", n, m.Name, got, fromSent, late, want, sent)
			}
		}
		slow := n / 100
		if want := float64(n+1) - float64(slow-1)/2; slow > 0 && !near(w.Values[stats.Tail].Float()*1e6, want) {
			t.Errorf("%d requests: the slowest hundredth takes %v s, want %v µs", n, w.Values[stats.Tail].Float(), want)
		}
	}
}

func TestWhatAClosedLoopOwes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rate    float64
		pending record.Pending
		want    float64
	}{
		{0, record.Pending{}, 0},                       // no pace
		{5, record.Pending{}, .8},                      // 2 of 10 sent
		{5, record.Pending{Requests: 4, Early: 1}, .5}, // 5 of 10
		{.5, record.Pending{}, 0},                      // more than all
	} {
		trial := record.TrialRecord{Trial: record.Trial{Warmup: record.Lasting(time.Second), Window: record.Lasting(2 * time.Second), Client: record.ClientSide{Pending: c.pending}}, Requests: []request.Request{
			at(900, 900, 1100, 200, request.Answered), // sent before the window
			at(1100, 1100, 1200, 200, request.Answered), at(1300, 1300, 1400, 200, request.Answered),
		}}
		if w := Reduce(trial, record.Env{}, record.Clients{Loop: "closed", Rate: c.rate}); !near(w.Unsent, c.want) {
			t.Errorf("a pace of %v, pending %+v: owes %v, want %v", c.rate, c.pending, w.Unsent, c.want)
		}
	}
}

func TestBreaches(t *testing.T) {
	t.Parallel()
	unknown := record.Trial{Window: record.Lasting(time.Second), Server: record.ServerSide{CPU: -1, Accepted: -1}}
	judged := map[stats.Figure]bool{stats.P50: true, stats.P99: true}
	for name, c := range map[string]struct {
		edit func(w *Window)
		want []record.Refusal
	}{
		"nothing wrong":                 {func(*Window) {}, nil},
		"no requests":                   {func(w *Window) { w.Requests = 0 }, []record.Refusal{{Rule: "requests in the window", Value: 0, Limit: 1}}},
		"enough for p99":                {func(w *Window) { w.Requests = 1000 }, nil},
		"too few for p99":               {func(w *Window) { w.Requests = 999 }, []record.Refusal{{Rule: "too few requests for p99", Value: 999, Limit: 1000}}},
		"too few for any but p90":       {func(w *Window) { w.Requests = 19 }, []record.Refusal{{Rule: "too few requests for p50", Value: 19, Limit: 20}, {Rule: "too few requests for p99", Value: 19, Limit: 1000}}},
		"a backlog at its limit":        {func(w *Window) { w.completions = 980 }, nil},
		"a backlog":                     {func(w *Window) { w.completions = 979 }, []record.Refusal{{Rule: RuleBacklog, Value: .021, Limit: .02}}},
		"a backlog as chance has it":    {func(w *Window) { w.completions, w.presence.ends = 970, 100 }, nil},
		"a backlog that chance has not": {func(w *Window) { w.completions, w.presence.ends = 969, 100 }, []record.Refusal{{Rule: RuleBacklog, Value: .031, Limit: .03}}},
		"a backlog of a closed loop":    {func(w *Window) { w.completions, w.Clients.Loop = 900, "closed" }, nil},
		"a backlog within its swing": {func(w *Window) {
			w.completions = 900
			w.presence.steps[instants/2] = 100 // none under way, then 100: the swing is 50
		}, nil},
		"stamps out of order":  {func(w *Window) { w.backwards = 1 }, []record.Refusal{{Rule: "stamps out of order", Value: 1, Limit: 0}}},
		"not accounted for":    {func(w *Window) { w.Phases = Phases{Stamped: true, Good: 1000, Joined: 998} }, []record.Refusal{{Rule: "requests the server did not account for (ratio)", Value: .002, Limit: .001}}},
		"lost by the server":   {func(w *Window) { w.Phases = Phases{Stamped: true, Good: 1000, Joined: 998, Lost: 1} }, nil},
		"a part below zero":    {func(w *Window) { w.Phases = Phases{Stamped: true, Negative: 3} }, []record.Refusal{{Rule: "requests with a part below zero", Value: 3, Limit: 0}}},
		"no stamps":            {func(w *Window) { w.Phases = Phases{Negative: 3} }, nil},
		"a law that is broken": {func(w *Window) { w.Trial.Server.CPU = 3 }, []record.Refusal{{Rule: "utilisation law (ratio of CPU time)", Value: 1.5, Limit: cpuSlack}}},
		"a law that is not":    {func(w *Window) { w.Trial.Server.CPU = 2 }, nil},
	} {
		w := Window{Trial: unknown, Requests: 1000, completions: 1000}
		c.edit(&w)
		got := w.Breaches(2, judged, true)
		same := slices.EqualFunc(got, c.want, func(a, b record.Refusal) bool {
			return a.Rule == b.Rule && near(a.Value, b.Value) && near(a.Limit, b.Limit)
		})
		if !same {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
	w := Window{Trial: unknown, Requests: 1000, completions: 1000, Phases: Phases{Stamped: true, Negative: 3}}
	if got := w.Breaches(2, judged, false); len(got) > 0 {
		t.Errorf("the server was not to account for its requests, and that breaks %+v", got)
	}
}

func TestPerIter(t *testing.T) {
	t.Parallel()
	for rate, want := range map[float64]float64{-1: 0, 0: 0, 200: 5e-9} {
		if got := PerIter(record.Env{ItersPerUsec: rate}); !near(got*1e9, want*1e9) {
			t.Errorf("%v iterations a microsecond: %v s each, want %v", rate, got, want)
		}
	}
}

// The phases add up to the mean response time of the good requests, and those of the tail
// to that of the slowest hundredth.
func TestPhases(t *testing.T) {
	t.Parallel()
	trial := record.TrialRecord{Trial: record.Trial{Warmup: record.Lasting(time.Second), Window: record.Lasting(time.Second)}}
	const ms = int64(time.Millisecond)
	add := func(r request.Request, s request.Stamps) {
		trial.Requests, trial.Stamps = append(trial.Requests, r), append(trial.Stamps, s)
	}
	add(at(900, 900, 1100, 200, request.Answered), request.Stamps{})   // before the window
	add(at(1000, 1000, 1100, 500, request.Answered), request.Stamps{}) // not good
	for i := range int64(150) {
		r := at(1000+i, 1000+i, 1012+2*i, 200, request.Answered) // takes 12+i ms
		r.Iters, r.Sleep = 1000, 2*ms
		begin := r.Sent + 3*ms
		add(r, request.Stamps{Ready: r.Sent, Wrote: r.Sent + ms, First: r.Done, Read: r.Sent + 2*ms, Begin: begin, End: r.Done - 2*ms, Write: r.Done - ms})
	}
	p := PhasesOf(trial, 1e-6) // 1000 iterations are 1 ms
	if !p.Stamped || p.Good != 150 || p.Joined != 150 || p.Negative != 0 || p.Lost != 0 || p.Unjoined() != 0 {
		t.Errorf("got %+v, want 150 good and joined", p)
	}
	mean, tail := 0.0, 0.0
	for _, phase := range p.List() {
		mean, tail = mean+phase.Mean, tail+phase.Tail
		want, ok := map[string][2]float64{
			"build": {1, 1}, "ingress": {1, 1}, "parse": {1, 1}, "finish": {1, 1}, "egress": {1, 1},
			timeline.PhaseCPU: {1, 1}, timeline.PhaseSleep: {2, 2}, timeline.PhaseRest: {4 + 74.5, 4 + 148.5},
		}[phase.Name]
		if !near(phase.Mean*1e3, want[0]) || !near(phase.Tail*1e3, want[1]) {
			t.Errorf("%s takes %v and %v s, want %v ms (known %v)", phase.Name, phase.Mean, phase.Tail, want, ok)
		}
	}
	if !near(mean*1e3, 12+74.5) || !near(tail*1e3, 12+148.5) { // the slowest 2 of 150
		t.Errorf("the phases add up to %v and %v s, want 86.5 and 160.5 ms", mean, tail)
	}

	// Without a known demand the handler's time is no interference: a path may ask for all of it.
	unknown := record.TrialRecord{Trial: trial.Trial, Requests: slices.Clone(trial.Requests), Stamps: trial.Stamps}
	for i := range unknown.Requests {
		unknown.Requests[i].Iters, unknown.Requests[i].Sleep = 0, 0
	}
	p = PhasesOf(unknown, 1e-6)
	for _, phase := range p.List() {
		want, service := map[string]float64{timeline.PhaseCPU: 0, timeline.PhaseSleep: 0, timeline.PhaseRest: 0, timeline.PhaseHandler: 7 + 74.5}[phase.Name]
		if service && !near(phase.Mean*1e3, want) {
			t.Errorf("no known demand: %s takes %v s, want %v ms", phase.Name, phase.Mean, want)
		}
	}

	// Of those that the server did not account for nothing is known but the client's part,
	// and where it lost stamps they are left out.
	for i := 2; i < 52; i++ {
		trial.Stamps[i].Write = 0
	}
	p = PhasesOf(trial, 1e-6)
	if p.Good != 150 || p.Joined != 100 || !near(p.Unjoined(), 50./150) {
		t.Errorf("got %+v, unjoined %v; want 100 of 150 joined", p, p.Unjoined())
	}
	mean = 0
	for _, phase := range p.List() {
		mean += phase.Mean
	}
	if !near(mean*1e3, 12+74.5) {
		t.Errorf("the phases add up to %v s, want 86.5 ms, of all good requests", mean)
	}
	trial.Server.StampsLost = 40
	trial.Stamps[60].Begin = 1 // a part below 0
	p = PhasesOf(trial, 1e-6)
	if p.Joined != 100 || p.Lost != 40 || p.Negative != 1 || !near(p.Unjoined(), 10./150) || !near(p.Mean[timeline.Egress]*1e3, 1) {
		t.Errorf("got %+v, unjoined %v; want 40 lost, 1 negative", p, p.Unjoined())
	}

	trial.Stamps = nil
	if p := PhasesOf(trial, 1e-6); p.Stamped || p.Good != 0 {
		t.Errorf("without stamps: %+v", p)
	}
}

// A request is overtaken when the server reads one first that was written later.
func TestOvertaken(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		read []int64 // of requests written at 0, 1, 2, ...
		want float64
	}{
		{nil, 0}, {[]int64{5, 6, 7, 8}, 0}, {[]int64{5, 5, 7, 7}, 0}, {[]int64{8, 7, 6, 5}, .75}, {[]int64{9, 6, 7, 8}, .25}, {[]int64{7, 8, 9, 6}, .75},
	} {
		var all []keyed
		for i, read := range c.read {
			all = append(all, keyed{int64(i), read})
		}
		slices.Reverse(all) // they are recorded as they end
		if got := overtaken(all); got != c.want {
			t.Errorf("read at %d: got %g, want %g", c.read, got, c.want)
		}
	}
}

// The first moment of a trial is a time like any other, and what took no time is in order.
func TestReduceFromTheFirstMoment(t *testing.T) {
	t.Parallel()
	trial := record.TrialRecord{Trial: record.Trial{Window: record.Lasting(time.Second)}, Requests: []request.Request{
		at(0, 0, 0, 200, request.Answered),
		at(10, 0, 20, 200, request.Answered), // sent too early
	}}
	w := Reduce(trial, record.Env{}, record.Clients{Loop: "open"})
	if w.outcomes != 2 || w.RateOff != 0 || w.backwards != 1 || !near(w.Late[stats.P99].Float(), 0) {
		t.Errorf("%d sent, the rate off by %v, %d out of order, late by %v; want 2, 0, 1, 0", w.outcomes, w.RateOff, w.backwards, w.Late[stats.P99].Float())
	}
}
