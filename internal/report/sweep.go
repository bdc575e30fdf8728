package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"schedlab/internal/record"
)

// A sweepChart is one figure over the values of one varied factor, a line for
// each family of arms.
type sweepChart struct {
	plot
	Factor, Label string
	Lines         []sweepLine
	Log           bool // of either axis
}

type sweepLine struct {
	series
	Path   string // SVG path data
	Points []sweepPoint
}

type sweepPoint struct {
	X, Y px
	Text string
}

// A sweptArm has a value of the factor.
type sweptArm struct {
	line, value string
	arm         *record.Arm
}

// sweeps draws p50, p99, goodput and CPU per request over every factor with two
// values or more.
func sweeps(r *record.Result) (charts []sweepChart) {
	var factors []string
	for _, a := range r.Arms {
		for _, l := range a.Levels {
			if !slices.Contains(factors, l.Factor) {
				factors = append(factors, l.Factor)
			}
		}
	}
	for _, factor := range factors {
		arms := levelled(r, factor)
		for _, m := range metrics() {
			if m.name == "p90" {
				continue
			}
			if c := sweep(factor, m, arms); c != nil {
				charts = append(charts, *c)
			}
		}
	}
	return charts
}

// levelled lists the arms that have a value of the factor; the line they belong
// to is their family with their values of other factors.
func levelled(r *record.Result, factor string) (all []sweptArm) {
	for i := range r.Arms {
		a := &r.Arms[i]
		s := sweptArm{line: a.Family, arm: a}
		for _, l := range a.Levels {
			if l.Factor == factor {
				s.value = l.Value
			} else {
				s.line += "," + l.Factor + "=" + l.Value
			}
		}
		if s.value != "" {
			all = append(all, s)
		}
	}
	return all
}

// quantityOf reads a factor's value as a number: 16, 500/s, 0.7x, 20ms.
func quantityOf(value string) (float64, bool) {
	if d, err := time.ParseDuration(value); err == nil {
		return d.Seconds(), true
	}
	v, err := strconv.ParseFloat(strings.TrimRight(value, "/sx"), 64)
	return v, err == nil
}

// sweep draws one metric over a factor.
func sweep(factor string, m metric, arms []sweptArm) *sweepChart {
	measured := func(a *record.Arm) *float64 {
		if v := m.value(a); v != nil && (*v != 0 || m.unit != "s") {
			return v
		}
		return nil
	}
	c := &sweepChart{Factor: factor, Label: m.label, plot: plot{Width: 420, Height: 260, Left: 74, Right: 400, Top: 14, Bottom: 216}}
	var values []string
	var figures []float64
	for _, a := range arms {
		if !slices.Contains(values, a.value) {
			values = append(values, a.value)
		}
		if v := measured(a.arm); v != nil {
			figures = append(figures, *v)
		}
	}
	if len(values) < 2 || len(figures) < 2 {
		return nil
	}
	place, x := places(values, c.Left+14, c.Right-14)
	for _, v := range values {
		c.X = append(c.X, tick{At: place[v], Label: v})
	}
	thin(c.X)
	y := timeAxis(figures, c.Bottom, c.Top)
	if m.unit == "s" {
		c.Y = y.timeTicks(5)
	} else {
		c.Y = y.rateTicks(5)
	}
	c.Log = y.log || x.log
	for _, a := range arms {
		v := measured(a.arm)
		if v == nil {
			continue
		}
		i := slices.IndexFunc(c.Lines, func(l sweepLine) bool { return l.Name == a.line })
		if i < 0 {
			i = len(c.Lines)
			c.Lines = append(c.Lines, sweepLine{series: series{Name: a.line, Class: "c" + strconv.Itoa(i%7)}})
		}
		l := &c.Lines[i]
		at := sweepPoint{place[a.value], y.at(*v), fmt.Sprintf("%s, %s %s: %s", a.line, factor, a.value, m.text(*v))}
		l.Points = append(l.Points, at)
	}
	for i := range c.Lines {
		c.Lines[i].join()
	}
	return c
}

// digit is about the width of one, in a sweep's own units.
const digit = 7

// thin takes the labels away that would run into the next one to the right.
func thin(ticks []tick) {
	slices.SortStableFunc(ticks, func(a, b tick) int { return cmp.Compare(b.At, a.At) })
	free := px(math.Inf(1))
	for i := range ticks {
		half := px(digit * float64(len(ticks[i].Label)) / 2)
		if ticks[i].At+half > free {
			ticks[i].Label = ""
			continue
		}
		free = ticks[i].At - half
	}
	slices.Reverse(ticks)
}

// join makes the line from the left to the right, in whatever order the arms stand.
func (l *sweepLine) join() {
	slices.SortStableFunc(l.Points, func(a, b sweepPoint) int { return cmp.Compare(a.X, b.X) })
	for i, p := range l.Points {
		l.Path += fmt.Sprintf("%c%s %s", "ML"[min(i, 1)], p.X, p.Y)
	}
}

// text writes one value of the metric.
func (m metric) text(v float64) string {
	if m.unit == "s" {
		return seconds(v)
	}
	return rate(v)
}

// places puts values between two ends: numbers where they belong, by logarithm
// when they spread over eightfold; words at equal distances.
func places(values []string, from, to px) (at map[string]px, a axis) {
	numbers := make([]float64, len(values))
	numeric := true
	for i, v := range values {
		var ok bool
		numbers[i], ok = quantityOf(v)
		numeric = numeric && ok
	}
	if !numeric {
		for i := range numbers {
			numbers[i] = float64(i)
		}
	}
	a = axis{low: slices.Min(numbers), high: slices.Max(numbers), from: from, to: to}
	a.log = numeric && a.low > 0 && a.high/a.low > 8
	if a.low == a.high {
		a.high++
	}
	at = map[string]px{}
	for i, v := range values {
		at[v] = a.at(numbers[i])
	}
	return at, a
}

// rateTicks marks round rates, about n of them.
func (a axis) rateTicks(n int) (ticks []tick) {
	label := func(v float64) string { return group(strconv.FormatFloat(v, 'f', -1, 64)) }
	if a.log {
		for decade := math.Pow(10, math.Floor(math.Log10(a.low))); decade <= a.high; decade *= 10 {
			if decade >= a.low {
				ticks = append(ticks, tick{At: a.at(decade), Label: label(decade)})
			}
		}
		return ticks
	}
	step := roundStep((a.high - a.low) / float64(n))
	for i := math.Ceil(a.low / step); i*step <= a.high; i++ {
		ticks = append(ticks, tick{At: a.at(i * step), Label: label(i * step)})
	}
	return ticks
}
