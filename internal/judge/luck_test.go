package judge

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// With the luck taken out an interval holds the truth in at least 95 of 100 runs, at whatever look
// a run ends, for every shape of noise, however much of the scatter is luck, and when it follows
// the twin by another slope than it should. The truth is the ratio in a block of average luck.
func TestIntervalsHoldWithoutLuck(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a simulation of seconds")
	}
	const (
		runs  = 400
		noise = .03
	)
	looks := stats.Looks()
	most := looks[len(looks)-1]
	for _, scatter := range []float64{.03, .15} { // of luck, so half and 96 % of the variance of normal noise
		for _, slope := range []float64{0, 1.2} {
			for i, s := range shapes {
				t.Run(fmt.Sprintf("luck %v, slope %v, %s", scatter, slope, s.name), func(t *testing.T) {
					t.Parallel()
					rng := rand.New(rand.NewPCG(25, uint64(i)))
					middle := make([]float64, 100_001)
					for k := range middle {
						middle[k] = noise * s.draw(rng)
					}
					truth := 1.1 * math.Exp(stats.Median(middle))
					missed, narrower := 0, 0.
					for range runs {
						base, arm, luck := make([]float64, most), make([]float64, most), make([]float64, most)
						off := scatter * rng.NormFloat64() / math.Sqrt(mostDraws) // error of the expectation
						for b := range base {
							l := scatter * (rng.ExpFloat64() - 1) // queues have good luck often and very bad luck at times
							base[b], luck[b] = 1, l+off
							arm[b] = 1.1 * math.Exp(slope*l+noise*s.draw(rng))
						}
						wrong := false
						for _, n := range looks {
							clean, effect := stats.WithoutLuck(base[:n], arm[:n], luck[:n])
							c := stats.CompareOff(stats.MetricOf("p90"), base[:n], clean, 1, meanErrors*effect/math.Sqrt(mostDraws))
							wrong = wrong || c.Low > 0 && (c.Low > truth || c.High < truth)
							if n == looks[0] {
								as := stats.Compare(stats.MetricOf("p90"), base[:n], arm[:n], 1)
								narrower += math.Log(c.High/c.Low) / math.Log(as.High/as.Low) / runs
							}
						}
						missed += stats.Count(wrong)
					}
					if share := float64(missed) / runs; share > .05+2*math.Sqrt(.05*.95/runs) {
						t.Errorf("%.1f %% of runs have an interval without the truth, want at most 5 %%", 100*share)
					} else {
						t.Logf("%.1f %% of runs have an interval without the truth; after %d blocks it is %.2f times as wide as with luck", 100*share, looks[0], narrower)
					}
				})
			}
		}
	}
}

// A run whose plan has the twins' expected times judges quantiles without the luck of the blocks'
// arrivals, and keeps the ratio with it. Here the baseline's times are the same in every block, so
// that the ratios scatter by luck alone.
func TestVerdictsWithoutLuck(t *testing.T) {
	t.Parallel()
	s := mirrored()
	queued := s.edit
	s.edit = func(t *record.Trial, requests []record.Request) []record.Request {
		requests = queued(t, requests)
		for i := range requests {
			if strings.HasPrefix(t.Arm, "nethttp") {
				requests[i].Done = requests[i].Scheduled + int64(1e5*(1+i%100))
			}
		}
		return requests
	}
	plain := twinRun(s)
	plain.Plan.Arms[2].Station.Unknown = ""
	informed := twinRun(s)
	informed.Plan.Arms = slices.Clone(plain.Plan.Arms)
	for i := range informed.Plan.Arms {
		informed.Plan.Arms[i].Expected = &record.Expected{Draws: 1e6, P50: .7e-3, P90: 2e-3, P99: 4e-3}
	}
	informed.Plan.Arms[0].Expected, informed.Plan.Arms[1].Expected = nil, nil
	with, without := judgedRun(t, s, plain).Verdicts, judgedRun(t, s, informed).Verdicts
	for i, v := range without {
		was := with[i]
		switch timed := stats.MetricOf(v.Metric).Quantile > 0; {
		case v.Verdict == stats.Refused:
		case !timed && (v.Plain != nil || v.Ratio != was.Ratio):
			t.Errorf("%s: got %+v, want it as measured", v.Metric, v)
		case timed && (v.Plain == nil || v.Plain.Median != was.Ratio || v.Plain.Low != was.Low || v.Plain.High != was.High):
			t.Errorf("%s: as measured it is %+v, want %v (%v to %v)", v.Metric, v.Plain, was.Ratio, was.Low, was.High)
		case timed && v.High/v.Low > math.Pow(was.High/was.Low, .7):
			t.Errorf("%s of %s: %.3f to %.3f without luck, %.3f to %.3f with it; want a clearly narrower interval", v.Metric, v.Arm, v.Low, v.High, was.Low, was.High)
		}
	}
}

// Expected replays 2000 windows of arrivals before a run's first block.
func BenchmarkExpected(b *testing.B) {
	const rate, window = 2200, 1.0
	p := record.Plan{Window: window}
	arm := record.PlanArm{Mode: "pool", Station: &record.Station{Kind: "pool", Workers: 64, Cores: 1}, Clients: record.Clients{Loop: "open", Rate: rate}}
	for b.Loop() {
		rng := rand.New(rand.NewPCG(1, 1))
		e, err := Expected(p, arm, record.Env{ItersPerUsec: 1}, func(int) (requests []record.Request, _ error) {
			for at := 0.0; at < window; at += rng.ExpFloat64() / rate {
				requests = append(requests, record.Request{Scheduled: int64(1e9 * at), Iters: 20, Sleep: 28e6})
			}
			return requests, nil
		})
		if err != nil || e == nil || e.P99 <= e.P50 {
			b.Fatal(e, err)
		}
	}
}
