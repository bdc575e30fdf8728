package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"schedlab/internal/record"
)

// A difference of means is told from this share of the baseline's and this many
// seconds on; a stretch of it from its own share on.
const (
	leastShare   = .05
	leastSeconds = 20e-6
	leastStretch = .02
)

// differences say of every challenger whose mean response time is not that of the
// arm it is compared with in which stretches of its time the difference lies: where, not why.
// Both need the server's stamps.
func differences(r *record.Result) (lines []string) {
	for _, a := range r.Arms {
		if l, _ := difference(r, a, onAverage); l != "" {
			lines = append(lines, l)
		}
	}
	return lines
}

// A sample is requests of an arm whose mean time is compared.
type sample struct {
	of   func(record.Phase) float64
	when string
}

var (
	onAverage = sample{func(p record.Phase) float64 { return p.Mean }, "on average"}
	inTheTail = sample{func(p record.Phase) float64 { return p.Tail }, "in the slowest 1" + nbsp + "%"}
)

// rival is the arm that another is compared with.
func rival(r *record.Result, arm string) record.Arm {
	for _, v := range r.Verdicts {
		if v.Arm != arm {
			continue
		}
		for _, a := range r.Arms {
			if a.Name == v.Baseline {
				return a
			}
		}
	}
	return r.Arms[0]
}

// inPlain is a stretch's name for who has not read what the stretches are.
func inPlain(stretch string) string {
	if stretch == "interference" {
		return "the handler held up by others or a late timer"
	}
	return stretch
}

// difference says where an arm's time differs from its rival's, and by how many seconds in
// all: below 0 where it is faster. It says nothing of what is too little.
func difference(r *record.Result, a record.Arm, s sample) (line string, whole float64) {
	base := rival(r, a.Name)
	if a.Role != record.Challenger || a.Joined == 0 || base.Joined == 0 {
		return "", 0
	}
	type part struct {
		name string
		by   float64
	}
	var parts []part
	was := 0.0
	for _, st := range record.Stretches() {
		own, its := st.In(a.Phases, s.of), st.In(base.Phases, s.of)
		parts = append(parts, part{inPlain(st.Name), own - its})
		whole, was = whole+own-its, was+its
	}
	if math.Abs(whole) < max(leastShare*was, leastSeconds) {
		return "", whole
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(math.Abs(b.by), math.Abs(a.by)) })
	way := "slower"
	if whole < 0 {
		way = "faster"
	}
	unit := timeScale(math.Abs(whole))
	var told []string
	rest := part{name: "the rest"}
	tell := func(p part) {
		told = append(told, fmt.Sprintf("%s %s", p.name, unit.signed(p.by)))
	}
	for _, p := range parts {
		if math.Abs(p.by) < leastStretch*math.Abs(whole) {
			rest.by += p.by
			continue
		}
		tell(p)
	}
	if math.Abs(rest.by) > negligible {
		tell(rest)
	}
	return fmt.Sprintf("%s is %s %s %s than %s: %s", a.Name, unit.format(math.Abs(whole)), way, s.when, base.Name, strings.Join(told, ", ")), whole
}
