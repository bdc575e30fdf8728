package judge

import (
	"math"
	"math/rand/v2"
	"testing"

	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// gatePlayed returns the answers of a gate on a run whose build takes ratio times the old one's time
// and CPU, at the first look that decides it.
func gatePlayed(rng *rand.Rand, s shape, size float64, correlated bool, ratio float64) ([]record.Gated, int) {
	values := drawn(rng, s, size, correlated, ratio)
	for name, factor := range map[string]float64{"a": 1, "b": 1, "c": ratio} {
		for i := range values[name]["p50"] {
			values[name]["cpu_per_request"][i] = factor * math.Exp(size/2*s.draw(rng))
			values[name]["memory"] = append(values[name]["memory"], math.Exp(size/4*s.draw(rng)))
			values[name]["goodput"][i] = math.Exp(size / 20 * s.draw(rng))
		}
	}
	b, arms := plain([]string{"a", "b", "c"}, values)
	names, allowed := GateMetrics()
	b.run.Plan.Gate = map[string]record.Allowance{}
	for _, name := range names {
		b.run.Plan.Gate[name] = record.Allowance{Share: allowed[name]}
	}
	whole := b.valid
	for _, n := range stats.Looks() {
		b.valid = whole[:n]
		if answers := b.gated(arms, record.Fact{}); gateDecided(answers) {
			return answers, n
		}
	}
	return b.gated(arms, record.Fact{}), len(whole)
}

// Of gates of equal builds at most one in a hundred says worse, whatever the noise.
func TestGateLetsEqualBuildsPass(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a simulation of seconds")
	}
	const runs = 300
	for i, s := range shapes {
		for _, correlated := range []bool{false, true} {
			rng := rand.New(rand.NewPCG(27, uint64(i)))
			worse := 0
			for range runs {
				answers, _ := gatePlayed(rng, s, .08, correlated, 1)
				worse += stats.Count((&record.Result{Gate: answers}).GateOutcome() == record.GateWorse)
			}
			if worse > runs/100 {
				t.Errorf("%s, correlated %v: worse in %d of %d gates of equal builds, want at most one in a hundred", s.name, correlated, worse, runs)
			}
		}
	}
}

// A gate finds a build that is a tenth slower, and lets an equal one pass, in blocks with noise of
// 3 %. The normal shape is that of a quiet machine.
func TestGateAnswers(t *testing.T) {
	t.Parallel()
	const runs = 100
	rng := rand.New(rand.NewPCG(28, 0))
	for _, tt := range []struct {
		ratio float64
		want  record.GateAnswer
	}{{1.10, record.GateWorse}, {1, record.GateFine}, {.8, record.GateFine}} {
		found := 0
		for range runs {
			answers, _ := gatePlayed(rng, shapes[0], .03, true, tt.ratio)
			found += stats.Count((&record.Result{Gate: answers}).GateOutcome() == tt.want)
		}
		if found < runs*9/10 {
			t.Errorf("a build with %v of the old one's times: %s in %d of %d gates, want 9 in 10", tt.ratio, tt.want, found, runs)
		}
	}
}

// A gate ends as soon as one metric is worse, or none is open.
func TestGateDecided(t *testing.T) {
	t.Parallel()
	gated := func(answers ...record.GateAnswer) (all []record.Gated) {
		for _, a := range answers {
			all = append(all, record.Gated{Answer: a})
		}
		return all
	}
	watched := record.Gated{Answer: record.GateOpen, Watched: true}
	final := record.Gated{Answer: record.GateRefused, Final: true}
	for _, tt := range []struct {
		answers []record.Gated
		decided bool
		outcome record.GateAnswer
	}{
		{gated(record.GateFine, record.GateFine), true, record.GateFine},
		{gated(record.GateOpen, record.GateWorse), true, record.GateWorse},
		{gated(record.GateFine, record.GateOpen), false, record.GateOpen},
		{gated(record.GateFine, record.GateRefused), false, record.GateOpen},
		{append(gated(record.GateFine), final), true, record.GateOpen},
		{append(gated(record.GateFine), watched), true, record.GateFine},
		{append(gated(record.GateOpen), watched), false, record.GateOpen},
		{nil, true, ""},
	} {
		if got := gateDecided(tt.answers); got != tt.decided {
			t.Errorf("%v: decided %v, want %v", tt.answers, got, tt.decided)
		}
		if got := (&record.Result{Gate: tt.answers}).GateOutcome(); got != tt.outcome {
			t.Errorf("%v: %q, want %q", tt.answers, got, tt.outcome)
		}
	}
}
