package report

import (
	"bytes"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"schedlab/internal/measuring/report/document"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// standingAt gives a comparison of a baseline with arms that stand at these places.
func standingAt(kind record.AnswerKind, places map[string]record.Place, order ...string) *record.Comparison {
	r := &record.Comparison{Arms: []record.Arm{{Contestant: record.Contestant{Name: "base", Role: record.Baseline}}}, Answer: record.Conclusion{Outcome: kind.Outcome(), Kind: kind}}
	for _, name := range order {
		r.Arms = append(r.Arms, record.Arm{Contestant: record.Contestant{Name: name, Role: record.Challenger}})
		r.Answer.Standings = append(r.Answer.Standings, record.Standing{Arm: name, Baseline: "base", Place: places[name]})
	}
	if kind == record.OneWins {
		r.Winner = record.Winner{Outcome: outcome.Yes, Arm: "base"}
	}
	return r
}

// The answer of a run has twelve words at most, whatever the number of arms, and says where each stands.
func TestShort(t *testing.T) {
	t.Parallel()
	open, same, slower := record.Place{Outcome: outcome.Open}, record.Placed(stats.Same), record.Placed(stats.Slower)
	for want, r := range map[string]*record.Comparison{
		"a is the same as base.":                    standingAt(record.ATie, map[string]record.Place{"a": same}, "a"),
		"a is the same as base; b is slower.":       standingAt(record.TieForBest, map[string]record.Place{"a": same, "b": slower}, "a", "b"),
		"a is slower than base.":                    standingAt(record.OneWins, map[string]record.Place{"a": slower}, "a"),
		"Whether a and b differ from base is open.": standingAt("", map[string]record.Place{"a": open, "b": open}, "a", "b"),
		"a is open against base; b is slower.":      standingAt("", map[string]record.Place{"a": open, "b": slower}, "a", "b"),
		"8 arms are slower than base.": standingAt(record.OneWins, map[string]record.Place{
			"a": slower, "b": slower, "c": slower, "d": slower, "e": slower, "f": slower, "g": slower, "h": slower}, "a", "b", "c", "d", "e", "f", "g", "h"),
		"2 arms beat base, and which is best is open.": func() *record.Comparison {
			faster := record.Placed(stats.Faster)
			r := standingAt(record.SeveralWin, map[string]record.Place{"a": faster, "b": faster, "c": slower, "d": open}, "a", "b", "c", "d")
			r.Answer.Faster = []string{"a", "b"}
			return r
		}(),
		"a starves connections; b is not comparable.": standingAt(record.OtherLoads, map[string]record.Place{
			"a": {Outcome: outcome.Refused, Why: record.StarvesClients}, "b": {Outcome: outcome.Refused, Why: record.OtherLoad}}, "a", "b"),
	} {
		if got := Short(r); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// The answer has at most twelve words, and no clause of it is in the lead again, for every kind of answer, numbers of arms and
// mixes of places.
func TestTheAnswerIsShortAndSaidOnce(t *testing.T) {
	t.Parallel()
	places := []record.Place{
		record.Placed(stats.Faster), record.Placed(stats.Slower), {Outcome: outcome.Open}, record.Placed(stats.Same), record.Placed(stats.Higher),
		record.Placed(stats.Lower), record.Placed(stats.Trade), {Outcome: outcome.Open, Rank: stats.Same},
		{Outcome: outcome.Refused, Why: record.StarvesClients}, {Outcome: outcome.Refused, Why: record.NoTimesBeside}, {Outcome: outcome.Refused, Why: record.OtherLoad},
	}
	names := strings.Fields("a b c d e f g h i j")
	check := func(r *record.Comparison) {
		top := topOf(r)
		if n := document.Words(top.answer); n > document.ShortWords {
			t.Errorf("%q has %d words", top.answer, n)
		}
		lead := strings.Join(top.lead, ". ")
		for _, clause := range strings.FieldsFunc(top.answer, func(c rune) bool { return strings.ContainsRune(":;.…", c) }) {
			if strings.Contains(lead, strings.TrimSpace(clause)) {
				t.Errorf("the lead of %q repeats it: %q", top.answer, lead)
			}
		}
	}
	for challengers := 1; challengers <= len(names); challengers++ {
		order := names[:challengers]
		for _, kind := range []record.AnswerKind{record.OtherLoads, record.OneWins, record.SeveralWin, record.ATrade, record.ATie, record.TieForBest, ""} {
			for first := range places {
				for step := range 4 {
					at := map[string]record.Place{}
					for i, name := range order {
						at[name] = places[(first+i*step)%len(places)]
					}
					r := standingAt(kind, at, order...)
					r.Answer.Faster = order
					check(r)
					if kind == record.OneWins {
						r.Winner.Arm = "a"
						r.Doubts = []fact.Fact{doubt.ParsersDiffer.Of(doubt.Parsers{Control: "base-fast", Other: order})}
						check(r)
					}
				}
			}
		}
		behind := standingAt("", nil, order...)
		behind.Answer = record.Conclusion{Outcome: outcome.Refused, Standings: behind.Answer.Standings}
		for i := range behind.Arms {
			behind.Arms[i].Behind = true
		}
		check(behind)
	}
}

// An arm with more goodput than an overloaded baseline may not keep up itself, so its chip only compares the two.
func TestChipOfAnArmBesideAnOverloadedBaseline(t *testing.T) {
	t.Parallel()
	chips := topOf(standingAt(record.OneWins, map[string]record.Place{"a": record.Placed(stats.Higher), "b": record.Placed(stats.Lower)}, "a", "b")).chips
	if chips[0].Mark != "keeps up better" || chips[1].Mark != "falls behind" {
		t.Errorf("got %q and %q", chips[0].Mark, chips[1].Mark)
	}
}

// A text has the axis where it has bars, on one screen and in the full report, and nowhere else.
func TestBarsHaveTheirAxis(t *testing.T) {
	t.Parallel()
	r := quick()
	r.Answer = record.Conclusion{Outcome: outcome.Yes, Kind: record.TieForBest, Standings: []record.Standing{
		{Arm: "fasthttp", Baseline: "nethttp", Place: record.Placed(stats.Same)}, {Arm: "pool", Baseline: "nethttp", Place: record.Placed(stats.Slower)}}}
	tie := quick()
	tie.Answer = record.Conclusion{Outcome: outcome.Yes, Kind: record.ATie, Standings: r.Answer.Standings[:1]}
	tie.Verdicts = slices.DeleteFunc(tie.Verdicts, func(v record.Verdict) bool { return v.Arm != "fasthttp" || !v.Primary })
	for name, write := range map[string]func(io.Writer, record.Result, TextOptions) error{"brief": Brief, "text": Text} {
		for _, c := range []struct {
			of    *record.Comparison
			width int
			bars  bool
		}{{r, 100, true}, {r, 50, false}, {tie, 100, false}} {
			var b strings.Builder
			if err := write(&b, c.of, TextOptions{Width: c.width}); err != nil {
				t.Fatal(err)
			}
			bars, axis := strings.Contains(b.String(), "├"), strings.Contains(b.String(), "faster ┊ slower")
			if bars != c.bars || axis != bars || !bars && strings.Contains(b.String(), "┊") {
				t.Errorf("%s of %s in %d columns: bars %t, want %t, axis %t:\n%s", name, topOf(c.of).answer, c.width, bars, c.bars, axis, b.String())
			}
		}
	}
}

// Texts and Markdown have the chip of an arm without figures where no line above or below names the arm.
func TestAnArmThatTheAnswerDoesNotNameKeepsItsChip(t *testing.T) {
	t.Parallel()
	tie := func(order ...string) *record.Comparison {
		places := map[string]record.Place{}
		for _, name := range order {
			places[name] = record.Placed(stats.Same)
		}
		return standingAt(record.ATie, places, order...)
	}
	many := strings.Fields("a1 a2 a3 a4 a5 a6 a7 a8")
	claimed, busy := tie("a1"), tie(many...)
	claimed.Expectations = []record.Expectation{{Claim: "The size makes no difference", Outcome: outcome.Yes}}
	busy.Doubts = []fact.Fact{hogged(true)}
	for name, c := range map[string]struct {
		of    *record.Comparison
		chips bool
	}{
		"5 arms counted": {tie(many[:5]...), true}, "8 arms counted": {tie(many...), true}, "a claim": {claimed, true}, "named": {tie("a1", "a2"), false}, "too busy": {busy, false},
	} {
		d := document.Document{Chips: topOf(c.of).chips}
		for writer, got := range map[string]string{"text": d.Text(document.Options{}), "markdown": d.Markdown()} {
			for _, s := range c.of.Answer.Standings {
				if is := strings.Contains(got, s.Arm); is != c.chips {
					t.Errorf("%s as %s: a chip of %s: %t, want %t: %q has\n%s", name, writer, s.Arm, is, c.chips, topOf(c.of).answer, got)
				}
			}
		}
	}
}

// Every figure and every name of the headline is in the first lines of the page, which have twelve words of answer.
func TestNothingOfTheHeadlineIsLost(t *testing.T) {
	t.Parallel()
	words := regexp.MustCompile(`[\pL\d][^ ;:()]*`)
	gate, busy := quick(), quick()
	gate.Gate = []record.Gated{
		{Metric: stats.P50, Outcome: outcome.No, Ratio: 1.5, Low: 1.4, High: 1.6, Allow: .1},
		{Metric: stats.P90, Outcome: outcome.Refused, Reason: fact.Fact{Text: "7 requests failed"}},
	}
	gate.Arms = slices.DeleteFunc(gate.Arms, func(a record.Arm) bool { return a.Name == "fasthttp" }) // it has two builds
	busy.Doubts = append(busy.Doubts, doubt.MachineBusy.Of(doubt.Taken{Side: "server", CPUs: 1, Share: .4, Who: "", OfProgram: &doubt.OfProgram{Program: "cc1"}, Open: true}))
	for name, r := range map[string]*record.Comparison{"quick": quick(), "gate": gate, "busy": busy, "hopeless": hopeless(), "interrupted": interrupted()} {
		top := topOf(r)
		if n := document.Words(top.answer); n > document.ShortWords {
			t.Errorf("%s: %q has %d words", name, top.answer, n)
		}
		said := top.answer + " " + strings.Join(top.lead, " ")
		for _, c := range top.chips {
			said += " " + c.Name + " " + c.Mark + " " + c.Text
		}
		for _, word := range words.FindAllString(Headline(r), -1) {
			if word = strings.TrimRight(word, ".,"); strings.ContainsAny(word, "0123456789") && !strings.Contains(said, word) {
				t.Errorf("%s: %q of %q is not in %q", name, word, Headline(r), said)
			}
		}
		var page bytes.Buffer
		if err := HTML(&page, r); err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(page.String(), `<div class="setting">`)
		for _, a := range choices(r.Arms) {
			if len(a.Name) < 20 && !strings.Contains(first, a.Name) {
				t.Errorf("%s: no %s on the first screen", name, a.Name)
			}
		}
	}
}

// The bar of a trade is of the time that changes most, and not of one that the words do not name.
func TestTheBarOfATradeIsOfADecidedTime(t *testing.T) {
	t.Parallel()
	r := standingAt(record.ATrade, map[string]record.Place{"a": record.Placed(stats.Trade)}, "a")
	add := func(metric stats.Figure, is stats.Decision, ratio, low, high float64) {
		r.Verdicts = append(r.Verdicts, record.Verdict{Metric: metric, Primary: true, Arm: "a", Baseline: "base", Verdict: is, Ratio: ratio, Low: low, High: high})
	}
	add(stats.P50, stats.Decided(stats.Slower), 1.12, 1.08, 1.15)
	add(stats.P90, stats.Decided(stats.Faster), .82, .78, .94)
	add(stats.P99, stats.Decision{Outcome: outcome.Open}, 1.7, .3, 3)
	if got := telling(r, r.Answer.Standings[0]); got.Metric != stats.P90 {
		t.Errorf("got the bar of %v, want that of p90", got.Metric)
	}
}
