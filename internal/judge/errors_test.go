package judge

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// A shape draws what a window adds to the logarithm of its times.
type shape struct {
	name string
	draw func(rng *rand.Rand) float64
}

var shapes = []shape{
	{"normal", func(rng *rand.Rand) float64 { return rng.NormFloat64() }},
	{"Student t, 2 degrees", func(rng *rand.Rand) float64 { return rng.NormFloat64() / math.Sqrt(rng.ExpFloat64()) }},
	{"a fifth ten times as noisy", func(rng *rand.Rand) float64 {
		return rng.NormFloat64() * []float64{1, 1, 1, 1, 10}[rng.IntN(5)]
	}},
	{"one-sided hits", func(rng *rand.Rand) float64 {
		if rng.IntN(10) == 0 {
			return .5*rng.NormFloat64() + 20*rng.ExpFloat64()
		}
		return .5 * rng.NormFloat64()
	}},
}

// drawn draws the times of a run: of the baseline, its copy, and challengers, which take the given
// multiples of the baseline's time. The quantiles of a window share their noise if correlated,
// else each has its own. size is the standard deviation of the noise.
func drawn(rng *rand.Rand, s shape, size float64, correlated bool, challengers ...float64) map[string]map[string][]float64 {
	all := map[string]map[string][]float64{}
	for i, ratio := range append([]float64{1, 1}, challengers...) {
		name := string(rune('a' + i))
		all[name] = map[string][]float64{}
		for range stats.Looks()[len(stats.Looks())-1] {
			window := s.draw(rng)
			for _, metric := range stats.Names(stats.Quantiles()) {
				if own := s.draw(rng); correlated {
					all[name][metric] = append(all[name][metric], ratio*math.Exp(size*(window+.3*own)))
				} else {
					all[name][metric] = append(all[name][metric], ratio*math.Exp(size*own))
				}
			}
			all[name]["goodput"], all[name]["cpu_per_request"] = append(all[name]["goodput"], 1), append(all[name]["cpu_per_request"], 1)
		}
	}
	return all
}

// played is the ranking of such a run, which ends at the first look that decides it.
func played(values map[string]map[string][]float64, names ...string) (f ranking, r *record.Result) {
	b, arms := plain(names, values)
	whole := b.valid
	for _, n := range stats.Looks() {
		b.valid = whole[:n]
		g := judgement{blocks: b, verdicts: b.compare(arms)}
		r = &record.Result{Arms: arms, Verdicts: g.verdicts.all, Duels: g.verdicts.duels}
		r.Winner, r.Answer = conclude(r)
		if g.result = r; g.settled(0, false) {
			break
		}
	}
	return newRanking(r, func(v record.Verdict) bool { return v.Primary }, true), r
}

// Of two challengers that are equal, whatever they are to the baseline, at most one run in
// twenty names one the winner, tells them apart, or says another thing that is not so.
func TestEqualChallengersStayEqual(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a simulation of half a minute")
	}
	const runs = 40
	for _, correlated := range []bool{false, true} {
		for i, ratio := range []float64{.90, .95, 1, 1.05, 1.10} {
			t.Run(fmt.Sprintf("×%v, correlated %v", ratio, correlated), func(t *testing.T) {
				t.Parallel()
				rng := rand.New(rand.NewPCG(23, uint64(i)))
				wrong := 0
				for _, s := range shapes {
					for range runs {
						f, r := played(drawn(rng, s, .08, correlated, ratio, ratio), "a", "b", "c", "d")
						wrong += stats.Count(mistaken(f, r, ratio))
					}
				}
				if share := float64(wrong) / float64(runs*len(shapes)); share > .05 {
					t.Errorf("%.1f %% of runs are wrong, want at most 5 %%", 100*share)
				} else {
					t.Logf("%.1f %% of runs are wrong", 100*share)
				}
			})
		}
	}
}

// mistaken reports whether a run makes a false claim about two challengers that both take ratio
// times the baseline's time.
func mistaken(f ranking, r *record.Result, ratio float64) bool {
	for _, v := range append(r.Verdicts, r.Duels...) {
		truth := 1.0
		if v.Baseline == "a" && v.Primary {
			truth = ratio
		}
		switch {
		case v.Better():
			if truth >= 1 {
				return true
			}
		case v.Worse():
			if truth <= 1 {
				return true
			}
		case v.Verdict == stats.Same:
			if math.Abs(math.Log(truth)) > math.Log1p(stats.MetricOf(v.Metric).Same)+1e-9 {
				return true
			}
		}
	}
	switch kind, best := f.decide(); kind {
	case record.OneWins:
		return best[0] != "a" || ratio <= 1
	case record.ATrade:
		return true
	}
	return false
}

// A challenger that is a tenth faster than another is found to be, by the blocks of the two.
func TestBetterChallengerIsFound(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a simulation of seconds")
	}
	const runs = 50
	for _, pair := range [][2]float64{{.90, .99}, {.95, 1.045}, {1, 1.10}} {
		for i, s := range shapes {
			rng := rand.New(rand.NewPCG(24, uint64(i)))
			found := 0
			for range runs {
				_, r := played(drawn(rng, s, .03, true, pair[0], pair[1]), "a", "b", "c", "d")
				for _, v := range r.Duels {
					if v.Primary && v.Worse() {
						found++
						break
					}
				}
			}
			if found < runs*9/10 {
				t.Errorf("%v of the baseline, %s: found in %d of %d runs, want 9 in 10", pair, s.name, found, runs)
			}
		}
	}
}
