package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"schedlab/internal/measuring/report/document"
	"schedlab/internal/measuring/report/say"
	"schedlab/internal/shared/prose"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// cells formats one metric of every arm, in the order of arms, as one column: times in one
// unit, anything else per second. An arm without the figure has a dash.
//
// This file builds tables for all reports from fields.
func cells(m stats.Metric, arms []record.Arm) (column []string) {
	var values []float64
	for _, a := range arms {
		if v := a.Median(m.Figure); v != nil {
			values = append(values, *v)
		}
	}
	s := say.TimeScale(values...)
	low, high := say.Span(values)
	// One unit for all times would show the largest in thousands, or the smallest with two digits: then each has its own unit.
	apart := high >= 100*low || low < s.Factor/10
	for _, a := range arms {
		text := say.None
		switch v := a.Median(m.Figure); {
		case v == nil || *v == 0 && m.Unit == "s": // a time of 0 was not measured: every request takes some
		case m.Unit == "s" && !apart:
			text = s.Own(*v)
		default:
			text = Figure(m, *v)
		}
		column = append(column, text)
	}
	return column
}

// armColumns returns the columns of a table of arms: names, figures of all metrics, and figures that
// explain but are not judged. name returns an arm's name as the table has it, and more the text to add
// to an arm's figure, "" for none.
func armColumns(arms []record.Arm, name func(a record.Arm) string, more func(a record.Arm, m stats.Metric) string) [][]string {
	all := columns(arms, armField{"arm", nil, name})
	for _, m := range stats.Metrics() {
		figures := cells(m, arms)
		for i, a := range arms {
			figures[i] += more(a, m)
		}
		all = append(all, append([]string{m.Label}, figures...))
	}
	return append(all, asides(arms)...)
}

// medians returns the table of the arms' figures, with marks for its rows.
func medians(arms []record.Arm, marks []document.Mark) document.Table {
	return document.Table{Rows: transposed(armColumns(arms, name, func(record.Arm, stats.Metric) string { return "" })), Marks: marks}
}

// A field is a column of a table with a row for each T: its head, and the text of its cells. If known is set, the column is
// left out of a table without a row for which known returns true.
type field[T any] struct {
	head  string
	known func(of T) bool
	cell  func(of T) string
}

// An armField is a column of a table with a row for each arm.
type armField = field[record.Arm]

// columns returns the columns of a table, each with its head first, in the order of fields.
func columns[T any](of []T, fields ...field[T]) (all [][]string) {
	for _, f := range fields {
		if f.known != nil && !slices.ContainsFunc(of, f.known) {
			continue
		}
		column := []string{f.head}
		for _, row := range of {
			column = append(column, f.cell(row))
		}
		all = append(all, column)
	}
	return all
}

// rows returns the rows of a table, with the head first.
func rows[T any](of []T, fields ...field[T]) [][]string { return transposed(columns(of, fields...)) }

// transposed turns columns of equal length into rows, or rows into columns. There must be at least one.
func transposed(columns [][]string) [][]string {
	rows := make([][]string, len(columns[0]))
	for i := range rows {
		for _, c := range columns {
			rows[i] = append(rows[i], c[i])
		}
	}
	return rows
}

// unique returns the different values of all, in order of first appearance.
func unique(all []string) (different []string) {
	for _, s := range all {
		if !slices.Contains(different, s) {
			different = append(different, s)
		}
	}
	return different
}

// name returns the arm's name, for use as a cell of a column.
func name(a record.Arm) string { return a.Name }

// choices returns the arms that a reader can choose from: all but the baseline's copy, which checks the measurement.
func choices[A interface{ IsCopy() bool }](arms []A) []A {
	return slices.DeleteFunc(slices.Clone(arms), A.IsCopy)
}

// contestants returns arms without their figures.
func contestants(arms []record.Arm) []record.Contestant {
	return (&record.Comparison{Arms: arms}).Contestants()
}

// optional returns the column of a figure that an arm may lack. The column is left out if all arms lack it.
func optional[T any](head string, of func(a record.Arm) *T, format func(T) string) armField {
	return armField{head, func(a record.Arm) bool { return of(a) != nil }, func(a record.Arm) string { return say.OrNone(of(a), format) }}
}

// positive returns the column of a figure that is below 0 if an arm lacks it; the cell is then a dash. The column is left out if
// no arm has more than 0.
func positive(head string, of func(a record.Arm) float64, format func(float64) string) armField {
	return armField{head, func(a record.Arm) bool { return of(a) > 0 }, func(a record.Arm) string {
		if of(a) < 0 {
			return say.None
		}
		return format(of(a))
	}}
}

// asides returns the columns of memory and threads at the ends of the windows, of context switches per
// request, and of the share of CPU time used by event loops; nil when no arm has any.
func asides(arms []record.Arm) [][]string {
	of := func(a record.Arm) *record.Footprint { return a.Footprint }
	return columns(arms,
		optional("memory", of, func(f record.Footprint) string {
			if f.Resident && f.Processes > 1 { // shared pages are counted for each process
				return "≤" + say.NBSP + bytesText(f.Memory)
			}
			return bytesText(f.Memory)
		}),
		optional("threads", of, func(f record.Footprint) string {
			if f.Processes > 1 {
				return fmt.Sprintf("%s in %d processes", say.Count(f.Threads), f.Processes)
			}
			return say.Count(f.Threads)
		}),
		optional("switches/req", func(a record.Arm) *float64 { return a.Switches }, func(v float64) string {
			return prose.Grouped(strconv.FormatFloat(v, 'f', stats.Decimals(v, 3), 64))
		}),
		optional("stopped by its limit", func(a record.Arm) *float64 { return a.Throttled }, func(v float64) string { return say.Percent("%.1f", v) }),
		optional("periods/s", func(a record.Arm) *float64 { return a.Stops }, func(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }),
		optional("loops' CPU", func(a record.Arm) *float64 { return a.Loops }, func(v float64) string { return say.Percent("%.0f", v) }),
	)
}

// tableOf returns a table with a row for each arm: its name, and the columns for which at least one arm
// has a figure. It is empty if there is no such column.
func tableOf(arms []record.Arm, fields ...armField) document.Table {
	known := columns(arms, fields...)
	if known == nil {
		return document.Table{}
	}
	return document.Table{Rows: transposed(slices.Concat(columns(arms, armField{"arm", nil, name}), known))}
}

// moreFigures returns the table of figures that most readers do not need. X_max is closed-loop throughput, "halves apart" the
// spread of its probe, and n_eff the number of independent requests with the information of a window. A session is a series of
// requests on one connection. Jain's index (Jain, Chiu and Hawe 1984) is 1 if all connections get the same number of replies,
// and 1/n if one of n gets all.
func moreFigures(r *record.Comparison) document.Part {
	fairness := func(a record.Arm) *record.Fairness { return a.Fairness }
	sessions := func(a record.Arm) *record.SessionTimes { return a.Sessions }
	return tableOf(r.Arms,
		optional("highest", func(a record.Arm) *float64 { return a.XMax }, say.Rate),
		positive("halves apart", func(a record.Arm) float64 { return cmp.Or(a.Apart, -1) }, func(v float64) string { return say.Percent("%.0f", v) }),
		armField{"errors", nil, func(a record.Arm) string { return say.Count(a.Errors) + " of " + say.Count(a.Requests) }},
		positive("too late", func(a record.Arm) float64 { return float64(a.TooLate) }, say.CountLabel),
		optional("in time", func(a record.Arm) *float64 { return a.InTime }, func(v float64) string { return say.Percent("%.1f", v) }),
		optional("recovered after", func(a record.Arm) *float64 { return a.Recovered }, say.Seconds),
		positive("retries", func(a record.Arm) float64 { return float64(a.Retries) }, say.CountLabel),
		positive("n_eff", func(a record.Arm) float64 { return cmp.Or(a.NEff, -1) }, func(v float64) string { return say.Count(int(v)) }),
		optional("conns served", fairness, func(f record.Fairness) string { return say.Count(f.Served) + " of " + say.Count(f.Asked) }),
		optional("slowest first", fairness, func(f record.Fairness) string {
			if f.Served == 0 {
				return say.None
			}
			return say.Seconds(f.FirstReply)
		}),
		optional("Jain's index", func(a record.Arm) *float64 { return a.Jain }, say.Jain),
		optional("sessions", sessions, func(s record.SessionTimes) string { return say.Count(s.Complete) }),
		optional("broken", sessions, func(s record.SessionTimes) string { return say.Count(s.Broken) }),
		optional("session p50", sessions, func(s record.SessionTimes) string { return say.OrNone(s.P50, say.Seconds) }),
		optional("p90", sessions, func(s record.SessionTimes) string { return say.OrNone(s.P90, say.Seconds) }),
	)
}

// disturbed returns the table of what disturbed the windows: late sends, the CPU time that other programs and the hypervisor
// (steal) took, the time for which a CPU limit stopped processes (throttled), and the work of the load. A load that is busy or
// late measures itself, so a reader must see that it was neither.
func disturbed(arms []record.Arm) document.Part {
	share := func(v float64) string { return say.Percent("%.1f", v) }
	of := func(head string, of func(*record.Disturbed) float64, format func(float64) string) armField {
		return positive(head, func(a record.Arm) float64 {
			return of(cmp.Or(a.Disturbed, &record.Disturbed{Foreign: -1, Steal: -1, Throttled: -1}))
		}, format)
	}
	late := func(head string, quantile stats.Figure) armField {
		return of(head, func(d *record.Disturbed) float64 { return d.Late[quantile].Or(-1) }, say.Seconds)
	}
	load := func(head string, of func(*record.Proofs) float64, format func(float64) string) armField {
		return positive(head, func(a record.Arm) float64 {
			if a.Generator == nil {
				return -1
			}
			return of(a.Generator)
		}, format)
	}
	return tableOf(arms,
		late("late at p50", stats.P50), late("at p99", stats.P99),
		load("at most", func(g *record.Proofs) float64 { return g.LongestLag }, say.Seconds),
		load("never sent", func(g *record.Proofs) float64 { return float64(g.Missing) }, say.CountLabel),
		load("load busy", func(g *record.Proofs) float64 { return g.Busy }, share),
		load("longest pause", func(g *record.Proofs) float64 { return g.LongestPause }, say.Seconds),
		load("replies read late", func(g *record.Proofs) float64 { return cmp.Or(g.ReadLate, &record.ReadLate{P99: -1}).P99 }, say.Seconds),
		of("of the shared CPU", func(d *record.Disturbed) float64 { return d.Load }, share),
		of("others' CPU", func(d *record.Disturbed) float64 { return d.Foreign }, share),
		of("steal", func(d *record.Disturbed) float64 { return d.Steal }, share),
		of("throttled", func(d *record.Disturbed) float64 { return d.Throttled }, share),
	)
}

// bytesText formats a size in bytes, in powers of 1024, with about three digits.
func bytesText(n int64) string {
	v, unit := float64(n), "B"
	for _, u := range []string{"KiB", "MiB", "GiB"} {
		// The largest unit in which the number is at least 1.
		if v >= 1024 {
			v, unit = v/1024, u
		}
	}
	decimals := 0
	if unit != "B" && v < 100 {
		decimals = 1
	}
	return strconv.FormatFloat(v, 'f', decimals, 64) + say.NBSP + unit
}

// changed returns the change that is printed for a verdict: the quotient of the two printed figures or, if the quotient lies
// outside the verdict's interval, the interval.
func changed(r *record.Comparison, v record.Verdict) string {
	return changeWithin(quotient(r, v), v.Low, v.High, v.Verdict.Rank.Differs())
}

// quotient returns the ratio of a verdict's two printed figures; if a figure is not known, the median of the blocks' ratios.
func quotient(r *record.Comparison, v record.Verdict) float64 {
	if q := r.Quotient(v); q != 0 {
		return q
	}
	return v.Ratio
}

// changedPlainly is changed with plain spaces, for a sentence that is also used outside documents.
func changedPlainly(r *record.Comparison, v record.Verdict) string {
	return strings.ReplaceAll(changed(r, v), say.NBSP, " ")
}

// changeWithin formats a ratio as a change or, if it lies outside its interval, the interval instead.
func changeWithin(ratio, low, high float64, decided bool) string {
	if !within(ratio, low, high) {
		return bound(low, decided) + " to " + bound(high, decided)
	}
	return say.Change(ratio)
}

// within reports whether a ratio lies in an interval, by the printed digits. It is true if low is 0, which means that there is no
// interval.
func within(ratio, low, high float64) bool {
	return low == 0 || low <= ratio && ratio <= high || say.Change(ratio) == say.Change(low) || say.Change(ratio) == say.Change(high)
}

// bound formats an end of an interval as a change. The interval of a decided verdict excludes ±0 %, so bound then adds digits
// until the end does not round to ±0 %.
func bound(ratio float64, decided bool) string {
	text := say.Change(ratio)
	for digits := 2; decided && strings.HasPrefix(text, "±") && digits <= 6; digits++ {
		text = strings.ReplaceAll(stats.Percent(ratio, digits), " ", say.NBSP)
	}
	return text
}

// Figure formats a value of a metric in its base unit, like 1.23 ms or 2,000/s.
func Figure(m stats.Metric, v float64) string {
	if m.Unit == "s" {
		return say.Seconds(v)
	}
	return say.Rate(v)
}
