package report

import (
	"fmt"
	"strconv"

	"schedlab/internal/record"
)

// switches is the column on context switches, its head first; none when no arm's are
// known. It explains and is not judged, as the footprints.
func switches(arms []record.Arm) [][]string {
	known, column := false, []string{"switches/req"}
	for _, a := range arms {
		cell := none
		if a.Switches != nil {
			known, cell = true, group(strconv.FormatFloat(*a.Switches, 'f', decimals(*a.Switches, 3), 64))
		}
		column = append(column, cell)
	}
	if !known {
		return nil
	}
	return [][]string{column}
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
