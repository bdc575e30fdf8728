package sizing

import (
	"fmt"
	"strings"

	"schedlab/internal/judge"
	"schedlab/internal/prose"
	"schedlab/internal/queueing"
	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// A Verification is the result of a test of the advice: a comparison of the advised number of
// workers with about a fifth fewer.
type Verification struct {
	Verdict string        `json:"verdict"` // AdviceRight, AdviceWrong or AdviceUndecided
	Why     record.Fact   `json:"why,omitzero"`
	Workers int           `json:"workers"`
	Fewer   int           `json:"fewer"`
	Advised judge.Keeping `json:"advised"`
	Less    judge.Keeping `json:"less"`
	Dir     string        `json:"dir"` // directory of the run's record
	Window  float64       `json:"window"`
	Doubts  []record.Fact `json:"doubts,omitempty"`
	slo     stats.SLO
}

// text returns the verification in lines: the verdict, the figures of each arm, doubts, and the record.
func (v *Verification) text() []string {
	lead := fmt.Sprintf("Advice %s: kept in %d of %d blocks at %d workers; broken in %d of %d at %d (%.0f %% fewer).",
		v.Verdict, v.Advised.Kept, v.Advised.Blocks, v.Workers, v.Less.Blocks-v.Less.Kept, v.Less.Blocks, v.Fewer, 100-100*float64(v.Fewer)/float64(v.Workers))
	if v.Advised.Blocks == 0 {
		lead = "Advice undecided: no block can be trusted."
	}
	if !v.Why.None() {
		lead += " " + v.Why.String() + "."
	}
	lines := []string{lead}
	for _, k := range []struct {
		workers int
		judge.Keeping
	}{{v.Workers, v.Advised}, {v.Fewer, v.Less}} {
		var figures []string
		for _, t := range v.slo {
			if f := k.Figures[t.Metric]; f != nil {
				figures = append(figures, fmt.Sprintf("%s %s (%s to %s)", t.Metric, termText(t, f.Median), termText(t, f.Low), termText(t, f.High)))
			}
		}
		if figures == nil {
			continue
		}
		spread := "95 % intervals"
		if stats.IntervalRank(k.Blocks, stats.Alpha) == 0 {
			spread = "extremes"
		}
		lines = append(lines, fmt.Sprintf("Measured with %s, medians over %s of %g s and their %s: %s.", prose.Plural(k.workers, "worker"), prose.Plural(k.Blocks, "block"), v.Window, spread, strings.Join(figures, ", ")))
	}
	for _, d := range v.Doubts {
		lines = append(lines, "Doubt of the test: "+d.String()+".")
	}
	return append(lines, "Record: "+v.Dir)
}

// termText formats a figure in the unit of its term.
func termText(t stats.Term, v float64) string {
	switch t.Metric {
	case "errors":
		return percentText(v)
	case "goodput":
		return prose.Digits(v) + "/s"
	}
	return timeText(v)
}

// Verify returns the verdict on the advice. kept[0] says how far the advised arm kept the SLO,
// kept[1] the arm with fewer workers.
func (a Answer) Verify(kept []judge.Keeping) *Verification {
	v := &Verification{
		Verdict: Judge(kept[0].Answer, kept[1].Answer), Workers: a.Advice.Workers, Fewer: queueing.Fewer(a.Advice.Workers),
		Advised: kept[0], Less: kept[1], slo: a.SLO,
	}
	if len(a.Demand.Samples) > 0 {
		v.Doubts = []record.Fact{{Code: sizeMix, Values: record.Values{"share": 1 - TestedUpTo}}}
	}
	switch {
	case kept[0].Answer == record.Failed:
		v.Why = record.Fact{Code: sizeTooFew, Values: record.Values{"workers": float64(v.Workers)}}
	case kept[1].Answer == record.Passed:
		v.Why = record.Fact{Code: sizeFewerDo, Values: record.Values{"workers": float64(v.Fewer)}}
	case v.Verdict == AdviceUndecided:
		workers, open := v.Workers, kept[0]
		if open.Answer.Decided() {
			workers, open = v.Fewer, kept[1]
		}
		v.Why = record.Fact{Code: sizeOpen, Values: record.Values{"workers": float64(workers)}, Because: []record.Fact{open.Reason}}
	}
	return v
}
