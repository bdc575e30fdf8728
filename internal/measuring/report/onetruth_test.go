package report

import (
	"strings"
	"testing"
	"time"

	"schedlab/internal/capabilities/explain"
	"schedlab/internal/measuring/report/document"
	"schedlab/internal/measuring/report/say"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// A budget that is advised is that of the blocks or the window advised with it, and not of the verdict that needs the most.
func TestAdvisedBudgetBelongsToItsAdvice(t *testing.T) {
	t.Parallel()
	window := doubt.BudgetEnded.Of(doubt.Ended{Needed: 1536, Window: 7.5, Budget: 75, Blocks: 20})
	room := doubt.BudgetEnded.Of(doubt.Ended{Needed: 275, Room: 40, Budget: 75, Blocks: 20})
	r := &record.Comparison{Common: record.Common{Warmup: record.Lasting(60 * time.Millisecond), Window: record.Lasting(530 * time.Millisecond), Doubts: []fact.Fact{window, room}}, Arms: make([]record.Arm, 5)}
	// 55 blocks of 530 ms are 40 of 730 ms: 40 blocks of five windows that are 6.77 s shorter.
	for needed, want := range map[int]string{
		55: "--window 730ms --budget 3m2s should decide", 40: "about 40 blocks would decide (--budget 4m35s)", 24: "about 24 blocks would decide (--budget 1m55s)",
	} {
		if got := strings.ReplaceAll(remedy(r, needed), say.NBSP, " "); got != want {
			t.Errorf("%d blocks: got %q, want %q", needed, got, want)
		}
	}
}

// Nothing is advised for a verdict that the run could have waited for, but did not need.
func TestMootVerdictNeedsNoBudget(t *testing.T) {
	t.Parallel()
	moot := doubt.BudgetEnded.Of(doubt.Ended{Moot: true, Budget: 75, Blocks: 10, Most: 40, Open: 1, Verdicts: "pool at p50"})
	r := &record.Comparison{Common: record.Common{Doubts: []fact.Fact{moot}}}
	if got, want := strings.ReplaceAll(remedy(r, 12), say.NBSP, " "), "about 12 blocks would decide, but the answer does not depend on it"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := moot.String(), "pool at p50 is open after 10 blocks: the answer does not depend on it"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The list of what is open names times only, and says so where the table marks other figures as open, too.
func TestOpenTimesAreNotAllThatIsOpen(t *testing.T) {
	t.Parallel()
	open := func(f stats.Figure) record.Verdict {
		return record.Verdict{Arm: "b", Baseline: "a", Metric: f, Primary: f == stats.P50, Verdict: stats.Decision{Outcome: outcome.Open}}
	}
	r := &record.Comparison{Arms: []record.Arm{{Contestant: record.Contestant{Name: "a"}}, {Contestant: record.Contestant{Name: "b"}}}, Verdicts: []record.Verdict{open(stats.P50)}}
	if got, want := openVerdicts(r), "open: b at p50"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	r.Verdicts = append(r.Verdicts, open(stats.CPUPerRequest))
	if got, want := openVerdicts(r), "open, among others: b at p50"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The loads of two arms are told where they differ, so that a difference can be judged by them.
func TestTwoLoadsAreTold(t *testing.T) {
	t.Parallel()
	arms := []record.Arm{
		{Contestant: record.Contestant{Name: "a", Clients: record.Clients{Loop: "open", Arrivals: "poisson", Rate: 500, KeepAlive: true, Connections: 8}}},
		{Contestant: record.Contestant{Name: "b", Clients: record.Clients{Loop: "closed", KeepAlive: true, Connections: 2}}},
	}
	got := askedBriefly(&record.Comparison{Arms: arms})
	if want := "a: open loop, poisson at 500/s over 8 connections; b: closed loop of 2 clients, windows"; !strings.HasPrefix(strings.ReplaceAll(got, say.NBSP, " "), want) {
		t.Errorf("got %q, want %q", got, want)
	}
	third := arms[1]
	third.Name = "c"
	if got := askedBriefly(&record.Comparison{Arms: append(arms, third)}); !strings.HasPrefix(got, "each arm's own load") {
		t.Errorf("three arms: got %q", got)
	}
}

// More workers than there are cannot be busy: then the line says how many are needed.
func TestNoMoreWorkersAreBusyThanThereAre(t *testing.T) {
	t.Parallel()
	for busy, want := range map[float64]string{1.4: "pool has 2 workers (1 busy on average, by plan; with 6, 99 % of requests would find one free, as without a pool)", .149: "pool has 2 workers (0.15 busy on average)", 60.8: "pool has 2 workers (61 needed)", 0: "pool has 2 workers"} {
		got := sizes([]record.Contestant{{Name: "pool", Mode: "pool", Busy: busy, Clients: record.Clients{Arrivals: "poisson"}, Command: "schedlab serve --mode pool --workers 2"}})
		if got = strings.ReplaceAll(got, say.NBSP, " "); got != want {
			t.Errorf("%g busy: got %q, want %q", busy, got, want)
		}
	}
	// How many would do is known for requests that come at random only.
	bursts := sizes([]record.Contestant{{Name: "pool", Mode: "pool", Busy: 1.4, Clients: record.Clients{Arrivals: "burst(48)"}, Command: "schedlab serve --mode pool --workers 2"}})
	if bursts = strings.ReplaceAll(bursts, say.NBSP, " "); bursts != "pool has 2 workers (1 busy on average)" {
		t.Errorf("in bursts: got %q", bursts)
	}
}

// Arms that never kept up are the answer of a run without a verdict, of a gate too.
func TestHeadlineOfArmsThatDoNotKeepUp(t *testing.T) {
	t.Parallel()
	made := func(behind ...int) *record.Comparison {
		r := quick()
		r.Valid, r.Answer = 3, record.Conclusion{Outcome: outcome.Refused, Reason: said("overload")}
		for _, i := range behind {
			r.Arms[i].Behind = true
		}
		return r
	}
	for _, tt := range []struct {
		behind []int
		want   string
	}{
		{nil, "No verdict: overload."},
		{[]int{3}, "pool does not keep up with nethttp (goodput ±0 %): its backlog grew to the end of the window in all 3 blocks."},
		{[]int{0, 1}, "nethttp does not keep up: its backlog grew to the end of the window in all 3 blocks."},
		{[]int{0, 1, 3}, "nethttp and pool do not keep up: their backlog grew to the end of the window in all 3 blocks."},
	} {
		if got := Headline(made(tt.behind...)); got != tt.want {
			t.Errorf("%v: got %q, want %q", tt.behind, got, tt.want)
		}
	}
	gate := gated()
	gate.Valid, gate.Arms[3].Behind = 10, true
	for i := range gate.Gate {
		gate.Gate[i].Outcome = outcome.Refused
	}
	if got := gateAnswer(gate); !strings.HasPrefix(got, "pool does not keep up with nethttp (goodput ±0 %): its backlog grew to the end of the window in all 10 blocks. Whether pool is worse than nethttp is open. ") {
		t.Errorf("the gate: got %q", got)
	}
}

// The answer has a sure difference of means that its rank does not tell, as the reasons below it do.
func TestHeadlineHasTheDifferenceOfTheReasons(t *testing.T) {
	t.Parallel()
	of := func(rank record.Place, differs float64, x *explain.Explanation) string {
		r := &record.Comparison{Arms: []record.Arm{{Contestant: record.Contestant{Name: "a"}}, {Contestant: record.Contestant{Name: "b"}}}}
		if x != nil {
			r.Attach(x)
		}
		if differs != 0 {
			r.Differences = []record.Difference{{Arm: "b", Baseline: "a", Waterfall: record.Waterfall{Step: stats.Step{By: differs}}}}
		}
		return onAverage(r, record.Standing{Arm: "b", Baseline: "a", Place: rank})
	}
	mean := func(from, to string, by float64) *explain.Explanation {
		return &explain.Explanation{From: from, To: to, Slower: "b", Mean: record.Waterfall{Step: stats.Step{By: by, Low: .9 * by, High: 1.1 * by}}}
	}
	for _, tt := range []struct{ got, want string }{
		{of(record.Place{Outcome: outcome.Open}, .447, nil), ", and 447 ms slower on average"},
		{of(record.Placed(stats.Same), -.447, nil), ", and 447 ms faster on average"},
		{of(record.Placed(stats.Slower), .447, nil), ""},
		{of(record.Placed(stats.Faster), .447, nil), ", and 447 ms slower on average"},
		{of(record.Place{Outcome: outcome.Open}, 0, nil), ""},
		{of(record.Place{Outcome: outcome.Open}, 0, mean("a", "b", .01)), ", and 10.0 ms slower on average"},
		{of(record.Place{Outcome: outcome.Open}, 0, mean("b", "a", -.01)), ", and 10.0 ms slower on average"},
		{of(record.Place{Outcome: outcome.Open}, 0, mean("b", "c", .01)), ""},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

// An overflow of an accept queue is no failing of the arm, and so never stands under "Sure": the kernel counts attempts of
// any client, repeats included.
func TestOverflowsAreAttempts(t *testing.T) {
	t.Parallel()
	r := quick()
	r.Arms[2].Overflows = new(5.)
	evidence := strings.Join(append(sure(r), failings(r.Arms)...), "\n")
	all := strings.ReplaceAll(strings.Join(complaints(r), "\n"), say.NBSP, " ")
	if strings.Contains(evidence, "queue") || !strings.Contains(all, "the kernel counted 5 attempts to connect (repeats included) that found an accept queue full") || strings.Contains(all, "turned away") {
		t.Errorf("evidence:\n%s\nall:\n%s", evidence, all)
	}
}

// A page that was not written is not named.
func TestBriefNamesNoPageThatIsNotThere(t *testing.T) {
	t.Parallel()
	r := quick()
	if got := inBrief(t, r, 120); !strings.Contains(got, "/report.html, or: schedlab runs show 20261107-123005-quick-beef") {
		t.Errorf("got\n%s", got)
	}
	r.NoPage = true
	if got := inBrief(t, r, 120); strings.Contains(got, "report.html") || !strings.Contains(got, "Report  schedlab runs show 20261107-123005-quick-beef") {
		t.Errorf("without it: got\n%s", got)
	}
}

// The reason for each mark of a refused verdict stands on the same screen, once for each reason.
func TestEachRefusedMarkHasItsReason(t *testing.T) {
	t.Parallel()
	for _, r := range []*record.Comparison{quick(), interrupted(), comingAndGoing()} {
		for i := range r.Verdicts {
			if v := &r.Verdicts[i]; i%3 == 0 {
				v.Verdict, v.Reason = stats.Decision{Outcome: outcome.Refused}, said("reason of "+v.Metric.String())
			}
		}
		text := strings.ReplaceAll(inBrief(t, r, 100), say.NBSP, " ")
		flat := strings.Join(strings.Fields(text), " ")
		for _, v := range r.Verdicts {
			if v.Verdict.Outcome == outcome.Refused && strings.Count(flat, ": "+reason(v)) != 1 {
				t.Errorf("%s at %s is refused: %d times %q in\n%s", v.Arm, v.Metric, strings.Count(flat, reason(v)), reason(v), text)
			}
		}
	}
}

// A page has one mean of an arm, the sum of its parts: the twin's table has none.
func TestOneMeanOfAnArm(t *testing.T) {
	t.Parallel()
	r := quick()
	for _, head := range twins(r).(document.Section).Parts[0].(document.Table).Rows[0] {
		if strings.HasPrefix(head, "measured (") {
			t.Errorf("the twin's table has another mean, %q", head)
		}
	}
}

// What lowered the rate of every arm is on the first screen, however many doubts weigh more.
func TestBriefSaysWhatLoweredTheRate(t *testing.T) {
	t.Parallel()
	for _, lowered := range []fact.Fact{
		doubt.RateFewWorkers.Of(doubt.FewWorkers{Workers: 2, Rate: 65, Without: 2170, Needed: 61}), doubt.RateLowered.Of(doubt.Lowered{Rate: 65, Asked: 2170}),
	} {
		r := quick()
		r.Doubts = append(r.Doubts, said("one"), said("another"), lowered)
		if got := strings.Join(strings.Fields(inBrief(t, r, 100)), " "); !strings.Contains(got, "65/s") || !strings.Contains(got, "2,170/s") {
			t.Errorf("%s: got %s", lowered.Code, got)
		}
	}
}

// A sure difference of goodput is in the answer also where the times are the same or open, and the
// answer names the quantiles that are open.
func TestHeadlineHasTheGoodput(t *testing.T) {
	t.Parallel()
	verdict := func(metric stats.Figure, d stats.Decision) record.Verdict {
		return record.Verdict{Arm: "b", Baseline: "a", Metric: metric, Primary: metric != stats.Goodput, Verdict: d, Ratio: 1.043, Low: 1.02, High: 1.06}
	}
	for _, tt := range []struct {
		rank     record.Place
		verdicts []record.Verdict
		want     string
	}{
		{record.Place{Outcome: outcome.Open, Rank: stats.Same}, []record.Verdict{verdict(stats.P50, stats.Decided(stats.Same)), verdict(stats.P90, stats.Decided(stats.Same)), verdict(stats.P99, stats.Decision{Outcome: outcome.Open}), verdict(stats.Goodput, stats.Decided(stats.Higher))},
			"b is the same as a at p50, p90, open at p99, and its goodput is +4.3 %"},
		{record.Placed(stats.Same), []record.Verdict{verdict(stats.P50, stats.Decided(stats.Same)), verdict(stats.Goodput, stats.Decided(stats.Higher))}, "b is the same as a, and its goodput is +4.3 %"},
		{record.Placed(stats.Same), []record.Verdict{verdict(stats.P50, stats.Decided(stats.Same)), verdict(stats.Goodput, stats.Decided(stats.Same))}, "b is the same as a"},
		{record.Placed(stats.Same), []record.Verdict{verdict(stats.P50, stats.Decided(stats.Same)), verdict(stats.CPUPerRequest, stats.Decided(stats.Higher))}, "b is the same as a, and its CPU/request is +4.3 %"},
		{record.Placed(stats.Same), []record.Verdict{verdict(stats.P50, stats.Decided(stats.Same)), verdict(stats.CPUPerRequest, stats.Decision{Outcome: outcome.Open})}, "b is the same as a"},
	} {
		r := &record.Comparison{Arms: []record.Arm{{Contestant: record.Contestant{Name: "a"}}, {Contestant: record.Contestant{Name: "b"}}}, Verdicts: tt.verdicts}
		if got := standing(r, record.Standing{Arm: "b", Baseline: "a", Place: tt.rank}, tt.verdicts); got.text != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

// A goodput above the rate is explained, where a reader could see it.
func TestGoodputAboveTheRateIsExplained(t *testing.T) {
	t.Parallel()
	for good, want := range map[float64]bool{1000: false, 1004: false, 1021: true} {
		r := &record.Comparison{Rate: 1000, Arms: []record.Arm{{Contestant: record.Contestant{Name: "a"}, Figures: record.Figures{Goodput: new(good)}}}}
		if got := aboveRate(r, r.Arms[0].Goodput) != nil; got != want {
			t.Errorf("goodput %g of 1000/s: got %t, want %t", good, got, want)
		}
	}
}

// The rate in that line is the rate above the table, digit by digit.
func TestGoodputAboveTheRateNamesTheRate(t *testing.T) {
	t.Parallel()
	r := quick()
	r.Rate = 382.5 // halves round to even in one place and up in the other
	for i := range r.Arms {
		r.Arms[i].Goodput = new(396.)
	}
	text := screenOf(comparisonPage{r}).document(0).Text(document.Options{Width: 100})
	for _, want := range []string{"382 requests/s to each arm", "A goodput above 382/s is no mistake"} {
		if !strings.Contains(strings.ReplaceAll(text, "\u00a0", " "), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// The times of an arm that does not keep up stand in the answer and in the table, and the screen says that they are no finding; a
// figure that is missing says why.
func TestWhatIsNoFindingIsTold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*record.Comparison)
		want   string
		told   bool
	}{
		"keeps up":     {func(*record.Comparison) {}, "are no finding", false},
		"falls behind": {func(r *record.Comparison) { r.Arms[2].Behind = true }, "The times of fasthttp (in the answer, too) are no finding", true},
		"all figures":  {func(*record.Comparison) {}, "- too few requests in a window", false},
		"without a p99": {func(r *record.Comparison) {
			for i := range r.Arms {
				r.Arms[i].P99 = nil
			}
		}, "- too few requests in a window", true},
	} {
		r := quick()
		c.change(r)
		text := screenOf(comparisonPage{r}).document(0).Text(document.Options{Width: 100})
		if told := strings.Contains(strings.Join(strings.Fields(strings.ReplaceAll(text, "\u00a0", " ")), " "), c.want); told != c.told {
			t.Errorf("%s: %q told: %t, want %t in\n%s", name, c.want, told, c.told, text)
		}
	}
}

// A run that stopped before a block was whole says why, and has no table of figures that nobody measured.
func TestNothingMeasuredIsSaid(t *testing.T) {
	t.Parallel()
	r := quick()
	if text := screenOf(comparisonPage{r}).document(0).Text(document.Options{Width: 100}); !strings.Contains(text, "CPU/request") {
		t.Errorf("a measured run has no table:\n%s", text)
	}
	for i := range r.Arms {
		r.Arms[i].Figures = record.Figures{}
	}
	if text := screenOf(comparisonPage{r}).document(0).Text(document.Options{Width: 100}); strings.Contains(text, "CPU/request") || strings.Contains(text, "Beside a figure") {
		t.Errorf("a run without a figure has a table:\n%s", text)
	}
}

// Blocks that do not count since the windows were shortened after them stand beside those that do.
func TestBlocksBeforeAreTold(t *testing.T) {
	t.Parallel()
	r := quick()
	before := blocks(r)
	r.Before = &record.Before{Blocks: 2, Window: record.Lasting(1850 * time.Millisecond)}
	if got, want := blocks(r), before+" (before them 2"+say.NBSP+"blocks with windows of 1.85\u00a0s, which do not count)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
