// Package crossover chooses which cells of a grid of two factors to measure, so that the borders
// between the verdicts are found with few measurements, and infers the verdicts of the other
// cells. It measures nothing and does not know the meaning of a verdict, only whether two are
// equal. It is pure and deterministic; a Grid is not safe for concurrent use.
//
// A coarse lattice is measured first. A cell between two known cells with the same verdict, in its
// row or column, is inferred to have this verdict. Every other cell is measured, and so is an
// inferred cell next to a cell with another verdict. The map is right unless a region is so narrow
// that it lies between two cells of the lattice.
package crossover

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// A Verdict of a cell. Verdicts from 0 are decided, and are only compared for equality.
type Verdict int

// The verdicts that decide nothing.
const (
	Undecided Verdict = -1 - iota // measured; the difference is within the noise
	Refused                       // measured; the measurement cannot be trusted
)

// A Place is the position of a cell in a grid; X is its column and Y its row, both from 0.
type Place struct{ X, Y int }

// A Knowledge holds the facts known about a cell.
type Knowledge struct {
	Samples  int     // number of measurements; the last one counts
	Inferred bool    // not measured, but known from its neighbours
	Verdict  Verdict // meaningful when measured or inferred
	Border   bool    // decided or undecided, with a neighbour that has another verdict or is undecided
}

// Known reports whether the cell has a decided verdict.
func (k Knowledge) Known() bool { return (k.Samples > 0 || k.Inferred) && k.Verdict >= 0 }

// widest is the largest number of steps between neighbours of the first lattice.
const widest = 6

// mostSamples is how often a cell that stays undecided or refused is measured at most.
const mostSamples = 2

// A Grid is a map that is being measured. [New] makes one.
type Grid struct {
	columns, rows int
	samples       []Knowledge // by cell; inferred verdicts are not kept
	settled       []bool      // by cell: not to be measured again
	rank          []int       // by cell: breaks ties
}

// New returns a grid without measurements. columns and rows must be 1 or more. seed orders cells
// that are equally worth measuring.
func New(columns, rows int, seed uint64) *Grid {
	n := columns * rows
	return &Grid{columns, rows, make([]Knowledge, n), make([]bool, n), rand.New(rand.NewPCG(seed, 0xce115)).Perm(n)}
}

// Sample records a measurement of the cell at p.
func (g *Grid) Sample(p Place, v Verdict) {
	k := &g.samples[g.index(p)]
	k.Samples++
	k.Verdict = v
}

// Settle says that the cell at p, once measured, need not be measured again.
func (g *Grid) Settle(p Place) { g.settled[g.index(p)] = true }

// Next returns the cell to measure next: first the cells of the lattice, then unknown cells, then
// inferred cells at a border, and last cells to measure again because they were refused or are
// undecided at a border. again reports that it is one of the last kind. ok is false if no
// measurement is left to do.
func (g *Grid) Next() (p Place, again, ok bool) {
	cells := g.Cells()
	candidates := [][]int{nil, nil, nil, nil} // in the order above
	lattice := g.lattice()
	for i, k := range cells {
		switch {
		case k.Samples == 0 && slices.Contains(lattice, i):
			candidates[0] = append(candidates[0], i)
		case k.Samples == 0 && !k.Inferred:
			candidates[1] = append(candidates[1], i)
		case k.Inferred && g.touchesOther(cells, i):
			candidates[2] = append(candidates[2], i)
		case k.Samples < mostSamples && !g.settled[i] && (k.Verdict == Refused || k.Verdict == Undecided && k.Border):
			candidates[3] = append(candidates[3], i)
		}
	}
	// The cell farthest from every measured cell tells most.
	telling := func(i, j int) int { return cmp.Or(g.distance(j)-g.distance(i), g.rank[i]-g.rank[j]) }
	for rung, all := range candidates {
		if len(all) > 0 {
			return g.place(slices.MinFunc(all, telling)), rung == 3, true
		}
	}
	return Place{}, false, false
}

// distance returns the number of steps, diagonal ones included, from a cell to the nearest
// measured cell.
func (g *Grid) distance(i int) int {
	nearest := g.columns + g.rows
	p := g.place(i)
	for j, k := range g.samples {
		if k.Samples > 0 && j != i {
			q := g.place(j)
			nearest = min(nearest, max(p.X-q.X, q.X-p.X)+max(p.Y-q.Y, q.Y-p.Y))
		}
	}
	return nearest
}

// lattice returns the cells to measure first: the corners, the middles of the edges and the
// centre, and more if these leave wide gaps.
func (g *Grid) lattice() (all []int) {
	for _, y := range stations(g.rows) {
		for _, x := range stations(g.columns) {
			all = append(all, g.index(Place{x, y}))
		}
	}
	return all
}

// stations spreads positions evenly over n: both ends, the middle, and more if they would be more
// than widest apart.
func stations(n int) (at []int) {
	gaps := min(max(2, (n-1+widest-1)/widest), n-1)
	for i := range gaps + 1 {
		at = append(at, i*(n-1)/max(gaps, 1))
	}
	return at
}

// index returns the index of the cell at p; cells are numbered row by row.
func (g *Grid) index(p Place) int { return p.Y*g.columns + p.X }

// place returns the position of the cell with an index.
func (g *Grid) place(i int) Place { return Place{i % g.columns, i / g.columns} }

// inside reports whether the grid has a cell at p.
func (g *Grid) inside(p Place) bool {
	return p.X >= 0 && p.X < g.columns && p.Y >= 0 && p.Y < g.rows
}

// ways are the steps to the four neighbours of a cell. Opposite steps are next to each other.
var ways = [4]Place{{-1, 0}, {1, 0}, {0, -1}, {0, 1}}

// Cells returns the knowledge of every cell, row by row. The slice is a copy. Inferences are made
// anew by each call, in rounds: a cell that was inferred in one round may enclose others in the
// next.
func (g *Grid) Cells() []Knowledge {
	cells := slices.Clone(g.samples)
	for {
		// All cells of a round are inferred from the state before it, so that the order of cells
		// does not matter.
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
