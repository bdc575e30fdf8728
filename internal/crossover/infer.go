package crossover

import "slices"

// ways are the steps to the four neighbours of a cell. Opposite steps are next to each other.
var ways = [4]Place{{-1, 0}, {1, 0}, {0, -1}, {0, 1}}

// Cells returns the knowledge of every cell, row by row. The slice is a copy.
func (g *Grid) Cells() []Knowledge {
	cells := slices.Clone(g.samples)
	for {
		next := slices.Clone(cells)
		for i, k := range cells {
			if k.Samples > 0 || k.Inferred {
				continue
			}
			if v, ok := g.enclosed(cells, i); ok {
				next[i].Inferred, next[i].Verdict = true, v
			}
		}
		if slices.Equal(next, cells) {
			break
		}
		cells = next
	}
	for i, k := range cells {
		cells[i].Border = (k.Known() || k.Verdict == Undecided) && g.atBorder(cells, i)
	}
	return cells
}

// enclosed returns the verdict that a cell has between two equal ones in its row or column. If row
// and column say different things, neither counts and ok is false.
func (g *Grid) enclosed(cells []Knowledge, i int) (v Verdict, ok bool) {
	row, inRow := g.agreed(cells, i, ways[0], ways[1])
	column, inColumn := g.agreed(cells, i, ways[2], ways[3])
	switch {
	case inRow && inColumn:
		return row, row == column
	case inRow:
		return row, true
	}
	return column, inColumn
}

// agreed returns the verdict of the nearest known cells in two opposite directions. It is false if
// they differ or are not decided.
func (g *Grid) agreed(cells []Knowledge, i int, one, other Place) (Verdict, bool) {
	a, b := g.nearest(cells, i, one), g.nearest(cells, i, other)
	return a.Verdict, a.Known() && b.Known() && a.Verdict == b.Verdict
}

// nearest returns the first cell in a direction that was measured or inferred; the zero Knowledge
// if there is none.
func (g *Grid) nearest(cells []Knowledge, i int, way Place) Knowledge {
	p := g.place(i)
	for {
		p.X, p.Y = p.X+way.X, p.Y+way.Y
		if !g.inside(p) {
			return Knowledge{}
		}
		if k := cells[g.index(p)]; k.Samples > 0 || k.Inferred {
			return k
		}
	}
}

// neighbours returns the cells next to a cell, up to four.
func (g *Grid) neighbours(cells []Knowledge, i int) (all []Knowledge) {
	p := g.place(i)
	for _, way := range ways {
		if q := (Place{p.X + way.X, p.Y + way.Y}); g.inside(q) {
			all = append(all, cells[g.index(q)])
		}
	}
	return all
}

// touchesOther reports whether a neighbour of a cell has another decided verdict.
func (g *Grid) touchesOther(cells []Knowledge, i int) bool {
	return slices.ContainsFunc(g.neighbours(cells, i), func(k Knowledge) bool {
		return k.Known() && k.Verdict != cells[i].Verdict
	})
}

// atBorder reports whether a cell is at a border. A decided cell is if a neighbour has another
// decided verdict, or was measured and is undecided. An undecided cell is if its neighbours are
// not all decided alike.
func (g *Grid) atBorder(cells []Knowledge, i int) bool {
	around := g.neighbours(cells, i)
	if cells[i].Verdict >= 0 {
		return slices.ContainsFunc(around, func(k Knowledge) bool {
			return k.Verdict == Undecided || k.Known() && k.Verdict != cells[i].Verdict
		})
	}
	return slices.ContainsFunc(around, func(k Knowledge) bool { return !k.Known() || k.Verdict != around[0].Verdict })
}
