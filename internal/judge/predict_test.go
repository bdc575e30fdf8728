package judge

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/queueing"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
	"schedlab/internal/window"
)

// predicted is what a model says of a station under a load.
func predicted(t *testing.T, model string, st record.Station, l queueing.Load) queueing.Prediction {
	t.Helper()
	for _, th := range theories() {
		if th.name == model {
			return th.predict(st, l, record.Clients{})
		}
	}
	t.Fatalf("no model %q", model)
	return queueing.Prediction{}
}

func near(t *testing.T, what string, got *float64, want float64) {
	t.Helper()
	if got == nil || !(math.Abs(*got/want-1) <= .005) { // NaN, too
		t.Errorf("%s: got %v, want %v", what, figure(got), want)
	}
}

func figure(v *float64) any {
	if v == nil {
		return "none"
	}
	return *v
}

// A goroutine that sleeps holds no core, so its sleep is a delay and no service:
// 300/s of 0.1 ms and 20 ms asleep keep a core 3 % busy.
func TestSleepingGoroutinesHoldNoServer(t *testing.T) {
	t.Parallel()
	for _, cores := range []int{1, 2} {
		st := record.Station{Kind: queueing.Goroutines, Cores: cores, Turn: queueing.GoTurn}
		p := predicted(t, "mgc", st, queueing.Load{Rate: 300, CA2: .93, Service: 100e-6, SCV: .01, Block: 20e-3})
		near(t, "mean", p.Mean, 20e-3+queueing.MMc(300, 100e-6, cores))
		near(t, "goodput", p.Throughput, 300)
		if p.P50 != nil {
			t.Errorf("p50: got %v; sharing gives the mean alone", *p.P50)
		}
	}
	pool := record.Station{Kind: queueing.Pool, Workers: 4, Cores: 1, Turn: queueing.GoTurn}
	near(t, "goodput of 4 workers", predicted(t, "mgc", pool, queueing.Load{Rate: 300, CA2: 1, Service: 100e-6, SCV: .01, Block: 20e-3}).Throughput, 4/20.1e-3)
}

// M/M/1 of a queue that refuses is M/M/1/K, whatever the window's own moments came
// to: measurement.md gives 15.02 S at rho 1.5 and K = 17.
func TestMM1KnowsTheQueue(t *testing.T) {
	t.Parallel()
	st := record.Station{Kind: queueing.Pool, Workers: 1, Cores: 1, Turn: queueing.GoTurn, Places: 17}
	p := predicted(t, "mm1", st, queueing.Load{Rate: 1500, CA2: .9, Service: 1e-3, SCV: 1.2})
	near(t, "mean", p.Mean, 15.02e-3)
	near(t, "goodput", p.Throughput, 1000)
	near(t, "loss", p.Loss, 1./3)
}

// Six clients of ten that a sticky pool never serves are none of the loop's N.
func TestBoundsCountTheServed(t *testing.T) {
	t.Parallel()
	run := synthetic{}.run()
	run.Env.ItersPerUsec = 2
	run.Plan.Predict = []string{"bounds"}
	arm := &run.Plan.Arms[0]
	arm.Clients = record.Clients{Loop: "closed", Connections: 10, KeepAlive: true}
	arm.Station = &record.Station{Kind: "pool", Workers: 4, Cores: 1}
	trial := closedTrial(4, 400)
	trial.Arm = arm.Name
	trial.Server.CPU = fakeWindow // 2.5 ms a request
	trial.Client.ConnAnswers = append(trial.Client.ConnAnswers, make([]uint32, 6)...)
	trial.Client.Asked, trial.Client.Starved = 10, 6
	p := model(window.Reduce(trial, run.Env, arm.Clients), trial, *arm, run).predicted["bounds"]
	near(t, "mean", p.Mean, 10e-3)
	near(t, "goodput", p.Throughput, 400)
}

// What refusals cost is the good replies' CPU time, as for the ideal twin: a server
// that is always busy serves no more than it did.
func TestOverheadIsOfTheServed(t *testing.T) {
	t.Parallel()
	run := synthetic{}.run()
	run.Env.ItersPerUsec = 2
	run.Plan.Predict = []string{"mm1"}
	arm := &run.Plan.Arms[0]
	arm.Station = &record.Station{Kind: "pool", Workers: 1, Cores: 1, Places: 17, Overflow: "reject"}
	for trial := range (synthetic{edit: some(3, func(r *record.Request) { r.Status = 503 })}).trials() {
		if trial.Arm != arm.Name {
			continue
		}
		trial.Server.CPU = fakeWindow
		w := model(window.Reduce(trial, run.Env, arm.Clients), trial, *arm, run)
		near(t, "goodput", w.predicted["mm1"].Throughput, fakeRate*2/3)
		return
	}
}

// A model without a figure says what it lacks, and the twin plays closed loops' clients. A model
// that only an older version knew is left out.
func TestPredictionsSayWhyThereIsNone(t *testing.T) {
	t.Parallel()
	s := mirrored()
	run := twinRun(s)
	run.Plan.Predict = []string{"fit", "twin", "bounds", "usl"}
	run.Plan.Arms[0].Clients = record.Clients{Loop: "closed", Connections: 10, KeepAlive: true}
	run.Plan.Arms[3].Mode, run.Plan.Arms[3].Station = "", nil
	j, err := New("run", "dir", run, Aim{})
	if err != nil {
		t.Fatal(err)
	}
	for trial := range s.trials() {
		j.Take(trial, nil)
	}
	b := blocks{run: run, windows: j.windows, valid: []int{1, 2}}
	for arm, want := range map[string][]string{
		"nethttp":  {"it describes open loops", "", ""},
		"nethttp'": {"", "", "it bounds closed loops only"},
		"fasthttp": {"", "no twin: it is a riddle", "closed loops"},
		"pool":     {"another program", "unknown discipline: another program", "closed loops"},
	} {
		all := b.predictions(arm)
		if len(all) != len(want) {
			t.Fatalf("%s: got %d predictions, want %d", arm, len(all), len(want))
		}
		for i, p := range all {
			if len(p.Values) > 0 != (want[i] == "") || !strings.Contains(words(p.Why), want[i]) {
				t.Errorf("%s, %s: got %v and %q, want %q", arm, p.Model, p.Values, words(p.Why), want[i])
			}
		}
	}
}

// A scenario may name every theory there is, and no other.
func TestTheoryNames(t *testing.T) {
	t.Parallel()
	var names []string
	for _, th := range theories() {
		names = append(names, th.name)
	}
	if diff := cmp.Diff(scenario.TheoryNames, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// closedTrial is one of n clients that together get x answers a second, each as soon
// as its last.
func closedTrial(n int, x float64) record.TrialRecord {
	t := record.TrialRecord{Trial: record.Trial{
		Warmup: fakeWarmup, Window: fakeWindow,
		Server: record.ServerSide{CPU: x * 100e-6, Foreign: .001, Accepted: float64(n), Done: float64(n)},
		Client: record.ClientSide{CPU: .2, Dialled: uint64(n)},
	}}
	took := float64(n) / x
	for i := range n {
		answers := 0
		for at := took * float64(i) / float64(n); at+took < fakeWarmup+fakeWindow; at += took {
			answers++
			if at+took >= fakeWarmup {
				t.Requests = append(t.Requests, record.Request{Scheduled: int64(at * 1e9), Sent: int64(at * 1e9), Done: int64((at + took) * 1e9), Bytes: 3, Status: 200})
			}
		}
		t.Client.ConnAnswers = append(t.Client.ConnAnswers, uint32(answers))
	}
	t.Client.Asked = n
	return t
}
