package queueing

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

const ms = time.Millisecond

// jobs makes a trace of (arrival, CPU) pairs in milliseconds.
func jobs(pairs ...float64) (trace []Job) {
	for i := 0; i < len(pairs); i += 2 {
		trace = append(trace, Job{At: ofMs(pairs[i]), CPU: ofMs(pairs[i+1])})
	}
	return trace
}

func ofMs(x float64) time.Duration { return time.Duration(x * 1e6) }

// ends are the ends of the jobs in milliseconds, -1 for those lost.
func ends(t *testing.T, s Station, trace []Job) (at []float64) {
	t.Helper()
	completions, err := Replay(s, trace)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range completions {
		if f.Lost {
			at = append(at, -1)
			continue
		}
		at = append(at, float64(f.Finish)/1e6)
	}
	return at
}

func TestReplayByHand(t *testing.T) {
	t.Parallel()
	one := Station{Workers: 1, Cores: 1, Turn: whole}
	with := func(change func(*Station)) Station {
		s := one
		change(&s)
		return s
	}
	blocking := jobs(0, 1, 0, 1, 0, 1)
	for i := range blocking {
		blocking[i].Block = 10 * ms
	}
	conns := jobs(0, 5, 1, 5, 2, 1)
	conns[1].Conn, conns[2].Conn = 1, 2
	for _, tt := range []struct {
		what    string
		station Station
		trace   []Job
		want    []float64
	}{
		{"in order of arrival", one, jobs(0, 3, 1, 1, 1, 1, 9, 1), []float64{3, 4, 5, 10}},
		{"two workers", with(func(s *Station) { s.Workers, s.Cores = 2, 2 }), jobs(0, 3, 0, 1, 0, 1, 0, 2), []float64{3, 1, 2, 4}},
		{"two workers on one core", with(func(s *Station) { s.Workers = 2 }), jobs(0, 3, 0, 1, 0, 1), []float64{3, 4, 5}},
		{"turns", Station{Kind: Goroutines, Cores: 1, Turn: 2 * ms}, jobs(0, 5, 1, 1, 1, 3), []float64{9, 3, 8}},
		{"a turn alone goes on", Station{Kind: Goroutines, Cores: 1, Turn: 2 * ms}, jobs(0, 5, 3, 1), []float64{6, 5}},
		{"short turns", Station{Kind: Goroutines, Cores: 1, Turn: ms}, jobs(0, 2, 1, 1), []float64{2, 3}},
		{"short turns of two cores", Station{Kind: Goroutines, Cores: 2, Turn: ms}, jobs(0, 2, 0, 2, 0, 2, 1, 1), []float64{2, 3, 4, 3}},
		{"two workers share a core", Station{Workers: 2, Cores: 1, Turn: ms}, jobs(0, 2, 0, 2, 0, 2), []float64{3, 4, 6}},
		{"three places", with(func(s *Station) { s.Places = 3 }), jobs(0, 2, 0, 2, 0, 2, 1, 2, 2, 2), []float64{2, 4, 6, -1, 8}},
		{"a place that is free is taken once", with(func(s *Station) { s.Places = 2 }), jobs(0, 2, 0, 2, 1, 2, 2, 2, 3, 2), []float64{2, 4, -1, 6, -1}},
		{"the same, aging", with(func(s *Station) {
			s.Places, s.Target, s.Interval, s.Adaptive = 2, Span(50*time.Millisecond), Span(200*time.Millisecond), true
		}), jobs(0, 2, 0, 2, 1, 2, 2, 2, 3, 2), []float64{2, 4, -1, 6, -1}},
		{"no time on a core waits for none", with(func(s *Station) { s.Workers = 2 }), jobs(0, 5, 0, 0), []float64{5, 0}},
		{"no place to wait", with(func(s *Station) { s.Places = 1 }), jobs(0, 2, 1, 2, 2, 2), []float64{2, -1, 4}},
		{"waiting outside", with(func(s *Station) { s.Places, s.Overflow = 1, Blocks }), jobs(0, 2, 1, 2, 1, 2), []float64{2, 4, 6}},
		{"blocked workers leave the core", with(func(s *Station) { s.Workers = 2 }), blocking, []float64{11, 12, 22}},
		{"goroutines block together", Station{Kind: Goroutines, Cores: 1, Turn: whole}, blocking, []float64{11, 12, 13}},
		{"goroutines in flight", Station{Kind: Goroutines, Cores: 1, Turn: whole, Places: 2}, blocking, []float64{11, 12, -1}},
		{"dealt in turn", Station{Kind: PerWorker, Workers: 2, Cores: 2, Turn: whole}, jobs(0, 9, 0, 1, 1, 1, 1, 1), []float64{9, 1, 10, 2}},
		{"connections of their own", Station{Kind: Loops, Workers: 2, Cores: 2, Turn: whole}, conns, []float64{5, 6, 6}},
		{"the one outside holds up the next", Station{Kind: PerWorker, Workers: 2, Cores: 2, Turn: whole, Places: 1, Overflow: Blocks},
			jobs(0, 9, 0, 1, 1, 1, 1, 1), []float64{9, 1, 10, 10}},
		// In the second interval, from 30 ms on, nobody waits less than 25 ms: in the third
		// the queue stands, and the one that has waited for 21 ms is lost.
		{"aging", with(func(s *Station) { s.Target, s.Interval = Span(5*time.Millisecond), Span(20*time.Millisecond) }),
			jobs(0, 10, 1, 20, 5, 10, 6, 10, 29, 1, 45, 1, 46, 1), []float64{10, 30, 40, 50, -1, 51, 52}},
		{"aging, the newest first", with(func(s *Station) {
			s.Target, s.Interval, s.Adaptive = Span(5*time.Millisecond), Span(20*time.Millisecond), true
		}),
			jobs(0, 10, 1, 20, 5, 10, 6, 10, 29, 1, 45, 1, 46, 1), []float64{10, 30, 40, 50, -1, 52, 51}},
		// It still stands when one comes that finds another, which has not waited for long.
		{"aging, not too old", with(func(s *Station) {
			s.Target, s.Interval, s.Adaptive = Span(5*time.Millisecond), Span(20*time.Millisecond), true
		}),
			jobs(0, 10, 1, 20, 5, 10, 6, 10, 29, 1, 45, 1, 46, 1, 50.5, 1), []float64{10, 30, 40, 50, -1, 53, 51, 52}},
		// What is too old makes its place free when another comes.
		{"aging, full", with(func(s *Station) {
			s.Places, s.Target, s.Interval, s.Adaptive = 2, Span(5*time.Millisecond), Span(20*time.Millisecond), true
		}),
			jobs(0, 10, 1, 20, 11, 30, 31, 10, 61, 30, 75, 1, 87, 1), []float64{10, 30, 60, -1, 91, -1, 92}},
		{"nothing to do", one, jobs(0, 0, 0, 0, 5, 0), []float64{0, 0, 5}},
		{"no jobs", one, nil, nil},
	} {
		if got := ends(t, tt.station, tt.trace); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got ends %v ms, want %v", tt.what, got, tt.want)
		}
	}
}

func TestReplayRefuses(t *testing.T) {
	t.Parallel()
	for _, impossible := range []Station{
		{Cores: 1},
		{Kind: Goroutines},
		{Kind: "shop", Workers: 1, Cores: 1},
		{Workers: 1, Cores: 1, Turn: -1},
		{Workers: 1, Cores: 1, Places: -1},
		{Workers: 1, Cores: 1, Patience: -1},
		{Workers: 1, Cores: 1, Pick: Least},
		{Workers: 1, Cores: 1, Steal: true},
		{Workers: 1, Cores: 1, Target: Span(time.Millisecond)},
		{Workers: 1, Cores: 1, Interval: Span(time.Millisecond)},
		{Workers: 1, Cores: 1, Patience: Span(time.Second), Target: Span(time.Millisecond), Interval: Span(time.Millisecond)},
		{Kind: Goroutines, Cores: 1, Target: Span(time.Millisecond), Interval: Span(time.Millisecond)},
		{Kind: PerWorker, Workers: 1, Cores: 1, Target: Span(time.Millisecond), Interval: Span(time.Millisecond), Adaptive: true},
		{Workers: 1, Cores: 1, Overflow: Blocks, Target: Span(time.Millisecond), Interval: Span(time.Millisecond)},
		{Workers: 1, Cores: 1, Overflow: Oldest, Target: Span(time.Millisecond), Interval: Span(time.Millisecond)},
	} {
		if _, err := Replay(impossible, nil); err == nil || !strings.Contains(err.Error(), "no station can be like this") {
			t.Errorf("Replay(%+v): got error %v, want the station refused", impossible, err)
		}
	}
	for _, tt := range []struct {
		turn  time.Duration
		trace []Job
		want  string
	}{
		{0, nil, "give a turn above 0"},
		{whole, jobs(1, 1, 0, 1), "job 1"},
		{whole, jobs(-1, 1), "job 0"},
		{whole, jobs(0, -1), "job 0"},
		{whole, []Job{{Conn: -1}}, "job 0"},
	} {
		if _, err := Replay(Station{Workers: 1, Cores: 1, Turn: tt.turn}, tt.trace); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Replay of %v with turn %v: got error %v, want one with %q", tt.trace, tt.turn, err, tt.want)
		}
	}
}

// Whatever the station, no job is faster than its demand, workers and places are
// not exceeded, and a station that never idles has the same busy periods.
func TestReplayKeepsTheRules(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 5))
	for range 2000 {
		s := Station{
			Kind: []string{Pool, PerWorker, Loops, Goroutines}[rng.IntN(4)], Workers: 1 + rng.IntN(4), Cores: 1 + rng.IntN(3),
			Turn:   []time.Duration{ms / 2, ms, 3 * ms, whole}[rng.IntN(4)],
			Places: rng.IntN(6), Overflow: []string{"", Blocks, Oldest}[rng.IntN(3)], Patience: Span(rng.IntN(2)*rng.IntN(9)) * Span(time.Millisecond),
		}
		if s.Kind == PerWorker {
			s.Pick, s.Steal = []string{"", Least, TwoChoices}[rng.IntN(3)], rng.IntN(2) == 0
		}
		trace := make([]Job, 60)
		var at time.Duration
		for i := range trace {
			at += time.Duration(rng.IntN(4)) * ms
			trace[i] = Job{at, time.Duration(rng.IntN(8)) * ms, time.Duration(rng.IntN(3)) * ms, rng.IntN(5)}
		}
		completions, err := Replay(s, trace)
		if err != nil {
			t.Fatal(err)
		}
		if problem := broken(s, trace, completions); problem != "" {
			t.Fatalf("%+v: %s", s, problem)
		}
	}
}

func broken(s Station, trace []Job, completions []Completion) string {
	queues, _, _ := layout(s)
	most := s.Workers
	if s.Kind == Goroutines {
		most = len(trace)
	}
	for i, f := range completions {
		j := trace[i]
		if f.Lost {
			if s.Patience == 0 && (s.Places == 0 || s.Overflow == Blocks) {
				return fmt.Sprintf("job %d is lost", i)
			}
			continue
		}
		if f.Start < j.At || f.Finish < f.Start+j.CPU+j.Block {
			return fmt.Sprintf("job %+v has fate %+v", j, f)
		}
		var held, present int // just after this one began, and just after it came
		for k, g := range completions {
			if !g.Lost && g.Start <= f.Start && g.Finish > f.Start {
				held++
			}
			if !g.Lost && trace[k].At <= j.At && g.Finish > j.At {
				present++
			}
		}
		if held > most {
			return fmt.Sprintf("%d workers at work at %v", held, f.Start)
		}
		if s.Places > 0 && s.Overflow != Blocks && present > s.Places*queues {
			return fmt.Sprintf("%d present at %v", present, j.At)
		}
	}
	return ""
}

func BenchmarkReplay(b *testing.B) {
	for _, turn := range []time.Duration{whole, ms} {
		b.Run(fmt.Sprintf("turn=%v", turn), func(b *testing.B) {
			trace := draw(1, 1e6, 1400, exponential(ms))
			for b.Loop() {
				if _, err := Replay(Station{Kind: Goroutines, Cores: 2, Turn: turn}, trace); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e6, "ns/job")
		})
	}
}

// JSON has a station's times in seconds, as those of records before the type was a duration.
func TestStationTimesAreSeconds(t *testing.T) {
	t.Parallel()
	s := Station{Cores: 1, Patience: Span(100 * time.Millisecond), Target: Span(CoDelTarget), Interval: Span(CoDelInterval)}
	const want = `{"kind":"","cores":1,"patience":0.1,"target":0.005,"interval":0.1}`
	text, err := json.Marshal(s)
	var back Station
	if err != nil || string(text) != want || json.Unmarshal(text, &back) != nil || back != s {
		t.Errorf("got %s, %v, read as %+v; want %s", text, err, back, want)
	}
}
