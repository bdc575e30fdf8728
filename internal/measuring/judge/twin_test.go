package judge

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/measuring/report"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/queueing"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
	"schedlab/internal/shared/stats"
)

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

const (
	twinCost = 100e-6 // CPU seconds a request has beyond its demand
	twinRest = 300e-6 // of its response time that no twin has
	perMicro = 2.     // iterations
)

// mirrored is a run of three pools on one core, with a second of exponential demands
// in each window, whose servers are ideal but for twinCost and twinRest.
func mirrored() synthetic {
	s := synthetic{}
	s.edit = func(t *record.Trial, requests []request.Request) []request.Request {
		rng := rand.New(rand.NewPCG(t.Seed, 9))
		jobs := make([]queueing.Job, len(requests))
		for i := range requests {
			requests[i].Iters = uint32(rng.ExpFloat64() * 500 * perMicro)
			demand := float64(requests[i].Iters) / perMicro * 1e-6
			jobs[i] = queueing.Job{At: time.Duration(requests[i].Scheduled), CPU: record.Duration(demand + twinCost)}
		}
		completions, err := queueing.Replay(queueing.Station{Workers: 1, Cores: 1, Turn: queueing.GoTurn}, jobs)
		if err != nil {
			panic(err)
		}
		used := 0.0
		for i, f := range completions {
			requests[i].Done = int64(f.Finish + record.Duration(twinRest))
			if done := time.Duration(requests[i].Done).Seconds(); done >= t.Warmup.Seconds() && done < t.Warmup.Seconds()+t.Window.Seconds() {
				used += jobs[i].CPU.Seconds()
			}
		}
		t.Server.CPU = used
		return requests
	}
	return s
}

// twinRun is s's run with stations that twins can be made of, and expectations.
func twinRun(s synthetic, expect ...string) record.Run {
	run := s.run()
	run.Env.ItersPerUsec, run.Plan.Expect = perMicro, expect
	for i := range run.Plan.Arms {
		run.Plan.Arms[i].Station = &queueing.Station{Kind: "pool", Workers: 1 + 3*(i/3), Cores: 1}
	}
	run.Plan.Arms[2].Station.Unknown = "it is a riddle"
	return run
}

func judgedRun(t *testing.T, s synthetic, run record.Run) *record.Comparison {
	t.Helper()
	j, err := New("run", "dir", run, Winner{})
	if err != nil {
		t.Fatal(err)
	}
	for trial := range s.trials() {
		j.Take(trial, nil)
	}
	return j.judge().result
}

// What is planted beside an ideal server is found: CPU time beyond the demand as
// overhead, and what no scheduler knows of as interference.
func TestTwinTellsOverheadFromInterference(t *testing.T) {
	t.Parallel()
	s := mirrored()
	r := judgedRun(t, s, twinRun(s,
		`within(mean("pool"), twin_mean("pool") + 300us, 0.01)`, `overhead("pool") > 100us`, `twin_mean("fasthttp") < 1s`))
	for _, a := range []record.Arm{r.Arms[0], r.Arms[3]} {
		w := a.Twin
		if w == nil || w.Mean == nil {
			t.Fatalf("%s: got the twin %+v, want figures", a.Name, w)
		}
		for what, c := range map[string][2]float64{
			"interference":      {w.Interference.Median, twinRest},
			"CPU beyond demand": {w.Beyond.Median, twinCost},
			"measured":          {w.Measured.Median, *a.Mean},
			"p99":               {w.MeasuredP99.Median - w.P99.Median, twinRest},
		} {
			if math.Abs(c[0]-c[1]) > .05*c[1] {
				t.Errorf("%s: %s is %.4g ms, want %.4g ms", a.Name, what, 1e3*c[0], 1e3*c[1])
			}
		}
		if w.Overhead.Median < twinCost || w.Overhead.Median > w.Mean.Median {
			t.Errorf("%s: %.4g ms of CPU time beyond the demand add %.4g ms to %.4g", a.Name, 1e3*twinCost, 1e3*w.Overhead.Median, 1e3*w.Mean.Median)
		}
		if w.Interference.Low > w.Interference.Median || w.Interference.High < w.Interference.Median || w.Loss != nil {
			t.Errorf("%s: got interference %+v and loss %+v, want a median within its interval and no loss", a.Name, w.Interference, w.Loss)
		}
	}
	for i, want := range []outcome.Outcome{outcome.Yes, outcome.Yes, outcome.Refused} {
		if e := r.Expectations[i]; e.Outcome != want {
			t.Errorf("%s: got %s, %q; want %s", e.Text, e.Outcome, words(e.Reason), want)
		}
	}
	if reason := words(r.Expectations[2].Reason); !strings.Contains(reason, "it is a riddle") {
		t.Errorf("got the reason %q, want why there is no twin", reason)
	}
	if w := r.Arms[2].Twin; w == nil || words(w.Why) != "it is a riddle" || w.Mean != nil {
		t.Errorf("got the twin %+v, want none and why", w)
	}
}

// `schedlab runs show` makes the same table from the record alone.
func TestTwinFromTheRecordAlone(t *testing.T) {
	t.Parallel()
	s := mirrored()
	want := judgedRun(t, s, twinRun(s))
	dir, _ := s.write(t)
	if err := dir.WriteRun(twinRun(s)); err != nil {
		t.Fatal(err)
	}
	opened, run, err := record.Open(dir.Path(), ".")
	if err != nil {
		t.Fatal(err)
	}
	got, err := comparisonOf(opened, run)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want.Arms {
		if diff := cmp.Diff(want.Arms[i].Twin, got.Arms[i].Twin); diff != "" {
			t.Errorf("%s (-live +from the record):\n%s", want.Arms[i].Name, diff)
		}
	}
	var text bytes.Buffer
	if err := report.Formats().Render(&text, "text", got); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Against the ideal twin", "interference", "fasthttp: no twin: it is a riddle"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, text.String())
		}
	}
}

// A run without stations, of another version, has no twins; nor have foreign arms.
func TestNoTwin(t *testing.T) {
	t.Parallel()
	for _, a := range (synthetic{}).judged(t).Arms {
		if a.Twin != nil {
			t.Errorf("%s of a record without stations: got the twin %+v, want none", a.Name, a.Twin)
		}
	}
	s := synthetic{}
	run := twinRun(s)
	run.Plan.Arms[3].Mode, run.Plan.Arms[3].Station = "", nil
	r := judgedRun(t, s, run)
	for arm, want := range map[int]string{0: "what each request costs is not known", 3: "unknown discipline"} {
		if w := r.Arms[arm].Twin; w == nil || !strings.Contains(words(w.Why), want) {
			t.Errorf("arm %d: got the twin %+v, want none because %q", arm, w, want)
		}
	}
}

func TestTwinOf(t *testing.T) {
	t.Parallel()
	pool, sticky := queueing.Station{Kind: "pool", Workers: 4, Cores: 1}, queueing.Station{Kind: "pool", Workers: 4, Cores: 1, Sticky: true}
	open := record.Clients{Loop: "open"}
	kept := func(n int) record.Clients { return record.Clients{Loop: "open", KeepAlive: true, Connections: n} }
	refusing, dropping := pool, pool
	refusing.Places, refusing.Overflow = 6, "reject"
	dropping.Places, dropping.Overflow = 6, "drop"
	aging := pool
	aging.Places, aging.Overflow, aging.Target, aging.Interval = 1028, "reject", queueing.Span(queueing.CoDelTarget), queueing.Span(queueing.CoDelInterval)
	p2c := sticky
	p2c.Kind, p2c.Pick = "per-worker", "p2c"
	for _, c := range []struct {
		what    string
		station queueing.Station
		clients record.Clients
		want    string // the station, or a part of why there is none
	}{
		{"a connection each", sticky, open, "pool of 4, places 0"},
		{"a worker for each kept connection", sticky, kept(4), "goroutines of 0, places 4 outside"},
		{"more kept connections than workers", sticky, kept(64), "60 of 64 kept ones are never served"},
		{"idle ones hold workers, too", sticky, record.Clients{KeepAlive: true, Connections: 4, Idle: 1}, "1 of 5 kept ones"},
		{"kept connections on queues by chance", p2c, kept(2), "can fall to the same worker"},
		{"requests on kept connections", pool, kept(64), "pool of 4, places 64 outside"},
		{"more connections than places", refusing, kept(64), "pool of 4, places 6"},
		{"fewer connections than places", refusing, kept(5), "pool of 4, places 5 outside"},
		{"dropped on kept connections", dropping, kept(64), "keeps its connection until the client gives up"},
		{"dropped with its connection", dropping, open, "pool of 4, places 6"},
		{"an aging queue", aging, open, "pool of 4, places 1028"},
		{"an aging queue behind kept connections", aging, kept(64), "its kept connections limit the queue"},
		{"an aging queue never full", aging, kept(2000), "pool of 4, places 1028"},
		{"a closed loop", pool, record.Clients{Loop: "closed", KeepAlive: true, Connections: 64}, "pool of 4, places 0"},
		{"clients that think", pool, record.Clients{Loop: "closed", Connections: 64, Think: record.Lasting(10 * time.Millisecond)}, "think"},
	} {
		st, _, why := twinOf(record.PlanArm{Mode: "m", Station: &c.station, Clients: c.clients})
		got := words(why)
		if why.None() {
			got = st.Kind + " of " + jsonOf(st.Workers) + ", places " + jsonOf(st.Places)
			if st.Overflow == queueing.Blocks {
				got += " outside"
			}
		}
		if got != c.want && !(!why.None() && strings.Contains(words(why), c.want)) {
			t.Errorf("%s: got %q, want %q", c.what, got, c.want)
		}
	}
	if _, _, why := twinOf(record.PlanArm{Mode: "strange", Clients: open}); why.Code != "twin-not-recorded" {
		t.Errorf("a mode that is no station: got %q", why)
	}
}

func jsonOf(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Ten clients that wait for one core, 2 ms a request: 20 ms each.
func TestTwinPlaysClients(t *testing.T) {
	t.Parallel()
	trial := record.TrialRecord{Trial: record.Trial{Window: record.Lasting(2 * time.Second), Server: record.ServerSide{CPU: 2}}}
	for i := range 1000 {
		at := int64(i) * 2e6
		trial.Requests = append(trial.Requests, request.Request{Scheduled: at, Sent: at, Done: at + 1e6, Status: 200, Iters: 2000})
	}
	clients := record.Clients{Loop: "closed", Connections: 10, KeepAlive: true}
	for _, c := range []struct {
		station queueing.Station
		why     string
	}{
		{queueing.Station{Workers: 1, Cores: 1, Turn: queueing.GoTurn}, ""},
		{queueing.Station{Kind: queueing.Goroutines, Cores: 1, Turn: queueing.GoTurn}, ""},
		{queueing.Station{Workers: 1, Cores: 1, Turn: queueing.GoTurn, Places: 3}, "ask again at once"},
	} {
		w := &modelled{}
		why := replay(w, trial, c.station, record.PlanArm{Clients: clients}, record.Env{ItersPerUsec: 1})
		if mean := w.Values[stats.TwinMean].Float(); c.why == "" && (!why.None() || math.Abs(mean-.02) > 1e-9) || !strings.Contains(words(why), c.why) {
			t.Errorf("%v, %d places: got %.4g s, %q; want 0.02 s, or %q", c.station.Kind, c.station.Places, mean, why, c.why)
		}
	}
}

// Replies lost do not bear their demand, and what they cost is the others'.
func TestBeyondDemand(t *testing.T) {
	t.Parallel()
	trial := record.TrialRecord{Trial: record.Trial{Window: record.Lasting(time.Second), Server: record.ServerSide{CPU: .5}}}
	for i := range 200 {
		r := request.Request{Scheduled: int64(i) * 4e6, Done: int64(i)*4e6 + 1e6, Status: 200, Iters: 4000}
		if i%2 == 1 {
			r.Status = 503
		}
		trial.Requests = append(trial.Requests, r)
	}
	if cpu, ok := beyondDemand(trial, 1e-6); !ok || math.Abs(cpu-1e-3) > 1e-12 {
		t.Errorf("got %v s, %v; want 1 ms: 0.5 s less 100 demands of 4 ms, for each of 100", cpu, ok)
	}
	if _, ok := beyondDemand(record.TrialRecord{}, 1e-6); ok {
		t.Error("no request: got a figure")
	}
}
