package judge

import (
	"slices"
	"strings"
	"testing"

	"schedlab/internal/record"
	"schedlab/internal/stats"
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
