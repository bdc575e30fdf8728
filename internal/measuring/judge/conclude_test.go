package judge

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"schedlab/internal/measuring/report"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// plain is a run in which nothing but the given figures is known: by arm and figure, a value
// for each block. The first arm is the baseline, the second its copy.
func plain(names []string, figures map[string]*stats.Series) (blocks, []record.Arm) {
	b := blocks{aim: Winner{}, windows: windows{}, judged: map[stats.Figure]bool{}, over: map[string]bool{}}
	for _, m := range stats.Quantiles() {
		b.judged[m.Figure] = true
	}
	var arms []record.Arm
	for i, name := range names {
		role := []record.Role{record.Baseline, record.Copy, record.Challenger}[min(i, 2)]
		b.run.Plan.Arms = append(b.run.Plan.Arms, record.PlanArm{Name: name, Role: role})
		arms = append(arms, record.Arm{Contestant: record.Contestant{Name: name, Role: role}, Figures: record.Figures{Blocks: *figures[name]}})
		for f, values := range figures[name] {
			for i, v := range values {
				if b.windows[i+1] == nil {
					b.windows[i+1] = map[string]*modelled{}
				}
				if b.windows[i+1][name] == nil {
					b.windows[i+1][name] = &modelled{}
				}
				w := b.windows[i+1][name]
				w.Values[f], w.FromSent[f] = stats.Known(v), stats.Known(v)
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
func contest(figures stats.Series, names ...string) *record.Comparison {
	return contestOf(12, figures, names...)
}

func contestOf(n int, figures stats.Series, names ...string) *record.Comparison {
	names = slices.Insert(names, 1, names[0]+"'")
	values := map[string]*stats.Series{}
	for i, name := range names {
		values[name] = &stats.Series{}
		for metric, v := range figures {
			for block := range n * min(len(v), 1) {
				values[name][metric] = append(values[name][metric], v[max(i-1, 0)]*(1+0.001*float64(block%3)))
			}
		}
	}
	b, arms := plain(names, values)
	v := b.compare(arms)
	r := &record.Comparison{Arms: arms}
	asked := func(all []record.Verdict) (kept []record.Verdict) {
		for _, v := range all {
			of := figures[v.Metric]
			if of == nil {
				continue
			}
			for _, arm := range []string{v.Arm, v.Baseline} {
				if of[max(slices.Index(names, arm)-1, 0)] == 0 {
					v.Verdict, v.Reason = decision("refused"), fact.Fact{Code: causeOverload.Code}
				}
			}
			kept = append(kept, v)
		}
		return kept
	}
	r.Verdicts, r.Duels = asked(v.all), asked(v.duels)
	return r
}

// answered is the kind of the answer of a result, or that it is open or refused, with the arms that share the first place.
func answered(r *record.Comparison) (record.AnswerKind, []string) {
	_, a := conclude(r)
	_, best := newRanking(r).decide()
	return cmp.Or(a.Kind, record.AnswerKind(a.Outcome)), best
}

func TestConcludeOfTwoArms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		figures stats.Series
		want    record.AnswerKind
		best    []string
	}{
		{"faster", stats.Series{stats.P50: {10, 8}}, record.OneWins, []string{"b"}},
		{"slower", stats.Series{stats.P50: {10, 13}}, record.OneWins, []string{"a"}},
		{"same", stats.Series{stats.P50: {10, 10.2}}, record.ATie, []string{"a", "b"}},
		{"overloaded", stats.Series{stats.P50: {10, 0}, stats.Goodput: {10, 5}}, record.OneWins, []string{"a"}},
		{"refused", stats.Series{stats.P50: {10, 0}, stats.Goodput: {10, 10}}, "refused", nil},
		{"faster at one of three metrics", stats.Series{stats.P50: {10, 10}, stats.P90: {10, 8}, stats.P99: {10, 9}}, record.OneWins, []string{"b"}},
		{"a trade", stats.Series{stats.P50: {10, 8}, stats.P90: {10, 14}}, record.ATrade, nil},
		{"all the same", stats.Series{stats.P50: {10, 10}, stats.P90: {10, 10.1}}, record.ATie, []string{"a", "b"}},
		{"all overloaded", stats.Series{stats.P50: {10, 0}, stats.P90: {10, 0}, stats.Goodput: {10, 5}}, record.OneWins, []string{"a"}},
		{"nothing", stats.Series{}, "refused", nil},
	} {
		r := contest(c.figures, "a", "b")
		if got, best := answered(r); got != c.want || !slices.Equal(best, c.best) {
			t.Errorf("%s: got %s %q, want %s %q", c.name, got, best, c.want, c.best)
		}
		if _, a := conclude(r); a.Outcome == outcome.Refused && words(a.Reason) == "" {
			t.Errorf("%s: refused without a reason", c.name)
		}
	}
}

// In a closed loop shorter times with less goodput are a trade, in either direction; in an open
// one, where the rate is given, goodput does not speak.
func TestLessGoodputInAClosedLoopIsATrade(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		loop         string
		p50, goodput []float64
		want         record.AnswerKind
	}{
		{"closed", []float64{10, 4}, []float64{10, 3}, record.ATrade},
		{"closed", []float64{4, 10}, []float64{3, 10}, record.ATrade},
		{"closed", []float64{10, 4}, []float64{10, 20}, record.OneWins},
		{"closed", []float64{10, 4}, []float64{10, 10}, record.OneWins},
		{"open", []float64{10, 4}, []float64{10, 3}, record.OneWins},
	} {
		r := contest(stats.Series{stats.P50: c.p50, stats.Goodput: c.goodput}, "a", "b")
		for i := range r.Arms {
			r.Arms[i].Clients.Loop = c.loop
		}
		if got, _ := answered(r); got != c.want {
			t.Errorf("%s loop, p50 %v, goodput %v: got %s, want %s", c.loop, c.p50, c.goodput, got, c.want)
		}
	}
}

func TestConcludeNothingWhileAVerdictIsOpen(t *testing.T) {
	t.Parallel()
	r := contest(stats.Series{stats.P50: {10, 10.2}, stats.P90: {10, 10.1}, stats.Goodput: {10, 5}}, "a", "b")
	r.Verdicts[0].Verdict = stats.Decision{Outcome: outcome.Open}
	if got, best := answered(r); got != "open" || best != nil {
		t.Errorf("got %s %q, want it open", got, best)
	}
}

// All that is said of four challengers shares one error: the duels of each two of them have
// wider intervals than their verdicts on the baseline. So with twelve blocks they are faster
// than a, and which of them is best is open.
func TestDuelsShareTheError(t *testing.T) {
	t.Parallel()
	p50 := stats.Series{stats.P50: {10, 8, 8, 8, 7}}
	r := contestOf(12, p50, "a", "b", "c", "d", "e")
	if got, _ := answered(r); got != record.SeveralWin || r.Verdicts[3].Verdict.String() != "FASTER" {
		t.Errorf("twelve blocks: got %s, want four that are faster, and no best", got)
	}
	r = contestOf(13, p50, "a", "b", "c", "d", "e")
	if got, best := answered(r); got != record.OneWins || !slices.Equal(best, []string{"e"}) || len(r.Duels) != 6 {
		t.Errorf("thirteen blocks: got %s %q of %d duels, want e to win", got, best, len(r.Duels))
	}
}

func TestWhoStarvesOthersWinsNothing(t *testing.T) {
	t.Parallel()
	r := contest(stats.Series{stats.P50: {10, 8}, stats.P90: {10, 8}}, "a", "b")
	r.Arms[2].StarvedConnections = 3
	if got, best := answered(r); got != "open" || best != nil {
		t.Errorf("got %s %q, want it open", got, best)
	}
}

func TestConcludeOfThreeArms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		figures stats.Series
		want    record.AnswerKind
		best    []string
	}{
		{"one beats both", stats.Series{stats.P50: {10, 8, 6}}, record.OneWins, []string{"c"}},
		{"the baseline beats both", stats.Series{stats.P50: {6, 8, 10}}, record.OneWins, []string{"a"}},
		{"two share the lead", stats.Series{stats.P50: {10, 8, 8.1}}, record.TieForBest, []string{"b", "c"}},
		{"all share it", stats.Series{stats.P50: {10, 10, 10.1}}, record.ATie, []string{"a", "b", "c"}},
		{"one overloaded arm leaves the others to share the lead", stats.Series{stats.P50: {10, 0, 10}, stats.Goodput: {10, 5, 10}}, record.TieForBest, []string{"a", "c"}},
		{"the winner need not win at each metric", stats.Series{stats.P50: {10, 8, 6}, stats.P90: {10, 8, 8}}, record.OneWins, []string{"c"}},
		{"c wins at p50 and loses at p90 to both", stats.Series{stats.P50: {10, 8, 6}, stats.P90: {8, 8, 10}}, record.ATrade, nil},
	} {
		if got, best := answered(contest(c.figures, "a", "b", "c")); got != c.want || !slices.Equal(best, c.best) {
			t.Errorf("%s: got %s %q, want %s %q", c.name, got, best, c.want, c.best)
		}
	}
	// Who fails requests has no times: the others have a winner without it.
	r := contest(stats.Series{stats.P50: {10, 0, 6}}, "a", "b", "c")
	r.Verdicts[0].Reason = fact.Fact{Code: causeErrors.Code, Arm: "b"}
	if got, best := answered(r); got != record.OneWins || !slices.Equal(best, []string{"c"}) {
		t.Errorf("b fails requests: got %s %q, want c", got, best)
	}
	// What noise refuses may be the best of all.
	r.Verdicts[0].Reason = fact.Fact{Code: causeImbalance.Code, Arm: "b"}
	if got, _ := answered(r); got == record.OneWins {
		t.Errorf("noise refuses b: got %s, want no winner", got)
	}
}

// Arms that differ in anything of their load have no winner, also in what no sentence about the load
// tells.
func TestNobodyWinsAcrossLoads(t *testing.T) {
	t.Parallel()
	r := contest(stats.Series{stats.P50: {10, 8}, stats.P90: {10, 8}, stats.P99: {10, 8}}, "a", "b")
	if winner, _ := conclude(r); winner != (record.Winner{Outcome: outcome.Yes, Arm: "b"}) {
		t.Errorf("asked alike: got %q, want b", winner)
	}
	clients := record.Clients{Loop: "open", Rate: 100, Timeout: record.Lasting(10 * time.Second)}
	later := clients
	later.Timeout = record.Lasting(time.Second)
	if report.Load(clients) != report.Load(later) {
		t.Fatal("the sentence tells the timeout")
	}
	r.LoadsDiffer = loadsDiffer([]record.PlanArm{{Clients: clients}, {Clients: clients}, {Clients: later}})
	if !slices.Equal(r.LoadsDiffer, []string{"timeout"}) {
		t.Errorf("got %q, want the timeout", r.LoadsDiffer)
	}
	if winner, a := conclude(r); winner != (record.Winner{Outcome: outcome.Open}) || a.Outcome != outcome.Refused || a.Kind != record.OtherLoads {
		t.Errorf("asked with other timeouts: got %q, %s, want no winner", winner, a.Outcome)
	}
}
