package stats

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"schedlab/internal/shared/outcome"
)

// The decisions without a rank.
var open, refused = Decision{Outcome: outcome.Open}, Decision{Outcome: outcome.Refused}

// metric returns one of Metrics by name.
func metric(t testing.TB, name string) Metric {
	t.Helper()
	i := slices.IndexFunc(Metrics(), func(m Metric) bool { return m.Name == name })
	if i < 0 {
		t.Fatalf("no metric %q", name)
	}
	return Metrics()[i]
}

// blocks returns a baseline and an arm of twelve blocks whose interval for one
// comparison (ranks 1 and 10 of the first ten, 2 and 11 of all) and median ratio, of ten
// and of twelve, are the ones given.
func blocks(low, median, high float64) (base, arm []float64) {
	ratios := []float64{low, high, low, high, low, high, low, high, median, median, low, high}
	for i, r := range ratios {
		unit := math.Exp2(float64(i*5%7) - 3) // a scale per block, exact in binary, that must cancel
		base = append(base, unit)
		arm = append(arm, unit*r)
	}
	return base, arm
}

func TestCompareVerdicts(t *testing.T) {
	t.Parallel()
	const up, down = 1.0000001, 0.9999999
	for _, tt := range []struct {
		name              string
		metric            string
		low, median, high float64
		want              Decision
	}{
		{"clearly slower", "p99", 1.2, 1.3, 1.4, Decided(Slower)},
		{"clearly faster", "p99", 0.6, 0.7, 0.8, Decided(Faster)},
		{"effect met exactly", "p50", 1.01, 1.05, 1.2, Decided(Slower)},
		{"effect missed", "p50", 1.01, 1.05 * down, 1.2, open},
		{"effect met exactly, other side", "p50", 0.8, 1 / 1.05, 0.99, Decided(Faster)},
		{"effect missed, other side", "p50", 0.8, 1 / 1.05 * up, 0.99, open},
		{"five per cent less is more than ln 1.05", "p50", 0.8, 0.95, 0.99, Decided(Faster)},
		{"interval touches equality", "p90", 1, 1.3, 1.5, open},
		{"interval just excludes equality", "p90", up, 1.3, 1.5, Decided(Slower)},
		{"interval touches equality, other side", "p90", 0.6, 0.7, 1, open},
		{"interval just excludes equality, other side", "p90", 0.6, 0.7, down, Decided(Faster)},
		{"identical", "p90", 1, 1, 1, Decided(Same)},
		{"same at its limits", "p90", 1 / 1.10, 1, 1.10, Decided(Same)},
		{"same exceeded above", "p90", 1 / 1.10, 1, 1.10 * up, open},
		{"same exceeded below", "p90", 1 / 1.10 * down, 1, 1.10, open},
		{"same although equality is excluded", "p90", 1.01, 1.03, 1.08, Decided(Same)},
		{"slower comes before same", "p90", 1.04, 1.06, 1.08, Decided(Slower)},
		{"a large median alone is nothing", "p90", 0.9, 1.3, 1.5, open},
		{"more goodput", "goodput", 1.01, 1.02, 1.05, Decided(Higher)},
		{"less goodput", "goodput", 0.95, 1 / 1.02, 0.99, Decided(Lower)},
		{"goodput effect missed", "goodput", 1.01, 1.02 * down, 1.05, open},
		{"goodput same at its limits", "goodput", 1 / 1.03, 1, 1.03, Decided(Same)},
		{"goodput same exceeded", "goodput", 1 / 1.03, 1, 1.03 * up, open},
		{"less cpu", "cpu_per_request", 0.8, 0.9, 0.94, Decided(Lower)},
		{"more cpu", "cpu_per_request", 1.1, 1.2, 1.3, Decided(Higher)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			base, arm := blocks(tt.low, tt.median, tt.high)
			c := Compare(metric(t, tt.metric), base, arm, 1)
			if c.Decision != tt.want {
				t.Errorf("got %s (%.7f, %.7f..%.7f), want %s", c.Decision, c.Ratio, c.Low, c.High, tt.want)
			}
			if math.Abs(c.Ratio/tt.median-1) > 1e-12 || c.Low != tt.low || c.High != tt.high {
				t.Errorf("got %v, %v..%v, want %v, %v..%v", c.Ratio, c.Low, c.High, tt.median, tt.low, tt.high)
			}
			if (c.Needed > 0) != (tt.want == open) {
				t.Errorf("needed = %d for %s", c.Needed, c.Decision)
			}
		})
	}
}

func TestCompareCountsBlocks(t *testing.T) {
	t.Parallel()
	base := []float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}
	arm := []float64{2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 0.5, 0.5}
	time := Compare(metric(t, "p50"), base, arm, 1)
	if time.Blocks != 12 || time.Won != 2 || time.Lost != 9 {
		t.Errorf("p50: %d blocks, won %d, lost %d, want 12, 2, 9", time.Blocks, time.Won, time.Lost)
	}
	goodput := Compare(metric(t, "goodput"), base, arm, 1)
	if goodput.Won != 9 || goodput.Lost != 2 {
		t.Errorf("goodput: won %d, lost %d, want 9, 2", goodput.Won, goodput.Lost)
	}
	if base[11] != 1 || arm[0] != 2 || arm[11] != 0.5 {
		t.Error("Compare changed its arguments")
	}
}

// The interval is what the intervals of all looks so far have in common, and blocks after
// a look count for the median alone.
func TestCompareLooks(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	none := Metric{Name: "x", Effect: 1e9, Same: 1e-9} // never decided
	for range 50 {
		var base, arm []float64
		low, high := 0.0, math.Inf(1)
		for n := 1; n <= 45; n++ {
			base, arm = append(base, 1), append(arm, math.Exp(rng.NormFloat64()))
			if k := LookRank(n, Alpha/6); k > 0 {
				sorted := slices.Sorted(slices.Values(arm))
				low, high = max(low, sorted[k-1]), min(high, sorted[n-k])
			}
			if low > high {
				break
			}
			c := Compare(none, base, arm, 6)
			if n < 10 {
				if c.Low != 0 || c.High != 0 || c.Decision != open || c.Needed != 10 {
					t.Fatalf("%d blocks: %+v, want no interval, and 10 blocks needed", n, c)
				}
				continue
			}
			if median := math.Exp(Median(logs(arm))); c.Low != low || c.High != high || math.Abs(c.Ratio/min(max(median, low), high)-1) > 1e-9 {
				t.Fatalf("%d blocks: %v, %v..%v, want %v, %v..%v", n, c.Ratio, c.Low, c.High, median, low, high)
			}
		}
	}
}

func logs(x []float64) (all []float64) {
	for _, v := range x {
		all = append(all, math.Log(v))
	}
	return all
}

// The interval only narrows, with the look that it was decided at. Looks that have nothing
// in common leave what was known before them.
func TestCompareKeepsItsInterval(t *testing.T) {
	t.Parallel()
	ones := slices.Repeat([]float64{1}, 40)
	arm := slices.Concat(slices.Repeat([]float64{1.3}, 13), slices.Repeat([]float64{.7}, 27))
	for n, look := range map[int]int{9: 0, 10: 10, 13: 10, 20: 10, 40: 10} {
		c := Compare(metric(t, "p50"), ones[:n], arm[:n], 1)
		if (c.Decision == Decided(Slower)) != (look > 0) || c.Look != look {
			t.Errorf("%d blocks: %s at look %d, want it decided at %d", n, c.Decision, c.Look, look)
		}
	}
	late := slices.Concat(slices.Repeat([]float64{.7, 1.3}, 3), slices.Repeat([]float64{1.3}, 34))
	if c := Compare(metric(t, "p50"), ones, late, 1); c.Decision != Decided(Slower) || c.Look != 20 {
		t.Errorf("%s at look %d, want SLOWER at 20: %+v", c.Decision, c.Look, c)
	}
	turns := slices.Concat(slices.Repeat([]float64{3}, 10), slices.Repeat([]float64{1. / 3}, 30))
	m := Metric{Name: "x", Effect: 9, Same: .01}
	if c := Compare(m, ones, turns, 1); c.Decision != open || c.Low != 3 || c.High != 3 || c.Ratio != 3 || c.Needed != 41 {
		t.Errorf("%+v, want the interval of the first look, with the ratio within it and one more block needed", c)
	}
	if c := Compare(m, ones[:5], turns[:5], 1); c.Ratio != 3 || c.Low != 0 {
		t.Errorf("%+v, want a ratio of 3 without an interval", c)
	}
}

// The word is what the figures of all blocks say: ten blocks of +30 % are SLOWER, and no longer when
// thirty more make the median +1 %.
func TestCompareWordAndFiguresAgree(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(23, 2))
	m := metric(t, "p50")
	ones, arm := slices.Repeat([]float64{1}, 40), slices.Repeat([]float64{1.3}, 10)
	arm[3] = 1.001
	arm = append(arm, slices.Repeat([]float64{1.01}, 30)...)
	if c := Compare(m, ones[:10], arm[:10], 1); c.Decision != Decided(Slower) || c.Look != 10 {
		t.Errorf("ten blocks: %+v, want SLOWER", c)
	}
	if c := Compare(m, ones, arm, 1); c.Decision != Decided(Same) || c.Ratio != 1.01 || c.Look < 14 {
		t.Errorf("forty blocks: %+v, want SAME at +1 %%", c)
	}
	for range 2000 {
		var arm []float64
		for range 10 + rng.IntN(31) {
			arm = append(arm, math.Exp(.06+.1*rng.NormFloat64()))
		}
		c := Compare(m, ones[:len(arm)], arm, 3)
		differs := (c.Low > 1 || c.High < 1) && math.Abs(math.Log(c.Ratio)) >= math.Log1p(m.Effect)-1e-9
		within := c.Low > 0 && math.Abs(math.Log(c.Low)) <= math.Log1p(m.Same)+1e-9 && math.Abs(math.Log(c.High)) <= math.Log1p(m.Same)+1e-9
		switch c.Decision.Rank {
		case Faster, Slower:
			if !differs || (c.Decision == Decided(Slower)) != (c.Ratio > 1) {
				t.Fatalf("%+v", c)
			}
		case Same:
			if !within {
				t.Fatalf("%+v", c)
			}
		default:
			if differs || within {
				t.Fatalf("%+v", c)
			}
		}
		if c.Ratio < c.Low || c.Low > 0 && c.Ratio > c.High || (c.Look > 0) != (c.Decision != open) {
			t.Fatalf("%+v", c)
		}
	}
}

func TestCompareLeans(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		metric      string
		up, down    int // blocks with 30 % more, and with 30 % less, these first
		comparisons int
		lean        Rank
		needed      int
	}{
		{"too few to lean", "p50", 4, 0, 6, "", 10},
		{"all so far", "p50", 5, 0, 6, Slower, 10},
		{"nine of nine", "p50", 9, 0, 6, Slower, 10},
		{"nine of nine, nine comparisons", "p50", 9, 0, 9, Slower, 12},
		{"ten of ten, nine comparisons", "p50", 10, 0, 9, Slower, 12}, // the first look has no interval
		{"too few, and a later first look", "p50", 4, 0, 1000, "", 20},
		{"more goodput", "goodput", 9, 0, 6, Higher, 10},
		{"one against", "p50", 12, 1, 6, Slower, 20},
		{"as many against", "p50", 5, 5, 6, "", 76},
	} {
		var base, arm []float64
		for i := range c.up + c.down {
			r := 1.3
			if i < c.down {
				r = 1 / 1.3
			}
			base, arm = append(base, 1), append(arm, r)
		}
		got := Compare(metric(t, c.metric), base, arm, c.comparisons)
		if got.Decision != open || got.Lean != c.lean || got.Needed != c.needed {
			t.Errorf("%s: %s, leans %q, needs %d; want %q, %d", c.name, got.Decision, got.Lean, got.Needed, c.lean, c.needed)
		}
	}
	wild := Compare(Metric{Same: 1e-300}, slices.Repeat([]float64{1}, 10), []float64{1, 2, 3, 4, 5, .6, .7, .8, .9, 1}, 1)
	if wild.Needed != math.MaxInt32 {
		t.Errorf("needed = %d, want the largest number however small the limit", wild.Needed)
	}
}

func TestCompareRefuses(t *testing.T) {
	t.Parallel()
	ones := func(n int) []float64 { return slices.Repeat([]float64{1}, n) }
	with := func(v float64) []float64 { return append(ones(11), v) }
	p99 := metric(t, "p99")
	for _, tt := range []struct {
		name        string
		metric      Metric
		base, arm   []float64
		comparisons int
		want        string // part of the reason
	}{
		{"nothing", p99, nil, nil, 1, "no blocks"},
		{"unpaired", p99, ones(12), ones(11), 1, "12 blocks of the baseline against 11 of the arm"},
		{"zero", p99, with(0), ones(12), 1, "block 12 has p99 0 for the baseline and 1 for the arm: want positive finite values"},
		{"negative", p99, ones(12), with(-1), 1, "block 12 has p99 1 for the baseline and -1"},
		{"not a number", p99, ones(12), with(math.NaN()), 1, "NaN for the arm"},
		{"infinite", p99, with(math.Inf(1)), ones(12), 1, "+Inf for the baseline"},
		{"both infinite", p99, with(math.Inf(1)), with(math.Inf(1)), 1, "+Inf for the baseline"},
		{"ratio overflows", p99, with(1e-300), with(1e300), 1, "block 12 has p99 1e-300"},
		{"ratio underflows", p99, with(1e300), with(1e-300), 1, "block 12 has p99 1e+300"},
		{"no metric", Metric{}, ones(12), ones(12), 1, `metric "" has effect 0 and same 0`},
		{"no effect", Metric{Name: "x", Effect: math.NaN(), Same: 1}, ones(12), ones(12), 1, `metric "x" has effect NaN`},
		{"no limit", Metric{Name: "x", Same: math.Inf(1)}, ones(12), ones(12), 1, "same +Inf"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := Compare(tt.metric, tt.base, tt.arm, tt.comparisons)
			if c.Decision != refused || !strings.Contains(c.Reason, tt.want) {
				t.Errorf("got %s %q, want refused %q", c.Decision, c.Reason, tt.want)
			}
			if c.Ratio != 0 || c.Low != 0 || c.High != 0 || c.Won != 0 || c.Lost != 0 || c.Needed != 0 {
				t.Errorf("got estimates %+v, want none", c)
			}
		})
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	named := map[string]bool{}
	for _, m := range Metrics() {
		if !(0 < m.Effect && m.Effect < m.Same) || m.HigherIsBetter != (m.Name == "goodput") {
			t.Errorf("metric %+v: want 0 < effect < same, and only goodput better when higher", m)
		}
		if named[m.Name] || m.Primary != (m.Quantile > 0) || m.Allow < m.Same {
			t.Errorf("metric %+v: want a name of its own, primary if it is a quantile, and a gate that allows what is called the same", m)
		}
		named[m.Name] = true
	}
}

// FuzzCompare feeds arbitrary floats, read eight bytes at a time and dealt to
// the baseline and the arm in turn.
func FuzzCompare(f *testing.F) {
	seed := func(base, arm []float64) {
		var data []byte
		for i := range base {
			data = binary.LittleEndian.AppendUint64(data, math.Float64bits(base[i]))
			data = binary.LittleEndian.AppendUint64(data, math.Float64bits(arm[i]))
		}
		f.Add(data, 1, true, 0.05, 0.10)
		f.Add(data, 6, false, 0.02, 0.03)
	}
	seed(blocks(0.9, 1, 1.2))
	seed(blocks(1.2, 1.3, 1.4))
	seed(blocks(5e-324, 1, math.MaxFloat64))
	f.Add([]byte{}, 0, false, math.NaN(), math.Inf(1))
	f.Fuzz(func(t *testing.T, data []byte, comparisons int, higher bool, effect, limit float64) {
		var base, arm []float64
		for len(data) >= 8 {
			v := math.Float64frombits(binary.LittleEndian.Uint64(data))
			if data = data[8:]; len(base) > len(arm) {
				arm = append(arm, v)
			} else {
				base = append(base, v)
			}
		}
		m := Metric{Name: "fuzz", HigherIsBetter: higher, Effect: effect, Same: limit}
		c := Compare(m, base, arm, comparisons)
		if c.Decision == refused {
			if c.Reason == "" || c.Low != 0 || c.Ratio != 0 || c.High != 0 || c.Needed != 0 {
				t.Fatalf("refused with estimates or without a reason: %+v", c)
			}
			return
		}
		if known := c.Low > 0; c.Reason != "" || !(c.Ratio > 0) ||
			known && !(c.Low <= c.Ratio && c.Ratio <= c.High && c.High <= math.MaxFloat64) || !known && (c.High != 0 || c.Decision != open) {
			t.Fatalf("estimates out of order: %+v", c)
		}
		if (c.Decision == open) != (c.Needed > c.Blocks) || (c.Decision == open) != (c.Look == 0) || c.Won+c.Lost > c.Blocks {
			t.Fatalf("counts out of range: %+v", c)
		}
	})
}

// A time is faster or slower, and an amount higher or lower, whichever of them is better.
func TestBetterAndWorse(t *testing.T) {
	t.Parallel()
	for _, m := range Metrics() {
		better, worse := Faster, Slower
		switch m.Name {
		case "goodput":
			better, worse = Higher, Lower
		case "cpu_per_request":
			better, worse = Lower, Higher
		}
		for _, d := range []Rank{Faster, Slower, Higher, Lower, Same, Trade, ""} {
			if m.Better(d) != (d == better) || m.Worse(d) != (d == worse) {
				t.Errorf("%s: %s is better %v, worse %v; want %s and %s", m.Name, d, m.Better(d), m.Worse(d), better, worse)
			}
		}
	}
}

// Two runs of the baseline find +10 % in fewer runs of blocks than one does, and err no more often if
// all three are alike, whatever the shape of the noise.
func TestCompareCopies(t *testing.T) {
	long(t)
	const runs, shares = 2000, 16
	shapes := map[string]func(*rand.Rand) float64{
		"normal": (*rand.Rand).NormFloat64,
		"one in ten is far off": func(rng *rand.Rand) float64 {
			if rng.IntN(10) == 0 {
				return 8 * rng.Float64()
			}
			return rng.NormFloat64()
		},
		"skewed": (*rand.Rand).ExpFloat64,
	}
	m := metric(t, "p50")
	for name, draw := range shapes {
		rng := rand.New(rand.NewPCG(29, 1))
		var wrong, one, both int
		for range runs {
			var values [3][]float64
			for range lastLook / 2 {
				for i := range values {
					values[i] = append(values[i], math.Exp(.06*draw(rng)))
				}
			}
			wrong += Count(CompareCopies(m, values[0], values[1], values[2], shares).Decision.Rank.Differs())
			for i := range values[2] {
				values[2][i] *= 1.10
			}
			one += Count(Compare(m, values[0], values[2], shares).Decision == Decided(Slower))
			both += Count(CompareCopies(m, values[0], values[1], values[2], shares).Decision == Decided(Slower))
		}
		if float64(wrong) > Alpha/shares*runs {
			t.Errorf("%s: %d of %d comparisons of equal arms say they differ, want at most %v", name, wrong, runs, Alpha/shares*runs)
		}
		if both < one*5/4 {
			t.Errorf("%s: +10 %% found in %d runs with two of the baseline and in %d with one, want a quarter more", name, both, one)
		}
	}
}

// Where an arm is above or below both runs of the baseline in every block, each end of the interval errs
// most: in at most seven times its share.
func TestCompareCopiesAtWorst(t *testing.T) {
	long(t)
	const runs, shares = 20_000, 16
	rng := rand.New(rand.NewPCG(29, 2))
	var base, arm [lastLook]float64
	wrong := 0
	for range runs {
		for i := range arm {
			base[i], arm[i] = 1+rng.Float64()/100, 1.3
			if rng.IntN(2) == 0 {
				arm[i] = 1 / 1.3
			}
		}
		c := CompareCopies(metric(t, "p50"), base[:], base[:], arm[:], shares)
		wrong += Count(c.Low > 1 || c.High < 1)
	}
	t.Logf("%d of %d intervals leave out 1", wrong, runs)
	if most := 7 * Alpha / shares * runs; float64(wrong) > most {
		t.Errorf("%d of %d intervals leave out 1, want at most %v", wrong, runs, most)
	}
}

func TestCompareCopiesRefuses(t *testing.T) {
	t.Parallel()
	fit := []float64{1, 1}
	for name, values := range map[string][3][]float64{
		"a twin of 0":        {fit, {1, 0}, fit},
		"a twin of 1 block":  {fit, {1}, fit},
		"no block":           {},
		"an arm that is NaN": {fit, fit, {1, math.NaN()}},
	} {
		if c := CompareCopies(metric(t, "p50"), values[0], values[1], values[2], 1); c.Decision != refused || c.Reason == "" {
			t.Errorf("%s: got %+v, want refused with a reason", name, c)
		}
	}
}

// Ten blocks with two runs of the baseline decide what ten with one do, from the ratios to both.
func TestCompareCopiesDecides(t *testing.T) {
	t.Parallel()
	base, twin := slices.Repeat([]float64{2}, 12), slices.Repeat([]float64{4}, 12)
	for _, tt := range []struct {
		arm, ratio, low, high float64
		want                  Decision
		needed                int
	}{
		{8, math.Sqrt(8), 2, 4, Decided(Slower), 0},
		{1, math.Sqrt(.125), .25, .5, Decided(Faster), 0},
		{math.Sqrt(8), 1, math.Sqrt(.5), math.Sqrt2, open, 159}, // a block in 13.2 as wide as twice the margin
		{4, math.Sqrt2, 1, 2, open, 159},
	} {
		c := CompareCopies(metric(t, "p50"), base, twin, slices.Repeat([]float64{tt.arm}, 12), 1)
		if c.Decision != tt.want || math.Abs(c.Ratio-tt.ratio)+math.Abs(c.Low-tt.low)+math.Abs(c.High-tt.high) > 1e-12 || c.Needed != tt.needed || c.Blocks != 12 {
			t.Errorf("an arm of %v: got %+v, want %s, %v (%v to %v), %d needed", tt.arm, c, tt.want, tt.ratio, tt.low, tt.high, tt.needed)
		}
	}
	// The more comparisons, the wider.
	mixed := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	low := func(comparisons int) float64 {
		return CompareCopies(metric(t, "p50"), base[:10], base[:10], mixed, comparisons).Low
	}
	if one, ten := low(1), low(10); one != 1 || ten != .5 {
		t.Errorf("the interval of one comparison begins at %v and of ten at %v", one, ten)
	}
}

// How many blocks an undecided comparison needs, as they fell so far and with one dissenting block less.
func TestCompareNeeds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name          string
		up, same      int // blocks with 30 % more, and with 2 % more
		down          int // with 30 % less
		lean          Rank
		needed, least int
	}{
		{"one against", 10, 0, 1, Slower, 20, 12},
		{"two against", 14, 0, 2, Slower, 24, 20},
		{"one beyond the margin", 1, 11, 0, "", 20, 13},
		{"one beyond it below", 0, 11, 1, "", 20, 13},
		{"two beyond it", 2, 12, 0, "", 20, 20},
		{"two beyond it to each side", 2, 12, 2, "", 20, 20},
	} {
		var base, arm []float64
		for i := range tt.up + tt.same + tt.down {
			r := 1.02
			if i < tt.down {
				r = 1 / 1.3
			} else if i < tt.down+tt.up {
				r = 1.3
			}
			base, arm = append(base, 1), append(arm, r)
		}
		c := Compare(metric(t, "p50"), base, arm, 6)
		if c.Decision != open || c.Lean != tt.lean || c.Needed != tt.needed || c.Least != tt.least {
			t.Errorf("%s: %s, leans %q, needs %d, at least %d; want %q, %d, %d", tt.name, c.Decision, c.Lean, c.Needed, c.Least, tt.lean, tt.needed, tt.least)
		}
	}
}

func TestDecisions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Decision{
		"FASTER": Decided(Faster), "SLOWER": Decided(Slower), "HIGHER": Decided(Higher), "LOWER": Decided(Lower), "SAME": Decided(Same),
		"open": open, "refused": refused, "": {},
	} {
		var d Decision
		if err := d.UnmarshalText([]byte(text)); err != nil || d != want || d.String() != text {
			t.Errorf("%q is read as %+v, %v and written as %q", text, d, err, d)
		}
		if differs := want.Rank != "" && want.Rank != Same; d.Rank.Differs() != differs {
			t.Errorf("%q differs: %v", d, !differs)
		}
	}
	for text, want := range map[string]Decision{"INCONCLUSIVE": open, "REFUSED": refused} { // of an older schedlab
		d := Decided(Faster)
		if err := d.UnmarshalText([]byte(text)); err != nil || d != want {
			t.Errorf("%q is read as %+v, %v, want %+v", text, d, err, want)
		}
	}
	var d Decision
	if err := d.UnmarshalText([]byte("quicker")); err == nil {
		t.Error("an unknown word is read")
	}
	if got := strings.Join(Names(Quantiles()), " "); got != "p50 p90 p99" {
		t.Errorf("quantiles: %s", got)
	}
}
