// Package crossover chooses which cells of a grid of two factors to measure, so
// that the borders between the verdicts are found with few measurements, and says
// what the rest must be. It measures nothing and does not know what a verdict
// means: only whether two are equal. It is pure and deterministic; a Grid is not
// safe for concurrent use.
//
// A coarse lattice is measured first. A cell between two known ones in its row or
// column that agree is inferred to be as they are; every other cell is measured,
// and so is an inferred one beside another verdict. What is claimed is right when
// no region is so narrow that it lies between two cells of the lattice.
package crossover

import (
	"math/rand/v2"
	"slices"
)

// A Verdict of a cell. Those from 0 are decided, and only compared for equality.
type Verdict int

// The verdicts that decide nothing.
const (
	Undecided Verdict = -1 - iota // measured, and within the noise
	Refused                       // measured, and not to be trusted
)

// A Place is a cell of a grid, from 0.
type Place struct{ X, Y int }

// A Knowledge is what is known of a cell.
type Knowledge struct {
	Samples  int     // measurements of it; the last one counts
	Inferred bool    // not measured, and known from its neighbours
	Verdict  Verdict // meaningful when measured or inferred
	Border   bool    // decided or undecided, with a neighbour that has another verdict or is undecided
}

// Known reports whether the cell has a decided verdict.
func (k Knowledge) Known() bool { return (k.Samples > 0 || k.Inferred) && k.Verdict >= 0 }

// widest is the most steps between neighbours of the first lattice.
const widest = 6

// mostSamples is how often a cell is measured that is not decided.
const mostSamples = 2

// A Grid is a map in the making.
type Grid struct {
	columns, rows int
	samples       []Knowledge // measured ones only
	settled       []bool      // not to be measured again, by cell
	rank          []int       // that breaks ties, by cell
}

// New returns a grid without a measurement, of at least one column and row. Seed
// orders cells that are equally worth measuring.
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

// Settle says that the cell at p, once measured, is not to be measured again.
func (g *Grid) Settle(p Place) { g.settled[g.index(p)] = true }

// Next is the cell whose measurement says most: of the lattice, then of what is
// unknown, then of inferred cells at a border, and last, again, one that was refused
// or is undecided at a border. It is false when there is nothing left to learn.
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
	for rung, all := range candidates {
		if len(all) > 0 {
			return g.place(slices.MinFunc(all, g.moreTelling)), rung == 3, true
		}
	}
	return Place{}, false, false
}

// moreTelling puts the cell first that is farther from every measured one.
func (g *Grid) moreTelling(i, j int) int {
	if d := g.distance(j) - g.distance(i); d != 0 {
		return d
	}
	return g.rank[i] - g.rank[j]
}

// distance counts the steps to the nearest measured cell.
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

// lattice is where measuring begins: the corners, the middles of the edges and
// the centre, and more where that leaves wide gaps.
func (g *Grid) lattice() (all []int) {
	for _, y := range stations(g.rows) {
		for _, x := range stations(g.columns) {
			all = append(all, g.index(Place{x, y}))
		}
	}
	return all
}

// stations spread evenly over n places: the ends, the middle, and more where
// they would be more than widest apart.
func stations(n int) (at []int) {
	gaps := min(max(2, (n-1+widest-1)/widest), n-1)
	for i := range gaps + 1 {
		at = append(at, i*(n-1)/max(gaps, 1))
	}
	return at
}

func (g *Grid) index(p Place) int { return p.Y*g.columns + p.X }

func (g *Grid) place(i int) Place { return Place{i % g.columns, i / g.columns} }

func (g *Grid) inside(p Place) bool {
	return p.X >= 0 && p.X < g.columns && p.Y >= 0 && p.Y < g.rows
}
