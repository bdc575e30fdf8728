package judge

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"schedlab/internal/record"
)

// A swept run has an arm for each number of clients of a closed loop; x gives their
// throughput.
type swept struct {
	clients []int
	x       func(n float64) float64
	edit    func(a *record.PlanArm, t *record.TrialRecord) // nil: as it is
}

// lawful is a law with its peak at 30.8 clients.
func lawful(n float64) float64 { return 200 * n / (1 + .05*(n-1) + .001*n*(n-1)) }

// scales judges the run and returns what it says of its one family.
func (s swept) scale(t *testing.T) record.Scale {
	t.Helper()
	run := synthetic{}.run()
	run.Plan.Predict, run.Plan.Arms, run.Plan.Order = []string{USL}, nil, nil
	trials := map[string]record.TrialRecord{}
	for i, n := range append([]int{0}, s.clients...) {
		a := record.PlanArm{
			Name: fmt.Sprintf("goroutine,connections=%d", n), Mode: "goroutine", Role: record.Challenger, Family: "goroutine",
			Levels:  []record.Level{{Factor: "connections", Value: fmt.Sprint(n)}},
			Clients: record.Clients{Loop: "closed", Connections: n, KeepAlive: true},
		}
		switch i {
		case 0: // the baseline's copy
			a = record.PlanArm{Name: "copy", Mode: "goroutine", Role: record.Copy, Clients: record.Clients{Loop: "closed", Connections: s.clients[0], KeepAlive: true}}
			n = s.clients[0]
		case 1:
			a.Role = record.Baseline
		}
		trial := closedTrial(n, s.x(float64(n)))
		if s.edit != nil {
			s.edit(&a, &trial)
		}
		trials[a.Name] = trial
		run.Plan.Arms = append(run.Plan.Arms, a)
	}
	run.Plan.Arms[0], run.Plan.Arms[1] = run.Plan.Arms[1], run.Plan.Arms[0]
	j, err := New("run", "dir", run)
	if err != nil {
		t.Fatal(err)
	}
	number := 0
	for block := range fakeBlocks {
		for _, a := range run.Plan.Arms {
			number++
			trial := trials[a.Name]
			trial.Number, trial.Block, trial.Arm = number, block+1, a.Name
			j.Take(trial, nil)
		}
	}
	r := j.judge().result
	if len(r.Scales) != 1 || r.Scales[0].Line != "goroutine" || len(r.Scales[0].Points) != len(s.clients) {
		t.Fatalf("got %+v, want one family of %d", r.Scales, len(s.clients))
	}
	return r.Scales[0]
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

var sizes = []int{16, 1, 2, 4, 8, 24, 32, 48, 64}

func TestScaleOfAClosedLoop(t *testing.T) {
	t.Parallel()
	s := swept{clients: sizes, x: lawful}.scale(t)
	if !s.Why.None() {
		t.Fatalf("unidentified: %s", words(s.Why))
	}
	for _, c := range []struct {
		what            string
		got, want, near float64
	}{
		{"lambda", s.Gain.Value, 200, 4}, {"sigma", s.Contention.Value, .05, .003}, {"kappa", s.Coherence.Value, .001, .0001},
		{"N*", s.PeakAt, math.Sqrt(.95 / .001), 1.5}, {"X(N*)", s.Peak, lawful(30.8), 30}, {"X(8)", s.At(8), lawful(8), 20},
	} {
		if math.Abs(c.got-c.want) > c.near {
			t.Errorf("%s: got %v, want %v", c.what, c.got, c.want)
		}
	}
	if s.Off > .02 || s.Off == 0 {
		t.Errorf("points off the curve by %v, want the little that counting makes", s.Off)
	}
	if !slices.IsSortedFunc(s.Points, func(a, b record.ScalePoint) int { return int(a.N - b.N) }) {
		t.Errorf("points are not by N: %+v", s.Points)
	}
	for _, p := range s.Points {
		if math.Abs(p.CPU/100e-6-1) > .02 || math.Abs(p.Fitted/p.Goodput-1) > .05 {
			t.Errorf("N = %v: got %+v, want 100 µs a request, and the curve at the measurement", p.N, p)
		}
	}
}

func TestScaleUnidentified(t *testing.T) {
	t.Parallel()
	flat := func(float64) float64 { return 1000 }
	for _, c := range []struct {
		what, want string
		swept
	}{
		{"five levels", "5 values of N, and 6 are needed", swept{clients: sizes[:5], x: lawful}},
		{"no curvature", "interval of kappa", swept{clients: sizes, x: flat}},
		{"all below the peak", "points below the peak", swept{clients: []int{8, 1, 2, 3, 4, 5, 6, 7}, x: lawful}},
		{"a pace", "keep a pace", swept{clients: sizes, x: lawful, edit: func(a *record.PlanArm, _ *record.TrialRecord) { a.Clients.Rate = 100 }}},
		{"errors", "requests to goroutine,connections=", swept{clients: sizes, x: lawful, edit: func(_ *record.PlanArm, t *record.TrialRecord) {
			t.Requests[len(t.Requests)/2].Status = 500
		}}},
	} {
		s := c.scale(t)
		if !strings.Contains(words(s.Why), c.want) || s.Gain != nil || s.Points[0].Fitted != 0 {
			t.Errorf("%s: got %q and lambda %v, want unidentified for %q", c.what, words(s.Why), s.Gain, c.want)
		}
	}
}

// Clients that never get an answer are none of the law's N.
func TestScaleCountsTheServed(t *testing.T) {
	t.Parallel()
	s := swept{clients: sizes, x: lawful, edit: func(a *record.PlanArm, t *record.TrialRecord) {
		if a.Clients.Connections == 64 {
			a.Clients.Connections += 16
			t.Client.ConnAnswers = append(t.Client.ConnAnswers, make([]uint32, 16)...)
			t.Client.Asked, t.Client.Starved, t.Client.Pending = 80, 16, record.Pending{Requests: 16, Early: 16}
		}
	}}.scale(t)
	if last := s.Points[len(s.Points)-1]; last.N != 64 || !s.Why.None() {
		t.Errorf("got N = %v, %q; want the 64 that were served of 80", last.N, words(s.Why))
	}
}

// Errors within the limit leave the law in place: one of 1,800 requests a window.
func TestScaleBearsFewErrors(t *testing.T) {
	t.Parallel()
	s := swept{clients: sizes, x: lawful, edit: func(a *record.PlanArm, t *record.TrialRecord) {
		if a.Clients.Connections == 32 {
			t.Requests[len(t.Requests)/2].Status = 500
		}
	}}.scale(t)
	if !s.Why.None() {
		t.Errorf("got %q, want the law", words(s.Why))
	}
}
