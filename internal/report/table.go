package report

import (
	"fmt"
	"slices"
	"strconv"

	"schedlab/internal/record"
	"schedlab/internal/report/document"
	"schedlab/internal/stats"
)

// tooFarApart is the ratio of largest to smallest time from which each time gets its best unit,
// instead of one unit for all.
const tooFarApart = 100

// cells formats one metric of every arm, aligned.
func cells(m stats.Metric, arms []record.Arm) []string {
	var values []float64
	for i := range arms {
		if v := arms[i].Median(m.Name); v != nil {
			values = append(values, *v)
		}
	}
	s := timeScale(values...)
	low, high := span(values)
	apart := high >= tooFarApart*low // no single unit shows digits of both
	cells := make([]string, len(arms))
	for i := range arms {
		switch v := arms[i].Median(m.Name); {
		case v == nil || *v == 0 && m.Unit == "s":
			cells[i] = none
		case m.Unit == "s" && apart:
			cells[i] = seconds(*v)
		case m.Unit == "s":
			cells[i] = s.format(*v)
		default:
			cells[i] = rate(*v)
		}
	}
	return cells
}

// armColumns returns the columns of a table of arms: names, figures, footprints and asides. more
// returns what to add to an arm's figure.
func armColumns(arms []record.Arm, name func(a record.Arm) string, more func(a record.Arm, m stats.Metric) string) [][]string {
	all := columns(arms, armField{"arm", nil, name})
	for _, m := range stats.Metrics() {
		figures := cells(m, arms)
		for i, a := range arms {
			figures[i] += more(a, m)
		}
		all = append(all, append([]string{m.Label}, figures...))
	}
	return slices.Concat(all, footprints(arms), asides(arms))
}

// A field is a column of a table with a row for each T: its head, and the text of its cells. If
// known is set, a table in which it is false everywhere leaves the column out.
type field[T any] struct {
	head  string
	known func(of T) bool
	cell  func(of T) string
}

type armField = field[record.Arm]

// columns returns the columns of a table, each with its head first.
func columns[T any](of []T, fields ...field[T]) (all [][]string) {
	for _, f := range fields {
		if f.known == nil || slices.ContainsFunc(of, f.known) {
			all = append(all, append([]string{f.head}, each(of, f.cell)...))
		}
	}
	return all
}

// rows returns the rows of a table, with the head first.
func rows[T any](of []T, fields ...field[T]) [][]string { return transposed(columns(of, fields...)) }

// transposed turns columns into rows.
func transposed(columns [][]string) [][]string {
	rows := make([][]string, len(columns[0]))
	for i := range rows {
		for _, c := range columns {
			rows[i] = append(rows[i], c[i])
		}
	}
	return rows
}

// each returns f of every element.
func each[T, U any](all []T, f func(T) U) (of []U) {
	for _, x := range all {
		of = append(of, f(x))
	}
	return of
}

// only returns the elements that f keeps, in a list of their own.
func only[T any](all []T, f func(T) bool) (kept []T) {
	for _, x := range all {
		if f(x) {
			kept = append(kept, x)
		}
	}
	return kept
}

// orNone formats a figure that may be unknown.
func orNone[T any](v *T, format func(T) string) string {
	if v == nil {
		return none
	}
	return format(*v)
}

// labelled returns the lines that are not empty, each as a fact with the label.
func labelled(label string, lines ...string) document.Facts {
	return each(only(lines, func(l string) bool { return l != "" }), func(l string) document.Fact { return document.Fact{Label: label, Text: l} })
}

func name(a record.Arm) string { return a.Name }

// choices returns the arms without the baseline's copy.
func choices(arms []record.Arm) []record.Arm {
	return only(arms, func(a record.Arm) bool { return a.Role != record.Copy })
}

// optional returns the column of a figure that an arm may lack. The column is left out if all
// arms lack it.
func optional[T any](head string, of func(a record.Arm) *T, format func(T) string) armField {
	return armField{head, func(a record.Arm) bool { return of(a) != nil }, func(a record.Arm) string { return orNone(of(a), format) }}
}

// asides returns columns that explain but are not judged: context switches, and the share of CPU
// time used by event loops.
func asides(arms []record.Arm) [][]string {
	return columns(arms,
		optional("switches/req", func(a record.Arm) *float64 { return a.Switches }, func(v float64) string { return group(strconv.FormatFloat(v, 'f', decimals(v, 3), 64)) }),
		optional("loops' CPU", func(a record.Arm) *float64 { return a.Loops }, func(v float64) string { return fmt.Sprintf("%.0f%s%%", 100*v, nbsp) }),
	)
}

// footprints returns the columns of memory and threads; nil when no arm has them.
func footprints(arms []record.Arm) [][]string {
	of := func(a record.Arm) *record.Footprint { return a.Footprint }
	return columns(arms,
		optional("memory", of, func(f record.Footprint) string {
			if f.Resident && f.Processes > 1 {
				return "≤" + nbsp + bytesText(f.Memory) // shared pages are counted for each process
			}
			return bytesText(f.Memory)
		}),
		optional("threads", of, func(f record.Footprint) string {
			if f.Processes > 1 {
				return fmt.Sprintf("%s in %d processes", count(f.Threads), f.Processes)
			}
			return count(f.Threads)
		}),
	)
}

// moreFigures returns the table of closed-loop throughput, failures, and fairness to connections.
func moreFigures(r *record.Result) document.Part {
	fair := func(a record.Arm) bool { return a.Fairness != nil }
	return document.Table{Rows: rows(r.Arms,
		armField{"arm", nil, name},
		armField{"X_max", nil, func(a record.Arm) string { return orNone(a.XMax, func(float64) string { return xmax(a) }) }},
		armField{"errors", nil, func(a record.Arm) string { return count(a.Errors) + " of " + count(a.Requests) }},
		armField{"n_eff a window", func(a record.Arm) bool { return a.NEff > 0 }, func(a record.Arm) string { return count(int(a.NEff)) }},
		armField{"connections served", fair, served},
		armField{"slowest first reply", fair, firstReply},
		armField{"Jain's index", func(a record.Arm) bool { return a.Jain != nil }, func(a record.Arm) string { return evenness(a, 3) }},
	)}
}

// bytesText formats a size in bytes with about three digits.
func bytesText(n int64) string {
	v, unit := float64(n), "B"
	for _, u := range []string{"KiB", "MiB", "GiB"} {
		if v < 1024 {
			break
		}
		v, unit = v/1024, u
	}
	decimals := 0
	if unit != "B" && v < 100 {
		decimals = 1
	}
	return fmt.Sprintf("%s%s%s", strconv.FormatFloat(v, 'f', decimals, 64), nbsp, unit)
}
