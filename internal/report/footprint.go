package report

import (
	"fmt"
	"strconv"

	"schedlab/internal/record"
)

// asides are columns that explain and are not judged, as the footprints: context switches and
// the share of CPU time that event loops took; each where it is known of an arm.
func asides(arms []record.Arm) (columns [][]string) {
	for _, c := range []struct {
		head string
		of   func(record.Arm) *float64
		cell func(float64) string
	}{
		{"switches/req", func(a record.Arm) *float64 { return a.Switches }, func(v float64) string { return group(strconv.FormatFloat(v, 'f', decimals(v, 3), 64)) }},
		{"loops' CPU", func(a record.Arm) *float64 { return a.Loops }, func(v float64) string { return fmt.Sprintf("%.0f%s%%", 100*v, nbsp) }},
	} {
		known, column := false, []string{c.head}
		for _, a := range arms {
			cell := none
			if v := c.of(a); v != nil {
				known, cell = true, c.cell(*v)
			}
			column = append(column, cell)
		}
		if known {
			columns = append(columns, column)
		}
	}
	return columns
}

// footprints are the columns on what they held; none when no arm's is known.
func footprints(arms []record.Arm) [][]string {
	known := false
	memory, threads := []string{"memory"}, []string{"threads"}
	for _, a := range arms {
		f := a.Footprint
		if f == nil {
			memory, threads = append(memory, none), append(threads, none)
			continue
		}
		known = true
		cell := bytesText(f.Memory)
		if f.Resident && f.Processes > 1 {
			cell = "≤" + nbsp + cell // shared pages are counted for each process
		}
		memory = append(memory, cell)
		cell = count(f.Threads)
		if f.Processes > 1 {
			cell += fmt.Sprintf(" in %d processes", f.Processes)
		}
		threads = append(threads, cell)
	}
	if !known {
		return nil
	}
	return [][]string{memory, threads}
}

// bytesText writes a size with three digits.
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
