package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"schedlab/docs/experiments"
	"schedlab/internal/capabilities/explain"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// The rows of a run have its figures with their verdicts, but no copy of the baseline. A verdict that the run refuses,
// for replies that overload is meant to have, stands as the figures of the blocks do. A cause is kept with its
// outcome.
func TestRowsOfARun(t *testing.T) {
	t.Parallel()
	r := &record.Comparison{
		Common: record.Common{
			Scenario: "accept", Question: "Which?", Started: time.Date(2026, 11, 28, 9, 0, 0, 0, time.UTC), Env: record.Env{Version: "abc1234", ServerCPUs: "0", LoadCPUs: "1", CPU: "AMD EPYC", Go: "go1.26.8"},
			Doubts: []fact.Fact{{Code: "one-cpu"}},
		},
		Valid: 12, Ran: 13,
		Arms: []record.Arm{
			{Contestant: record.Contestant{Name: "a"}, Figures: record.Figures{P99: new(.0200000004), Goodput: new(300.)}}, {Contestant: record.Contestant{Name: "a'", Role: record.Copy}, Figures: record.Figures{P99: new(.03)}}, {Contestant: record.Contestant{Name: "b", Role: record.Challenger}, Figures: record.Figures{P99: new(.01), Goodput: new(300.)}, Details: record.Details{Footprint: &record.Footprint{Memory: 18_000_000, Threads: 6}}}},
		Verdicts: []record.Verdict{
			{Metric: stats.P99, Arm: "b", Baseline: "a", Verdict: stats.Decided(stats.Faster), Ratio: .5, Low: .4, High: .6},
			{Metric: stats.Goodput, Arm: "b", Baseline: "a", Verdict: stats.Decision{Outcome: outcome.Refused}, Reason: fact.Fact{Code: "errors"}},
		},
		Expectations: []record.Expectation{{Text: "errors(\"b\") > 0.1", Claim: "It refuses some", Outcome: outcome.Yes}},
	}
	pairs := []record.Verdict{
		{Metric: stats.Goodput, Arm: "b", Baseline: "a", Verdict: stats.Decided(stats.Same), Ratio: 1, Low: .99, High: 1.01},
		{Metric: stats.GoodMean, Arm: "b", Baseline: "a", Verdict: stats.Decided(stats.Faster), Ratio: .5, Low: .4, High: .6},
	}
	x := &explain.Explanation{Outcome: outcome.Yes, Causes: []explain.Suspect{
		{Outcome: outcome.No, Fact: fact.Fact{Text: "the lock"}}, {Outcome: outcome.Yes, Fact: fact.Fact{Text: "too few workers"}},
	}}
	var got []string
	for _, row := range rowsOf(r, pairs, x) {
		if row.Scenario != "accept" || row.Day != "2026-11-28" || row.Commit != "abc1234" || row.Blocks != 12 {
			t.Errorf("a row of another run: %+v", row)
		}
		cells := strings.Split(strings.TrimSuffix(experiments.Format([]experiments.Row{row}), "\n"), "\t")
		if row.Metric != "load" && row.Metric != "machine" && row.Metric != "answer" && row.Metric != "doubt" {
			got = append(got, strings.TrimRight(strings.Join(cells[len(cells)-11:], " "), " "))
		}
	}
	want := []string{
		"question          Which?",
		"left_out   1", "window", "seed          0",
		"server_cpus          0", "load_cpus          1", "cpu          AMD EPYC", "go          go1.26.8",
		`claim    yes     errors("b") > 0.1 It refuses some`,
		"p99 a  0.02", "goodput a  300",
		"p99 b a 0.01 FASTER 0.5 0.4 0.6", "goodput b a 300 SAME 1 0.99 1.01", "memory b  18000000", "threads b  6",
		"good_mean b a  FASTER 0.5 0.4 0.6",
		"cause    yes      too few workers",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A record in a directory is read and judged, and its texts have plain spaces.
func TestRecorded(t *testing.T) {
	t.Parallel()
	rows, err := recorded(filepath.Join(top, "cmd", "schedlab", "testdata", "record"))
	if err != nil {
		t.Fatal(err)
	}
	text := experiments.Format(rows)
	if again, err := experiments.Parse(text); err != nil || len(again) != len(rows) {
		t.Errorf("%d rows are read back as %d (%v)", len(rows), len(again), err)
	}
	for _, want := range []string{"\tquestion\t", "\tload\t", "\tp50\tnethttp\t\t0.0", "\tp50\tpool,workers=4\tnethttp\t0.0", "\tdoubt\t"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "\u00a0") {
		t.Errorf("a space that does not break in\n%s", text)
	}
}

// Without a record, and with arguments that ask for nothing, the file stays as it is.
func TestRunMistakes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "answers.tsv")
	before := experiments.Format(size)
	if err := os.WriteFile(file, []byte(before), 0o644); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"add": "want add or again", "remove x": "want add or again", "add none": "none", "again none": "answers-again.tsv",
	} {
		if err := run(dir, strings.Fields(args), os.Stderr); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want one with %q", args, err, want)
		}
	}
	if after := read(t, file); after != before {
		t.Errorf("the file is now\n%s", after)
	}
}

// A page is written once: the second time nothing has changed.
func TestRunWritesPages(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "experiments")
	if err := os.MkdirAll(filepath.Join(dir, "charts"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"../choosing.md":    "# Which?\n\n<!-- choices -->\nold\n<!-- end -->\n",
		"answers.tsv":       experiments.Format(size),
		"answers-again.tsv": experiments.Format(nil),
		"charts/sizes.txt":  "title Sizes\nchanges size p50\n",
		"sizes.md":          "# Sizes\n\n![Sizes](charts/sizes.svg)\n\n<!-- figures size -->\nold\n<!-- end -->\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var first, second strings.Builder
	for _, out := range []*strings.Builder{&first, &second} {
		if err := run(dir, nil, out); err != nil {
			t.Fatal(err)
		}
	}
	if strings.Count(first.String(), "\n") != 3 || second.String() != "" {
		t.Errorf("written first:\n%sand then:\n%s", &first, &second)
	}
	if page := read(t, filepath.Join(dir, "sizes.md")); !strings.Contains(page, "| two | 1.29 ms +29 %") || strings.Contains(page, "old") {
		t.Errorf("the page is\n%s", page)
	}
	if page := read(t, filepath.Join(dir, "..", "choosing.md")); !strings.Contains(page, "| they compute | tail | open |  | not measured |") || strings.Contains(page, "old") {
		t.Errorf("docs/choosing.md is\n%s", page)
	}
	if err := os.WriteFile(filepath.Join(dir, "sizes.md"), []byte("<!-- figures other -->\n<!-- end -->\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run(dir, nil, &second); err == nil || !strings.Contains(err.Error(), "no answers of other") {
		t.Errorf("got error %v", err)
	}
}
