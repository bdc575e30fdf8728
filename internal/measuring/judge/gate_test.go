package judge

import (
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
	"schedlab/internal/shared/stats"
)

// Any two arms of a record can be compared: as the run did, where it did, and by their blocks
// where it did not.
func TestPairs(t *testing.T) {
	t.Parallel()
	const every = 9 // requests that fasthttp answers with a 500
	dir, run := synthetic{
		times: scaled(map[string]float64{"pool": 2}),
		edit:  at("fasthttp", some(every, func(r *request.Request) { r.Status = http.StatusInternalServerError })),
	}.write(t)
	pairs := []struct {
		Pair
		want string
		why  fact.Code
	}{
		{Pair{stats.P50, "nethttp", "pool"}, "SLOWER", ""},
		{Pair{stats.P50, "nethttp'", "pool"}, "SLOWER", ""},
		{Pair{stats.P50, "pool", "nethttp"}, "FASTER", ""},
		{Pair{stats.P50, "nethttp", "nethttp'"}, "SAME", ""},
		{Pair{stats.P50, "pool", "fasthttp"}, "refused", causeErrors.Code},
		{Pair{stats.P50, "fasthttp", "pool"}, "refused", causeErrors.Code},
		{Pair{stats.GoodMean, "pool", "fasthttp"}, "FASTER", ""}, // of the good replies, as they are
		{Pair{stats.Goodput, "pool", "fasthttp"}, "LOWER", ""},
		{Pair{stats.P50, "pool", "ghost"}, "refused", noSuchArm.Code},
		{Pair{stats.P50, "ghost", "pool"}, "refused", noSuchArm.Code},
	}
	var asked []Pair
	for _, p := range pairs {
		asked = append(asked, p.Pair)
	}
	result, verdicts, err := Pairs(dir, run, asked)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range pairs {
		v := verdicts[i]
		if v.Verdict.String() != p.want || v.Reason.Code != p.why || v.Arm != p.Arm || v.Baseline != p.Baseline {
			t.Errorf("%+v: got %s for %+v; want %s for %q", p.Pair, v.Verdict, v.Reason, p.want, p.why)
		}
		if v.Reason.Code == noSuchArm.Code && v.Reason.Arm != "ghost" {
			t.Errorf("%+v: no arm %q", p.Pair, v.Reason.Arm)
		}
	}
	own := verdictOf(t, result.Verdicts, "pool", "p50")
	if verdicts[0].Ratio != own.Ratio {
		t.Errorf("the run's own verdict: got %+v, want %+v", verdicts[0], own)
	}
}

// A pair is refused for what the run's own verdicts are: blocks that are missing, clients
// that starve, and a load that was late for one of them.
func TestPairsAreRefused(t *testing.T) {
	t.Parallel()
	late := at("pool", some(1, func(r *request.Request) { r.Sent, r.Done = r.Sent+3e6, r.Done+3e6 }))
	starved := func(t *record.Trial, requests []request.Request) []request.Request {
		if t.Arm == "pool" {
			t.Client.ConnAnswers, t.Client.Asked, t.Client.Starved = []uint32{600, 600, 0}, 10, 9
		}
		return requests
	}
	closed := func(p *record.Plan) {
		for i := range p.Arms {
			p.Arms[i].Clients = record.Clients{Loop: "closed", Connections: 10, Rate: fakeRate}
		}
	}
	for name, c := range map[string]struct {
		run  synthetic
		pair Pair
		why  fact.Code
	}{
		"nothing is":                     {synthetic{}, Pair{stats.P50, "fasthttp", "pool"}, ""},
		"memory that was not measured":   {synthetic{}, Pair{stats.Memory, "fasthttp", "pool"}, causeUnfit.Code},
		"no block":                       {synthetic{edit: each("pool", func(t *record.Trial) { t.Window = record.Span{} })}, Pair{stats.P50, "fasthttp", "pool"}, causeNoBlocks.Code},
		"an arm was sent to late":        {synthetic{edit: late}, Pair{stats.P50, "fasthttp", "pool"}, causeImbalance.Code},
		"the good replies of a few":      {synthetic{edit: starved, plan: closed}, Pair{stats.GoodMean, "fasthttp", "pool"}, doubt.Starvation.Code},
		"the same, as the baseline":      {synthetic{edit: starved, plan: closed}, Pair{stats.GoodMean, "pool", "fasthttp"}, doubt.Starvation.Code},
		"goodput of clients that starve": {synthetic{edit: starved, plan: closed}, Pair{stats.Goodput, "fasthttp", "pool"}, ""},
	} {
		dir, run := c.run.write(t)
		_, verdicts, err := Pairs(dir, run, []Pair{c.pair})
		if err != nil {
			t.Fatal(err)
		}
		if v := verdicts[0]; v.Reason.Code != c.why || (c.why == "") != (v.Verdict.String() == "SAME") {
			t.Errorf("%s: %s for %+v, want %q", name, v.Verdict, v.Reason, c.why)
		}
	}
}

func TestPairsOfABrokenRecord(t *testing.T) {
	t.Parallel()
	dir, run := synthetic{}.write(t)
	trials := filepath.Join(dir.Path(), "trials")
	if err := os.RemoveAll(trials); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(trials, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Pairs(dir, run, nil); err == nil {
		t.Error("a record whose trials cannot be read is judged")
	}
	run.Plan.Arms = nil
	if _, _, err := Pairs(dir, run, nil); err == nil {
		t.Error("a plan without arms is judged")
	}
}

// gatePlayed returns the answers of a gate on a run whose build takes ratio times the old one's time
// and CPU, at the first look that decides it.
func gatePlayed(rng *rand.Rand, s shape, size float64, correlated bool, ratio float64) ([]record.Gated, int) {
	values := drawn(rng, s, size, correlated, ratio)
	for name, factor := range map[string]float64{"a": 1, "b": 1, "c": ratio} {
		for i := range values[name][stats.P50] {
			values[name][stats.CPUPerRequest][i] = factor * math.Exp(size/2*s.draw(rng))
			values[name][stats.Capacity] = append(values[name][stats.Capacity], math.Exp(size/2*s.draw(rng))/factor)
			values[name][stats.Memory] = append(values[name][stats.Memory], math.Exp(size/4*s.draw(rng)))
			values[name][stats.Goodput][i] = math.Exp(size / 20 * s.draw(rng))
		}
	}
	gate := Gate{}
	for _, m := range GateMetrics() {
		gate[m.Figure] = Allowance{Share: m.Allow}
	}
	return gatedBy(gate, values)
}

// gatedBy returns a gate's answers on builds with these values, at the first look that decides it, and the blocks until then.
func gatedBy(gate Gate, values map[string]*stats.Series) ([]record.Gated, int) {
	b, arms := plain([]string{"a", "b", "c"}, values)
	b.aim = gate
	whole := b.valid
	for _, n := range stats.Looks() {
		b.valid = whole[:n]
		if answers := b.gated(gate, arms); gateDecided(answers) {
			return answers, n
		}
	}
	return b.gated(gate, arms), len(whole)
}

// Of gates of equal builds at most one in a hundred says worse, whatever the noise.
func TestGateLetsEqualBuildsPass(t *testing.T) {
	long(t)
	const runs = 300
	for i, s := range shapes {
		for _, correlated := range []bool{false, true} {
			rng := rand.New(rand.NewPCG(27, uint64(i)))
			worse := 0
			for range runs {
				answers, _ := gatePlayed(rng, s, .08, correlated, 1)
				worse += stats.Count((&record.Comparison{Gate: answers}).GateOutcome() == outcome.No)
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
		want  outcome.Outcome
	}{{1.10, outcome.No}, {1, outcome.Yes}, {.8, outcome.Yes}} {
		found := 0
		for range runs {
			answers, _ := gatePlayed(rng, shapes[0], .03, true, tt.ratio)
			found += stats.Count((&record.Comparison{Gate: answers}).GateOutcome() == tt.want)
		}
		if found < runs*9/10 {
			t.Errorf("a build with %v of the old one's times: %s in %d of %d gates, want 9 in 10", tt.ratio, tt.want, found, runs)
		}
	}
}

// A build that is worse by as much as is allowed, in one metric or in all, seldom passes: in one of forty gates where its noise is
// the old build's, in one of sixteen where the old build has none.
func TestGateSeldomPassesAWorseBuild(t *testing.T) {
	long(t)
	const runs = 400
	for i, s := range shapes {
		for _, tt := range []struct {
			name      string
			p50, cpu  float64 // the new build's, of the old one's
			noiseless bool    // the old build does not scatter
			most      float64
		}{
			{"in one metric", 1.1, 1, false, .025},
			{"in both metrics", 1.1, 1.1, false, .025},
			{"in one metric, against builds without noise", 1.1, 1, true, .063},
		} {
			rng := rand.New(rand.NewPCG(45, uint64(i)))
			passed := 0
			for range runs {
				values := map[string]*stats.Series{}
				for _, name := range []string{"a", "b", "c"} {
					of := &stats.Series{}
					values[name] = of
					noise, p50, cpu := .05, 1., 1.
					if name == "c" {
						p50, cpu = tt.p50, tt.cpu
					} else if tt.noiseless {
						noise = 0
					}
					for range stats.Looks()[len(stats.Looks())-1] {
						of[stats.P50] = append(of[stats.P50], p50*math.Exp(noise*s.draw(rng)))
						of[stats.CPUPerRequest] = append(of[stats.CPUPerRequest], cpu*math.Exp(noise*s.draw(rng)))
					}
				}
				answers, _ := gatedBy(Gate{stats.P50: {Share: .1}, stats.CPUPerRequest: {Share: .1}}, values)
				passed += stats.Count((&record.Comparison{Gate: answers}).GateOutcome() == outcome.Yes)
			}
			// What chance adds to the share in so many gates is exceeded in one test of a thousand.
			if chance := 3.1 * math.Sqrt(tt.most*(1-tt.most)/runs); float64(passed)/runs > tt.most+chance {
				t.Errorf("%s, worse by the allowed 10 %% %s: %d of %d gates pass, want %.1f %% at most", s.name, tt.name, passed, runs, 100*tt.most)
			}
		}
	}
}

// An equal build passes sooner than when each metric's interval shares its error with all others.
func TestEqualBuildsPassSoon(t *testing.T) {
	t.Parallel()
	const runs = 100
	rng := rand.New(rand.NewPCG(45, 9))
	blocks, passed := 0, 0
	for range runs {
		answers, n := gatePlayed(rng, shapes[0], .06, true, 1)
		blocks += n
		passed += stats.Count((&record.Comparison{Gate: answers}).GateOutcome() == outcome.Yes)
	}
	if passed < runs*98/100 || blocks > runs*14 { // 20.6 with intervals that share
		t.Errorf("%d of %d gates of equal builds pass, after %d blocks on average; want 98 and 14", passed, runs, blocks/runs)
	}
}

// A build that is better is fine, whether it is so by more than the copies differ or not.
func TestABetterBuildIsFine(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct{ twin, build, scatter float64 }{
		"much better than copies that differ":  {1.06, .75, .01},
		"better by no more than copies differ": {1.02, .95, .03},
		"better than equal copies":             {1, .9, .01},
	} {
		p50 := map[string][]float64{}
		for i := range 12 {
			sign := float64(1 - 2*(i%2))
			p50["a"], p50["b"], p50["c"] = append(p50["a"], 1), append(p50["b"], of.twin*math.Exp(.005*sign)), append(p50["c"], of.build*math.Exp(of.scatter*sign))
		}
		b, arms := plain([]string{"a", "b", "c"}, map[string]*stats.Series{"a": {stats.P50: p50["a"]}, "b": {stats.P50: p50["b"]}, "c": {stats.P50: p50["c"]}})
		gate := Gate{stats.P50: {Share: .1}}
		b.aim = gate
		if got := b.gated(gate, arms)[0]; got.Outcome != outcome.Yes {
			t.Errorf("%s: %s, %s", name, got.Outcome, got.Reason)
		}
	}
}

// What a run of a gate waits for is open and must be fine; what is only watched does not count.
func TestGateWaitsForWhatMustBeFine(t *testing.T) {
	t.Parallel()
	r := &record.Comparison{
		Arms: []record.Arm{{Contestant: record.Contestant{Name: "old"}}, {Contestant: record.Contestant{Name: "old'"}}, {Contestant: record.Contestant{Name: "new"}}},
		Gate: []record.Gated{
			{Metric: stats.P50, Outcome: outcome.Open, Needed: 32}, {Metric: stats.P99, Outcome: outcome.Open, Needed: 700, Watched: true}, {Metric: stats.Goodput, Outcome: outcome.Yes},
		},
	}
	worse := *r
	worse.Gate = append(slices.Clone(r.Gate), record.Gated{Metric: stats.CPUPerRequest, Outcome: outcome.No})
	if got := (Gate{}).awaited(judgement{result: &worse}); got != nil {
		t.Errorf("a gate that is worse waits for %+v", got)
	}
	got := Gate{}.awaited(judgement{result: r})
	if len(got) != 1 || got[0].Arm != "new" || got[0].Metric != stats.P50 || got[0].Needed != 32 {
		t.Errorf("the gate waits for %+v, want p50 of new, which needs 32 blocks", got)
	}
}

// A gate that cannot tell names the old build's copy first where that differs by more than is allowed:
// not where only the new build scatters, and not where the copy's metric is only watched.
func TestGateDoubtsTheCopyFirst(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		shift   float64 // the copy's p50 is as much above the old build's
		twin    float64 // and this far above and below that, in turn
		watched bool
		want    string
	}{
		{"both scatter", 0, .3, false, "a, run twice as a check, differs from itself by -26 % to +35 % at p50, where +10 % is allowed: equal builds differ too much in this run to tell"},
		{"the copy is slower", .05, .01, false, "a, run twice as a check, differs from itself by +4.1 % to +6.2 % at p50, where +10 % is allowed: equal builds differ too much in this run to tell"},
		{"the new build scatters", 0, .01, false, ""},
		{"the copy scatters where it does not count", 0, .3, true, ""},
	} {
		p50 := map[string][]float64{}
		for i := range 12 {
			sign := float64(1 - 2*(i%2))
			p50["a"], p50["b"], p50["c"] = append(p50["a"], 1), append(p50["b"], math.Exp(tt.shift+sign*tt.twin)), append(p50["c"], math.Exp(-sign*.4))
		}
		b, arms := plain([]string{"a", "b", "c"}, map[string]*stats.Series{"a": {stats.P50: p50["a"]}, "b": {stats.P50: p50["b"]}, "c": {stats.P50: p50["c"]}})
		gate := Gate{stats.P50: {Share: .1, Watched: tt.watched}}
		b.aim = gate
		r := &record.Comparison{Arms: arms, Gate: b.gated(gate, arms)}
		if r.Gate[0].Outcome != outcome.Open {
			t.Fatalf("%s: the gate is %+v, want it open", tt.name, r.Gate[0])
		}
		got := ""
		if first := b.doubts(r, []fact.Fact{{Code: trialFailed.Code}})[0]; first.Code == gateNoise.Code {
			got = strings.ReplaceAll(first.String(), "\u00a0", " ")
		}
		if got != tt.want {
			t.Errorf("%s: the first doubt is %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A gate that is refused because an arm had no good reply in a block names the arm, also the old build's copy, and tells where
// its failures are.
func TestGateNamesTheArmWithoutGoodput(t *testing.T) {
	t.Parallel()
	ones := func() *stats.Series { return &stats.Series{stats.Goodput: slices.Repeat([]float64{1}, 12)} }
	for arm, want := range map[string]string{
		"a": "in block 3 a answered none of its requests, so that it has no goodput",
		"b": "b answered no request well in block 3, and a goodput of 0 cannot be compared; how its requests ended is in the report",
		"c": "in block 3 c answered none of its requests, so that it has no goodput",
	} {
		b, arms := plain([]string{"a", "b", "c"}, map[string]*stats.Series{"a": ones(), "b": ones(), "c": ones()})
		w := b.windows[3][arm]
		w.Requests, w.Values[stats.Goodput] = 100, stats.Known(0)
		gate := Gate{stats.Goodput: {Share: .1}}
		b.aim = gate
		if g := b.gated(gate, arms)[0]; g.Outcome != outcome.Refused || strings.ReplaceAll(g.Reason.String(), "\u00a0", " ") != want {
			t.Errorf("%s: %s, %q, want %q", arm, g.Outcome, g.Reason, want)
		}
	}
}

// A gate ends as soon as one metric is worse, or none is open.
func TestGateDecided(t *testing.T) {
	t.Parallel()
	gated := func(answers ...outcome.Outcome) (all []record.Gated) {
		for _, a := range answers {
			all = append(all, record.Gated{Outcome: a})
		}
		return all
	}
	watched := record.Gated{Outcome: outcome.Open, Watched: true}
	final := record.Gated{Outcome: outcome.Refused, Final: true}
	for _, tt := range []struct {
		answers []record.Gated
		decided bool
		outcome outcome.Outcome
	}{
		{gated(outcome.Yes, outcome.Yes), true, outcome.Yes},
		{gated(outcome.Open, outcome.No), true, outcome.No},
		{gated(outcome.Yes, outcome.Open), false, outcome.Open},
		{gated(outcome.Yes, outcome.Refused), false, outcome.Open},
		{append(gated(outcome.Yes), final), true, outcome.Open},
		{append(gated(outcome.Yes), watched), true, outcome.Yes},
		{append(gated(outcome.Open), watched), false, outcome.Open},
		{nil, true, ""},
	} {
		if got := gateDecided(tt.answers); got != tt.decided {
			t.Errorf("%v: decided %v, want %v", tt.answers, got, tt.decided)
		}
		if got := (&record.Comparison{Gate: tt.answers}).GateOutcome(); got != tt.outcome {
			t.Errorf("%v: %q, want %q", tt.answers, got, tt.outcome)
		}
	}
}
