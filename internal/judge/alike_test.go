package judge

import (
	"strings"
	"testing"

	"schedlab/internal/record"
	"schedlab/internal/report"
	"schedlab/internal/stats"
	"schedlab/internal/window"
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
		verdict      stats.Decision
	}{{"fasthttp", "nethttp", "SLOWER"}, {"pool", "fasthttp", "FASTER"}} {
		if v := verdictOf(t, r.Verdicts, c.arm, "p90"); v.Baseline != c.against || v.Verdict != c.verdict {
			t.Errorf("%s: %s against %s, want %s against %s", c.arm, v.Verdict, v.Baseline, c.verdict, c.against)
		}
	}
	if r.Winner != "undecided" || !strings.HasPrefix(report.Headline(r), "No one winner, for the arms' loads differ: fasthttp is slower than nethttp (") {
		t.Errorf("got %q, %q", r.Winner, report.Headline(r))
	}
	if v := Outcome(r, ""); v.Decision != record.Rejected || !strings.Contains(words(v.Reason), "different loads") {
		t.Errorf("a map's cell of it: got %+v", v)
	}
}

// In a closed loop times are what the load makes them: the headline speaks of what was
// done, and of its cost.
func TestHeadlineOfOtherClosedLoops(t *testing.T) {
	t.Parallel()
	closed := record.Clients{Loop: "closed", Connections: 2, KeepAlive: true}
	for name, other := range map[string]record.Clients{
		"connections": {Loop: "closed", Connections: 16, KeepAlive: true},
		"think":       {Loop: "closed", Connections: 2, KeepAlive: true, Think: .01},
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
		want := "No one winner, for the arms' loads differ: fasthttp against nethttp: goodput SAME ("
		if name == "" {
			want = "A tie for the best: fasthttp is slower than nethttp (p50 ×12"
		}
		if !strings.HasPrefix(report.Headline(r), want) || r.Winner != "undecided" {
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
			run:     record.Run{Plan: record.Plan{Window: 1, Arms: []record.PlanArm{{Name: "pool", Clients: record.Clients{Loop: c.loop}}}}},
			judged:  map[string]bool{"p50": true},
			windows: map[int]map[string]modelled{1: {"pool": {Window: window.Window{Values: map[string]float64{"starved": c.starved, "served": 200 - c.starved}}}}},
			valid:   []int{1}, over: map[string]bool{},
		}
		for metric, times := range map[string]bool{"p50": true, "mean": true, "goodput": false, "cpu_per_request": false} {
			why := b.refuseMetric(stats.MetricOf(metric), record.Arm{Name: "pool", StarvedConnections: int(c.starved)})
			if refused := !why.None(); refused != (c.refused && times) {
				t.Errorf("%s loop, %g of 200 starved: %s is refused for %v", c.loop, c.starved, metric, why)
			}
		}
	}
}
