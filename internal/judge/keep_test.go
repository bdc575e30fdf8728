package judge

import (
	"strings"
	"testing"

	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// The usual p99 is 5.1 ms, twice that for pool. Half of fasthttp's blocks are slow.
func TestKeep(t *testing.T) {
	t.Parallel()
	times := func(block int, arm string, u float64) float64 {
		if arm == "pool" || arm == "fasthttp" && block%2 == 0 {
			return 2 * usual(u)
		}
		return usual(u)
	}
	dir, run := synthetic{times: times}.write(t)
	slo, err := stats.ParseSLO("p99<=7ms,p95<=5ms,mean<=2ms,errors<=0.1%,goodput>=1100/s")
	if err != nil {
		t.Fatal(err)
	}
	got, err := Keep(dir, run, slo)
	if err != nil || len(got) != 3 {
		t.Fatalf("%d arms, error %v; want the three that are no copy", len(got), err)
	}
	for i, want := range []struct {
		arm    string
		kept   int
		answer record.Answer
		p99    float64
	}{{"nethttp", 12, record.Passed, 0.0051}, {"fasthttp", 6, record.Undecided, 0.0077}, {"pool", 0, record.Failed, 0.0102}} {
		k := got[i]
		if k.Arm != want.arm || k.Kept != want.kept || k.Answer != want.answer || k.Blocks != 12 {
			t.Errorf("got %+v, want %+v", k, want)
		}
		if p99 := k.Figures["p99"].Median; p99 < 0.95*want.p99 || p99 > 1.05*want.p99 {
			t.Errorf("%s: median p99 %g, want %g", k.Arm, p99, want.p99)
		}
	}
	if !strings.Contains(words(got[1].Reason), "kept in 6 of 12 blocks") {
		t.Errorf("the reason is %q", words(got[1].Reason))
	}
}

// A quantile that a window has too few requests for, and a run of too few blocks, decide
// nothing.
func TestKeepDecidesNothing(t *testing.T) {
	t.Parallel()
	for text, s := range map[string]synthetic{
		"p99.9<=1s": {},
		"p99<=1s":   {blocks: 9},
	} {
		slo, err := stats.ParseSLO(text)
		if err != nil {
			t.Fatal(err)
		}
		dir, run := s.write(t)
		got, err := Keep(dir, run, slo)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range got {
			if k.Answer.Decided() || words(k.Reason) == "" {
				t.Errorf("%s: got %+v, want it undecided with a reason", text, k)
			}
		}
	}
}
