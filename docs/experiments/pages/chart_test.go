package main

import (
	"strings"
	"testing"

	"schedlab/docs/experiments"
)

// size is a scenario of four arms.
var size = []experiments.Row{
	{Scenario: "size", Metric: "p50", Arm: "one", Figure: .001},
	{Scenario: "size", Metric: "goodput", Arm: "one", Figure: 2000},
	{Scenario: "size", Metric: "cpu_per_request", Arm: "one", Figure: 30e-6},
	{Scenario: "size", Metric: "p50", Arm: "two", Baseline: "one", Figure: .00129, Verdict: "SLOWER", Ratio: 1.29, Low: 1.18, High: 1.58},
	{Scenario: "size", Metric: "goodput", Arm: "two", Baseline: "one", Figure: 1000, Verdict: "LOWER", Ratio: .5, Low: .48, High: .52},
	{Scenario: "size", Metric: "cpu_per_request", Arm: "two", Baseline: "one", Figure: 15e-6, Verdict: "LOWER", Ratio: .5, Low: .4, High: .6},
	{Scenario: "size", Metric: "p50", Arm: "three", Baseline: "two", Figure: 999e-6, Verdict: "SAME", Ratio: 1, Low: .99, High: 1.01},
	{Scenario: "size", Metric: "goodput", Arm: "three", Baseline: "two", Figure: 5400, Verdict: "HIGHER", Ratio: 5.4, Low: 3.44, High: 6.5},
	{Scenario: "size", Metric: "cpu_per_request", Arm: "three", Baseline: "two", Figure: 30e-6, Verdict: "refused", Reason: "errors"},
	{Scenario: "size", Metric: "p50", Arm: "a_b", Baseline: "one", Figure: .0011, Verdict: "open", Ratio: 1.1, Low: .91, High: 1.3},
	{Scenario: "size", Metric: "goodput", Arm: "a_b", Baseline: "one", Verdict: "refused", Reason: "errors"},
	{Scenario: "size", Metric: "p50", Arm: "three", Baseline: "a_b", Verdict: "FASTER", Ratio: .9, Low: .8, High: .94}, // a pair
}

// A chart shows each verdict of the file. A change is better or worse by the metric, and a figure is drawn on
// an axis of its unit.
func TestChart(t *testing.T) {
	t.Parallel()
	for asked, wants := range map[string][]string{
		"changes size p50,goodput,CPU/request # words": {
			"<title id=\"title\">Pools &amp; goroutines</title>", ">size: words, against one<", ">size: words, against two<", ">a_b<",
			`class="worse"`, ">&#43;29 %, worse<", ">-50 %, worse<", ">-50 %, better<", ">×5.4, better<", ">same<", ">open<", ">no verdict<",
		},
		"figures size p50 one three": {">1.00 ms<", ">999 µs<", ">1 ms<", ">p50<"},
		"changes size p50 four":      {"error: ", "no arm four"},
		"changes size p95":           {"error: ", "no table has a column p95"},
		"changes other p50":          {"error: ", "no such scenario"},
		"sizes size p50":             {"error: ", "give changes or figures"},
	} {
		text, err := chartOf("\n![Pools & goroutines](charts/pools.svg)\n", "title Pools & goroutines\n"+asked+"\n", size)
		if err != nil {
			text = "error: " + err.Error()
		}
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", asked, want, text)
			}
		}
	}
	for _, c := range []struct{ page, spec string }{
		{"no chart", "title Pools\nchanges size p50\n"},
		{"\n![Other](charts/pools.svg)\n", "title Pools\nchanges size p50\n"},
		{"\n![Pools](charts/pools.svg)\n", "changes size p50\n"},
	} {
		if _, err := chartOf(c.page, c.spec, size); err == nil {
			t.Errorf("%q, drawn as %q: no error", c.page, c.spec)
		}
	}
}

// A table has a row for each arm, and the changes of the arm's own baseline. Pairs of other arms are not in it. A page may
// choose its columns and arms.
func TestTable(t *testing.T) {
	t.Parallel()
	for asked, want := range map[string]string{
		"": `| arm | p50 | goodput | CPU/request |
|---|---:|---:|---:|
| one | 1.00 ms | 2,000/s | 30.0 µs |
| two | 1.29 ms +29 % (+18 to +58 %) | 1,000/s -50 % (-52 to -48 %) | 15.0 µs -50 % (-60 to -40 %) |
| three (against two) | 999 µs = | 5,400/s ×5.4 (+244 % to ×6.5) | 30.0 µs |
| a_b | 1.10 ms ~ | - | - |
`,
		"goodput,loops'_CPU one a_b": `| arm | goodput | loops' CPU |
|---|---:|---:|
| one | 2,000/s | - |
| a_b | - | - |
`,
	} {
		shown, err := shownOf(size, strings.Fields(asked))
		if err != nil {
			t.Fatal(err)
		}
		if got := table(size, shown); got != want {
			t.Errorf("%q: got\n%swant\n%s", asked, got, want)
		}
	}
	for _, asked := range []string{"p95", "p50 five"} {
		if _, err := shownOf(size, strings.Fields(asked)); err == nil {
			t.Errorf("%s is no mistake", asked)
		}
	}
}

// The figures of a scenario have its load, its claims in words, and doubts about the machine, but no others. Claims that
// every block kept stand together, unless the table shows them; one without a sentence stands there only where it was not kept.
func TestFigures(t *testing.T) {
	t.Parallel()
	rows := append([]experiments.Row{
		{Scenario: "size", Day: "2026-11-28", Commit: "abc1234", Blocks: 12, Metric: "load", Text: "one client"},
		{Scenario: "size", Metric: "load", Text: "two clients"}, {Scenario: "size", Metric: "load", Text: "three"}, {Scenario: "size", Metric: "left_out", Figure: 1},
		{Scenario: "size", Metric: "server_cpus", Text: "0-1"}, {Scenario: "size", Metric: "load_cpus", Text: "1"}, {Scenario: "size", Metric: "cpu", Text: "AMD EPYC"}, {Scenario: "size", Metric: "go", Text: "go1.26.8"},
		{Scenario: "size", Blocks: 12, Metric: "claim", Verdict: "yes", Asks: `mean("two") > 1.2ms`, Figure: 11, Reason: "true in 11 of 12 blocks", Text: "Two have a longer mean: 1.31 ms"},
		{Scenario: "size", Blocks: 12, Metric: "claim", Verdict: "yes", Asks: `p50("two") > 1ms`, Figure: 12, Reason: "1.29 ms > 1 ms in the median; true in 12 of 12 blocks", Text: "Two are slow: 1.29 ms"},
		{Scenario: "size", Blocks: 12, Metric: "claim", Verdict: "yes", Asks: `mean("two") > 1ms`, Figure: 12, Reason: "1.31 ms > 1 ms in the median; true in 12 of 12 blocks", Text: "Two have a long mean: 1.31 ms"},
		{Scenario: "size", Blocks: 12, Metric: "claim", Verdict: "yes", Asks: `errors("two") == 0`, Figure: 12, Reason: "true in 12 of 12 blocks"},
		{Scenario: "size", Blocks: 12, Metric: "claim", Verdict: "open", Asks: `p50("one") < 1ms`, Figure: 6, Reason: "true in 6 of 12 blocks: the border lies within"},
		{Scenario: "size", Metric: "doubt", Reason: "machine-unfit", Text: "machine: unfit: steal: the hypervisor took 5 %"},
		{Scenario: "size", Metric: "note", Text: "machine: unfit: steal"},
		{Scenario: "size", Metric: "doubt", Reason: "closed-loop", Text: "a closed loop"},
	}, size...)
	shown, err := shownOf(rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	again := []experiments.Row{
		{Scenario: "size", Day: "2026-11-29", Blocks: 20, Metric: "claim", Verdict: "no", Asks: `p50("two") > 1ms`, Figure: 7},
		{Scenario: "size", Day: "2026-11-29", Blocks: 20, Metric: "claim", Verdict: "yes", Asks: `mean("two") > 1.2ms`, Figure: 20},
		{Scenario: "size", Day: "2026-11-29", Blocks: 20, Metric: "p50", Arm: "two", Baseline: "one", Verdict: "SLOWER"},
		{Scenario: "size", Day: "2026-11-29", Blocks: 20, Metric: "goodput", Arm: "two", Baseline: "one", Verdict: "open"},
	}
	got := figures(rows, again, shown, true)
	for _, want := range []string{
		"2026-11-28, commit `abc1234`, 12 blocks: one client and others, as the arms are named, 1 left out; server on CPU 0-1; AMD EPYC. With a second seed (2026-11-29, 20 blocks) 1 of 1 verdict and 1 of 2 claims that both decided are the same.\n\n" +
			"Kept in every block:\n\n- Two have a long mean: 1.31 ms\n\n- **kept** Two have a longer mean: 1.31 ms (11 of 12 blocks)\n" +
			"- **kept** Two are slow: 1.29 ms (12 of 12 blocks; second seed: **not kept**, 7 of 20 blocks)\n" +
			"- **open** `p50(\"one\") < 1ms` (6 of 12 blocks)\n\n| arm |",
		"\nDoubt: machine: unfit: steal.\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "closed loop") {
		t.Errorf("a doubt that every such run has:\n%s", got)
	}
}
