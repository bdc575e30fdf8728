package judge

import (
	"math"
	"math/rand/v2"
	"testing"

	"schedlab/internal/record"
	"schedlab/internal/timeline"
	"schedlab/internal/window"
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
		var blocks []Block
		for range 2 + r.IntN(30) {
			blocks = append(blocks, Block{From: phases(r, 1e-3*r.ExpFloat64()), To: phases(r, 1e-3*r.ExpFloat64())})
		}
		for _, of := range []func(record.Phase) float64{MeanOf, TailOf} {
			w := Waterfall(blocks, record.Stretches(), of)
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
			if s := Paired(from, to); s.Low <= truth && truth <= s.High {
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

// A result tells a difference of means whose interval excludes 0, that is more than the baseline's
// copy may be off and more than the load adds, with the pieces that are as sure.
func TestDifferencesThatAreTold(t *testing.T) {
	t.Parallel()
	const kernel, service = 4, timeline.Service // ingress
	var noise float64                           // by which blocks differ, of the pool
	made := func(copied, copyNoise, pool float64, floor *record.Floor) []record.Difference {
		b := blocks{windows: windows{}, run: record.Run{Env: record.Env{Floor: floor}}}
		arms := []record.Arm{{Name: "a", Role: record.Baseline, Joined: 1}, {Name: "a'", Role: record.Copy, Joined: 1}, {Name: "pool", Role: record.Challenger, Joined: 1}}
		for _, a := range arms {
			b.run.Plan.Arms = append(b.run.Plan.Arms, record.PlanArm{Name: a.Name, Role: a.Role})
		}
		for block := range 12 {
			b.valid = append(b.valid, block)
			b.windows[block] = map[string]modelled{}
			sign := float64(block%2*2 - 1)
			for name, more := range map[string]float64{"a": 0, "a'": copied + sign*copyNoise, "pool": pool + sign*noise} {
				p := window.Phases{Stamped: true, Good: 1000, Joined: 1000}
				p.Mean[kernel], p.Mean[service] = 200e-6+more, 1e-3+sign*5e-6*more/pool
				b.windows[block][name] = modelled{Window: window.Window{Phases: p}}
			}
		}
		return b.differences(arms)
	}
	for _, c := range []struct {
		name                           string
		copied, copyNoise, pool, noise float64
		floor                          *record.Floor
		want                           bool
	}{
		{"sure", 0, 10e-6, 321e-6, 10e-6, nil, true},
		{"its own interval holds 0", 0, 10e-6, 321e-6, 700e-6, nil, false},
		{"the copy is as far off as that", 237e-6, 150e-6, 321e-6, 10e-6, nil, false},
		{"the load adds more", 0, 10e-6, 321e-6, 10e-6, &record.Floor{P50: 330e-6}, false},
		{"little of the mean", 0, 1e-6, 59e-6, 1e-6, nil, false},
		{"faster", 0, 1e-6, -80e-6, 1e-6, nil, true},
	} {
		noise = c.noise
		got := made(c.copied, c.copyNoise, c.pool, c.floor)
		if (len(got) > 0) != c.want {
			t.Errorf("%s: got %+v", c.name, got)
			continue
		}
		if c.want && (got[0].Tail || got[0].Baseline != "a" || len(got[0].Pieces) != 1 || got[0].Pieces[0].Stretch != "kernel") {
			t.Errorf("%s: got %+v, want the kernel's piece alone: the handler's is not sure", c.name, got[0])
		}
	}
}
