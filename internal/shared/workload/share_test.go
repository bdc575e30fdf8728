package workload

import (
	"math"
	"testing"
)

func TestWithShare(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from  string
		share float64
		want  string
	}{
		{"0.8*0s+0.2*10ms", 0.5, "0.5*0s+0.5*10ms"},
		{"10ms", 0.25, "0.75*0s+0.25*10ms"},
		{"10ms", 1, "10ms"},
		{"0.8*0s+0.2*10ms", 0, "0s"},
		{"0.5*0s+0.25*exp(1ms)+0.25*lognormal(2ms,4)", 0.1, "0.9*0s+0.05*exp(1ms)+0.05*lognormal(2ms,4)"},
	} {
		d, err := ParseDist(c.from)
		if err != nil {
			t.Fatal(err)
		}
		got, err := d.WithShare(c.share)
		if err != nil || got.String() != c.want {
			t.Errorf("%s with share %v: got %s, %v, want %s", c.from, c.share, got, err, c.want)
		}
		if _, err := ParseDist(got.String()); err != nil {
			t.Errorf("%s with share %v: %v", c.from, c.share, err)
		}
	}
}

func TestWithShareRefuses(t *testing.T) {
	t.Parallel()
	for _, share := range []float64{-0.1, 1.1, math.NaN()} {
		if got, err := (Dist{n: 1, terms: [maxTerms]term{{weight: 1, mean: 1}}}).WithShare(share); err == nil {
			t.Errorf("share %v: got %v, want an error", share, got)
		}
	}
	if got, err := (Dist{}).WithShare(0.5); err == nil {
		t.Errorf("of nothing: got %v, want an error", got)
	}
}
