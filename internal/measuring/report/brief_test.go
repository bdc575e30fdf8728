package report

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"schedlab/internal/capabilities/explain"
	"schedlab/internal/measuring/report/document"
	"schedlab/internal/measuring/report/golden"
	"schedlab/internal/measuring/report/say"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// The answer of every run fits a screen, and stands first.
func TestBriefGolden(t *testing.T) {
	t.Parallel()
	for name, r := range results() {
		var b bytes.Buffer
		if err := Brief(&b, r, TextOptions{}); err != nil {
			t.Fatal(err)
		}
		got := b.String()
		golden.Check(t, filepath.Join("testdata", name+".brief.txt"), got)
		lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
		if len(lines) > 24 {
			t.Errorf("%s has %d lines, want 24 at most", name, len(lines))
		}
		for _, l := range lines {
			if n := utf8.RuneCountInString(l); n > 100 {
				t.Errorf("%s has a line of %d columns: %s", name, n, l)
			}
		}
	}
}

// A few stalls can make a mean the opposite of the medians: the difference of means is then
// no reason for the verdict.
func TestBriefNamesNoReasonThatDeniesTheVerdict(t *testing.T) {
	t.Parallel()
	r := quick()
	if got := strings.Join(briefReasons(r), "\n"); !strings.Contains(got, "pool is 1.19"+say.NBSP+"ms slower on average than nethttp") {
		t.Fatalf("got %q", got)
	}
	d := &r.Differences[0].Step
	d.By, d.Low, d.High = -d.By, -d.High, -d.Low
	if got, want := strings.Join(briefReasons(r), "\n"), "pool: its mean points the other way, by a few long requests; the report has both"; !strings.Contains(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The copy does not differ where its intervals are within SAME; else the widest is told.
func TestHowLikeTheCopyIs(t *testing.T) {
	t.Parallel()
	narrow := record.Verdict{Primary: true, Metric: stats.P50, Baseline: "nethttp", Verdict: decision("SAME"), Ratio: 1, Low: .98, High: 1.02}
	wide := record.Verdict{Primary: true, Metric: stats.P99, Baseline: "nethttp", Verdict: decision("open"), Ratio: 1.3, Low: .36, High: 2.75}
	early := record.Verdict{Primary: true, Metric: stats.P90, Baseline: "nethttp", Verdict: decision("open"), Ratio: 1}
	cpu := record.Verdict{Metric: stats.CPUPerRequest, Baseline: "nethttp", Verdict: decision("open"), Ratio: 1, Low: .8, High: 1.1}
	overloaded := record.Verdict{Primary: true, Metric: stats.P50, Baseline: "nethttp", Verdict: decision("refused")}
	goodput := record.Verdict{Metric: stats.Goodput, Baseline: "nethttp", Verdict: decision("SAME"), Ratio: 1, Low: .99, High: 1.01}
	for want, aa := range map[string][]record.Verdict{
		"nethttp, run twice as a check, does not differ from itself in goodput":          {overloaded, goodput},
		"nethttp, run twice as a check, does not differ from itself in p50":              {narrow, cpu},
		"nethttp, run twice as a check, is open against itself at p99 (-64 % to +175 %)": {narrow, wide},
		"nethttp, run twice as a check, cannot be compared with itself yet":              {narrow, early},
	} {
		if got := strings.ReplaceAll(aaBriefly(aa, 12), say.NBSP, " "); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Every request got a good reply only where none failed or was not sent, nobody is overloaded,
// and no arm has surely less goodput.
func TestEveryRequestGotAGoodReply(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*record.Comparison){
		"":         func(*record.Comparison) {},
		"failed":   func(r *record.Comparison) { r.Arms[2].Errors = 1 },
		"not sent": func(r *record.Comparison) { r.Arms[2].Generator = &record.Proofs{Missing: 1} },
		"overloaded": func(r *record.Comparison) {
			r.Doubts = append(r.Doubts, doubt.Overloaded.Of(doubt.Overload{}).On("pool"))
		},
		"starved": func(r *record.Comparison) { r.Arms[2].StarvedConnections = 1 },
		"lower goodput": func(r *record.Comparison) {
			r.Verdicts = append(r.Verdicts, record.Verdict{Metric: stats.Goodput, Verdict: decision("LOWER"), Arm: "pool", Ratio: .48})
		},
	} {
		r := quick()
		spoil(r)
		told := strings.Join(append(sure(r), complaints(r)...), "\n")
		if got := strings.Contains(told, "every request got a good reply") || strings.Contains(told, "every one of "); got != (name == "") {
			t.Errorf("%q: got %q", name, told)
		}
	}
}

// An expectation that is open or refused says what the exit code is; a failed one has its own.
func TestOpenExpectationsSayTheExitCode(t *testing.T) {
	t.Parallel()
	const note = "none is surely broken, so the exit code is 0 (with --strict 4)"
	for outcomes, want := range map[[2]outcome.Outcome]bool{
		{outcome.Yes, outcome.Yes}: false, {outcome.Yes, outcome.Open}: true,
		{outcome.Refused, outcome.Yes}: true, {outcome.No, outcome.Open}: false,
	} {
		r := &record.Comparison{Expectations: []record.Expectation{{Outcome: outcomes[0]}, {Outcome: outcomes[1]}}}
		if got := unmet(r)[0]; strings.Contains(got, note) != want {
			t.Errorf("%v: got %q, with the exit code: %v", outcomes, got, want)
		}
		r.Status = record.Interrupted // which has a code of its own
		if got := unmet(r)[0]; strings.Contains(got, "exit code") {
			t.Errorf("%v, interrupted: got %q", outcomes, got)
		}
	}
}

// A mean in a claim is the median of the blocks' means, and a mean in "Why" the mean over them: the screen says so.
// Without claims the answer has no mean to explain.
func TestBriefTellsTheTwoMeansApart(t *testing.T) {
	t.Parallel()
	const said = "(on average: the mean of good requests over all blocks; a figure in the answer is the median of the blocks' figures)"
	for claimed, expectations := range map[bool][]record.Expectation{
		true:  {{Text: `mean("pool") > mean("nethttp")`, Claim: "The mean of pool is longer: 1.90 ms instead of 0.70 ms", Outcome: outcome.Yes}},
		false: nil,
	} {
		r := quick()
		r.Expectations = expectations
		var b bytes.Buffer
		if err := Brief(&b, r, TextOptions{}); err != nil {
			t.Fatal(err)
		}
		got := strings.Join(strings.Fields(strings.ReplaceAll(b.String(), say.NBSP, " ")), " ")
		if !strings.Contains(got, "slower on average than nethttp") || strings.Contains(got, said) != claimed {
			t.Errorf("claims %v: got %s", claimed, got)
		}
	}
}

// The screen names two HTTP parsers where arms differ, however many doubts weigh more, and the window that a quantile
// lacks.
func TestBriefSaysWhatMayMislead(t *testing.T) {
	t.Parallel()
	parsers := doubt.ParsersDiffer.Of(doubt.Parsers{Parsers: "pool, fasthttp on fasthttp's; nethttp on net/http's"})
	short := doubt.FewRequests.Of(doubt.Few{Requests: 563, Needed: 1100, Longer: &doubt.Longer{Window: .98}}).At("p99")
	const other, window = "HTTP parsers differ too: pool, fasthttp on fasthttp's; nethttp on net/http's", "* fasthttp, pool at p99: too few requests: 563 a window, p99 needs 1100; --window 980ms holds as many"
	for _, c := range []struct {
		name           string
		spoil          func(*record.Verdict)
		parser, window bool
	}{
		{"arms differ", func(*record.Verdict) {}, true, false},
		{"no arm differs", func(v *record.Verdict) { v.Verdict = decision("SAME") }, false, false},
		{"p99 refused", func(v *record.Verdict) {
			if v.Verdict = decision("SAME"); v.Metric == stats.P99 {
				v.Verdict, v.Reason = decision("refused"), short
			}
		}, false, true},
	} {
		r := quick()
		r.Doubts = append(r.Doubts, said("one"), said("another"), parsers)
		for i := range r.Verdicts {
			c.spoil(&r.Verdicts[i])
		}
		got := strings.Join(strings.Fields(strings.ReplaceAll(inBrief(t, r, 100), say.NBSP, " ")), " ")
		if strings.Contains(got, other) != c.parser || strings.Count(got, window) != stats.Count(c.window) {
			t.Errorf("%s: got %s", c.name, got)
		}
	}
}

// Whether clients keep their connections decides what a pool does to them, so the line on the load says it.
func TestBriefSaysNewConnections(t *testing.T) {
	t.Parallel()
	for name, keeps := range map[string]func(arm int) bool{
		"none kept":  func(int) bool { return false },
		"all kept":   func(int) bool { return true },
		"some kept":  func(arm int) bool { return arm > 1 },
		"others not": func(arm int) bool { return arm <= 1 },
	} {
		r := quick()
		for i := range r.Arms {
			r.Arms[i].Clients = record.Clients{Loop: "open", Rate: 1000, Arrivals: "poisson", KeepAlive: keeps(i), Connections: 64}
		}
		got := strings.Join(strings.Fields(inBrief(t, r, 100)), " ")
		if strings.Contains(got, "on a new connection") != (name == "none kept") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// Times of a closed loop leave out connections without an answer yet, the baseline's too, and the screen says so.
func TestBriefNamesConnectionsWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	r := quick()
	for _, short := range []bool{true, false} {
		r.Arms[0].Fairness = &record.Fairness{Asked: 256, Served: 81, Turns: 2, Short: short}
		var b bytes.Buffer
		if err := Brief(&b, r, TextOptions{Width: 160}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(b.String(), r.Arms[0].Name+": 175 of 256 connections had no answer yet in a window, and its times leave them out."); got != short {
			t.Errorf("too short: %v: got\n%s", short, b.String())
		}
	}
}

// A screen without room for reasons says where they are.
func TestBriefSaysWhereReasonsAre(t *testing.T) {
	t.Parallel()
	r := quick()
	for most, want := range map[int]bool{1: false, 0: true} {
		text := screenOf(comparisonPage{r}).document(most).Text(document.Options{Width: 100})
		if got := strings.Contains(text, ", in the report, and where the time went"); got != want {
			t.Errorf("room for %d reasons: got\n%s", most, text)
		}
	}
}

// Who asked why gets an answer, whatever the room, and what was asked and holds is named.
func TestBriefAnswersWhatWasAsked(t *testing.T) {
	t.Parallel()
	r := quick()
	r.Attach(&explain.Explanation{From: "nethttp", To: "pool", Outcome: outcome.No, Reason: said("no difference is sure")})
	r.Expectations = []record.Expectation{{Text: "p99 <= 10ms", Outcome: outcome.Yes}, {Text: "p50 <= 1us", Outcome: outcome.Open}}
	got := screenOf(comparisonPage{r}).document(0).Text(document.Options{Width: 100})
	for _, want := range []string{"no difference is sure", "kept: p99 <= 10ms"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// A baseline's times that every verdict refuses are marked as refused, too, if the baseline is why.
func TestBriefMarksABaselineThatIsNotJudged(t *testing.T) {
	t.Parallel()
	r := quick()
	p90 := stats.P90.Row()
	if isNotJudged(r, r.Arms[0], p90) {
		t.Error("a judged baseline is marked as refused")
	}
	for i := range r.Verdicts {
		r.Verdicts[i].Verdict = stats.Decision{Outcome: outcome.Refused}
	}
	if isNotJudged(r, r.Arms[0], p90) {
		t.Error("a baseline is marked as refused where only the others are at fault")
	}
	r.Arms[0].Behind = true
	if !isNotJudged(r, r.Arms[0], p90) {
		t.Error("a baseline whose backlog grows is not marked as refused")
	}
	if isNotJudged(r, r.Arms[0], stats.Goodput.Row()) {
		t.Error("its goodput is marked as refused")
	}
}

// The command that shows the whole report names the run, by its path where it lies elsewhere.
func TestBriefNamesARecordElsewhere(t *testing.T) {
	t.Parallel()
	r := quick()
	for dir, want := range map[string]string{"schedlab-runs/x": "or: schedlab runs show x", "elsewhere/x": "or: schedlab runs show elsewhere/x"} {
		r.Dir = dir
		if got := rest(r, r.Doubts, causes()); !strings.HasSuffix(got[len(got)-1].Text, want) {
			t.Errorf("%s: got %q", dir, got[len(got)-1].Text)
		}
	}
}

// What is open waits for longer windows only where an arm has left connections without an answer in more than a tenth of its blocks: one
// connection in one window may be chance.
func TestOneUnansweredConnectionClosesNoQuestion(t *testing.T) {
	t.Parallel()
	for blocks, want := range map[int]bool{1: true, 3: false} {
		r := quick()
		v := record.Verdict{Arm: "pool", Baseline: "nethttp", Metric: stats.P99, Primary: true, Verdict: stats.Decision{Outcome: outcome.Open}}
		for i := range r.Arms {
			if a := &r.Arms[i]; a.Name == v.Arm {
				a.Blocks = stats.Series{stats.Goodput: make([]float64, 20)}
				a.Fairness, a.StarvedConnections, a.StarvedBlocks = &record.Fairness{Short: true}, 1, blocks
			}
		}
		if got := isAskedFor(r, v); got != want {
			t.Errorf("a connection without an answer in %d of 20 blocks: asked for %t, want %t", blocks, got, want)
		}
	}
}

// A caption names the baseline of its verdicts, unless they have several.
func TestCaptionNamesEachBaseline(t *testing.T) {
	t.Parallel()
	a, b := record.Verdict{Arm: "c", Baseline: "a"}, record.Verdict{Arm: "d", Baseline: "b"}
	if got := baselineOf([]record.Verdict{a, a}); got != "a" {
		t.Errorf("got %q", got)
	}
	if got := baselineOf([]record.Verdict{a, b}); got != "the arm it is compared with" {
		t.Errorf("got %q for two baselines", got)
	}
}
