package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"schedlab/docs/experiments"
	"schedlab/internal/measuring/scenario"
	"schedlab/loadtests"
)

// docs/choosing.md is what answers.tsv comes to today.
func TestChoosingIsOfTheFile(t *testing.T) {
	t.Parallel()
	text := read(t, filepath.Join(top, "docs", "choosing.md"))
	want, err := choosing(text, measured(t), homes(topics(t)))
	if err != nil {
		t.Fatal(err)
	}
	if text != want {
		t.Error("docs/choosing.md is not of answers.tsv; go run ./docs/experiments/pages writes it")
	}
	if _, err := choosing(text, measured(t), nil); err == nil || !strings.Contains(err.Error(), "no page has the figures of ") {
		t.Errorf("without pages: got error %v", err)
	}
	if _, err := choosing("no table", nil, nil); err == nil {
		t.Error("a page without a table is no error")
	}
}

// The table has each kind of requests with each thing that matters, once and in order. Each row asks a scenario that is
// embedded, of arms that it has, and the file has all verdicts.
func TestChoicesAreOfThePack(t *testing.T) {
	t.Parallel()
	matters := map[string]string{}
	for _, c := range choices {
		matters[c.kind] += c.matters + " "
		s, err := scenario.Library{FS: loadtests.Scenarios}.Find(c.scenario)
		if err != nil {
			t.Fatal(err)
		}
		for arm := range strings.FieldsSeq(c.arms) {
			if !slices.ContainsFunc(s.Contestants(), func(a scenario.Arm) bool { return a.Name == arm }) {
				t.Errorf("scenario %s has no arm %s", c.scenario, arm)
			}
		}
		for m := range strings.FieldsSeq(c.matters) {
			if a := c.answerOf(measured(t), m); len(a.verdicts) == 0 {
				t.Errorf("%s, %s: answers.tsv has not all verdicts; run tools/experiments %s", c.kind, m, c.scenario)
			}
		}
	}
	for kind, all := range matters {
		if all != "tail throughput memory overload " {
			t.Errorf("%s: the rows are about %s", kind, all)
		}
	}
	if len(matters) != 8 {
		t.Errorf("%d kinds of requests", len(matters))
	}
}

// Who is best follows from the verdicts, challengers' own comparisons among them; what is not decided is open.
func TestRowsFollowFromVerdicts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, matters, verdicts, best, measured string }{
		{"two tie", "throughput", "cpu_per_request fasthttp nethttp SAME\ncpu_per_request pool nethttp HIGHER\ncpu_per_request pool fasthttp HIGHER",
			"`nethttp` or `fasthttp`", "`fasthttp` against `nethttp`: CPU/request +20 % (+10 % to +30 %); `pool` against `nethttp`: CPU/request +20 % (+10 % to +30 %)"},
		{"one wins", "throughput", "cpu_per_request fasthttp nethttp LOWER\ncpu_per_request pool nethttp SAME\ncpu_per_request pool fasthttp HIGHER",
			"`fasthttp`", "`fasthttp` against `nethttp`: CPU/request +20 % (+10 % to +30 %); `pool` against `fasthttp`: CPU/request +20 % (+10 % to +30 %)"},
		{"all tie", "memory", "memory fasthttp nethttp SAME\nmemory pool nethttp SAME\nmemory pool fasthttp SAME",
			"no difference: `nethttp`, `fasthttp`, `pool`", "`fasthttp` against `nethttp`: memory +20 % (+10 % to +30 %); `pool` against `nethttp`: memory +20 % (+10 % to +30 %)"},
		{"two metrics", "tail", "p90 fasthttp nethttp SAME\np99 fasthttp nethttp FASTER\np90 pool nethttp SLOWER\np99 pool nethttp SLOWER\np90 pool fasthttp SLOWER\np99 pool fasthttp open",
			"`fasthttp`", "`fasthttp` against `nethttp`: p90 +20 % (+10 % to +30 %), p99 +20 % (+10 % to +30 %); `pool` against `fasthttp`: p90 +20 % (+10 % to +30 %)"},
		{"which of two is open", "throughput", "cpu_per_request fasthttp nethttp LOWER\ncpu_per_request pool nethttp LOWER\ncpu_per_request pool fasthttp open",
			"open", "better than the others: `fasthttp`, `pool`"},
		{"nobody is known to be slower", "throughput", "cpu_per_request fasthttp nethttp open\ncpu_per_request pool nethttp HIGHER\ncpu_per_request pool fasthttp open", "open", ""},
		{"refused", "throughput", "cpu_per_request fasthttp nethttp refused\ncpu_per_request pool nethttp refused\ncpu_per_request pool fasthttp refused", "open", ""},
		{"not all is there", "throughput", "cpu_per_request fasthttp nethttp SAME", "open", ""},
	} {
		var rows []experiments.Row
		for line := range strings.Lines(c.verdicts) {
			f := strings.Fields(line)
			row := experiments.Row{Scenario: "quick", Metric: f[0], Arm: f[1], Baseline: f[2], Verdict: f[3], Ratio: 1.2, Low: 1.1, High: 1.3, Blocks: 12}
			if f[3] == "refused" {
				row.Ratio, row.Low, row.High, row.Reason = 0, 0, 0, "errors"
			}
			rows = append(rows, row)
		}
		row := choice{"", c.matters, "quick", "", "nethttp fasthttp pool", ""}
		best, measured := row.shown(row.answerOf(rows, c.matters))
		if best != c.best || measured != c.measured {
			t.Errorf("%s: got %s, %s; want %s, %s", c.name, best, measured, c.best, c.measured)
		}
		// An experiment without the right arms decides nothing, whatever its verdicts.
		row.lacks = "it shows no overload"
		if best, measured := row.shown(row.answerOf(rows, c.matters)); best != "open" || measured != row.lacks {
			t.Errorf("%s: got %s, %s for an experiment that lacks something", c.name, best, measured)
		}
	}
}
