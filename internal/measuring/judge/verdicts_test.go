package judge

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"schedlab/internal/measuring/window"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
	"schedlab/internal/shared/stats"
)

// checked is a verdict of so many blocks whose ratios are those of effect, scattered, and
// moved by what each block's disturbance adds.
func checked(rank stats.Rank, effect float64, blocks int, added func(block int) float64) checkedVerdict {
	rng := rand.New(rand.NewPCG(5, uint64(blocks)))
	c := checkedVerdict{rank: rank, same: math.Log1p(.10)}
	for b := range blocks {
		c.x = append(c.x, math.Log(effect)+.02*rng.NormFloat64()+added(b))
	}
	return c
}

func none(int) float64 { return 0 }

func TestShareImbalance(t *testing.T) {
	t.Parallel()
	const blocks = 20
	rising := func(b int) float64 { return .02 + .01*float64(b%7) } // of the CPU, in the arm alone
	alike := func(b int) float64 { return .01 * float64(b%3) }
	made := func(b int) float64 { return 4 * rising(b) }
	opposed := func(b int) float64 { return -4 * rising(b) }
	for _, c := range []struct {
		name  string
		said  checkedVerdict
		extra func(int) float64 // more of it in the arm
		want  bool
	}{
		{"makes all of the difference", checked(stats.Slower, 1, blocks, made), rising, true},
		{"makes a small part", checked(stats.Slower, 3, blocks, made), rising, false},
		{"works against it", checked(stats.Slower, 3, blocks, opposed), rising, false},
		{"hides a difference", checked(stats.Same, 1.2, blocks, opposed), rising, true},
		{"differs and changes nothing", checked(stats.Slower, 1.3, blocks, none), rising, false},
		{"is always more, by the same", checked(stats.Slower, 1.3, blocks, none), func(int) float64 { return .1 }, false},
		{"is the same in both", checked(stats.Slower, 1.3, blocks, made), none, false},
	} {
		d := disturbance{name: stealing.name}
		for b := range blocks {
			d.base, d.arm = append(d.base, alike(b)), append(d.arm, alike(b)+c.extra(b))
		}
		if more, got := c.said.shareImbalance(d); got != c.want {
			t.Errorf("a disturbance that %s: %v, %.3f more; want %v", c.name, got, more, c.want)
		}
	}
}

// Unrelated steal makes a sure verdict seldom: it must correlate first.
func TestImbalanceIsSeldomByChance(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(6, 1))
	const runs = 2000
	wrong := 0
	for range runs {
		d := disturbance{name: stealing.name}
		said := checkedVerdict{rank: stats.Slower, same: math.Log1p(.10)}
		for range 12 {
			d.base = append(d.base, .01*rng.ExpFloat64())
			d.arm = append(d.arm, .02+.01*rng.ExpFloat64()) // the arm's CPU time attracts steal
			said.x = append(said.x, .3+.1*rng.NormFloat64())
		}
		_, made := said.shareImbalance(d)
		wrong += stats.Count(made)
	}
	if wrong > runs/100 {
		t.Errorf("%d of %d sound verdicts refused, want at most 1 %%", wrong, runs)
	}
}

func TestLateImbalance(t *testing.T) {
	t.Parallel()
	const ms = 1e-3
	for _, c := range []struct {
		name              string
		rank              stats.Rank
		base, arm         float64 // times
		lateBase, lateArm float64
		want              bool
	}{
		{"late by the difference", stats.Slower, 2 * ms, 3 * ms, 0, 1 * ms, true},
		{"late by half of it", stats.Slower, 2 * ms, 3 * ms, .1 * ms, .62 * ms, true},
		{"late by a fifth", stats.Slower, 2 * ms, 3 * ms, 0, .2 * ms, false},
		{"late the other way", stats.Slower, 2 * ms, 3 * ms, 1 * ms, 0, false},
		{"late alike", stats.Slower, 2 * ms, 3 * ms, 1 * ms, 1 * ms, false},
		{"late hides a difference", stats.Same, 2 * ms, 2 * ms, 0, .5 * ms, true},
		{"late by little", stats.Same, 2 * ms, 2 * ms, 0, .05 * ms, false},
	} {
		late := disturbance{name: "lateness of the load"}
		var base, arm []float64
		said := checkedVerdict{rank: c.rank, same: math.Log1p(.10)}
		for b := range 12 {
			wobble := 1 + .001*float64(b)
			base, arm = append(base, c.base*wobble), append(arm, c.arm*wobble)
			late.base, late.arm = append(late.base, c.lateBase*wobble), append(late.arm, c.lateArm*wobble)
			said.x = append(said.x, math.Log(c.arm/c.base))
		}
		if more, got := said.lateImbalance(late, base, arm); got != c.want {
			t.Errorf("%s: %v, %.2g s later; want %v", c.name, got, more, c.want)
		}
	}
}

func TestCalmHalf(t *testing.T) {
	t.Parallel()
	turned := checked(stats.Slower, 1, 20, func(b int) float64 { return map[bool]float64{true: .5, false: -.3}[b%2 == 0 || b > 16] })
	sound := checked(stats.Slower, 1.5, 20, none)
	d := disturbance{name: foreignLoad.name}
	for b := range 20 {
		d.base, d.arm = append(d.base, .3*float64(stats.Count(b%2 == 0 || b > 16))), append(d.arm, 0)
	}
	if m, ok := turned.calm(d); !ok || !turned.contradicts(m) {
		t.Errorf("a verdict that the calm half turns: %v, %v", m, ok)
	}
	if m, ok := sound.calm(d); !ok || sound.contradicts(m) {
		t.Errorf("a verdict that the calm half confirms: %v, %v", m, ok)
	}
	if _, ok := sound.calm(disturbance{base: make([]float64, 20), arm: make([]float64, 20)}); ok {
		t.Error("blocks that are all calm have no calm half")
	}
}

func TestDrifts(t *testing.T) {
	t.Parallel()
	slope := func(s float64) func(int) float64 { return func(b int) float64 { return s * (float64(b) - 9.5) } }
	for _, c := range []struct {
		name string
		said checkedVerdict
		want bool
	}{
		{"from one side to the other", checked(stats.Slower, 1, 20, slope(.05)), true},
		{"on one side", checked(stats.Slower, 3, 20, slope(.05)), false},
		{"not at all", checked(stats.Slower, 1.3, 20, none), false},
		{"within what is the same", checked(stats.Same, 1, 20, slope(.005)), false},
		{"from what is the same to what is not", checked(stats.Same, 1, 20, slope(.05)), true},
	} {
		if first, last, p, got := c.said.drifts(); got != c.want {
			t.Errorf("%s: %v (%.2f, %.2f, p %.4f), want %v", c.name, got, first, last, p, c.want)
		}
	}
}

// The checks are put to the verdicts of a run: lateness of one arm alone that makes its
// p99, and counted from the sending is none.
func TestChecksRefuse(t *testing.T) {
	t.Parallel()
	late := at("pool", some(1, func(r *request.Request) { r.Sent, r.Done = r.Sent+3e6, r.Done+3e6 }))
	r := synthetic{edit: late}.judged(t)
	for _, metric := range stats.Names(stats.Quantiles()) {
		v := verdictOf(t, r.Verdicts, "pool", metric)
		if by, is := fact.In(causeImbalance, v.Reason); v.Verdict.String() != "refused" || !is || math.Abs(by.More-3e-3) > 1e-5 {
			t.Errorf("%s: %+v, want it refused for 3 ms of lateness", metric, v)
		}
	}
	if got := decisions(r, "fasthttp"); got["p99"] != "SAME" || r.Valid != 12 {
		t.Errorf("the other arm: %v of %d blocks", got, r.Valid)
	}
	drifts := func(block int, arm string, u float64) float64 {
		if arm == "pool" {
			return math.Pow(1.02, float64(block)-6.5) * usual(u)
		}
		return math.Pow(1.2, float64(block)) * usual(u) // all drift, the ratios of fasthttp do not
	}
	r = synthetic{times: drifts}.judged(t)
	if got := decisions(r, "fasthttp"); got["p50"] != "SAME" {
		t.Errorf("arms that drift together: %v", got)
	}
	if v := verdictOf(t, r.Verdicts, "pool", "p50"); v.Verdict.String() == "SAME" {
		t.Errorf("ratios that drift apart: %+v", v)
	}
}

// What a load takes of a CPU that it shares with the servers is told of each arm, refuses a
// verdict that follows it, and is a doubt where it is much.
func TestLoadOnASharedCPU(t *testing.T) {
	t.Parallel()
	more := func(block int) float64 { return .02 + .005*float64(block*7%12) } // that the pool's takes
	shares := func(base float64) func(*record.Trial, []request.Request) []request.Request {
		return func(trial *record.Trial, requests []request.Request) []request.Request {
			trial.Client.CPU = base
			if trial.Arm == "pool" {
				trial.Client.CPU += more(trial.Block)
			}
			trial.Client.Proof = &record.Proof{Planned: len(requests), Sent: len(requests), Rest: record.RestFirst}
			return requests
		}
	}
	times := func(block int, arm string, u float64) float64 {
		if arm == "pool" {
			return (1 + 4*more(block)) * usual(u)
		}
		return usual(u)
	}
	r := synthetic{servers: "0-1", times: times, edit: shares(.05)}.judged(t)
	v := verdictOf(t, r.Verdicts, "pool", "p50")
	if by, is := fact.In(causeImbalance, v.Reason); v.Verdict.String() != "refused" || !is || by.Share != loadShare.name {
		t.Errorf("times that follow the load's share: %+v, want them refused for it", v)
	}
	if got := decisions(r, "fasthttp"); got["p50"] != "SAME" {
		t.Errorf("an arm whose load takes as much as the baseline's: %v", got)
	}
	for i, want := range []float64{.05, .05, .05, .05 + (more(1)+more(6))/2} {
		if a := r.Arms[i]; math.Abs(a.Disturbed.Load-want) > .006 || a.Generator.Rest != record.RestFirst {
			t.Errorf("%s: the load took %v, %q; want about %v, as SCHED_RR", a.Name, a.Disturbed.Load, a.Generator.Rest, want)
		}
	}
	doubted := func(r *record.Comparison) (arms []string) {
		for _, d := range r.Doubts {
			if d.Code == loadTookCPU.Code {
				arms = append(arms, d.Arm)
			}
		}
		return arms
	}
	if got := doubted(r); got != nil {
		t.Errorf("a share below the limit is a doubt about %q", got)
	}
	much := synthetic{servers: "0-1", edit: shares(.14)}.judged(t)
	if got := doubted(much); !slices.Equal(got, []string{"pool"}) {
		t.Errorf("a share above the limit in the pool's windows is a doubt about %q", got)
	}
	own := synthetic{times: times, edit: shares(.05)}.judged(t)
	if got := decisions(own, "pool"); got["p50"] != "SLOWER" || own.Arms[0].Disturbed.Load != 0 {
		t.Errorf("a load with a CPU of its own: %v, a share of %v", got, own.Arms[0].Disturbed.Load)
	}
}

// Blocks without a difference say that there is none, however many.
func TestEqualBlocksDoNotDiffer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		each float64
		sure bool
	}{{0, false}, {.01, true}, {-.01, true}} {
		if median, sure := differs(slices.Repeat([]float64{c.each}, 20)); median != c.each || sure != c.sure {
			t.Errorf("20 times %g: got %g, sure %v; want %v", c.each, median, sure, c.sure)
		}
	}
}

// A sensitivity analysis leaves out the blocks in which either arm failed more requests
// than the limit.
func TestBlocksWithoutErrors(t *testing.T) {
	t.Parallel()
	b := blocks{windows: windows{}}
	var said checkedVerdict
	for i, errors := range [][2]float64{{0, 0}, {.01, 0}, {0, .01}, {ErrorLimit, 0}, {0, ErrorLimit / 2}} {
		of := func(v float64) *modelled {
			return &modelled{Window: window.Window{Values: stats.Figures{stats.Errors: stats.Known(v)}}}
		}
		b.valid, said.x = append(b.valid, i+1), append(said.x, float64(i))
		b.windows[i+1] = map[string]*modelled{"a": of(errors[0]), "b": of(errors[1])}
	}
	if clean, failing := b.without(said, "a", "b"); !slices.Equal(clean, []float64{0, 3, 4}) || failing != 2 {
		t.Errorf("got the blocks %v and %d left out, want 0, 3 and 4, and 2", clean, failing)
	}
}

// said is a verdict whose ratios are e to the x.
func said(rank stats.Rank, x ...float64) checkedVerdict {
	return checkedVerdict{rank: rank, same: .125, x: x}
}

// Where exactly a disturbance begins to make a verdict, or a median to contradict it.
func TestCallsAtTheirLimits(t *testing.T) {
	t.Parallel()
	same, slower, level := said(stats.Same, .0625), said(stats.Slower, .25), said(stats.Slower, 0)
	fine, served := said(stats.Same, -.2), said(stats.Same, .2) // of a gate: shorter times, and a higher goodput
	fine.worse, served.worse = 1, -1
	for name, c := range map[string]struct{ got, want bool }{
		"a median just within SAME":               {same.contradicts(-.125), false},
		"a median beyond SAME":                    {same.contradicts(.126), true},
		"a median of the other sign":              {slower.contradicts(-.001), true},
		"a median of no difference":               {slower.contradicts(0), false},
		"a verdict of no difference":              {level.contradicts(-1), false},
		"half of the difference":                  {slower.madeBy(.125), true},
		"less than half of it":                    {slower.madeBy(.124), false},
		"all of it, the other way":                {slower.madeBy(-.25), false},
		"something, of no difference":             {level.madeBy(.1), false},
		"a SAME that would be at its edge":        {same.madeBy(-.0625), false},
		"a SAME that would be beyond it":          {same.madeBy(-.0626), true},
		"a SAME that would be more of one":        {same.madeBy(.0626), false},
		"a gate's fine, better elsewhere":         {fine.contradicts(-.3), false},
		"a gate's fine, worse elsewhere":          {fine.contradicts(.126), true},
		"a gate's goodput, better elsewhere":      {served.contradicts(.3), false},
		"a gate's goodput, worse elsewhere":       {served.contradicts(-.126), true},
		"a gate's fine that a disturbance made":   {fine.madeBy(-.33), true},
		"a gate's fine that it made less":         {fine.madeBy(.33), false},
		"a disturbance of no block":               {disturbance{}.unknown(), true},
		"a disturbance not known of the baseline": {disturbance{base: []float64{1, math.NaN()}, arm: []float64{1, 1}}.unknown(), true},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %v, want %v", name, c.got, c.want)
		}
	}
}

// Of ten differences one may be of the other sign (2 P(Bin(10, 1/2) <= 1) = 2.1 %); of three
// all may be alike by chance.
func TestDiffersNeedsBlocks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		diff []float64
		sure bool
	}{
		{[]float64{-1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, true},
		{[]float64{-1, -1, 1, 1, 1, 1, 1, 1, 1, 1}, false},
		{[]float64{1, -1, -1, -1, -1, -1, -1, -1, -1, -1}, true},
		{[]float64{1, 1, -1, -1, -1, -1, -1, -1, -1, -1}, false},
		{[]float64{1, 1, 1}, false},
	} {
		if _, sure := differs(c.diff); sure != c.sure {
			t.Errorf("%v: sure %v, want %v", c.diff, sure, c.sure)
		}
	}
}

// Lateness makes a difference when it is half of it, and hides one when the times without
// it are apart.
func TestLatenessAtItsLimits(t *testing.T) {
	t.Parallel()
	always := func(v float64) []float64 { return slices.Repeat([]float64{v}, 12) }
	for _, c := range []struct {
		name              string
		rank              stats.Rank
		base, arm         float64
		lateBase, lateArm float64
		want              bool
	}{
		{"half of the difference", stats.Slower, 1, 2, 0, .5, true},
		{"a little less", stats.Slower, 1, 2, 0, .49, false},
		{"no difference", stats.Slower, 1, 1, 0, .5, false},
		{"the arm would be faster", stats.Same, 2, 2, 0, .25, true},
		{"the baseline would be faster", stats.Same, 2, 2, .25, 0, true},
		{"both would still be the same", stats.Same, 2, 2, 0, .2, false},
	} {
		// ln(1.75/2) = -.134 is beyond the .125 of SAME, ln(2.25/2) = .118 within it
		late := disturbance{base: always(c.lateBase), arm: always(c.lateArm)}
		if more, got := said(c.rank, 0).lateImbalance(late, always(c.base), always(c.arm)); got != c.want || more != c.lateArm-c.lateBase {
			t.Errorf("%s: %v, %v s more; want %v", c.name, got, more, c.want)
		}
	}
}

// The calm half is the blocks with the least of both arms' disturbance, the middle one with it.
func TestTheCalmHalf(t *testing.T) {
	t.Parallel()
	d := disturbance{base: []float64{0, 2, 1}, arm: []float64{0, 2, 1}}
	if m, ok := said(stats.Slower, 1, 100, 5).calm(d); !ok || m != 3 {
		t.Errorf("got %v, %v; want the median of 1 and 5", m, ok)
	}
	alike := disturbance{base: []float64{0, .1, 0}, arm: []float64{.1, 0, .1}}
	if _, ok := said(stats.Slower, 1, 2, 3).calm(alike); ok {
		t.Error("blocks that are disturbed alike, one arm or the other, have no calm half")
	}
}

// A run's halves share the block in the middle, and say opposite things only with opposite
// signs.
func TestHalvesOfADrift(t *testing.T) {
	t.Parallel()
	if first, last, _, _ := said(stats.Slower, 1, 2, 9).drifts(); first != 1.5 || last != 5.5 {
		t.Errorf("halves of three: %v and %v, want 1.5 and 5.5", first, last)
	}
	for _, x := range [][]float64{{-5, -4, -3, -2, -1, -.2, -.1, 0, .1, .2}, {-.2, -.1, 0, .1, .2, 1, 2, 3, 4, 5}} {
		if first, last, p, drifts := said(stats.Slower, x...).drifts(); drifts || p >= followsLimit {
			t.Errorf("from %v to %v, p %v: drifts %v; a half that says nothing opposes nothing", first, last, p, drifts)
		}
	}
}

// A shape draws what a window adds to the logarithm of its times.
type shape struct {
	name string
	draw func(rng *rand.Rand) float64
}

// long marks a test of thousands of runs, which -short leaves out.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("a simulation of seconds")
	}
	t.Parallel()
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
func drawn(rng *rand.Rand, s shape, size float64, correlated bool, challengers ...float64) map[string]*stats.Series {
	all := map[string]*stats.Series{}
	for i, ratio := range append([]float64{1, 1}, challengers...) {
		name := string(rune('a' + i))
		all[name] = &stats.Series{}
		for range stats.Looks()[len(stats.Looks())-1] {
			window := s.draw(rng)
			for _, m := range stats.Quantiles() {
				if own := s.draw(rng); correlated {
					all[name][m.Figure] = append(all[name][m.Figure], ratio*math.Exp(size*(window+.3*own)))
				} else {
					all[name][m.Figure] = append(all[name][m.Figure], ratio*math.Exp(size*own))
				}
			}
			all[name][stats.Goodput], all[name][stats.CPUPerRequest] = append(all[name][stats.Goodput], 1), append(all[name][stats.CPUPerRequest], 1)
		}
	}
	return all
}

// played is the ranking of such a run, which ends at the first look that decides it.
func played(values map[string]*stats.Series, names ...string) (f ranking, r *record.Comparison) {
	b, arms := plain(names, values)
	whole := b.valid
	for _, n := range stats.Looks() {
		b.valid = whole[:n]
		v := b.compare(arms)
		r = &record.Comparison{Arms: arms, Verdicts: v.all, Duels: v.duels}
		r.Winner, r.Answer = conclude(r)
		if (judgement{b, r}).settled(0, false) {
			break
		}
	}
	return newRanking(r), r
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
func mistaken(f ranking, r *record.Comparison, ratio float64) bool {
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
		case v.Verdict.Rank == stats.Same:
			if math.Abs(math.Log(truth)) > math.Log1p(v.Metric.Row().Same)+1e-9 {
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
	long(t)
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
