package judge

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"schedlab/internal/measuring/report"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
	"schedlab/internal/shared/stats"
)

// Data of pool that are wrong in block 3 alone leave that block out for every arm, and it
// is said why.
func TestWindowRules(t *testing.T) {
	t.Parallel()
	const end = int64((fakeWarmup + fakeWindow) * 1e9)
	for _, c := range []struct {
		rule         string
		value, limit float64
		edit         func(*record.Trial, []request.Request) []request.Request
	}{
		{"stamps out of order", 24, 0, some(50, func(r *request.Request) { r.Sent = r.Scheduled - 1 })},
		{"utilisation law (ratio of CPU time)", 1.1, 1.02, one(func(t *record.Trial) { t.Server.CPU = 1.1 })},
		{"flow law (connections)", 1, 0, one(func(t *record.Trial) { t.Server.Accepted++ })},
		{"too few requests for p99", 900, 1000, func(_ *record.Trial, requests []request.Request) []request.Request { return requests[:120+900] }},
		{"requests in the window", 0, 1, func(_ *record.Trial, requests []request.Request) []request.Request { return requests[:100] }},
		// Three requests that fill the window from outside are in flight in it
		// and yet not among its response times.
		{"Little's law (ratio)", 3 / (1200 * 1.5e-3), .02 + 7./1200, func(_ *record.Trial, requests []request.Request) []request.Request {
			for i := range 3 {
				requests[i].Done = end + 1
			}
			return requests
		}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			r := synthetic{edit: at("pool", c.edit, 3)}.judged(t)
			want := []record.Refusal{{Block: 3, Arm: "pool", Rule: c.rule, Value: c.value, Limit: c.limit}}
			got := slices.DeleteFunc(slices.Clone(r.Refused), func(b record.Refusal) bool { return b.Rule != c.rule })
			if diff := cmp.Diff(want, got, cmpopts.EquateApprox(.05, 1e-3)); diff != "" {
				t.Errorf("(-want +got):\n%s\namong %v", diff, r.Refused)
			}
			if r.Valid != 11 || r.Arms[0].Requests != 11*1200 {
				t.Errorf("%d valid blocks, %d requests of the baseline, want 11 and %d", r.Valid, r.Arms[0].Requests, 11*1200)
			}
			for _, arm := range []string{"fasthttp", "pool"} {
				if diff := cmp.Diff(same, decisions(r, arm)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", arm, diff)
				}
			}
		})
	}
}

// one is an edit of the trial alone.
func one(change func(*record.Trial)) func(*record.Trial, []request.Request) []request.Request {
	return func(t *record.Trial, requests []request.Request) []request.Request {
		change(t)
		return requests
	}
}

// An arm whose backlog grows all through its windows is judged by its goodput
// and spoils nothing for the others.
func TestOverload(t *testing.T) {
	t.Parallel()
	const end = int64((fakeWarmup + fakeWindow) * 1e9)
	late := at("pool", func(_ *record.Trial, requests []request.Request) []request.Request {
		for i := range requests { // serves 0.6 of what arrives
			requests[i].Done = max(requests[i].Done, requests[i].Scheduled*10/6)
			if requests[i].Done > end {
				requests[i].Status, requests[i].Outcome = 0, request.TimedOut
			}
		}
		return requests
	})
	r := synthetic{edit: late}.judged(t)
	if r.Valid != 12 || len(r.Refused) != 0 {
		t.Errorf("%d valid blocks, refused %v, want 12 and none", r.Valid, r.Refused)
	}
	if diff := cmp.Diff(same, decisions(r, "fasthttp")); diff != "" {
		t.Errorf("fasthttp (-want +got):\n%s", diff)
	}
	want := times("refused", map[string]string{"goodput": "LOWER", "cpu_per_request": "refused"})
	if diff := cmp.Diff(want, decisions(r, "pool")); diff != "" {
		t.Errorf("pool (-want +got):\n%s", diff)
	}
	if got, want := words(verdictOf(t, r.Verdicts, "pool", "p99").Reason), "overload: the backlog of pool grows all through the window, so only its goodput can be compared"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := doubtTexts(r); !slices.Contains(got, "pool: overloaded: its backlog grows through the window, so only goodput is judged") {
		t.Errorf("got the doubts %q", got)
	}
	if got, want := report.Headline(r), "A tie for the best: fasthttp is the same as nethttp; pool does not keep up with nethttp (goodput -"; !strings.HasPrefix(got, want) || r.Winner.String() != "open" {
		t.Errorf("got %q, %q, want %q", r.Winner, got, want)
	}
}

// Where the load's own CPUs are full, a backlog is not the server's.
func TestOverloadOfTheGenerator(t *testing.T) {
	t.Parallel()
	r := synthetic{edit: at("pool", func(t *record.Trial, requests []request.Request) []request.Request {
		t.Client.CPU = .95
		for i := range requests {
			requests[i].Done = max(requests[i].Done, requests[i].Scheduled*10/6)
		}
		return requests
	})}.judged(t)
	var got string
	for _, text := range doubtTexts(r) {
		if strings.HasPrefix(text, "pool: ") {
			got += text
		}
	}
	if !strings.HasPrefix(got, "pool: its backlog grows through the window while the load's own CPUs are full: the generator is too slow, which says nothing about the server") || strings.Contains(got, "overloaded") {
		t.Errorf("got %q among %q", got, doubtTexts(r))
	}
	if v := verdictOf(t, r.Verdicts, "pool", "p99"); v.Reason.String() != "generator: the backlog of pool grows while the load's own CPUs are full, so nothing is known of its times" {
		t.Errorf("p99 of pool is %s for %q, which is not shown to be its own fault", v.Verdict, v.Reason)
	}
	if got := report.Headline(r); strings.Contains(got, "keep up") || strings.Contains(got, "pool its") {
		t.Errorf("got the answer %q about an arm that the load could not ask for more", got)
	}
}

// A queue that is full and refuses stands still: what arrives and finds no place has
// ended at once, so the number in flight does not grow, however much is refused.
// Such an arm spoils nothing and is not overloaded; its figures of good replies can
// be asserted, and those that mix in refusals cannot. One whose queue takes all and
// grows by as much can be asked for its goodput alone.
func TestFullQueueStands(t *testing.T) {
	t.Parallel()
	const (
		served = 3 // of 5 arrivals, as at one and two thirds times the capacity
		wait   = 20e6
	)
	end := int64((fakeWarmup + fakeWindow) * 1e9)
	full := func(_ *record.Trial, requests []request.Request) []request.Request {
		for i := range requests {
			r := &requests[i]
			if i%5 < served {
				r.Done = r.Scheduled + wait
			} else {
				r.Done, r.Status = r.Sent+10_000, 503
			}
		}
		return requests
	}
	grows := func(_ *record.Trial, requests []request.Request) []request.Request {
		for i := range requests {
			r := &requests[i]
			r.Done = max(r.Done, r.Scheduled*5/served)
			if r.Done > end+wait {
				r.Done, r.Status, r.Outcome = end+wait, 0, request.TimedOut
			}
		}
		return requests
	}
	texts := []string{`within(good_mean("pool"), 20ms, 0.05)`, `mean("pool") < 1`, `within(goodput("pool"), 720/s, 0.05)`, `within(goodput("fasthttp"), 1200/s, 0.05)`}
	for _, c := range []struct {
		name       string
		edit       func(*record.Trial, []request.Request) []request.Request
		want       []outcome.Outcome
		overloaded bool
		why        string // of the refused mean
	}{
		{"full and steady", full, []outcome.Outcome{outcome.Yes, outcome.Refused, outcome.Yes, outcome.Yes}, false, "mean of pool: 40.00 % of its requests got no good reply"},
		{"growing", grows, []outcome.Outcome{outcome.Refused, outcome.Refused, outcome.Yes, outcome.Yes}, true, "mean of pool: overload"},
	} {
		s := synthetic{edit: at("pool", c.edit)}
		got := asserted(t, s, texts...)
		for i, text := range texts {
			if got[text].Outcome != c.want[i] {
				t.Errorf("%s: %s: got %s, %q; want %s", c.name, text, got[text].Outcome, words(got[text].Reason), c.want[i])
			}
		}
		if why := words(got[texts[1]].Reason); !strings.HasPrefix(why, c.why) {
			t.Errorf("%s: the mean is refused for %q, want %q", c.name, why, c.why)
		}
		r := s.judged(t)
		over := slices.ContainsFunc(r.Doubts, func(d fact.Fact) bool { return d.Arm == "pool" && strings.HasPrefix(d.String(), "overloaded") })
		if r.Valid != fakeBlocks || len(r.Refused) != 0 || over != c.overloaded {
			t.Errorf("%s: %d valid blocks, refused %v, overloaded %v; want %d, none, %v", c.name, r.Valid, r.Refused, over, fakeBlocks, c.overloaded)
		}
	}
}

func TestRunRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name           string
		run            synthetic
		fasthttp, pool string // why all their primary verdicts are refused, "" when they are not
	}{
		{"errors of a challenger", synthetic{edit: at("pool", some(500, func(r *request.Request) { r.Status = 503 }))}, "",
			"errors: pool failed 24 of 14400 requests (0.17 %), above 0.1 %: status 503"},
		{"errors of the baseline", synthetic{edit: at("nethttp", some(500, func(r *request.Request) { r.Status, r.Outcome = 0, request.Reset }))},
			"errors: nethttp failed 24 of 14400 requests (0.17 %), above 0.1 %: reset", "errors: nethttp failed 24 of 14400 requests (0.17 %), above 0.1 %: reset"},
		{"errors of both", synthetic{edit: func(t *record.Trial, requests []request.Request) []request.Request {
			if t.Arm == "fasthttp" {
				return requests
			}
			return some(500, func(r *request.Request) { r.Status = 500 })(t, requests)
		}},
			"errors: nethttp failed 24 of 14400 requests (0.17 %), above 0.1 %: status 500",
			"errors: nethttp failed 24 of 14400 requests (0.17 %) and pool failed 24 of 14400 requests (0.17 %), above 0.1 %: status 500"},
		{"errors of the copy", synthetic{edit: at("nethttp'", some(500, func(r *request.Request) { r.Status = 503 }))},
			"run twice as a check: errors: nethttp' failed 24 of 14400 requests (0.17 %), above 0.1 %: status 503", "run twice as a check: errors: nethttp' failed 24 of 14400 requests (0.17 %), above 0.1 %: status 503"},
		{"few enough errors", synthetic{edit: at("pool", some(1200, func(r *request.Request) { r.Status = 503 }))}, "", ""},
		{"status mix", synthetic{edit: at("pool", some(100, func(r *request.Request) { r.Status = 304 }))}, "",
			"status mix: pool answers 200 in 99.00 %, nethttp in 100.00 % of requests"},
		{"unknown clocks", synthetic{edit: one(func(t *record.Trial) {
			t.Client.Steal, t.Client.Throttled, t.Server = -1, -1, record.ServerSide{CPU: -1, Foreign: -1, Accepted: -1, Done: -1, Rejected: -1, Dropped: -1, Open: -1}
		})}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := c.run.judged(t)
			for arm, reason := range map[string]string{"fasthttp": c.fasthttp, "pool": c.pool} {
				for _, metric := range stats.Names(stats.Quantiles()) {
					if v := verdictOf(t, r.Verdicts, arm, metric); words(v.Reason) != reason || (v.Verdict.String() == "refused") != (reason != "") {
						t.Errorf("%s of %s: got %s, %q\nwant the reason %q", metric, arm, v.Verdict, words(v.Reason), reason)
					}
				}
			}
		})
	}
	t.Run("a copy that differs", func(t *testing.T) {
		t.Parallel()
		r := synthetic{times: func(_ int, arm string, u float64) float64 {
			if arm == "nethttp'" && u > .95 {
				return 1.2 * usual(u)
			}
			return usual(u)
		}}.judged(t)
		if got := decisions(r, "pool"); got["p50"] != "SAME" || got["p99"] != "refused" {
			t.Errorf("got %v, want p99 alone refused", got)
		}
		want := "nethttp, run twice as a check, differs from itself at p99 by +20 % (+20 % to +20 %), and only a difference beyond that stands"
		if got := words(verdictOf(t, r.Verdicts, "pool", "p99").Reason); got[:50] != want[:50] {
			t.Errorf("got %q, want %q", got, want)
		}
		if v := verdictOf(t, r.AA, "nethttp'", "p99"); v.Verdict.String() != "SLOWER" {
			t.Errorf("A/A: got %+v", v)
		}
	})
}

// The copy is a ruler: what it differs by is the smallest difference that stands, and a
// difference that clears it does.
func TestCopyIsARuler(t *testing.T) {
	t.Parallel()
	off := func(copied, fasthttp, pool float64) map[string]string {
		r := synthetic{times: scaled(map[string]float64{"nethttp'": copied, "fasthttp": fasthttp, "pool": pool})}.judged(t)
		return map[string]string{"fasthttp": decisions(r, "fasthttp")["p99"], "pool": decisions(r, "pool")["p99"]}
	}
	for _, c := range []struct {
		copied, fasthttp, pool float64
		want                   [2]string
	}{
		{1, 1.2, .8, [2]string{"SLOWER", "FASTER"}},
		{1.07, 1.2, .8, [2]string{"SLOWER", "FASTER"}},
		{1.07, 1.06, 1 / 1.06, [2]string{"refused", "refused"}},
		{1 / 1.07, 1.06, 1.2, [2]string{"refused", "SLOWER"}},
		{1.07, 1, 1.2, [2]string{"refused", "SLOWER"}}, // SAME is no finding where the copy is SLOWER
		{1.03, 1, 1.2, [2]string{"SAME", "SLOWER"}},
	} {
		if got := off(c.copied, c.fasthttp, c.pool); got["fasthttp"] != c.want[0] || got["pool"] != c.want[1] {
			t.Errorf("a copy of ×%v, ×%v and ×%v: got %v, want %v", c.copied, c.fasthttp, c.pool, got, c.want)
		}
	}
}

// A plan whose windows are too small for a quantile does not judge it.
func TestTooFewRequests(t *testing.T) {
	t.Parallel()
	dir, run := synthetic{edit: func(_ *record.Trial, requests []request.Request) []request.Request {
		return slices.DeleteFunc(requests, func(r request.Request) bool { return r.Scheduled%2 == 1 })
	}}.write(t)
	for i := range run.Plan.Arms {
		run.Plan.Arms[i].Clients.Rate = 600
	}
	r, err := comparisonOf(dir, run)
	if err != nil {
		t.Fatal(err)
	}
	if v := verdictOf(t, r.Verdicts, "pool", "p99"); words(v.Reason) != "too few requests: 600 a window, p99 needs 1100; --window 1.9s --budget 1m30s hold as many" {
		t.Errorf("got %+v", v)
	}
	if got := decisions(r, "pool"); got["p90"] != "SAME" || r.Arms[0].P99 != nil || r.Arms[0].P90 == nil {
		t.Errorf("got %v, p99 %v, want p90 judged and p99 not shown", got, r.Arms[0].P99)
	}
}

// Requests that keep one value for ten of them are worth a tenth of their number.
func TestEffectiveNumber(t *testing.T) {
	t.Parallel()
	runs := func(_ *record.Trial, requests []request.Request) []request.Request {
		for i := range requests {
			first := requests[i/10*10]
			requests[i].Done = requests[i].Scheduled + first.Done - first.Scheduled
		}
		return requests
	}
	r := synthetic{edit: at("pool", runs)}.judged(t)
	for _, a := range r.Arms {
		want := 1200.
		if a.Name == "pool" {
			want = 120
		}
		if a.NEff < .6*want || a.NEff > 1.5*want {
			t.Errorf("%s: n_eff %.0f of 1200, want about %.0f", a.Name, a.NEff, want)
		}
	}
}

// The headline says that an overloaded arm does not keep up, with figures, from the second block on: before any verdict it
// tells in how many blocks the backlog grew.
func TestHeadlineOfAnOverloadedArm(t *testing.T) {
	t.Parallel()
	overloaded := func(blocks int, arms ...int) string {
		r := synthetic{blocks: blocks, edit: slowly, plan: func(p *record.Plan) {
			var kept []record.PlanArm
			for _, i := range arms {
				kept = append(kept, p.Arms[i])
			}
			p.Arms, p.Order = kept, nil
		}}.judged(t)
		return report.Headline(r)
	}
	for _, c := range []struct {
		blocks int
		arms   []int
		want   string
	}{
		{12, []int{0, 1, 3}, `^nethttp wins: pool does not keep up with nethttp \(goodput -\d+ %, p50 \d+(\.\d)? ms and growing against 1\.19 ms\)\.$`},
		{10, []int{0, 1, 3}, `^nethttp wins: pool does not keep up with nethttp \(goodput -\d+ %, p50 \d+(\.\d)? ms and growing against 1\.19 ms\)\.$`},
		{9, []int{0, 1, 3}, `^pool does not keep up with nethttp \(goodput -\d+ %, p50 \d+(\.\d)? ms and growing against 1\.19 ms\): its backlog grew to the end of the window in all 9 blocks\.$`},
		{2, []int{0, 1, 3}, `^pool does not keep up with nethttp \(goodput -\d+ %, p50 \d+(\.\d)? ms and growing against 1\.19 ms\): its backlog grew to the end of the window in all 2 blocks\.$`},
		{1, []int{0, 1, 3}, `^No verdict: `},
		{9, []int{0, 1, 2, 3}, `pool does not keep up with nethttp \(goodput -\d+ %, p50 \d+(\.\d)? ms and growing against 1\.19 ms\): its backlog grew to the end of the window in all 9 blocks\.$`},
	} {
		if got := overloaded(c.blocks, c.arms...); !regexp.MustCompile(c.want).MatchString(got) {
			t.Errorf("%d blocks: got %q, want %s", c.blocks, got, c.want)
		}
	}
}

// An arm that turns requests away at once has times of no worth, and less goodput: it does not keep
// up. The headline says by how much, and how many requests it failed.
func TestTurningAwayIsNotKeepingUp(t *testing.T) {
	t.Parallel()
	full := func(_ *record.Trial, requests []request.Request) []request.Request {
		for i := range requests {
			if i%5 >= 3 {
				requests[i].Done, requests[i].Status = requests[i].Sent+10_000, 503
			}
		}
		return requests
	}
	const behind = "does not keep up with nethttp (goodput -40 %, no good reply to 40 % of its requests)"
	r := synthetic{edit: at("pool", full)}.judged(t)
	want := times("refused", map[string]string{"goodput": "LOWER", "cpu_per_request": "refused"})
	if diff := cmp.Diff(want, decisions(r, "pool")); diff != "" {
		t.Errorf("pool (-want +got):\n%s", diff)
	}
	if got, want := report.Headline(r), "A tie for the best: fasthttp is the same as nethttp; pool "+behind+"."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}

	two := synthetic{edit: at("pool", full), plan: func(p *record.Plan) { p.Arms, p.Order = slices.Delete(p.Arms, 2, 3), nil }}
	r = two.judged(t)
	if got, want := report.Headline(r), "nethttp wins: pool "+behind+"."; got != want || r.Winner.String() != "nethttp" || r.Answer.Standings[0].Place != record.Placed(stats.Lower) {
		t.Errorf("got %q, %q, %+v, want %q", r.Winner, got, r.Answer.Standings, want)
	}
	two.edit = func(t *record.Trial, requests []request.Request) []request.Request {
		if t.Arm == "pool" {
			return requests
		}
		return full(t, requests)
	}
	if r := two.judged(t); r.Winner.String() != "pool" || r.Answer.Standings[0].Place != record.Placed(stats.Higher) {
		t.Errorf("the baseline turns requests away: got %q, %+v, want pool, which keeps up", r.Winner, r.Answer.Standings)
	}
}

// Goodput ranks an arm behind only where the arm with less of it is at fault.
func TestFallsShort(t *testing.T) {
	t.Parallel()
	failed := fact.Fact{Code: causeErrors.Code, Because: []fact.Fact{{Code: doubt.TooManyFailed.Code, Arm: "a"}}}
	for _, c := range []struct {
		name, less, loop string
		why              fact.Fact
		want             bool
	}{
		{"a fails requests and has less", "a", "closed", failed, true},
		{"a fails requests and b has less", "b", "closed", failed, false},
		{"a is overloaded", "a", "open", fact.Fact{Code: causeOverload.Code, Arm: "a"}, true},
		{"other statuses in an open loop", "b", "open", fact.Fact{Code: causeStatusMix.Code}, true},
		{"other statuses in a closed loop", "b", "closed", fact.Fact{Code: causeStatusMix.Code}, false},
		{"drift", "a", "open", fact.Fact{Code: causeDrift.Code, Arm: "a"}, false},
	} {
		less := record.Arm{Contestant: record.Contestant{Name: c.less, Clients: record.Clients{Loop: c.loop}}}
		if got := fallsShort(less, []record.Verdict{{Metric: stats.P50, Verdict: decision("refused"), Reason: c.why}}); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// A run waits for the goodput of an arm that fails requests, its only verdict.
func TestGoodputOfAFailingArmIsAwaited(t *testing.T) {
	t.Parallel()
	for errors, want := range map[float64]bool{ErrorLimit: false, .3: true} {
		g := judgement{blocks: of(stats.Figures{stats.Errors: stats.Known(errors)})}
		g.windows[1]["base"] = &modelled{}
		if got := g.awaited(record.Verdict{Metric: stats.Goodput, Arm: "a", Baseline: "base"}); got != want {
			t.Errorf("%v of its requests fail: awaited %v, want %v", errors, got, want)
		}
	}
}
