package report

import (
	"fmt"
	"slices"
	"strings"

	"schedlab/internal/command"
	"schedlab/internal/record"
)

// letter is an arm's on a map: A for the baseline.
func letter(m *record.Map, arm string) string {
	i := slices.Index(m.Arms, arm)
	if i < 0 || i > 25 {
		return "?"
	}
	return string(rune('A' + i))
}

// mark is what a cell came to, in one character; of an arm's, its letter.
func mark(m *record.Map, c *record.Cell) string {
	switch c.Decision {
	case record.Wins:
		return letter(m, c.Winner)
	case record.Ties:
		return markSame
	case record.Trades:
		return markTrade
	case record.InDoubt:
		return markOpen
	case record.Rejected:
		return markRefused
	}
	return markUnreached
}

// shorthand is a cell in a table: its mark, in parentheses where it is inferred,
// with a stroke at a border and a ! where theory says that an arm is short; then
// the difference.
func shorthand(m *record.Map, c *record.Cell) string {
	s := mark(m, c)
	if c.State == record.Inferred {
		s = "(" + s + ")"
	}
	if c.Border && c.State != record.Unreached {
		s += "/"
	}
	if m.Theory != nil && len(c.Short) > 0 {
		s += "!"
	}
	if c.Ratio > 0 {
		s += " " + figure(m, c)
	}
	return s
}

// figure is a cell's difference, with its metric where that is not the map's.
func figure(m *record.Map, c *record.Cell) string {
	if c.Metric == mapMetric(m) {
		return change(c.Ratio)
	}
	return find(c.Metric).label + " " + change(c.Ratio)
}

// mapMetric is what the figures of a map are of: the metric that was asked for, or the
// one that all of them have; "" for a map whose cells differ in it.
func mapMetric(m *record.Map) string {
	if m.Plan.Metric != "" {
		return m.Plan.Metric
	}
	common := ""
	for _, c := range m.Cells {
		switch {
		case c.Ratio <= 0:
		case common == "":
			common = c.Metric
		case c.Metric != common:
			return ""
		}
	}
	return common
}

// cellSentence says a cell in full.
func cellSentence(m *record.Map, c *record.Cell) string {
	p := m.Plan
	s := fmt.Sprintf("%s=%s, %s=%s: ", p.X.Name, p.X.Values[c.X], p.Y.Name, p.Y.Values[c.Y])
	switch c.Decision {
	case record.Wins:
		s += c.Winner + " wins"
	case record.Ties:
		s += strings.Join(c.Among, " and ") + " are the same"
	case record.Trades:
		s += "a trade"
	case record.InDoubt:
		s += "undecided"
	case record.Rejected:
		return s + "refused: " + c.Reason.String()
	default:
		return s + "not reached"
	}
	if c.State == record.Inferred {
		return s + ", inferred"
	}
	if c.Ratio > 0 {
		s += fmt.Sprintf("; %s %s %s (%s to %s)", c.Arm, change(c.Ratio), find(c.Metric).in, bound(c.Low, c.Decision == record.Wins), bound(c.High, c.Decision == record.Wins))
	}
	return s
}

// mapLegend explains the marks that are on the map.
func mapLegend(m *record.Map) (lines []string) {
	var parts []string
	on := func(f func(c record.Cell) bool) bool { return slices.ContainsFunc(m.Cells, f) }
	for _, k := range marksOn(m) {
		parts = append(parts, k.Text)
	}
	lines = append(lines, strings.Join(parts, "; "))
	parts = nil
	add := func(text string, f func(c record.Cell) bool) {
		if on(f) {
			parts = append(parts, text)
		}
	}
	add("( ) inferred: measured cells on both sides agree", func(c record.Cell) bool { return c.State == record.Inferred })
	add("/ at a border", func(c record.Cell) bool { return c.Border && c.State != record.Unreached })
	if m.Theory != nil {
		add("! "+m.Theory.Arm+" is short of workers by Little's law", func(c record.Cell) bool { return len(c.Short) > 0 })
	}
	if parts != nil {
		lines = append(lines, strings.Join(parts, "; "))
	}
	if on(func(c record.Cell) bool { return c.Ratio > 0 }) {
		lines = append(lines, "figures: "+figuresOf(m))
	}
	return lines
}

// figuresOf says what the numbers in the cells are.
func figuresOf(m *record.Map) string {
	whose := "the challenger"
	if len(m.Arms) == 2 {
		whose = m.Arms[1]
	}
	of, named := mapMetric(m), func(c record.Cell) bool { return c.Ratio > 0 && c.Metric != m.Plan.Metric }
	metric := find(of).label
	switch {
	case of == "":
		metric = "the metric named: the widest that decided, or of all if none did"
	case m.Plan.Metric != "" && slices.ContainsFunc(m.Cells, named):
		metric += ", or what is named where an arm is overloaded"
	}
	return fmt.Sprintf("%s against %s, %s", whose, m.Arms[0], metric)
}

// mapTitle names what is drawn.
func mapTitle(m *record.Map) string {
	metric := "winner"
	if m.Plan.Metric != "" {
		metric = find(m.Plan.Metric).label
	}
	return fmt.Sprintf("%s: %s of %s over %s × %s", m.Plan.Scenario, metric, strings.Join(m.Arms, " and "), m.Plan.X.Name, m.Plan.Y.Name)
}

// mapPlan says how it was measured.
func mapPlan(m *record.Map) string {
	p := m.Plan
	took := fmt.Sprintf("took %s, budget %s", seconds(m.Spent), seconds(p.Budget))
	if m.Sessions > 1 {
		took = fmt.Sprintf("took %s in %d sessions, the last with a budget of %s", seconds(m.Spent), m.Sessions, seconds(p.Budget))
	}
	windows := "windows as long as each needs"
	if p.Window > 0 {
		windows = seconds(p.Window) + " windows"
	}
	return fmt.Sprintf("%s offered, cells of %s at most, %s, seed %d; %s", m.Rate, plural(p.Blocks, "block"), windows, p.Seed, took)
}

// mapState says what is missing, "" when nothing is.
func mapState(m *record.Map) string {
	switch m.Status {
	case record.Interrupted:
		return "INTERRUPTED: " + mapResume(m)
	case record.Partial:
		why := "the budget ended before every cell was known"
		if m.Failure != "" {
			why = m.Failure
		}
		return "PARTIAL: " + why + "; " + mapResume(m)
	case record.Running:
		return "INCOMPLETE: the map is being measured, or was cut off"
	}
	return ""
}

// theoryLines put the law's border beside the measured one.
func theoryLines(m *record.Map) (lines []string) {
	b := m.Theory
	if b == nil {
		return nil
	}
	across := m.Plan.X
	along := m.Plan.Y
	if b.Along == m.Plan.X.Name {
		across, along = along, across
	}
	between := func(i int) string {
		switch i {
		case 0:
			return "below " + along.Values[0]
		case len(along.Values):
			return "above " + along.Values[i-1]
		}
		return "between " + along.Values[i-1] + " and " + along.Values[i]
	}
	for _, l := range b.Lines {
		text := fmt.Sprintf("%s=%s: by law %s, ", across.Name, l.Value, between(l.Law))
		switch {
		case !l.Known:
			text += "no one border measured"
		case l.From == l.To:
			text += "measured " + between(l.From)
		default:
			text += "measured " + between(l.From) + " or up to " + between(l.To)
		}
		if l.Known && !l.Within1 {
			text += ": more than a cell apart"
		}
		lines = append(lines, text)
	}
	return lines
}

func mapResume(m *record.Map) string {
	return "'schedlab map --resume " + command.Quote(m.Dir) + "' goes on"
}
