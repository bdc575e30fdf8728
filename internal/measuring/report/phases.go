package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"schedlab/internal/measuring/report/chart"
	"schedlab/internal/measuring/report/document"
	"schedlab/internal/measuring/report/say"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
	"schedlab/internal/shared/timeline"
)

// A breakdown is the arms' times by stretch, on average or in the slowest 1 %. It becomes both a table (cells)
// and a drawing (stackOf).
//
// This file has the parts of a report about causes of time: the breakdowns, and the comparison
// with ideal schedulers (twins). Client and server stamp each request on one clock; a timeline.Phase is
// the mean time between two stamps, and a timeline.Stretch is phases that a reader takes as one.
type breakdown struct {
	Stretches []timeline.Stretch // in which an arm spent time, in the order in which a request passes them
	Rows      []breakdownRow
}

// overBlocks describes the figures of a table: "medians over the blocks" or, with a caveat about the run, "medians of 3 blocks,
// too few for a finding". few is a caveat about these figures alone, "" for none.
func overBlocks(figures string, r *record.Comparison, few string) string {
	text := figures + " " + cmp.Or(caveat(r), "over the blocks")
	if few != "" {
		text += "; " + few
	}
	return text
}

// A breakdownRow is one arm's times in seconds. Sum adds them up: on average it is the arm's mean response
// time, because the parts leave nothing out.
type breakdownRow struct {
	Name    string
	Seconds map[string]float64 // by the stretch's name; the time of a server without stamps is in unsplit
	Sum     float64
}

// unsplit is the stretch for the time in servers that stamp nothing, such as other people's
// programs. Only the client stamps their requests.
var unsplit = timeline.Stretch{
	Name: "server and kernel",
	What: "of a server that stamps nothing, all between the client's write and the end of the answer, which cannot be split",
}

// stretches returns all stretches in the order in which a request passes them, with unsplit as the second.
func stretches() []timeline.Stretch { return slices.Insert(timeline.Stretches(), 1, unsplit) }

// breakDown returns the times of the stamped arms. of selects the figure of a phase, in seconds. If the server of an arm stamps
// nothing, all time but the client's own stretch, the first, is unsplit. breakDown drops stretches in which no arm spent time.
func breakDown(arms []record.Arm, of func(timeline.Phase) float64) (b breakdown) {
	for _, a := range arms {
		if stamped(a) {
			b.Rows = append(b.Rows, breakdownRowOf(a, of))
		}
	}
	for _, st := range stretches() {
		if slices.ContainsFunc(b.Rows, func(row breakdownRow) bool { return math.Abs(row.Seconds[st.Name]) > say.Negligible }) {
			b.Stretches = append(b.Stretches, st)
		}
	}
	return b
}

// breakdownRowOf returns the times of one stamped arm.
func breakdownRowOf(a record.Arm, of func(timeline.Phase) float64) breakdownRow {
	row := breakdownRow{Name: a.Name, Seconds: map[string]float64{}}
	for i, st := range timeline.Stretches() {
		name := st.Name
		if a.Joined <= 0 && i > 0 {
			name = unsplit.Name
		}
		row.Seconds[name] += st.In(a.Phases, of)
		row.Sum += st.In(a.Phases, of)
	}
	return row
}

// stamped reports whether an arm's requests were stamped, by the client at least.
func stamped(a record.Arm) bool { return len(a.Phases) > 0 }

// TimeParts returns the table of the parts of one arm's good requests, on average and in the slowest 1 %; an empty part if
// nothing was stamped. Without stamps of the server only the client's own part is known.
func TimeParts(a record.Arm) document.Part {
	if !stamped(a) {
		return document.Section{}
	}
	b := breakDown([]record.Arm{a}, func(p timeline.Phase) float64 { return p.Mean })
	tail := breakDown([]record.Arm{a}, func(p timeline.Phase) float64 { return p.Tail })
	b.Rows[0].Name, tail.Rows[0].Name = "on average", "in the slowest 1"+say.NBSP+"%"
	b.Rows = append(b.Rows, tail.Rows[0])
	table := b.cells()
	table[0][0] = ""
	return document.Table{Rows: table}
}

// tailRequests is the smallest number of slow requests with a useful mean. With fewer, a single stall decides it.
const tailRequests = 100

// slowest returns the smallest number of requests in the tail of a stamped arm; the largest int if no arm is stamped. The tail is
// one in a hundred good requests, rounded up.
func slowest(r *record.Comparison) int {
	fewest := math.MaxInt
	for _, a := range r.Arms {
		if stamped(a) {
			fewest = min(fewest, (a.Requests-a.Errors+99)/100)
		}
	}
	return fewest
}

// cells returns the table of b: the head, then a row for each arm with its times and their sum.
// All cells are in one unit, by the sums, so that a reader can add them up.
func (b breakdown) cells() [][]string {
	var sums []float64
	for _, row := range b.Rows {
		sums = append(sums, row.Sum)
	}
	unit := say.TimeScale(sums...)
	unit.Decimals = min(unit.Decimals+1, 3) // one more than usual shows the small stretches
	fields := []field[breakdownRow]{{"arm", nil, func(row breakdownRow) string { return row.Name }}}
	for _, st := range b.Stretches {
		fields = append(fields, field[breakdownRow]{st.Name, nil, func(row breakdownRow) string {
			if v, ok := row.Seconds[st.Name]; ok {
				return unit.Number(v)
			}
			return say.None
		}})
	}
	sum := field[breakdownRow]{"sum (" + unit.Unit + ")", nil, func(row breakdownRow) string { return unit.Number(row.Sum) }}
	return rows(b.Rows, append(fields, sum)...)
}

// breakdownParts returns a section for each breakdown: on average, and in the slowest 1 %. The second has the legend of both, and
// the share of requests without stamps of the server.
func breakdownParts(r *record.Comparison) []document.Part {
	if !slices.ContainsFunc(r.Arms, stamped) {
		return nil
	}
	section := func(id, title, few string, b breakdown, notes ...document.Part) document.Part {
		return document.Section{
			ID: id, Title: "Where the time went " + title, About: overBlocks("means", r, few),
			Lead:  "Stamps of client and server on one clock, request by request; the parts add up to the response time exactly.",
			Parts: append([]document.Part{document.Charts{stackOf(b, title+" ("+overBlocks("means", r, few)+")")}}, notes...),
		}
	}
	average := breakDown(r.Arms, func(p timeline.Phase) float64 { return p.Mean })
	tail := breakDown(r.Arms, func(p timeline.Phase) float64 { return p.Tail })
	few := ""
	if n := slowest(r); n < tailRequests {
		few = say.Plural(n, "request") + " an arm at the least, too few to tell"
	}
	legend := meanings(slices.Concat(average.Stretches, tail.Stretches)) + " (docs/reference/timeline.md)"
	return []document.Part{
		section("phases-1", "on average", "", average, differencesOnAverage(r)),
		section("phases-2", "in the slowest 1"+say.NBSP+"% of requests, on average", few, tail, document.Note(legend), unaccounted(r.Arms)),
	}
}

// differencesOnAverage describes how the arms' mean times differ; nil with a caveat, because they would read as findings.
func differencesOnAverage(r *record.Comparison) (told document.Lines) {
	if caveat(r) != "" {
		return nil
	}
	for _, d := range r.Differences {
		if !d.Tail {
			told = append(told, difference(d))
		}
	}
	return told
}

// meanings explains the stretches of the breakdowns, each once, in the order in which a request passes them.
func meanings(shown []timeline.Stretch) string {
	var all []string
	for _, st := range stretches() {
		if slices.ContainsFunc(shown, func(of timeline.Stretch) bool { return of.Name == st.Name }) {
			all = append(all, st.Name+": "+st.What)
		}
	}
	return strings.Join(all, "; ")
}

// unaccounted tells which share of an arm's requests lacks the server's stamps.
func unaccounted(arms []record.Arm) document.Note {
	var all []string
	for _, a := range arms {
		if stamped(a) && a.Joined > 0 && a.Joined < 1 {
			all = append(all, fmt.Sprintf("%s: %.3f %% of its requests were not accounted for by the server", a.Name, 100*(1-a.Joined)))
		}
	}
	return document.Note(strings.Join(all, "; "))
}

// stackOf draws one breakdown, with a bar of stretches for each arm, all on one scale. In a
// text it is the table. title follows "where the time went".
func stackOf(b breakdown, title string) document.Chart {
	const roomy = .09 // of the longest bar: room for a figure on paper
	longest := 0.0
	for _, row := range b.Rows {
		longest = max(longest, row.Sum)
	}
	c := chart.BarChart{Label: "Where the time went " + title + ", one bar per arm", Scale: chart.Axis{High: max(longest, 1e-9), From: 0, To: 82}}
	for _, row := range b.Rows {
		bars := chart.Row{Name: row.Name, Total: say.TimeScale(longest).Format(row.Sum)}
		at := 0.0
		for _, st := range b.Stretches {
			if v := row.Seconds[st.Name]; v > 0 { // a negative time, an error of the calibration, cannot be drawn
				bar := chart.Bar{Class: chart.StretchClass(st.Name), Title: st.Name + ": " + say.Seconds(v), From: at, To: at + v}
				if v >= roomy*longest {
					bar.Figure = say.Seconds(v)
				}
				bars.Bars = append(bars.Bars, bar)
				at += v
			}
		}
		c.Rows = append(c.Rows, bars)
	}
	drawn := document.Chart{Picture: c.SVG(), Instead: []document.Part{document.Table{Rows: b.cells()}}}
	for _, st := range b.Stretches {
		// What no bar has is not in the legend.
		if slices.ContainsFunc(b.Rows, func(row breakdownRow) bool { return row.Seconds[st.Name] > 0 }) {
			drawn.Keys = append(drawn.Keys, document.Key{Class: chart.StretchClass(st.Name), Name: st.Name})
		}
	}
	return drawn
}

// difference describes one difference of two arms' mean times in a sentence, its largest pieces
// first. Pieces that are not sure are summed up as the rest.
func difference(d record.Difference) string {
	unit := say.TimeScale(math.Abs(d.By))
	var told []string
	rest := d.By
	for _, p := range slices.SortedStableFunc(slices.Values(d.Pieces), func(a, b record.Piece) int { return cmp.Compare(math.Abs(b.By), math.Abs(a.By)) }) {
		stretch := p.Stretch
		if stretch == "interference" { // in words for readers who have not seen the legend
			stretch = "the handler held up by others or a late timer"
		}
		told, rest = append(told, stretch+" "+unit.Signed(p.By)), rest-p.By
	}
	switch {
	case told == nil:
		// The whole difference is sure, but each piece of it is too uncertain.
		told = []string{"in which part is not decided"}
	case math.Abs(rest) > say.Negligible:
		told = append(told, "the rest "+unit.Signed(rest))
	}
	// "slower" and "faster" carry the sign, so the ends are without it, the smaller first.
	low, high := math.Abs(d.Low), math.Abs(d.High)
	between := unit.Format(min(low, high)) + " to " + unit.Format(max(low, high))
	// A few blocks with long queues can make most of a mean, and the answer's figures are medians.
	if d.Middle != 0 && (d.By/d.Middle > 1.5 || d.By/d.Middle < 0) {
		between += "; " + unit.Signed(d.Middle) + " in the middle one of the blocks"
	}
	way, requests := "slower", "on average"
	if d.By < 0 {
		way = "faster"
	}
	if d.Tail {
		requests = "in the slowest 1" + say.NBSP + "%"
	}
	return fmt.Sprintf("%s is %s %s %s than %s (%s): %s", d.Arm, unit.Format(math.Abs(d.By)), way, requests, d.Baseline, between, strings.Join(told, ", "))
}

// lossText formats a loss, a ratio, in per cent with two digits. No run has enough requests to measure
// a loss below one in a million.
func lossText(v float64) string {
	if v > 0 && v < 1e-6 {
		return "~0" + say.NBSP + "%"
	}
	return say.Percent("%.2g", v)
}

// twins compares every arm with an ideal scheduler of its kind that serves the same requests. The table splits the measured mean
// into the ideal mean, the overhead, and the rest; see record.Twin. It leaves out the measured mean, because that median of the
// blocks' means differs from the mean elsewhere on the page.
func twins(r *record.Comparison) document.Part {
	with, notes := withTwins(choices(r.Arms))
	var times []float64
	for _, a := range with {
		times = append(times, max(a.Twin.Ideal.Median, a.Twin.Measured.Median))
	}
	unit := say.TimeScale(times...)
	of := func(head string, figure func(w *record.Twin) string) armField {
		return armField{head, nil, func(a record.Arm) string { return figure(a.Twin) }}
	}
	tail := func(head string, of func(w *record.Twin) *stats.Spread) armField {
		return optional(head, func(a record.Arm) *stats.Spread { return of(a.Twin) }, func(s stats.Spread) string { return say.Seconds(s.Median) })
	}
	loss := func(head string, of func(w *record.Twin) *stats.Spread) armField {
		return positive(head, func(a record.Arm) float64 { return cmp.Or(of(a.Twin), &stats.Spread{Median: -1}).Median }, lossText)
	}
	table := rows(with, armField{"arm", nil, name},
		of("ideal ("+unit.Unit+")", func(w *record.Twin) string { return unit.Number(w.Ideal.Median) }),
		of("overhead", func(w *record.Twin) string { return unit.Plus(w.Overhead.Median) }),
		of("the rest", func(w *record.Twin) string { return unit.Plus(w.Interference.Median) }),
		of("95"+say.NBSP+"% interval", func(w *record.Twin) string {
			return unit.Plus(w.Interference.Low) + " to " + unit.Plus(w.Interference.High)
		}),
		of("CPU beyond", func(w *record.Twin) string { return say.Seconds(w.Beyond.Median) }),
		tail("twin's p99", func(w *record.Twin) *stats.Spread { return w.P99 }),
		tail("measured p99", func(w *record.Twin) *stats.Spread { return w.MeasuredP99 }),
		loss("twin's loss", func(w *record.Twin) *stats.Spread { return w.Loss }),
		loss("measured loss", func(w *record.Twin) *stats.Spread { return w.MeasuredLoss }),
	)
	legend := ""
	if len(with) > 0 {
		legend = "ideal: mean response time with the demands alone; overhead: what the server's CPU time beyond them adds, the longer queue included; " +
			"the rest, with its interval: what was measured beyond both, interference of kernel, run queue, network, load and platform; " +
			"times are of the requests that were not turned away; " +
			"each block's figures add up, their medians, column by column, only nearly (docs/reference/queueing.md)"
	}
	return document.Section{
		ID: "twin", Title: "Against the ideal twin", About: overBlocks("medians", r, ""),
		Lead:  "Each arm beside its own requests in an ideal scheduler of its kind, block by block.",
		Parts: []document.Part{document.Table{Rows: table}, notes, document.Note(legend)},
	}
}

// withTwins returns the arms that have a twin with figures. notes tell why an arm has no twin, or what to know about its twin.
func withTwins(arms []record.Arm) (with []record.Arm, notes document.Lines) {
	for _, a := range arms {
		switch {
		case a.Twin == nil:
		case a.Twin.Mean == nil:
			notes = append(notes, a.Name+": no twin: "+a.Twin.Why.String())
		default:
			with = append(with, a)
			if a.Twin.Note != "" {
				notes = append(notes, a.Name+": "+a.Twin.Note)
			}
		}
	}
	return with, notes
}
