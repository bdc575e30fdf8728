package experiment

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// A closedLoop is n clients that wait took for each reply, seconds, and then pause.
// The first starved of them have waited since the warm-up.
type closedLoop struct {
	n           int
	took, pause float64
	starved     int
	stall       float64 // from then on no reply comes within the window; 0: never
}

// window is a second of it, after one of warm-up; the clients began spread over a cycle.
func (l closedLoop) window() (record.TrialRecord, record.Clients) {
	t := record.TrialRecord{Trial: record.Trial{Warmup: 1, Window: 1, Server: unknownServer(), Client: record.ClientSide{Pending: &record.Pending{}}}}
	pending := t.Client.Pending
	if l.stall == 0 {
		l.stall = math.Inf(1)
	}
	for i := range l.n {
		answers := uint32(0)
		if i < l.starved {
			pending.Add(record.Pending{Requests: 1, Early: 1})
		} else {
			at := (l.took + l.pause) * float64(i) / float64(l.n)
			for ; at < 2 && at+l.took < 1+l.stall; at += l.took + l.pause {
				if done := at + l.took; done >= 2 {
					break
				} else if done >= 1 {
					answers++
					t.Requests = append(t.Requests, record.Request{Scheduled: int64(at * 1e9), Sent: int64(at * 1e9), Done: int64(done * 1e9), Status: 200})
				}
			}
			if at < 2 && at+l.took >= 2 || at+l.took >= 1+l.stall && at < 2 {
				pending.Add(record.Pending{Requests: 1, Time: 2 - at, Squares: (2 - at) * (2 - at)})
			}
		}
		t.Client.ConnAnswers = append(t.Client.ConnAnswers, answers)
	}
	return t, record.Clients{Loop: "closed", Connections: l.n, KeepAlive: true, Think: l.pause}
}

// The laws of a closed loop hold with requests at the window's ends as long as they
// are, so that they can fail however many clients there are and however few cycles.
func TestClosedLaws(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		loop  closedLoop
		think float64 // that the record tells of
		edit  func(*record.Trial, *record.Clients)
		broke string
	}{
		{"no pause", closedLoop{n: 8, took: .005}, 0, nil, ""},
		{"a pause", closedLoop{n: 8, took: .005, pause: .02}, .02, nil, ""},
		{"a pause not told", closedLoop{n: 8, took: .005, pause: .02}, 0, nil, lawInteractive},
		{"a short one not told", closedLoop{n: 8, took: .005, pause: .001}, 0, nil, lawInteractive},
		{"starved clients", closedLoop{n: 8, took: .005, starved: 6}, 0, nil, ""},
		{"thousands of clients, three cycles", closedLoop{n: 4096, took: .3}, 0, nil, ""},
		{"the same, and the load late for a tenth", closedLoop{n: 4096, took: .3, pause: .033}, 0, nil, lawInteractive},
		{"clients that never came", closedLoop{n: 4096, took: .3}, 0, func(_ *record.Trial, c *record.Clients) { c.Connections = 5000 }, lawInteractive},
		{"paced", closedLoop{n: 8, took: .005, pause: .02}, 0, func(_ *record.Trial, c *record.Clients) { c.Rate = 320 }, ""},
		{"a pipeline that is never full", closedLoop{n: 8, took: .005, pause: .001}, 0, func(_ *record.Trial, c *record.Clients) { c.Connections, c.Pipeline = 4, 2 }, ""},
		{"a server that stops", closedLoop{n: 64, took: .001, stall: .8}, 0, nil, lawLittle},
		{"a record of old", closedLoop{n: 8, took: .005, pause: .02}, 0, func(t *record.Trial, _ *record.Clients) { t.Client.Pending = nil }, ""},
		{"requests that are lost", closedLoop{n: 8, took: .005}, 0, func(t *record.Trial, _ *record.Clients) { t.Client.Proof = &record.Proof{Sent: 1} }, lawFlow},
	} {
		trial, clients := c.loop.window()
		clients.Think = c.think
		if c.edit != nil {
			c.edit(&trial.Trial, &clients)
		}
		w := reduce(trial, record.Env{CPUs: 2}, clients)
		var broke []string
		for _, b := range w.breaches(1, nil, false) {
			broke = append(broke, b.rule)
		}
		if c.broke == "" && len(broke) > 0 || c.broke != "" && !slices.ContainsFunc(broke, func(rule string) bool { return strings.HasPrefix(rule, c.broke) }) {
			t.Errorf("%s: breaks %q among %+v, want %q", c.name, broke, w.laws(1), c.broke)
		}
	}
}

// Requests that the pace has and that were never sent are told beside the result, and
// what would leave them out is not judged.
func TestOwedRequests(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		rate float64
		told bool
	}{
		{"all sent", 320, false}, {"a third not sent", 480, true},
	} {
		r := closedRun(t, func(*record.Trial, []record.Request) {}, record.Clients{Rate: c.rate})
		told := slices.ContainsFunc(doubtTexts(r), func(d string) bool { return strings.Contains(d, "did not send 33 % of the 480 requests/s planned") })
		v, g := verdictOf(t, r.Verdicts, "b", "p50"), verdictOf(t, r.Verdicts, "b", "goodput")
		if owed := strings.HasPrefix(v.Reason, "requests owed"); told != c.told || owed != c.told || g.Verdict != "SAME" {
			t.Errorf("%s: doubts %q, p50 %s %q, goodput %s", c.name, doubtTexts(r), v.Verdict, v.Reason, g.Verdict)
		}
	}
}

// closedRun is a judged run of closed loops alike, of 8 clients that ask 40 times a
// second each.
func closedRun(t *testing.T, edit func(*record.Trial, []record.Request), more record.Clients) *record.Result {
	t.Helper()
	run := synthetic{}.run()
	run.Plan.Warmup, run.Plan.Window, run.Plan.Rate = 1, 1, 0
	run.Plan.Arms = []record.PlanArm{{Name: "a", Role: record.Baseline}, {Name: "a'", Role: record.Copy}, {Name: "b", Role: record.Challenger}}
	run.Plan.Order = nil
	for range fakeBlocks {
		run.Plan.Order = append(run.Plan.Order, []int{0, 1, 2})
	}
	_, clients := closedLoop{n: 8, took: .005, pause: .02}.window()
	clients.Rate = more.Rate
	for i := range run.Plan.Arms {
		run.Plan.Arms[i].Clients = clients
	}
	j, err := newJudge("run", "dir", run)
	if err != nil {
		t.Fatal(err)
	}
	for block := range fakeBlocks {
		for i, a := range run.Plan.Arms {
			trial, _ := closedLoop{n: 8, took: .005, pause: .02}.window()
			trial.Number, trial.Block, trial.Arm = block*3+i+1, block+1, a.Name
			edit(&trial.Trial, trial.Requests)
			j.take(trial, nil)
		}
	}
	return j.finish(0)
}

// The audit shows each law's worst valid window beside its limit.
func TestAudit(t *testing.T) {
	t.Parallel()
	r := synthetic{edit: func(t *record.Trial, requests []record.Request) []record.Request {
		t.Client.Proof = &record.Proof{Planned: len(requests), Sent: len(requests)}
		switch {
		case t.Arm == "pool" && t.Block == 4:
			t.Server.CPU = .9
		case t.Arm == "fasthttp" && t.Block == 5: // refused: it is in no audit
			t.Client.Proof.Sent++
		}
		return requests
	}}.judged(t)
	if got := r.Refused; len(got) != 1 || got[0].Rule != "flow law (requests)" || got[0].Value != 1 {
		t.Errorf("refused %+v, want block 5 for a request too many", got)
	}
	if len(r.Laws) == 0 || r.Laws[0].Name != lawLittle || !(r.Laws[0].Value > 0 && r.Laws[0].Value <= r.Laws[0].Limit) {
		t.Fatalf("got %+v, want Little's law first, within its limit", r.Laws)
	}
	want := []record.Law{
		{Name: lawUtilisation, Unit: "ratio of CPU time", Windows: 44, Arm: "pool", Block: 4, Value: .9, Limit: 1.02},
		{Name: lawFlow, Unit: "requests", Windows: 44, Arm: "nethttp", Block: 1},
		{Name: lawFlow, Unit: "connections", Windows: 44, Arm: "nethttp", Block: 1},
	}
	if diff := cmp.Diff(want, r.Laws[1:], cmpopts.EquateApprox(1e-9, 0)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A rule that no figure was known for did not pass: it was not checked, and of whom.
func TestNotChecked(t *testing.T) {
	t.Parallel()
	named := func(r *record.Result, part string) bool {
		return slices.ContainsFunc(r.NotChecked, func(s string) bool { return strings.Contains(s, part) })
	}
	whole := synthetic{edit: one(func(t *record.Trial) { t.Client.Proof = &record.Proof{Sent: int(fakeRate * (fakeWarmup + fakeWindow))} })}
	if r := whole.judged(t); len(r.NotChecked) != 1 {
		t.Errorf("all known but stamps: got %q", r.NotChecked)
	}
	for _, c := range []struct {
		want string
		edit func(*record.Trial)
	}{
		{"imbalance of foreign load of pool: what others", func(t *record.Trial) { t.Server.Foreign = -1 }},
		{"utilisation law of pool: ", func(t *record.Trial) { t.Server.CPU = -1 }},
		{"flow law (connections) of pool: the server shows no counters", func(t *record.Trial) { t.Server.Accepted = -1 }},
		{"flow law (requests) of pool: ", func(t *record.Trial) { t.Client.Proof = nil }},
		{"steal: ", func(t *record.Trial) { t.Client.Steal = -1 }},
		{"throttling: ", func(t *record.Trial) { t.Client.Throttled = -1 }},
	} {
		s := whole
		s.edit = func(t *record.Trial, requests []record.Request) []record.Request {
			whole.edit(t, requests)
			if t.Arm == "pool" && t.Block == 2 {
				c.edit(t)
			}
			return requests
		}
		if r := s.judged(t); !named(r, c.want) || len(r.NotChecked) != 2 {
			t.Errorf("got %q, want %q among them", r.NotChecked, c.want)
		}
	}
	old := closedRun(t, func(t *record.Trial, _ []record.Request) { t.Client.Pending = nil }, record.Clients{})
	if want := lawLittle + " and " + lawInteractive + ": "; !named(old, want) {
		t.Errorf("a closed loop of old: got %q, want %q", old.NotChecked, want)
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
