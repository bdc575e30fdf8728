package judge

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/measuring/report"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
	"schedlab/internal/shared/stats"
)

// ranked is a ranking of arms a, b, c, … whose ranks against those before are given, the
// baseline first; excused names those that cannot win.
func ranked(ranks [][]record.Place, excused string) ranking {
	f := ranking{arms: []record.Arm{{Contestant: record.Contestant{Name: "a"}}}, ranks: [][]record.Place{{{}}}, excused: []bool{strings.Contains(excused, "a")}}
	for i, row := range ranks {
		name := string(rune('b' + i))
		f.arms, f.excused = append(f.arms, record.Arm{Contestant: record.Contestant{Name: name}}), append(f.excused, strings.Contains(excused, name))
		f.standings = append(f.standings, record.Standing{Arm: name, Baseline: "a", Place: row[0]})
		for k, rank := range row {
			f.ranks[k] = append(f.ranks[k], inverse(rank))
		}
		f.ranks = append(f.ranks, append(slices.Clone(row), record.Place{}))
	}
	return f
}

func TestDecide(t *testing.T) {
	t.Parallel()
	var (
		faster, slower, same, trade, open = record.Placed(stats.Faster), record.Placed(stats.Slower), record.Placed(stats.Same), record.Placed(stats.Trade), record.Place{Outcome: outcome.Open}
		up, behind                        = record.Placed(stats.Higher), record.Placed(stats.Lower)
	)
	for _, c := range []struct {
		name    string
		ranks   [][]record.Place // b against a; c against a and b; …
		excused string
		kind    record.AnswerKind
		best    string
	}{
		{"b is faster", [][]record.Place{{faster}}, "", record.OneWins, "b"},
		{"b is slower", [][]record.Place{{slower}}, "", record.OneWins, "a"},
		{"b keeps up", [][]record.Place{{up}}, "", record.OneWins, "b"},
		{"b falls behind", [][]record.Place{{behind}}, "", record.OneWins, "a"},
		{"b is the same", [][]record.Place{{same}}, "", record.ATie, "a b"},
		{"b trades", [][]record.Place{{trade}}, "", record.ATrade, ""},
		{"b is open", [][]record.Place{{open}}, "", "", ""},
		{"b is partly the same", [][]record.Place{{{Outcome: outcome.Open, Rank: stats.Same}}}, "", "", ""},
		{"c beats both", [][]record.Place{{faster}, {faster, faster}}, "", record.OneWins, "c"},
		{"two beat the third", [][]record.Place{{same}, {slower, slower}}, "", record.TieForBest, "a b"},
		{"both beat a and are the same", [][]record.Place{{faster}, {faster, same}}, "", record.TieForBest, "b c"},
		{"both beat a and trade", [][]record.Place{{faster}, {faster, trade}}, "", record.ATrade, ""},
		{"both beat a, the rest is open", [][]record.Place{{faster}, {faster, open}}, "", record.SeveralWin, ""},
		{"b wins, but nothing is known of c", [][]record.Place{{faster}, {open, open}}, "", "", ""},
		{"the same, but nothing is known of c", [][]record.Place{{same}, {open, open}}, "", "", ""},
		{"a and b are the same, b and c, and not a and c", [][]record.Place{{same}, {open, same}}, "", "", ""},
		{"who trades with a loser changes nothing", [][]record.Place{{faster}, {slower, slower}, {slower, slower, trade}}, "", record.OneWins, "b"},
		{"b wins, and c that fails need not be beaten", [][]record.Place{{faster}, {open, open}}, "c", record.OneWins, "b"},
		{"who starves clients cannot win", [][]record.Place{{faster}}, "b", "", ""},
		{"nor can who is beaten by it", [][]record.Place{{faster}, {slower, slower}}, "b", "", ""},
		{"a baseline that starves does not win", [][]record.Place{{slower}}, "a", "", ""},
		{"a baseline that starves must be beaten", [][]record.Place{{slower}, {open, faster}}, "a", "", ""},
		{"a baseline that starves is beaten", [][]record.Place{{faster}}, "a", record.OneWins, "b"},
		{"to win is to beat somebody", [][]record.Place{{open}}, "b", "", ""},
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
	faster, slower, same, behind := record.Placed(stats.Faster), record.Placed(stats.Slower), record.Placed(stats.Same), record.Placed(stats.Lower)
	none := record.Place{}
	for _, c := range []struct {
		a, b         record.Place
		onA, onB     string // verdicts at p50 and p90
		rank, turned record.Place
	}{
		{faster, slower, "FASTER SAME", "SLOWER SAME", faster, slower},
		{faster, slower, "FASTER SAME", "SAME SLOWER", none, none},
		{faster, same, "FASTER FASTER", "SAME SAME", none, none},
		{same, slower, "SAME SAME", "SLOWER SLOWER", none, none},
		{same, same, "SAME SAME", "SAME SAME", none, none},
		{faster, faster, "FASTER SAME", "FASTER SAME", none, none},
		{slower, slower, "SLOWER SAME", "SLOWER SAME", record.Place{Outcome: outcome.Open}, record.Place{Outcome: outcome.Open}},
		{faster, behind, "FASTER SAME", "refused refused", faster, slower},
		{record.Placed(stats.Trade), slower, "FASTER SLOWER", "SLOWER SAME", none, none},
	} {
		var verdicts []record.Verdict
		for arm, on := range map[string]string{"a": c.onA, "b": c.onB} {
			for i, word := range strings.Fields(on) {
				verdicts = append(verdicts, record.Verdict{Arm: arm, Baseline: "base", Metric: []stats.Figure{stats.P50, stats.P90}[i], Primary: true, Verdict: decision(word)})
			}
		}
		got, turned := implied("a", "b", c.a, c.b, verdicts), implied("b", "a", c.b, c.a, verdicts)
		if got != c.rank || turned != c.turned {
			t.Errorf("%s (%s) and %s (%s): got %q and %q, want %q and %q", c.a, c.onA, c.b, c.onB, got, turned, c.rank, c.turned)
		}
	}
}

// Challengers that both beat the baseline are compared by their own blocks, which the answer
// holds; one that the noise refuses is not.
func TestDuels(t *testing.T) {
	t.Parallel()
	r := contest(stats.Series{stats.P50: {10, 8, 6}}, "a", "b", "c")
	winner, answer := conclude(r)
	if winner.Arm != "c" || len(answer.Duels) != 1 || answer.Duels[0].Arm != "c" || answer.Duels[0].Baseline != "b" || answer.Duels[0].Place != record.Placed(stats.Faster) {
		t.Errorf("got %s, %+v", winner, answer.Duels)
	}
	if v := answer.Duels[0].Verdicts[0]; v.Metric != stats.P50 || v.Verdict.String() != "FASTER" || v.Ratio != .75 {
		t.Errorf("got %+v, want b's p50 less a quarter", v)
	}
	r = contest(stats.Series{stats.P50: {10, 8, 12}}, "a", "b", "c")
	if winner, answer := conclude(r); winner.Arm != "b" || answer.Duels != nil {
		t.Errorf("c is slower than the baseline: got %s, %+v", winner, answer.Duels)
	}
	r = contest(stats.Series{stats.P50: {10, 8, 6}}, "a", "b", "c")
	for _, v := range []*record.Verdict{&r.Verdicts[1], &r.Duels[0]} {
		v.Verdict, v.Reason = decision("refused"), fact.Fact{Code: causeDrift.Code, Arm: "c", Baseline: "a"}
	}
	if winner, answer := conclude(r); winner.String() != "open" || answer.Duels != nil {
		t.Errorf("c is refused for its drift: got %s, %+v", winner, answer.Duels)
	}
	r = contest(stats.Series{stats.P50: {10, 8, 6}}, "a", "b", "c")
	for i := range r.Arms {
		r.Arms[i].Clients = record.Clients{Loop: "closed", Connections: 1 + i}
	}
	if winner, answer := conclude(r); winner.String() != "open" || answer.Duels != nil {
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
	}, 5, 6)
	// By chance, in one short window.
	starveOnce := each("fasthttp", func(t *record.Trial) {
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
			"open", "A tie: fasthttp is the same as nethttp; pool is the same as nethttp.",
		},
		{
			"the baseline wins", synthetic{times: scaled(map[string]float64{"fasthttp": 1.2, "pool": 1.5})}, times("SLOWER", nil), times("SLOWER", nil),
			"nethttp", "nethttp wins: fasthttp is slower than nethttp (" + atAll("+20 %") + "); pool is slower than nethttp (" + atAll("+50 %") + ").",
		},
		{
			"a multiple, as the verdicts write it", synthetic{times: scaled(map[string]float64{"fasthttp": 8, "pool": 1.02})}, times("SLOWER", nil), same,
			"open", "A tie for the best: fasthttp is slower than nethttp (" + atAll("×8.0") + "); pool is the same as nethttp.",
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
			"open", "A tie for the best: fasthttp is faster than nethttp (" + atAll("-30 %") + "); pool is faster than nethttp (" + atAll("-30 %") + "); pool is the same as fasthttp.",
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
			"open",
			synthetic{times: func(block int, arm string, u float64) float64 {
				if arm == "pool" {
					return math.Pow(1.4, float64(block%3-1)) * usual(u)
				}
				return usual(u)
			}},
			same, times("open", nil),
			"open", "No single winner: fasthttp is the same as nethttp; pool against nethttp is open after 12 blocks.",
		},
		{
			"who starves clients cannot win", synthetic{times: scaled(map[string]float64{"fasthttp": .8}), edit: starve}, times("FASTER", nil), same,
			"open", "No single winner: fasthttp is faster than nethttp (" + atAll("-20 %") + "); pool is the same as nethttp; fasthttp starved 1 of 3 connections in 2 of 12 blocks.",
		},
		{
			"who starves clients in one block of twelve can", synthetic{times: scaled(map[string]float64{"fasthttp": .8}), edit: starveOnce}, times("FASTER", nil), same,
			"fasthttp", "fasthttp wins: fasthttp is faster than nethttp (" + atAll("-20 %") + "); pool is the same as nethttp.",
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
			if r.Winner.String() != c.winner || report.Headline(r) != c.headline {
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
	r := synthetic{edit: func(t *record.Trial, requests []request.Request) []request.Request {
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
			if t.Block == 2 || t.Block == 3 {
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
	if *base.XMax != 3000 || base.Requests != 12*1200 || base.Errors != 0 || len(base.Blocks[stats.P99]) != 12 {
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
	if got, want := *pool.Fairness, (record.Fairness{Asked: 4, Served: 2, FirstReply: .004, Turns: 600}); got != want {
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

// An arm's GOMAXPROCS is what its server publishes, where that is not as planned.
func TestPublishedProcsOutweighThePlan(t *testing.T) {
	r := synthetic{
		times: scaled(map[string]float64{"fasthttp": 1, "pool": 1}),
		plan: func(p *record.Plan) {
			for i := range p.Arms {
				p.Arms[i].Procs = 1
			}
		},
		edit: func(t *record.Trial, requests []request.Request) []request.Request {
			t.Server.Procs = map[string]int{"nethttp": 1, "fasthttp": 2}[t.Arm]
			return requests
		},
	}.judged(t)
	for _, a := range r.Arms {
		if want := max(map[string]int{"fasthttp": 2}[a.Name], 1); a.Procs != want {
			t.Errorf("%s: got GOMAXPROCS %d, want %d", a.Name, a.Procs, want)
		}
	}
}

// An arm that may run on other CPUs than those started here is said to, beside the
// winner and in its own figures, and the servers are not all said to have one CPU.
func TestUnequalCPUs(t *testing.T) {
	t.Parallel()
	r := synthetic{
		times: scaled(map[string]float64{"fasthttp": 2, "pool": 2}),
		plan:  func(p *record.Plan) { p.Arms[0].URL, p.Arms[1].URL = "http://127.0.0.1:1", "http://127.0.0.1:1" },
		edit: func(t *record.Trial, requests []request.Request) []request.Request {
			if t.Arm == "nethttp" || t.Arm == "nethttp'" {
				t.Server.CPUs = "0-1"
			}
			return requests
		},
	}.judged(t)
	if want := "nethttp may run on CPUs 0-1; servers started here have 0."; r.Winner.String() != "nethttp" || !strings.HasSuffix(report.Headline(r), " Not on equal CPUs: "+want) {
		t.Errorf("got the winner %q, %q", r.Winner, report.Headline(r))
	}
	if a := r.Arms[0]; !a.Attached || a.CPUs != "0-1" || r.Arms[2].Attached || r.Arms[2].CPUs != "" {
		t.Errorf("got %+v and %+v", a, r.Arms[2])
	}
	if slices.ContainsFunc(r.Doubts, func(d fact.Fact) bool { return strings.HasPrefix(d.String(), "the server had one CPU") }) {
		t.Errorf("the servers are said to have one CPU: %v", r.Doubts)
	}
}

// Where requests have a deadline, goodput ranks the arms: a 503 that refuses the verdicts on times does not refuse that one.
func TestDeadlineRanksByGoodput(t *testing.T) {
	t.Parallel()
	shed := map[string]int{"nethttp": 3, "nethttp'": 3, "fasthttp": 3, "pool": 2} // each so-many-th request gets a 503
	r := synthetic{
		plan: func(p *record.Plan) {
			for i := range p.Arms {
				p.Arms[i].Clients.Patience.Deadline = record.Lasting(time.Second)
			}
		},
		edit: func(trial *record.Trial, requests []request.Request) []request.Request {
			for i := range requests {
				if i%shed[trial.Arm] == 0 {
					requests[i].Status = 503
				}
			}
			return requests
		},
	}.judged(t)
	for arm, want := range map[string]stats.Rank{"fasthttp": stats.Same, "pool": stats.Lower} {
		i := slices.IndexFunc(r.Answer.Standings, func(s record.Standing) bool { return s.Arm == arm })
		if got := r.Answer.Standings[i].Place; got != record.Placed(want) {
			t.Errorf("%s: got %v, want %s", arm, got, want)
		}
		if v := verdictOf(t, r.Verdicts, arm, "p50"); v.Verdict.Outcome != outcome.Refused {
			t.Errorf("%s at p50: got %v, want it refused, for a quick 503 is no quick answer", arm, v.Verdict)
		}
	}
	if !r.Judged() || r.Arms[0].InTime == nil || *r.Arms[0].InTime < .6 || *r.Arms[0].InTime > .7 {
		t.Errorf("judged %v, in time %v, want two thirds", r.Judged(), r.Arms[0].InTime)
	}
}
