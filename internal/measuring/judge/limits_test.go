package judge

import (
	"math"
	"slices"
	"testing"
	"time"

	"schedlab/internal/measuring/window"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
	"schedlab/internal/shared/timeline"
)

// of are blocks of one arm, a, with such values in each of its windows.
func of(values ...stats.Figures) blocks {
	b := blocks{windows: windows{}, run: record.Run{Plan: record.Plan{Window: record.Lasting(2 * time.Second), Arms: []record.PlanArm{{Name: "a", Clients: record.Clients{Loop: "closed"}}}}}}
	for i, v := range values {
		b.valid = append(b.valid, i+1)
		b.windows[i+1] = map[string]*modelled{"a": {Window: window.Window{Values: v}}}
	}
	return b
}

// unsent is one block of an arm that left this share of its requests unsent.
func unsent(share float64) blocks {
	b := of(stats.Figures{})
	b.windows[1]["a"].Unsent = share
	return b
}

// A share is too much beyond its limit, and not at it.
func TestLimitsOfAnArm(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		got  func(v float64) bool
		v    float64
		want bool
	}{
		{"errors", func(v float64) bool { return of(stats.Figures{stats.Errors: stats.Known(v)}).fails("a") }, ErrorLimit, false},
		{"more errors", func(v float64) bool { return of(stats.Figures{stats.Errors: stats.Known(v)}).fails("a") }, ErrorLimit * 1.01, true},
		{"not sent", func(v float64) bool { return unsent(v).unsentShare("a") > 0 }, unsentLimit, false},
		{"more not sent", func(v float64) bool { return unsent(v).unsentShare("a") > 0 }, unsentLimit * 1.01, true},
		{"starved", func(v float64) bool {
			return of(stats.Figures{stats.Starved: stats.Known(v), stats.Served: stats.Known(100 - v)}).starvesTooMany("a")
		}, 100 * starvedLimit, false},
		{"more starved", func(v float64) bool {
			return of(stats.Figures{stats.Starved: stats.Known(v), stats.Served: stats.Known(100 - v)}).starvesTooMany("a")
		}, 100*starvedLimit + 1, true},
		{"nobody asked", func(v float64) bool {
			return of(stats.Figures{stats.Starved: stats.Known(v), stats.Served: stats.Known(0)}).starvesTooMany("a")
		}, 0, false},
	} {
		if got := c.got(c.v); got != c.want {
			t.Errorf("%s, %v: too much %v, want %v", c.name, c.v, got, c.want)
		}
	}
	if of(stats.Figures{stats.Starved: stats.Known(0), stats.Served: stats.Known(0)}).starvesTooMany("a") {
		t.Error("of no connection too many starved")
	}
}

// Two arms' statuses may differ by the limit.
func TestStatusesAtTheirLimit(t *testing.T) {
	t.Parallel()
	for share, want := range map[float64]bool{statusLimit: false, statusLimit * 1.01: true} {
		b := of(stats.Figures{})
		b.windows[1] = map[string]*modelled{"a": {Window: window.Window{Status: map[uint16]float64{404: share}}}, "base": {Window: window.Window{Status: map[uint16]float64{404: 0}}}}
		if refused := !b.refuseArm(stats.P50.Row(), record.Arm{Contestant: record.Contestant{Name: "a"}}, record.Arm{Contestant: record.Contestant{Name: "base"}}).None(); refused != want {
			t.Errorf("a share of %v more: refused %v, want %v", share, refused, want)
		}
		for metric, want := range map[string]bool{"cpu_per_request": want, "goodput": false} {
			if refused := !b.refuseArm(stats.MetricOf(metric), record.Arm{Contestant: record.Contestant{Name: "a"}}, record.Arm{Contestant: record.Contestant{Name: "base"}}).None(); refused != want {
				t.Errorf("a share of %v more: %s is refused: %v, want %v", share, metric, refused, want)
			}
		}
	}
}

// The number of requests that a quantile needs is asked of the plan with a margin of a tenth.
func TestRequestsOfAPlan(t *testing.T) {
	t.Parallel()
	if got := RequestsFor(.5); math.Abs(got-22) > 1e-6 || got >= 22 {
		t.Errorf("a median needs %v requests, want just below 1.1 x 20", got)
	}
	plan := func(rate float64) record.Plan {
		return record.Plan{Window: record.Lasting(2 * time.Second), Arms: []record.PlanArm{{Name: "a", Clients: record.Clients{Loop: "open", Rate: rate}}, {Name: "b", Clients: record.Clients{Loop: "open", Rate: 10 * rate}}}}
	}
	for rate, want := range map[float64]bool{RequestsFor(.5) / 2: true, 10.9: false, 11: true} {
		if got := judgedQuantiles(plan(rate), nil)[stats.P50]; got != want {
			t.Errorf("%v/s in windows of 2 s: judged %v, want %v", rate, got, want)
		}
	}
	b := of(stats.Figures{})
	b.run.Plan = plan(10)
	if few, is := fact.In(doubt.FewRequests, b.refuseMetric(stats.P50.Row(), record.Arm{Contestant: record.Contestant{Name: "a"}})); !is || few.Requests != 20 || math.Abs(few.Needed-22) > 1e-9 {
		t.Errorf("20 requests a window of 22: %+v", few)
	}
	// Windows that hold enough for the open loops of a run are too short for its closed loop, and no longer ones are advised.
	b.run.Plan = plan(30)
	if few, is := fact.In(doubt.FewRequests, b.refuseMetric(stats.P50.Row(), record.Arm{Contestant: record.Contestant{Name: "a"}})); !is || few.Requests != 0 || few.Longer != nil {
		t.Errorf("60 requests a window of 22, and a closed loop beside: %+v", few)
	}

	closed := record.Plan{Window: record.Lasting(2 * time.Second), Arms: []record.PlanArm{{Name: "a", Clients: record.Clients{Loop: "closed"}}}}
	for requests, want := range map[int]bool{21: false, 22: true} {
		taken := windows{1: {"a": {Window: window.Window{Requests: requests}}}}
		if got := judgedQuantiles(closed, taken)[stats.P50]; got != want {
			t.Errorf("a closed loop of %d requests: judged %v, want %v", requests, got, want)
		}
	}

	for pipeline, want := range map[int]bool{timeline.MaxPending: true, timeline.MaxPending + 1: false} {
		p := record.Plan{Stamps: "full", Arms: []record.PlanArm{{Name: "a", Mode: "loop", Clients: record.Clients{Pipeline: pipeline}}}}
		if got := Accounts(p, "a"); got != want {
			t.Errorf("%d requests in a pipeline: accounts %v, want %v", pipeline, got, want)
		}
	}
}

// An arm is overloaded when its backlog grows in most of its windows, and its load is the
// reason when it was behind in most of those.
func TestMostWindows(t *testing.T) {
	t.Parallel()
	r := synthetic{edit: each("pool", func(t *record.Trial) { t.Client.Steal = .1 }, 1, 2, 3)}.run()
	r.Env.CPUs = 2
	b := blocks{run: r, windows: windows{}}
	for block := range 4 {
		b.windows[block+1] = map[string]*modelled{"pool": {Window: window.Window{Trial: record.Trial{Window: record.Lasting(time.Second), Client: record.ClientSide{Steal: .1}}}}}
	}
	if got := b.stolen(); math.Abs(got-.05) > 1e-12 {
		t.Errorf("0.1 s of two CPUs' second stolen: %v, want 5 %%", got)
	}
	r.Env.CPUs = 0
	b.run = r
	if got := b.stolen(); math.Abs(got-.1) > 1e-12 {
		t.Errorf("of a machine of unknown size: %v", got)
	}
}

// What a program took is told from a hundredth of a CPU on, and what has no name from a tenth.
func TestDoubtfulShares(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cause record.Cause
		share float64
		want  int
	}{
		{record.Program, doubtShare, 1}, {record.Program, doubtShare - 1e-6, 0},
		{record.Passing, doubtPassing, 1}, {record.Passing, doubtPassing - 1e-6, 0},
	} {
		if got := len(othersDoubts(&record.Others{Troubles: []record.Trouble{{Cause: c.cause, Share: c.share}}})); got != c.want {
			t.Errorf("%s of %v: %d told, want %d", c.cause, c.share, got, c.want)
		}
	}
}

// A rule is not checked where a window that counts lacks its figure, which 0 does not.
func TestWhatIsNotChecked(t *testing.T) {
	t.Parallel()
	lacks := func(server record.ServerSide, valid ...int) []string {
		arms := []record.PlanArm{{Name: "a", Mode: "pool", Role: record.Baseline}, {Name: "a'", Mode: "pool", Role: record.Copy}, {Name: "b", Mode: "pool"}}
		b := blocks{valid: valid, windows: windows{}, run: record.Run{Plan: record.Plan{Arms: arms, Stamps: "full"}}}
		for block := 1; block <= 2; block++ {
			b.windows[block] = map[string]*modelled{}
			for _, a := range arms {
				w := window.Window{Phases: window.Phases{Stamped: true}, Trial: record.Trial{Client: record.ClientSide{Proof: &record.Proof{}}}}
				if a.Name != "b" && block == 2 {
					w.Trial.Server = server
				}
				b.windows[block][a.Name] = &modelled{Window: w}
			}
		}
		return b.notChecked()
	}
	unknown := record.ServerSide{Foreign: -1, CPU: -1, Accepted: -1}
	if got := lacks(record.ServerSide{}, 1, 2); len(got) != 0 {
		t.Errorf("figures of 0: %q", got)
	}
	want := []string{
		"imbalance of foreign load of a: what others used of them is not known",
		window.LawUtilisation + " of a: the server's CPU time is not known",
		window.LawFlow + " (connections) of a: the server shows no counters",
	}
	if got := lacks(unknown, 1, 2); !slices.Equal(got, want) {
		t.Errorf("an arm and its copy, which is not named: got %q, want %q", got, want)
	}
	if got := lacks(unknown, 1); len(got) != 0 {
		t.Errorf("unknown in a block that does not count: %q", got)
	}
	if got := lacks(unknown); !slices.Equal(got, want) {
		t.Errorf("with no block that counts, in any: got %q, want %q", got, want)
	}
}
