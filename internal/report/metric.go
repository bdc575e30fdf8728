package report

import (
	"fmt"
	"slices"
	"strconv"

	"schedlab/internal/record"
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

// asides returns columns that explain but are not judged: context switches, and the share of CPU
// time used by event loops. A column appears if an arm has the figure.
func asides(arms []record.Arm) (columns [][]string) {
	for _, c := range []struct {
		head string
		of   func(record.Arm) *float64
		cell func(float64) string
	}{
		{"switches/req", func(a record.Arm) *float64 { return a.Switches }, func(v float64) string { return group(strconv.FormatFloat(v, 'f', decimals(v, 3), 64)) }},
		{"loops' CPU", func(a record.Arm) *float64 { return a.Loops }, func(v float64) string { return fmt.Sprintf("%.0f%s%%", 100*v, nbsp) }},
	} {
		if slices.ContainsFunc(arms, func(a record.Arm) bool { return c.of(a) != nil }) {
			columns = append(columns, column(c.head, arms, func(a record.Arm) string {
				if v := c.of(a); v != nil {
					return c.cell(*v)
				}
				return none
			}))
		}
	}
	return columns
}

// footprints returns the columns of memory and threads; nil when no arm has them.
func footprints(arms []record.Arm) [][]string {
	if !slices.ContainsFunc(arms, func(a record.Arm) bool { return a.Footprint != nil }) {
		return nil
	}
	memory := func(a record.Arm) string {
		f := a.Footprint
		switch {
		case f == nil:
			return none
		case f.Resident && f.Processes > 1:
			return "≤" + nbsp + bytesText(f.Memory) // shared pages are counted for each process
		}
		return bytesText(f.Memory)
	}
	threads := func(a record.Arm) string {
		f := a.Footprint
		switch {
		case f == nil:
			return none
		case f.Processes > 1:
			return fmt.Sprintf("%s in %d processes", count(f.Threads), f.Processes)
		}
		return count(f.Threads)
	}
	return [][]string{column("memory", arms, memory), column("threads", arms, threads)}
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
