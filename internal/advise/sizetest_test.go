package advise

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/judge"
	"schedlab/internal/queueing"
	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// In windows as short as those of --verify, with a server's overhead on top, the
// advice keeps the SLO and 20 % fewer workers break it, in so many as the verdict
// asks for.
func TestAdviceStandsInShortWindows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rate                float64
		workload, real, slo string // real is with what a server adds: 80 µs of CPU time, and timers that are 0.8 ms late
	}{
		{1000, "cpu=60us,sleep=exp(15ms)", "cpu=140us,sleep=exp(15.8ms)", "p95<=90ms"},
		{1200, "cpu=60us,sleep=20ms", "cpu=140us,sleep=20.8ms", "p99<=40ms"},
	} {
		d, err := ParseWorkload(c.workload)
		if err != nil {
			t.Fatal(err)
		}
		slo, err := stats.ParseSLO(c.slo + ",errors<=0.1%")
		if err != nil {
			t.Fatal(err)
		}
		a, err := Size(d, slo, Options{Rate: c.rate, Cores: 1, Margin: .15, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		_, window, _, err := a.windows(PoolTest{Budget: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		served := a
		if served.Demand, err = ParseWorkload(c.real); err != nil {
			t.Fatal(err)
		}
		advised, fewer := 0, 0
		for block := range uint64(TestBlocks) {
			advised += stats.Count(served.windowKept(a.Advice.Workers, window, 100+block))
			fewer += stats.Count(served.windowKept(queueing.Fewer(a.Advice.Workers), window, 100+block))
		}
		if advised < 10 || fewer > 2 {
			t.Errorf("%g/s of %s, %s: %d workers keep it in %d of %d windows, %d in %d",
				c.rate, c.workload, c.slo, a.Advice.Workers, advised, TestBlocks, queueing.Fewer(a.Advice.Workers), fewer)
		}
	}
}

// A test takes a fifth fewer workers, and fewer still where these break the SLO in some windows only.
func TestTestedWithSoFewThatTheyBreakIt(t *testing.T) {
	t.Parallel()
	slo, err := stats.ParseSLO("p99<=60ms,errors<=0.1%")
	if err != nil {
		t.Fatal(err)
	}
	for rate, want := range map[float64]struct{ advised, fewer int }{300: {8, 6}, 400: {11, 8}} { // a fifth fewer are 6 and 9
		d, err := Held(20*time.Millisecond, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		a, err := Size(d, slo, Options{Rate: rate, Cores: 1, Margin: .15, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		_, window, _, err := a.windows(PoolTest{})
		if err != nil {
			t.Fatal(err)
		}
		if got := a.fewer(window); a.Advice.Workers != want.advised || got != want.fewer {
			t.Errorf("%g/s: %d workers against %d, want %v", rate, a.Advice.Workers, got, want)
		}
	}
}

func TestVerificationText(t *testing.T) {
	t.Parallel()
	slo, err := stats.ParseSLO("p99<=90ms,errors<=0.1%")
	if err != nil {
		t.Fatal(err)
	}
	v := Verification{
		Verdict: AdviceRight, Mode: "pool-request", Workers: 20, Fewer: 16, Dir: "runs/x", Window: 1.5, slo: slo,
		Advised: judge.Keeping{Blocks: 12, Kept: 11, Answer: record.Passed, Figures: map[string]*record.Spread{"p99": {Median: 0.0713, Low: 0.065, High: 0.08}, "errors": {}}, Requests: 13791, Failed: 60},
		Less:    judge.Keeping{Blocks: 12, Kept: 0, Answer: record.Failed, Figures: map[string]*record.Spread{"p99": {Median: 0.2, Low: 0.18, High: 0.21}, "errors": {Median: 0.034, Low: 0.03, High: 0.04}}},
		Doubts:  []record.Fact{{Code: "test", Text: "it asked less"}},
	}
	want := []string{
		"20 workers keep the SLO (kept in 11 of 12 blocks); 16, 20 % fewer, break it (broken in 12 of 12). So the advice is right.",
		"Measured with 20 workers of pool-request (a worker serves a request, not a whole connection), medians over 12 blocks of 1.5 s and their 95 % intervals: p99 71.3 ms (65 ms to 80 ms), errors 0 % (0 % to 0 %).",
		"With 20 workers, 60 of all 13,791 requests had no good reply.",
		"Measured with 16 workers of pool-request (a worker serves a request, not a whole connection), medians over 12 blocks of 1.5 s and their 95 % intervals: p99 200 ms (180 ms to 210 ms), errors 3.4 % (3 % to 4 %).",
		"Doubt of the test: it asked less.",
		"Record: runs/x",
	}
	if diff := cmp.Diff(want, v.text()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	v.Mode, v.sticky = "pool", true
	if got := v.text()[1]; !strings.HasPrefix(got, "Measured with 20 workers of pool (a worker serves a whole connection, of one request here), medians") {
		t.Errorf("a worker that keeps its connection: %q", got)
	}
	v.Verdict, v.Less.Answer, v.Less.Kept, v.Less.Figures["p99"].Median = AdviceUndecided, record.Undecided, 2, 0.08
	if got, want := v.lead(), "20 workers keep the SLO (kept in 11 of 12 blocks); 16, 20 % fewer, may or may not keep it (broken in 10 of 12)."; got != want {
		t.Errorf("undecided: %q; want %q", got, want)
	}
	v.Fewer = 14
	if got, want := v.lead(), "14, 30 % fewer, may or may not keep it (broken in 10 of 12; in theory 16 would break it in some blocks only)."; !strings.HasSuffix(got, want) {
		t.Errorf("more than a fifth fewer: %q; want %q", got, want)
	}
	v.Fewer = 16
	v.Verdict, v.Less.Answer, v.Less.Kept, v.Less.Figures["p99"].Median = AdviceRight, record.Failed, 0, 0.2
	v.Mode, v.sticky = "pool-request", false
	var short []string
	for _, f := range (&Page{Verified: &v}).sure()[1:] {
		short = append(short, f.Text)
	}
	if diff := cmp.Diff(want, short); diff != "" {
		t.Errorf("the short answer (-want +got):\n%s", diff)
	}
}

// An undecided test names the flag that would decide it, and a budget that it names is enough.
func TestUndecidedNamesWhatDecides(t *testing.T) {
	t.Parallel()
	d, err := ParseWorkload("cpu=60us,sleep=20ms")
	if err != nil {
		t.Fatal(err)
	}
	slo, err := Objective("p95<=40ms", 1200, true)
	if err != nil {
		t.Fatal(err)
	}
	a, err := Size(d, slo, Options{Rate: 1200, Cores: 1, Margin: .15, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	passed, failed := judge.Keeping{Blocks: 12, Kept: 12, Answer: record.Passed}, judge.Keeping{Blocks: 12, Answer: record.Failed}
	open := func(blocks, kept int) judge.Keeping {
		return judge.Keeping{Blocks: blocks, Kept: kept, Answer: record.Undecided, Reason: record.Fact{Code: "test", Text: "either may be the rule"}}
	}
	refused := judge.Keeping{Answer: record.NoAnswer, Reason: record.Fact{Code: "test", Text: "the load was late"}}
	for _, c := range []struct {
		margin        float64
		advised, less judge.Keeping
		says          string
	}{
		{0.15, open(12, 9), failed, "What would decide: windows of about 7 s, by the share of blocks that kept it: --budget 5m20s."},
		{0.15, passed, open(12, 3), "What would decide: windows of about 7 s, by the share of blocks that kept it: --budget 5m20s."},
		{0.15, open(12, 6), failed, "keep the SLO by a hair or miss it by one; another number of workers may: --margin 0.25."},
		{0.15, passed, open(12, 7), "keep the SLO by a hair or miss it by one; another number of workers may: --margin 0.05."},
		{0, passed, open(12, 6), "keep the SLO by a hair or miss it by one; another --slo may."},
		{0.15, open(8, 6), open(8, 1), "What would decide: all 12 blocks: --budget 2m"},
		{0.15, passed, failed, ""},
		{0.15, refused, refused, "The test decides nothing: no block can be trusted. Why: the load was late."},
	} {
		a.Ask.Margin = c.margin
		v := a.Verify(PoolTest{}, queueing.Fewer(a.Advice.Workers), []judge.Keeping{c.advised, c.less})
		if got := v.lead(); !strings.Contains(got, c.says) || (c.says == "") != v.Decides.None() && c.advised.Blocks > 0 {
			t.Errorf("%d and %d kept: got %q, want %q", c.advised.Kept, c.less.Kept, got, c.says)
		}
		if wanted := v.Decides.Values["window"]; wanted > 0 {
			budget, err := time.ParseDuration(v.Decides.Names["budget"])
			if err != nil {
				t.Fatal(err)
			}
			if _, window, _, err := a.windows(PoolTest{Budget: budget}); err != nil || window.Seconds() < wanted {
				t.Errorf("--budget %s gives windows of %s, want %g s: %v", budget, window, wanted, err)
			}
		}
	}
}
