package expect

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/expr-lang/expr/ast"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// A fake is a run of made-up figures: by "metric arm", one for each block.
type fake struct {
	blocks   int
	figures  map[string][]float64
	phases   map[string]float64 // by "phase arm"; an arm's Spent is their sum
	xmax     map[string]float64
	verdicts map[string]record.Verdict // by "metric arm"
	pairs    [][2]string
}

var errUnknown = fact.Fact{Code: noChallenger.Code}

func (f fake) Rate() float64   { return 100 }
func (f fake) Window() float64 { return 2 }
func (f fake) Blocks() int     { return f.blocks }
func (f fake) Figure(block int, figure stats.Figure, arm, _ string) (float64, error) {
	if v := f.figures[figure.String()+" "+arm]; block < len(v) {
		return v[block], nil
	}
	return 0, errUnknown
}
func (f fake) Ratio(block int, v record.Verdict) float64 { return float64(block) + v.Ratio }
func (f fake) Phase(_ int, arm, name string) (float64, error) {
	if v, ok := f.phases[name+" "+arm]; ok {
		return v, nil
	}
	return 0, errUnknown
}
func (f fake) Spent(_ int, arm string) (sum float64) {
	for name, v := range f.phases {
		if strings.HasSuffix(name, " "+arm) {
			sum += v
		}
	}
	return sum
}
func (f fake) XMax(arm string) (float64, error) {
	if v, ok := f.xmax[arm]; ok {
		return v, nil
	}
	return 0, errors.New("no probe")
}
func (f fake) Verdict(metric stats.Figure, arm string) (record.Verdict, error) {
	if v, ok := f.verdicts[metric.String()+" "+arm]; ok {
		return v, nil
	}
	return record.Verdict{}, errUnknown
}
func (f fake) Challengers() [][2]string { return f.pairs }

func finding(t *testing.T, r Run, text string) Finding {
	t.Helper()
	e, err := Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return e.Decide(r, e.Statements())
}

// leftOf is the left side of a comparison.
func leftOf(e Expectation) ast.Node { return e.root.(*ast.BinaryNode).Left }

// A statement is decided at the first look at which enough blocks are on one side, with the
// error shared by all statements of the expectation.
func TestDecideIsTheSequentialSignTest(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(2, 7))
	for range 100 {
		r, share := fake{blocks: 1 + rng.IntN(45), figures: map[string][]float64{}}, rng.Float64()
		var yes []bool
		for range r.blocks {
			yes = append(yes, rng.Float64() < share)
			r.figures["p50 a"] = append(r.figures["p50 a"], map[bool]float64{true: 1, false: 3}[yes[len(yes)-1]])
		}
		for text, statements := range map[string]float64{
			`p50("a") < 2`:                               1,
			`p50("a") < 2 and rate == 100`:               2,
			`p50("a") < 2 and rate == 100 and window==2`: 3,
		} {
			alpha, want, looked, untrue := stats.Alpha/statements, outcome.Open, false, 0
			for i, is := range yes {
				untrue += stats.Count(!is)
				k := stats.LookRank(i+1, alpha)
				looked = looked || k > 0
				if k > 0 && want == outcome.Open {
					if untrue < k {
						want = outcome.Yes
					} else if i+1-untrue < k {
						want = outcome.No
					}
				}
			}
			got := finding(t, r, text)
			if got.Outcome != want {
				t.Fatalf("%s, true in %v: %v, want %v", text, yes, got.Outcome, want)
			}
			if statements > 1 {
				continue
			}
			reason := got.Reason
			if want == outcome.Open && looked {
				if reason.Code != borderOpen.Code {
					t.Fatalf("%s, true in %v: %+v, want the border open", text, yes, reason)
				}
				reason = reason.Because[0]
			}
			few, isFew := fact.In(tooFewBlocks, reason)
			of, isTally := fact.In(tally, reason)
			if !looked && (!isFew || few.Blocks != r.blocks) || looked && (!isTally || of.Yes != r.blocks-untrue || of.Blocks != r.blocks) {
				t.Fatalf("%s, true in %v: %+v, want the count of true blocks", text, yes, reason)
			}
			denied := finding(t, r, "not ("+text+")")
			if want == outcome.Yes && denied.Outcome != outcome.No || want == outcome.No && denied.Outcome != outcome.Yes || want == outcome.Open && denied.Outcome != want {
				t.Fatalf("not %s, true in %v: %v, the contrary is %v", text, yes, denied.Outcome, want)
			}
			if of, _ := fact.In(tally, denied.Reason); looked && want != outcome.Open && of.Yes != untrue {
				t.Fatalf("not %s, true in %v: %+v, want the count of untrue blocks", text, yes, denied.Reason)
			}
		}
	}
}

// Blocks below a band and blocks above it do not add up to a side: the larger decides.
func TestDecideABand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		low, inside, high int
		want              outcome.Outcome
	}{
		{0, 10, 0, outcome.Yes},
		{1, 8, 1, outcome.Open}, // one is as many as the rank of the first look
		{10, 0, 0, outcome.No},
		{0, 0, 10, outcome.No},
		{5, 0, 5, outcome.Open},
	} {
		values := slices.Concat(slices.Repeat([]float64{1}, c.low), slices.Repeat([]float64{2}, c.inside), slices.Repeat([]float64{3}, c.high))
		r := fake{blocks: len(values), figures: map[string][]float64{"p50 a": values}}
		got := finding(t, r, `within(p50("a"), 2, 0.1)`)
		if got.Outcome != c.want {
			t.Errorf("%+v: %v", c, got.Outcome)
		}
		reason := got.Reason
		if len(reason.Because) > 0 {
			reason = reason.Because[0]
		}
		want := Tally{Blocks: r.blocks, Yes: c.inside, Outside: c.low + c.high, Sides: sides(reason)}
		if want.Outside > 0 { // else it does not say how many are outside
			want.Below, want.Above = &c.low, &c.high
		}
		told, voted := TallyOf(got.Reason)
		if !voted {
			t.Errorf("%+v: no tally", c)
		}
		if diff := cmp.Diff(want, told); diff != "" {
			t.Errorf("%+v: (-want +got)\n%s", c, diff)
		}
		denied := finding(t, r, `not within(p50("a"), 2, 0.1)`).Reason
		if len(denied.Because) > 0 {
			denied = denied.Because[0]
		}
		yes := c.inside // of a band it is told what is outside, and of none outside that the contrary is never true
		if c.low+c.high == 0 {
			yes = 0
		}
		if contrary, _ := fact.In(tally, denied); contrary.Yes != yes || contrary.Outside != told.Outside {
			t.Errorf("%+v: its contrary has the tally %+v", c, contrary)
		}
	}
	for _, c := range []struct {
		value, target, share float64
		want                 int
	}{{2, 2, 0, 0}, {2.5, 2, .25, 0}, {1.5, 2, .25, 0}, {2.51, 2, .25, 1}, {1.49, 2, .25, -1}, {-2.5, -2, .25, 0}, {-2.6, -2, .25, -1}, {-1.4, -2, .25, 1}} {
		if got := side(c.value, c.target, c.share); got != c.want {
			t.Errorf("%v is on side %d of %v ± %v, want %d", c.value, got, c.target, c.share, c.want)
		}
	}
}

// And, or and not are Kleene's: what is not known matters only where it could.
func TestDecideJoins(t *testing.T) {
	t.Parallel()
	r := fake{blocks: 12}
	const yes, no, open = "1 < 2", "2 < 1", `p50("absent") < 1`
	value := map[string]int{yes: 1, open: 0, no: -1}
	answer := map[int]outcome.Outcome{1: outcome.Yes, 0: outcome.Refused, -1: outcome.No}
	for a, x := range value {
		for b, y := range value {
			for text, want := range map[string]int{
				a + " and " + b:                min(x, y),
				a + " && " + b:                 min(x, y),
				a + " or " + b:                 max(x, y),
				a + " || " + b:                 max(x, y),
				"not (" + a + " or " + b + ")": -max(x, y),
				"!(" + a + ") && " + b:         min(-x, y),
				"!(" + a + " or " + b + ")":    -max(x, y),
			} {
				if got := finding(t, r, text); got.Outcome != answer[want] {
					t.Errorf("%s: %v, want %v", text, got.Outcome, answer[want])
				}
			}
		}
	}
	for text, want := range map[string]int{yes + " and " + yes: 2, no + " or " + no: 2, yes + " or " + no: 0, no + " and " + yes: 0} {
		got := finding(t, r, text)
		if got.Reason.Code == bothFact.Code != (want == 2) || len(got.Reason.Because) != want {
			t.Errorf("%s: reason %+v, want that of both: %v", text, got.Reason, want == 2)
		}
	}
	// Each open part is open by its own blocks, and the fewest count; a reason that both have is said once.
	half := func(below int) []float64 {
		return slices.Concat(slices.Repeat([]float64{1}, below), slices.Repeat([]float64{3}, 12-below))
	}
	r.figures = map[string][]float64{"p50 a": half(7), "p50 b": half(5)}
	got := finding(t, r, `p50("a") < 2 && p50("b") < 2`)
	if least, _ := TallyOf(got.Reason); got.Outcome != outcome.Open || len(got.Reason.Because) != 2 || least.Yes != 5 {
		t.Errorf("two open parts: %s, %+v, in %d blocks", got.Outcome, got.Reason, least.Yes)
	}
	r.blocks, r.figures = 3, map[string][]float64{"p50 a": half(7)[:3], "p50 b": half(5)[:3]}
	if got := finding(t, r, `p50("a") < 2 && p50("b") < 2`); got.Reason.Code != tooFewBlocks.Code {
		t.Errorf("three blocks: %+v, want once that they are too few", got.Reason)
	}
}

// X_max is one figure an arm, and may be off by a tenth either way, of each arm on its own.
func TestDecideWithinTheDoubtOfAProbe(t *testing.T) {
	t.Parallel()
	r := fake{blocks: 12, xmax: map[string]float64{"a": 1000, "b": 800, "c": 830}}
	for text, want := range map[string]outcome.Outcome{
		`x_max("a") > 899`:                        outcome.Yes,
		`x_max("a") > 901`:                        outcome.Open,
		`x_max("a") > 1099`:                       outcome.Open,
		`x_max("a") > 1101`:                       outcome.No,
		`x_max("a") > x_max("b")`:                 outcome.Yes,
		`x_max("b") < x_max("a")`:                 outcome.Yes,
		`x_max("a") > x_max("c")`:                 outcome.Open,
		`x_max("c") < x_max("a")`:                 outcome.Open,
		`x_max("a") > 0.9 * x_max("a")`:           outcome.Yes, // off by the same
		`x_max("absent") > 1`:                     outcome.Refused,
		`x_max("a") > 901 && x_max("absent") > 1`: outcome.Refused, // open and refused
		`x_max("a") + x_max("b") > 1619`:          outcome.Yes,     // 1620 to 1980
		`x_max("a") > 899 && x_max("b") > 719`:    outcome.Yes,
	} {
		if got := finding(t, r, text); got.Outcome != want {
			t.Errorf("%s: %v, want %v", text, got.Outcome, want)
		}
	}
	// Where one block is in doubt, and one must not be against it, nothing is decided.
	r.blocks, r.figures = 10, map[string][]float64{"p50 a": slices.Concat([]float64{901}, slices.Repeat([]float64{899}, 9))}
	if got := finding(t, r, `x_max("a") > p50("a")`); got.Outcome != outcome.Open || got.Reason.Code != oneProbe.Code {
		t.Errorf("one block of ten in doubt: %v %+v", got.Outcome, got.Reason)
	}
	if got := finding(t, r, `x_max("a") > 901`); got.Reason.Code != oneProbe.Code {
		t.Errorf("the reason is %+v, want that there is one probe", got.Reason)
	}
	if got := finding(t, r, `x_max("absent") > 1`); got.Reason.Code != Unreadable.Code {
		t.Errorf("the reason is %+v, want the run's own", got.Reason)
	}
}

// A verdict passes; without it a statement fails where the whole interval is on the other
// side, and is open where it is not.
func TestDecideVerdicts(t *testing.T) {
	t.Parallel()
	v := func(verdict string, low, high float64) record.Verdict {
		return record.Verdict{Arm: "b", Metric: stats.P99, Verdict: decision(verdict), Low: low, High: high, Ratio: 7}
	}
	const off = 1e-6
	for _, c := range []struct {
		verdict record.Verdict
		text    string
		want    outcome.Outcome
		code    fact.Code // of the reason, "" for any
	}{
		{v("FASTER", .5, .6), `faster("p99", "b")`, outcome.Yes, ""},
		{v("FASTER", .5, .6), `slower("p99", "b")`, outcome.No, ""},
		{v("SLOWER", 2, 3), `slower("p99", "b")`, outcome.Yes, ""},
		{v("SLOWER", 2, 3), `faster("p99", "b")`, outcome.No, ""},
		{v("open", .9, 1.05-off), `slower("p99", "b")`, outcome.No, ""}, // short of an effect of 5 %
		{v("open", .9, 1.05+off), `slower("p99", "b")`, outcome.Open, intervalOpen.Code},
		{v("open", 1/1.05+off, 1.2), `faster("p99", "b")`, outcome.No, ""},
		{v("open", 1/1.05-off, 1.2), `faster("p99", "b")`, outcome.Open, intervalOpen.Code},
		{v("open", 0, 0), `faster("p99", "b")`, outcome.Open, noInterval.Code},
		{v("HIGHER", 1.1, 1.2), `faster("goodput", "b")`, outcome.Yes, ""},
		{v("LOWER", .8, .9), `faster("goodput", "b")`, outcome.No, ""},
		{v("LOWER", .8, .9), `slower("goodput", "b")`, outcome.Yes, ""},
		{v("open", .99, 1.02-off), `faster("goodput", "b")`, outcome.No, ""},
		{v("open", .99, 1.02+off), `faster("goodput", "b")`, outcome.Open, intervalOpen.Code},
		{v("open", 1/1.02+off, 1.2), `slower("goodput", "b")`, outcome.No, ""},
		{v("open", 1/1.02-off, 1.2), `slower("goodput", "b")`, outcome.Open, intervalOpen.Code},
		{v("SAME", 1/1.1, 1.1), `same("p99")`, outcome.Yes, ""},
		{v("open", 1/1.1-off, 1.1), `same("p99")`, outcome.Open, neitherSide.Code},
		{v("open", 1/1.1, 1.1+off), `same("p99")`, outcome.Open, neitherSide.Code},
		{v("SLOWER", 1.1+off, 1.3), `same("p99")`, outcome.No, ""},
		{v("FASTER", .8, 1/1.1-off), `same("p99")`, outcome.No, ""},
		{v("open", 0, 0), `same("p99")`, outcome.Open, noInterval.Code},
		{v("SAME", .99, 1.01), `verdict("p99", "b") == "SAME"`, outcome.Yes, ""},
		{v("SAME", .99, 1.01), `verdict("p99", "b") == "SLOWER"`, outcome.No, ""},
		{v("open", .9, 1.2), `verdict("p99", "b") == "SAME"`, outcome.Open, verdictOpen.Code},
		{v("SAME", .9, 1.2), `interval("p99", "b") == [0.9, 1.2]`, outcome.Yes, ""},
		{v("open", 0, 0), `interval("p99", "b")[0] < 1`, outcome.Open, noInterval.Code},
		{v("SAME", .9, 1.2), `ratio("p99", "b") >= 7`, outcome.Yes, ""},
		{v("SAME", .9, 1.2), `ratio("p99", "c") >= 7`, outcome.Refused, noChallenger.Code},
		{v("SAME", .9, 1.2), `faster("p99", "c")`, outcome.Refused, noChallenger.Code},
		{v("SAME", .9, 1.2), `interval("p99", "c")[0] > 0`, outcome.Refused, noChallenger.Code},
	} {
		r := fake{blocks: 12, verdicts: map[string]record.Verdict{"p99 b": c.verdict, "goodput b": c.verdict}, pairs: [][2]string{{"b", "a"}}}
		got := finding(t, r, c.text)
		if got.Outcome != c.want || c.code != "" && got.Reason.Code != c.code {
			t.Errorf("%s of %s %v to %v: %v %+v, want %v %s", c.text, c.verdict.Verdict, c.verdict.Low, c.verdict.High, got.Outcome, got.Reason, c.want, c.code)
		}
		if got.Outcome == outcome.Open && c.code != noChallenger.Code && !tellsInterval(got.Reason, c.verdict) {
			t.Errorf("%s: the reason %+v does not tell the interval", c.text, got.Reason)
		}
	}
	// One challenger that differs is enough to fail, one that is not known to leave it open.
	r := fake{blocks: 12, pairs: [][2]string{{"b", "a"}, {"c", "a"}}, verdicts: map[string]record.Verdict{"p99 c": v("SAME", .99, 1.01)}}
	if got := finding(t, r, `same("p99")`); got.Outcome != outcome.Refused {
		t.Errorf("a challenger is unknown: %v", got.Outcome)
	}
	r.verdicts["p99 c"] = v("SLOWER", 2, 3)
	if got := finding(t, r, `same("p99")`); got.Outcome != outcome.No {
		t.Errorf("a challenger is unknown, another slower: %v", got.Outcome)
	}
}

// explained is the part of the difference of mean response time that a phase makes up.
func TestDecideExplained(t *testing.T) {
	t.Parallel()
	r := fake{blocks: 12, pairs: [][2]string{{"b", "a"}, {"c", "a"}, {"d", "a"}, {"f", "e"}}, phases: map[string]float64{
		"queue e": 0, "queue f": 20e-6, // as little as can be explained
		"queue a": .001, "service a": .002,
		"queue b": .004, "service b": .003, // 4 ms more, 3 of them in the queue
		"queue c": .001, "service c": .001, // 1 ms less, none of it in the queue
		"queue d": .001, "service d": .00201, // 10 us more
	}}
	for text, want := range map[string]outcome.Outcome{
		`abs(explained("queue", "b") - 0.75) < 1e-9`:         outcome.Yes,
		`abs(explained("service", "b") - 0.25) < 1e-9`:       outcome.Yes,
		`abs(explained("service", "c") - 1) < 1e-9`:          outcome.Yes,
		`abs(explained("service", "b", "c") - 0.25) < 1e-9`:  outcome.Yes, // the least
		`abs(explained("queue", "b", "c")) < 1e-9`:           outcome.Yes,
		`explained("queue", "f") == 1`:                       outcome.Yes,
		`explained("queue", "d") > 0`:                        outcome.Refused,
		`explained("queue") > 0`:                             outcome.Refused, // d among them
		`explained("queue", "absent") > 0`:                   outcome.Refused,
		`explained("parse", "b") > 0`:                        outcome.Refused,
		`abs(phase("b", "queue") - 4ms) < 1ns`:               outcome.Yes,
		`abs(phase("b", "queue") - phase("a", "queue")) > 1`: outcome.No,
	} {
		if got := finding(t, r, text); got.Outcome != want {
			t.Errorf("%s: %v %+v, want %v", text, got.Outcome, got.Reason, want)
		}
	}
	for text, code := range map[string]fact.Code{`explained("queue", "d") > 0`: nothingExplain.Code, `explained("queue", "absent") > 0`: noChallenger.Code} {
		if got := finding(t, r, text); got.Reason.Code != code {
			t.Errorf("%s: %+v, want %s", text, got.Reason, code)
		}
	}
	r.pairs = r.pairs[:2]
	if got := finding(t, r, `abs(explained("service") - 0.25) < 1e-9`); got.Outcome != outcome.Yes {
		t.Errorf("the least over all challengers: %v %+v", got.Outcome, got.Reason)
	}
}

// A reason tells both sides of a comparison, in milliseconds where one of them is a time.
func TestReasonTellsBothSides(t *testing.T) {
	t.Parallel()
	r := fake{blocks: 12, xmax: map[string]float64{"a": 1000}, figures: map[string][]float64{
		"p50 a": slices.Repeat([]float64{.00119}, 12), "p50 short": {1}, "switches a": slices.Repeat([]float64{999.4}, 12),
	}, verdicts: map[string]record.Verdict{"p99 b": {Verdict: decision("SAME"), Low: .9, High: 1.1}}, pairs: [][2]string{{"b", "a"}}}
	for text, want := range map[string]string{
		`p50("a") < 5ms`:                      "1.19 ms < 5 ms",
		`p50("a") > 1`:                        "1.19 ms > 1000 ms",
		`12345.6ms >= p50("a")`:               "12346 ms >= 1.19 ms",
		`p50("a") <= 0`:                       "1.19 ms <= 0 ms",
		`not (p50("a") != 2ms)`:               "1.19 ms against 2 ms", // an operator would say what is denied
		`not not (p50("a") != 2ms)`:           "1.19 ms != 2 ms",
		`switches("a") == 1000`:               "999 == 1000", // three digits, and beyond a thousand whole
		`-switches("a") * 2 < 12345`:          "-1999 < 12345",
		`within(rate, 200, 0.1)`:              "100 against 200",
		`not within(rate, 200, 0.1)`:          "100 against 200",
		`x_max("a") > 901`:                    "1000 > 901",
		`verdict("p99", "b") == "SAME"`:       "", // no numbers
		`same("p99")`:                         "",
		`p50("short") < 1 or p50("a") < 10ms`: "1.19 ms < 10 ms",
	} {
		if got := sides(finding(t, r, text).Reason); got != want {
			t.Errorf("%s: the sides are %q, want %q", text, got, want)
		}
	}
}

func TestLooked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		blocks int
		alpha  float64
		want   bool
	}{{9, .05, false}, {10, .05, true}, {11, .05 / 9, false}, {12, .05 / 9, true}, {1000, 1e-12, false}} {
		if got := looked(c.blocks, c.alpha); got != c.want {
			t.Errorf("%d blocks at %v: %v, want %v", c.blocks, c.alpha, got, c.want)
		}
	}
}

// A number is a time when its seconds say so.
func TestPowerOfSeconds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		`p50("a")`: 1, `2 * p50("a")`: 1, `p50("a") * 2`: 1, `10ms`: 1, `-p50("a")`: 1, `p50("a") + 1`: 1, `1 + p50("a")`: 1, `max(1, p50("a"))`: 1,
		`rate`: -1, `goodput("a")`: -1, `100 / s`: -1, `1 / p50("a")`: -1,
		`rate * window`: 0, `p50("a") / p99("a")`: 0, `7`: 0, `errors("a")`: 0, `p50("a") * rate / 1`: 0, `abs(errors("a"))`: 0,
		`window * window`: 2, `rate / window`: -2,
	} {
		e, err := Parse(text + " > 0")
		if err != nil {
			t.Fatal(err)
		}
		if got := power(leftOf(e)); got != want {
			t.Errorf("%s: the power of seconds is %d, want %d", text, got, want)
		}
	}
}

// An error is where the wrong name is, also behind quantities, which are rewritten.
func TestParseSaysWhere(t *testing.T) {
	t.Parallel()
	arms := []string{"a", "b"}
	for _, before := range []string{"", "1ms < 2ms and ", `p50("a") < 10.5ms && 'ä10s' == "10s" && `} {
		for wrong, want := range map[string]string{
			`p50("x") > 1`: `"x"`, `same("p51")`: `"p51"`, `slower("p50", "x")`: `"x"`, `ratio("x", "a") > 1`: `"x"`,
			`interval("p50", "x")[0] > 1`: `"x"`, `verdict("x", "a") == "SAME"`: `"x"`, `faster("x", "a")`: `"x"`,
			`explained("x") > 1`: `"x"`, `explained("queue", "x") > 1`: `"x"`, `explained("queue", "a", "b", "x") > 1`: `"x"`, `phase("x", "queue") > 1`: `"x"`, `phase("a", "x") > 1`: `"x"`,
			`predicted("x", "mean") > 1`: `"x"`, `nonsense > 1`: `nonsense`,
		} {
			text := before + wrong
			err := checked(text, arms)
			var bad *Error
			if !errors.As(err, &bad) {
				t.Errorf("%s: %v, want an error", text, err)
				continue
			}
			if at := len([]rune(text[:strings.LastIndex(text, want)])); bad.At != at {
				t.Errorf("%s: the error %q is at %d, want %d", text, bad, bad.At, at)
			}
		}
		if err := checked(before+`phase("a", "queue") > 1`, arms); err != nil {
			t.Error(err)
		}
	}
	// An end that comes too soon is told at the last character.
	for text, at := range map[string]int{"": 0, "1ms <": 4, "(1": 1} {
		var bad *Error
		if err := checked(text, arms); !errors.As(err, &bad) || bad.At != at {
			t.Errorf("%q: %+v, want an error at %d", text, bad, at)
		}
	}
	if _, err := Parse(`p50("anything") > 1`); err != nil {
		t.Errorf("before the arms are checked: %v", err)
	}
}

// checked returns the error of an assertion, or of the arms that it names.
func checked(text string, arms []string) error {
	e, err := Parse(text)
	if err != nil {
		return err
	}
	return e.CheckArms(arms)
}

func TestRewrite(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"10ms": "(10*ms)", "1.5s<2us": "(1.5*s)<(2*us)", "250/s": "250/s", "10 ms": "10 ms", "10msx": "10msx",
		`"10ms"`: `"10ms"`, `'1s' 1s`: `'1s' (1*s)`, "`1s`1s": "`1s`(1*s)", `"'"1s`: `"'"(1*s)`, // a quote within others
		"p50 < 5ns": "p50 < (5*ns)", "z9s": "z9s", "Z9s": "Z9s", "_9s": "_9s", "A9s": "A9s", "a0s 0s": "a0s (0*s)", "a99s": "a99s",
	} {
		if got, _ := rewrite(text); got != want {
			t.Errorf("%s is rewritten to %s, want %s", text, got, want)
		}
	}
}

func TestMedianOfAStatement(t *testing.T) {
	t.Parallel()
	r := fake{blocks: 3, figures: map[string][]float64{"p50 a": {3, 1, 2}, "p50 short": {1}}}
	for text, want := range map[string]float64{`p50("a") > 0`: 2, `2 * p50("a") > 0`: 4, `p50("short") > 0`: math.NaN()} {
		e, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := median(r, leftOf(e)); ok != !math.IsNaN(want) || ok && got != want {
			t.Errorf("%s: the median is %v, %v; want %v", text, got, ok, want)
		}
	}
}

// Ten expectations lie exactly on their border. At most one run in twenty decides any of them.
func TestExpectationsShareTheError(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 23))
	var all []Expectation
	statements := 0
	for arm := range strings.FieldsSeq("a b c d e f g h i j") {
		e, err := Parse(`p50("` + arm + `") < 1s`)
		if err != nil {
			t.Fatal(err)
		}
		all, statements = append(all, e), statements+e.Statements()
	}
	const runs = 300
	wrong := 0
	for range runs {
		r := fake{blocks: 40, figures: map[string][]float64{}}
		for arm := range strings.FieldsSeq("a b c d e f g h i j") {
			for range r.blocks {
				r.figures["p50 "+arm] = append(r.figures["p50 "+arm], math.Exp(rng.NormFloat64()))
			}
		}
		wrong += stats.Count(slices.ContainsFunc(all, func(e Expectation) bool { return e.Decide(r, statements).Outcome != outcome.Open }))
	}
	if share := float64(wrong) / runs; share > .05 {
		t.Errorf("%.1f %% of runs decide what cannot be decided, want at most 5 %%", 100*share)
	}
}

// A statement about verdicts costs no error and waits for no look: the verdict has.
func TestStatementsOfVerdicts(t *testing.T) {
	t.Parallel()
	r := fake{blocks: 12, verdicts: map[string]record.Verdict{
		"p50 b": {Metric: stats.P50, Arm: "b", Verdict: decision("SLOWER"), Ratio: 1.3, Low: 1.2, High: 1.4},
		"p99 b": {Metric: stats.P99, Arm: "b", Verdict: decision("open"), Ratio: 1.1, Low: .9, High: 1.4},
	}}
	for text, want := range map[string]struct {
		outcome    outcome.Outcome
		statements int
	}{
		`slower("p50", "b")`:                                {outcome.Yes, 0},
		`not slower("p50", "b")`:                            {outcome.No, 0},
		`slower("p99", "b")`:                                {outcome.Open, 0},
		`not (slower("p50", "b") or slower("p99", "b"))`:    {outcome.No, 0},
		`verdict("p50", "b") == "SAME"`:                     {outcome.No, 0},
		`slower("p50", "b") and rate == 100`:                {outcome.Yes, 1},
		`interval("p50", "b")[0] > ratio("p50", "b") - 100`: {outcome.Yes, 1},
	} {
		e, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Decide(r, 1000); e.Statements() != want.statements || got.Outcome != want.outcome && want.statements == 0 {
			t.Errorf("%s: %v of %d statements, want %v of %d", text, got.Outcome, e.Statements(), want.outcome, want.statements)
		}
		if got := e.Decide(r, 1); got.Outcome != want.outcome {
			t.Errorf("%s: %v, want %v", text, got.Outcome, want.outcome)
		}
	}
}

// decision returns the decision with this text: a rank, open or refused.
func decision(text string) (d stats.Decision) {
	if err := d.UnmarshalText([]byte(text)); err != nil {
		panic(err)
	}
	return d
}

// sides returns the two sides of a statement in the median that a reason tells; "" if it tells none.
func sides(reason fact.Fact) string {
	of, _ := fact.In(tally, reason)
	by, _ := fact.In(oneProbe, reason)
	return of.Sides + by.Sides
}

// tellsInterval reports whether a reason tells the interval of a verdict.
func tellsInterval(reason fact.Fact, v record.Verdict) bool {
	for _, kind := range []*fact.Kind[interval]{verdictOpen, noInterval, intervalOpen} {
		if of, is := fact.In(kind, reason); is {
			return of == intervalOf(v)
		}
	}
	of, is := fact.In(neitherSide, reason)
	return is && of.interval == intervalOf(v)
}
