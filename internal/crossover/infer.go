package crossover

import "slices"

// The four ways from a cell, opposite ones beside each other.
var ways = [4]Place{{-1, 0}, {1, 0}, {0, -1}, {0, 1}}

// Cells returns what is known of every cell, row by row.
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

// enclosed is the verdict on both sides of a cell in its row or column. Where row
// and column say different things neither counts.
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

func (g *Grid) agreed(cells []Knowledge, i int, one, other Place) (Verdict, bool) {
	a, b := g.nearest(cells, i, one), g.nearest(cells, i, other)
	return a.Verdict, a.Known() && b.Known() && a.Verdict == b.Verdict
}

// nearest is the first cell that way that was measured or inferred.
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

// neighbours are the cells beside one.
func (g *Grid) neighbours(cells []Knowledge, i int) (all []Knowledge) {
	p := g.place(i)
	for _, way := range ways {
		if q := (Place{p.X + way.X, p.Y + way.Y}); g.inside(q) {
			all = append(all, cells[g.index(q)])
		}
	}
	return all
}

// touchesOther says that a neighbour is decided otherwise.
func (g *Grid) touchesOther(cells []Knowledge, i int) bool {
	return slices.ContainsFunc(g.neighbours(cells, i), func(k Knowledge) bool {
		return k.Known() && k.Verdict != cells[i].Verdict
	})
}

// atBorder says that a neighbour is decided otherwise, or measured and not decided;
// of an undecided cell, that its decided neighbours are not all alike or one of
// them is missing.
func (g *Grid) atBorder(cells []Knowledge, i int) bool {
	around := g.neighbours(cells, i)
	if cells[i].Verdict >= 0 {
		return slices.ContainsFunc(around, func(k Knowledge) bool {
			return k.Verdict == Undecided || k.Known() && k.Verdict != cells[i].Verdict
		})
	}
	return slices.ContainsFunc(around, func(k Knowledge) bool { return !k.Known() || k.Verdict != around[0].Verdict })
}
