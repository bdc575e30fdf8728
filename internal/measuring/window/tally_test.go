package window

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
	"schedlab/internal/shared/stats"
)

// mixed returns a trial of two seconds and its requests: good ones of random lengths, errors, and some without a reply.
func mixed() (t record.TrialRecord) {
	rng := rand.New(rand.NewPCG(1, 2))
	t.Trial = record.Trial{Warmup: record.Lasting(100 * time.Millisecond), Window: record.Lasting(1900 * time.Millisecond), Server: record.UnknownServer(), Client: record.ClientSide{Steal: -1, Throttled: -1}}
	for i := range int64(20_000) {
		at := i * 100_000
		r := request.Request{Scheduled: at, Sent: at + rng.Int64N(50_000), Status: 200}
		s := request.Stamps{Ready: r.Sent + 1000, Wrote: r.Sent + 2000}
		r.Done = s.Wrote + int64(rng.ExpFloat64()*2e6)
		s.First = r.Done
		switch {
		case i%97 == 0:
			r.Status = 503
		case i%101 == 0:
			r.Outcome, r.Status = request.Reset, 0
		}
		t.Requests, t.Stamps = append(t.Requests, r), append(t.Stamps, s)
	}
	return t
}

// A Tally tells what Reduce does, to three digits, without keeping the requests.
func TestTallyTellsWhatReduceDoes(t *testing.T) {
	t.Parallel()
	trial := mixed()
	clients := record.Clients{Loop: "open", Rate: 10_000}
	tally := NewTally(trial.Trial, clients)
	for i, r := range trial.Requests {
		tally.Add(r, trial.Stamps[i])
	}
	got, want := tally.Window(trial.Trial, record.Env{}), Reduce(trial, record.Env{}, clients)
	near := func(what string, got, want, apart float64) {
		if math.IsNaN(got) != math.IsNaN(want) || math.Abs(got-want) > apart*math.Abs(want) {
			t.Errorf("%s: %g, Reduce has %g", what, got, want)
		}
	}
	for _, m := range stats.All() {
		apart := map[stats.Figure]float64{stats.Tail: .01, stats.P50: .002, stats.P90: .002, stats.P99: .002}[m.Figure]
		near(m.Name, got.Values[m.Figure].Float(), want.Values[m.Figure].Float(), max(apart, 1e-9))
	}
	for _, m := range stats.Quantiles() {
		near("late "+m.Name, got.Late[m.Figure].Float(), want.Late[m.Figure].Float(), .002)
	}
	for i := range got.Phases.Mean {
		near("mean part", got.Phases.Mean[i], want.Phases.Mean[i], 1e-9)
		near("part of the tail", got.Phases.Tail[i], want.Phases.Tail[i], .05)
	}
	all, good, noReply := tally.Requests()
	lost := 0
	for _, n := range request.Lost(want.Failures) {
		lost += n
	}
	if got.Requests != want.Requests || got.Good != want.Good || got.Phases.Good != want.Phases.Good || all != want.Requests || good != want.Good || noReply != lost {
		t.Errorf("%d requests, %d good, %d without a reply; Reduce has %d, %d, %d", all, good, noReply, want.Requests, want.Good, lost)
	}
	for end, n := range want.Failures {
		if got.Failures[end] != n {
			t.Errorf("%s: %d, Reduce has %d", end, got.Failures[end], n)
		}
	}
}

// A long load may not grow: to add a request allocates nothing.
func TestTallyAllocatesNothing(t *testing.T) {
	trial := mixed()
	tally := NewTally(trial.Trial, record.Clients{Loop: "open"})
	add := func() {
		for i, r := range trial.Requests[:200] {
			tally.Add(r, trial.Stamps[i])
		}
	}
	add() // every kind of end has been seen
	if n := testing.AllocsPerRun(10, add); n > 0 {
		t.Errorf("%v allocations for 200 requests", n)
	}
}

func BenchmarkTally(b *testing.B) {
	trial := mixed()
	tally := NewTally(trial.Trial, record.Clients{Loop: "open"})
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		tally.Add(trial.Requests[i], trial.Stamps[i])
		i = (i + 1) % len(trial.Requests)
	}
}

// The classes of response times are in order and narrow.
func TestRowOf(t *testing.T) {
	t.Parallel()
	last := -1
	for took := time.Nanosecond; took < time.Hour; took += 1 + took/500 {
		row := rowOf(int64(took))
		if row < last || row >= rows || took >= 64 && rowOf(int64(float64(took)*1.02)) == row {
			t.Fatalf("%v is of class %d after %d", took, row, last)
		}
		last = row
	}
}
