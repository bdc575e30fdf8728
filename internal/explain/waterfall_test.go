package explain_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"schedlab/internal/explain"
	"schedlab/internal/record"
)

// names are those of all phases.
func names() (all []string) {
	for _, st := range record.Stretches() {
		all = append(all, st.Phases...)
	}
	return all
}

// phases draws a time for each.
func phases(r *rand.Rand, scale float64) (list []record.Phase) {
	for _, name := range names() {
		mean := scale * r.ExpFloat64()
		if name == record.PhaseRest {
			mean -= scale / 4 // it can be below 0
		}
		list = append(list, record.Phase{Name: name, Mean: mean, Tail: 10 * mean})
	}
	return list
}

// Whatever the phases, the pieces add up to the difference, and those of a piece to the piece.
func TestPiecesAddUp(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 1))
		var blocks []explain.Block
		for range 2 + r.IntN(30) {
			blocks = append(blocks, explain.Block{From: phases(r, 1e-3*r.ExpFloat64()), To: phases(r, 1e-3*r.ExpFloat64())})
		}
		for _, of := range []func(record.Phase) float64{explain.Mean, explain.Tail} {
			w := explain.Waterfall(blocks, record.Stretches(), of)
			var by, from, to float64
			for _, p := range w.Pieces {
				by, from, to = by+p.By, from+p.From, to+p.To
				sum := 0.0
				for _, part := range p.Phases {
					sum += part.By
				}
				if len(p.Phases) > 0 && math.Abs(sum-p.By) > 1e-12 {
					t.Errorf("seed %d: the phases of %s add up to %v, the piece is %v", seed, p.Stretch, sum, p.By)
				}
			}
			if math.Abs(by-w.By) > 1e-12 || math.Abs(from-w.From) > 1e-12 || math.Abs(to-w.To) > 1e-12 || math.Abs(w.From+w.By-w.To) > 1e-12 {
				t.Fatalf("seed %d: pieces lead from %v by %v to %v, the waterfall from %v by %v to %v", seed, from, by, to, w.From, w.By, w.To)
			}
		}
	}
}

// Intervals hold what the blocks were drawn from in 90 % of simulations and more, also where
// blocks drift together and one in ten is disturbed.
func TestIntervalsCoverTheTruth(t *testing.T) {
	const runs, truth = 2000, 30e-6
	for _, blocks := range []int{10, 14, 30} {
		held := 0
		for seed := range uint64(runs) {
			r := rand.New(rand.NewPCG(seed, uint64(blocks)))
			var from, to []float64
			drift := 0.0
			for range blocks {
				drift += 5e-6 * r.NormFloat64()
				noise := func() float64 {
					v := 10e-6 * r.NormFloat64()
					if r.IntN(10) == 0 {
						v += 30e-6 * r.ExpFloat64()
					}
					return v
				}
				from = append(from, 200e-6+drift+noise())
				to = append(to, 200e-6+truth+drift+noise())
			}
			if s := explain.Paired(from, to); s.Low <= truth && truth <= s.High {
				held++
			}
		}
		if got := float64(held) / runs; got < .93 {
			t.Errorf("%d blocks: the interval holds the truth in %.3f of %d simulations, want 0.93", blocks, got, runs)
		} else {
			t.Logf("%d blocks: %.3f", blocks, got)
		}
	}
}
