package judge

import (
	"maps"
	"strings"
	"testing"

	"schedlab/internal/measuring/expect"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
)

// asserted judges assertions on a run.
func asserted(t *testing.T, s synthetic, texts ...string) map[string]record.Expectation {
	t.Helper()
	run := s.run()
	run.Plan.Expect = texts
	j, err := New("run", "dir", run, Winner{})
	if err != nil {
		t.Fatal(err)
	}
	for trial := range s.trials() {
		j.Take(trial, nil)
	}
	got := map[string]record.Expectation{}
	for _, e := range j.judge().result.Expectations {
		got[e.Text] = e
	}
	return got
}

// Of the usual times p50 is 1.2 ms and p99 5.1 ms; fasthttp takes half of them.
func TestExpectations(t *testing.T) {
	t.Parallel()
	half := synthetic{times: scaled(map[string]float64{"fasthttp": .5})}
	want := map[string]struct {
		outcome outcome.Outcome
		reason  string
	}{
		`p50("nethttp") < 5ms`:                                      {outcome.Yes, "1.19 ms < 5 ms in the median; true in 12 of 12 blocks"},
		`p50("nethttp") > 5 * ms`:                                   {outcome.No, "true in 0 of 12 blocks"},
		`within(goodput("pool"), 1200/s, 0.01)`:                     {outcome.Yes, " against 1200 in the median; true in 12 of 12 blocks"},
		`within(mean("nethttp"), 1.8 / throughput("nethttp"), 0.1)`: {outcome.Yes, "ms against 1.5 ms in the median"},
		`rate * window > 100`:                                       {outcome.Yes, "1200 > 100 in the median"},
		`p99("nethttp") / p99("fasthttp") >= 1.9`:                   {outcome.Yes, "2 >= 1.9 in the median"},
		`faster("p99", "fasthttp")`:                                 {outcome.Yes, "12 of 12"},
		`slower("p99", "fasthttp")`:                                 {outcome.No, ""},
		`faster("p99", "pool")`:                                     {outcome.No, ""},
		`verdict("p99", "fasthttp") == "FASTER"`:                    {outcome.Yes, ""},
		`ratio("p50", "fasthttp") < 0.6`:                            {outcome.Yes, "0.5 < 0.6"},
		`interval("p50", "fasthttp")[1] < 0.6`:                      {outcome.Yes, ""},
		`same("p50")`:                                               {outcome.No, ""},
		`same("goodput")`:                                           {outcome.Yes, ""},
		`explained("queue") >= 0.8`:                                 {outcome.Refused, "timeline not recorded"},
		`same("goodput") || explained("queue") >= 0.8`:              {outcome.Yes, ""},
		`same("p50") || explained("queue") >= 0.8`:                  {outcome.Refused, "timeline not recorded"},
		`same("p50") && explained("queue") >= 0.8`:                  {outcome.No, ""},
		`not (same("p50") or p50("nethttp") > 5ms)`:                 {outcome.Yes, ""},
		`not slower("p99", "fasthttp")`:                             {outcome.Yes, "true in 12 of 12 blocks"},
		`not faster("p99", "fasthttp")`:                             {outcome.No, "true in 0 of 12 blocks"},
		`not (p50("nethttp") < 5ms)`:                                {outcome.No, "1.19 ms against 5 ms in the median; true in 0 of 12 blocks"},
		`not (not (p50("nethttp") < 5ms))`:                          {outcome.Yes, "1.19 ms < 5 ms in the median; true in 12 of 12 blocks"},
		`served("nethttp") == 64`:                                   {outcome.Refused, "was not measured"},
		`x_max("nethttp") > 2000/s && x_max("pool") > 1/s`:          {outcome.Refused, "was not measured"},
		`x_max("nethttp") > 2000/s`:                                 {outcome.Yes, "true in 12"},
		`x_max("nethttp") > 2800/s`:                                 {outcome.Open, "x_max is one figure"},
		`x_max("nethttp") > 3200/s`:                                 {outcome.Open, "x_max is one figure"},
		`x_max("nethttp") > 4000/s`:                                 {outcome.No, "true in 0"},
		`errors("pool") == 0 && abs(rate - 1200) < 1`:               {outcome.Yes, ""},
		`mean("nethttp") <= 10 * mean("pool")`:                      {outcome.Yes, "ms in the median"},
		`predicted("pool", "mean") < 1`:                             {outcome.Refused, "nothing predicts mean of pool"},
		`p50("absent") < 1ms`:                                       {outcome.Refused, `no arm "absent"`},
		`verdict("p50", "nethttp") == "SAME"`:                       {outcome.Refused, "no challenger"},
		`good_mean("nethttp") > 1.4ms && tail("nethttp") > 5ms`:     {outcome.Yes, ""},
	}
	var texts []string
	for text := range want {
		texts = append(texts, text)
	}
	for text, got := range asserted(t, half, texts...) {
		if w := want[text]; got.Outcome != w.outcome || !strings.Contains(words(got.Reason), w.reason) {
			t.Errorf("%s: got %s, %q; want %s, %q", text, got.Outcome, words(got.Reason), w.outcome, w.reason)
		}
	}
}

// Blocks below a band do not agree with those above it.
func TestWithinOnBothSides(t *testing.T) {
	t.Parallel()
	swinging := synthetic{times: func(block int, _ string, u float64) float64 {
		if block%2 == 0 {
			return 2 * usual(u)
		}
		return usual(u)
	}}
	const around, above = `within(p50("pool"), 1.8ms, 0.1)`, `within(p50("pool"), 9ms, 0.1)`
	got := asserted(t, swinging, around, above)
	if got[around].Outcome != outcome.Open || got[above].Outcome != outcome.No {
		t.Errorf("got %+v, want the one around the blocks refused, the other failed", got)
	}
}

// So a band can hold with fewer blocks inside it than would do for any other statement,
// and the reason says which blocks decide.
func TestReasonOfABand(t *testing.T) {
	t.Parallel()
	outside := func(factors map[int]float64) synthetic {
		return synthetic{times: func(block int, _ string, u float64) float64 { return max(factors[block], 1) * usual(u) }}
	}
	const band = `within(p50("pool"), 1.8ms, 0.1)` // 1.5 times the usual
	inside := map[int]float64{}
	for block := range fakeBlocks + 1 {
		inside[block] = 1.5
	}
	for _, c := range []struct {
		low, high int
		outcome   outcome.Outcome
		reason    string
	}{
		{0, 0, outcome.Yes, "; true in 12 of 12 blocks"},
		{1, 1, outcome.Yes, "; 2 of 12 blocks outside: 1 below, 1 above"},
		{1, 3, outcome.Open, "; 4 of 12 blocks outside: 1 below, 3 above: the blocks do not tell on which side of the limit it lies"},
		{10, 1, outcome.No, "; 11 of 12 blocks outside: 10 below, 1 above"},
	} {
		factors := maps.Clone(inside)
		for i := range c.low {
			factors[1+i] = 1
		}
		for i := range c.high {
			factors[fakeBlocks-i] = 3
		}
		if got := asserted(t, outside(factors), band)[band]; got.Outcome != c.outcome || !strings.HasSuffix(words(got.Reason), c.reason) {
			t.Errorf("%d below, %d above: got %s, %q; want %s, %q", c.low, c.high, got.Outcome, words(got.Reason), c.outcome, c.reason)
		}
	}
}

// What lies on the border is not failed.
func TestExpectationOnTheBorder(t *testing.T) {
	t.Parallel()
	for text, s := range map[string]synthetic{
		`p50("nethttp") <= 1.193ms`: {},
		`same("p50")`:               {times: scaled(map[string]float64{"fasthttp": 1.1})},
		`faster("p50", "fasthttp")`: {times: func(block int, arm string, u float64) float64 {
			if arm == "fasthttp" && block%2 == 0 {
				return .8 * usual(u)
			}
			return usual(u)
		}},
	} {
		if got := asserted(t, s, text)[text]; got.Outcome != outcome.Open {
			t.Errorf("%s: got %s, %q; want open", text, got.Outcome, words(got.Reason))
		}
	}
}

func TestExpectationRefused(t *testing.T) {
	t.Parallel()
	failing := at("pool", some(50, func(r *request.Request) { r.Status = 503 }))
	for text, c := range map[string]struct {
		s       synthetic
		outcome outcome.Outcome
		reason  string
	}{
		`p50("nethttp") < 5ms`:     {synthetic{blocks: 5, status: record.Interrupted}, outcome.Open, "5 blocks: too few to decide"},
		`p50("pool") < 5ms`:        {synthetic{edit: failing}, outcome.Refused, "of its requests got no good reply"},
		`loss("pool") > 0.01`:      {synthetic{edit: failing}, outcome.Yes, "true in 12 of 12"},
		`good_mean("pool") < 5ms`:  {synthetic{edit: failing}, outcome.Yes, "true in 12 of 12"},
		`same("p99")`:              {synthetic{edit: failing}, outcome.Refused, "errors: pool failed"},
		`p50("fasthttp") < 0.1 ms`: {synthetic{edit: failing}, outcome.Refused, "unexpected"},
	} {
		got := asserted(t, c.s, text)[text]
		if got.Outcome != c.outcome || !strings.Contains(words(got.Reason), c.reason) {
			t.Errorf("%s: got %s, %q; want %s, %q", text, got.Outcome, words(got.Reason), c.outcome, c.reason)
		}
	}
}

// Whatever stands in a file, an expectation is an error or a finding.
func FuzzExpectation(f *testing.F) {
	for _, text := range []string{`p50("nethttp") < 5ms`, `same("p50") || not (explained("queue") >= 0.8)`, `within(done("a")/window, 250/s, .1)`, "10msx", "'", "((", `interval("p50","pool")[7] > 1`} {
		f.Add(text)
	}
	run := synthetic{}.run()
	j, err := New("run", "dir", run, Winner{})
	if err != nil {
		f.Fatal(err)
	}
	for trial := range (synthetic{}).trials() {
		j.Take(trial, nil)
	}
	judged := j.judge()
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1000 {
			return
		}
		e, err := expect.Parse(text)
		if err != nil {
			return
		}
		if got := e.Decide(judged, 1); got.Outcome == "" || words(got.Reason) == "" {
			t.Errorf("%q: got %+v, want an answer with its reason", text, got)
		}
	})
}

// A claim has the figures of the run in its sentence, whatever its answer.
func TestAClaimIsSaidWithItsFigures(t *testing.T) {
	t.Parallel()
	run := synthetic{}.run()
	run.Plan.Expect = []string{`p50("nethttp") > 3600s`, `p50("nethttp") > 0s`}
	run.Plan.Claims = map[string]string{run.Plan.Expect[0]: `p50 is {p50("nethttp") / p50("nethttp")} of itself`}
	j, err := New("run", "dir", run, Winner{})
	if err != nil {
		t.Fatal(err)
	}
	for trial := range (synthetic{}).trials() {
		j.Take(trial, nil)
	}
	got := j.judge().result.Expectations
	if len(got) != 2 || got[0].Claim != "p50 is 1 of itself" || got[0].Outcome != outcome.No || got[1].Claim != "" {
		t.Errorf("got %+v", got)
	}
}
