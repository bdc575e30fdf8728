package workload

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
)

func TestParseDist(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		in, out string
		mean    time.Duration
		scv     float64
	}{
		{"0", "0s", 0, 0},
		{"0s", "0s", 0, 0},
		{"200us", "200us", 200 * time.Microsecond, 0},
		{"200µs", "200us", 200 * time.Microsecond, 0},
		{"const(1m30s)", "1m30s", 90 * time.Second, 0},
		{"1*5ms", "5ms", 5 * time.Millisecond, 0},
		{"exp(200us)", "exp(200us)", 200 * time.Microsecond, 1},
		{"exp(0s)", "exp(0s)", 0, 0},
		{" exp(10ms) ", "exp(10ms)", 10 * time.Millisecond, 1},
		// E[X] = 2 ms, E[X²] = 0.2 × 100 = 20 ms², C² = 20/4 - 1
		{"0.8*0s+0.2*10ms", "0.8*0s+0.2*10ms", 2 * time.Millisecond, 4},
		{"0.8*0s + 0.2*const(10ms)", "0.8*0s+0.2*10ms", 2 * time.Millisecond, 4},
		// E[X] = 0.5 + 5, E[X²] = 0.5 × 2 × 1 + 0.5 × 100 = 51
		{"0.5*exp(1ms)+0.5*10ms", "0.5*exp(1ms)+0.5*10ms", 5500 * time.Microsecond, 51/30.25 - 1},
		{"lognormal(200us,4)", "lognormal(200us,4)", 200 * time.Microsecond, 4},
		{" lognormal(1ms, 0.25) ", "lognormal(1ms,0.25)", time.Millisecond, 0.25},
		{"lognormal(0s,1)", "lognormal(0s,1)", 0, 0},
		// E[X] = 0.5 + 1, E[X²] = 0.5 × (1 + 3) + 0.5 × 4 = 4
		{"0.5*lognormal(1ms,3)+0.5*2ms", "0.5*lognormal(1ms,3)+0.5*2ms", 1500 * time.Microsecond, 4/2.25 - 1},
		{"0.1*1s+0.2*1s+0.7*1s", "0.1*1s+0.2*1s+0.7*1s", time.Second, 0},
	} {
		d, err := ParseDist(tc.in)
		if err != nil {
			t.Errorf("%q: %v", tc.in, err)
			continue
		}
		if d.String() != tc.out || d.Mean() != tc.mean || math.Abs(d.SquaredCV()-tc.scv) > 1e-9 {
			t.Errorf("%q: got %q, mean %v, C² %g, want %q, %v, %g", tc.in, d, d.Mean(), d.SquaredCV(), tc.out, tc.mean, tc.scv)
		}
		if again, err := ParseDist(d.String()); again != d || err != nil {
			t.Errorf("%q: read back %q is %#v, %v, want %#v", tc.in, d, again, err, d)
		}
	}
}

func TestParseDistErrors(t *testing.T) {
	t.Parallel()
	const form = ` is not a demand such as 200us, exp(200us), lognormal(200us,4) or 0.8*0s+0.2*10ms`
	for _, tc := range []struct{ in, want string }{
		{"", `parsing demand "": ""` + form},
		{"fast", `parsing demand "fast": "fast"` + form},
		{"200", `parsing demand "200": "200"` + form},
		{"exp()", `parsing demand "exp()": "exp()"` + form},
		{"exp(1ms", `parsing demand "exp(1ms": "exp(1ms"` + form},
		{"pareto(1ms)", `parsing demand "pareto(1ms)": "pareto(1ms)" is none of const(D), exp(D), lognormal(D,SCV)`},
		{"1ms)", `parsing demand "1ms)": "1ms)" is none of const(D), exp(D), lognormal(D,SCV)`},
		{"lognormal(1ms)", `parsing demand "lognormal(1ms)": "lognormal(1ms)" needs a squared coefficient of variation in (0, 100], as in lognormal(200us,4)`},
		{"lognormal(1ms,0)", `"lognormal(1ms,0)" needs a squared coefficient of variation in (0, 100]`},
		{"lognormal(1ms,101)", `"lognormal(1ms,101)" needs a squared coefficient of variation in (0, 100]`},
		{"lognormal(1ms,NaN)", `"lognormal(1ms,NaN)" needs a squared coefficient of variation in (0, 100]`},
		{"lognormal(fast,1)", `"lognormal(fast,1)"` + form},
		{"-1ms", `parsing demand "-1ms": a demand cannot be negative`},
		{"0.5*1ms", `parsing demand "0.5*1ms": the weights sum to 0.5, not 1`},
		{"0.5*1ms+0.6*1ms", `parsing demand "0.5*1ms+0.6*1ms": the weights sum to 1.1, not 1`},
		{"0.5*1ms+1ms", `parsing demand "0.5*1ms+1ms": term "1ms" of a mix has no weight, as in 0.2*10ms`},
		{"1ms+0.5*1ms", `parsing demand "1ms+0.5*1ms": term "1ms" of a mix has no weight, as in 0.2*10ms`},
		{"0*1ms+1*1ms", `parsing demand "0*1ms+1*1ms": weight "0" is not a number in (0, 1]`},
		{"NaN*1ms", `parsing demand "NaN*1ms": weight "NaN" is not a number in (0, 1]`},
		{strings.Repeat("0.1*1ms+", 9) + "0.1*1ms", `more than 8 terms`},
	} {
		d, err := ParseDist(tc.in)
		if err == nil || !strings.Contains(err.Error(), tc.want) || d != (Dist{}) {
			t.Errorf("%q: got %v, %v, want the zero Dist and %s", tc.in, d, err, tc.want)
		}
	}
}

func TestDistText(t *testing.T) {
	t.Parallel()
	var got struct{ CPU, Sleep Dist }
	const in = `{"CPU":"exp(200us)","Sleep":"0.8*0s+0.2*10ms"}`
	if err := json.Unmarshal([]byte(in), &got); err != nil {
		t.Fatal(err)
	}
	if out, err := json.Marshal(got); string(out) != in || err != nil {
		t.Errorf("got %s, %v, want %s", out, err, in)
	}
	before := got.CPU
	if err := got.CPU.UnmarshalText([]byte("soon")); err == nil || got.CPU != before {
		t.Errorf("a bad text: got %v, %v, want an error and the old value", got.CPU, err)
	}
}

// 100,000 samples come near the mean and the squared coefficient of variation.
// The tolerances are above four standard errors; the seed is fixed.
func TestSampleMoments(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"0s", "200us", "exp(200us)", "0.8*0s+0.2*10ms", "0.5*exp(1ms)+0.5*10ms", "0.1*1ms+0.2*2ms+0.7*exp(3ms)",
		"lognormal(200us,0.1)", "lognormal(200us,1)", "0.9*1ms+0.1*lognormal(10ms,0.5)"} {
		d, err := ParseDist(in)
		if err != nil {
			t.Fatal(err)
		}
		const n = 100_000
		r := NewRand(1)
		var sum, squares float64
		for range n {
			v := float64(d.Sample(r))
			sum += v
			squares += v * v
		}
		mean := sum / n
		scv := 0.0
		if mean > 0 {
			scv = squares/n/(mean*mean) - 1
		}
		if want := float64(d.Mean()); math.Abs(mean-want) > 0.03*want {
			t.Errorf("%s: sampled mean %v, want %v", in, time.Duration(mean), d.Mean())
		}
		if want := d.SquaredCV(); math.Abs(scv-want) > 0.05*want+1e-9 {
			t.Errorf("%s: sampled C² %.3f, want %.3f", in, scv, want)
		}
	}
}

func TestSampleOfHugeMeansSaturates(t *testing.T) {
	t.Parallel()
	d, err := ParseDist("exp(2562047h)")
	if err != nil {
		t.Fatal(err)
	}
	r := NewRand(1)
	for range 1000 {
		if v := d.Sample(r); v < 0 {
			t.Fatalf("got %v, want at least 0", v)
		}
	}
}

// The reference values are those of Vigna's splitmix64.c for seed 1234567.
func TestRandIsSplitMix64(t *testing.T) {
	t.Parallel()
	r := NewRand(1234567)
	for i, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821} {
		if got := r.next(); got != want {
			t.Errorf("number %d: got %d, want %d", i, got, want)
		}
	}
}

func FuzzParseDist(f *testing.F) {
	for _, s := range []string{"", "0", "200us", "exp(1.5ms)", "const(1h)", "0.8*0s+0.2*10ms", "1e-3*1ns+0.999*exp(2m)", "9223372036854775807ns", "0x1p-1*1s+.5*0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseDist(s)
		if err != nil {
			return
		}
		if again, err := ParseDist(d.String()); again != d || err != nil {
			t.Errorf("%q: read back %q is %#v, %v, want %#v", s, d, again, err, d)
		}
		if d.Mean() < 0 || !(d.SquaredCV() >= 0) || d.Sample(NewRand(1)) < 0 {
			t.Errorf("%q: mean %v, C² %g", s, d.Mean(), d.SquaredCV())
		}
	})
}
