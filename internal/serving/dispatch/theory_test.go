package dispatch

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"schedlab/internal/shared/queueing"
)

// The real dispatchers in virtual time must be the queues they claim to be: every
// response time that of an ideal scheduler on the same trace, and the means those
// of theory. Service is a sleep, so each worker is a server.

const ms = time.Millisecond

// poisson draws n jobs that arrive as a Poisson process of rate a second.
func poisson(n int, rate float64, demand func(*rand.Rand) time.Duration) []queueing.Job {
	rng := rand.New(rand.NewPCG(20, 26))
	trace := make([]queueing.Job, n)
	var at float64
	for i := range trace {
		at += rng.ExpFloat64() / rate * 1e9
		trace[i] = queueing.Job{At: time.Duration(at), CPU: demand(rng)}
	}
	return trace
}

func exponential(rng *rand.Rand) time.Duration { return time.Duration(rng.ExpFloat64() * float64(ms)) }

// heavy has mean 1 ms and C² 4.75.
func heavy(rng *rand.Rand) time.Duration {
	if rng.Float64() < 0.05 {
		return 10500 * time.Microsecond
	}
	return ms / 2
}

// replayed puts the jobs of a trace, each at its time, and returns their completions.
// Submitting is one goroutine's, as accepting is. Unless o has a target nothing
// stands.
func replayed(t *testing.T, kind Kind, o Options[int], trace []queueing.Job) []queueing.Completion {
	t.Helper()
	if o.Target == 0 {
		o.Target, o.Interval = time.Hour, time.Hour
	}
	return bubble(t, trace, func(run, lose func(int)) (put func(int), end func()) {
		o.Run, o.Refuse = run, func(job int, _ Why) { lose(job) }
		d := New(kind, o)
		d.Start()
		synctest.Wait()
		return d.Put, d.Close
	})
}

// bubble is virtual time in which the jobs of a trace are put, each when it is due.
// What start starts runs each with run or lose.
func bubble(t *testing.T, trace []queueing.Job, start func(run, lose func(int)) (put func(int), end func())) []queueing.Completion {
	t.Helper()
	completions := make([]queueing.Completion, len(trace))
	synctest.Test(t, func(*testing.T) {
		began := time.Now()
		put, end := start(func(job int) {
			completions[job].Start = time.Since(began)
			time.Sleep(trace[job].CPU)
			completions[job].Finish = time.Since(began)
		}, func(job int) { completions[job].Lost = true })
		for i, j := range trace {
			time.Sleep(j.At - time.Since(began))
			put(i)
		}
		end()
	})
	return completions
}

// summary is what theory speaks of: the mean response time of those served, in
// seconds, and the ratio of those refused.
func summary(trace []queueing.Job, completions []queueing.Completion) (mean, loss float64) {
	var sum time.Duration
	var lost int
	for i, f := range completions {
		if f.Lost {
			lost++
			continue
		}
		sum += f.Finish - trace[i].At
	}
	return sum.Seconds() / float64(len(trace)-lost), float64(lost) / float64(len(trace))
}

// likeIdeal fails the test unless the jobs fared as in the ideal station, to the
// nanosecond. What happens in one nanosecond may happen in either order: so a few
// may not.
func likeIdeal(t *testing.T, s queueing.Station, trace []queueing.Job, completions []queueing.Completion) {
	t.Helper()
	s.Cores, s.Turn = max(1, s.Workers), math.MaxInt64
	ideal, err := queueing.Replay(s, trace)
	if err != nil {
		t.Fatal(err)
	}
	unlike := 0
	for i, f := range completions {
		if f.Lost != ideal[i].Lost || !f.Lost && f != ideal[i] {
			unlike++
		}
	}
	if unlike > len(trace)/1000 {
		t.Errorf("%d of %d jobs fared otherwise than in the ideal %v", unlike, len(trace), s.Kind)
	}
}

func close3(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got/want-1) <= 0.03) {
		t.Errorf("%s: got %v, want %v within 3 %%", what, got, want)
	}
}

const enough = 150_000 // jobs, for 3 % at a load of 0.7

func TestOneQueueMeetsTheory(t *testing.T) {
	t.Parallel()
	s := ms.Seconds()
	for _, tt := range []struct {
		what    string
		workers int
		rate    float64
		demand  func(*rand.Rand) time.Duration
		want    float64
	}{
		{"M-M-1", 1, 700, exponential, queueing.MMc(700, s, 1)},
		{"M-M-4", 4, 3200, exponential, queueing.MMc(3200, s, 4)},
		{"M-G-1", 1, 600, heavy, queueing.AllenCunneen(600, s, 1, 1, 4.75)},
	} {
		trace := poisson(enough, tt.rate, tt.demand)
		for _, kind := range all {
			if kind == PerWorker && tt.workers > 1 {
				continue // not one queue
			}
			t.Run(fmt.Sprintf("%s/kind=%v", tt.what, kind), func(t *testing.T) {
				t.Parallel()
				completions := replayed(t, kind, Options[int]{Settings: Settings{Workers: tt.workers, Depth: 1 << 14}}, trace)
				mean, _ := summary(trace, completions)
				close3(t, "mean response time", mean, tt.want)
				likeIdeal(t, queueing.Station{Workers: tt.workers}, trace, completions)
			})
		}
	}
}

func TestBoundedQueueMeetsTheory(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rate           float64
		workers, depth int
	}{
		{1500, 1, 16}, {2000, 2, 4}, {6000, 4, 8},
	} {
		trace := poisson(enough, tt.rate, exponential)
		places := tt.workers + tt.depth
		want := queueing.MMcK(tt.rate, ms.Seconds(), tt.workers, places)
		for _, kind := range []Kind{Shared, Ring, Adaptive} {
			t.Run(fmt.Sprintf("M-M-%d-%d/kind=%v", tt.workers, places, kind), func(t *testing.T) {
				t.Parallel()
				completions := replayed(t, kind, Options[int]{Settings: Settings{Workers: tt.workers, Depth: tt.depth, Overflow: Reject}}, trace)
				mean, loss := summary(trace, completions)
				close3(t, "mean response time", mean, want.Response)
				close3(t, "loss", loss, want.Loss)
				likeIdeal(t, queueing.Station{Workers: tt.workers, Places: places}, trace, completions)
			})
		}
	}
}

// One acceptor that waits for a place makes all behind it wait, but the order and
// so the response times are those of an unbounded queue.
func TestBlockingMeetsTheory(t *testing.T) {
	t.Parallel()
	trace := poisson(enough, 1400, exponential)
	for _, kind := range []Kind{Shared, Ring, Adaptive} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			completions := replayed(t, kind, Options[int]{Settings: Settings{Workers: 2, Depth: 2}}, trace)
			mean, _ := summary(trace, completions)
			close3(t, "mean response time", mean, queueing.MMc(1400, ms.Seconds(), 2))
			likeIdeal(t, queueing.Station{Workers: 2}, trace, completions)
		})
	}
}

// Jobs dealt in turn wait behind what their own worker does, though others may be
// idle. Looking at all queues takes most of that away, stealing all.
func TestHeadOfLineBlockingMeetsTheory(t *testing.T) {
	t.Parallel()
	const workers, rate = 4, 2800
	trace := poisson(enough, rate, exponential)
	const dealt = 0.00223669363388 // seconds: E_4/M/1 at 0.7 of its capacity (TestRoundRobin of queueing has the formula)
	one := queueing.MMc(rate, ms.Seconds(), workers)
	o := Options[int]{Settings: Settings{Workers: workers, Depth: 1 << 14}}
	t.Run("rr", func(t *testing.T) {
		t.Parallel()
		completions := replayed(t, PerWorker, o, trace)
		mean, _ := summary(trace, completions)
		close3(t, "mean response time", mean, dealt)
		likeIdeal(t, queueing.Station{Kind: queueing.PerWorker, Workers: workers}, trace, completions)
	})
	t.Run("steal", func(t *testing.T) {
		t.Parallel()
		o := o
		o.Steal = true
		mean, _ := summary(trace, replayed(t, PerWorker, o, trace))
		close3(t, "mean response time", mean, one)
	})
	for _, pick := range []string{Least, TwoChoices} {
		t.Run(pick, func(t *testing.T) {
			t.Parallel()
			o := o
			o.Queue = pick
			mean, _ := summary(trace, replayed(t, PerWorker, o, trace))
			if !(one < mean && mean < dealt) {
				t.Errorf("mean response time %v, want it between one queue %v and dealt in turn %v", mean, one, dealt)
			}
		})
	}
}

// A semaphore is the same queue, of callers.
func TestSemaphoreMeetsTheory(t *testing.T) {
	t.Parallel()
	acquired := func(t *testing.T, places int, wait time.Duration, trace []queueing.Job) []queueing.Completion {
		return bubble(t, trace, func(run, lose func(int)) (func(int), func()) {
			s := NewSemaphore(places, wait)
			var callers sync.WaitGroup
			return func(job int) {
				callers.Go(func() {
					if _, ok := s.Acquire(); !ok {
						lose(job)
						return
					}
					defer s.Release()
					run(job)
				})
			}, callers.Wait
		})
	}
	t.Run("M-M-4", func(t *testing.T) {
		t.Parallel()
		trace := poisson(enough, 3000, exponential)
		completions := acquired(t, 4, time.Hour, trace)
		mean, _ := summary(trace, completions)
		close3(t, "mean response time", mean, queueing.MMc(3000, ms.Seconds(), 4))
		likeIdeal(t, queueing.Station{Workers: 4}, trace, completions)
	})
	t.Run("M-G-4-4", func(t *testing.T) {
		t.Parallel()
		trace := poisson(enough, 3000, heavy)
		completions := acquired(t, 4, 0, trace)
		_, loss := summary(trace, completions)
		close3(t, "loss without waiting", loss, queueing.ErlangB(4, 3))
		likeIdeal(t, queueing.Station{Workers: 4, Places: 4}, trace, completions)
	})
}
