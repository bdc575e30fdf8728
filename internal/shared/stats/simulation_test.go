package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// long marks a test of thousands of runs, which -short leaves out.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("a simulation of seconds")
	}
	t.Parallel()
}

// A run is one simulated comparison: per block a noise that all arms share (the
// trace), and per arm and block one of its own. Every arm's quantiles move
// together, as the quantiles of one window do. Noise is lognormal; the sizes
// are standard deviations of the logarithm.
type run struct {
	blocks     int
	challenger int     // challengers, each with three primary metrics
	shared     float64 // noise common to the arms of a block
	own        float64 // noise of one arm's window, common to its metrics
	metric     float64 // noise of one metric
	effect     float64 // factor planted in every challenger
}

// verdicts simulates one run and returns a decision per challenger and primary metric.
func (r run) verdicts(rng *rand.Rand) []Decision {
	primary := Metrics()[:3]
	arms := make([][3][]float64, r.challenger+1)
	for range r.blocks {
		block := r.shared * rng.NormFloat64()
		for a := range arms {
			window := block + r.own*rng.NormFloat64()
			if a > 0 {
				window += math.Log(r.effect)
			}
			for q := range primary {
				arms[a][q] = append(arms[a][q], 0.001*math.Exp(window+r.metric*rng.NormFloat64()))
			}
		}
	}
	var decisions []Decision
	for _, arm := range arms[1:] {
		for q, m := range primary {
			decisions = append(decisions, Compare(m, arms[0][q], arm[q], r.challenger*len(primary)).Decision)
		}
	}
	return decisions
}

// Of comparisons of a model with itself at most 5 % may say FASTER or SLOWER
// anywhere, whatever the noise. The claim is for 200 comparisons; 4000 take the
// luck of the seed out of it.
func TestFalseVerdictsAreRare(t *testing.T) {
	long(t)
	const runs = 1500
	for _, tt := range []struct {
		name       string
		blocks     int
		challenger int // 0: one metric of one challenger, M = 1
		noise      float64
	}{
		{"quick, M=6, calm", 12, 2, 0.02},
		{"quick, M=6", 12, 2, 0.08},
		{"quick, M=6, wild", 12, 2, 0.5},
		{"shortest, M=6, wild", 10, 2, 0.5},
		{"full, M=6", 27, 2, 0.08},
		{"full, M=6, wild", 27, 2, 0.5},
		{"quick, M=1", 12, 0, 0.08},
		{"quick, M=1, wild", 12, 0, 0.5},
		{"full, M=1, wild", 27, 0, 0.5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(20, uint64(tt.blocks)))
			wrong := 0
			for range runs {
				var decisions []Decision
				if tt.challenger == 0 {
					base, twin := make([]float64, tt.blocks), make([]float64, tt.blocks)
					for i := range base {
						base[i] = math.Exp(tt.noise * rng.NormFloat64())
						twin[i] = math.Exp(tt.noise * rng.NormFloat64())
					}
					decisions = []Decision{Compare(metric(t, "p99"), base, twin, 1).Decision}
				} else {
					decisions = run{tt.blocks, tt.challenger, 0.3, tt.noise, tt.noise / 2, 1}.verdicts(rng)
				}
				for _, d := range decisions {
					if d == refused {
						t.Fatal("refused sound values")
					}
					if d.Rank == Faster || d.Rank == Slower {
						wrong++
						break
					}
				}
			}
			if got := float64(wrong) / runs; got > 0.05 {
				t.Errorf("%.2f %% of A/A comparisons decided, want at most 5 %%", 100*got)
			} else {
				t.Logf("%.2f %% of A/A comparisons decided", 100*got)
			}
		})
	}
}

// A full run of 27 blocks and two challengers must find +10 % at least four
// times in five, when one window's quantile scatters by 6 % of its own (so the
// ratio of two windows by 8.5 %) beside a block noise of 30 % that cancels.
func TestPlantedEffectIsFound(t *testing.T) {
	long(t)
	const runs = 1000
	rng := rand.New(rand.NewPCG(10, 27))
	planted := run{blocks: 27, challenger: 2, shared: 0.3, own: 0.05, metric: 0.033, effect: 1.10}
	found, wrong, judged := 0, 0, 0
	for range runs {
		for _, d := range planted.verdicts(rng) {
			judged++
			switch d.Rank {
			case Slower:
				found++
			case Faster, Same:
				wrong++
			}
		}
	}
	t.Logf("%.1f %% found", 100*float64(found)/float64(judged))
	if got := float64(found) / float64(judged); got < 0.80 {
		t.Errorf("%.1f %% found, want at least 80 %%", 100*got)
	}
	if got := float64(wrong) / float64(judged); got > 0.05 {
		t.Errorf("%.1f %% judged FASTER or SAME, want at most 5 %%", 100*got)
	}
}
