package stats

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"
)

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
// comparison (ranks 3 and 10) and median ratio are the ones given.
func blocks(low, median, high float64) (base, arm []float64) {
	ratios := []float64{low, low, low, low, low, median, median, high, high, high, high, high}
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
		{"clearly slower", "p99", 1.2, 1.3, 1.4, Slower},
		{"clearly faster", "p99", 0.6, 0.7, 0.8, Faster},
		{"effect met exactly", "p50", 1.01, 1.05, 1.2, Slower},
		{"effect missed", "p50", 1.01, 1.05 * down, 1.2, Inconclusive},
		{"effect met exactly, other side", "p50", 0.8, 1 / 1.05, 0.99, Faster},
		{"effect missed, other side", "p50", 0.8, 1 / 1.05 * up, 0.99, Inconclusive},
		{"five per cent less is more than ln 1.05", "p50", 0.8, 0.95, 0.99, Faster},
		{"interval touches equality", "p90", 1, 1.3, 1.5, Inconclusive},
		{"interval just excludes equality", "p90", up, 1.3, 1.5, Slower},
		{"interval touches equality, other side", "p90", 0.6, 0.7, 1, Inconclusive},
		{"interval just excludes equality, other side", "p90", 0.6, 0.7, down, Faster},
		{"identical", "p90", 1, 1, 1, Same},
		{"same at its limits", "p90", 1 / 1.10, 1, 1.10, Same},
		{"same exceeded above", "p90", 1 / 1.10, 1, 1.10 * up, Inconclusive},
		{"same exceeded below", "p90", 1 / 1.10 * down, 1, 1.10, Inconclusive},
		{"same although equality is excluded", "p90", 1.01, 1.03, 1.08, Same},
		{"slower comes before same", "p90", 1.04, 1.06, 1.08, Slower},
		{"a large median alone is nothing", "p90", 0.9, 1.3, 1.5, Inconclusive},
		{"more goodput is faster", "goodput", 1.01, 1.02, 1.05, Faster},
		{"less goodput is slower", "goodput", 0.95, 1 / 1.02, 0.99, Slower},
		{"goodput effect missed", "goodput", 1.01, 1.02 * down, 1.05, Inconclusive},
		{"goodput same at its limits", "goodput", 1 / 1.03, 1, 1.03, Same},
		{"goodput same exceeded", "goodput", 1 / 1.03, 1, 1.03 * up, Inconclusive},
		{"less cpu is faster", "cpu_per_request", 0.8, 0.9, 0.94, Faster},
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
			if (c.Needed > 0) != (tt.want == Inconclusive) {
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

// The interval widens with the number of comparisons that share Alpha.
func TestCompareRanks(t *testing.T) {
	t.Parallel()
	var base, arm []float64
	for i := range 27 {
		base = append(base, 1)
		arm = append(arm, float64(27-i)) // ratios 1..27
	}
	for comparisons, k := range map[int]float64{-1: 8, 0: 8, 1: 8, 2: 8, 3: 7, 6: 7, 10: 6} {
		c := Compare(metric(t, "p50"), base, arm, comparisons)
		if c.Low != k || c.High != 28-k || math.Abs(c.Ratio-14) > 1e-12 {
			t.Errorf("%d comparisons: %v, %v..%v, want 14, %v..%v", comparisons, c.Ratio, c.Low, c.High, k, 28-k)
		}
	}
}

func TestCompareNeeded(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		metric    string
		low, high float64
		want      int
	}{
		{"p50", 1 / 1.21, 1.21, 48}, // twice as wide as SAME allows: four times the blocks
		{"p50", 1 / math.Pow(1.1, 1.5), math.Pow(1.1, 1.5), 27},
		{"p50", 1, 1.11, 13}, // narrow enough, but off centre: at least one more
		{"goodput", 1 / (1.03 * 1.03), 1.03 * 1.03, 48},
		{"p50", 1e-300, 1e300, 630_342_450},
	} {
		base, arm := blocks(tt.low, 1, tt.high)
		c := Compare(metric(t, tt.metric), base, arm, 1)
		if off := math.Abs(float64(c.Needed - tt.want)); c.Decision != Inconclusive || off > 1e-5*float64(tt.want) {
			t.Errorf("%s %v..%v: %s, needed %d, want %d", tt.metric, tt.low, tt.high, c.Decision, c.Needed, tt.want)
		}
	}
	wild := Compare(Metric{Same: 1e-300}, []float64{1, 1, 1, 1, 1, 1}, []float64{1, 2, 3, 4, 5, 6}, 1)
	if wild.Needed <= 0 {
		t.Errorf("needed = %d, want it positive however small the limit", wild.Needed)
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
		{"nothing", p99, nil, nil, 1, "0 blocks give no interval at error 0.05: run at least 6"},
		{"too few for one", p99, ones(5), ones(5), 1, "5 blocks give no interval at error 0.05: run at least 6"},
		{"too few for six", p99, ones(7), ones(7), 6, "7 blocks give no interval at error 0.00833: run at least 8"},
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
			if c.Decision != Refused || !strings.Contains(c.Reason, tt.want) {
				t.Errorf("got %s %q, want REFUSED %q", c.Decision, c.Reason, tt.want)
			}
			if c.Ratio != 0 || c.Low != 0 || c.High != 0 || c.Won != 0 || c.Lost != 0 || c.Needed != 0 {
				t.Errorf("got estimates %+v, want none", c)
			}
		})
	}
}

func TestRefuse(t *testing.T) {
	t.Parallel()
	base, arm := blocks(1.2, 1.3, 1.4)
	got := Compare(metric(t, "p99"), base, arm, 1).Refuse("lag p99 3 ms > 1 ms")
	want := Comparison{Metric: metric(t, "p99"), Decision: Refused, Blocks: 12, Reason: "lag p99 3 ms > 1 ms"}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestAAClean(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name              string
		low, median, high float64
		want              bool
	}{
		{"around equality", 0.98, 1.01, 1.03, true},
		{"touching equality", 1, 1.01, 1.03, true},
		{"wide but around equality", 0.5, 1.2, 2, true},
		{"above", 1.001, 1.01, 1.03, false},
		{"below", 0.9, 0.95, 0.999, false},
	} {
		base, twin := blocks(tt.low, tt.median, tt.high)
		if c, clean := AAClean(metric(t, "p99"), base, twin); clean != tt.want {
			t.Errorf("%s: clean = %v (%s, %v..%v), want %v", tt.name, clean, c.Decision, c.Low, c.High, tt.want)
		}
	}
	if c, clean := AAClean(metric(t, "p99"), []float64{1}, []float64{1}); clean || c.Decision != Refused {
		t.Errorf("one block: %s, clean = %v, want REFUSED, not clean", c.Decision, clean)
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	var names, primary []string
	for _, m := range Metrics() {
		names = append(names, m.Name)
		if m.Primary {
			primary = append(primary, m.Name)
		}
		if !(0 < m.Effect && m.Effect < m.Same) || m.HigherIsBetter != (m.Name == "goodput") {
			t.Errorf("metric %+v: want 0 < effect < same, and only goodput better when higher", m)
		}
	}
	if got, want := strings.Join(names, " "), "p50 p90 p99 goodput cpu_per_request"; got != want {
		t.Errorf("metrics %q, want %q", got, want)
	}
	if got, want := strings.Join(primary, " "), "p50 p90 p99"; got != want {
		t.Errorf("primary metrics %q, want %q", got, want)
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
		if c.Decision == Refused {
			if c.Reason == "" || c.Low != 0 || c.Ratio != 0 || c.High != 0 || c.Needed != 0 {
				t.Fatalf("refused with estimates or without a reason: %+v", c)
			}
			return
		}
		if !(0 < c.Low && c.Low <= c.Ratio && c.Ratio <= c.High && c.High <= math.MaxFloat64) || c.Reason != "" {
			t.Fatalf("estimates out of order: %+v", c)
		}
		if (c.Decision == Inconclusive) != (c.Needed > c.Blocks) || c.Won+c.Lost > c.Blocks {
			t.Fatalf("counts out of range: %+v", c)
		}
	})
}

// An amount's verdict says which way it is, and is read again, as records of old are.
func TestWords(t *testing.T) {
	t.Parallel()
	for _, m := range Metrics() {
		better, worse := "FASTER", "SLOWER"
		switch m.Name {
		case "goodput":
			better, worse = "HIGHER", "LOWER"
		case "cpu_per_request":
			better, worse = "LOWER", "HIGHER"
		}
		for d, word := range map[Decision]string{Faster: better, Slower: worse, Same: "SAME", Inconclusive: "INCONCLUSIVE", Refused: "REFUSED"} {
			if got := m.Word(d); got != word || m.Decision(word) != d || m.Decision(string(d)) != d {
				t.Errorf("%s: %s is written %s and read %s, of old %s; want %s", m.Name, d, got, m.Decision(word), m.Decision(string(d)), word)
			}
		}
	}
}
