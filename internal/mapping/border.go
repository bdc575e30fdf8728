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
	columns, rows := len(m.Plan.X.Values), len(m.Plan.Y.Values)
	b := record.Border{Law: "Little's law: workers above rate x time held", Arm: arm}
	// Try the columns first: a line then goes through the rows.
	up := crossing{arm, rows, func(line, i int) *record.Cell { return m.At(line, i) }}
	if b.Lines = up.all(m.Plan.X.Values); b.Lines != nil {
		b.Along = m.Plan.Y.Name
		return &b
	}
	across := crossing{arm, columns, func(line, i int) *record.Cell { return m.At(i, line) }}
	if b.Lines = across.all(m.Plan.Y.Values); b.Lines != nil {
		b.Along = m.Plan.X.Name
		return &b
	}
	return nil
}

// A crossing walks along the lines of a map, each of n cells, and looks for the cells in which the
// arm is short of workers. at returns the i-th cell of a line, both from 0.
type crossing struct {
	arm string
	n   int
	at  func(line, i int) *record.Cell
}

// short reports whether the arm has too few workers in a cell.
func (c crossing) short(line, i int) bool { return slices.Contains(c.at(line, i).Short, c.arm) }

// all returns the border in every line, in the order of values: the factor that has one value in
// each line. It returns nil if the law crosses no line.
func (c crossing) all(values []string) (lines []record.BorderLine) {
	low, high := 0, 0 // lines with a short cell at the low end only, and at the high end only
	for line := range values {
		low += stats.Count(c.short(line, 0) && !c.short(line, c.n-1))
		high += stats.Count(!c.short(line, 0) && c.short(line, c.n-1))
	}
	if low+high == 0 {
		return nil
	}
	for line, value := range values {
		// The cells in which an arm is short lie at one end of all lines, the one that most lines
		// show. A line without a short cell is counted from that end, too.
		l := c.line(line, low >= high)
		l.Value = value
		lines = append(lines, l)
	}
	return lines
}

// line finds the border of one line: Law, the number of short cells, and From..To, between which
// the measured border lies. It counts cells from the short end; if that is the high end (low is
// false), it converts the places to count from the low end before it returns. Known becomes false
// if the cells of one kind are not all at one end, or if an undecided cell at the border was refused
// or not measured.
func (c crossing) line(line int, low bool) record.BorderLine {
	var l record.BorderLine
	place := func(i int) int {
		if low {
			return i
		}
		return c.n - 1 - i
	}
	// An arm loses a cell if another arm wins it, or if others tie and it is not among them.
	lost := func(i int) (lost, sure bool) {
		cell := c.at(line, place(i))
		beaten := cell.Decision == record.Wins && cell.Winner != c.arm
		return beaten || cell.Decision == record.Ties && !slices.Contains(cell.Among, c.arm), cell.Decided()
	}
	l.Known = true
	for i := range c.n {
		if c.short(line, place(i)) {
			l.Known = l.Known && l.Law == i // false if a cell that is not short comes before a short one
			l.Law = i + 1
		}
		switch lost, sure := lost(i); {
		// From and To move up with every sure loss; undecided cells behind the last loss move To
		// alone.
		case sure && lost:
			l.Known = l.Known && l.To == i // false if the arm surely held a cell before this one
			l.From, l.To = i+1, i+1
		case !sure && l.To == i: // undecided, and every cell since the last loss is undecided too
			l.Known = l.Known && c.at(line, place(i)).State == record.Sampled
			l.To = i + 1
		}
	}
	l.Within1 = l.Known && max(l.From-l.Law, l.Law-l.From, l.To-l.Law, l.Law-l.To) <= 1
	// Counting from the other end swaps From and To.
	if !low {
		l.Law, l.From, l.To = c.n-l.Law, c.n-l.To, c.n-l.From
	}
	return l
}
