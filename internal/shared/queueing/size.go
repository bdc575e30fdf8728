package queueing

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"time"
)

// An Ask describes the load and the goal for which a pool of workers is to be sized.
type Ask struct {
	// Load is the load of the pool: Rate, Service and Block, and a trace with these moments. The
	// trace is replayed if no formula applies, also at other rates and with other demands. With
	// 50,000 jobs a p99 is within a few per cent.
	Load

	// Exponential says that the time a worker is held is exponential. Erlang's formulas then hold
	// as long as requests do not wait for cores.
	Exponential bool
	Cores       int // shared by all workers, 1 or more

	// Margin is a ratio: the advice must also hold at Rate·(1+Margin). It allows for the effects
	// that theory leaves out, and for chance in a window of finite length.
	Margin float64

	// Keep reports whether an outcome is good enough. More workers must never turn its answer from
	// true to false.
	Keep func(Outcome) bool
}

// Advice tells how large a pool should be.
type Advice struct {
	Workers int // fewest workers that Keep accepts; 0: no number does, and Hopeless says why
	Queue   int // smallest queue that Keep accepts with them, 0 or more

	Hopeless Hopeless // "" if there is advice
	Tried    int      // with NoQueue: the number of workers for which no queue is long enough
	// MostRate is about the highest rate at which some number of workers is enough, the margin
	// included. It is 0 if even an idle server is not good enough. It is set only without advice.
	MostRate float64

	Expected Outcome // at the rate asked for; without advice, with a worker for each request
	Strained Outcome // at the rate with its margin
	Least    int     // fewest workers without the margin
	Wrong    []Case  // effect of an error of 20 % in each input; of about 20 % in the workers
}

// Hopeless is the reason why no number of workers is enough.
type Hopeless string

// The reasons.
const (
	TooLong     Hopeless = "size-alone"      // a request alone on an idle server is not good enough
	TooFewCores Hopeless = "size-cores"      // the requests need more cores than there are
	CoresWait   Hopeless = "size-cores-wait" // the wait for cores is too long even with a worker for each request
	ByAHair     Hopeless = "size-by-a-hair"  // a worker for each request is enough, but no number that was tried is
	NoQueue     Hopeless = "size-loss"       // Keep allows so little loss that even a queue of MostTried loses more
)

// A Case is the outcome of the advice if one assumption is wrong.
type Case struct {
	What string  // "rate", "time held" or "workers"
	By   float64 // its error, a ratio: -0.2 is 20 % less
	Outcome
	Kept bool // Keep still accepts the outcome
}

// Unbounded is the Queue of an [Outcome] with a queue that loses nothing.
const Unbounded = -1

// An Outcome is the behaviour of a pool of workers under a load. Times are seconds. Only [Size]
// and [Waits] make one.
type Outcome struct {
	Workers int     // 0: one worker for each request
	Queue   int     // requests that may wait for a worker; Unbounded: any number
	Rate    float64 // offered per second
	Held    float64 // mean time that a request keeps its worker, without waits for a core

	// Formula names the formula of the figures below. It is "replay" if they come from replaying
	// the trace; Counted requests of the trace count.
	Formula     string
	Counted     int
	Approximate bool // the formula is not exact for this load

	Loss       float64 // ratio of requests turned away
	Throughput float64 // requests served per second
	Mean       float64 // response time of the requests served; +Inf if the pool never catches up
	Wait       float64 // mean wait for a worker, a part of Mean
	Busy       float64 // workers held on average (Little's law: throughput x (Mean - Wait))
	Cores      float64 // ratio of the cores' time that is used if nothing is lost

	// Response returns the response time that the ratio q of the requests served do not exceed, 0 <
	// q < 1, and Waited their wait for a worker.
	Response, Waited func(q float64) float64
}

// MostTried limits a search for the smallest number, counted from its start.
const MostTried = 1 << 20

// Size returns the fewest workers, and for them the shortest queue, that Keep accepts at the rate
// with its margin. It replays the trace some dozens of times. It returns an error that says which
// argument is impossible.
func Size(a Ask) (Advice, error) {
	if err := a.check(); err != nil {
		return Advice{}, err
	}
	if adv := a.hopeless(); adv.Hopeless != "" {
		return adv, nil
	}
	strained := 1 + a.Margin
	none := func(why Hopeless, tried int) (Advice, error) {
		return Advice{Expected: a.outcome(setting{0, Unbounded, 1, 1}), Hopeless: why, Tried: tried}, nil
	}
	workers, ok := a.fewest(strained)
	if !ok {
		return none(ByAHair, 0)
	}
	adv := Advice{Workers: workers}
	adv.Least, _ = a.fewest(1) // found because enough workers for more load are enough for less
	adv.Queue, ok = least(0, func(queue int) bool {
		return a.Keep(a.outcome(setting{workers, queue, strained, 1}))
	})
	if !ok {
		return none(NoQueue, workers)
	}
	adv.Expected = a.outcome(setting{workers, adv.Queue, 1, 1})
	adv.Strained = a.outcome(setting{workers, adv.Queue, strained, 1})
	wrong := func(what string, by float64, s setting) {
		o := a.outcome(s)
		adv.Wrong = append(adv.Wrong, Case{what, by, o, a.Keep(o)})
	}
	wrong("rate", -0.2, setting{workers, adv.Queue, 0.8, 1})
	wrong("rate", 0.2, setting{workers, adv.Queue, 1.2, 1})
	wrong("time held", -0.2, setting{workers, adv.Queue, 1, 0.8})
	wrong("time held", 0.2, setting{workers, adv.Queue, 1, 1.2})
	for _, other := range []int{Fewer(workers), more(workers)} {
		if other > 0 {
			wrong("workers", float64(other)/float64(workers)-1, setting{other, adv.Queue, 1, 1})
		}
	}
	return adv, nil
}

// Fewer returns 20 % fewer workers, rounded to the nearest whole number, and at least one fewer.
func Fewer(workers int) int { return min((8*workers+5)/10, workers-1) }

// more returns 20 % more workers, rounded to the nearest whole number, and at least one more.
func more(workers int) int { return max((12*workers+5)/10, workers+1) }

func (a *Ask) check() error {
	demand := meaningful(a.Rate, a.Service+a.Block) && a.Rate > 0 && min(a.Service, a.Block) >= 0
	if !demand || a.Cores < 1 || !(a.Margin >= 0 && a.Margin <= 1) || a.Keep == nil || len(a.Trace) < settling {
		return fmt.Errorf("sizing a pool: %g requests per second of %g s on a core and %g s blocked, %d cores, a margin of %g, a trace of %d jobs; "+
			"give a rate and a time held above 0, 1 core or more, a margin from 0 to 1, Keep, and %d jobs or more",
			a.Rate, a.Service, a.Block, a.Cores, a.Margin, len(a.Trace), settling)
	}
	return checkTrace(Station{Kind: Goroutines, Cores: a.Cores, Turn: GoTurn}, a.Trace)
}

// hopeless returns the advice if workers cannot help, with the reason. Hopeless is empty if they
// can.
func (a *Ask) hopeless() Advice {
	all := func(rate float64) Outcome { return a.outcome(setting{0, Unbounded, rate, 1}) }
	load := a.Rate * a.Service / float64(a.Cores)
	full := load*(1+a.Margin) >= 1
	adv := Advice{Expected: all(1)}
	if !full && a.Keep(all(1+a.Margin)) {
		return adv
	}
	idle := min(1e-3, 1e-3/load)
	if !a.Keep(all(idle)) {
		adv.Hopeless = TooLong
		return adv
	}
	if adv.Hopeless = CoresWait; full {
		adv.Hopeless = TooFewCores
	}
	most := last(idle, min(1+a.Margin, 1/load), 0.005, func(rate float64) bool { return a.Keep(all(rate)) })
	adv.MostRate = a.Rate * most / (1 + a.Margin)
	return adv
}

// fewest returns the fewest workers that Keep accepts at a multiple of the rate, with a queue that
// loses nothing. ok is false if it finds none.
func (a *Ask) fewest(rate float64) (workers int, ok bool) {
	enough := Workers(a.Rate*rate, a.Service+a.Block)
	return least(enough, func(workers int) bool {
		return a.Keep(a.outcome(setting{workers, Unbounded, rate, 1}))
	})
}

// least returns the smallest number from low on that is good; all larger numbers must be good as
// well. If it finds none, ok is false and n is the highest number tried.
func least(low int, good func(int) bool) (n int, ok bool) {
	if good(low) {
		return low, true
	}
	bad, step := low, 1
	for !good(bad + step) {
		if bad += step; bad >= low+MostTried {
			return bad, false
		}
		step *= 2
	}
	return bad + 1 + sort.Search(step-1, func(i int) bool { return good(bad + 1 + i) }), true
}

// Waits shows how waits shrink with more workers, with an unbounded queue at the rate asked for.
// It returns at most 12 outcomes, from the fewest workers that keep up to the number at which
// requests hardly wait. knee is the index of the first outcome with a mean wait of at most a tenth
// of the time held. The slice is empty, and knee 0, if the cores cannot keep up.
func Waits(a Ask) (all []Outcome, knee int, err error) {
	a.Keep = func(Outcome) bool { return true }
	if err := a.check(); err != nil {
		return nil, 0, err
	}
	if a.Rate*a.Service >= float64(a.Cores) {
		return nil, 0, nil
	}
	with := func(workers int) Outcome { return a.outcome(setting{workers, Unbounded, 1, 1}) }
	below := func(share float64) func(int) bool {
		return func(workers int) bool { return with(workers).Wait <= share*(a.Service+a.Block) }
	}
	low := Workers(a.Rate, a.Service+a.Block)
	turn, _ := least(low, below(0.1)) // exists: with a worker for each request there is no wait
	high, _ := least(turn, below(0.001))
	step := max(1, (high-low+9)/10)
	knee = -1
	for workers := low; ; workers += step {
		if knee < 0 && workers >= turn {
			workers, knee = turn, len(all)
		}
		all = append(all, with(workers))
		if workers >= high {
			return all, knee, nil
		}
	}
}

// A setting is a pool to predict: its size, and the factors by which the rate and the demands of
// an Ask are multiplied.
type setting struct {
	workers, queue int
	rate, held     float64 // factors of the rate and of the demands
}

// outcome predicts a setting: by Erlang's formulas if they hold, else by replaying the trace.
func (a *Ask) outcome(s setting) Outcome {
	o := Outcome{Workers: s.workers, Queue: s.queue, Rate: a.Rate * s.rate, Held: (a.Service + a.Block) * s.held}
	o.Cores = a.Rate * s.rate * a.Service * s.held / float64(a.Cores)
	switch {
	case s.queue == Unbounded && o.Cores >= 1:
		a.endless(&o)
	case a.erlang(s):
		a.exact(&o)
	default:
		a.replayed(&o, s)
	}
	o.Busy = o.Throughput * (o.Mean - o.Wait)
	if math.IsInf(o.Mean, 1) {
		o.Busy = float64(o.Workers)
	}
	return o
}

// Pool predicts a pool of this many workers and places in its queue at the rate asked for, as Size does. It
// loses the first tenth of the trace, in which the pool fills.
func (a Ask) Pool(workers, queue int) Outcome { return a.outcome(setting{workers, queue, 1, 1}) }

// erlang reports whether workers behave like servers with exponential demands.
func (a *Ask) erlang(s setting) bool {
	scaled := Load{Rate: a.Rate * s.rate, Service: a.Service * s.held, Block: a.Block * s.held}
	return a.Exponential && (0 < s.workers && s.workers <= a.Cores || sleepy(a.Cores, scaled))
}

// exact fills in the figures of M/M/c and M/M/c/K, or of M/M/∞ if there is a worker for each
// request and requests only sleep. The figures are approximate if requests need a little CPU time,
// because they wait for a core and not in the queue.
func (a *Ask) exact(o *Outcome) {
	o.Approximate = a.Service > 0 && (o.Workers == 0 || o.Workers > a.Cores)
	rate, held, workers, places := o.Rate, o.Held, o.Workers, o.Workers+o.Queue
	switch {
	case workers == 0:
		o.Formula, o.Mean, o.Throughput = "M/M/∞", held, rate
		o.Response = func(q float64) float64 { return -held * math.Log1p(-q) }
		o.Waited = func(float64) float64 { return 0 }
	case o.Queue == Unbounded:
		o.Formula, o.Mean, o.Throughput = "M/M/c", MMc(rate, held, workers), min(rate, float64(workers)/held)
		o.Response = func(q float64) float64 { return MMcQuantile(rate, held, workers, q) }
		o.Waited = func(q float64) float64 { return mmcWaitQuantile(rate, held, workers, q) }
	default:
		b := MMcK(rate, held, workers, places)
		o.Formula, o.Mean, o.Throughput, o.Loss = "M/M/c/K", b.Response, b.Throughput, b.Loss
		o.Response = func(q float64) float64 { return mmckQuantile(rate, held, workers, places, q) }
		o.Waited = func(q float64) float64 { return mmckWaitQuantile(rate, held, workers, places, q) }
	}
	o.Wait = o.Mean - held
}

// endless fills in the figures if the cores cannot keep up and the queue has no bound. Requests wait
// for workers; if each has a worker, all wait for a core.
func (a *Ask) endless(o *Outcome) {
	never := func(float64) float64 { return math.Inf(1) }
	o.Formula, o.Throughput = "utilisation law", o.Rate/o.Cores
	o.Mean, o.Response, o.Wait, o.Waited = math.Inf(1), never, math.Inf(1), never
	if o.Workers == 0 {
		o.Wait, o.Waited = 0, func(float64) float64 { return 0 }
	}
}

// settling is the part of a replay that its figures leave out: the first tenth of the jobs, while
// an empty station fills.
const settling = 10

// replayed fills in the figures of a replay of the trace.
func (a *Ask) replayed(o *Outcome, s setting) {
	o.Formula = "replay"
	jobs := a.stretched(s)
	st := Station{Kind: Pool, Workers: s.workers, Cores: a.Cores, Turn: GoTurn}
	if s.workers == 0 {
		st.Kind = Goroutines
	}
	if s.queue != Unbounded {
		st.Places = s.workers + s.queue
	}
	completions, err := Replay(st, jobs)
	if err != nil { // Size has checked all that Replay does
		panic(err)
	}
	first, end := len(jobs)/settling, jobs[len(jobs)-1].At
	jobs, completions = jobs[first:], completions[first:]
	var done time.Duration
	for _, c := range completions {
		done = max(done, c.Finish)
	}
	responses, mean := after(jobs, completions, finished)
	waits, wait := after(jobs, completions, started)
	o.Counted, o.Mean, o.Response, o.Wait, o.Waited = len(jobs), mean, ranked(responses), wait, ranked(waits)
	n, offered := float64(len(responses)), float64(len(jobs))
	o.Loss, o.Throughput = 1-n/offered, n/offered*o.Rate
	// The backlog is served after the last arrival. Include the time that this takes.
	if span, late := offered/o.Rate, (done - end).Seconds(); late > 0.01*span {
		o.Throughput = n / (span + late)
	}
}

// stretched returns the trace at the setting's rate and with its demands.
func (a *Ask) stretched(s setting) []Job {
	jobs := slices.Clone(a.Trace)
	for i := range jobs {
		jobs[i].At = time.Duration(float64(jobs[i].At) / s.rate)
		jobs[i].CPU = time.Duration(float64(jobs[i].CPU) * s.held)
		jobs[i].Block = time.Duration(float64(jobs[i].Block) * s.held)
	}
	return jobs
}
