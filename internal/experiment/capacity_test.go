package experiment

import (
	"math"
	"strings"
	"testing"
	"time"

	"schedlab/internal/capacity"
	"schedlab/internal/queueing"
	"schedlab/internal/record"
	"schedlab/internal/stats"
)

func objective(t *testing.T, text string) stats.SLO {
	t.Helper()
	slo, err := stats.ParseSLO(text)
	if err != nil {
		t.Fatal(err)
	}
	return slo
}

func TestASearchIsPlannedWithoutACopyOfTheBaseline(t *testing.T) {
	t.Parallel()
	s, err := ParseScenario("demo", []byte(good))
	if err != nil {
		t.Fatal(err)
	}
	s.Arms = s.Arms[:1]
	c, err := PlanCapacity(s, Options{Self: "schedlab", Pin: "none", Modes: map[string]Mode{"nethttp": {}}}, objective(t, "p99<=10ms"))
	if err != nil {
		t.Fatal(err)
	}
	p := c.Planned()
	if len(p.Arms) != 1 || p.Arms[0].Role != record.Baseline || p.Windows != 24 || p.Estimate != 93 || p.SLO != "p99<=10ms" || p.Stamps != "off" {
		t.Errorf("planned %+v, want one arm of 24 windows without stamps in 93 s", p)
	}
	if got := p.Arms[0].Clients; got.Timeout != 1 || got.Rate != 0 {
		t.Errorf("its clients are %+v, want a timeout of 100 limits and no rate", got)
	}
}

// searchedTrial is a window in which every request took as long as took says.
func searchedTrial(number int, arm, purpose string, rate float64, took func(i int) time.Duration, status uint16) record.TrialRecord {
	t := record.TrialRecord{Trial: record.Trial{Number: number, Block: number, Arm: arm, Warmup: .5, Window: 3, Rate: rate, Purpose: purpose, Server: unknownServer()}}
	t.Server.CPU, t.Server.Foreign = 1, 0
	gap := time.Duration(float64(time.Second) / rate)
	for i := range int(rate * 3.5) {
		at := int64(i) * int64(gap)
		t.Requests = append(t.Requests, record.Request{Scheduled: at, Sent: at + 1000, Done: at + int64(took(i)), Status: status})
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
	w, _ := reduced(searchedTrial(1, "a", "curve", 1000, took, 200), record.Env{CPUs: 2}, record.Clients{}, slo)
	if w.Refused != "" || w.Purpose != capacity.Curve || w.Rate != 1000 || math.Abs(w.Sent-1000) > 1 {
		t.Errorf("reduced to %+v", w)
	}
	for i, want := range []float64{.040, .00276, 0, 1000, math.NaN()} { // 3000 requests are too few for p99.9
		if got := w.Values[i]; math.Abs(got-want) > .002*want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("%s is %v, want %v", slo[i].Metric, got, want)
		}
	}
}

func TestOnlyTheInstrumentRefusesAWindow(t *testing.T) {
	t.Parallel()
	slo := objective(t, "p99<=10ms")
	e := record.Env{CPUs: 2}
	// Behind by a second at the end: what a search looks for.
	behind := searchedTrial(1, "a", "refute", 1000, func(i int) time.Duration { return time.Duration(i) * time.Second / 3500 }, 200)
	if w, _ := reduced(behind, e, record.Clients{}, slo); w.Refused != "" || w.Keeps(slo) {
		t.Errorf("an overloaded window is refused for %q, kept: %v", w.Refused, w.Keeps(slo))
	}
	brief := func(int) time.Duration { return time.Millisecond }
	for name, spoil := range map[string]func(*record.TrialRecord){
		"foreign load": func(t *record.TrialRecord) { t.Server.Foreign = 1 },
		"generator":    func(t *record.TrialRecord) { t.Client.CPU = 5.9 },
		"steal":        func(t *record.TrialRecord) { t.Client.Steal = 1 },
		"cgroup":       func(t *record.TrialRecord) { t.Client.Throttled = 1 },
		"lag": func(t *record.TrialRecord) {
			for i := range t.Requests {
				t.Requests[i].Sent += int64(5 * time.Millisecond)
				t.Requests[i].Done += int64(5 * time.Millisecond)
			}
		},
	} {
		trial := searchedTrial(1, "a", "near", 1000, brief, 200)
		spoil(&trial)
		if w, _ := reduced(trial, e, record.Clients{}, slo); !strings.Contains(w.Refused, name) {
			t.Errorf("with %s it is refused for %q", name, w.Refused)
		}
	}
}

// recordSearch records a search of one arm whose p99 is 5 ms below 1000/s and
// 50 ms from there on.
func recordSearch(t *testing.T, trials ...record.TrialRecord) *record.Result {
	t.Helper()
	dir, err := record.Create(t.TempDir(), "demo", time.Now(), func() uint32 { return 1 })
	if err != nil {
		t.Fatal(err)
	}
	run := record.Run{Status: record.Complete, XMax: map[string]float64{"a": 1200}, Trials: len(trials), Env: record.Env{CPUs: 2, ItersPerUsec: 1}, Plan: record.Plan{
		Scenario: "demo", SLO: "p99<=10ms,errors<=0.1%", Window: 3, Warmup: .5, Predict: []string{"mm1"},
		Arms: []record.PlanArm{{Name: "a", Mode: "loop", Station: &record.Station{Kind: queueing.Loops.String(), Workers: 1, Cores: 1}}},
	}}
	for _, trial := range trials {
		if err := dir.WriteTrial(trial.Trial, trial.Requests, record.Files{}); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Judge(dir, run)
	if err != nil {
		t.Fatal(err)
	}
	return r
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
	for range 2 {
		add("again", 970, high)
	}
	r := recordSearch(t, trials...)
	a := r.Capacity.Arms[0]
	if a.Outcome != "between" || a.Low != 970 || a.High != 1080 || a.LowKept != 3 || a.HighBroken != 2 || a.Recovers != "no" || len(a.Windows) != len(trials) {
		t.Errorf("judged %+v", a)
	}
	if want := "a keeps p99<=10ms,errors<=0.1% up to between 970/s and 1,080/s; it does not recover: overloaded once, it breaks it at 970/s, too."; r.Headline != want {
		t.Errorf("says %q, want %q", r.Headline, want)
	}
	if math.Abs(a.CPUPerRequest-800e-6) > 20e-6 {
		t.Errorf("a request takes %v s of CPU, want 0.8 ms", a.CPUPerRequest)
	}
	// M/M/1: 1250/s - ln 100/10 ms.
	if len(a.Theories) != 1 || math.Abs(a.Theories[0].Rate-789.5) > 25 || a.Theories[0].Formula != "M/M/c" || len(a.Theories[0].Curve) < 5 {
		t.Errorf("theory says %+v, want 790/s by M/M/1", a.Theories)
	}

	r = recordSearch(t, trials[:4]...)
	if a := r.Capacity.Arms[0]; a.Outcome != "undecided" || !strings.Contains(a.Text, "no rate is verified or refuted in 4 windows") {
		t.Errorf("a search that was cut short says %q", a.Text)
	}
}

func TestCapacitiesAreComparedOnlyWhereTheyLieApart(t *testing.T) {
	t.Parallel()
	between := func(name string, low, high float64) record.ArmCapacity {
		return record.ArmCapacity{Name: name, Outcome: "between", Low: low, High: high, Text: name + " keeps it"}
	}
	c := &record.Capacity{SLO: "p99<=10ms", Arms: []record.ArmCapacity{
		between("base", 1000, 1100), between("more", 1200, 1300), between("less", 800, 990), between("like", 1090, 1150),
		{Name: "open", Outcome: "undecided", Low: 2000},
	}}
	got := strings.Join(comparedCapacities(c.Arms), "\n")
	want := "more has more capacity than base: at least 1,200/s against at most 1,100/s\n" +
		"less has less capacity than base: at most 990/s against at least 1,000/s\n" +
		"not told apart from base, for their intervals overlap: like"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if h := capacityHeadline(c); h != "No arm is sure to have the most capacity for p99<=10ms: base 1,000/s to 1,100/s, more 1,200/s to 1,300/s, less 800/s to 990/s, like 1,090/s to 1,150/s, and 1 more." {
		t.Errorf("with an open arm: %q", h)
	}
	c.Arms = c.Arms[:4]
	if h := capacityHeadline(c); h != "more has the most capacity for p99<=10ms: at least 1,200/s, the others at most 1,150/s." {
		t.Errorf("got %q", h)
	}
}

func TestLoadsThatASearchCannotSetAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ load, want string }{
		{"{loop: closed, connections: 8}", "is asked in a closed loop"},
		{"{rate: 300/s, arrivals: 'sine(0.5,2s)'}", "have no steady rate"},
		{"{rate: 300/s, arrivals: 'trace(x.txt)'}", "have no steady rate"},
		{"{rate: 300/s, vary: {rate: [300/s, 400/s]}}", "varies its load"},
		{"{rate: 300/s, arrivals: 'burst(12)'}", ""},
		{"{rate: 300/s, arrivals: constant}", ""},
	} {
		s, err := ParseScenario("demo", []byte(strings.Replace(good, "load:\n  rate: 300/s", "load: "+c.load, 1)))
		if err != nil {
			t.Fatal(err)
		}
		err = s.steady()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("load %s: %v, want %q", c.load, err, c.want)
		}
	}
	s, err := ParseScenario("demo", []byte(armed("{name: other, mode: fasthttp, rate: 400/s}")))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.steady(); err == nil || !strings.Contains(err.Error(), `arm "other" has a load of its own`) {
		t.Errorf("an arm with its own rate: %v", err)
	}
}
