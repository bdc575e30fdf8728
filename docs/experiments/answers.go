// Package experiments holds what the pack of experiments measured: answers.tsv, from which the pages
// beside it and docs/choosing.md have their tables and charts.
//
// The package reads and writes the file. It judges nothing: the rows are as the runs were judged.
package experiments

import (
	"cmp"
	_ "embed" // for answers
	"encoding/csv"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/stats"
)

//go:embed answers.tsv
var answers string

// Answers returns the rows of answers.tsv, scenario by scenario in the order of their names.
func Answers() ([]Row, error) { return Parse(answers) }

// A Row is one line of the file: a figure of an arm with its verdict, a verdict on two arms, or a text.
//
// A text has no Arm. Its Metric is question, load (one for each of the arms' loads), asked, seed, machine, server_cpus,
// load_cpus, cpu, go, answer, claim, refused, doubt, note, cause or, added by hand where the scenario has changed since,
// outdated. A claim is an assertion: Asks is its expression, Verdict its answer, Reason the evidence, Figure the number of
// blocks in which it was true, Low and High those below and above the band that it names, and Text the sentence
// that it decides, if the scenario has one. A note is what a page has of the doubt before it. Without an arm, too, are the
// window's length, window, and how many blocks the verdicts leave out, left_out. A cause is what an explanation found: Verdict is the outcome,
// and Text what was confirmed.
type Row struct {
	Scenario, Day, Commit string  // of the run: the day as 2026-11-24, and the build
	Blocks                int     // that the run judged
	Metric                string  // such as p50 or cpu_per_request, or the kind of a text
	Arm, Baseline         string  // Baseline is "" without a verdict
	Figure                float64 // the arm's median in base units, 0 if unknown: seconds, bytes, a second, a ratio
	Verdict               string  // FASTER, SLOWER, HIGHER, LOWER, SAME, open or refused; of a claim yes, no, open or refused
	Ratio, Low, High      float64 // the change of Arm against Baseline with its interval; 0 if unknown
	Reason                string  // the code of a refusal, or a claim's evidence
	Asks, Text            string
}

// columns are the columns of the file, which is tab-separated, in the order of Row's fields.
var columns = []string{"scenario", "day", "commit", "blocks", "metric", "arm", "baseline", "figure", "verdict", "ratio", "low", "high", "reason", "asks", "text"}

// Parse reads the text of a file. The first line must hold the columns. An error names the line.
func Parse(text string) ([]Row, error) {
	in := csv.NewReader(strings.NewReader(text))
	in.Comma, in.FieldsPerRecord, in.LazyQuotes = '\t', len(columns), true
	lines, err := in.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("reading the answers: %w", err)
	}
	if len(lines) == 0 || !slices.Equal(lines[0], columns) {
		return nil, fmt.Errorf("reading the answers: the first line is not %s", strings.Join(columns, ", "))
	}
	var rows []Row
	for i, cells := range lines[1:] {
		r := Row{
			Scenario: cells[0], Day: cells[1], Commit: cells[2], Metric: cells[4], Arm: cells[5], Baseline: cells[6],
			Verdict: cells[8], Reason: cells[12], Asks: cells[13], Text: cells[14],
		}
		blocks, err := strconv.Atoi(cells[3])
		r.Blocks = blocks
		if (r.Metric == "claim" || r.Metric == "cause") && err == nil { // an older file has other words
			var of outcome.Outcome
			err = of.UnmarshalText([]byte(r.Verdict))
			r.Verdict = string(of)
		} else if err == nil {
			var of stats.Decision
			err = of.UnmarshalText([]byte(r.Verdict))
			r.Verdict = of.String()
		}
		for at, figure := range map[int]*float64{7: &r.Figure, 9: &r.Ratio, 10: &r.Low, 11: &r.High} {
			if err == nil && cells[at] != "" {
				*figure, err = strconv.ParseFloat(cells[at], 64)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("reading the answers: line %d: %w", i+2, err)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// Decision returns the verdict of a row that compares a figure of two arms.
func (r Row) Decision() (d stats.Decision) {
	_ = d.UnmarshalText([]byte(r.Verdict)) // Parse has read it once
	return d
}

// Format returns the text of a file with these rows, which Parse reads. Ratios have five digits. A figure
// that is 0 is left empty.
func Format(rows []Row) string {
	var b strings.Builder
	b.WriteString(strings.Join(columns, "\t") + "\n")
	number := func(v float64, form byte, digits int) string {
		if v == 0 {
			return ""
		}
		return strconv.FormatFloat(v, form, digits, 64)
	}
	ratio := func(v float64) string { return number(v, 'g', 5) }
	for _, r := range rows {
		b.WriteString(strings.Join([]string{
			r.Scenario, r.Day, r.Commit, strconv.Itoa(r.Blocks), r.Metric, r.Arm, r.Baseline, number(r.Figure, 'f', -1),
			r.Verdict, ratio(r.Ratio), ratio(r.Low), ratio(r.High), r.Reason, r.Asks, r.Text,
		}, "\t") + "\n")
	}
	return b.String()
}

// With returns a copy of all rows in which those of one scenario are replaced, sorted by scenario.
func With(all []Row, scenario string, rows []Row) []Row {
	kept := slices.DeleteFunc(slices.Clone(all), func(r Row) bool { return r.Scenario == scenario })
	kept = append(kept, rows...)
	slices.SortStableFunc(kept, func(a, b Row) int { return cmp.Compare(a.Scenario, b.Scenario) })
	return kept
}

// ScenarioFile returns the file of a scenario in the tree at top: one that the binary has, one for a row of the logs, or one
// that lies beside a ready arm.
func ScenarioFile(top, name string) (string, error) {
	for _, dir := range []string{".", "logs", "arms/*"} {
		if files, err := filepath.Glob(filepath.Join(top, "loadtests", dir, name+".yaml")); err != nil || len(files) > 0 {
			return strings.Join(files, ", "), err
		}
	}
	return "", fmt.Errorf("%s.yaml lies neither in loadtests, nor in loadtests/logs, nor beside a ready arm", name)
}
