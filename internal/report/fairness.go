package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"schedlab/internal/record"
)

// uneven is the index of Jain's below which an arm has a line of its own.
const uneven = .9

// fairness says how answers fell to connections: a line for each arm that starved
// some or served them unevenly, and one for all the others. None where that is not
// known, as where each request has a connection of its own.
func fairness(arms []record.Arm) (lines []string) {
	var even []record.Arm
	for _, a := range arms {
		switch f := a.Fairness; {
		case f == nil:
		case f.Served < f.Asked || a.Jain == nil || *a.Jain < uneven:
			lines = append(lines, fmt.Sprintf("%s: %s of %s got answers, Jain's index %s, slowest first reply %s",
				a.Name, count(f.Served), plural(f.Asked, "connection"), evenness(a, 2), firstReply(a)))
		default:
			even = append(even, a)
		}
	}
	if len(even) == 0 {
		return lines
	}
	of := ""
	if len(lines) > 0 {
		of = " of the others"
	}
	least := slices.MinFunc(even, func(a, b record.Arm) int { return cmp.Compare(*a.Jain, *b.Jain) })
	slowest := slices.MaxFunc(even, func(a, b record.Arm) int { return cmp.Compare(a.Fairness.FirstReply, b.Fairness.FirstReply) })
	return append(lines, fmt.Sprintf("every connection%s got answers; Jain's index %s at worst (%s), slowest first reply %s (%s)",
		of, evenness(least, 2), least.Name, firstReply(slowest), slowest.Name))
}

// evenness is an arm's index of Jain's.
func evenness(a record.Arm, decimals int) string {
	if a.Jain == nil {
		return none
	}
	return strconv.FormatFloat(*a.Jain, 'f', decimals, 64)
}

// firstReply is the slowest of an arm's connections.
func firstReply(a record.Arm) string {
	if a.Fairness == nil || a.Fairness.Served == 0 {
		return none
	}
	return seconds(a.Fairness.FirstReply)
}

// served is how many of an arm's connections got answers, of how many.
func served(a record.Arm) string {
	f := a.Fairness
	if f == nil {
		return none
	}
	return count(f.Served) + " of " + count(f.Asked)
}
