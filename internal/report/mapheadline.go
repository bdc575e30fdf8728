package report

import (
	"fmt"
	"strings"

	"schedlab/internal/prose"
	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// MapHeadline is what a map comes to, in one sentence or two.
func MapHeadline(m *record.Map) string {
	wins := map[string]int{}
	var ties, trades, open, refused, unreached, sampled int
	for _, c := range m.Cells {
		sampled += stats.Count(c.State == record.Sampled || c.State == record.Voided)
		switch {
		case c.State == record.Unreached:
			unreached++
		case c.Decision == record.Wins:
			wins[c.Winner]++
		case c.Decision == record.Ties:
			ties++
		case c.Decision == record.Trades:
			trades++
		case c.Decision == record.InDoubt:
			open++
		default:
			refused++
		}
	}
	var parts []string
	add := func(n int, format string, args ...any) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d ", n)+fmt.Sprintf(format, args...))
		}
	}
	for _, arm := range m.Arms {
		add(wins[arm], "won by %s", arm)
	}
	add(ties, "the same")
	add(trades, "a trade")
	add(open, "undecided")
	add(refused, "refused")
	add(unreached, "not reached")
	text := overtaking(m.Arms, wins, ties) + fmt.Sprintf("Of %s, %d of them measured: %s.", prose.Plural(len(m.Cells), "cell"), sampled, strings.Join(parts, ", "))
	if m.Theory == nil {
		return text
	}
	known, within := 0, 0
	for _, l := range m.Theory.Lines {
		known += stats.Count(l.Known)
		within += stats.Count(l.Within1)
	}
	line := "column"
	if m.Theory.Along == m.Plan.X.Name {
		line = "row"
	}
	text += fmt.Sprintf(" Where %s loses lies within one cell of Little's law in %d of %s", m.Theory.Arm, within, prose.Plural(len(m.Theory.Lines), line))
	if unknown := len(m.Theory.Lines) - known; unknown > 0 {
		text += fmt.Sprintf(" (in %d no border can be told)", unknown)
	}
	return text + "."
}

// overtaking answers what a map asks: whether one arm overtakes another, by the cells that
// each wins; "" when nothing is decided.
func overtaking(arms []string, wins map[string]int, ties int) string {
	var winners []string
	for _, arm := range arms {
		if wins[arm] > 0 {
			winners = append(winners, arm)
		}
	}
	switch {
	case len(winners) == 0 && ties == 0:
		return ""
	case len(winners) == 0:
		return "None of them wins anywhere here. "
	case len(winners) == 1:
		return winners[0] + " wins where any of them does. "
	}
	return strings.Join(winners, " and ") + " overtake one another here. "
}
