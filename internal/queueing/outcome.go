package queueing

import (
	"math"
	"slices"
	"sync"
	"time"
)

// Unbounded is the Queue of an [Outcome] with a queue that loses nothing.
const Unbounded = -1

// An Outcome is the behaviour of a pool of workers under a load. Times are seconds. Only [Size],
// [Waits] and [Advice] make one.
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

	response, wait func(q float64) float64
}

// Response returns the response time that the ratio q of the requests served do not
// exceed, 0 < q < 1.
func (o Outcome) Response(q float64) float64 { return o.response(q) }

// Waited returns the wait for a worker that the ratio q of the requests served do not exceed.
func (o Outcome) Waited(q float64) float64 { return o.wait(q) }

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

// erlang reports whether workers behave like servers with exponential demands.
func (a *Ask) erlang(s setting) bool {
	st := Station{Cores: a.Cores}
	scaled := Load{Rate: a.Rate * s.rate, Service: a.Service * s.held, Block: a.Block * s.held}
	return a.Exponential && (0 < s.workers && s.workers <= a.Cores || sleepy(st, scaled))
}

// exact fills in the figures of M/M/c and M/M/c/K, or of M/M/∞ if there is a worker for each
// request and requests only sleep. The figures are approximate if requests need a little CPU time,
// because they wait for a core and not in the queue.
func (a *Ask) exact(o *Outcome) {
	o.Approximate = a.Service > 0 && (o.Workers == 0 || o.Workers > a.Cores)
	rate, held, workers := o.Rate, o.Held, o.Workers
	if workers == 0 {
		o.Formula, o.Mean, o.Throughput = "M/M/∞", held, rate
		o.response = func(q float64) float64 { return -held * math.Log1p(-q) }
		o.wait = func(float64) float64 { return 0 }
		return
	}
	if o.Queue == Unbounded {
		o.Formula = "M/M/c"
		o.Mean, o.Throughput = MMc(rate, held, workers), min(rate, float64(workers)/held)
		o.Wait = o.Mean - held
		o.response = func(q float64) float64 { return MMcQuantile(rate, held, workers, q) }
		o.wait = func(q float64) float64 { return MMcWaitQuantile(rate, held, workers, q) }
		return
	}
	o.Formula = "M/M/c/K"
	places := workers + o.Queue
	b := MMcK(rate, held, workers, places)
	o.Loss, o.Throughput, o.Mean = b.Loss, b.Throughput, b.Response
	o.Wait, _ = MMcKWait(rate, held, workers, places, 0)
	o.response = func(q float64) float64 { return MMcKQuantile(rate, held, workers, places, q) }
	o.wait = func(q float64) float64 {
		_, t := MMcKWait(rate, held, workers, places, q)
		return t
	}
}

// endless fills in the figures if the cores cannot keep up and the queue has no bound.
func (a *Ask) endless(o *Outcome) {
	never := func(float64) float64 { return math.Inf(1) }
	o.Formula, o.Throughput = "utilisation law", o.Rate/o.Cores
	o.Mean, o.response = never(0), never
	if o.Workers > 0 { // requests wait for workers; if each has a worker, all wait for a core
		o.Wait, o.wait = never(0), never
		return
	}
	o.wait = func(float64) float64 { return 0 }
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
	first := len(jobs) / settling
	waits, responses := make([]float64, 0, len(completions)), make([]float64, 0, len(completions))
	var waited, took float64
	var last time.Duration
	for i, f := range completions[first:] {
		if f.Lost {
			continue
		}
		at := jobs[first+i].At
		waits = append(waits, (f.Start - at).Seconds())
		responses = append(responses, (f.Finish - at).Seconds())
		waited += waits[len(waits)-1]
		took += responses[len(responses)-1]
		last = max(last, f.Finish)
	}
	o.Counted = len(jobs) - first
	n, offered := float64(len(responses)), float64(o.Counted)
	o.Loss, o.Throughput = 1-n/offered, n/offered*o.Rate
	// The backlog is served after the last arrival. Include the time that this takes.
	if span, late := offered/o.Rate, (last - jobs[len(jobs)-1].At).Seconds(); late > 0.01*span {
		o.Throughput = n / (span + late)
	}
	o.Mean, o.Wait = took/n, waited/n
	o.response, o.wait = ranked(responses), ranked(waits)
}

// ranked returns a function that gives quantiles by nearest rank; NaN if there are no values. It
// sorts at the first call, because most outcomes of a search are judged by one figure.
func ranked(values []float64) func(q float64) float64 {
	sorted := sync.OnceValue(func() []float64 { slices.Sort(values); return values })
	return func(q float64) float64 {
		n := float64(len(values))
		if n == 0 || !(q >= 0 && q <= 1) {
			return math.NaN()
		}
		return sorted()[max(int(math.Ceil(q*n*(1-1e-12))), 1)-1]
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
