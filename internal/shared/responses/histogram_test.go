package responses

import (
	"math"
	"slices"
	"testing"
	"time"
)

func TestHistogramQuantiles(t *testing.T) {
	t.Parallel()
	even, odd := NewHistogram(), NewHistogram()
	for i := range 10_000 {
		h := even
		if i%2 == 1 {
			h = odd
		}
		h.Record(time.Duration(i+1) * time.Microsecond)
	}
	even.Merge(odd)
	if got := even.Count(); got != 10_000 {
		t.Errorf("merged count %d, want 10000", got)
	}
	for _, q := range []float64{0.01, 0.5, 0.9, 0.99, 0.999} {
		got, want := even.Quantile(q).Seconds(), q*10_000e-6
		if math.Abs(got/want-1) > 0.001 {
			t.Errorf("q%g = %g s, want %g s to three digits", q, got, want)
		}
	}
}

func TestHistogramEdges(t *testing.T) {
	t.Parallel()
	h := NewHistogram()
	if got := h.Quantile(0.5); got != 0 {
		t.Errorf("quantile of nothing = %v, want 0", got)
	}
	if got := h.Curve(); got != nil {
		t.Errorf("curve of nothing = %v, want nil", got)
	}
	h.Record(-time.Second)
	h.Record(time.Hour)
	if got := h.Quantile(0.01); got != 1 {
		t.Errorf("below the range: %v, want 1ns", got)
	}
	if got := h.Quantile(1); math.Abs(got.Seconds()-600) > 0.6 {
		t.Errorf("above the range: %v, want 600s", got)
	}
}

func TestCurveEndsWhereEvidenceEnds(t *testing.T) {
	t.Parallel()
	h := NewHistogram()
	for i := range 1000 {
		h.Record(time.Duration(i+1) * time.Millisecond)
	}
	curve := h.Curve()
	last := curve[len(curve)-1]
	if math.Abs(last.Quantile-0.99) > 1e-9 || math.Abs(last.Seconds-0.990) > 0.001 {
		t.Errorf("last point %+v, want p99 at 0.990 s: ten requests above it", last)
	}
	sorted := slices.IsSortedFunc(curve, func(a, b Point) int {
		if a.Quantile < b.Quantile && a.Seconds <= b.Seconds {
			return -1
		}
		return 1
	})
	if !sorted || curve[0].Quantile != 0 {
		t.Errorf("curve does not ascend from the least value: %v", curve)
	}
}

// The quantiles that people read are points of every curve that reaches them.
func TestCurveHasTheUsualQuantiles(t *testing.T) {
	t.Parallel()
	h := NewHistogram()
	for i := range 10_000 {
		h.Record(time.Duration(i+1) * time.Microsecond)
	}
	for _, q := range []float64{0, .5, .75, .9, .95, .99, .995, .999} {
		i := slices.IndexFunc(h.Curve(), func(p Point) bool { return math.Abs(p.Quantile-q) < 1e-9 })
		if i < 0 {
			t.Errorf("no point at %g", q)
			continue
		}
		if got, want := h.Curve()[i].Seconds, max(q*10_000e-6, 1e-6); math.Abs(got/want-1) > .001 {
			t.Errorf("%g s at %g, want %g", got, q, want)
		}
	}
}
