package stats

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseSLO(t *testing.T) {
	t.Parallel()
	got, err := ParseSLO("p99 <= 10ms, p99.90<=1.5s,mean<=250us,errors<=0.1%,goodput>=500/s")
	want := SLO{
		{Metric: Measure{Quantile: 0.99}, Limit: 0.01},
		{Metric: Measure{Quantile: 0.999}, Limit: 1.5},
		{Metric: Measure{Figure: Mean}, Limit: 0.00025},
		{Metric: Measure{Figure: Errors}, Limit: 0.001},
		{Metric: Measure{Figure: Goodput}, Limit: 500, AtLeast: true},
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("terms (-want +got):\n%s", diff)
	}
	if got, want := got.String(), "p99<=10ms,p99.9<=1.5s,mean<=250µs,errors<=0.1%,goodput>=500/s"; got != want {
		t.Errorf("String is %q, want %q", got, want)
	}
	for _, same := range []string{"errors<=0", "errors<=0%", "errors<=0.00%"} {
		if slo, err := ParseSLO(same); err != nil || slo[0].Limit != 0 {
			t.Errorf("ParseSLO(%q) = %v, %v; want no errors allowed", same, slo, err)
		}
	}
}

// What an error says is what somebody needs to write the term right.
func TestParseSLOErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                   `parsing SLO term "": write a quantile (p50, p99, p99.9), mean or errors with <=, or goodput with >=, and a limit, as in "p99<=10ms"`,
		"p99=10ms":           `parsing SLO term "p99=10ms": write a quantile (p50, p99, p99.9), mean or errors with <=, or goodput with >=, and a limit, as in "p99<=10ms"`,
		"p99<10ms":           `parsing SLO term "p99<10ms": write a quantile (p50, p99, p99.9), mean or errors with <=, or goodput with >=, and a limit, as in "p99<=10ms"`,
		"p99>=10ms":          `parsing SLO term "p99>=10ms": write a quantile (p50, p99, p99.9), mean or errors with <=, or goodput with >=, and a limit, as in "p99<=10ms"`,
		"goodput<=5":         `parsing SLO term "goodput<=5": write a quantile (p50, p99, p99.9), mean or errors with <=, or goodput with >=, and a limit, as in "p99<=10ms"`,
		"p100<=1s":           `parsing SLO term "p100<=1s": "p100" is not a quantile: p and a percentage above 0 and below 100, as in p99 or p99.9`,
		"p-1<=1s":            `parsing SLO term "p-1<=1s": write a quantile (p50, p99, p99.9), mean or errors with <=, or goodput with >=, and a limit, as in "p99<=10ms"`,
		"p99<=10":            `parsing SLO term "p99<=10": "10" is not a time above 0 and at most 24h0m0s: use a number and a unit, as in 10ms or 1.5s`,
		"mean<=-1s":          `parsing SLO term "mean<=-1s": "-1s" is not a time above 0 and at most 24h0m0s: use a number and a unit, as in 10ms or 1.5s`,
		"mean<=25h":          `parsing SLO term "mean<=25h": "25h" is not a time above 0 and at most 24h0m0s: use a number and a unit, as in 10ms or 1.5s`,
		"errors<=2":          `parsing SLO term "errors<=2": "2" is not a share of requests: use a percentage from 0% to 100%, or a ratio from 0 to 1`,
		"errors<=NaN":        `parsing SLO term "errors<=NaN": "NaN" is not a share of requests: use a percentage from 0% to 100%, or a ratio from 0 to 1`,
		"goodput>=0":         `parsing SLO term "goodput>=0": "0" is not a rate: use a number above 0, as in 500/s`,
		"p99<=1s,p99.0<=2s":  `parsing SLO term "p99.0<=2s": p99 has a limit already; give each metric once`,
		"<=1s":               `parsing SLO term "<=1s": write a quantile (p50, p99, p99.9), mean or errors with <=, or goodput with >=, and a limit, as in "p99<=10ms"`,
		"latency<=1s":        `parsing SLO term "latency<=1s": write a quantile (p50, p99, p99.9), mean or errors with <=, or goodput with >=, and a limit, as in "p99<=10ms"`,
		"p99<=1s,":           `parsing SLO term "": write a quantile (p50, p99, p99.9), mean or errors with <=, or goodput with >=, and a limit, as in "p99<=10ms"`,
		"p99<=10ms errors<=": `parsing SLO term "p99<=10ms errors<=": "10ms errors<=" is not a time above 0 and at most 24h0m0s: use a number and a unit, as in 10ms or 1.5s`,
	} {
		if slo, err := ParseSLO(text); err == nil || err.Error() != want {
			t.Errorf("ParseSLO(%q) = %v\n got %v\nwant %s", text, slo, err, want)
		}
	}
}

func TestTermHolds(t *testing.T) {
	t.Parallel()
	most, least := Term{Metric: Measure{Quantile: .99}, Limit: 0.01}, Term{Metric: Measure{Figure: Goodput}, Limit: 500, AtLeast: true}
	for _, c := range []struct {
		term  Term
		value float64
		want  bool
	}{
		{most, 0.01, true}, {most, 0.0101, false}, {most, math.NaN(), false}, {most, math.Inf(1), false},
		{least, 500, true}, {least, 499, false}, {least, math.NaN(), false},
	} {
		if got := c.term.Holds(c.value); got != c.want {
			t.Errorf("%v holds for %g: %v, want %v", c.term, c.value, got, c.want)
		}
	}
}

// Whatever is accepted has limits in range and a text that means the same.
func FuzzParseSLO(f *testing.F) {
	for _, seed := range []string{"p99<=10ms,errors<=0.1%", "p99.9<=1.5s", "goodput>=500/s", "mean<=250us,errors<=0.07", "p0.1<=1ns"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		slo, err := ParseSLO(text)
		if err != nil {
			return
		}
		for _, term := range slo {
			if !(term.Limit >= 0) || math.IsInf(term.Limit, 0) || term.Metric.Quantile < 0 || term.Metric.Quantile >= 1 {
				t.Errorf("%q is read as %+v", text, term)
			}
		}
		again, err := ParseSLO(slo.String())
		if err != nil {
			t.Fatalf("%q is printed as %q: %v", text, slo, err)
		}
		if diff := cmp.Diff(slo, again); diff != "" {
			t.Errorf("%q is printed as %q (-before +after):\n%s", text, slo, diff)
		}
	})
}

// Limits at the ends of what may be written, and just beyond.
func TestParseSLOLimits(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{
		"mean<=24h": true, "mean<=24h0m0.000000001s": false, "mean<=1ns": true, "mean<=0s": false,
		"errors<=1": true, "errors<=100%": true, "errors<=1.01": false, "errors<=101%": false, "errors<=-1": false, "errors<=%": false,
		"goodput>=0.5": true, "goodput>=0/s": false, "goodput>=x": false,
		"p0<=1s": false, "p0.1<=1s": true, "p99.999999<=1s": true, "p99.9999999<=1s": false, "p100<=1s": false, "p101<=1s": false, "px<=1s": false,
		"<=1s": false,
	} {
		if _, err := ParseSLO(text); (err == nil) != ok {
			t.Errorf("%s: %v, want it read: %v", text, err, ok)
		}
	}
}

func TestTermText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"errors<=0%", "errors<=7%", "errors<=0.07%", "errors<=57%", "errors<=99.9%", "errors<=100%", "goodput>=0.5/s", "p99.9<=1.5s", "p0.1<=1ns", "mean<=250µs",
		"errors<=0.8113637279242871"} { // which no percentage is
		slo, err := ParseSLO(text)
		if err != nil || slo.String() != text {
			t.Errorf("%s is written %s, %v", text, slo, err)
		}
	}
}

// As many requests that 10 are expected beyond a quantile, and one error.
func TestTermRequests(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"p50<=1s": 20, "p99<=1s": 1000, "errors<=0.1%": 1000, "errors<=0.3%": 334, "errors<=10%": 10, "errors<=0.07": 15, "errors<=0": 1, "mean<=1s": 1, "goodput>=5": 1,
	} {
		slo, err := ParseSLO(text)
		if err != nil || slo[0].Requests() != want {
			t.Errorf("%s needs %d requests, %v; want %d", text, slo[0].Requests(), err, want)
		}
	}
}

func TestTermsOfTime(t *testing.T) {
	t.Parallel()
	slo, err := ParseSLO("mean<=2ms,p99<=10ms,errors<=0.1%,goodput>=500/s")
	if err != nil {
		t.Fatal(err)
	}
	for i, timed := range []bool{true, true, false, false} {
		if slo[i].Timed() != timed {
			t.Errorf("%v promises a time: %v", slo[i], !timed)
		}
	}
	if g, alone := slo.Goodput(), slo[3:].Goodput(); g != slo[3] || alone != slo[3] {
		t.Errorf("the goodput term is %v, and %v alone", g, alone)
	}
	if none := slo[:3].Goodput(); none != (Term{}) {
		t.Errorf("a goodput term of %v", none)
	}
}

// What a term is about is its text in JSON, of every quantile.
func TestMeasureAsText(t *testing.T) {
	t.Parallel()
	for text, m := range map[string]Measure{
		"p99": {Quantile: .99}, "p99.9": {Quantile: .999}, "p7": {Quantile: .07}, "mean": {Figure: Mean}, "errors": {Figure: Errors}, "goodput": {Figure: Goodput}, "": {},
	} {
		var back Measure
		if err := back.UnmarshalText([]byte(text)); err != nil || back != m || m.String() != text {
			t.Errorf("%+v is %q, which reads as %+v, %v; want %q", m, m, back, err, text)
		}
	}
	text, err := json.Marshal(map[Measure]float64{{Figure: Errors}: 0, {Quantile: .99}: .5})
	if want := `{"errors":0,"p99":0.5}`; err != nil || string(text) != want {
		t.Errorf("got %s, %v; want %s", text, err, want)
	}
}

// An objective is about the figures of trials; a quantile that trials do not have is none of them.
func TestFiguresOfAnObjective(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]Figure{
		"p99<=10ms,errors<=0.1%,p50<=2ms": {P50, P99, Errors},
		"p99.9<=10ms":                     nil,
	} {
		slo, err := ParseSLO(text)
		if got := slo.Figures(); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v; want %v", text, got, err, want)
		}
	}
}
