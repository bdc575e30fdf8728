package judge

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/measuring/report"
	"schedlab/internal/measuring/window"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
	"schedlab/internal/shared/stats"
)

// Arms of another load than the baseline's are compared with the one of its family
// that is loaded alike, and no arm wins.
func TestArmsOfOtherLoads(t *testing.T) {
	t.Parallel()
	run := synthetic{times: scaled(map[string]float64{"fasthttp": 4, "pool": 2}), plan: func(p *record.Plan) {
		for i, connections := range []int{16, 16, 256, 256} {
			p.Arms[i].Clients = record.Clients{Loop: "open", Rate: fakeRate, Connections: connections, KeepAlive: true}
		}
		p.Arms[0].Family, p.Arms[2].Family = "nethttp", "nethttp"
	}}
	r := run.judged(t)
	for _, c := range []struct {
		arm, against string
		verdict      string
	}{{"fasthttp", "nethttp", "SLOWER"}, {"pool", "fasthttp", "FASTER"}} {
		if v := verdictOf(t, r.Verdicts, c.arm, "p90"); v.Baseline != c.against || v.Verdict.String() != c.verdict {
			t.Errorf("%s: %s against %s, want %s against %s", c.arm, v.Verdict, v.Baseline, c.verdict, c.against)
		}
	}
	if r.Winner.String() != "open" || !strings.HasPrefix(report.Headline(r), "Not ranked, because the arms ran at different loads: fasthttp is slower than nethttp (") {
		t.Errorf("got %q, %q", r.Winner, report.Headline(r))
	}
}

// In a closed loop times are what the load makes them: the headline speaks of what was
// done, and of its cost.
func TestHeadlineOfOtherClosedLoops(t *testing.T) {
	t.Parallel()
	closed := record.Clients{Loop: "closed", Connections: 2, KeepAlive: true}
	for name, other := range map[string]record.Clients{
		"connections": {Loop: "closed", Connections: 16, KeepAlive: true},
		"think":       {Loop: "closed", Connections: 2, KeepAlive: true, Think: record.Lasting(10 * time.Millisecond)},
		"session":     {Loop: "closed", Connections: 2, KeepAlive: true, Session: 8},
		"pipeline":    {Loop: "closed", Connections: 2, KeepAlive: true, Pipeline: 4},
		"loop, rate":  {Loop: "open", Connections: 2, KeepAlive: true, Rate: fakeRate},
		"":            closed,
	} {
		starved := one(func(t *record.Trial) { t.Client.Pending = record.Pending{Requests: 64, Early: 64} }) // no law holds of them
		run := synthetic{times: scaled(map[string]float64{"fasthttp": 12}), edit: starved, plan: func(p *record.Plan) {
			for i := range p.Arms {
				p.Arms[i].Clients = closed
			}
			p.Arms[2].Clients = other
		}}
		r := run.judged(t)
		want := "Not ranked, because the arms ran at different loads: fasthttp against nethttp: goodput SAME ("
		if name == "" {
			want = "A tie for the best: fasthttp is slower than nethttp (p50 ×12"
		}
		if !strings.HasPrefix(report.Headline(r), want) || r.Winner.String() != "open" {
			t.Errorf("%s: got %q, %q", name, r.Winner, report.Headline(r))
		}
		if name != "" && (strings.Contains(report.Headline(r), "slower") || !strings.Contains(report.Headline(r), "), and response times follow the load ("+name+"); pool ")) {
			t.Errorf("%s: got %q", name, report.Headline(r))
		}
	}
}

// In a closed loop nobody knows how long those wait who get no answer, so times are
// refused when they are more than one in a hundred; what was done holds.
func TestStarvedClosedLoopHasNoTimes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		loop    string
		starved float64
		refused bool
	}{{"closed", 9, true}, {"closed", 1, false}, {"closed", 0, false}, {"open", 9, false}} {
		b := blocks{
			run:     record.Run{Plan: record.Plan{Window: record.Lasting(time.Second), Arms: []record.PlanArm{{Name: "pool", Clients: record.Clients{Loop: c.loop}}}}},
			judged:  map[stats.Figure]bool{stats.P50: true},
			windows: map[int]map[string]*modelled{1: {"pool": {Window: window.Window{Values: stats.Figures{stats.Starved: stats.Known(c.starved), stats.Served: stats.Known(200 - c.starved), stats.CPUPerRequest: stats.Known(1e-4)}}}}},
			valid:   []int{1}, over: map[string]bool{},
		}
		for metric, times := range map[string]bool{"p50": true, "mean": true, "goodput": false, "cpu_per_request": false} {
			why := b.refuseMetric(stats.MetricOf(metric), record.Arm{Contestant: record.Contestant{Name: "pool"}, Figures: record.Figures{StarvedConnections: int(c.starved)}})
			if refused := !why.None(); refused != (c.refused && times) {
				t.Errorf("%s loop, %g of 200 starved: %s is refused for %v", c.loop, c.starved, metric, why)
			}
		}
	}
}

// A closed loop that starves clients has no times, and says so in its headline,
// whatever else the run comes to.
func TestStarvationIsInTheHeadline(t *testing.T) {
	t.Parallel()
	slow := scaled(map[string]float64{"pool": 1.5})
	starve := func(starving map[string]int) func(*record.Trial, []request.Request) []request.Request {
		return func(t *record.Trial, requests []request.Request) []request.Request {
			t.Client.ConnAnswers, t.Client.Asked, t.Client.Starved = []uint32{600, 600, 0}, 10, starving[t.Arm]
			return requests
		}
	}
	for _, c := range []struct {
		name     string
		starving map[string]int
		blocks   int
		winner   string
		headline string
	}{
		{"nobody", nil, 0, "open", "A tie for the best: fasthttp is the same as nethttp; pool is slower than nethttp (" + atAll("+50 %") + ")."},
		{"a challenger", map[string]int{"pool": 9}, 0, "open", "No single winner: fasthttp is the same as nethttp; pool starved 9 of 10 connections, so its times cannot be compared with nethttp."},
		{
			"the baseline, and its copy once less", map[string]int{"nethttp": 2, "nethttp'": 1}, 0,
			"open", "No verdict: nethttp starved 2 of 10 connections; these waits are in no response time.",
		},
		{
			"the copy", map[string]int{"nethttp'": 1}, 0,
			"open", "No verdict: nethttp' starved 1 of 10 connections; these waits are in no response time.",
		},
		{
			"two of a run that was cut short", map[string]int{"pool": 9, "fasthttp": 1}, 4,
			"open", "No verdict: fasthttp starved 1 of 10 connections; pool starved 9 of 10 connections; these waits are in no response time.",
		},
	} {
		run := synthetic{}.run()
		for i := range run.Plan.Arms {
			run.Plan.Arms[i].Clients = record.Clients{Loop: "closed", Connections: 10, Rate: fakeRate}
		}
		j, err := New("run", "dir", run, Winner{})
		if err != nil {
			t.Fatal(err)
		}
		for trial := range (synthetic{times: slow, edit: starve(c.starving), blocks: c.blocks}).trials() {
			j.Take(trial, nil)
		}
		r := j.judge().result
		if r.Winner.String() != c.winner || report.Headline(r) != c.headline {
			t.Errorf("%s: got  %q, %q\nwant %q, %q", c.name, r.Winner, report.Headline(r), c.winner, c.headline)
		}
		for _, a := range r.Arms {
			n := c.starving[a.Name]
			if a.StarvedConnections != n || a.Fairness == nil || a.Fairness.Asked != 10 || a.Fairness.Served != 10-n {
				t.Errorf("%s: %s starved %d, fairness %+v; want %d of 10", c.name, a.Name, a.StarvedConnections, a.Fairness, n)
			}
		}
		for _, v := range r.Verdicts {
			if c.starving[v.Arm] > 0 && v.Primary && c.blocks == 0 && v.Reason.Code != doubt.Starvation.Code {
				t.Errorf("%s: got %+v, want it refused for starvation", c.name, v)
			}
		}
	}
}

// Where the clients that were served had few turns, the others may just wait long: no word says that
// they starve, unless their pool of workers does, and a doubt names the windows that would show it.
func TestShortWindowsShowNoStarvation(t *testing.T) {
	t.Parallel()
	for sticky, want := range map[bool]string{
		false: "it has given no answer yet to 214 of 256 connections: the others had 5 each, too few to tell a long wait from none; --warmup 3s --window 7s would show it",
		true:  "it starved 214 of 256 connections: its times are only those of the connections that it served, so it cannot win",
	} {
		run := synthetic{}.run()
		for i := range run.Plan.Arms {
			run.Plan.Arms[i].Clients = record.Clients{Loop: "closed", Connections: 256, Rate: fakeRate}
		}
		if sticky {
			run.Plan.Doubts = []fact.Fact{doubt.StickyPool.Of(doubt.Sticky{}).On("nethttp")}
		}
		j, err := New("run", "dir", run, Winner{})
		if err != nil {
			t.Fatal(err)
		}
		few := func(t *record.Trial, requests []request.Request) []request.Request {
			t.Client.ConnAnswers, t.Client.Asked = slices.Repeat([]uint32{5}, 42), 256
			if strings.HasPrefix(t.Arm, "nethttp") {
				t.Client.Starved = 214
			}
			return requests
		}
		for trial := range (synthetic{edit: few}).trials() {
			j.Take(trial, nil)
		}
		r := j.judge().result
		if got := doubtTexts(r); !slices.Contains(got, "nethttp: "+want) {
			t.Errorf("sticky %v: got %q, want %q", sticky, got, want)
		}
		if said := strings.Contains(report.Headline(r), "nethttp has given no answer yet to 214 of 256 connections"); said == sticky {
			t.Errorf("sticky %v: got %q", sticky, report.Headline(r))
		}
		// Nor does a verdict's reason.
		if why := words(verdictOf(t, r.Verdicts, "pool", "p50").Reason); strings.HasPrefix(why, "starvation: ") != sticky {
			t.Errorf("sticky %v: got %q", sticky, why)
		}
	}
}

// An arm of an open loop that starves connections from the warm-up on has no times: those of its window
// lack the waits. That refuses this arm alone, and leaves no block out.
func TestStarvedOpenLoopSpoilsNothing(t *testing.T) {
	t.Parallel()
	starve := at("pool", func(t *record.Trial, requests []request.Request) []request.Request {
		for i := range 55 {
			requests[i].Done, requests[i].Status, requests[i].Outcome = 11e9, 0, request.TimedOut
		}
		t.Client.ConnAnswers, t.Client.Asked, t.Client.Starved = []uint32{600, 600, 0}, 64, 55
		return requests
	})
	r := synthetic{edit: starve}.judged(t)
	if r.Valid != fakeBlocks || len(r.Refused) != 0 {
		t.Errorf("%d valid blocks, refused %v, want all and none", r.Valid, r.Refused)
	}
	if diff := cmp.Diff(same, decisions(r, "fasthttp")); diff != "" {
		t.Errorf("fasthttp (-want +got):\n%s", diff)
	}
	want := times("refused", nil)
	if diff := cmp.Diff(want, decisions(r, "pool")); diff != "" {
		t.Errorf("pool (-want +got):\n%s", diff)
	}
	if why := words(verdictOf(t, r.Verdicts, "pool", "p99").Reason); why != "starvation: pool left 55 of its connections without an answer, and its times lack their waits" {
		t.Errorf("got %q", why)
	}
	const headline = "No single winner: fasthttp is the same as nethttp; pool starved 55 of 64 connections, so its times cannot be compared with nethttp."
	if got := report.Headline(r); got != headline {
		t.Errorf("got %q, want %q", got, headline)
	}
}

// inBlock restricts an edit to one block of every arm.
func inBlock(block int, change func(*record.Trial, []request.Request) []request.Request) func(*record.Trial, []request.Request) []request.Request {
	return func(t *record.Trial, requests []request.Request) []request.Request {
		if t.Block != block {
			return requests
		}
		return change(t, requests)
	}
}

// late answers every request after the window has ended, as when the machine stands still.
func late(_ *record.Trial, requests []request.Request) []request.Request {
	for i := range requests {
		requests[i].Done = int64((fakeWarmup+fakeWindow)*1e9) + int64(i)*1000
	}
	return requests
}

// never answers no request.
func never(_ *record.Trial, requests []request.Request) []request.Request {
	for i := range requests {
		requests[i].Done, requests[i].Status, requests[i].Outcome = requests[i].Sent+15e6, 0, request.TimedOut
	}
	return requests
}

// screen returns the short report in one line.
func screen(t *testing.T, r *record.Comparison) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.Brief(&b, r, report.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(strings.ReplaceAll(b.String(), "\u00a0", " ")), " ")
}

// A block in which the machine stood still for every arm is left out and told. It changes no verdict.
func TestStalledBlockIsLeftOut(t *testing.T) {
	t.Parallel()
	for name, stall := range map[string]func(*record.Trial, []request.Request) []request.Request{"late": late, "never": never} {
		r := synthetic{edit: inBlock(3, stall)}.judged(t)
		if got := screen(t, r); r.Valid != fakeBlocks-1 || !strings.Contains(got, "11 blocks, 1 left out") {
			t.Errorf("%s: %d blocks count: %s", name, r.Valid, got)
		}
		const want = "1 block of 12 left out, for all arms: good replies (no arm gave one: the machine stood still)"
		if got := doubtTexts(r); !slices.Contains(got, want) {
			t.Errorf("%s: got the doubts %q", name, got)
		}
		if v := verdictOf(t, r.Verdicts, "pool", "p50"); v.Verdict.String() != "SAME" {
			t.Errorf("%s: got %+v", name, v)
		}
	}
}

// A block in which one arm alone gave no good reply counts. The missing replies are told, and so is why a
// metric has no verdict.
func TestSilentArmKeepsItsBlock(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		edit                func(*record.Trial, []request.Request) []request.Request
		metric, says, doubt string
	}{
		{late, "goodput", "in block 3 nethttp answered none of its requests before the window ended, so that it has no goodput", "nethttp: it answered none of its requests before the window ended in block 3"},
		{never, "p50", "in block 3 nethttp answered none of its requests, so that it has no p50", "nethttp: it answered none of its requests in block 3"},
	} {
		r := synthetic{edit: at("nethttp", c.edit, 3)}.judged(t)
		got := screen(t, r)
		if r.Valid != fakeBlocks || !strings.Contains(got, c.doubt) || strings.Contains(got, "every request got a good reply") {
			t.Errorf("%s: %d blocks count: %s", c.metric, r.Valid, got)
		}
		if why := words(verdictOf(t, r.Verdicts, "fasthttp", c.metric).Reason); !strings.HasSuffix(why, c.says) {
			t.Errorf("%s: got %q, want %q", c.metric, why, c.says)
		}
		for _, v := range slices.Concat(r.Verdicts, r.AA) {
			if strings.Contains(v.Reason.String(), "positive finite") {
				t.Errorf("%s of %s: %s", v.Metric, v.Arm, v.Reason)
			}
		}
	}
}

// An arm that gives no good reply in most blocks is at fault, not the machine: its blocks count.
func TestFailingArmsAreNotAStall(t *testing.T) {
	t.Parallel()
	r := synthetic{edit: never}.judged(t)
	if r.Valid != fakeBlocks || verdictOf(t, r.Verdicts, "pool", "p50").Reason.Code != causeErrors.Code {
		t.Errorf("%d blocks count: %+v", r.Valid, verdictOf(t, r.Verdicts, "pool", "p50"))
	}
}

// An arm that answers nothing in time, in any block, has surely less goodput.
func TestSilentArmHasLessGoodput(t *testing.T) {
	t.Parallel()
	silent := func(blocks ...int) func(*record.Trial, []request.Request) []request.Request {
		return at("pool", never, blocks...)
	}
	var all []int
	for block := range fakeBlocks {
		all = append(all, block+1)
	}
	r := synthetic{edit: silent(all...)}.judged(t)
	if v := verdictOf(t, r.Verdicts, "pool", "goodput"); v.Verdict.String() != "LOWER" || !(v.High < .1) || !(v.Ratio > 0) {
		t.Errorf("got %+v, want LOWER by nearly all", v)
	}
	if v := verdictOf(t, r.Verdicts, "pool", "p50"); v.Verdict.String() != "refused" {
		t.Errorf("got %+v, want no verdict on times that are all of failures", v)
	}
	r = synthetic{edit: never}.judged(t)
	if v := verdictOf(t, r.Verdicts, "pool", "goodput"); v.Verdict.String() != "refused" {
		t.Errorf("no arm answers, and goodput is %+v", v)
	}
}

// Where requests have a deadline the control is judged as the challengers are: a baseline that answers none in time in one block has
// there the goodput of half a reply.
func TestSilentBaselineWithADeadline(t *testing.T) {
	t.Parallel()
	r := synthetic{edit: at("nethttp", late, 3), plan: func(p *record.Plan) {
		for i := range p.Arms {
			p.Arms[i].Clients.Patience.Deadline = record.Lasting(time.Second)
		}
	}}.judged(t)
	if aa := r.AA[slices.IndexFunc(r.AA, func(v record.Verdict) bool { return v.Metric == stats.Goodput })]; aa.Verdict.Outcome == outcome.Refused || !(aa.High > 0) {
		t.Errorf("the control's goodput is %s: %s", aa.Verdict, aa.Reason)
	}
}

// An arm whose backlog grows is refused for that, and not for its few requests, which longer windows would mend.
func TestOverloadGoesBeforeFewRequests(t *testing.T) {
	t.Parallel()
	b := blocks{over: map[string]bool{"pool": true}, judged: map[stats.Figure]bool{}}
	if why := b.refuseMetric(stats.P99.Row(), record.Arm{Contestant: record.Contestant{Name: "pool"}}); why.Code != causeOverload.Code {
		t.Errorf("got %v, want %s", why, causeOverload.Code)
	}
}

// An arm without CPU time a request is told in which block, and why: it answered nothing there, it lost child processes, or the
// machine does not tell.
func TestWhyCPUTimeIsNotKnown(t *testing.T) {
	t.Parallel()
	known := &modelled{Window: window.Window{Values: stats.Figures{stats.CPUPerRequest: stats.Known(1e-3)}}}
	for _, c := range []struct {
		server record.ServerSide
		want   string
	}{
		{record.ServerSide{CPU: .1}, "in block 2 pool answered no request before the window ended, so that it has no CPU time a request"},
		{record.ServerSide{CPU: -1, Doubts: []fact.Fact{doubt.CPUTimeLost}}, "the server CPU time of pool is not known: in block 2 it did not wait for some of its child processes"},
		{record.ServerSide{CPU: -1}, "the server CPU time of pool is not known in block 2: the machine does not tell it of this server"},
	} {
		without := &modelled{Window: window.Window{Trial: record.Trial{Server: c.server}}}
		b := blocks{valid: []int{1, 2}, windows: windows{1: {"pool": known}, 2: {"pool": without}}}
		if got := b.unknownCPU("pool").String(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// A growing backlog beside other programs that take much of the servers' CPU is not told as the arm's own.
func TestOverloadBesideOthers(t *testing.T) {
	t.Parallel()
	for share, want := range map[float64]string{.62: "; other programs took 62 % of the servers' CPU in its windows, so the arm and they cannot be told apart", .05: ""} {
		of := overloadOf(record.Arm{Details: record.Details{Disturbed: &record.Disturbed{Foreign: share}}})
		if got := doubt.Overloaded.Of(of).On("new").String(); got != "overloaded: its backlog grows through the window, so only goodput is judged"+want {
			t.Errorf("others took %v: got %q", share, got)
		}
		if got := causeOverload.Of(of).On("new").String(); got != "overload: the backlog of new grows all through the window, so only its goodput can be compared"+want {
			t.Errorf("others took %v: got %q", share, got)
		}
	}
}

// Only of clients that speak TLS or HTTP/2 the load is named as what may be too slow for a capacity.
func TestCapacityNamesTLSOnlyWhereItIsSpoken(t *testing.T) {
	t.Parallel()
	if got := causeNoCapacity.Of(noCapacity{}).On("new").String(); strings.Contains(got, "TLS") {
		t.Errorf("plain HTTP: got %q", got)
	}
	if got := causeNoCapacity.Of(noCapacity{Slow: true}).On("new").String(); !strings.Contains(got, "over TLS and HTTP/2") {
		t.Errorf("TLS: got %q", got)
	}
}

// Clients that differ in their patience differ in the settings that a scenario names.
func TestDifferingPatience(t *testing.T) {
	t.Parallel()
	a := record.Clients{Loop: "open", Rate: 10, Patience: record.Patience{Deadline: record.Lasting(time.Second)}}
	b := a
	b.Patience.Retries, b.Patience.Backoff = 3, record.Lasting(time.Second)
	if got := Differing(a, b); !slices.Equal(got, []string{"backoff", "retries"}) {
		t.Errorf("got %q, want backoff and retries", got)
	}
}
