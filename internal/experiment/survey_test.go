package experiment

import (
	"math"
	"slices"
	"testing"
	"time"

	"schedlab/internal/load"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
)

// The longest gap is between two good replies, or at an end of the time asked for.
func TestLongestGap(t *testing.T) {
	t.Parallel()
	const ms = int64(time.Millisecond)
	from := int64(probeWarmup)
	replies := func(at ...int64) (r load.ClosedResult) {
		for _, end := range at {
			r.Requests = append(r.Requests, record.Request{Done: from + end, Status: 200, Outcome: record.Answered})
		}
		return r
	}
	failed := replies(2*ms, 4*ms, 6*ms, 8*ms)
	failed.Requests[2].Status = 500
	for _, c := range []struct {
		name   string
		result load.ClosedResult
		want   time.Duration
	}{
		{"even", replies(2*ms, 4*ms, 6*ms, 8*ms), 2 * time.Millisecond},
		{"amid", replies(1*ms, 2*ms, 7*ms, 8*ms, 9*ms), 5 * time.Millisecond},
		{"at the beginning", replies(6*ms, 8*ms), 6 * time.Millisecond},
		{"at the end", replies(1*ms, 3*ms), 7 * time.Millisecond},
		{"failed", failed, 4 * time.Millisecond},
	} {
		if got := longestGap(c.result, 10*time.Millisecond); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// What the first arm would be offered is a share of the slowest one's throughput,
// which 64 clients of a server that takes 50 ms bound; an absolute rate needs no
// server to be started.
func TestOffered(t *testing.T) {
	t.Parallel()
	offered := func(rate scenario.Rate, how string) (float64, error) {
		c := comparison(t, "good", how, func(s *scenario.Scenario, _ *Options) { s.Load.Rate, s.Load.MinRate = rate, scenario.Rate{} })
		return c.Offered(t.Context(), nil)
	}
	if got, err := offered(scenario.Rate{OfSlowest: 0.5}, "tardy"); err != nil || !(got > 0 && got <= 0.5*probeClients/0.05) {
		t.Errorf("half of the slowest: got %g/s, error %v, want up to %g/s", got, err, 0.5*probeClients/0.05)
	}
	if got, err := offered(scenario.Rate{PerSecond: 100}, "fails"); err != nil || got != 0 {
		t.Errorf("an absolute rate: got %g/s, error %v, want neither", got, err)
	}
	if got, err := offered(scenario.Rate{OfSlowest: 0.5}, "fails"); err == nil {
		t.Errorf("a server that fails: got %g/s, want an error", got)
	}
}

// A shortened comparison has the first blocks of the whole one, and their time.
func TestShorten(t *testing.T) {
	t.Parallel()
	s, err := scenario.Parse("x", []byte("name: x\nquestion: q?\nworkload: {path: /plaintext}\nload: {rate: 2000/s}\narms: [nethttp, {name: again, mode: nethttp}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	plan := func() *Comparison {
		c, err := Plan(s, Options{Self: "schedlab", Seed: 7, Modes: map[string]scenario.Mode{"nethttp": {Station: "goroutines"}}, Machine: record.Fact{Code: "machine-verdict", Names: record.Names{"verdict": "unfit"}}})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	whole, short := plan().Planned(), plan()
	short.Shorten(4)
	got := short.Planned()
	if got.Blocks != 4 || !slices.EqualFunc(got.Order, whole.Order[:4], slices.Equal) {
		t.Errorf("got %d blocks, order %v, want the first 4 of %v", got.Blocks, got.Order, whole.Order)
	}
	if want := 4*3*(whole.Warmup+whole.Window+(trialCost+judging).Seconds()) + fixedCost.Seconds(); math.Abs(got.Estimate-want) > .3 {
		t.Errorf("got %g s instead of %g, want %g", got.Estimate, whole.Estimate, want)
	}
	if !slices.ContainsFunc(whole.Doubts, func(d record.Fact) bool { return d.Code == machineUnfit }) {
		t.Errorf("got the doubts %v, want the one about the machine among them", whole.Doubts)
	}
}
