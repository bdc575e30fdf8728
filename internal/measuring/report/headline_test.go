package report

import (
	"strings"
	"testing"
	"time"

	"schedlab/internal/capabilities/capacity"
	"schedlab/internal/measuring/report/say"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// A trade names what is gained and what it costs, goodput where times alone tell one of the two.
func TestHeadlineOfATrade(t *testing.T) {
	t.Parallel()
	verdict := func(metric stats.Figure, verdict string, ratio float64) record.Verdict {
		return record.Verdict{Metric: metric, Primary: metric != stats.Goodput, Arm: "b", Baseline: "a", Verdict: decision(verdict), Ratio: ratio}
	}
	for want, verdicts := range map[string][]record.Verdict{
		"A trade: b trades with a: better at p50 -60 %, worse at p99 +40 %.":      {verdict(stats.P50, "FASTER", .4), verdict(stats.P99, "SLOWER", 1.4), verdict(stats.Goodput, "LOWER", .9)},
		"A trade: b trades with a: better at p50 -60 %, worse at goodput -70 %.":  {verdict(stats.P50, "FASTER", .4), verdict(stats.P99, "open", 1), verdict(stats.Goodput, "LOWER", .3)},
		"A trade: b trades with a: better at goodput +150 %, worse at p99 +40 %.": {verdict(stats.P99, "SLOWER", 1.4), verdict(stats.Goodput, "HIGHER", 2.5)},
	} {
		r := &record.Comparison{Verdicts: verdicts, Answer: record.Conclusion{Outcome: outcome.Yes, Kind: record.ATrade, Standings: []record.Standing{{Arm: "b", Baseline: "a", Place: record.Placed(stats.Trade)}}}}
		if got := Headline(r); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// What is the same at some times names what is open and what is refused apart.
func TestHeadlineTellsOpenFromRefused(t *testing.T) {
	t.Parallel()
	verdict := func(metric stats.Figure, verdict string) record.Verdict {
		return record.Verdict{Metric: metric, Primary: true, Arm: "b", Baseline: "a", Verdict: decision(verdict), Ratio: 1, Low: .99, High: 1.01}
	}
	for want, verdicts := range map[string][]record.Verdict{
		"b is the same as a at p50, p90, refused at p99":     {verdict(stats.P50, "SAME"), verdict(stats.P90, "SAME"), verdict(stats.P99, "refused")},
		"b is the same as a at p50, open at p90":             {verdict(stats.P50, "SAME"), verdict(stats.P90, "open")},
		"b is the same as a at p50, open at p90, refused at": {verdict(stats.P50, "SAME"), verdict(stats.P90, "open"), verdict(stats.P99, "refused")},
	} {
		s := record.Standing{Arm: "b", Baseline: "a", Place: record.Place{Outcome: outcome.Open, Rank: stats.Same}}
		if got := standing(&record.Comparison{Verdicts: verdicts}, s, verdicts).text; !strings.HasPrefix(got, want) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// Two arms that a third one kept from being judged are not called undecided, as if the blocks had not told them
// apart; and a report with no verdict on times promises nothing about them.
func TestHeadlineNamesTheArmThatKeptTwoFromBeingJudged(t *testing.T) {
	t.Parallel()
	overload := fact.Fact{Code: "aa", Because: []fact.Fact{{Code: "overload", Arm: "a"}}}
	refused := func(arm, baseline string) record.Verdict {
		return record.Verdict{Arm: arm, Baseline: baseline, Metric: stats.P90, Primary: true, Verdict: stats.Decision{Outcome: outcome.Refused}, Blocks: 10, Reason: overload}
	}
	higher := func(arm string) record.Verdict {
		return record.Verdict{Arm: arm, Baseline: "a", Metric: stats.Goodput, Verdict: decision("HIGHER"), Ratio: 1.5, Blocks: 10}
	}
	r := &record.Comparison{
		Arms:     []record.Arm{{Contestant: record.Contestant{Name: "a"}}, {Contestant: record.Contestant{Name: "b"}}, {Contestant: record.Contestant{Name: "c"}}},
		Verdicts: []record.Verdict{refused("b", "a"), higher("b"), refused("c", "a"), higher("c")},
		Answer: record.Conclusion{
			Outcome: outcome.Open, Kind: record.SeveralWin, Faster: []string{"b", "c"},
			Standings: []record.Standing{{Arm: "b", Baseline: "a", Place: record.Placed(stats.Higher)}, {Arm: "c", Baseline: "a", Place: record.Placed(stats.Higher)}},
			Duels:     []record.Duel{{Standing: record.Standing{Arm: "c", Baseline: "b", Place: record.Place{Outcome: outcome.Open}}, Verdicts: []record.Verdict{refused("c", "b")}}},
		},
	}
	if got, want := Headline(r), "is open: c and b cannot be judged in a run with a, whose backlog grows: compare them without it; b keeps up"; !strings.Contains(got, want) {
		t.Errorf("got %s, want %q in it", got, want)
	}
	// The copy of the baseline is no third arm: nobody can leave it out.
	r.Arms[0].Role = record.Copy
	if got, without := Headline(r), "compare them without it"; strings.Contains(got, without) {
		t.Errorf("got %s, want no advice to leave out a copy", got)
	}
	r.Arms[0].Role = ""
	// Arms that are modes with settings can be compared by flags, with windows for what was too short.
	for i := range r.Arms {
		r.Arms[i].Mode = r.Arms[i].Name
	}
	r.Verdicts[0].Reason = doubt.FewRequests.Of(doubt.Few{Longer: &doubt.Longer{Window: 3.7}})
	if got, want := Headline(r), "compare them without it, --arms b --arm c --window 3.7s; "; !strings.Contains(got, want) {
		t.Errorf("got %s, want %q in it", got, want)
	}
	if got := strings.Join(sure(r), "\n"); strings.Contains(got, "hold together") {
		t.Errorf("got %s, want no promise about verdicts on times", got)
	}
	r.Verdicts = append(r.Verdicts, record.Verdict{Arm: "b", Baseline: "a", Metric: stats.P50, Verdict: decision("SAME")}, record.Verdict{Arm: "b", Baseline: "a", Metric: stats.P90, Primary: true, Verdict: decision("SLOWER")})
	if got := strings.Join(sure(r), "\n"); !strings.Contains(got, "verdicts on p50, p90 hold together") {
		t.Errorf("got %s, want a promise about p50 and p90 alone", got)
	}
}

// What breaks the answer stands before it, unless the answer says it itself.
func TestHeadlineSaysWhatBreaksIt(t *testing.T) {
	t.Parallel()
	starves := doubt.StickyPool.Of(doubt.Sticky{Waiting: 62, Connections: 64, Workers: 2}).On("pool")
	const said = "pool starves 62 of 64 kept connections, because a worker keeps its connection until it closes: what it does is for 2 clients only; give it workers=64, take pool-requeue, or give --close. "
	search := capacity.Search{
		Common: record.Common{Doubts: []fact.Fact{starves}},
		Arms: []capacity.ArmCapacity{{
			Contestant: record.Contestant{Name: "pool"}, Outcome: outcome.No,
			Fact: asRecorded(`{"code": "capacity-below", "arm": "pool", "names": {"slo": "p99<=10ms"}, "values": {"high": 367, "broken": 3, "of": 3}}`),
		}},
	}
	tie := record.Comparison{
		Common: record.Common{Doubts: []fact.Fact{{Code: "one-cpu"}, starves}},
		Arms:   []record.Arm{{Contestant: record.Contestant{Name: "nethttp"}}, {Contestant: record.Contestant{Name: "pool"}}},
		Answer: record.Conclusion{Outcome: outcome.Refused, Reason: asRecorded(`{"code": "no-blocks", "values": {"ran": 3}, "names": {"status": "complete"}}`)},
	}
	measured := tie
	measured.Arms = []record.Arm{{Contestant: record.Contestant{Name: "nethttp"}}, {Contestant: record.Contestant{Name: "pool"}, Figures: record.Figures{StarvedConnections: 60}}}
	measured.Answer.Starving = []string{"pool"}
	for want, r := range map[string]record.Result{
		said + "pool does not keep p99<=10ms at 367/s: 3 of 3 windows break it.":                &search,
		said + "No verdict: the data of 3 blocks are wrong or not whole.":                       &tie,
		"No verdict: the data of 3 blocks are wrong or not whole; pool starved 60 connections.": &measured,
	} {
		if got := Headline(r); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// Where another question than which arm is best was asked, its answer takes the place of the ranking and of claims in every
// format, after a doubt that undermines it.
func TestAnswerToAnotherQuestion(t *testing.T) {
	t.Parallel()
	r := quick()
	r.Answer = record.Conclusion{Outcome: outcome.Yes, Says: said("fasthttp it is")}
	r.Expectations = []record.Expectation{{Text: "p50 > 0", Claim: "it is true", Outcome: outcome.Yes}}
	if got := Headline(r); got != "fasthttp it is." {
		t.Errorf("got %q", got)
	}
	for _, format := range []string{"text", "markdown", "summary", "html", "json"} {
		if !strings.Contains(rendered(t, format, r), "fasthttp it is.") {
			t.Errorf("%s lacks the answer", format)
		}
	}
}

// Claims are the answer: first the ones that hold, then the others with a word for how they stand. The
// ranking comes below. A run that decided none of its claims is answered by its ranking.
func TestClaimsAreTheAnswer(t *testing.T) {
	t.Parallel()
	r := quick()
	ranked := Headline(r)
	claim := func(says string, outcome outcome.Outcome) record.Expectation {
		return record.Expectation{Text: "p50(" + says + ")", Claim: says, Outcome: outcome, Reason: said("3 blocks: too few to decide")}
	}
	r.Expectations = []record.Expectation{claim("it is unknown", outcome.Refused), claim("it is open", outcome.Open), {Text: "p50 > 0", Outcome: outcome.Yes}}
	if got := Headline(r); got != ranked {
		t.Errorf("without a decided claim: %q, want the ranking %q", got, ranked)
	}
	r.Expectations = append(r.Expectations, claim("it is false", outcome.No), claim("it is true", outcome.Yes))
	const want = "it is true. Not kept: it is false. Open: it is open. Refused: it is unknown."
	if got := Headline(r); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, format := range []string{"text", "markdown", "summary", "html"} {
		text := strings.Join(strings.Fields(strings.ReplaceAll(rendered(t, format, r), say.NBSP, " ")), " ")
		first, then := strings.Index(text, "it is true"), strings.Index(text, strings.Fields(ranked)[0]+" "+strings.Fields(ranked)[1])
		if first < 0 || then < first {
			t.Errorf("%s: the claim stands at %d and the ranking at %d:\n%s", format, first, then, text)
		}
	}
	if text := rendered(t, "summary", r); !strings.Contains(text, "- **kept** it is true (`p50(it is true)`: 3 blocks: too few to decide)") {
		t.Errorf("summary: %s", text)
	}
}

// Each hint names its arm and metric, and no hint about one metric denies a hint about another.
func TestHintsNameWhatTheyAreAbout(t *testing.T) {
	t.Parallel()
	open := func(metric stats.Figure, lean stats.Rank, lost, needed int) record.Verdict {
		return record.Verdict{Arm: "pool", Baseline: "nethttp", Metric: metric, Primary: true, Verdict: decision("open"), Ratio: 1.2, Low: .9, High: 1.3, Lean: lean, Blocks: 12, Lost: lost, Won: 12 - lost, Needed: needed}
	}
	r := &record.Comparison{
		Valid: 12, Ran: 12, Arms: []record.Arm{{Contestant: record.Contestant{Name: "nethttp"}}, {Contestant: record.Contestant{Name: "pool"}}},
		Verdicts: []record.Verdict{open(stats.P50, "SLOWER", 11, 20), open(stats.P90, "SLOWER", 10, 28), open(stats.P99, "", 6, 50_000)},
		Answer:   record.Conclusion{Outcome: outcome.Open, Standings: []record.Standing{{Arm: "pool", Baseline: "nethttp", Place: record.Place{Outcome: outcome.Open}}}}, Common: record.Common{Window: record.Lasting(500 * time.Millisecond)},
	}
	const headline = "No single winner: pool against nethttp is open after 12 blocks and leans slower (p50 +20 %, p90 +20 %): about 20 blocks would decide p50, about 28 blocks would decide p90."
	if got := Headline(r); got != headline {
		t.Errorf("got  %s\nwant %s", got, headline)
	}
	const below = "open: pool at p50 (leans slower): about 20 blocks would decide; pool at p90 (leans slower): about 28 blocks would decide; " +
		"pool at p99: as noisy as here, no --window up to a minute would decide"
	if got := strings.ReplaceAll(openVerdicts(r), say.NBSP, " "); got != below {
		t.Errorf("got  %s\nwant %s", got, below)
	}
}

// A lean that every block shows says so, and how many more blocks would decide it.
func TestHeadlineOfALeanInAllBlocks(t *testing.T) {
	t.Parallel()
	v := record.Verdict{Arm: "pool", Baseline: "nethttp", Metric: stats.P50, Primary: true, Verdict: decision("open"), Ratio: 14, Lean: "SLOWER", Blocks: 10, Lost: 10, Needed: 12}
	r := &record.Comparison{Verdicts: []record.Verdict{v}, Answer: record.Conclusion{Outcome: outcome.Open, Standings: []record.Standing{{Arm: "pool", Baseline: "nethttp", Place: record.Place{Outcome: outcome.Open}}}}}
	const want = "No single winner: pool against nethttp is open after 10 blocks and leans slower (p50 ×14): 10 of 10 blocks show it; 2 more would decide."
	if got := Headline(r); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// In an open loop, an arm that is slower and has less goodput does not keep up. In a closed loop less goodput
// follows from longer times.
func TestHeadlineOfAnArmWithLessGoodput(t *testing.T) {
	t.Parallel()
	for loop, want := range map[string]string{
		"open":   "nethttp wins: pool does not keep up with nethttp (goodput -37 %, p50 289 ms and growing against 20.6 ms).",
		"closed": "nethttp wins: pool is slower than nethttp (p50 ×14).",
	} {
		clients := record.Clients{Loop: loop}
		r := &record.Comparison{
			Winner: record.Winner{Outcome: outcome.Yes, Arm: "nethttp"}, Arms: []record.Arm{{Contestant: record.Contestant{Name: "nethttp", Clients: clients}, Figures: record.Figures{P50: new(.0206)}}, {Contestant: record.Contestant{Name: "pool", Clients: clients}, Figures: record.Figures{P50: new(.289)}}},
			Verdicts: []record.Verdict{
				{Arm: "pool", Baseline: "nethttp", Metric: stats.P50, Primary: true, Verdict: decision("SLOWER"), Ratio: 14, Blocks: 12, Lost: 12},
				{Arm: "pool", Baseline: "nethttp", Metric: stats.Goodput, Verdict: decision("LOWER"), Ratio: .63, Blocks: 12, Lost: 12},
			},
			Answer: record.Conclusion{Outcome: outcome.Yes, Kind: record.OneWins, Standings: []record.Standing{{Arm: "pool", Baseline: "nethttp", Place: record.Placed(stats.Slower)}}},
		}
		if got := Headline(r); got != want {
			t.Errorf("%s: got  %s\nwant %s", loop, got, want)
		}
	}
}

// A winner on another HTTP parser than the baseline's is called so, unless an arm tells parser and model apart.
func TestWinnerOnAnotherParser(t *testing.T) {
	t.Parallel()
	r := &record.Comparison{Winner: record.Winner{Outcome: outcome.Yes, Arm: "b"}, Arms: []record.Arm{{Contestant: record.Contestant{Name: "a"}}, {Contestant: record.Contestant{Name: "b"}}}, Answer: record.Conclusion{Outcome: outcome.Yes, Kind: record.OneWins}}
	for _, c := range []struct {
		control string
		other   []string
		want    string
	}{
		{"goroutine", []string{"c", "b"}, "b wins, or its HTTP parser does, which is not a's: "}, {"", []string{"c", "b"}, "b wins: "}, {"goroutine", []string{"c"}, "b wins: "},
	} {
		r.Doubts = []fact.Fact{doubt.ParsersDiffer.Of(doubt.Parsers{Control: c.control, Other: c.other})}
		if got := Headline(r); !strings.HasPrefix(got, c.want) {
			t.Errorf("%+v: got %q", c, got)
		}
	}
}
