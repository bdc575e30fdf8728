package judge

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"schedlab/internal/measuring/window"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
	"schedlab/internal/shared/timeline"
)

// us writes stamps in microseconds.
const us = int64(time.Microsecond)

// stampedAt are the stamps of a request that took took ns from its scheduled time, of
// which the last but 200 µs lay in a queue when waited says so, and in the handler
// otherwise.
func stampedAt(r request.Request, waited bool) request.Stamps {
	s := request.Stamps{
		Ready: r.Sent + 10*us, Wrote: r.Sent + 20*us,
		Accept: r.Sent + 30*us, Received: r.Sent + 35*us, Read: r.Sent + 40*us, Enqueue: r.Sent + 50*us,
		Write: r.Done - 20*us, First: r.Done - 10*us,
	}
	s.End = s.Write - 10*us
	s.Dequeue = s.Enqueue
	if waited {
		s.Dequeue = s.End - 60*us
	}
	s.Begin = s.Dequeue
	return s
}

// stamped judges expectations on a run of which every request has stamps; the pool
// takes twice the usual time, and what is more in its queue. edit changes a trial's
// stamps.
func stamped(t *testing.T, edit func(arm string, block int, stamps []request.Stamps), texts ...string) *record.Comparison {
	t.Helper()
	s := synthetic{times: scaled(map[string]float64{"pool": 2})}
	run := s.run()
	run.Plan.Expect, run.Plan.Stamps = texts, record.StampsFull
	j, err := New("run", "dir", run, Winner{})
	if err != nil {
		t.Fatal(err)
	}
	for trial := range s.trials() {
		for _, r := range trial.Requests {
			trial.Stamps = append(trial.Stamps, stampedAt(r, trial.Arm == "pool"))
		}
		if edit != nil {
			edit(trial.Arm, trial.Block, trial.Stamps)
		}
		j.Take(trial, nil)
	}
	return j.judge().result
}

// Of nethttp the handler has all but 120 µs of the mean of 1.5 ms; the pool's
// handler has 60 µs, and what is left of 3 ms is its queue's. So of the 1.5 ms
// between them the queue makes up more than all, and the handler less than none.
func TestExplainedAndPhase(t *testing.T) {
	t.Parallel()
	want := map[string]outcome.Outcome{
		`within(phase("pool", "queue"), mean("pool") - 160us, 0.001)`:                                          outcome.Yes,
		`phase("nethttp", "queue") == 0`:                                                                       outcome.Yes,
		`within(phase("nethttp", "handler"), mean("nethttp") - 100us, 0.001)`:                                  outcome.Yes,
		`phase("pool", "interference") == phase("pool", "unexplained")`:                                        outcome.Yes,
		`within(phase("pool", "kernel"), 35us, 0.001)`:                                                         outcome.Yes,
		`within(explained("queue"), phase("pool", "queue") / (mean("pool") - mean("nethttp")), 0.001)`:         outcome.Refused, // of fasthttp there is nothing to explain
		`within(explained("queue", "pool"), phase("pool", "queue") / (mean("pool") - mean("nethttp")), 0.001)`: outcome.Yes,
		`explained("queue", "pool") > 1`:                                                                       outcome.Yes,
		`explained("handler", "pool") < 0`:                                                                     outcome.Yes,
		`explained("queue", "pool") < 0.8`:                                                                     outcome.No,
		`phase("pool", "nowhere") < 1`:                                                                         outcome.Refused,
	}
	var texts []string
	for text := range want {
		texts = append(texts, text)
	}
	r := stamped(t, nil, texts...)
	if len(r.NotChecked) != 1 || strings.Contains(strings.Join(r.NotChecked, ""), "stamps") {
		t.Errorf("not checked: %q, want what the load sent alone", r.NotChecked)
	}
	if r.Valid != fakeBlocks || len(r.Expectations) != len(want) {
		t.Fatalf("%d valid blocks, refused %v, %d expectations; want %d, none, %d", r.Valid, r.Refused, len(r.Expectations), fakeBlocks, len(want))
	}
	for _, e := range r.Expectations {
		if e.Outcome != want[e.Text] {
			t.Errorf("%s: got %s, %q; want %s", e.Text, e.Outcome, words(e.Reason), want[e.Text])
		}
	}
	for _, a := range r.Arms {
		sum, tail := 0.0, 0.0
		for _, p := range a.Phases {
			sum, tail = sum+p.Mean, tail+p.Tail
		}
		if math.Abs(sum / *a.Mean - 1) > .01 || tail < 2*sum || a.Joined != 1 {
			t.Errorf("%s: phases add up to %.3g and %.3g s, %g of them joined; want the mean %.3g, more in the tail, and 1", a.Name, sum, tail, a.Joined, *a.Mean)
		}
	}
}

// A core that computes faster than when it was calibrated leaves less than nothing
// beyond the demand, and the phases add up to the response time all the same.
func TestInterferenceKeepsItsSign(t *testing.T) {
	t.Parallel()
	r := request.Request{Done: 1080 * us, Iters: 537, Sleep: 500 * us, Status: 200, Outcome: request.Answered}
	for perIter, want := range map[float64]float64{1e-6: -37e-6, 2e-7: 392.6e-6} { // of a service of 1 ms
		p := window.PhasesOf(record.TrialRecord{
			Trial: record.Trial{Window: record.Lasting(time.Second)}, Requests: []request.Request{r}, Stamps: []request.Stamps{stampedAt(r, false)},
		}, perIter)
		sum := 0.0
		for _, phase := range p.List() {
			sum += phase.Mean
			if phase.Name == timeline.PhaseRest && math.Abs(phase.Mean-want) > 1e-12 {
				t.Errorf("with %g s an iteration %.1f µs are unexplained, want %.1f", perIter, 1e6*phase.Mean, 1e6*want)
			}
		}
		if math.Abs(sum-1080e-6) > 1e-12 {
			t.Errorf("with %g s an iteration the phases add up to %.3f µs of 1080", perIter, 1e6*sum)
		}
	}
}

func TestUnstampedRunExplainsNothing(t *testing.T) {
	t.Parallel()
	for text, got := range asserted(t, synthetic{times: scaled(map[string]float64{"pool": 2})}, `explained("queue", "pool") >= 0.8`, `phase("pool", "queue") > 0`) {
		if got.Outcome != outcome.Refused || words(got.Reason) != "timeline not recorded" {
			t.Errorf("%s: got %s, %q; want refused, timeline not recorded", text, got.Outcome, words(got.Reason))
		}
	}
}

// What only a server can tell is no phase of one that stamps nothing.
func TestPhasesOfAServerThatStampsNothing(t *testing.T) {
	t.Parallel()
	p := window.Phases{Stamped: true, Good: 10}
	p.Mean[0], p.Mean[4] = 1e-3, 9e-3 // lag; ingress, to which all the rest is counted
	a := judgement{blocks: blocks{valid: []int{1}, windows: windows{1: {"nginx": {Window: window.Window{Phases: p}}}}}}
	for _, name := range []string{"kernel", "ingress", "queue", "service"} {
		if v, err := a.Phase(0, "nginx", name); !strings.Contains(fmt.Sprint(err), "its server stamps nothing") {
			t.Errorf("%s: got %v, %v", name, v, err)
		}
	}
	for _, name := range []string{"client", "lag"} {
		if v, err := a.Phase(0, "nginx", name); err != nil || v != 1e-3 {
			t.Errorf("%s: got %v, %v", name, v, err)
		}
	}
}

// A server that does not account for its requests, or stamps that cannot be true,
// spoil the block they are in.
func TestStampsRefuseBlocks(t *testing.T) {
	t.Parallel()
	in := func(arm string, change func(stamps []request.Stamps)) func(string, int, []request.Stamps) {
		return func(of string, block int, stamps []request.Stamps) {
			if of == arm && block == 3 {
				change(stamps)
			}
		}
	}
	unjoin := func(n int) func([]request.Stamps) {
		return func(stamps []request.Stamps) {
			for i := range n {
				s := &stamps[len(stamps)-1-i]
				*s = request.Stamps{Ready: s.Ready, Wrote: s.Wrote, First: s.First}
			}
		}
	}
	back := func(stamps []request.Stamps) { stamps[len(stamps)-1].Begin = stamps[len(stamps)-1].End + us }
	for _, c := range []struct {
		name  string
		edit  func(string, int, []request.Stamps)
		valid int
		rule  string
		value float64
	}{
		{"all in order", nil, 12, "", 0},
		{"1 of 1,200 not accounted for", in("pool", unjoin(1)), 12, "", 0},
		{"2 of 1,200 not accounted for", in("pool", unjoin(2)), 11, "requests the server did not account for (ratio)", 2. / 1200},
		{"a handler that ended before it began", in("fasthttp", back), 11, "requests with a part below zero", 1},
	} {
		r := stamped(t, c.edit)
		if r.Valid != c.valid || (len(r.Refused) > 0) != (c.rule != "") {
			t.Errorf("%s: %d valid blocks, refused %v; want %d and %q", c.name, r.Valid, r.Refused, c.valid, c.rule)
		}
		for _, x := range r.Refused {
			if x.Rule != c.rule || x.Block != 3 || math.Abs(x.Value-c.value) > 1e-9 {
				t.Errorf("%s: got %+v; want %q %g of block 3", c.name, x, c.rule, c.value)
			}
		}
	}
}

// An arm told not to stamp is not held to account for its requests.
func TestArmWithoutStamps(t *testing.T) {
	t.Parallel()
	p := fakePlan()
	p.Stamps = record.StampsFull
	p.Arms[3].Stamps = record.StampsOff
	for arm, want := range map[string]bool{"nethttp": true, "pool": false, "absent": false} {
		if got := Accounts(p, arm); got != want {
			t.Errorf("%s accounts: %v, want %v", arm, got, want)
		}
	}
	p.Arms[3].Stamps, p.Stamps = "basic", record.StampsOff
	if Accounts(p, "nethttp") || !Accounts(p, "pool") {
		t.Error("an arm's own stamps do not win over the plan's")
	}
}

// phasesOf counts good requests of the window alone, splits the handler's time by
// what was asked, and takes the slowest 1 %, rounded up, for the tail.
func TestPhasesOf(t *testing.T) {
	t.Parallel()
	trial := record.TrialRecord{Trial: record.Trial{Warmup: record.Lasting(100 * time.Millisecond), Window: record.Lasting(time.Second)}}
	add := func(at, took int64, status uint16) {
		r := request.Request{Scheduled: at * us, Sent: at*us + 20*us, Done: (at + took) * us, Status: status, Iters: 50, Sleep: 100 * us}
		trial.Requests = append(trial.Requests, r)
		trial.Stamps = append(trial.Stamps, stampedAt(r, false))
	}
	add(50_000, 90_000, 200) // in the warm-up
	for i := range int64(150) {
		add(100_000+i, 1000, 200)
	}
	add(200_000, 5000, 200)
	add(300_000, 7000, 200)
	add(400_000, 90_000, 503)
	p := window.PhasesOf(trial, 2e-6)
	if p.Good != 152 || p.Joined != 152 || p.Negative != 0 || p.Unjoined() != 0 {
		t.Errorf("%d good, %d joined, %d negative; want 152, 152, 0", p.Good, p.Joined, p.Negative)
	}
	got := map[string]timeline.Phase{}
	mean, tail := 0.0, 0.0
	for _, ph := range p.List() {
		got[ph.Name] = ph
		mean, tail = mean+ph.Mean, tail+ph.Tail
	}
	if want := (150*1e-3 + 5e-3 + 7e-3) / 152; math.Abs(mean-want) > 1e-9 || math.Abs(tail-6e-3) > 1e-9 {
		t.Errorf("the phases add up to %g s, in the tail to %g; want %g, and 6 ms of the slowest two", mean, tail, want)
	}
	for name, want := range map[string]float64{"lag": 20e-6, "cpu": 100e-6, "sleep": 100e-6, "queue": 0, "unexplained": mean - 100e-6 - 200e-6} {
		if math.Abs(got[name].Mean-want) > 1e-9 {
			t.Errorf("%s: %g s, want %g", name, got[name].Mean, want)
		}
	}
	if none := window.PhasesOf(record.TrialRecord{Trial: trial.Trial, Requests: trial.Requests}, 1); none.Stamped {
		t.Error("a trial without stamps has phases")
	}
	if names := namesOf(p.List()); !strings.HasPrefix(names, "lag connect build accept") || strings.Contains(names, "service") {
		t.Errorf("phases in the order %s", names)
	}
}

func namesOf(list []timeline.Phase) string {
	var names []string
	for _, p := range list {
		names = append(names, p.Name)
	}
	return strings.Join(names, " ")
}

// A server whose ring was too small for a fast closed loop refuses no block. The
// phases are those of the requests that it still knew, and the report says so.
func TestRingTooSmall(t *testing.T) {
	t.Parallel()
	s := synthetic{}
	run := s.run()
	run.Plan.Stamps = record.StampsFull
	j, err := New("run", "dir", run, Winner{})
	if err != nil {
		t.Fatal(err)
	}
	for trial := range s.trials() {
		for i, r := range trial.Requests {
			stamps := stampedAt(r, false)
			if old := i < len(trial.Requests)/2; old && trial.Arm == "pool" {
				stamps = request.Stamps{Ready: stamps.Ready, Wrote: stamps.Wrote, First: stamps.First}
				trial.Server.StampsLost++
			}
			trial.Stamps = append(trial.Stamps, stamps)
		}
		j.Take(trial, nil)
	}
	r := j.judge().result
	if r.Valid != fakeBlocks || len(r.Refused) != 0 {
		t.Errorf("%d valid blocks, refused %v; want %d and none", r.Valid, r.Refused, fakeBlocks)
	}
	const want = "pool: its server had no room for the stamps of all requests in 12 of 12 windows: the breakdown of its time covers only the newest 55 %; give the arm a larger timeline"
	if got := doubtTexts(r); !slices.Contains(got, want) {
		t.Errorf("got the doubts %q, want %q", got, want)
	}
	for _, a := range r.Arms {
		for _, p := range a.Phases {
			if p.Name == "ingress" && math.Abs(p.Mean-5e-6) > 1e-9 {
				t.Errorf("%s: %s is %g s, want the 5 µs of the requests that are accounted for", a.Name, p.Name, p.Mean)
			}
		}
	}
}
