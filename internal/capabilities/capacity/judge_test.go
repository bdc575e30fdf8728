package capacity

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"schedlab/internal/measuring/report"
	"schedlab/internal/measuring/runner"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/queueing"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
	"schedlab/internal/shared/stats"
)

func objective(t *testing.T, text string) stats.SLO {
	t.Helper()
	slo, err := stats.ParseSLO(text)
	if err != nil {
		t.Fatal(err)
	}
	return slo
}

// searchedTrial is a window in which every request took as long as took says.
func searchedTrial(number int, arm, purpose string, rate float64, took func(i int) time.Duration, status uint16) record.TrialRecord {
	t := record.TrialRecord{Trial: record.Trial{Number: number, Block: number, Arm: arm, Warmup: record.Lasting(500 * time.Millisecond), Window: record.Lasting(3 * time.Second), Rate: rate, Purpose: purpose, Server: record.ServerSide{CPU: -1, Foreign: -1, Accepted: -1, Done: -1, Rejected: -1, Dropped: -1, Open: -1}}}
	t.Server.CPU, t.Server.Foreign = 1, 0
	gap := time.Duration(float64(time.Second) / rate)
	for i := range int(rate * 3.5) {
		at := int64(i) * int64(gap)
		t.Requests = append(t.Requests, request.Request{Scheduled: at, Sent: at + 1000, Done: at + int64(took(i)), Status: status})
	}
	return t
}

func TestAWindowsValuesAreTheObjectives(t *testing.T) {
	t.Parallel()
	slo := objective(t, "p99<=10ms,mean<=5ms,errors<=0.1%,goodput>=100/s,p99.9<=1s")
	took := func(i int) time.Duration {
		if i%50 == 0 {
			return 40 * time.Millisecond
		}
		return 2 * time.Millisecond
	}
	w := reduced(searchedTrial(1, "a", "curve", 1000, took, 200), record.Env{CPUs: 2}, record.Clients{}, slo)
	if w.Refused.Code != tooFewForTerm.Code || w.Purpose != purposeCurve || w.Rate != 1000 || math.Abs(w.Sent-1000) > 1 {
		t.Errorf("reduced to %+v", w)
	}
	for i, want := range []float64{.040, .00276, 0, 1000, math.NaN()} { // 3000 requests are too few for p99.9
		if got, known := w.Values[slo[i].Metric]; math.Abs(got-want) > .002*want || known == math.IsNaN(want) {
			t.Errorf("%s is %v, want %v", slo[i].Metric, got, want)
		}
	}
}

func TestErrorsAreNotJudgedFromFewRequests(t *testing.T) {
	t.Parallel()
	brief := func(int) time.Duration { return time.Millisecond }
	slo := objective(t, "p90<=10ms,errors<=0.1%")
	few := reduced(searchedTrial(1, "a", "curve", 300, brief, 200), record.Env{CPUs: 2}, record.Clients{}, slo)
	enough := reduced(searchedTrial(1, "a", "curve", 340, brief, 200), record.Env{CPUs: 2}, record.Clients{}, slo)
	_, told := few.Values[stats.Measure{Figure: stats.Errors}]
	if of, known := enough.Values[stats.Measure{Figure: stats.Errors}]; told || few.Refused.Code != tooFewForTerm.Code || few.Refused.Metric != "errors" || !enough.Refused.None() || !known || of != 0 {
		t.Errorf("errors are %v in 900 requests and %v in 1,020; 0.1 %% needs 1,000", few, enough)
	}
	for text, floor := range map[string]float64{
		"p99<=10ms": 1100. / 3, "p99<=10ms,errors<=0.05%": 2200. / 3, "p99<=10ms,errors<=1%": 1100. / 3, "p50<=10ms,errors<=0%": 22. / 3,
	} {
		o := Objective{objective(t, text)}.options(record.Plan{Window: record.Lasting(3 * time.Second)})
		if math.Abs(o.Floor/floor-1) > 1e-9 {
			t.Errorf("%s is searched from %v/s on, want %v/s", text, o.Floor, floor)
		}
	}
}

func TestOnlyTheInstrumentRefusesAWindow(t *testing.T) {
	t.Parallel()
	slo := objective(t, "p99<=10ms")
	e := record.Env{CPUs: 2}
	// Behind by a second at the end: what a search looks for.
	behind := searchedTrial(1, "a", "refute", 1000, func(i int) time.Duration { return time.Duration(i) * time.Second / 3500 }, 200)
	if w := reduced(behind, e, record.Clients{}, slo); !w.Refused.None() || w.Kept {
		t.Errorf("an overloaded window is refused: %v, kept: %v", w.Refused, w.Kept)
	}
	brief := func(int) time.Duration { return time.Millisecond }
	later := func(d time.Duration) func(*record.TrialRecord) {
		return func(t *record.TrialRecord) {
			for i := range t.Requests {
				t.Requests[i].Sent += int64(d)
				t.Requests[i].Done += int64(d)
			}
		}
	}
	for _, c := range []struct {
		name    string
		refused string // "" when the window counts, noisy as it is
		spoil   func(*record.TrialRecord)
	}{
		{"foreign load", "", func(t *record.TrialRecord) { t.Server.Foreign = 1 }},
		{"a busy generator", "", func(t *record.TrialRecord) { t.Client.CPU = 5.9 }},
		{"steal", "", func(t *record.TrialRecord) { t.Client.Steal = 1 }},
		{"a CPU limit", "", func(t *record.TrialRecord) { t.Client.Throttled = 1 }},
		{"a late load that breaks nothing", "", later(5 * time.Millisecond)},
		{"a late load that breaks the objective", "sent late: the p99 is 13 ms from its time and 0.999 ms from the sending", later(12 * time.Millisecond)},
		{"a load that did not send", "rate off (ratio): ", func(t *record.TrialRecord) {
			for i := range t.Requests {
				if i%20 == 0 {
					t.Requests[i].Sent, t.Requests[i].Status = -1, 0
				}
			}
		}},
	} {
		trial := searchedTrial(1, "a", "near", 1000, brief, 200)
		c.spoil(&trial)
		w := reduced(trial, e, record.Clients{}, slo)
		why := w.Refused
		if why.None() != (c.refused == "") || !strings.HasPrefix(words(why), c.refused) || ofGenerator(why) != (c.refused != "") {
			t.Errorf("%s: refused for %q, want %q", c.name, words(why), c.refused)
		}
	}
}

// recordSearch records a search of one arm whose p99 is 5 ms below 1000/s and
// 50 ms from there on.
func recordSearch(t *testing.T, trials ...record.TrialRecord) *Search {
	t.Helper()
	return recordSearchFor(t, "p99<=10ms,errors<=0.2%", trials...)
}

func recordSearchFor(t *testing.T, slo string, trials ...record.TrialRecord) *Search {
	t.Helper()
	return recordSearchAs(t, record.Complete, slo, trials...)
}

func recordSearchAs(t *testing.T, status record.Status, slo string, trials ...record.TrialRecord) *Search {
	t.Helper()
	dir, err := record.Create(t.TempDir(), "demo", time.Now(), func() uint32 { return 1 })
	if err != nil {
		t.Fatal(err)
	}
	run := record.Run{Status: status, XMax: map[string]float64{"a": 1200}, Trials: len(trials), Env: record.Env{CPUs: 2, ItersPerUsec: 1}, Plan: record.Plan{
		Scenario: "demo", SLO: slo, Windows: 24, Window: record.Lasting(3 * time.Second), Budget: record.Lasting(90 * time.Second), Warmup: record.Lasting(500 * time.Millisecond),
		Arms: []record.PlanArm{{Name: "a", Mode: "loop", Station: &queueing.Station{Kind: queueing.Loops, Workers: 1, Cores: 1}}},
	}}
	for _, trial := range trials {
		if err := dir.WriteTrial(trial.Trial, trial.Requests, record.Files{}); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Objective{}.Judge(dir, run)
	if err != nil {
		t.Fatal(err)
	}
	return r.(*Search)
}

func TestASearchIsJudgedFromItsRecord(t *testing.T) {
	t.Parallel()
	steady := func(d time.Duration) func(int) time.Duration { return func(int) time.Duration { return d } }
	low, high := steady(5*time.Millisecond), steady(50*time.Millisecond)
	var trials []record.TrialRecord
	add := func(purpose string, rate float64, took func(int) time.Duration) {
		trial := searchedTrial(len(trials)+1, "a", purpose, rate, took, 200)
		trial.Server.CPU = rate * 3 * 800e-6
		trials = append(trials, trial)
	}
	add("curve", 600, low)
	add("curve", 1200, high)
	for range 3 {
		add("verify", 970, low)
	}
	for range 2 {
		add("refute", 1080, high)
	}
	add("overload", 1440, high)
	for range 3 {
		add("again", 970, high)
	}
	r := recordSearch(t, trials...)
	a := r.Arms[0]
	if a.Outcome != outcome.Yes || a.Low != 970 || a.High != 1080 || a.LowKept != 3 || a.HighBroken != 2 || a.Recovers != "no" || len(a.Windows) != len(trials) {
		t.Errorf("judged %+v", a)
	}
	if want := "a keeps p99<=10ms,errors<=0.2% up to between 970/s and 1,080/s; it does not recover: overloaded once, it breaks it at 970/s, too."; report.Headline(r) != want {
		t.Errorf("says %q, want %q", report.Headline(r), want)
	}
	if math.Abs(a.CPUPerRequest-800e-6) > 20e-6 {
		t.Errorf("a request takes %v s of CPU, want 0.8 ms", a.CPUPerRequest)
	}
	if want := []float64{600, 1200}; !slices.Equal(a.CPURates, want) {
		t.Errorf("that is of windows at %v/s, want %v/s", a.CPURates, want)
	}
	r = recordSearch(t, trials[:4]...)
	if a := r.Arms[0]; a.Outcome != outcome.Open || !strings.Contains(words(a.Fact), "no rate is verified or refuted in 4 windows") {
		t.Errorf("a search that was cut short says %q", words(a.Fact))
	}
}

func TestTheAnswerSaysWhyItEndsThere(t *testing.T) {
	t.Parallel()
	window := func(why string, rate, p99 float64) RateWindow {
		return RateWindow{Purpose: why, Rate: rate, Values: map[stats.Measure]float64{{Quantile: .99}: p99, {Figure: stats.Goodput}: rate}}
	}
	refused := func(rate float64, why fact.Fact) RateWindow {
		w := window(purposeReach, rate, .005)
		w.Refused = why
		return w
	}
	off := rateOff.Of(offRate{.1, .01})
	steal := ruleBroken.Of(broken{"steal (ratio)", .2, .01})
	times := func(n int, w RateWindow) []RateWindow { return slices.Repeat([]RateWindow{w}, n) }
	kept := func(rate float64) []RateWindow {
		return append(times(5, window(purposeCurve, rate, .005)), times(3, window(purposeVerify, rate, .005))...)
	}
	breaking := func(rate float64) []RateWindow {
		return append(times(5, window(purposeCurve, rate, .050)), times(2, window(purposeRefute, rate, .050))...)
	}
	died := &record.ArmEnd{Died: true, Rate: 4800, Why: "the server ended at 4800/s (exit status 7)"}
	for _, c := range []struct {
		windows []RateWindow
		budget  int // windows
		xmax    float64
		end     *record.ArmEnd
		slo     string
		want    string
	}{
		{kept(2000), 13, 1900, nil, "", "a keeps p99<=10ms at 2,000/s, and nothing up to 2,000/s broke it; the budget ended there: raise --budget"},
		{kept(2000), 24, 1900, nil, "", "a keeps p99<=10ms at 2,000/s, and nothing up to 2,000/s broke it; the search ended there"},
		{append(kept(2000), refused(2500, off)), 24, 1900, nil, "",
			"a keeps p99<=10ms at 2,000/s, and no rate that could be offered breaks it; 2,500/s was refused for rate off (ratio): 0.1, limit 0.01"},
		{append(kept(2000), refused(2500, steal)), 24, 1900, nil, "",
			"a keeps p99<=10ms at 2,000/s, and nothing up to 2,000/s broke it; 2,500/s was refused for steal (ratio): 0.2, limit 0.01" + others},
		{kept(runner.MostRequests / 3.5), 24, 1e6, nil, "", "a keeps p99<=10ms at 1,428,571/s, and no rate that could be offered breaks it; more than 1,428,571/s is more than a window has room for"},
		{breaking(1100. / 3), 24, 700, nil, "", "a does not keep p99<=10ms at 367/s: 2 of 2 windows break it; that is the lowest rate that a window of 3 s can judge: --window 6s looks down to half of it"},
		{breaking(900), 13, 1700, nil, "", "a does not keep p99<=10ms at 900/s: 2 of 2 windows break it; the budget ended there: raise --budget"},
		{append(breaking(900), window(purposeVerify, 700, .030)), 13, 1700, nil, "", "a does not keep p99<=10ms at 900/s: 2 of 2 windows break it, and none down to 700/s keeps it; the budget ended there: raise --budget"},
		{breaking(900), 24, 1700, nil, "p99<=10ms,goodput>=1000/s", "a keeps p99<=10ms,goodput>=1000/s at no rate: 2 of 2 windows at 900/s break it, and no lower one has goodput>=1000/s"},
		{append(kept(490), times(2, window(purposeRefute, 545, .050))...), 24, 600, nil, "p99<=10ms,goodput>=500/s",
			"a for p99<=10ms,goodput>=500/s: open, 545/s is refuted, and 500/s itself, which goodput>=500/s asks for, is neither verified nor refuted; windows of one rate differ too much, or the budget is too small: twice as much of both, --window 6s --budget 3m0s, may tell"},
		{nil, 24, 40, nil, "", "a is too slow to judge: it does 40/s at most, and a window of 3 s needs 367/s to judge p99<=10ms; lengthen --window to 56s with --budget 14m11.2s or ask for a lower quantile"},
		{nil, 24, 1000, nil, "p99<=10ms,errors<=0.03%", "a is too slow to judge: it does 1,000/s at most, and a window of 3 s needs 1,222/s to judge errors<=0.03%; lengthen --window to 8s with --budget 2m11.2s or promise less"},
		{breaking(5000)[:4], 24, 4700, died, "", "a died at 4,800/s: the server ended at 4800/s (exit status 7)"},
		{append(kept(4000), times(2, window(purposeRefute, 4400, .050))...), 24, 4700, died, "",
			"a keeps p99<=10ms up to between 4,000/s and 4,400/s; it does not recover: at 4,800/s it died (the server ended at 4800/s (exit status 7))"},
		{nil, 24, 0, &record.ArmEnd{Why: "not one good reply"}, "", "a for p99<=10ms: open, not one good reply"},
	} {
		slo := objective(t, cmp.Or(c.slo, "p99<=10ms"))
		run := record.Run{Plan: record.Plan{Window: record.Lasting(3 * time.Second), Warmup: record.Lasting(500 * time.Millisecond), Budget: record.Lasting(90 * time.Second), Windows: c.budget}, XMax: map[string]float64{"a": c.xmax}}
		if c.end != nil {
			run.Ends = map[string]record.ArmEnd{"a": *c.end}
		}
		a := searched{plan: record.PlanArm{Name: "a"}, run: run, options: Objective{slo}.options(run.Plan)}
		a.Windows = c.windows
		if a.find(); words(a.conclusion()) != c.want {
			t.Errorf("says %q, want %q", words(a.conclusion()), c.want)
		}
	}
}

func TestCapacitiesAreComparedOnlyWhereTheyLieApart(t *testing.T) {
	t.Parallel()
	between := func(name string, low, high float64) ArmCapacity {
		return ArmCapacity{Contestant: record.Contestant{Name: name}, Outcome: outcome.Yes, Low: low, High: high, Fact: fact.Fact{Code: capacityBetween.Code}}
	}
	c := &Search{SLO: "p99<=10ms", Arms: []ArmCapacity{
		between("base", 1000, 1100), between("more", 1200, 1300), between("less", 800, 990), between("like", 1090, 1150),
		{Contestant: record.Contestant{Name: "open"}, Outcome: outcome.Open, Low: 2000},
	}}
	var lines []string
	for _, f := range comparedCapacities(c.Arms) {
		lines = append(lines, words(f))
	}
	got := strings.Join(lines, "\n")
	want := "more has more capacity than base: at least 1,200/s against at most 1,100/s\n" +
		"less has less capacity than base: at most 990/s against at least 1,000/s\n" +
		"not told apart from base, for their intervals overlap: like"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if h := report.Headline(c); h != "No arm is sure to have the most capacity for p99<=10ms: base 1,000 to 1,100/s, more 1,200 to 1,300/s, less 800 to 990/s, like 1,090 to 1,150/s, and 1 more." {
		t.Errorf("with an open arm: %q", h)
	}
	c.Arms = c.Arms[:4]
	if h := report.Headline(c); h != "more has the most capacity for p99<=10ms: at least 1,200/s, the others at most 1,150/s." {
		t.Errorf("got %q", h)
	}
}

func words(f fact.Fact) string {
	if f.None() {
		return ""
	}
	return f.String()
}
