package capacity

import (
	"slices"
	"strings"
	"testing"
	"time"

	"schedlab/internal/measuring/judge"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// arm is a search for p99<=10ms in windows of 3 s, of 24 at most.
func arm(t *testing.T, windows ...RateWindow) searched {
	a := searched{plan: record.PlanArm{Name: "a"}, run: record.Run{Plan: record.Plan{Window: record.Lasting(3 * time.Second), Warmup: record.Lasting(500 * time.Millisecond), Windows: 24}}}
	a.options, a.Windows = Objective{objective(t, "p99<=10ms")}.options(a.run.Plan), windows
	return a
}

func at99(why string, rate, p99 float64) RateWindow {
	return RateWindow{Purpose: why, Rate: rate, Values: map[stats.Measure]float64{{Quantile: .99}: p99}}
}

// noEvidence is why a window is no evidence.
var noEvidence = ruleBroken.Of(broken{})

// Requests that go wrong are told of where they are more than the limit, at the rate that was
// found and in a window that counts.
func TestLosingAtTheRate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		w    RateWindow
		want int
	}{
		"more than the limit": {RateWindow{Rate: 100, Errors: .002}, 1},
		"the limit":           {RateWindow{Rate: 100, Errors: judge.ErrorLimit}, 0},
		"at another rate":     {RateWindow{Rate: 101, Errors: .002}, 0},
		"in a refused window": {RateWindow{Rate: 100, Errors: .002, Refused: noEvidence}, 0},
	} {
		a := arm(t, c.w)
		a.Low = 100
		if got := a.losing(); len(got) != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Bounds that touch do not tell two arms apart, and with none alike nothing is said of them.
func TestCapacitiesThatTouch(t *testing.T) {
	t.Parallel()
	between := func(name string, low, high float64) ArmCapacity {
		return ArmCapacity{Contestant: record.Contestant{Name: name}, Outcome: outcome.Yes, Low: low, High: high}
	}
	base := between("base", 1000, 1100)
	for _, c := range []struct {
		other ArmCapacity
		want  fact.Code
	}{
		{between("b", 1100, 1200), notToldApart.Code}, {between("b", 1101, 1200), moreCapacity.Code},
		{between("b", 900, 1000), notToldApart.Code}, {between("b", 900, 999), lessCapacity.Code},
	} {
		if got := comparedCapacities([]ArmCapacity{base, c.other}); len(got) != 1 || got[0].Code != c.want {
			t.Errorf("%v to %v against 1,000 to 1,100: %+v, want %q", c.other.Low, c.other.High, got, c.want)
		}
	}
}

// An arm that starves clients is compared with no other, be it the first arm or another; its answer
// has the doubt of the plan.
func TestAStarvingArmIsNotCompared(t *testing.T) {
	t.Parallel()
	sticky := doubt.StickyPool.Of(doubt.Sticky{Waiting: 62, Connections: 64, Workers: 2}).On("pool")
	run := record.Run{Plan: record.Plan{Doubts: []fact.Fact{doubt.StickyPool.Of(doubt.Sticky{}).On("other"), sticky}}}
	of := func(name string, low, high float64) ArmCapacity {
		a := arm(t)
		a.plan.Name, a.run = name, run
		a.answer()
		a.Outcome, a.Low, a.High = outcome.Yes, low, high
		return a.ArmCapacity
	}
	pool, a, b := of("pool", 300, 367), of("a", 1000, 1100), of("b", 2000, 2200)
	if pool.Starves.String() != sticky.String() || !a.Starves.None() {
		t.Errorf("pool starves by %+v, a by %+v; want the plan's doubt for pool only", pool.Starves, a.Starves)
	}
	for _, arms := range [][]ArmCapacity{{pool, a, b}, {a, pool, b}, {a, b, pool}} {
		if got := comparedCapacities(arms); len(got) != 1 || got[0].Code != moreCapacity.Code || got[0].Arm != "b" || got[0].Baseline != "a" {
			t.Errorf("got %+v, want b above a and nothing of pool", got)
		}
	}
	if got := comparedCapacities([]ArmCapacity{pool, a}); len(got) != 0 {
		t.Errorf("got %+v, want no comparison with pool", got)
	}
}

// An answer that is open says what is missing: the goodput asked for, any window that counts,
// or agreement.
func TestOpenAnswers(t *testing.T) {
	t.Parallel()
	found := func(low, high float64) finding {
		return finding{ArmCapacity: ArmCapacity{Low: low, High: high}}
	}
	for _, c := range []struct {
		f    finding
		slo  string
		want fact.Code
	}{
		{found(0, 900), "p99<=10ms,goodput>=500/s", capacityWants.Code},
		{finding{}, "p99<=10ms,goodput>=500/s", capacityOpen.Code},
		{found(0, 900), "p99<=10ms", capacityRefuted.Code},
		{found(800, 900), "p99<=10ms,goodput>=500/s", capacityVerified.Code},
		{finding{Refused: 1}, "p99<=10ms", capacityOpen.Code},
		{finding{Refused: 1, Used: 1}, "p99<=10ms", capacityOpen.Code},
		{finding{}, "p99<=10ms", capacityOpen.Code},
	} {
		a := arm(t)
		a.finding, a.options.SLO = c.f, objective(t, c.slo)
		a.Outcome = outcome.Open
		if got := a.conclusion(); got.Code != c.want {
			t.Errorf("%+v for %s: %q, want %q", c.f, c.slo, got.Code, c.want)
		}
	}
}

// An open answer names the rate that was last tried, its windows, and the budget that decides.
func TestOpenAnswerNamesRateAndBudget(t *testing.T) {
	t.Parallel()
	a := arm(t, at99(purposeRefute, 900, .02), at99(purposeRefute, 900, .02), at99(purposeVerify, 800, .005), at99(purposeVerify, 800, .005))
	a.options.Windows, a.run.Plan.Budget = 4, record.Lasting(60*time.Second)
	a.find()
	want := "a for p99<=10ms: open, 900/s is refuted, and no lower rate is verified (2 of 2 windows at 800/s kept it, and 3 of 3 have to)" +
		"; the budget ended before that was settled: --budget 3m0s has room for the windows that decide"
	if got := a.conclusion().String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	a.Windows[3].Values[stats.Measure{Quantile: .99}] = .02 // the windows contradict each other
	a.find()
	if got := a.conclusion().String(); !strings.Contains(got, "(1 of 2 windows at 800/s kept it") || !strings.Contains(got, "--window 6s --budget 2m") {
		t.Errorf("got %s", got)
	}
}

// Which windows and trials a search counts.
func TestWhatASearchTakes(t *testing.T) {
	t.Parallel()
	brief := func(int) time.Duration { return time.Millisecond }
	plan := record.Plan{Window: record.Lasting(3 * time.Second), Warmup: record.Lasting(500 * time.Millisecond), Windows: 24, SLO: "p99<=10ms", Arms: []record.PlanArm{{Name: "a"}}}
	for name, c := range map[string]struct {
		edit   func(*record.Trial, *record.Plan)
		doubts int
	}{
		"one of the plan":     {func(*record.Trial, *record.Plan) {}, 0},
		"another window":      {func(t *record.Trial, _ *record.Plan) { t.Window = record.Lasting(2 * time.Second) }, 1},
		"another warm-up":     {func(t *record.Trial, _ *record.Plan) { t.Warmup = record.Span{} }, 1},
		"no window at all":    {func(t *record.Trial, p *record.Plan) { t.Window, p.Window = record.Span{}, record.Span{} }, 1},
		"no rate":             {func(t *record.Trial, _ *record.Plan) { t.Rate = 0 }, 1},
		"of an arm not there": {func(t *record.Trial, _ *record.Plan) { t.Arm = "b" }, 1},
		"that failed":         {func(t *record.Trial, _ *record.Plan) { t.Failure = "it did" }, 1},
	} {
		trial, p := searchedTrial(1, "a", "curve", 1000, brief, 200), plan
		c.edit(&trial.Trial, &p)
		run := record.Run{Status: record.Complete, Plan: p, Env: record.Env{CPUs: 2}}
		trials, err := judge.NewTrials("run", "dir", run)
		if err != nil {
			t.Fatal(err)
		}
		a := arm(t)
		a.run.Env = run.Env
		take(&trials, []*searched{&a}, trial, nil)
		doubts := slices.DeleteFunc(trials.Doubts(&Search{Common: trials.Common(Kind)}, false), func(d fact.Fact) bool { return d.Code == "one-host" })
		if len(doubts) != c.doubts || len(a.Windows) != 1-c.doubts {
			t.Errorf("%s: %d windows and the doubts %+v, want %d", name, len(a.Windows), doubts, c.doubts)
		}
	}
}

// CPU time a request is that of windows that count, without errors, and known.
func TestCPUOfASearch(t *testing.T) {
	t.Parallel()
	window := func(edit func(*RateWindow)) RateWindow {
		w := at99(purposeCurve, 100, .005)
		edit(&w)
		return w
	}
	fine := func(*RateWindow) {}
	for name, c := range map[string]struct {
		w    RateWindow
		cpu  float64
		want float64
	}{
		"known":        {window(fine), .002, .002},
		"none":         {window(fine), 0, 0},
		"not known":    {window(fine), -1, 0},
		"refused":      {window(func(w *RateWindow) { w.Refused = noEvidence }), .002, 0},
		"with errors":  {window(func(w *RateWindow) { w.Errors = .001 }), .002, 0},
		"overloaded":   {window(func(w *RateWindow) { w.Purpose = purposeOverload }), .002, 0},
		"at the limit": {window(func(w *RateWindow) { w.Values = map[stats.Measure]float64{{Quantile: .99}: .01} }), .002, .002},
	} {
		a := arm(t, c.w)
		a.Windows[0].CPU = c.cpu
		a.answer()
		r := a.ArmCapacity
		if r.CPUPerRequest != c.want || (r.CPURates != nil) != (c.want > 0) {
			t.Errorf("%s: %v s a request at %v, want %v", name, r.CPUPerRequest, r.CPURates, c.want)
		}
		if r.Term != "" || r.Estimate != 0 {
			t.Errorf("%s: %q gives way at %v/s, which one window cannot tell", name, r.Term, r.Estimate)
		}
	}
}

// An arm is too slow below the floor of a window, and only if nothing was measured; a server
// that died past what it keeps did so overloaded.
func TestFindingsBesideTheSearch(t *testing.T) {
	t.Parallel()
	floor := arm(t).options.Floor
	for xmax, want := range map[float64]outcome.Outcome{0: outcome.Open, floor - 1: outcome.Refused, floor: outcome.Open} {
		a := arm(t)
		a.run.XMax = map[string]float64{"a": xmax}
		if a.find(); a.Outcome != want {
			t.Errorf("X_max %v of %v: %q, want %q", xmax, floor, a.Outcome, want)
		}
	}
	measured := arm(t, at99(purposeCurve, 100, .005))
	measured.run.XMax = map[string]float64{"a": 1}
	if measured.find(); measured.Outcome != outcome.Open {
		t.Errorf("with a window: %q", measured.Outcome)
	}
	for rate, want := range map[float64]bool{1000: false, 1001: true} {
		a := arm(t)
		a.Outcome, a.Low, a.High, a.End = outcome.Yes, 1000, 1100, &record.ArmEnd{Died: true, Rate: rate}
		if got := a.diedOverloaded(); got != want {
			t.Errorf("died at %v/s, and keeps 1,000/s: %v", rate, got)
		}
	}
	// The rate that it keeps is tried again after an overload.
	after := arm(t, at99(purposeOverload, 1500, .5))
	after.Outcome, after.Low, after.High, after.End = outcome.Yes, 1000, 1100, &record.ArmEnd{Died: true, Rate: 1000}
	if !after.diedOverloaded() {
		t.Error("died at the rate that it kept before an overload: not told")
	}
}

// Refused windows are counted but for those of the overload; a run that was complete has no
// doubt about that.
func TestDoubtsOfASearch(t *testing.T) {
	t.Parallel()
	refused := func(why string) RateWindow {
		return RateWindow{Purpose: why, Rate: 100, Refused: noEvidence, Values: map[stats.Measure]float64{{Quantile: .99}: .001}}
	}
	for name, c := range map[string]struct {
		status  record.Status
		windows []RateWindow
		want    []fact.Code
		refused int
	}{
		"all count":            {record.Complete, []RateWindow{at99(purposeCurve, 100, .001)}, nil, 0},
		"two of three":         {record.Complete, []RateWindow{refused(purposeCurve), refused(purposeVerify), at99(purposeCurve, 100, .001)}, []fact.Code{windowsRefused.Code}, 2},
		"those of overload":    {record.Complete, []RateWindow{refused(purposeOverload)}, nil, 0},
		"a run that was ended": {record.Interrupted, nil, []fact.Code{"run-not-complete"}, 0},
	} {
		a := arm(t, c.windows...)
		a.find()
		var got []fact.Code
		trials, err := judge.NewTrials("run", "dir", record.Run{Status: c.status})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range trials.Doubts(&Search{Common: record.Common{Env: record.Env{ServerCPUs: "0-1"}}}, false, doubts([]*searched{&a})...) {
			if d.Code != "one-host" {
				got = append(got, d.Code)
			}
			if of, is := fact.In(windowsRefused, d); is && of != (refusedWindows{c.refused, len(c.windows)}) {
				t.Errorf("%s: %+v", name, d)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// X_max is measured before the search. A rate that was verified well above it contradicts it.
func TestARateAboveXMaxIsADoubt(t *testing.T) {
	t.Parallel()
	for low, want := range map[float64]bool{1000: false, 1029: false, 1040: true} {
		a, attached := arm(t), arm(t)
		a.Name, a.Low, a.XMax, attached.Low = "a", low, 1000, low
		got := slices.DeleteFunc(doubts([]*searched{&attached, &a}), func(d fact.Fact) bool { return d.Code != lowXMax.Code })
		if (len(got) == 1) != want || want && got[0].Arm != "a" {
			t.Errorf("verified %v/s with an X_max of 1,000/s: %v, want a doubt %v", low, got, want)
		}
	}
}

// Trials that are missing from a record are told of, and of an arm that it is attached to.
func TestASearchOfMissingTrials(t *testing.T) {
	t.Parallel()
	steady := func(int) time.Duration { return 5 * time.Millisecond }
	r := recordSearch(t, searchedTrial(1, "a", "curve", 600, steady, 200), searchedTrial(2, "a", "curve", 600, steady, 200))
	if slices.ContainsFunc(r.Doubts, func(d fact.Fact) bool { return d.Code == "missing-trials" }) || r.Arms[0].Attached {
		t.Errorf("a whole record of our own server: %+v, attached %v", r.Doubts, r.Arms[0].Attached)
	}
}

// The generator is the limit when most refusals are its own while it is busy; a search was cut
// only with windows left.
func TestTheGeneratorsShareOfRefusals(t *testing.T) {
	t.Parallel()
	late := sentLate.Of(lateness{})
	wrong := ruleBroken.Of(broken{})
	for _, c := range []struct {
		why  []fact.Fact
		busy float64
		want bool
	}{
		{[]fact.Fact{late, late, wrong}, busyShare, true}, {[]fact.Fact{late, wrong}, busyShare, false},
		{[]fact.Fact{late}, busyShare - .01, false}, {[]fact.Fact{late}, busyShare, true},
	} {
		a := arm(t, make([]RateWindow, len(c.why))...)
		for i, why := range c.why {
			a.Windows[i] = RateWindow{Purpose: purposeCurve, Rate: 100, Refused: why, Busy: c.busy}
		}
		a.find()
		if got := a.refusals(searchRefusals, "")[0].RestsOn(searchGenerator.Code); got != c.want {
			t.Errorf("%+v at %v busy: %v, want %v", c.why, c.busy, got, c.want)
		}
	}
	for windows, want := range map[int]bool{23: true, 24: false} {
		a := arm(t, make([]RateWindow, windows)...)
		a.run.Status = record.Interrupted
		if got := a.cut() != nil; got != want {
			t.Errorf("cut after %d of 24 windows: %v, want %v", windows, got, want)
		}
	}
}

// A term is judged from the number of requests that it needs, and a rate may be missed by the
// limit.
func TestAWindowsLimits(t *testing.T) {
	t.Parallel()
	brief := func(int) time.Duration { return time.Millisecond }
	slo := objective(t, "p90<=10ms")
	for requests, want := range map[int]bool{stats.MinRequests(.9) - 1: true, stats.MinRequests(.9): false} {
		trial := searchedTrial(1, "a", "curve", 1000, brief, 200)
		trial.Requests = trial.Requests[:500+requests] // half a second of warm-up before
		w := reduced(trial, record.Env{CPUs: 2}, record.Clients{}, slo)
		if few := w.Refused.Code == tooFewForTerm.Code; few != want {
			t.Errorf("%d requests: too few %v, want %v", requests, few, want)
		}
	}
}

// A window in which the load stood still for 3 s is left out.
func TestALoadThatStoodStillIsNoEvidence(t *testing.T) {
	t.Parallel()
	trial := searchedTrial(1, "a", "curve", 1000, func(int) time.Duration { return time.Millisecond }, 200)
	trial.Client.Proof = &record.Proof{Planned: len(trial.Requests), Sent: len(trial.Requests), Rest: record.RestSpins, LongestGap: 3.5}
	w := reduced(trial, record.Env{CPUs: 2, ServerCPUs: "0", LoadCPUs: "1"}, record.Clients{Loop: "open"}, nil)
	if got := w.Refused.String(); got != "load stood still (s): 3.5, limit 3" {
		t.Errorf("got %q", got)
	}
}
