package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"schedlab/internal/record"
)

// refusals says why blocks were left out, one line per rule: a rule that broke
// in many windows is one cause. The record has every window.
func refusals(all []record.Refusal) (lines []string) {
	for _, windows := range grouped(all, func(x record.Refusal) string { return x.Rule }) {
		worst := slices.MaxFunc(windows, func(a, b record.Refusal) int {
			return cmp.Or(cmp.Compare(past(a), past(b)), cmp.Compare(a.Value, b.Value))
		})
		side := "limit"
		if worst.Value < worst.Limit {
			side = "below"
		}
		var blocks []string
		for _, x := range windows {
			if n := strconv.Itoa(x.Block); !slices.Contains(blocks, n) {
				blocks = append(blocks, n)
			}
		}
		in := "block"
		if len(blocks) > 1 {
			in += "s"
		}
		lines = append(lines, fmt.Sprintf("%s: %s in %s%s%s; worst %s (%s, block %d), %s %s", worst.Rule, plural(len(windows), "window"),
			in, nbsp, strings.Join(blocks, ", "), plain(worst.Value), worst.Arm, worst.Block, side, plain(worst.Limit)))
	}
	return lines
}

// past is how far a window is beyond its limit, a ratio: above most limits, and below
// those on how many requests it needs.
func past(x record.Refusal) float64 {
	if x.Value < x.Limit {
		return x.Limit / x.Value
	}
	return x.Value / x.Limit
}
