package judge

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"schedlab/internal/measuring/window"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
)

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
		r := closedRun(t, func(*record.Trial, []request.Request) {}, record.Clients{Rate: c.rate})
		told := slices.ContainsFunc(doubtTexts(r), func(d string) bool { return strings.Contains(d, "did not send 33 % of the 480 requests/s planned") })
		v, g := verdictOf(t, r.Verdicts, "b", "p50"), verdictOf(t, r.Verdicts, "b", "goodput")
		if unsent := strings.HasPrefix(words(v.Reason), "requests not sent"); told != c.told || unsent != c.told || g.Verdict.String() != "SAME" {
			t.Errorf("%s: doubts %q, p50 %s %q, goodput %s", c.name, doubtTexts(r), v.Verdict, words(v.Reason), g.Verdict)
		}
	}
}

// thinkingTrial is a trial of 8 clients that wait 5 ms for a reply and then think for 20 ms.
func thinkingTrial() record.TrialRecord {
	t := record.TrialRecord{Trial: record.Trial{Warmup: record.Lasting(time.Second), Window: record.Lasting(time.Second), Server: record.ServerSide{CPU: -1, Foreign: -1, Accepted: -1, Done: -1, Rejected: -1, Dropped: -1, Open: -1}}}
	const took, cycle = 5e6, 25e6
	for i := range 8 {
		answers := uint32(0)
		for at := int64(i) * cycle / 8; at < 2e9; at += cycle {
			if done := at + took; done >= 2e9 {
				left := 2 - float64(at)/1e9
				t.Client.Pending.Add(record.Pending{Requests: 1, Time: left, Squares: left * left})
			} else if done >= 1e9 {
				answers++
				t.Requests = append(t.Requests, request.Request{Scheduled: at, Sent: at, Done: done, Status: 200})
			}
		}
		t.Client.ConnAnswers = append(t.Client.ConnAnswers, answers)
	}
	t.Client.Asked = 8
	return t
}

// closedRun is a judged run of closed loops alike, of 8 clients that ask 40 times a
// second each.
func closedRun(t *testing.T, edit func(*record.Trial, []request.Request), more record.Clients) *record.Comparison {
	t.Helper()
	run := synthetic{}.run()
	run.Plan.Warmup, run.Plan.Window, run.Plan.Rate = record.Lasting(time.Second), record.Lasting(time.Second), 0
	run.Plan.Arms = []record.PlanArm{{Name: "a", Role: record.Baseline}, {Name: "a'", Role: record.Copy}, {Name: "b", Role: record.Challenger}}
	run.Plan.Order = nil
	for range fakeBlocks {
		run.Plan.Order = append(run.Plan.Order, []int{0, 1, 2})
	}
	clients := record.Clients{Loop: "closed", Connections: 8, KeepAlive: true, Think: record.Lasting(20 * time.Millisecond), Rate: more.Rate}
	for i := range run.Plan.Arms {
		run.Plan.Arms[i].Clients = clients
	}
	j, err := New("run", "dir", run, Winner{})
	if err != nil {
		t.Fatal(err)
	}
	for block := range fakeBlocks {
		for i, a := range run.Plan.Arms {
			trial := thinkingTrial()
			trial.Number, trial.Block, trial.Arm = block*3+i+1, block+1, a.Name
			edit(&trial.Trial, trial.Requests)
			j.Take(trial, nil)
		}
	}
	return j.judge().result
}

// The audit shows each law's worst valid window beside its limit.
func TestAudit(t *testing.T) {
	t.Parallel()
	r := synthetic{edit: func(t *record.Trial, requests []request.Request) []request.Request {
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
	if len(r.Laws) == 0 || r.Laws[0].Name != window.LawLittle || !(r.Laws[0].Value > 0 && r.Laws[0].Value <= r.Laws[0].Limit) {
		t.Fatalf("got %+v, want Little's law first, within its limit", r.Laws)
	}
	want := []record.Law{
		{Name: window.LawUtilisation, Unit: "ratio of CPU time", Windows: 44, Arm: "pool", Block: 4, Value: .9, Limit: 1.02},
		{Name: window.LawFlow, Unit: "requests", Windows: 44, Arm: "nethttp", Block: 1},
		{Name: window.LawFlow, Unit: "connections", Windows: 44, Arm: "nethttp", Block: 1},
	}
	if diff := cmp.Diff(want, r.Laws[1:], cmpopts.EquateApprox(1e-9, 0)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A rule that no figure was known for did not pass: it was not checked, and of whom.
func TestNotChecked(t *testing.T) {
	t.Parallel()
	named := func(r *record.Comparison, part string) bool {
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
		s.edit = func(t *record.Trial, requests []request.Request) []request.Request {
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
}
