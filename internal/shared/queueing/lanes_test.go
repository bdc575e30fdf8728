package queueing

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestQueuesByHand(t *testing.T) {
	t.Parallel()
	each := Station{Kind: PerWorker, Workers: 2, Cores: 2, Turn: whole}
	one := Station{Workers: 1, Cores: 1, Turn: whole}
	with := func(s Station, change func(*Station)) Station {
		change(&s)
		return s
	}
	for _, tt := range []struct {
		what    string
		station Station
		trace   []Job
		want    []float64
	}{
		{"the least to do", with(each, func(s *Station) { s.Pick = Least }), jobs(0, 9, 0, 1, 1, 1, 1, 1), []float64{9, 1, 2, 10}},
		{"who has left is not to do", with(each, func(s *Station) { s.Pick = Least }), jobs(0, 4, 0, 20, 1, 4, 5, 1), []float64{4, 20, 8, 9}},
		{"who waits is", with(each, func(s *Station) { s.Pick = Least }), jobs(0, 9, 0, 9, 1, 1, 1, 1), []float64{9, 9, 10, 10}},
		{"a queue once picked is kept", with(each, func(s *Station) { s.Pick, s.Places, s.Overflow = Least, 1, Blocks }), jobs(0, 9, 0, 1, .5, 1), []float64{9, 1, 10}},
		{"of two queues the shorter", with(each, func(s *Station) { s.Pick = TwoChoices }), jobs(0, 9, 0, 1, 1, 1), []float64{9, 1, 2}},
		{"an idle worker steals", with(each, func(s *Station) { s.Steal = true }), jobs(0, 9, 0, 1, 1, 1, 1, 1), []float64{9, 1, 2, 3}},
		{"its own queue first", with(each, func(s *Station) { s.Steal = true }), jobs(0, 4, 0, 2, 0, 1, 0, 1), []float64{4, 2, 4, 3}},
		{"the oldest makes place", with(one, func(s *Station) { s.Places, s.Overflow = 2, Oldest }), jobs(0, 5, 1, 1, 2, 1), []float64{5, -1, 6}},
		{"nobody waits who could", with(one, func(s *Station) { s.Places, s.Overflow = 1, Oldest }), jobs(0, 5, 1, 1), []float64{5, -1}},
		{"patience ends", with(one, func(s *Station) { s.Patience = Span(3 * time.Millisecond) }), jobs(0, 5, 1, 1, 4, 1), []float64{5, -1, 6}},
		{"patience just holds", with(one, func(s *Station) { s.Patience = Span(3 * time.Millisecond) }), jobs(0, 5, 2, 1), []float64{5, 6}},
		{"who has left makes place", with(one, func(s *Station) { s.Patience, s.Places = Span(3*time.Millisecond), 2 }), jobs(0, 9, 1, 1, 2, 1, 5, 1), []float64{9, -1, -1, -1}},
		{"and it is taken", with(one, func(s *Station) { s.Patience, s.Places = Span(3*time.Millisecond), 2 }), jobs(0, 9, 1, 1, 2, 1, 7, 1), []float64{9, -1, -1, 10}},
	} {
		if got := ends(t, tt.station, tt.trace); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got ends %v ms, want %v", tt.what, got, tt.want)
		}
	}
	var pairs, halves []float64
	for at := 0.0; at < 200; at += 10 {
		pairs, halves = append(pairs, at, 5, at, 5), append(halves, at+5, at+5)
	}
	if got := ends(t, with(each, func(s *Station) { s.Pick = TwoChoices }), jobs(pairs...)); !slices.Equal(got, halves) {
		t.Errorf("of two workers, one of them idle, the idle one: got ends %v ms", got)
	}
	lost, err := Replay(with(one, func(s *Station) { s.Patience = Span(3 * time.Millisecond) }), jobs(0, 9, 1, 1))
	if err != nil || lost[1] != (Completion{Start: 4 * ms, Finish: 4 * ms, Lost: true}) {
		t.Errorf("got %+v, %v; want the second lost at 4 ms, when its patience ends", lost, err)
	}
}

func TestReplayClosedByHand(t *testing.T) {
	t.Parallel()
	one := Station{Workers: 1, Cores: 1, Turn: whole}
	sent, completions, err := ReplayClosed(one, 2, jobs(5, 2, 5, 2, 5, 2, 5, 2))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []Job{{0, 2 * ms, 0, 0}, {0, 2 * ms, 0, 1}, {2 * ms, 2 * ms, 0, 0}, {4 * ms, 2 * ms, 0, 1}} {
		if finish := time.Duration(i+1) * 2 * ms; sent[i] != want || completions[i].Finish != finish {
			t.Errorf("job %d: got %+v, %+v; want %+v, ending at %v", i, sent[i], completions[i], want, finish)
		}
	}
	if _, completions, err := ReplayClosed(one, 1, jobs(5, 2, 5, 2)); err != nil || completions[1].Finish != 4*ms {
		t.Errorf("one client: %+v, %v", completions, err)
	}
	if _, _, err := ReplayClosed(one, 0, nil); err == nil {
		t.Error("no clients: got no error")
	}
	if _, _, err := ReplayClosed(Station{}, 1, nil); err == nil {
		t.Error("no cores: got no error")
	}
}

// A closed loop keeps the interactive response time law T = N/X, whatever the
// station, and one core that is never idle gives X = 1/S.
func TestReplayClosedKeepsItsLaw(t *testing.T) {
	t.Parallel()
	demands := draw(7, 6000, 1, exponential(ms))
	sum := time.Duration(0)
	for _, j := range demands {
		sum += j.CPU
	}
	want := 10 * sum.Seconds() / float64(len(demands))
	for _, s := range lossless(4) {
		sent, completions, err := ReplayClosed(s, 10, demands)
		if err != nil {
			t.Fatal(err)
		}
		near(t, s.Kind, *Figures(sent, completions).Mean, want, 0.01)
	}
}

// lossless are stations of every kind that share one core.
func lossless(workers int) (all []Station) {
	for _, turn := range []time.Duration{whole, GoTurn, ms / 2} {
		all = append(all,
			Station{Workers: workers, Cores: 1, Turn: turn},
			Station{Kind: Goroutines, Cores: 1, Turn: turn},
			Station{Kind: Loops, Workers: workers, Cores: 1, Turn: turn},
			Station{Kind: PerWorker, Workers: workers, Cores: 1, Turn: turn, Pick: Least},
			Station{Kind: PerWorker, Workers: workers, Cores: 1, Turn: turn, Pick: TwoChoices},
			Station{Kind: PerWorker, Workers: workers, Cores: 1, Turn: turn, Steal: true})
	}
	return all
}

// Work is conserved: whatever the order, one core is busy for as long as there is
// anything to do, and so idle at the same times.
func TestReplayConservesWork(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(8, 8))
	for range 200 {
		trace := draw(rng.Uint64(), 40, 600+400*rng.Float64(), exponential(ms))
		work := time.Duration(0)
		for _, j := range trace {
			work = max(work, j.At) + j.CPU
		}
		for _, s := range lossless(1 + rng.IntN(4)) {
			completions, err := Replay(s, trace)
			if err != nil {
				t.Fatal(err)
			}
			last := time.Duration(0)
			for _, f := range completions {
				last = max(last, f.Finish)
			}
			if last != work {
				t.Fatalf("%+v: the last job ends at %v, its work at %v", s, last, work)
			}
		}
	}
}

// What one queue for all workers gains over a queue each, and what of it a better
// choice and stealing save: at a load of 0.8, with a core for each of four workers.
func TestOneQueueIsNeverWorse(t *testing.T) {
	long(t)
	trace := draw(9, 300_000, 3200, exponential(ms))
	mean := func(s Station) float64 {
		s.Workers, s.Cores, s.Turn = 4, 4, whole
		return *twinOf(s, trace).Mean
	}
	each := func(p string) Station { return Station{Kind: PerWorker, Pick: p} }
	separate := mean(Station{Kind: Loops})
	order := []struct {
		name string
		mean float64
	}{
		{"one queue", mean(Station{})}, {"stealing", mean(Station{Kind: PerWorker, Steal: true}) * 1.01}, {"the shortest", mean(each(Least))},
		{"the shorter of two", mean(each(TwoChoices))}, {"in turn", mean(each("rr"))}, {"separate", separate},
	}
	for i, o := range order[1:] {
		if before := order[i]; o.mean < before.mean {
			t.Errorf("%s has a mean of %.3g ms, below %.3g ms of %s", o.name, 1e3*o.mean, 1e3*before.mean, before.name)
		}
	}
	near(t, "stealing, which leaves no worker idle while jobs wait", order[1].mean/1.01, MMc(3200, ms.Seconds(), 4), within)
	near(t, "separate queues", separate, mg1(800, ms.Seconds(), 1), within)
}

// A second replay is the first, chance included.
func TestReplayIsDeterministic(t *testing.T) {
	t.Parallel()
	trace := draw(10, 5000, 3500, exponential(ms))
	for _, s := range append(lossless(4), Station{Kind: PerWorker, Workers: 4, Cores: 2, Turn: GoTurn, Pick: TwoChoices, Places: 3, Patience: Span(2 * time.Millisecond)}) {
		first, err := Replay(s, trace)
		again, err2 := Replay(s, trace)
		if err != nil || err2 != nil || !slices.Equal(first, again) {
			t.Errorf("%+v: two replays differ, or %v, %v", s, err, err2)
		}
	}
}

// Patience is that of Erlang's loss formula when nobody waits at all, and bounds
// the wait of those served.
func TestPatienceBoundsTheWait(t *testing.T) {
	long(t)
	trace := draw(11, 300_000, 3600, exponential(ms))
	s := Station{Workers: 4, Cores: 4, Turn: whole, Patience: 1}
	near(t, "loss without patience", *twinOf(s, trace).Loss, ErlangB(4, 3.6), within)
	s.Patience = Span(2 * time.Millisecond)
	completions, err := Replay(s, trace)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range completions {
		if wait := f.Start - trace[i].At; wait > 2*ms || f.Lost && wait != 2*ms {
			t.Fatalf("job %d waited %v: %+v", i, wait, f)
		}
	}
}
