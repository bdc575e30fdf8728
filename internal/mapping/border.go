package mapping

import (
	"slices"

	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// border compares a map with Little's law. The law's border lies between the cells in which an arm
// has enough workers and the cells in which it has too few; the measured border lies between the
// cells that the arm does not lose and the cells that it loses. border returns nil if the law puts
// no border on the map, or is about several arms.
//
// The lines are columns or rows of the map, in whichever of the two the law has a border. Cells are
// counted along a line from its low end.
func border(m *record.Map) *record.Border {
	arm := ""
	for _, c := range m.Cells {
		for _, short := range c.Short {
			if arm != "" && arm != short {
				return nil
			}
			arm = short
		}
	}
	if arm == "" {
		return nil
	}
	columns, rows := make([][]record.Cell, len(m.Plan.X.Values)), make([][]record.Cell, len(m.Plan.Y.Values))
	for _, c := range m.Cells {
		columns[c.X], rows[c.Y] = append(columns[c.X], c), append(rows[c.Y], c)
	}
	b := record.Border{Law: "Little's law: workers above rate x time held", Arm: arm}
	b.Along, b.Lines = m.Plan.Y.Name, crossings(arm, columns, m.Plan.X.Values)
	if b.Lines == nil {
		b.Along, b.Lines = m.Plan.X.Name, crossings(arm, rows, m.Plan.Y.Values)
	}
	if b.Lines == nil {
		return nil
	}
	return &b
}

// crossings returns the border in every line of cells; nil if the law crosses none. values has that of each line.
func crossings(arm string, lines [][]record.Cell, values []string) (all []record.BorderLine) {
	low, high := 0, 0 // lines with a short cell at the low end only, and at the high end only
	for _, cells := range lines {
		first, last := slices.Contains(cells[0].Short, arm), slices.Contains(cells[len(cells)-1].Short, arm)
		low += stats.Count(first && !last)
		high += stats.Count(!first && last)
	}
	if low+high == 0 {
		return nil
	}
	for i, cells := range lines {
		// The cells in which an arm is short lie at one end of all lines, the one that most lines show.
		if low < high {
			slices.Reverse(cells)
		}
		l := crossing(arm, cells)
		// Counting from the other end swaps From and To.
		if low < high {
			l.Law, l.From, l.To = len(cells)-l.Law, len(cells)-l.To, len(cells)-l.From
		}
		l.Value = values[i]
		all = append(all, l)
	}
	return all
}

// crossing finds the border of one line: Law, the number of short cells, and From..To, between which the measured border
// lies. The short end comes first. Known becomes false if the cells of one kind are not all at one end, or if an undecided
// cell at the border was refused or not measured.
func crossing(arm string, cells []record.Cell) record.BorderLine {
	l := record.BorderLine{Known: true}
	for i, c := range cells {
		if slices.Contains(c.Short, arm) {
			l.Known = l.Known && l.Law == i // false if a cell that is not short comes before a short one
			l.Law = i + 1
		}
		// An arm loses a cell if another arm wins it, or if others tie and it is not among them.
		lost := c.Decision == record.Wins && c.Winner != arm || c.Decision == record.Ties && !slices.Contains(c.Among, arm)
		switch {
		// From and To move up with every sure loss; undecided cells behind the last loss move To
		// alone.
		case c.Decided() && lost:
			l.Known = l.Known && l.To == i // false if the arm surely held a cell before this one
			l.From, l.To = i+1, i+1
		case !c.Decided() && l.To == i: // undecided, and every cell since the last loss is undecided too
			l.Known = l.Known && c.State == record.Sampled
			l.To = i + 1
		}
	}
	l.Within1 = l.Known && max(l.From-l.Law, l.Law-l.From, l.To-l.Law, l.Law-l.To) <= 1
	return l
}
