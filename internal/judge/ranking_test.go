package judge

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/record"
	"schedlab/internal/report"
	"schedlab/internal/stats"
	"schedlab/internal/window"
)

// ranked is a ranking of arms a, b, c, … whose ranks against those before are given, the
// baseline first; excused names those that cannot win.
func ranked(ranks [][]record.Rank, excused string) ranking {
	f := ranking{arms: []record.Arm{{Name: "a"}}, ranks: [][]record.Rank{{""}}, excused: []bool{strings.Contains(excused, "a")}}
	for i, row := range ranks {
		name := string(rune('b' + i))
		f.arms, f.excused = append(f.arms, record.Arm{Name: name}), append(f.excused, strings.Contains(excused, name))
		f.standings = append(f.standings, record.Standing{Arm: name, Baseline: "a", Rank: row[0]})
		for k, rank := range row {
			f.ranks[k] = append(f.ranks[k], inverse(rank))
		}
		f.ranks = append(f.ranks, append(slices.Clone(row), ""))
	}
	return f
}

func TestDecide(t *testing.T) {
	t.Parallel()
	const (
		faster, slower, same, trade, open = record.RankFaster, record.RankSlower, record.RankSame, record.RankTrade, record.RankOpen
		up, behind                        = record.KeepsUp, record.FallsBehind
	)
	for _, c := range []struct {
		name    string
		ranks   [][]record.Rank // b against a; c against a and b; …
		excused string
		kind    record.AnswerKind
		best    string
	}{
		{"b is faster", [][]record.Rank{{faster}}, "", record.OneWins, "b"},
		{"b is slower", [][]record.Rank{{slower}}, "", record.OneWins, "a"},
		{"b keeps up", [][]record.Rank{{up}}, "", record.OneWins, "b"},
		{"b falls behind", [][]record.Rank{{behind}}, "", record.OneWins, "a"},
		{"b is the same", [][]record.Rank{{same}}, "", record.ATie, "a b"},
		{"b trades", [][]record.Rank{{trade}}, "", record.ATrade, ""},
		{"b is open", [][]record.Rank{{open}}, "", record.OpenOutcome, ""},
		{"b is partly the same", [][]record.Rank{{record.RankPartlySame}}, "", record.OpenOutcome, ""},
		{"c beats both", [][]record.Rank{{faster}, {faster, faster}}, "", record.OneWins, "c"},
		{"two beat the third", [][]record.Rank{{same}, {slower, slower}}, "", record.TieForBest, "a b"},
		{"both beat a and are the same", [][]record.Rank{{faster}, {faster, same}}, "", record.TieForBest, "b c"},
		{"both beat a and trade", [][]record.Rank{{faster}, {faster, trade}}, "", record.ATrade, ""},
		{"both beat a, the rest is open", [][]record.Rank{{faster}, {faster, open}}, "", record.SeveralWin, ""},
		{"b wins, but nothing is known of c", [][]record.Rank{{faster}, {open, open}}, "", record.OpenOutcome, ""},
		{"the same, but nothing is known of c", [][]record.Rank{{same}, {open, open}}, "", record.OpenOutcome, ""},
		{"a and b are the same, b and c, and not a and c", [][]record.Rank{{same}, {open, same}}, "", record.OpenOutcome, ""},
		{"who trades with a loser changes nothing", [][]record.Rank{{faster}, {slower, slower}, {slower, slower, trade}}, "", record.OneWins, "b"},
		{"b wins, and c that fails need not be beaten", [][]record.Rank{{faster}, {open, open}}, "c", record.OneWins, "b"},
		{"who starves clients cannot win", [][]record.Rank{{faster}}, "b", record.OpenOutcome, ""},
		{"nor can who is beaten by it", [][]record.Rank{{faster}, {slower, slower}}, "b", record.OpenOutcome, ""},
		{"a baseline that starves does not win", [][]record.Rank{{slower}}, "a", record.OpenOutcome, ""},
		{"a baseline that starves must be beaten", [][]record.Rank{{slower}, {open, faster}}, "a", record.OpenOutcome, ""},
		{"a baseline that starves is beaten", [][]record.Rank{{faster}}, "a", record.OneWins, "b"},
		{"to win is to beat somebody", [][]record.Rank{{open}}, "b", record.OpenOutcome, ""},
	} {
		kind, best := ranked(c.ranks, c.excused).decide()
		if kind != c.kind || strings.Join(best, " ") != c.best {
			t.Errorf("%s: got %s of %q, want %s of %q", c.name, kind, best, c.kind, c.best)
		}
	}
}

// Two challengers need a test of their own, unless one is faster than the baseline and the
// other slower at one metric.
func TestImplied(t *testing.T) {
	t.Parallel()
	const faster, slower, same, behind = record.RankFaster, record.RankSlower, record.RankSame, record.FallsBehind
	for _, c := range []struct {
		a, b         record.Rank
		onA, onB     string // verdicts at p50 and p90
		rank, turned record.Rank
	}{
		{faster, slower, "FASTER SAME", "SLOWER SAME", faster, slower},
		{faster, slower, "FASTER SAME", "SAME SLOWER", "", ""},
		{faster, same, "FASTER FASTER", "SAME SAME", "", ""},
		{same, slower, "SAME SAME", "SLOWER SLOWER", "", ""},
		{same, same, "SAME SAME", "SAME SAME", "", ""},
		{faster, faster, "FASTER SAME", "FASTER SAME", "", ""},
		{slower, slower, "SLOWER SAME", "SLOWER SAME", record.RankOpen, record.RankOpen},
		{faster, behind, "FASTER SAME", "REFUSED REFUSED", faster, slower},
		{record.RankTrade, slower, "FASTER SLOWER", "SLOWER SAME", "", ""},
	} {
		var verdicts []record.Verdict
		for arm, on := range map[string]string{"a": c.onA, "b": c.onB} {
			for i, word := range strings.Fields(on) {
				verdicts = append(verdicts, record.Verdict{Arm: arm, Baseline: "base", Metric: []string{"p50", "p90"}[i], Verdict: stats.Decision(word)})
			}
		}
		all := func(record.Verdict) bool { return true }
		got, turned := implied("a", "b", c.a, c.b, verdicts, all), implied("b", "a", c.b, c.a, verdicts, all)
		if got != c.rank || turned != c.turned {
			t.Errorf("%s (%s) and %s (%s): got %q and %q, want %q and %q", c.a, c.onA, c.b, c.onB, got, turned, c.rank, c.turned)
		}
	}
}

// Challengers that both beat the baseline are compared by their own blocks, which the answer
// holds; one that the noise refuses is not.
func TestDuels(t *testing.T) {
	t.Parallel()
	r := contest(map[string][]float64{"p50": {10, 8, 6}}, "a", "b", "c")
	winner, answer := conclude(r)
	if winner != "c" || len(answer.Duels) != 1 || answer.Duels[0].Arm != "c" || answer.Duels[0].Baseline != "b" || answer.Duels[0].Rank != record.RankFaster {
		t.Errorf("got %s, %+v", winner, answer.Duels)
	}
	if v := answer.Duels[0].Verdicts[0]; v.Metric != "p50" || v.Verdict != "FASTER" || v.Ratio != .75 {
		t.Errorf("got %+v, want b's p50 less a quarter", v)
	}
	r = contest(map[string][]float64{"p50": {10, 8, 12}}, "a", "b", "c")
	if winner, answer := conclude(r); winner != "b" || answer.Duels != nil {
		t.Errorf("c is slower than the baseline: got %s, %+v", winner, answer.Duels)
	}
	r = contest(map[string][]float64{"p50": {10, 8, 6}}, "a", "b", "c")
	for _, v := range []*record.Verdict{&r.Verdicts[1], &r.Duels[0]} {
		v.Verdict, v.Reason = "REFUSED", record.Fact{Code: causeDrift, Arm: "c", Baseline: "a"}
	}
	if winner, answer := conclude(r); winner != "undecided" || answer.Duels != nil {
		t.Errorf("c is refused for its drift: got %s, %+v", winner, answer.Duels)
	}
	r = contest(map[string][]float64{"p50": {10, 8, 6}}, "a", "b", "c")
	for i := range r.Arms {
		r.Arms[i].Clients = record.Clients{Loop: "closed", Connections: 1 + i}
	}
	if winner, answer := conclude(r); winner != "undecided" || answer.Duels != nil {
		t.Errorf("closed loops of other clients: got %s, %+v", winner, answer.Duels)
	}
}

// same is the whole answer when nothing differs.
var same = times("SAME", nil)

// times is an answer with this decision on every quantile, and SAME on all else but the exceptions.
func times(decision string, except map[string]string) map[string]string {
	all := map[string]string{}
	for _, m := range stats.Metrics() {
		if all[m.Name] = "SAME"; m.Quantile > 0 {
			all[m.Name] = decision
		}
	}
	maps.Copy(all, except)
	return all
}

// atAll is a change as a headline has it of every quantile.
func atAll(change string) string {
	return strings.Join(stats.Names(stats.Quantiles()), " "+change+", ") + " " + change
}

func TestConclusions(t *testing.T) {
	t.Parallel()
	starve := each("fasthttp", func(t *record.Trial) {
		t.Client.ConnAnswers, t.Client.Asked, t.Client.Starved = []uint32{700, 620, 0}, 3, 1
	}, 5)
	for _, c := range []struct {
		name             string
		run              synthetic
		fasthttp, pool   map[string]string
		winner, headline string
	}{
		{
			"all the same", synthetic{}, same, same,
			"undecided", "A tie: fasthttp is the same as nethttp; pool is the same as nethttp.",
		},
		{
			"the baseline wins", synthetic{times: scaled(map[string]float64{"fasthttp": 1.2, "pool": 1.5})}, times("SLOWER", nil), times("SLOWER", nil),
			"nethttp", "nethttp wins: fasthttp is slower than nethttp (" + atAll("+20 %") + "); pool is slower than nethttp (" + atAll("+50 %") + ").",
		},
		{
			"a multiple, as the verdicts write it", synthetic{times: scaled(map[string]float64{"fasthttp": 8, "pool": 1.02})}, times("SLOWER", nil), same,
			"undecided", "A tie for the best: fasthttp is slower than nethttp (" + atAll("×8.0") + "); pool is the same as nethttp.",
		},
		{
			"a challenger wins", synthetic{times: scaled(map[string]float64{"fasthttp": .8})}, times("FASTER", nil), same,
			"fasthttp", "fasthttp wins: fasthttp is faster than nethttp (" + atAll("-20 %") + "); pool is the same as nethttp.",
		},
		{
			"two are better", synthetic{times: scaled(map[string]float64{"fasthttp": .8, "pool": .7})}, times("FASTER", nil), times("FASTER", nil),
			"pool", "pool wins: fasthttp is faster than nethttp (" + atAll("-20 %") + "); pool is faster than nethttp (" + atAll("-30 %") + "); pool is faster than fasthttp (" + atAll("-12 %") + ").",
		},
		{
			"two are better, and the same", synthetic{times: scaled(map[string]float64{"fasthttp": .7, "pool": .7})}, times("FASTER", nil), times("FASTER", nil),
			"undecided", "A tie for the best: fasthttp is faster than nethttp (" + atAll("-30 %") + "); pool is faster than nethttp (" + atAll("-30 %") + "); pool is the same as fasthttp.",
		},
		{
			"a trade",
			synthetic{times: func(_ int, arm string, u float64) float64 {
				switch {
				case arm == "pool" && u < .8:
					return .8 * usual(u)
				case arm == "pool" && u > .95:
					return 1.5 * usual(u)
				}
				return usual(u)
			}},
			same, times("SAME", map[string]string{"p50": "FASTER", "p99": "SLOWER"}),
			"trade", "A trade: fasthttp is the same as nethttp; pool trades with nethttp: better at p50 -20 %, worse at p99 +50 %.",
		},
		{
			"undecided",
			synthetic{times: func(block int, arm string, u float64) float64 {
				if arm == "pool" {
					return math.Pow(1.4, float64(block%3-1)) * usual(u)
				}
				return usual(u)
			}},
			same, times("INCONCLUSIVE", nil),
			"undecided", "No single winner: fasthttp is the same as nethttp; pool against nethttp is undecided after 12 blocks.",
		},
		{
			"who starves clients cannot win", synthetic{times: scaled(map[string]float64{"fasthttp": .8}), edit: starve}, times("FASTER", nil), same,
			"undecided", "No single winner: fasthttp is faster than nethttp (" + atAll("-20 %") + "); pool is the same as nethttp; fasthttp starved 1 of 3 connections.",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := c.run.judged(t)
			if diff := cmp.Diff(c.fasthttp, decisions(r, "fasthttp")); diff != "" {
				t.Errorf("fasthttp (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.pool, decisions(r, "pool")); diff != "" {
				t.Errorf("pool (-want +got):\n%s", diff)
			}
			if r.Winner != c.winner || report.Headline(r) != c.headline {
				t.Errorf("got  %q, %q\nwant %q, %q", r.Winner, report.Headline(r), c.winner, c.headline)
			}
			if r.Valid != 12 || len(r.Refused) != 0 {
				t.Errorf("%d valid blocks, refused %v, want 12 and none", r.Valid, r.Refused)
			}
		})
	}
}

// A run without a valid block has no figures, and a connection that is not kept no
// share of answers.
func TestUnknownFigures(t *testing.T) {
	t.Parallel()
	r := synthetic{edit: func(t *record.Trial, requests []record.Request) []record.Request {
		t.Server.Accepted++
		return requests
	}}.judged(t)
	for _, a := range r.Arms {
		if r.Valid != 0 || a.Goodput != nil || a.CPUPerRequest != nil || a.P50 != nil || a.Jain != nil || (a.XMax == nil) != (a.Name != "nethttp") {
			t.Errorf("%d valid blocks, %s: got %v, %v, %v, %v, %v", r.Valid, a.Name, a.Goodput, a.CPUPerRequest, a.P50, a.Jain, a.XMax)
		}
	}
}

func TestFigures(t *testing.T) {
	t.Parallel()
	r := synthetic{
		times: scaled(map[string]float64{"pool": 1.5}),
		edit: each("pool", func(t *record.Trial) {
			t.Client.ConnAnswers, t.Client.Asked = []uint32{300, 300, 300, 300}, 4
			if t.Block == 2 {
				t.Client.ConnAnswers, t.Client.Starved = []uint32{600, 0, 0, 600}, 2
			}
			t.Client.FirstReply = .001 * float64(t.Block%5)
		}),
	}.judged(t)
	base, pool := r.Arms[0], r.Arms[3]
	near := func(name string, got, want float64) {
		t.Helper()
		if math.Abs(got/want-1) > .02 {
			t.Errorf("%s: got %g, want about %g", name, got, want)
		}
	}
	near("p50", *base.P50, usual(.5))
	near("p90", *base.P90, usual(.9))
	near("p99", *base.P99, usual(.99))
	near("p99 of pool", *pool.P99, 1.5*usual(.99))
	near("goodput", *base.Goodput, fakeRate)
	near("CPU per request", *base.CPUPerRequest, .3/fakeRate)
	if *base.XMax != 3000 || base.Requests != 12*1200 || base.Errors != 0 || len(base.Blocks["p99"]) != 12 {
		t.Errorf("got %+v", base)
	}
	if pool.StarvedConnections != 2 || *pool.Jain != .5 {
		t.Errorf("worst window: got %d starved, Jain %v, want 2 and 0.5", pool.StarvedConnections, *pool.Jain)
	}
	v := verdictOf(t, r.Verdicts, "pool", "p99")
	near("ratio", v.Ratio, 1.5)
	if v.Won != 0 || v.Lost != 12 || v.Low > v.Ratio || v.High < v.Ratio {
		t.Errorf("got %+v", v)
	}
	if got, want := *pool.Fairness, (record.Fairness{Asked: 4, Served: 2, FirstReply: .004}); got != want {
		t.Errorf("got %+v, want %+v of the worst windows", got, want)
	}
	if base.Fairness != nil {
		t.Errorf("connections that are not kept: got %+v", base.Fairness)
	}
	want := "it starved 2 of 4 connections: its times are only those of the connections that it served, so it cannot win"
	if !slices.Contains(doubtTexts(r), "pool: "+want) {
		t.Errorf("doubts %q lack %q", r.Doubts, want)
	}
	if len(r.Order) != 12 || strings.Join(r.Order[0], " ") != "fasthttp nethttp pool nethttp'" {
		t.Errorf("order: got %v", r.Order)
	}
}

// An arm that may run on other CPUs than those started here is said to, beside the
// winner and in its own figures, and the servers are not all said to have one CPU.
func TestUnequalCPUs(t *testing.T) {
	t.Parallel()
	r := synthetic{
		times: scaled(map[string]float64{"fasthttp": 2, "pool": 2}),
		plan:  func(p *record.Plan) { p.Arms[0].URL, p.Arms[1].URL = "http://127.0.0.1:1", "http://127.0.0.1:1" },
		edit: func(t *record.Trial, requests []record.Request) []record.Request {
			if t.Arm == "nethttp" || t.Arm == "nethttp'" {
				t.Server.CPUs = "0-1"
			}
			return requests
		},
	}.judged(t)
	if want := "nethttp may run on CPUs 0-1; servers started here have 0."; r.Winner != "nethttp" || !strings.HasSuffix(report.Headline(r), " Not on equal CPUs: "+want) {
		t.Errorf("got the winner %q, %q", r.Winner, report.Headline(r))
	}
	if a := r.Arms[0]; !a.Attached || a.CPUs != "0-1" || r.Arms[2].Attached || r.Arms[2].CPUs != "" {
		t.Errorf("got %+v and %+v", a, r.Arms[2])
	}
	if slices.ContainsFunc(r.Doubts, func(d record.Fact) bool { return strings.HasPrefix(d.String(), "the server had one CPU") }) {
		t.Errorf("the servers are said to have one CPU: %v", r.Doubts)
	}
}

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
					b.windows[i+1] = map[string]modelled{}
				}
				if b.windows[i+1][name].Values == nil {
					b.windows[i+1][name] = modelled{Window: window.Window{Values: map[string]float64{}}}
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
					v.Verdict, v.Reason = "REFUSED", record.Fact{Code: causeOverload}
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
	r.Verdicts[0].Verdict = stats.Inconclusive
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
