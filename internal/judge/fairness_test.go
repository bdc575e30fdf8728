package judge

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/record"
	"schedlab/internal/report"
)

// A closed loop that starves clients has no times, and says so in its headline,
// whatever else the run comes to.
func TestStarvationIsInTheHeadline(t *testing.T) {
	t.Parallel()
	slow := scaled(map[string]float64{"pool": 1.5})
	starve := func(starving map[string]int) func(*record.Trial, []record.Request) []record.Request {
		return func(t *record.Trial, requests []record.Request) []record.Request {
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
		{"nobody", nil, 0, "undecided", "A tie for the best: fasthttp is the same as nethttp; pool is slower than nethttp (" + atAll("+50 %") + ")."},
		{"a challenger", map[string]int{"pool": 9}, 0, "undecided", "No single winner: fasthttp is the same as nethttp; pool starved 9 of 10 connections, so that it has no times to set against nethttp."},
		{
			"the baseline, and its copy once less", map[string]int{"nethttp": 2, "nethttp'": 1}, 0,
			"undecided", "No verdict: nethttp starved 2 of 10 connections, and the times lack the waits of those.",
		},
		{
			"the copy", map[string]int{"nethttp'": 1}, 0,
			"undecided", "No verdict: nethttp' starved 1 of 10 connections, and the times lack the waits of those.",
		},
		{
			"two of a run that was cut short", map[string]int{"pool": 9, "fasthttp": 1}, 4,
			"undecided", "No verdict: fasthttp starved 1 of 10 connections; pool starved 9 of 10 connections, and the times lack the waits of those.",
		},
	} {
		run := synthetic{}.run()
		for i := range run.Plan.Arms {
			run.Plan.Arms[i].Clients = record.Clients{Loop: "closed", Connections: 10, Rate: fakeRate}
		}
		j, err := New("run", "dir", run, Aim{})
		if err != nil {
			t.Fatal(err)
		}
		for trial := range (synthetic{times: slow, edit: starve(c.starving), blocks: c.blocks}).trials() {
			j.Take(trial, nil)
		}
		r := j.judge().result
		if r.Winner != c.winner || report.Headline(r) != c.headline {
			t.Errorf("%s: got  %q, %q\nwant %q, %q", c.name, r.Winner, report.Headline(r), c.winner, c.headline)
		}
		for _, a := range r.Arms {
			n := c.starving[a.Name]
			if a.StarvedConnections != n || a.Fairness == nil || a.Fairness.Asked != 10 || a.Fairness.Served != 10-n {
				t.Errorf("%s: %s starved %d, fairness %+v; want %d of 10", c.name, a.Name, a.StarvedConnections, a.Fairness, n)
			}
		}
		for _, v := range r.Verdicts {
			if c.starving[v.Arm] > 0 && v.Primary && c.blocks == 0 && v.Reason.Code != record.CauseStarvation {
				t.Errorf("%s: got %+v, want it refused for starvation", c.name, v)
			}
		}
	}
}

// An arm of an open loop that starves connections from the warm-up on has no times: those of its window
// lack the waits. That refuses this arm alone, and leaves no block out.
func TestStarvedOpenLoopSpoilsNothing(t *testing.T) {
	t.Parallel()
	starve := at("pool", func(t *record.Trial, requests []record.Request) []record.Request {
		for i := range 55 {
			requests[i].Done, requests[i].Status, requests[i].Outcome = 11e9, 0, record.TimedOut
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
	want := times("REFUSED", nil)
	if diff := cmp.Diff(want, decisions(r, "pool")); diff != "" {
		t.Errorf("pool (-want +got):\n%s", diff)
	}
	if why := words(verdictOf(t, r.Verdicts, "pool", "p99").Reason); why != "starvation: pool left 55 of its connections without an answer, and its times lack their waits" {
		t.Errorf("got %q", why)
	}
	const headline = "No single winner: fasthttp is the same as nethttp; pool starved 55 of 64 connections, so that it has no times to set against nethttp."
	if got := report.Headline(r); got != headline {
		t.Errorf("got %q, want %q", got, headline)
	}
}
