package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"schedlab/internal/record"
)

// A curveChart is response time over percentile, one line per arm. Its x axis
// counts nines: -log10(1-q), so p90, p99 and p99.9 are equally far apart.
type curveChart struct {
	plot
	Lines []curveLine
	Log   bool
	Rows  [][]string // the same in figures, the head first
}

// A curveLine is one arm. Later lines are thinner, so that one that runs where
// an earlier one does leaves it visible on both sides.
type curveLine struct {
	series
	Path  string // SVG path data
	Width px
}

// curves draws the arms' distributions; nil when no arm has one.
func curves(arms []record.Arm) *curveChart {
	c := &curveChart{plot: plot{Width: 640, Height: 380, Left: 74, Right: 622, Top: 14, Bottom: 334}}
	var values []float64
	nines := 0.0
	for _, a := range arms {
		for _, p := range a.Curve {
			values = append(values, p.Seconds)
			nines = max(nines, ninesOf(p.Quantile))
		}
	}
	if nines == 0 {
		return nil
	}
	x := axis{low: 0, high: nines, from: c.Left, to: c.Right}
	y := timeAxis(values, c.Bottom, c.Top)
	c.Log, c.Y = y.log, y.timeTicks(6)
	c.Rows = [][]string{{"arm"}}
	marks := []float64{0, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9999, 0.99999}
	for _, q := range marks {
		if n := ninesOf(q); n <= nines+1e-9 {
			label := "p" + strconv.FormatFloat(q*100, 'g', -1, 64)
			minor := q == 0 || q == 0.75 || q == 0.95 || q == 0.995
			if q == 0 {
				label = "least"
			}
			c.X = append(c.X, tick{x.at(n), label, minor})
			c.Rows[0] = append(c.Rows[0], label)
		}
	}
	for i, s := range seriesOf(arms) {
		curve := arms[i].Curve
		if len(curve) == 0 {
			continue
		}
		var path strings.Builder
		for j, p := range curve {
			fmt.Fprintf(&path, "%c%s %s", "ML"[min(j, 1)], x.at(ninesOf(p.Quantile)), y.at(p.Seconds))
		}
		c.Lines = append(c.Lines, curveLine{s, path.String(), px(min(2.2+1.2*float64(len(arms)-1-i), 7))})
		row := []string{s.Name}
		for _, q := range marks[:len(c.X)] {
			row = append(row, along(curve, q))
		}
		c.Rows = append(c.Rows, row)
	}
	return c
}

// along reads a curve at quantile q, which is one of its points or beyond its end:
// a neighbour's time would be another quantile's.
func along(curve []record.Point, q float64) string {
	for _, p := range curve {
		if math.Abs(p.Quantile-q) < 1e-8 {
			return seconds(p.Seconds)
		}
	}
	return none
}

// ninesOf is how many nines q has; q of 1 and beyond counts as nine of them.
func ninesOf(q float64) float64 { return -math.Log10(max(1-q, 1e-9)) }
