package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"schedlab/internal/record"
	"schedlab/internal/report/document"
	"schedlab/internal/stats"
)

// Sizes of the forest plot, in px.
const (
	forestWidth  = 320
	forestMargin = 22
)

// A forest is the verdicts with their intervals on one axis of ratios to the baseline. The axis
// is logarithmic, so twice and half are equally far from 1.
type forest struct {
	X      axis
	Groups []forestGroup
}

// A forestGroup is the verdicts on one arm, or the A/A control.
type forestGroup struct {
	series
	Control bool
	Rows    []forestRow
}

// A forestRow is one verdict. It is drawn unless it was refused.
type forestRow struct {
	record.Verdict
	Word, Class string  // of the verdict; the class tells whether the arm is better
	Same        float64 // the ratio up to which two arms count as the same
	Drawn       bool
	Note        string // the number of blocks, or why nothing is drawn
}

// forestOf returns the forest of all verdicts, with the A/A control last.
func forestOf(r *record.Result) forest {
	f := forest{X: ratioAxis(slices.Concat(r.Verdicts, r.AA))}
	classes := map[string]string{}
	for _, s := range seriesOf(r.Arms) {
		classes[s.Name] = s.Class
	}
	for i, groups := range [][][]record.Verdict{byArm(r.Verdicts), byArm(r.AA)} {
		for _, group := range groups {
			g := forestGroup{series: series{group[0].Arm, classes[group[0].Arm]}, Control: i == 1}
			g.Rows = each(group, func(v record.Verdict) forestRow { return forestRowOf(v, g.Control) })
			f.Groups = append(f.Groups, g)
		}
	}
	return f
}

// forestRowOf returns the row of a verdict. For the A/A control the words are CLEAN and NOT
// CLEAN.
func forestRowOf(v record.Verdict, control bool) forestRow {
	row := forestRow{Verdict: v, Word: string(v.Verdict), Class: string(v.Verdict), Same: 1 + stats.MetricOf(v.Metric).Same, Drawn: v.Low > 0 && v.Ratio > 0 && v.High > 0}
	switch {
	case v.Better():
		row.Class = string(stats.Faster)
	case v.Worse():
		row.Class = string(stats.Slower)
	}
	switch {
	case row.Drawn && control:
		row.Word, row.Class, row.Note = "NOT CLEAN", "NOT-CLEAN", plural(v.Blocks, "block")
		if !differs(v) {
			row.Word, row.Class = "CLEAN", "CLEAN"
		}
	case !row.Drawn && !v.Reason.None():
		row.Note = reason(v)
	case v.Lean != "":
		row.Note = "leans " + lean(v)
	case !row.Drawn && v.Needed > 0:
		row.Note = "needs " + plural(v.Needed, "block")
	case !row.Drawn:
		row.Note = reason(v)
	case v.Worse():
		row.Note = wins(v.Lost, v.Blocks, "worse")
	case v.Verdict == stats.Inconclusive && v.Needed > mostBlocks:
		row.Note = hopelessly(v.Needed)
	case v.Verdict == stats.Inconclusive && v.Needed > 0:
		row.Note = "needs about " + plural(v.Needed, "block")
	case v.Better() || v.Verdict == stats.Inconclusive:
		row.Note = wins(v.Won, v.Blocks, "better")
	default:
		row.Note = plural(v.Blocks, "block")
	}
	return row
}

// wins returns "better in 9 of 10 blocks".
func wins(n, of int, word string) string {
	return word + " in " + count(n) + " of " + plural(of, "block")
}

// ratioAxis returns an axis that covers every interval and at least ±25 %, at most a
// thousandfold, and ends at round ratios.
func ratioAxis(verdicts []record.Verdict) axis {
	low, high := 0.8, 1.25
	for _, v := range verdicts {
		if v.Low > 0 && v.High > 0 {
			low, high = min(low, v.Low), max(high, v.High)
		}
	}
	round := func(ratio float64) float64 {
		for _, r := range []float64{1.25, 1.5, 2, 3, 5, 10, 100} {
			if ratio <= r*1.001 {
				return r
			}
		}
		return 1000
	}
	x := axis{low: 1 / round(1/low) / 1.02, high: round(high) * 1.02, From: forestMargin, To: forestWidth - forestMargin, log: true}
	x.Ticks = ratioTicks(x)
	return x
}

// ratioTicks returns ticks at ratio 1 and at round ratios, with room between the labels.
func ratioTicks(x axis) []tick {
	const room = 46
	ticks := []tick{{x.At(1), "same", false}}
	for _, v := range []float64{2, 0.5, 1.5, 1.25, 0.8, 10, 0.1, 5, 0.2, 3, 100, 0.01, 1.1, 0.9} {
		if v < x.low || v > x.high {
			continue
		}
		at := x.At(v)
		free := true
		for _, t := range ticks {
			free = free && math.Abs(float64(t.At-at)) >= room
		}
		if free {
			ticks = append(ticks, tick{at, change(v), true})
		}
	}
	return ticks
}

// control tells how one metric of the baseline differs from its own copy.
func control(v record.Verdict) string {
	label := stats.MetricOf(v.Metric).Label
	if !judgedControl(v) {
		return fmt.Sprintf("%s not judged: %s", label, reason(v))
	}
	if v.Low == 0 {
		return fmt.Sprintf("%s %s (no interval yet)", label, change(v.Ratio))
	}
	return fmt.Sprintf("%s %s (%s)", label, change(v.Ratio), between(v))
}

// judgedControl reports whether an A/A comparison has a result.
func judgedControl(v record.Verdict) bool { return v.Verdict != stats.Refused }

// controls describes the A/A comparison in one sentence.
func controls(aa []record.Verdict) string {
	if len(aa) == 0 {
		return "no A/A control was run"
	}
	if why := oneReason(aa); why != "" {
		return fmt.Sprintf("%s against its own copy: not judged: %s", aa[0].Baseline, why)
	}
	finding := "none differs by what a verdict needs, as it must"
	if bad := unclean(aa); len(bad) > 0 {
		finding = fmt.Sprintf("NOT CLEAN for %s, and only a difference beyond that stands", strings.Join(bad, ", "))
	}
	return fmt.Sprintf("%s against its own copy: %s; %s", aa[0].Baseline, strings.Join(each(aa, control), ", "), finding)
}

// unclean lists the metrics at which the baseline differs from its own copy.
func unclean(aa []record.Verdict) []string {
	return each(only(aa, differs), func(v record.Verdict) string { return stats.MetricOf(v.Metric).Label })
}

// expectations returns the scenario's assertions and their answers.
func expectations(r *record.Result) document.Part {
	return document.Section{
		ID: "expectations", Title: "Expectations", About: tally(r.Expectations), Parts: []document.Part{answers(r)},
		Lead: "One fails only when the blocks are sure of it. It is open when they say neither, and REFUSED when what it speaks of was disturbed or is not there.",
	}
}

// tally counts the answers in a sentence; "" when nothing was expected.
func tally(all []record.Expectation) string {
	if len(all) == 0 {
		return ""
	}
	n := map[record.Answer]int{}
	for _, e := range all {
		n[e.Outcome]++
	}
	return fmt.Sprintf("%s: %d passed, %d failed, %d open, %d refused", plural(len(all), "expectation"), n[record.Passed], n[record.Failed], n[record.Undecided], n[record.NoAnswer])
}
