package crossover

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// A truth is the verdict that a patient measurement would reach at a cell.
type truth func(p Place) Verdict

func below(f func(x float64) float64) truth {
	return func(p Place) Verdict {
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
		"none":     func(Place) Verdict { return 2 },
		"upright":  func(p Place) Verdict { return Verdict(min(p.X/(n/3+1), 1)) },
		"level":    below(func(float64) float64 { return w / 3 }),
		"diagonal": below(func(x float64) float64 { return x }),
		"steep":    below(func(x float64) float64 { return 3*x - w }),
		"bent":     below(func(x float64) float64 { return x * x / w }),
		"arch":     below(func(x float64) float64 { return 0.8*w - 3*(x-w/2)*(x-w/2)/w }),
		"three": func(p Place) Verdict {
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
func explore(g *Grid, measure func(p Place, again bool) Verdict, budget int) (order []Place) {
	for len(order) < budget {
		p, again, ok := g.Next()
		if !ok {
			break
		}
		g.Sample(p, measure(p, again))
		order = append(order, p)
	}
	return order
}

func TestEveryClaimIsRight(t *testing.T) {
	t.Parallel()
	for _, n := range []int{5, 9, 17} {
		for name, is := range borders(n) {
			for seed := range uint64(5) {
				g := New(n, n, seed)
				took := explore(g, func(p Place, _ bool) Verdict { return is(p) }, n*n+1)
				if len(took) >= n*n {
					t.Errorf("%s, %d by %d, seed %d: measured %d cells, want fewer than all", name, n, n, seed, len(took))
				}
				for i, k := range g.Cells() {
					p := g.place(i)
					if !k.Known() || k.Verdict != is(p) {
						t.Errorf("%s, %d by %d, seed %d: %v is %+v, want the verdict %d", name, n, n, seed, p, k, is(p))
					}
					if k.Border && k.Samples == 0 {
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
	g := New(n, n, 1)
	took := explore(g, func(p Place, _ bool) Verdict { return borders(n)["diagonal"](p) }, n*n)
	if len(took) > n*n/3 {
		t.Errorf("measured %d of %d cells, want at most a third", len(took), n*n)
	}
}

// noisy leaves cells near the border undecided, most of them only at first.
func noisy(is truth, rng *rand.Rand) func(Place, bool) Verdict {
	return func(p Place, again bool) Verdict {
		near := slices.ContainsFunc(ways[:], func(w Place) bool { return is(Place{p.X + w.X, p.Y + w.Y}) != is(p) })
		if near && rng.Float64() < map[bool]float64{false: 0.5, true: 0.2}[again] {
			return Undecided
		}
		return is(p)
	}
}

func TestNoiseAtTheBorderSpoilsNoClaim(t *testing.T) {
	t.Parallel()
	const n = 11
	for name, is := range borders(n) {
		for seed := range uint64(20) {
			g := New(n, n, seed)
			took := explore(g, noisy(is, rand.New(rand.NewPCG(seed, 1))), mostSamples*n*n+1)
			if len(took) > mostSamples*n*n {
				t.Fatalf("%s, seed %d: measuring does not end", name, seed)
			}
			for i, k := range g.Cells() {
				p := g.place(i)
				if k.Known() && k.Verdict != is(p) {
					t.Errorf("%s, seed %d: %v is %+v, want the verdict %d or none", name, seed, p, k, is(p))
				}
				if k.Verdict == Undecided && k.Inferred {
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
		g := New(n, n, 3)
		if took := explore(g, func(p Place, _ bool) Verdict { return is(p) }, budget); len(took) > budget {
			t.Errorf("measured %d cells, the budget was %d", len(took), budget)
		}
		count := 0
		for i, k := range g.Cells() {
			if k.Known() {
				count++
				if k.Samples > 0 && k.Verdict != is(g.place(i)) {
					t.Errorf("after %d: %v is %d", budget, g.place(i), k.Verdict)
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
	order := func(seed uint64) []Place {
		return explore(New(n, n, seed), noisy(borders(n)["bent"], rand.New(rand.NewPCG(7, 7))), math.MaxInt)
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
	g, h := New(n, n, 4), New(n, n, 4)
	took := explore(g, func(p Place, _ bool) Verdict { return is(p) }, 20)
	slices.Reverse(took)
	for _, p := range took {
		h.Sample(p, is(p))
	}
	p, _, _ := g.Next()
	if q, _, _ := h.Next(); p != q {
		t.Errorf("next is %v, and %v after the same measurements in another order", p, q)
	}
}

func TestRefusedCellsGetASecondChanceAtTheEnd(t *testing.T) {
	t.Parallel()
	g := New(4, 3, 1)
	first, second := 0, 0
	took := explore(g, func(_ Place, again bool) Verdict {
		if !again {
			first++
			if second > 0 {
				t.Error("a cell was measured again before all were measured once")
			}
			return Refused
		}
		second++
		return Verdict(second%2*2) - 2 // every other one is refused for good
	}, 100)
	if first != 12 || second != 12 || len(took) != 24 {
		t.Errorf("measured %d cells and %d again, %d in all, want each of 12 twice", first, second, len(took))
	}
}

// A cell that was settled is passed over for the next that may be measured again.
func TestASettledCellGetsNoSecondChance(t *testing.T) {
	t.Parallel()
	g := New(3, 1, 1)
	var second []Place
	for range 10 {
		p, again, ok := g.Next()
		if !ok {
			break
		}
		if again {
			second = append(second, p)
			if p.X != 0 {
				g.Settle(p)
				continue
			}
		}
		g.Sample(p, Refused)
	}
	slices.SortFunc(second, func(a, b Place) int { return a.X - b.X })
	if want := []Place{{0, 0}, {1, 0}, {2, 0}}; !slices.Equal(second, want) {
		t.Errorf("offered %v again, want each of %v once", second, want)
	}
	for i, want := range []int{2, 1, 1} {
		if got := g.Cells()[i].Samples; got != want {
			t.Errorf("cell %d was measured %d times, want %d", i, got, want)
		}
	}
}

func TestGridsOfOneLine(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{1, 1}, {1, 7}, {2, 2}, {7, 1}, {3, 2}} {
		g := New(size[0], size[1], 1)
		explore(g, func(p Place, _ bool) Verdict { return Verdict((p.X + p.Y) / 3) }, 100)
		for i, k := range g.Cells() {
			if p := g.place(i); !k.Known() || k.Verdict != Verdict((p.X+p.Y)/3) {
				t.Errorf("%v: %v is %+v", size, p, k)
			}
		}
	}
}
