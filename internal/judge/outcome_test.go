package judge

import (
	"math"
	"slices"
	"testing"

	"schedlab/internal/record"
	"schedlab/internal/report"
	"schedlab/internal/stats"
	"schedlab/internal/window"
)

// plain is a run in which nothing but the given figures is known: by arm and metric, a value
// for each block. The first arm is the baseline, the second its copy.
func plain(names []string, figures map[string]map[string][]float64) (blocks, []record.Arm) {
	b := blocks{windows: windows{}, judged: map[string]bool{}, over: map[string]bool{}}
	for _, m := range stats.Quantiles() {
		b.judged[m.Name] = true
	}
	var arms []record.Arm
	for i, name := range names {
		role := []record.Role{record.Baseline, record.Copy, record.Challenger}[min(i, 2)]
		b.run.Plan.Arms = append(b.run.Plan.Arms, record.PlanArm{Name: name, Role: role})
		arms = append(arms, record.Arm{Name: name, Role: role, Blocks: figures[name]})
		for metric, values := range figures[name] {
			for i, v := range values {
				if b.windows[i+1] == nil {
					b.windows[i+1] = map[string]*modelled{}
				}
				if b.windows[i+1][name] == nil {
					b.windows[i+1][name] = &modelled{Window: window.Window{Values: map[string]float64{}}}
				}
				b.windows[i+1][name].Values[metric] = v
				b.windows[i+1][name].Values[metric+window.FromSent] = v
			}
		}
	}
	for block := range b.windows {
		b.valid = append(b.valid, block)
	}
	slices.Sort(b.valid)
	return b, arms
}

// contest is a result of arms with twelve blocks at each metric, steady at the given values
// and judged by them. A value of 0 refuses the metric.
func contest(figures map[string][]float64, names ...string) *record.Result {
	return contestOf(12, figures, names...)
}

func contestOf(n int, figures map[string][]float64, names ...string) *record.Result {
	names = slices.Insert(names, 1, names[0]+"'")
	values := map[string]map[string][]float64{}
	for i, name := range names {
		values[name] = map[string][]float64{}
		for metric, v := range figures {
			for block := range n {
				values[name][metric] = append(values[name][metric], v[max(i-1, 0)]*(1+0.001*float64(block%3)))
			}
		}
	}
	b, arms := plain(names, values)
	v := b.compare(arms)
	r := &record.Result{Arms: arms}
	asked := func(all []record.Verdict) (kept []record.Verdict) {
		for _, v := range all {
			of := figures[v.Metric]
			if of == nil {
				continue
			}
			for _, arm := range []string{v.Arm, v.Baseline} {
				if of[max(slices.Index(names, arm)-1, 0)] == 0 {
					v.Verdict, v.Reason = "refused", record.Fact{Code: causeOverload}
				}
			}
			kept = append(kept, v)
		}
		return kept
	}
	r.Verdicts, r.Duels = asked(v.all), asked(v.duels)
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
	if got := Outcome(r, "p99").Reason; got.Code != noVerdictOn || got.Metric != "p99" {
		t.Errorf("another metric: got %+v, want %s of p99", got, noVerdictOn)
	}
	if got := Outcome(&record.Result{}, "").Reason; got.Code != nothingCompared {
		t.Errorf("no verdict: got %+v, want %s", got, nothingCompared)
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
	r.Verdicts[0].Verdict = stats.Open
	for _, metric := range []string{"", "p50"} {
		if got := Outcome(r, metric); got.Decision != record.InDoubt || got.Winner != "" || got.Among != nil {
			t.Errorf("metric %q: got %+v, want it undecided", metric, got)
		}
	}
}

// All that is said of four challengers shares one error: the duels of each two of them have
// wider intervals than their verdicts on the baseline. So with twelve blocks they are faster
// than a, and which of them is best is open.
func TestDuelsShareTheError(t *testing.T) {
	t.Parallel()
	p50 := map[string][]float64{"p50": {10, 8, 8, 8, 7}}
	r := contestOf(12, p50, "a", "b", "c", "d", "e")
	if got := Outcome(r, "p50"); got.Decision != record.InDoubt || r.Verdicts[3].Verdict != "FASTER" {
		t.Errorf("twelve blocks: got %+v, want four that are faster, and no best", got)
	}
	r = contestOf(13, p50, "a", "b", "c", "d", "e")
	if got := Outcome(r, "p50"); got.Decision != record.Wins || got.Winner != "e" || len(r.Duels) != 6 {
		t.Errorf("thirteen blocks: got %+v of %d duels, want e to win", got, len(r.Duels))
	}
}

func TestMapBlocks(t *testing.T) {
	t.Parallel()
	for arms, want := range map[int]int{2: 10, 3: 10, 4: 12, 5: 13, 8: 14} {
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
	r.Verdicts[0].Reason = record.Fact{Code: causeErrors, Arm: "b"}
	if got := Outcome(r, "p50"); got.Decision != record.Wins || got.Winner != "c" {
		t.Errorf("b fails requests: got %+v, want c", got)
	}
	// What noise refuses may be the best of all.
	r.Verdicts[0].Reason = record.Fact{Code: causeImbalance, Arm: "b"}
	if got := Outcome(r, "p50"); got.Decision != record.Rejected || got.Reason.Code != causeImbalance {
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

// The change in a cell of a map is that of the two figures in the cell's own report, and not the median of the blocks' ratios.
func TestOutcomeHasTheQuotientOfTheFigures(t *testing.T) {
	t.Parallel()
	r := contest(map[string][]float64{"p50": {10, 8}}, "a", "b")
	for i := range r.Arms {
		r.Arms[i].P50 = new([]float64{.02004, .015249}[stats.Count(r.Arms[i].Name == "b")])
	}
	if got := Outcome(r, "p50"); math.Abs(got.Ratio-15.2/20.0) > 1e-12 {
		t.Errorf("got %g, want the quotient of 15.2 ms and 20.0 ms", got.Ratio)
	}
}
