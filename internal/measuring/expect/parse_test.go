package expect

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"schedlab/internal/shared/stats"
)

// One statement may ask for the x_max of so many arms, and not of more.
func TestMostProbes(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range mostProbes + 1 {
		many = append(many, fmt.Sprintf(`x_max("a%d")`, i))
	}
	for text, refused := range map[string]bool{
		strings.Join(many, " + ") + " > 1":                                 true,
		`p50("a0") > 0 || not (` + strings.Join(many, " + ") + " > 1)":     true,
		strings.Join(many[1:], " + ") + " > 1":                             false,
		strings.Join(many[1:], " > 1 && ") + " > 1 && " + many[0] + " > 1": false,
	} {
		_, err := Parse(text)
		if got := err != nil && strings.Contains(err.Error(), "x_max of 9 arms in one statement, and at most 8"); got != refused || err != nil && !refused {
			t.Errorf("%s: got %v, refused %v", text, err, refused)
		}
	}
}

// Whatever is written, every character of the rewritten text has its place in the first,
// and what is wrong with it is in it.
func FuzzRewrite(f *testing.F) {
	for _, text := range []string{`p50("nethttp") < 5ms`, `not (explained("queue") >= 0.8)`, "10msx", "'", "((", `"10ms" == '5s'`, "1ms <", `"ä`, "p50(\"a\\"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1000 {
			return
		}
		code, from := rewrite(text)
		if len(from) != len([]rune(code))+1 {
			t.Fatalf("%q: %d places for the %d characters of %q", text, len(from), len([]rune(code)), code)
		}
		err := checked(text, []string{"a"})
		var bad *Error
		if errors.As(err, &bad) && (bad.At < 0 || bad.At > len([]rune(text))) || err != nil && bad == nil {
			t.Fatalf("%q: the error %v is at %+v", text, err, bad)
		}
	})
}

// What an expectation asks for is what it calls and the metrics of its verdicts. A word in quotes, as the name of an arm or a
// phase, asks for nothing.
func TestWhatAnExpectationAsksFor(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		quantiles      []stats.Figure
		probes, counts bool
	}{
		`p99("a") < p50("b") && same("goodput")`:              {quantiles: []stats.Figure{stats.P50, stats.P99}},
		`not slower("p99", "new") or ratio("p99", "new") < 2`: {quantiles: []stats.Figure{stats.P99}},
		`mean("a") < 3ms`:                      {},
		`mean("p99") < 3ms`:                    {},
		`mean("x_max(") + mean("done(") < 3ms`: {},
		`mean("a") < 3ms and verdict("p90", "p50") == "x_max(p99)"`:   {quantiles: []stats.Figure{stats.P90}},
		`throughput("a") >= 0.9 * max(x_max("a"), x_max("b"))`:        {probes: true},
		`accepted("a") - (done ("a")) < 3`:                            {counts: true},
		`not (x_max("a") > 1/s) and max(open("a"), p90("a") / s) > 1`: {quantiles: []stats.Figure{stats.P90}, probes: true, counts: true},
	} {
		e, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		counts := e.AsksFor(stats.Accepted, stats.Done, stats.StillOpen)
		if got := e.Quantiles(); !slices.Equal(got, want.quantiles) || e.Probes() != want.probes || counts != want.counts {
			t.Errorf("%s: quantiles %v, probes %v, counts %v; want %v", text, got, e.Probes(), counts, want)
		}
	}
}

// Whoever keeps an expectation or a sentence writes its text as it was given.
func TestTextStaysAsItWasWritten(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`p99("a")<10ms   and not (same("p50"))`, `"ä" == 'ä'`} {
		var e Expectation
		if err := e.UnmarshalText([]byte(text)); err != nil || e.String() != text {
			t.Errorf("%s: got %q, %v", text, e, err)
		}
	}
	for _, text := range []string{``, `no figure`, `{mean("a")}`, `ä {  mean("a") / 2ms } times {p50("b")}.`} {
		var s Sentence
		if err := s.UnmarshalText([]byte(text)); err != nil || s.String() != text {
			t.Errorf("%s: got %q, %v", text, s, err)
		}
	}
}
