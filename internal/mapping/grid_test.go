package mapping

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"schedlab/internal/record"
)

// A verdict of a made cell: from 0 on an arm wins, below 0 nothing is decided.
type verdict int

const (
	open verdict = -1 - iota // measured; the difference is within the noise
	refused
)

// A place is a column and a row of a made map.
type place struct{ X, Y int }

// gridOf returns the grid of a map without measurements.
func gridOf(columns, rows int, seed uint64) grid {
	m := &record.Map{}
	m.Plan.X.Values, m.Plan.Y.Values = make([]string, columns), make([]string, rows)
	for i := range columns * rows {
		m.Cells = append(m.Cells, record.Cell{X: i % columns, Y: i / columns})
	}
	g := newGrid(m, seed)
	g.infer()
	return g
}

// sample measures a cell, as a Run does.
func (g grid) sample(p place, v verdict) {
	c := g.At(p.X, p.Y)
	c.Visits++
	switch c.CellVerdict = (record.CellVerdict{}); v {
	case open:
		c.Decision = record.InDoubt
	case refused:
		c.Decision = record.Rejected
	default:
		c.Decision, c.Winner = record.Wins, strconv.Itoa(int(v))
	}
	g.infer()
}

// verdictOf is the winner of a decided cell as a number.
func verdictOf(c record.Cell) verdict {
	v, _ := strconv.Atoi(c.Winner)
	return verdict(v)
}

// chosen is the place of the next cell; ok is false if none is left.
func (g grid) chosen() (p place, again, ok bool) {
	c, again := g.next()
	if c != nil {
		p = place{c.X, c.Y}
	}
	return p, again, c != nil
}

// A truth is the verdict that a patient measurement would reach at a cell.
type truth func(p place) verdict

func below(f func(x float64) float64) truth {
	return func(p place) verdict {
		if float64(p.Y) < f(float64(p.X)) {
			return 0
		}
		return 1
	}
}

// borders are maps of n by n cells.
func borders(n int) map[string]truth {
	w := float64(n - 1)
	return map[string]truth{
		"none":     func(place) verdict { return 2 },
		"upright":  func(p place) verdict { return verdict(min(p.X/(n/3+1), 1)) },
		"level":    below(func(float64) float64 { return w / 3 }),
		"diagonal": below(func(x float64) float64 { return x }),
		"steep":    below(func(x float64) float64 { return 3*x - w }),
		"bent":     below(func(x float64) float64 { return x * x / w }),
		"arch":     below(func(x float64) float64 { return 0.8*w - 3*(x-w/2)*(x-w/2)/w }),
		"three": func(p place) verdict {
			switch {
			case float64(p.Y) < float64(p.X)/2:
				return 0
			case p.X < n/2:
				return 1
			}
			return 2
		},
	}
}

// explore measures until nothing is left to learn, at most budget times.
func explore(g grid, measure func(p place, again bool) verdict, budget int) (order []place) {
	for len(order) < budget {
		p, again, ok := g.chosen()
		if !ok {
			break
		}
		g.sample(p, measure(p, again))
		order = append(order, p)
	}
	return order
}

func TestEveryClaimIsRight(t *testing.T) {
	t.Parallel()
	for _, n := range []int{5, 9, 17} {
		for name, is := range borders(n) {
			for seed := range uint64(5) {
				g := gridOf(n, n, seed)
				took := explore(g, func(p place, _ bool) verdict { return is(p) }, n*n+1)
				if len(took) >= n*n {
					t.Errorf("%s, %d by %d, seed %d: measured %d cells, want fewer than all", name, n, n, seed, len(took))
				}
				for _, k := range g.Cells {
					p := place{k.X, k.Y}
					if !k.Decided() || verdictOf(k) != is(p) {
						t.Errorf("%s, %d by %d, seed %d: %v is %+v, want the verdict %d", name, n, n, seed, p, k, is(p))
					}
					if k.Border && k.Visits == 0 {
						t.Errorf("%s, %d by %d, seed %d: %v is at a border and was not measured", name, n, n, seed, p)
					}
				}
			}
		}
	}
}

func TestALargeMapIsMostlyInferred(t *testing.T) {
	t.Parallel()
	const n = 25
	g := gridOf(n, n, 1)
	took := explore(g, func(p place, _ bool) verdict { return borders(n)["diagonal"](p) }, n*n)
	if len(took) > n*n/3 {
		t.Errorf("measured %d of %d cells, want at most a third", len(took), n*n)
	}
}

// noisy leaves cells near the border undecided, most of them only at first.
func noisy(is truth, rng *rand.Rand) func(place, bool) verdict {
	return func(p place, again bool) verdict {
		near := slices.ContainsFunc(ways[:], func(w way) bool { return is(place{p.X + w.x, p.Y + w.y}) != is(p) })
		if near && rng.Float64() < map[bool]float64{false: 0.5, true: 0.2}[again] {
			return open
		}
		return is(p)
	}
}

func TestNoiseAtTheBorderSpoilsNoClaim(t *testing.T) {
	t.Parallel()
	const n = 11
	for name, is := range borders(n) {
		for seed := range uint64(20) {
			g := gridOf(n, n, seed)
			took := explore(g, noisy(is, rand.New(rand.NewPCG(seed, 1))), mostVisits*n*n+1)
			if len(took) > mostVisits*n*n {
				t.Fatalf("%s, seed %d: measuring does not end", name, seed)
			}
			for _, k := range g.Cells {
				p := place{k.X, k.Y}
				if k.Decided() && verdictOf(k) != is(p) {
					t.Errorf("%s, seed %d: %v is %+v, want the verdict %d or none", name, seed, p, k, is(p))
				}
				if k.State == record.Inferred && !k.Decided() {
					t.Errorf("%s, seed %d: %v is inferred to be undecided", name, seed, p)
				}
			}
		}
	}
}

func TestACutRunIsAMapOfFewerCells(t *testing.T) {
	t.Parallel()
	const n = 11
	is := borders(n)["diagonal"]
	known := 0
	for _, budget := range []int{0, 1, 9, 15, 25, 40} {
		g := gridOf(n, n, 3)
		if took := explore(g, func(p place, _ bool) verdict { return is(p) }, budget); len(took) > budget {
			t.Errorf("measured %d cells, the budget was %d", len(took), budget)
		}
		count := 0
		for _, k := range g.Cells {
			if k.Decided() {
				count++
				if p := (place{k.X, k.Y}); k.Visits > 0 && verdictOf(k) != is(p) {
					t.Errorf("after %d: %v is %d", budget, p, verdictOf(k))
				}
			}
		}
		if count < known {
			t.Errorf("after %d measurements %d cells are known, fewer than the %d before", budget, count, known)
		}
		known = count
	}
	if known < n*n/2 {
		t.Errorf("after 40 measurements %d of %d cells are known, want half", known, n*n)
	}
}

func TestOneSeedOneOrder(t *testing.T) {
	t.Parallel()
	const n = 9
	order := func(seed uint64) []place {
		return explore(gridOf(n, n, seed), noisy(borders(n)["bent"], rand.New(rand.NewPCG(7, 7))), math.MaxInt)
	}
	if a, b := order(1), order(1); !slices.Equal(a, b) {
		t.Errorf("seed 1 measured in two orders:\n%v\n%v", a, b)
	}
	if a, b := order(1), order(2); slices.Equal(a, b) {
		t.Errorf("seeds 1 and 2 measured in one order: %v", a)
	}
}

// What was measured before is all that the next choice depends on, so that a map
// can be resumed.
func TestTheOrderOfMeasurementsIsForgotten(t *testing.T) {
	t.Parallel()
	const n = 9
	is := borders(n)["arch"]
	g, h := gridOf(n, n, 4), gridOf(n, n, 4)
	took := explore(g, func(p place, _ bool) verdict { return is(p) }, 20)
	slices.Reverse(took)
	for _, p := range took {
		h.sample(p, is(p))
	}
	p, _, _ := g.chosen()
	if q, _, _ := h.chosen(); p != q {
		t.Errorf("next is %v, and %v after the same measurements in another order", p, q)
	}
}

func TestRefusedCellsGetASecondChanceAtTheEnd(t *testing.T) {
	t.Parallel()
	g := gridOf(4, 3, 1)
	first, second := 0, 0
	took := explore(g, func(_ place, again bool) verdict {
		if !again {
			first++
			if second > 0 {
				t.Error("a cell was measured again before all were measured once")
			}
			return refused
		}
		second++
		return verdict(second%2*2) - 2 // every other one is refused for good
	}, 100)
	if first != 12 || second != 12 || len(took) != 24 {
		t.Errorf("measured %d cells and %d again, %d in all, want each of 12 twice", first, second, len(took))
	}
}

// A cell that was settled is passed over for the next that may be measured again.
func TestASettledCellGetsNoSecondChance(t *testing.T) {
	t.Parallel()
	g := gridOf(3, 1, 1)
	var second []place
	for range 10 {
		p, again, ok := g.chosen()
		if !ok {
			break
		}
		if again {
			second = append(second, p)
			if p.X != 0 {
				g.settled[p.X] = true
				continue
			}
		}
		g.sample(p, refused)
	}
	slices.SortFunc(second, func(a, b place) int { return a.X - b.X })
	if want := []place{{0, 0}, {1, 0}, {2, 0}}; !slices.Equal(second, want) {
		t.Errorf("offered %v again, want each of %v once", second, want)
	}
	for i, want := range []int{2, 1, 1} {
		if got := g.Cells[i].Visits; got != want {
			t.Errorf("cell %d was measured %d times, want %d", i, got, want)
		}
	}
}

func TestGridsOfOneLine(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{1, 1}, {1, 7}, {2, 2}, {7, 1}, {3, 2}} {
		g := gridOf(size[0], size[1], 1)
		explore(g, func(p place, _ bool) verdict { return verdict((p.X + p.Y) / 3) }, 100)
		for _, k := range g.Cells {
			if p := (place{k.X, k.Y}); !k.Decided() || verdictOf(k) != verdict((p.X+p.Y)/3) {
				t.Errorf("%v: %v is %+v", size, p, k)
			}
		}
	}
}
