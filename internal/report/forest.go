package report

import (
	"math"
	"slices"
	"strings"

	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// The forest's own units: one row of the plot, and the axis above them all.
const (
	forestWidth  = 320
	forestMargin = 22
)

// A forest is the verdicts with their intervals on one axis of ratios to the
// baseline, logarithmic, so that twice and half are equally far from 1.
type forest struct {
	One    px
	Ticks  []tick
	Groups []forestGroup
}

// A forestGroup is one arm's verdicts, or the A/A control.
type forestGroup struct {
	series
	Control bool
	Rows    []forestRow
}

// A forestRow is one verdict, drawn unless it was refused.
type forestRow struct {
	Metric, Verdict  string
	kind             string // of verdict
	Primary, Drawn   bool
	BandLow, BandEnd px // where SAME lies
	Low, High, At    px
	Change, Between  string
	Blocks           string
	Sentence         string
	Reason           string
}

// Class is the kind of verdict as a CSS class.
func (r forestRow) Class() string { return strings.ReplaceAll(r.kind, " ", "-") }

// BandWidth is the width of the band of SAME.
func (r forestRow) BandWidth() px { return r.BandEnd - r.BandLow }

// plant lays the verdicts out, the A/A control last.
func plant(r *record.Result) forest {
	judged := slices.Concat(r.Verdicts, r.AA)
	x := ratioAxis(judged)
	f := forest{One: x.at(1), Ticks: ratioTicks(x)}
	classes := map[string]series{}
	for _, s := range seriesOf(r.Arms) {
		classes[s.Name] = s
	}
	for i, group := range slices.Concat(byArm(r.Verdicts), byArm(r.AA)) {
		g := forestGroup{series: classes[group[0].Arm]}
		g.Name = group[0].Arm
		g.Control = i >= len(byArm(r.Verdicts))
		for _, v := range group {
			row := forestRowOf(v, x)
			if g.Control && row.Drawn {
				row.Verdict, row.Blocks = "NOT CLEAN", plural(v.Blocks, "block")
				if clean(v) {
					row.Verdict = "CLEAN"
				}
				row.kind = row.Verdict
			}
			g.Rows = append(g.Rows, row)
		}
		f.Groups = append(f.Groups, g)
	}
	return f
}

func forestRowOf(v record.Verdict, x axis) forestRow {
	m := find(v.Metric)
	d := forestRow{Metric: m.label, Verdict: m.word(v.Verdict), kind: string(m.Decision(v.Verdict)), Primary: v.Primary, Reason: v.Reason.String(), Sentence: sentence(v)}
	if !(v.Low > 0 && v.Ratio > 0 && v.High > 0) {
		if d.Reason = reason(v); v.Reason.None() && v.Lean != "" {
			d.Reason = "leans " + lean(v)
		} else if v.Reason.None() && v.Needed > 0 {
			d.Reason = "needs " + plural(v.Needed, "block")
		}
		return d
	}
	d.Drawn = true
	d.BandLow, d.BandEnd = x.at(1/(1+m.Same)), x.at(1+m.Same)
	d.Low, d.At, d.High = x.at(v.Low), x.at(v.Ratio), x.at(v.High)
	d.Change, d.Between = change(v.Ratio), between(v)
	switch m.Decision(v.Verdict) {
	case stats.Faster:
		d.Blocks = wins(v.Won, v.Blocks, "better")
	case stats.Slower:
		d.Blocks = wins(v.Lost, v.Blocks, "worse")
	case stats.Inconclusive:
		switch {
		case v.Lean != "":
			d.Blocks = "leans " + lean(v)
		case v.Needed > mostBlocks:
			d.Blocks = hopelessly(v.Needed)
		case v.Needed > 0:
			d.Blocks = "needs about " + plural(v.Needed, "block")
		default:
			d.Blocks = wins(v.Won, v.Blocks, "better")
		}
	default:
		d.Blocks = plural(v.Blocks, "block")
	}
	return d
}

func wins(n, of int, word string) string {
	return word + " in " + count(n) + " of " + plural(of, "block")
}

// ratioAxis spans every interval and at least ±25 %, within a thousandfold.
func ratioAxis(verdicts []record.Verdict) axis {
	low, high := 0.8, 1.25
	for _, v := range verdicts {
		if v.Low > 0 && v.High > 0 {
			low, high = min(low, v.Low), max(high, v.High)
		}
	}
	for _, round := range []float64{1.25, 1.5, 2, 3, 5, 10, 100, 1000} { // end at a round ratio
		if 1/low <= round*1.001 {
			low = 1 / round
			break
		}
	}
	for _, round := range []float64{1.25, 1.5, 2, 3, 5, 10, 100, 1000} {
		if high <= round*1.001 {
			high = round
			break
		}
	}
	low, high = max(low, 1e-3), min(high, 1e3)
	return axis{low / 1.02, high * 1.02, forestMargin, forestWidth - forestMargin, true}
}

// ratioTicks marks no difference and round ones with room between the labels.
func ratioTicks(x axis) []tick {
	const room = 46
	ticks := []tick{{x.at(1), "same", false}}
	for _, v := range []float64{2, 0.5, 1.5, 1.25, 0.8, 10, 0.1, 5, 0.2, 3, 100, 0.01, 1.1, 0.9} {
		if v < x.low || v > x.high {
			continue
		}
		at := x.at(v)
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
