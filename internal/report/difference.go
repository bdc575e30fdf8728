package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"schedlab/internal/record"
)

// differences say where the mean response time of arms differs from that of the arm they are
// compared with: where, not why.
func differences(r *record.Result) (lines []string) {
	for _, d := range r.Differences {
		if !d.Tail {
			lines = append(lines, difference(d))
		}
	}
	return lines
}

// inPlain is a stretch's name for who has not read what the stretches are.
func inPlain(stretch string) string {
	if stretch == "interference" {
		return "the handler held up by others or a late timer"
	}
	return stretch
}

// difference is one in words, its largest pieces first.
func difference(d record.Difference) string {
	way, when := "slower", "on average"
	if d.By < 0 {
		way = "faster"
	}
	if d.Tail {
		when = "in the slowest 1" + nbsp + "%"
	}
	unit := timeScale(math.Abs(d.By))
	var told []string
	rest := d.By
	for _, p := range slices.SortedStableFunc(slices.Values(d.Pieces), func(a, b record.Piece) int { return cmp.Compare(math.Abs(b.By), math.Abs(a.By)) }) {
		told = append(told, inPlain(p.Stretch)+" "+unit.signed(p.By))
		rest -= p.By
	}
	switch {
	case told == nil:
		told = []string{"in which part is not decided"}
	case math.Abs(rest) > negligible:
		told = append(told, "the rest "+unit.signed(rest))
	}
	low, high := math.Abs(d.Low), math.Abs(d.High)
	return fmt.Sprintf("%s is %s %s %s than %s (%s to %s): %s", d.Arm, unit.format(math.Abs(d.By)), way, when, d.Baseline,
		unit.format(min(low, high)), unit.format(max(low, high)), strings.Join(told, ", "))
}
