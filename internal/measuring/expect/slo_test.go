package expect

import (
	"testing"

	"schedlab/internal/shared/stats"
)

// An objective is an assertion on an arm where expectations know its quantiles. Records keep the text, and judge it like
// the assertion that was made.
func TestKeeps(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"p99<=10ms": `p99("a,b=1") <= 10ms`,
		"p50<=90s":  `p50("a,b=1") <= 90s`,
		"p50<=24h":  `p50("a,b=1") <= 86400s`,
		"p90<=1h0m0.000001s,p50<=100ns,p99<=999.999us": `p90("a,b=1") <= 3600.000001s and p50("a,b=1") <= 100ns and p99("a,b=1") <= 999.999us`,
		"mean<=1.5ms,errors<=0.1%,goodput>=290.5/s":    `mean("a,b=1") <= 1.5ms and errors("a,b=1") <= 0.001 and goodput("a,b=1") >= 290.5/s`,
		"goodput>=1500000,errors<=0.00001%":            `goodput("a,b=1") >= 1.5e+06/s and errors("a,b=1") <= 1e-07`,
		"p95<=10ms":                                    "expectations know p50, p90 and p99, and not p95; ask for one of these",
	} {
		slo, err := stats.ParseSLO(text)
		if err != nil {
			t.Fatal(err)
		}
		made, err := Keeps(slo, "a,b=1")
		if err != nil {
			if err.Error() != want {
				t.Errorf("%s: %v, want %s", text, err, want)
			}
			continue
		}
		read, err := Parse(made.String())
		if err != nil || made.String() != want || read.root.String() != made.root.String() {
			t.Errorf("%s: got %s, %v, a tree like that of %s; want %s", text, made, err, made.root, want)
		}
	}
}

// The claim of an arm that keeps an objective has its figures.
func TestSaysKept(t *testing.T) {
	t.Parallel()
	slo, err := stats.ParseSLO("p99<=10ms,errors<=1%")
	if err != nil {
		t.Fatal(err)
	}
	said := SaysKept(slo, "pool")
	if want := `pool keeps p99<=10ms,errors<=1% (p99 {p99("pool")}, errors {errors("pool")})`; said.String() != want {
		t.Errorf("got %s, want %s", said, want)
	}
	r := fake{blocks: 1, figures: map[string][]float64{"p99 pool": {.008}, "errors pool": {.5}}}
	if got, want := said.Say(r), "pool keeps p99<=10ms,errors<=1% (p99 8.00 ms, errors 0.5)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
