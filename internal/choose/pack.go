package choose

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"schedlab/internal/judge"
	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// A Pack holds the verdicts of the experiments. The rows of one scenario are adjacent.
type Pack []Row

// A Row is one verdict of the pack, with its scenario and the commit that was measured.
type Row struct {
	Scenario, Commit string
	record.Verdict
}

// columns are the columns of the pack's file, which is tab-separated.
var columns = []string{"scenario", "commit", "metric", "arm", "baseline", "verdict", "ratio", "low", "high", "blocks", "reason"}

// Pairs returns the comparisons of a scenario that the cells need, without duplicates.
func Pairs(scenario string) (all []judge.Pair) {
	for _, c := range Cells(nil, nil) {
		for _, p := range pairs(c) {
			if c.Scenario == scenario && !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	return all
}

// Rows returns the rows of one scenario: the verdicts of its result r, and the verdicts on its
// Pairs. A verdict on one of the Pairs replaces a refused verdict of r.
func Rows(r *record.Result, pairs []record.Verdict) Pack {
	p := Pack{}
	for _, v := range append(slices.Clone(r.Verdicts), pairs...) {
		same := slices.IndexFunc(p, func(row Row) bool {
			return row.Metric == v.Metric && row.Arm == v.Arm && row.Baseline == v.Baseline
		})
		switch {
		case same < 0:
			p = append(p, Row{r.Scenario, r.Env.Version, v})
		case p[same].Verdict.Verdict == string(stats.Refused): // refused as a verdict of the result, but not as a figure of a cell
			p[same].Verdict = v
		}
	}
	return p
}

// String returns the text of the pack's file, with a header line. ParsePack reads it.
func (p Pack) String() string {
	var b strings.Builder
	b.WriteString(strings.Join(columns, "\t") + "\n")
	number := func(v float64) string {
		if v == 0 {
			return ""
		}
		return strconv.FormatFloat(v, 'g', 5, 64)
	}
	for _, r := range p {
		b.WriteString(strings.Join([]string{
			r.Scenario, r.Commit, r.Metric, r.Arm, r.Baseline, r.Verdict.Verdict, number(r.Ratio), number(r.Low), number(r.High),
			strconv.Itoa(r.Blocks), string(r.Reason.Code),
		}, "\t") + "\n")
	}
	return b.String()
}

// ParsePack reads the text of the pack's file.
func ParsePack(text string) (Pack, error) {
	in := csv.NewReader(strings.NewReader(text))
	in.Comma, in.FieldsPerRecord, in.LazyQuotes = '\t', len(columns), true
	lines, err := in.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("reading the pack's verdicts: %w", err)
	}
	if len(lines) == 0 || !slices.Equal(lines[0], columns) {
		return nil, fmt.Errorf("reading the pack's verdicts: the first line is not %s", strings.Join(columns, ", "))
	}
	var p Pack
	for i, line := range lines[1:] {
		var figures [4]float64 // ratio, low, high, blocks
		for k := range figures {
			if text := line[6+k]; text != "" {
				if figures[k], err = strconv.ParseFloat(text, 64); err != nil {
					return nil, fmt.Errorf("reading the pack's verdicts: line %d: %s: %w", i+2, columns[6+k], err)
				}
			}
		}
		v := record.Verdict{
			Metric: line[2], Primary: stats.MetricOf(line[2]).Primary, Arm: line[3], Baseline: line[4], Verdict: line[5],
			Ratio: figures[0], Low: figures[1], High: figures[2], Blocks: int(figures[3]),
		}
		if code := record.Code(line[10]); code != "" {
			v.Reason = record.Fact{Code: code, Arm: v.Arm, Baseline: v.Baseline, Metric: v.Metric}
		}
		p = append(p, Row{line[0], line[1], v})
	}
	return p, nil
}

// With returns a copy of the pack with the rows of one scenario replaced. Scenarios are in the
// order of their names.
func (p Pack) With(scenario string, rows Pack) Pack {
	all := slices.DeleteFunc(slices.Clone(p), func(r Row) bool { return r.Scenario == scenario })
	all = append(all, rows...)
	slices.SortStableFunc(all, func(a, b Row) int { return strings.Compare(a.Scenario, b.Scenario) })
	return all
}

// find returns the verdict on a pair and its commit. If the pack lacks it, the verdict's Verdict is "".
func (p Pack) find(scenario string, pair judge.Pair) (record.Verdict, string) {
	for _, r := range p {
		if r.Scenario == scenario && r.Metric == pair.Metric && r.Arm == pair.Arm && r.Baseline == pair.Baseline {
			return r.Verdict, r.Commit
		}
	}
	return record.Verdict{}, ""
}
