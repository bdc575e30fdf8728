package mapping

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"schedlab/internal/record"
)

// widest is the largest number of steps between neighbours of the first lattice.
const widest = 6

// mostVisits is how often a cell that stays undecided or refused is measured at most.
const mostVisits = 2

// A grid chooses which cells of a map to measure, so that the borders between the verdicts are found
// with few measurements, and infers the verdicts of the other cells. It knows of a verdict only
// whether it is decided and equal to another.
//
// A coarse lattice is measured first. A cell between two cells with the same verdict, in its row or
// column, is inferred to have this verdict. Every other cell is measured, and so is an inferred cell
// next to a cell with another verdict. The map is right unless a region is so narrow that it lies
// between two cells of the lattice. The same map and seed give the same choice.
type grid struct {
	*record.Map
	settled []bool // by cell: not to be measured again
	rank    []int  // by cell: breaks ties
}

// newGrid returns the grid of a map with all its cells. seed orders cells that are equally worth measuring.
func newGrid(m *record.Map, seed uint64) grid {
	return grid{m, make([]bool, len(m.Cells)), rand.New(rand.NewPCG(seed, 0xce115)).Perm(len(m.Cells))}
}

// index returns the index of a cell; cells are numbered row by row.
func (g grid) index(c *record.Cell) int { return c.Y*len(g.Plan.X.Values) + c.X }

// next returns the cell to measure next: first the cells of the lattice, then unknown cells, then
// inferred cells at a border, and last cells to measure again because they were refused or are
// undecided at a border. again reports that it is one of the last kind. cell is nil if no measurement
// is left to do. infer must have set the states.
func (g grid) next() (cell *record.Cell, again bool) {
	candidates := [][]*record.Cell{nil, nil, nil, nil} // in the order above
	columns, rows := stations(len(g.Plan.X.Values)), stations(len(g.Plan.Y.Values))
	for i := range g.Cells {
		c, kind := &g.Cells[i], 0
		switch {
		case c.Visits == 0 && slices.Contains(columns, c.X) && slices.Contains(rows, c.Y):
		case c.State == record.Unreached:
			kind = 1
		case c.State == record.Inferred && g.touchesOther(c):
			kind = 2
		case c.Visits < mostVisits && !g.settled[i] && (c.Decision == record.Rejected || undecided(c) && c.Border):
			kind = 3
		default:
			continue
		}
		candidates[kind] = append(candidates[kind], c)
	}
	// The cell farthest from every measured cell tells most.
	telling := func(a, b *record.Cell) int {
		return cmp.Or(g.distance(b)-g.distance(a), g.rank[g.index(a)]-g.rank[g.index(b)])
	}
	for kind, all := range candidates {
		if len(all) > 0 {
			return slices.MinFunc(all, telling), kind == 3
		}
	}
	return nil, false
}

// distance returns the number of steps, diagonal ones included, from a cell to the nearest other cell that was measured.
func (g grid) distance(c *record.Cell) int {
	nearest := len(g.Plan.X.Values) + len(g.Plan.Y.Values)
	for i := range g.Cells {
		if d := &g.Cells[i]; d.Visits > 0 && d != c {
			nearest = min(nearest, max(c.X-d.X, d.X-c.X)+max(c.Y-d.Y, d.Y-c.Y))
		}
	}
	return nearest
}

// stations spreads the places of the lattice evenly over n: both ends, the middle, and more if they
// would be more than widest apart.
func stations(n int) (at []int) {
	gaps := min(max(2, (n-1+widest-1)/widest), n-1)
	for i := range gaps + 1 {
		at = append(at, i*(n-1)/max(gaps, 1))
	}
	return at
}

// infer sets the state and the border of every cell, and the verdicts of the cells that were not
// measured. It does so anew each time, because a later measurement may contradict an inference. It
// works in rounds: a cell that was inferred in one round may enclose others in the next.
func (g grid) infer() {
	for i := range g.Cells {
		switch c := &g.Cells[i]; {
		case c.Visits == 0:
			c.State, c.CellVerdict = record.Unreached, record.CellVerdict{}
		case c.Decision == record.Rejected:
			c.State = record.Voided
		default:
			c.State = record.Sampled
		}
	}
	for more := true; more; {
		more = false
		// All cells of a round are inferred from the state before it, so that the order of cells
		// does not matter.
		before := *g.Map
		before.Cells = slices.Clone(g.Cells)
		for i := range g.Cells {
			c := &g.Cells[i]
			if v, ok := (grid{Map: &before}).enclosed(c); ok && c.State == record.Unreached {
				c.State, c.CellVerdict, more = record.Inferred, v, true
			}
		}
	}
	for i := range g.Cells {
		g.Cells[i].Border = g.atBorder(&g.Cells[i])
	}
}

// undecided reports whether a cell was measured and the difference is within the noise. A refused
// cell is not undecided: its measurement cannot be trusted.
func undecided(c *record.Cell) bool { return c.State == record.Sampled && !c.Decided() }

// alike reports whether two verdicts are equal: decision, winner and tied arms. The ratio does not
// matter.
func alike(a, b record.CellVerdict) bool {
	return a.Decision == b.Decision && a.Winner == b.Winner && slices.Equal(a.Among, b.Among)
}

// A way is a step from a cell to a neighbour.
type way struct{ x, y int }

// ways are the steps to the four neighbours of a cell. Opposite steps are next to each other.
var ways = [4]way{{-1, 0}, {1, 0}, {0, -1}, {0, 1}}

// step returns the cell that is one step away; nil if the map ends there.
func (g grid) step(c *record.Cell, by way) *record.Cell {
	x, y := c.X+by.x, c.Y+by.y
	if x < 0 || x >= len(g.Plan.X.Values) || y < 0 || y >= len(g.Plan.Y.Values) {
		return nil
	}
	return g.At(x, y)
}

// enclosed returns the verdict that a cell has between two equal ones in its row or column. If row
// and column say different things, neither counts and ok is false.
func (g grid) enclosed(c *record.Cell) (v record.CellVerdict, ok bool) {
	for i := 0; i < len(ways); i += 2 { // opposite ways are next to each other
		a, b := g.nearest(c, ways[i]), g.nearest(c, ways[i+1])
		if a == nil || b == nil || !a.Decided() || !alike(a.CellVerdict, b.CellVerdict) {
			continue
		}
		if ok && !alike(v, a.CellVerdict) {
			return v, false
		}
		v, ok = record.CellVerdict{Decision: a.Decision, Winner: a.Winner, Among: a.Among}, true
	}
	return v, ok
}

// nearest returns the first cell in a direction that was measured or inferred; nil if there is none.
func (g grid) nearest(c *record.Cell, by way) *record.Cell {
	for c = g.step(c, by); c != nil && c.State == record.Unreached; {
		c = g.step(c, by)
	}
	return c
}

// neighbours returns the cells next to a cell, up to four.
func (g grid) neighbours(c *record.Cell) (all []*record.Cell) {
	for _, way := range ways {
		if n := g.step(c, way); n != nil {
			all = append(all, n)
		}
	}
	return all
}

// touchesOther reports whether a neighbour of a cell has another decided verdict.
func (g grid) touchesOther(c *record.Cell) bool {
	return slices.ContainsFunc(g.neighbours(c), func(n *record.Cell) bool {
		return n.Decided() && !alike(n.CellVerdict, c.CellVerdict)
	})
}

// atBorder reports whether a cell is at a border. A decided cell is if a neighbour has another
// decided verdict, or was measured and is undecided. An undecided cell is if its neighbours are
// not all decided alike.
func (g grid) atBorder(c *record.Cell) bool {
	around := g.neighbours(c)
	switch {
	case c.Decided():
		return g.touchesOther(c) || slices.ContainsFunc(around, undecided)
	case undecided(c):
		return slices.ContainsFunc(around, func(n *record.Cell) bool {
			return !n.Decided() || !alike(n.CellVerdict, around[0].CellVerdict)
		})
	}
	return false
}
