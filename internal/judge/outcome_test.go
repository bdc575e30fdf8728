package judge

import (
	"slices"
	"testing"

	"schedlab/internal/record"
	"schedlab/internal/report"
	"schedlab/internal/stats"
)

// contest is a result of arms with twelve blocks at each metric, steady at the
// given values; verdicts are those of stats. A value of 0 refuses the metric.
func contest(figures map[string][]float64, names ...string) *record.Result {
	r := &record.Result{}
	for i, name := range names {
		a := record.Arm{Name: name, Role: record.Challenger, Blocks: map[string][]float64{}}
		if i == 0 {
			a.Role = record.Baseline
		}
		for metric, v := range figures {
			for block := range 12 {
				a.Blocks[metric] = append(a.Blocks[metric], v[i]*(1+0.001*float64(block%3)))
			}
		}
		r.Arms = append(r.Arms, a)
	}
	for _, m := range stats.Metrics() {
		for i := range names {
			if i == 0 || figures[m.Name] == nil {
				continue
			}
			c := stats.Compare(m, r.Arms[0].Blocks[m.Name], r.Arms[i].Blocks[m.Name], 3)
			var why *refusal
			if figures[m.Name][i] == 0 {
				why = refused(record.Fact{Code: record.CauseOverload})
			}
			r.Verdicts = append(r.Verdicts, verdict(c, r.Arms[0], r.Arms[i], why))
		}
	}
	r.Arms = slices.Insert(r.Arms, 1, record.Arm{Name: names[0] + "'", Role: record.Copy})
	return r
}

func TestOutcome(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		metric  string
		figures map[string][]float64
		want    record.CellVerdict
	}{
		{"faster", "p50", map[string][]float64{"p50": {10, 8}}, record.CellVerdict{Decision: record.Wins, Winner: "b", Metric: "p50"}},
		{"slower", "p50", map[string][]float64{"p50": {10, 13}}, record.CellVerdict{Decision: record.Wins, Winner: "a", Metric: "p50"}},
		{"goodput is better when higher", "goodput", map[string][]float64{"goodput": {10, 8}}, record.CellVerdict{Decision: record.Wins, Winner: "a", Metric: "goodput"}},
		{"same", "p50", map[string][]float64{"p50": {10, 10.2}}, record.CellVerdict{Decision: record.Ties, Among: []string{"a", "b"}, Metric: "p50"}},
		{"overloaded", "p50", map[string][]float64{"p50": {10, 0}, "goodput": {10, 5}}, record.CellVerdict{Decision: record.Wins, Winner: "a", Metric: "goodput"}},
		{"refused", "p50", map[string][]float64{"p50": {10, 0}, "goodput": {10, 10}}, record.CellVerdict{Decision: record.Rejected, Metric: "p50"}},
		{"a winner", "", map[string][]float64{"p50": {10, 10}, "p90": {10, 8}, "p99": {10, 9}}, record.CellVerdict{Decision: record.Wins, Winner: "b", Metric: "p90"}},
		{"a trade", "", map[string][]float64{"p50": {10, 8}, "p90": {10, 14}}, record.CellVerdict{Decision: record.Trades, Metric: "p90"}},
		{"all the same", "", map[string][]float64{"p50": {10, 10}, "p90": {10, 10.1}}, record.CellVerdict{Decision: record.Ties, Among: []string{"a", "b"}, Metric: "p90"}},
		{"all overloaded", "", map[string][]float64{"p50": {10, 0}, "p90": {10, 0}, "goodput": {10, 5}}, record.CellVerdict{Decision: record.Wins, Winner: "a", Metric: "goodput"}},
		{"nothing", "", nil, record.CellVerdict{Decision: record.Rejected}},
	} {
		got := Outcome(contest(c.figures, "a", "b"), c.metric)
		if got.Decision != c.want.Decision || got.Winner != c.want.Winner || got.Metric != c.want.Metric || !slices.Equal(got.Among, c.want.Among) {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
		if got.Decided() && !(got.Ratio > 0 && got.Low <= got.Ratio && got.Ratio <= got.High && got.Arm == "b") {
			t.Errorf("%s: got the figures %+v", c.name, got)
		}
		if got.Decision == record.Rejected && words(got.Reason) == "" {
			t.Errorf("%s: refused without a reason", c.name)
		}
	}
}

// Where nothing can be answered the reason says whether one metric or all are missing.
func TestOutcomeOfNothing(t *testing.T) {
	t.Parallel()
	r := contest(map[string][]float64{"p50": {10, 8}}, "a", "b")
	if got := Outcome(r, "p99").Reason; got.Code != record.NoVerdictOn || got.Metric != "p99" {
		t.Errorf("another metric: got %+v, want %s of p99", got, record.NoVerdictOn)
	}
	if got := Outcome(&record.Result{}, "").Reason; got.Code != record.NothingCompared {
		t.Errorf("no verdict: got %+v, want %s", got, record.NothingCompared)
	}
}

// In a closed loop shorter times with less goodput are a trade, in either direction; in an open
// one, where the rate is given, goodput does not speak.
func TestLessGoodputInAClosedLoopIsATrade(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		loop         string
		p50, goodput []float64
		want         record.CellDecision
	}{
		{"closed", []float64{10, 4}, []float64{10, 3}, record.Trades},
		{"closed", []float64{4, 10}, []float64{3, 10}, record.Trades},
		{"closed", []float64{10, 4}, []float64{10, 20}, record.Wins},
		{"closed", []float64{10, 4}, []float64{10, 10}, record.Wins},
		{"open", []float64{10, 4}, []float64{10, 3}, record.Wins},
	} {
		r := contest(map[string][]float64{"p50": c.p50, "goodput": c.goodput}, "a", "b")
		for i := range r.Arms {
			r.Arms[i].Clients.Loop = c.loop
		}
		if got := Outcome(r, "").Decision; got != c.want {
			t.Errorf("%s loop, p50 %v, goodput %v: got %s, want %s", c.loop, c.p50, c.goodput, got, c.want)
		}
	}
}

func TestOutcomeInDoubt(t *testing.T) {
	t.Parallel()
	r := contest(map[string][]float64{"p50": {10, 10.2}, "p90": {10, 10.1}, "goodput": {10, 5}}, "a", "b")
	r.Verdicts[0].Verdict = string(stats.Inconclusive)
	for _, metric := range []string{"", "p50"} {
		if got := Outcome(r, metric); got.Decision != record.InDoubt || got.Winner != "" || got.Among != nil {
			t.Errorf("metric %q: got %+v, want it undecided", metric, got)
		}
	}
}

// Two challengers are compared with intervals as wide as if all pairs were: nine verdicts
// share what six do in the cell's own. So with ten blocks b and c are faster than a, and
// which of the two is best is open.
func TestPairsOfAMapShareTheError(t *testing.T) {
	t.Parallel()
	r := contest(map[string][]float64{"p50": {10, 8, 8}}, "a", "b", "c")
	cut := func(blocks int) {
		for _, arm := range []int{0, 2, 3} { // without a's copy
			r.Arms[arm].Blocks["p50"] = r.Arms[arm].Blocks["p50"][:blocks]
		}
	}
	if got := Outcome(r, "p50"); got.Decision != record.Ties {
		t.Errorf("twelve blocks: got %+v, want b and c to share the lead", got)
	}
	cut(10)
	metric := stats.Metrics()[0]
	for i, arm := range []int{2, 3} {
		own := stats.Compare(metric, r.Arms[0].Blocks["p50"], r.Arms[arm].Blocks["p50"], 6)
		if metric.Name != "p50" || own.Decision != stats.Faster {
			t.Fatalf("%s of %s: %+v, want it faster by itself", metric.Name, r.Arms[arm].Name, own)
		}
		r.Verdicts[i] = verdict(own, r.Arms[0], r.Arms[arm], nil)
	}
	if got := Outcome(r, "p50"); got.Decision != record.InDoubt {
		t.Errorf("ten blocks: got %+v, want it undecided", got)
	}
}

func TestMapBlocks(t *testing.T) {
	t.Parallel()
	for arms, want := range map[int]int{2: 10, 3: 12, 4: 12, 5: 12, 8: 14} {
		if got := MapBlocks(arms); got != want {
			t.Errorf("%d arms: got %d blocks, want %d", arms, got, want)
		}
	}
}

func TestWhoStarvesOthersWinsNothing(t *testing.T) {
	t.Parallel()
	r := contest(map[string][]float64{"p50": {10, 8}, "p90": {10, 8}}, "a", "b")
	r.Arms[2].StarvedConnections = 3
	if got := Outcome(r, ""); got.Decision != record.InDoubt || got.Winner != "" {
		t.Errorf("got %+v, want it undecided", got)
	}
}

func TestOutcomeOfThreeArms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		p50    []float64
		want   record.CellDecision
		winner string
		among  []string
	}{
		{"one beats both", []float64{10, 8, 6}, record.Wins, "c", nil},
		{"the baseline beats both", []float64{6, 8, 10}, record.Wins, "a", nil},
		{"two share the lead", []float64{10, 8, 8.1}, record.Ties, "", []string{"b", "c"}},
		{"all share it", []float64{10, 10, 10.1}, record.Ties, "", []string{"a", "b", "c"}},
	} {
		got := Outcome(contest(map[string][]float64{"p50": c.p50}, "a", "b", "c"), "p50")
		if got.Decision != c.want || got.Winner != c.winner || !slices.Equal(got.Among, c.among) {
			t.Errorf("%s: got %+v, want %s %s %q", c.name, got, c.want, c.winner, c.among)
		}
	}
	// One overloaded arm leaves the others to share the lead, by goodput.
	r := contest(map[string][]float64{"p50": {10, 0, 10}, "goodput": {10, 5, 10}}, "a", "b", "c")
	if got := Outcome(r, "p50"); got.Decision != record.Ties || !slices.Equal(got.Among, []string{"a", "c"}) || got.Metric != "goodput" {
		t.Errorf("one overloaded: got %+v, want a and c the same by goodput", got)
	}
	// The winner over several metrics need not win at each.
	r = contest(map[string][]float64{"p50": {10, 8, 6}, "p90": {10, 8, 8}}, "a", "b", "c")
	if got := Outcome(r, ""); got.Decision != record.Wins || got.Winner != "c" {
		t.Errorf("c wins at p50 and shares p90: got %+v", got)
	}
	r = contest(map[string][]float64{"p50": {10, 8, 6}, "p90": {8, 8, 10}}, "a", "b", "c")
	if got := Outcome(r, ""); got.Decision != record.Trades || got.Winner != "" {
		t.Errorf("c wins at p50 and loses at p90 to two: got %+v, want b and c to trade", got)
	}
	// Who fails requests has no times: the others have a winner without it.
	r = contest(map[string][]float64{"p50": {10, 0, 6}}, "a", "b", "c")
	r.Verdicts[0].Reason = record.Fact{Code: record.CauseErrors, Arm: "b"}
	if got := Outcome(r, "p50"); got.Decision != record.Wins || got.Winner != "c" {
		t.Errorf("b fails requests: got %+v, want c", got)
	}
	// What noise refuses may be the best of all.
	r.Verdicts[0].Reason = record.Fact{Code: record.CauseImbalance, Arm: "b"}
	if got := Outcome(r, "p50"); got.Decision != record.Rejected || got.Reason.Code != record.CauseImbalance {
		t.Errorf("noise refuses b: got %+v, want no winner", got)
	}
}

// Arms that differ in anything of their load have no winner, on a map as in a comparison:
// also in what no sentence about the load tells.
func TestNobodyWinsAcrossLoads(t *testing.T) {
	t.Parallel()
	r := contest(map[string][]float64{"p50": {10, 8}, "p90": {10, 8}, "p99": {10, 8}}, "a", "b")
	if got := Outcome(r, ""); got.Winner != "b" {
		t.Errorf("asked alike: got %+v, want b", got)
	}
	clients := record.Clients{Loop: "open", Rate: 100, Timeout: 10}
	later := clients
	later.Timeout = 1
	if report.Load(clients) != report.Load(later) {
		t.Fatal("the sentence tells the timeout")
	}
	r.LoadsDiffer = LoadsDiffer([]record.PlanArm{{Clients: clients}, {Clients: clients}, {Clients: later}})
	if !slices.Equal(r.LoadsDiffer, []string{"timeout"}) {
		t.Errorf("got %q, want the timeout", r.LoadsDiffer)
	}
	if got := Outcome(r, ""); got.Winner != "" || got.Decision != record.Rejected {
		t.Errorf("asked with other timeouts: got %+v, want no winner", got)
	}
	if got := Outcome(r, "p50"); got.Winner != "b" {
		t.Errorf("one metric: got %+v, want b", got)
	}
}
