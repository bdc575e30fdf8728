package arrivals

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func parsed(t *testing.T, spec string) Process {
	t.Helper()
	a, err := Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	return a.WithConnections(64)
}

// Every kind is sorted, stays within the window, keeps its mean rate, and hangs
// on the seed alone.
func TestArrivalsKeepTheirRate(t *testing.T) {
	t.Parallel()
	const rate, span = 1000.0, 20 * time.Second
	for spec, mean := range map[string]float64{
		"poisson": rate, "constant": rate,
		"ramp(500/s,3000/s)": 1750, "ramp(3000/s,0/s)": 1500, "ramp(0.5x,1.5x)": rate, "ramp(0/s,2000/s,even)": 1000, "ramp(700/s,700/s,even)": 700,
		"sine(0.5,2s)": rate, "sine(1,2s)": rate, "sine(1,1ms,even)": rate, "sine(0.3,4s,even)": rate,
		"burst(12)": rate, "burst(12,5ms,396)": rate, "burst(8,1ms)": rate, "in-phase": rate, "in-phase(400)": rate,
	} {
		a := parsed(t, spec)
		at := a.Draw(rate, span, seeded(3)).At
		if !slices.IsSorted(at) || at[0] < 0 || at[len(at)-1] >= span {
			t.Errorf("%s: arrivals from %v to %v, want ascending within [0, %v)", spec, at[0], at[len(at)-1], span)
		}
		// Five standard deviations of a Poisson count, or a whole burst.
		want := mean * span.Seconds()
		if got := float64(len(at)); math.Abs(got-want) > max(5*math.Sqrt(want), 400) {
			t.Errorf("%s: %v arrivals in %v, want about %v", spec, got, span, want)
		}
		if got := a.MeanRate(rate, span); got != mean {
			t.Errorf("%s: mean rate %v, want %v", spec, got, mean)
		}
		if !slices.Equal(at, a.Draw(rate, span, seeded(3)).At) {
			t.Errorf("%s: the same seed gave other arrivals", spec)
		}
		for _, none := range []time.Duration{0, -time.Second} {
			if got := a.Draw(rate, none, seeded(3)).At; len(got) != 0 {
				t.Errorf("%s: %d arrivals in %v", spec, len(got), none)
			}
		}
		random := spec == "poisson" || (a.Kind == KindRamp || a.Kind == KindSine) && !a.Even
		if slices.Equal(at, a.Draw(rate, span, seeded(4)).At) == random {
			t.Errorf("%s: another seed changed the arrivals: want %v", spec, random)
		}
	}
}

// A count in a slice of the window is what the rate's integral says, exactly
// where there is no chance and within five standard deviations where there is.
func TestArrivalsKeepTheirShape(t *testing.T) {
	t.Parallel()
	const rate, span, slices = 1000.0, 20 * time.Second, 40
	for spec, expected := range map[string]func(t float64) float64{
		"ramp(500/s,3000/s": func(t float64) float64 { return 500*t + 2500*t*t/40 },
		"ramp(3x,1x":        func(t float64) float64 { return 3000*t - 2000*t*t/40 },
		"sine(0.8,2s":       func(t float64) float64 { return 1000*t + 800/math.Pi*(1-math.Cos(math.Pi*t)) },
		"sine(1,10s":        func(t float64) float64 { return 1000*t + 1000/(math.Pi/5)*(1-math.Cos(math.Pi/5*t)) },
	} {
		for _, even := range []bool{true, false} {
			end := map[bool]string{true: ",even)", false: ")"}[even]
			at := parsed(t, spec+end).Draw(rate, span, seeded(9)).At
			for i := range slices {
				from, to := float64(i)/slices*span.Seconds(), float64(i+1)/slices*span.Seconds()
				got := 0.0
				for _, a := range at {
					if s := a.Seconds(); s >= from && s < to {
						got++
					}
				}
				want := expected(to) - expected(from)
				most := 1.000001
				if !even {
					most = 5*math.Sqrt(want) + 1
				}
				if math.Abs(got-want) > most {
					t.Errorf("%s%s: %v arrivals in [%v, %v) s, want %v within %v", spec, end, got, from, to, want, most)
				}
			}
		}
	}
}

func TestBursts(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for spec, want := range map[string][]time.Duration{
		"burst(3)":         {0, 0, 0, 30 * ms, 30 * ms, 30 * ms, 60 * ms, 60 * ms, 60 * ms},
		"burst(2,5ms,5)":   {0, 0, 5 * ms, 5 * ms, 10 * ms, 50 * ms, 50 * ms, 55 * ms, 55 * ms, 60 * ms},
		"burst(40,1ms,40)": slices.Repeat([]time.Duration{0}, 40),
		"in-phase(4)":      {0, 0, 0, 0, 40 * ms, 40 * ms, 40 * ms, 40 * ms},
		"in-phase":         slices.Repeat([]time.Duration{0}, 64),
	} {
		if got := parsed(t, spec).Draw(100, 70*ms, nil).At; !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", spec, got, want)
		}
	}
	if got := parsed(t, "burst(2,5ms,5)").Draw(100, 10*ms, nil).At; !slices.Equal(got, []time.Duration{0, 0, 5 * ms, 5 * ms}) {
		t.Errorf("a burst at the window's end is in it: %v", got)
	}
}

// At half load, half a millisecond each, the pattern of arrivals alone decides:
// 400 clients paced one by one (random phases), woken together every 5 ms, or all
// in phase. Backlog of a burst of B is BS/2 on average; of B every T, for a cycle
// of N, it grows by BS - T each time.
func TestArrivalsAloneMoveTheResponseTime(t *testing.T) {
	t.Parallel()
	const rate, service = 1000, 500 * time.Microsecond
	for spec, want := range map[string]time.Duration{
		"constant":          service,
		"poisson":           750 * time.Microsecond, // Pollaczek and Khinchine
		"burst(12,5ms,396)": 19_250 * time.Microsecond,
		"in-phase(396)":     99_250 * time.Microsecond,
	} {
		var free, sum time.Duration
		at := parsed(t, spec).Draw(rate, 396*100*time.Millisecond, seeded(2)).At
		for _, a := range at {
			free = max(free, a) + service
			sum += free - a
		}
		mean := sum / time.Duration(len(at))
		if math.Abs(float64(mean-want)) > 0.03*float64(want) {
			t.Errorf("%s: mean response %v, want %v within 3 %%", spec, mean, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]string{
		"":                     "no kind; want one of poisson, constant",
		"Poisson":              `unknown kind "Poisson" (want one of poisson, constant, ramp(FROM,TO)`,
		"poisson()":            "want poisson alone",
		"ramp(1/s":             "brackets do not match",
		"sine(0.5,500ms),even": "even goes inside the brackets: sine(0.5,500ms,even)",
		"in-phase)":            "unknown kind",
		"(3)":                  "no kind",
		"ramp(1/s)":            "want ramp(FROM,TO)",
		"ramp(1/s,2x)":         "one rate is absolute and one relative",
		"ramp(1,2)":            `"1" is not a rate like 500/s or 0.5x`,
		"ramp(0/s,0/s)":        "one of them above 0",
		"ramp(-1/s,2/s)":       "one of them above 0",
		"ramp(NaN/s,2/s)":      "one of them above 0",
		"ramp(1/s,Inf/s)":      "from 0 to 1000000",
		"sine(0.5)":            "want sine(AMPLITUDE,PERIOD)",
		"sine(1.5,2s)":         "above 0 up to 1",
		"sine(x,2s)":           `amplitude "x" is not a number`,
		"sine(0.5,2)":          `"2" is not a duration above 0`,
		"sine(0.5,1us)":        "1ms at least",
		"burst(0)":             `"0" is not a whole number above 0`,
		"burst(100001)":        "give 1 to 100000",
		"burst(12,-5ms)":       "not a duration above 0",
		"burst(12,5ms,1e3)":    `"1e3" is not a whole number`,
		"in-phase(64,2)":       "want in-phase, or in-phase(N)",
		"trace()":              "no file; say trace(FILE)",
		"ramp(even)":           "want ramp(FROM,TO)",
		"burst(12,even)":       "not a duration above 0",
		"sine(0.5,2s,even,1s)": "want sine(AMPLITUDE,PERIOD)",
		"sine(0,2s)":           "above 0 up to 1",
		"burst(12,0s)":         "not a duration above 0",
		"ramp(1/s,1000001/s)":  "from 0 to 1000000",
		"burst(1,1ms,100001)":  "give 1 to 100000",
		"in-phase(100001)":     "give 1 to 100000",
		"log(a,1000001x)":      "up to 1000000x",
	} {
		if a, err := Parse(spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %+v, %v; want an error with %q", spec, a, err, want)
		}
	}
}

// What is just within the limits is taken, and written as it was read.
func TestParseTakesTheLimits(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{
		"poisson", "sine(1,1ms)", "sine(0.125,1ms,even)", "ramp(0/s,1e+06/s)", "ramp(1e+06/s,0/s)", "burst(1)", "burst(100000)",
		"burst(1,1ns)", "burst(3,1ms,100000)", "in-phase", "in-phase(1)", "in-phase(100000)", "log(a,1e+06x)", "trace(a)",
	} {
		a, err := Parse(spec)
		if err != nil || a.String() != spec {
			t.Errorf("%s is read as %s, %v", spec, a, err)
		}
	}
	if got := (Process{}).String(); got != "poisson" {
		t.Errorf("the zero value is %s", got)
	}
	if got := (Process{Kind: KindBurst, Size: 3, Cycle: 9}).String(); got != "burst(3)" {
		t.Errorf("a cycle without a period, which means nothing, is written: %s", got)
	}
}

// A number of connections is filled in where one is left out, and nowhere else.
func TestWithConnections(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ a, want Process }{
		{Process{Kind: KindInPhase}, Process{Kind: KindInPhase, Size: 64}},
		{Process{Kind: KindInPhase, Size: 4}, Process{Kind: KindInPhase, Size: 4}},
		{Process{Kind: KindBurst, Size: 3}, Process{Kind: KindBurst, Size: 3}},
		{Process{Kind: KindBurst, Size: 3, Period: 1}, Process{Kind: KindBurst, Size: 3, Period: 1, Cycle: 64}},
		{Process{Kind: KindBurst, Size: 3, Period: 1, Cycle: 9}, Process{Kind: KindBurst, Size: 3, Period: 1, Cycle: 9}},
		{Process{}, Process{}},
	} {
		if got := c.a.WithConnections(64); got != c.want {
			t.Errorf("%+v becomes %+v, want %+v", c.a, got, c.want)
		}
	}
}

func TestArrivalsCheckTheRate(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a    Process
		rate float64
		want string
	}{
		{Process{}, 0, "arrivals poisson: a rate of 0/s; give one above 0"},
		{Process{Kind: KindConstant}, math.NaN(), "give one above 0"},
		{Process{Kind: KindInPhase}, 100, "no number of connections"},
		{Process{Kind: KindBurst, Size: 12, Period: time.Millisecond}, 100, "a cycle of 0 requests is less than one burst"},
		{Process{Kind: KindBurst, Size: 12, Period: 5 * time.Millisecond, Cycle: 396}, 2500, "the bursts of a cycle take 160ms, and at 2500/s the next begins after 158.4ms"},
		{Process{Kind: KindBurst, Size: 1, Period: 5 * time.Millisecond, Cycle: 2}, 400, "take 5ms, and at 400/s the next begins after 5ms"},
		{Process{Kind: KindBurst}, 100, "0 at once"},
		{Process{Kind: KindBurst, Size: 1, Period: -1}, 100, "not negative"},
		{Process{Kind: KindBurst, Size: 1, Cycle: -1}, 100, "not negative"},
		{Process{Kind: KindInPhase, Size: -1}, 100, "-1 at once"},
		{Process{Kind: KindLog, File: "x", Speed: -1}, 100, "a speed of -1x"},
		{Process{Kind: KindLog, File: "x", Speed: 1e6 + 1}, 100, "a speed of"},
		{Process{Kind: KindLog, File: "x", Speed: 1e6}, 100, "has not been read"},
		{Process{Kind: KindTrace, File: "x"}, 100, "has not been read"},
		{Process{Kind: "nonsense"}, 100, "unknown kind"},
	} {
		if err := test.a.Check(test.rate); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v at %v/s: got %v, want an error with %q", test.a, test.rate, err, test.want)
		}
		if got := test.a.Draw(test.rate, time.Second, seeded(1)).At; len(got) != 0 {
			t.Errorf("%+v at %v/s: drew %d arrivals, want none", test.a, test.rate, len(got))
		}
	}
	if err := (Process{Kind: KindRamp, From: 1, To: 2}).Check(0); err != nil {
		t.Errorf("an absolute ramp needs no rate: %v", err)
	}
}

func TestFixedArrivals(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]bool{"poisson": false, "ramp(1/s,2/s)": true, "ramp(1x,2x)": false, "trace(a)": true, "log(a)": false, "sine(1,1s)": false} {
		if got := parsed(t, spec).Fixed(); got != want {
			t.Errorf("%s has a rate of its own: %v, want %v", spec, got, want)
		}
	}
}

func TestTraceFile(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for name, test := range map[string]struct {
		text string
		want Trace
	}{
		"offsets": {"# mine\n0\n\n0.0015\r\n2ms\n", Trace{At: []time.Duration{0, 1500 * time.Microsecond, 2 * ms}}},
		"iters":   {"1ms,7\n1ms,0", Trace{At: []time.Duration{ms, ms}, Demand: []Demand{{Iters: 7}, {}}}},
		"both":    {"1ms,7,1ms\n", Trace{At: []time.Duration{ms}, Demand: []Demand{{Iters: 7, Sleep: ms}}}},
		"named":   {"sleep, cpu ,at\n0.5,2us,1ms\n", Trace{At: []time.Duration{ms}, Demand: []Demand{{Iters: 200, Sleep: 500 * ms}}}},
	} {
		file := filepath.Join(t.TempDir(), "arrivals.csv")
		if err := os.WriteFile(file, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		a, err := parsed(t, "trace("+file+")").Open(100)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := a.Draw(0, time.Hour, nil)
		if !slices.Equal(got.At, test.want.At) || !slices.Equal(got.Demand, test.want.Demand) {
			t.Errorf("%s: got %+v, want %+v", name, got, test.want)
		}
		if part := a.Draw(0, ms+1, nil); len(part.At) == 0 || part.At[len(part.At)-1] > ms || a.MeanRate(1, 4*time.Second) != float64(len(got.At))/4 || a.MeanRate(1, 0) != 1 {
			t.Errorf("%s: the first %v have %v at a mean rate of %v", name, ms, part.At, a.MeanRate(1, 4*time.Second))
		}
		if last := got.At[len(got.At)-1]; a.Span(0) != last+1 {
			t.Errorf("%s: its span is %v; want just beyond %v", name, a.Span(0), last)
		}
	}
	if a := (Process{}); a.Span(1) != 0 {
		t.Errorf("the span of a process without an end is %v", a.Span(1))
	}
}

// A time may be a duration or a number of seconds, from 0 to a day.
func TestParseOffset(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"0": 0, "0s": 0, "86400": 24 * time.Hour, "24h": 24 * time.Hour, "1e-9": 1, "1.5e-3": 1500 * time.Microsecond} {
		if got, err := parseOffset(text); err != nil || got != want {
			t.Errorf("%s is %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"86400.1", "24h0m0.1s", "-1e-9", "-1ns", "", "s"} {
		if got, err := parseOffset(text); err == nil {
			t.Errorf("%q is %v, want an error", text, got)
		}
	}
}

func TestReadTraceRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                       "f.csv: no arrivals",
		"# nothing\n":            "f.csv: no arrivals",
		"at,iters\n":             "f.csv: no arrivals",
		"1ms\n0s\n":              "f.csv:2: an arrival at 0s after one at 1ms; sort the file",
		"1ms\n2ms,3\n":           "f.csv:2: 2 columns, want 1 (at)",
		"1,2,3,4\n":              "f.csv:1: 4 columns, want 3 (at,iters,sleep)",
		"soon\n":                 `f.csv:1: column at: "soon" is not a duration`,
		"-1ms\n":                 "is not a duration",
		"NaN\n":                  "is not a duration",
		"1e300\n":                "is not a duration",
		"25h\n":                  "from 0 to 24h0m0s",
		"1ms,-1\n":               `column iters: "-1" is not a whole number`,
		"1ms,4294967296\n":       "up to 4294967295",
		"1ms,1,-2s\n":            "column sleep:",
		"at,rate\n":              `f.csv:1: column "rate" is unknown`,
		"at,at\n":                "there twice",
		"iters,sleep\n":          "no column at",
		"at,iters,cpu\n":         "one demand",
		"at,cpu\n0,1ms\n":        "cannot be turned into iterations here",
		"1s\n\ufeff2s\n":         "is not a duration", // a byte order mark is read only at the beginning
		"0\n\xff\xfe\n":          "f.csv:2: column at:",
		strings.Repeat("1", 2e3): "f.csv:1: the line is longer than 1024 bytes",
	} {
		if got, err := readTrace("f.csv", strings.NewReader(text), 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: got %+v, %v; want an error with %q", text, got, err, want)
		}
	}
	if _, err := (Process{Kind: KindTrace, File: filepath.Join(t.TempDir(), "none")}).Open(1); err == nil {
		t.Error("a missing file was opened")
	}
}

// What is read is a trace that the attack takes.
func FuzzReadTrace(f *testing.F) {
	f.Add("at,cpu,sleep\n0,1us,2ms\n0.5,3us,0\n")
	f.Add("# x\n1ms\n2ms\n")
	f.Add("0,4,1s\r\n0,5,0")
	f.Fuzz(func(t *testing.T, text string) {
		trace, err := readTrace("f", strings.NewReader(text), 10)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f:") {
				t.Errorf("error %q does not say where", err)
			}
			return
		}
		if err := trace.Check(); err != nil || len(trace.At) == 0 || len(trace.At) > strings.Count(text, "\n")+1 {
			t.Errorf("read %d arrivals from %q: %v", len(trace.At), text, err)
		}
	})
}

// What is read, is written and read again the same, and can be drawn from.
func FuzzParse(f *testing.F) {
	for _, spec := range []string{"poisson", "constant", "ramp(1/s,2e3/s,even)", "ramp(.5x,2x)", "sine(0.5,2s)", "burst(12,5ms,396)", "in-phase", "in-phase(3)", "trace(a,b.csv)", "log(a)", "log(a,b.log,10x)"} {
		f.Add(spec)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		a, err := Parse(spec)
		if err != nil {
			return
		}
		again, err := Parse(a.String())
		if err != nil || again != a {
			t.Errorf("%q is %+v, written %q, which is %+v, %v", spec, a, a, again, err)
		}
		const span = 20 * time.Millisecond
		at := a.WithConnections(8).Draw(500, span, seeded(1)).At
		if !slices.IsSorted(at) || len(at) > 0 && (at[0] < 0 || at[len(at)-1] >= span) {
			t.Errorf("%q drew %v", spec, at)
		}
	})
}
