package queueing

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

var sizes = []float64{1, 2, 4, 8, 16, 24, 32, 48, 64}

// scaled is what the law gives at each n, times e^(noise·z).
func scaled(n []float64, g, s, k, noise float64, rng *rand.Rand) []float64 {
	x := make([]float64, len(n))
	for i, n := range n {
		x[i] = fitted(g, s, k).At(n) * math.Exp(noise*rng.NormFloat64())
	}
	return x
}

func TestUSLFindsItsParameters(t *testing.T) {
	t.Parallel()
	const g, s, k = 1000, 0.05, 0.001
	u, err := FitUSL(sizes, scaled(sizes, g, s, k, 0, rand.New(rand.NewPCG(1, 1))))
	if err != nil {
		t.Fatal(err)
	}
	near(t, "g", u.Gain.Value, g, 1e-6)
	near(t, "s", u.Contention.Value, s, 1e-6)
	near(t, "k", u.Coherence.Value, k, 1e-6)
	near(t, "peak", u.Peak, math.Sqrt(0.95/0.001), 1e-6)
	near(t, "X(10)", u.At(10), 1000*10/(1+0.45+0.09), 1e-6)
	if u.Unidentified != "" {
		t.Errorf("exact points on both sides: got unidentified, %s", u.Unidentified)
	}
}

// Of noisy points the fit is that of least squares: any other near by has more.
func TestUSLIsOfLeastSquares(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(4, 4))
	for range 20 {
		x := scaled(sizes, 1000, 0.05, 0.001, 0.05, rng)
		u, err := FitUSL(sizes, x)
		if err != nil {
			t.Fatal(err)
		}
		g, s, k := u.Gain.Value, u.Contention.Value, u.Coherence.Value
		for _, off := range []float64{1 - 1e-3, 1 + 1e-3} {
			for _, other := range []USL{fitted(g*off, s, k), fitted(g, s*off, k), fitted(g, s, k*off)} {
				if other.squares(sizes, x) <= u.squares(sizes, x) {
					t.Errorf("%+v has squares of %v, the fit %+v of %v", other, other.squares(sizes, x), u, u.squares(sizes, x))
				}
			}
		}
	}
}

// 95 % intervals must hold the truth about that often.
func TestUSLIntervalsCover(t *testing.T) {
	t.Parallel()
	const g, s, k, fits = 1000, 0.05, 0.001, 1000
	rng := rand.New(rand.NewPCG(2, 2))
	var held [3]int
	for range fits {
		u, err := FitUSL(sizes, scaled(sizes, g, s, k, 0.02, rng))
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range []struct {
			Estimate
			want float64
		}{{u.Gain, g}, {u.Contention, s}, {u.Coherence, k}} {
			if e.Low <= e.want && e.want <= e.High {
				held[i]++
			}
		}
	}
	for i, n := range held {
		if ratio := float64(n) / fits; ratio < 0.92 || ratio > 0.98 {
			t.Errorf("the interval of parameter %d held the truth in %v of fits, want about 0.95", i, ratio)
		}
	}
}

func TestUSLUnidentified(t *testing.T) {
	t.Parallel()
	noise := func() *rand.Rand { return rand.New(rand.NewPCG(3, 3)) }
	rising := []float64{1, 2, 3, 4, 5, 6, 7, 8}
	for _, tt := range []struct {
		what string
		n, x []float64
		want string
	}{
		{"seed 004", []float64{256, 1024, 4096, 16384}, []float64{3.72e6, 3.67e6, 3.35e6, 2.80e6}, "4 points"},
		{"as many points as parameters", []float64{1, 2, 4}, []float64{10, 18, 30}, "3 points"},
		{"all below the peak", rising, scaled(rising, 1000, 0.05, 0.001, 0, noise()), "8 points below"},
		{"no peak, noise", sizes, scaled(sizes, 1000, 0.05, 0, 0.05, noise()), "interval of k"},
		{"a straight line", sizes, scaled(sizes, 1000, 0, 0, 0, noise()), ""}, // by rounding k is just above or just below 0
	} {
		u, err := FitUSL(tt.n, tt.x)
		if err != nil {
			t.Fatalf("%s: %v", tt.what, err)
		}
		if u.Unidentified == "" || !strings.Contains(u.Unidentified, tt.want) {
			t.Errorf("%s: got %q, want unidentified for %q", tt.what, u.Unidentified, tt.want)
		}
	}
}

// Six points are enough, with two of them on each side of the peak, which is at 30.8.
func TestUSLNeedsPointsOnBothSides(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n    []float64
		want string
	}{
		{[]float64{1, 2, 4, 8, 32, 64}, ""},
		{[]float64{8, 16, 32, 64, 96, 128}, ""},
		{[]float64{1, 2, 4, 8, 32}, "5 points, and 6 are needed"},
		{[]float64{1, 2, 4, 8, 16, 64}, "5 points below the peak at 30.8 and 1 above, and 2 of each are needed"},
		{[]float64{16, 32, 48, 64, 96, 128}, "1 points below the peak at 30.8 and 5 above, and 2 of each are needed"},
	} {
		u, err := FitUSL(c.n, scaled(c.n, 1000, 0.05, 0.001, 0, rand.New(rand.NewPCG(1, 1))))
		if err != nil || u.Unidentified != c.want {
			t.Errorf("%v: %q, %v; want %q", c.n, u.Unidentified, err, c.want)
		}
	}
}

func TestUSLRefuses(t *testing.T) {
	t.Parallel()
	for what, tt := range map[string]struct{ n, x []float64 }{
		"2 of them different": {[]float64{1, 2, 2, 1}, []float64{1, 2, 2, 1}},
		"2 throughputs at 3":  {[]float64{1, 2, 3}, []float64{1, 2}},
		"X(2) = 0":            {[]float64{1, 2, 3}, []float64{1, 0, 2}},
		"X(0)":                {[]float64{1, 0, 3}, []float64{1, 1, 2}},
		"X(+Inf)":             {[]float64{1, inf, 3}, []float64{1, 1, 2}},
		"X(2) = +Inf":         {[]float64{1, 2, 3}, []float64{1, inf, 2}},
		"X(NaN)":              {[]float64{1, nan, 3}, []float64{1, 1, 2}},
	} {
		if _, err := FitUSL(tt.n, tt.x); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("got error %v, want one about %s", err, what)
		}
	}
}

func TestStudentMeetsTheTables(t *testing.T) {
	t.Parallel()
	for free, want := range map[int]float64{1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 6: 2.447, 10: 2.228} {
		near(t, "t", student975(free), want, 5e-3)
	}
	near(t, "t of 30, where the series is nearly exact", student975(30), 2.0422725, 1.5e-6)
}
