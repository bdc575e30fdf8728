package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"schedlab/internal/record"
)

// A breakdown is where the arms' time went, in seconds: on average, or in the
// slowest 1 %.
type breakdown struct {
	Title       string // to follow "where the time went"
	Caveat      string // why it means little, "" when it does not
	Names       []string
	Rows        []breakdownRow
	Differences []string // from the baseline, a sentence each
}

// title is Title with what speaks against the figures.
func (b breakdown) title() string {
	if b.Caveat == "" {
		return b.Title
	}
	return b.Title + " (" + b.Caveat + ")"
}

type breakdownRow struct {
	series
	Seconds []float64 // by name
	Sum     float64
}

// breakdowns are both tables, without the stretches no arm spent time in; nil
// when no arm was stamped.
func breakdowns(r *record.Result) []breakdown {
	if !slices.ContainsFunc(r.Arms, func(a record.Arm) bool { return len(a.Phases) > 0 }) {
		return nil
	}
	average := breakDown(r, "on average", func(p record.Phase) float64 { return p.Mean })
	tail := breakDown(r, "in the slowest 1"+nbsp+"% of requests, on average", func(p record.Phase) float64 { return p.Tail })
	average.Caveat = caveat(r)
	if average.Caveat == "" {
		average.Differences = differences(r)
	}
	tail.Caveat = average.Caveat
	if n := slowest(r); n < tailRequests {
		tail.Caveat = strings.TrimPrefix(fmt.Sprintf("%s; %s an arm at the least, too few to tell", tail.Caveat, plural(n, "request")), "; ")
	}
	return []breakdown{average, tail}
}

// tailRequests are how many slow requests a mean over them should have.
const tailRequests = 100

// slowest is the number of requests in the tail of the stamped arm with the fewest:
// one in a hundred of the good ones.
func slowest(r *record.Result) int {
	least := math.MaxInt
	for _, a := range r.Arms {
		if len(a.Phases) > 0 {
			least = min(least, (a.Requests-a.Errors+99)/100)
		}
	}
	return least
}

// legend says what the stretches of tables are, "" without tables.
func legend(tables []breakdown) string {
	var parts []string
	for _, st := range record.Stretches() {
		if slices.ContainsFunc(tables, func(b breakdown) bool { return slices.Contains(b.Names, st.Name) }) {
			parts = append(parts, st.Name+": "+st.What)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, "; ") + " (docs/timeline.md)"
}

func breakDown(r *record.Result, title string, of func(record.Phase) float64) breakdown {
	b := breakdown{Title: title}
	for i, s := range seriesOf(r.Arms) {
		if len(r.Arms[i].Phases) == 0 {
			continue
		}
		row := breakdownRow{series: s}
		for _, st := range record.Stretches() {
			sum := st.In(r.Arms[i].Phases, of)
			row.Seconds = append(row.Seconds, sum)
			row.Sum += sum
		}
		b.Rows = append(b.Rows, row)
	}
	for i, st := range record.Stretches() {
		if !slices.ContainsFunc(b.Rows, func(row breakdownRow) bool { return math.Abs(row.Seconds[i]) > negligible }) {
			continue
		}
		b.Names = append(b.Names, st.Name)
	}
	for i := range b.Rows {
		var kept []float64
		for k, st := range record.Stretches() {
			if slices.Contains(b.Names, st.Name) {
				kept = append(kept, b.Rows[i].Seconds[k])
			}
		}
		b.Rows[i].Seconds = kept
	}
	return b
}

// negligible is a mean time, in seconds, that no table shows a column for.
const negligible = 5e-9

// cells are the table of b: head, then a row for each arm, all in one unit.
func (b breakdown) cells() [][]string {
	var sums []float64
	for _, row := range b.Rows {
		sums = append(sums, row.Sum)
	}
	unit := timeScale(sums...)
	unit.decimals = min(unit.decimals+1, 3)
	table := [][]string{append(append([]string{"arm"}, b.Names...), "sum ("+unit.unit+")")}
	for _, row := range b.Rows {
		cells := []string{row.Name}
		for _, v := range append(slices.Clone(row.Seconds), row.Sum) {
			cells = append(cells, unit.number(v))
		}
		table = append(table, cells)
	}
	return table
}

// A stack is one arm's time as a bar of stretches.
type stack struct {
	series
	Y     px
	Bars  []bar
	Total string
	End   px // of the bars, where Total stands
}

type bar struct {
	Class   string // of the stretch's colour
	X, Wide px
	Title   string
}

// A stackChart draws a breakdown; its bars have one scale.
type stackChart struct {
	Title         string
	Width, Height px
	Left          px
	Stacks        []stack
	Legend        []stackLegend
	Differences   []string
	Head          []string
	Rows          [][]string
}

type stackLegend struct{ Class, Name, What string }

// stacks draws every breakdown.
func stacks(r *record.Result) (charts []stackChart) {
	for _, b := range breakdowns(r) {
		c := stackChart{Title: b.title(), Width: 640, Left: 10, Differences: b.Differences}
		longest := 0.0
		for _, row := range b.Rows {
			longest = max(longest, row.Sum)
		}
		scale := axis{low: 0, high: max(longest, 1e-9), from: c.Left, to: c.Width - 90}
		unit := timeScale(longest)
		for i, row := range b.Rows {
			s := stack{series: row.series, Y: px(14 + 40*i), Total: unit.format(row.Sum)}
			at := 0.0
			for k, v := range row.Seconds {
				if v <= 0 { // less than nothing cannot be drawn: the calibration is that far off
					continue
				}
				from, to := scale.at(at), scale.at(at+v)
				s.Bars = append(s.Bars, bar{stretchClass(b.Names[k]), from, to - from, fmt.Sprintf("%s: %s", b.Names[k], seconds(v))})
				at += v
			}
			s.End = scale.at(at)
			c.Stacks = append(c.Stacks, s)
		}
		c.Height = px(14 + 40*len(b.Rows))
		for _, st := range record.Stretches() {
			if slices.Contains(b.Names, st.Name) {
				c.Legend = append(c.Legend, stackLegend{stretchClass(st.Name), st.Name, st.What})
			}
		}
		table := b.cells()
		c.Head, c.Rows = table[0], table[1:]
		charts = append(charts, c)
	}
	return charts
}

func stretchClass(name string) string { return "s-" + strings.ReplaceAll(name, " ", "-") }

// coverage says of how many requests the servers did not tell.
func coverage(r *record.Result) string {
	var missing []string
	for _, a := range r.Arms {
		switch {
		case len(a.Phases) > 0 && a.Joined == 0:
			missing = append(missing, a.Name+": its server stamps nothing, so all between the client's write and the answer counts as the kernel's")
		case len(a.Phases) > 0 && a.Joined < 1:
			missing = append(missing, fmt.Sprintf("%s: %.3f %% of its requests were not accounted for by the server", a.Name, 100*(1-a.Joined)))
		}
	}
	return strings.Join(missing, "; ")
}
