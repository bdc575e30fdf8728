// Package handoff compares our dispatchers with the pools that people use, which only this module requires.
package handoff

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alitto/pond/v2"
	"github.com/gammazero/workerpool"
	"github.com/panjf2000/ants/v2"
	"github.com/sourcegraph/conc/pool"

	"schedlab/internal/serving/dispatch"
)

const (
	handoffRounds = 60
	handoffJobs   = 4_000 // of each executor in each round
)

// BenchmarkHandoff is a job handed over and its reply awaited, by as many
// submitters as there are workers, under every kind of dispatcher and the pools
// that people use. channel is the floor, two goroutine switches over unbuffered
// channels without a queue or a clock; go starts a goroutine per job; inline and
// semaphore hand nothing over. All run in one measurement: each round runs every
// executor once, in an order drawn by chance or the reverse of the last, and
// to-channel is the median over the rounds of the ratio to channel in the same
// round, as to-go is to go.
func BenchmarkHandoff(b *testing.B) {
	for _, procs := range []int{1, 2} {
		for _, workers := range []int{1, 4, 64} {
			b.Run(fmt.Sprintf("procs=%d/workers=%d", procs, workers), func(b *testing.B) {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
				benchmarkHandoff(b, workers)
			})
		}
	}
}

type executor struct {
	name  string
	start func(workers int) (submit func(reply chan struct{}), stop func())
	slow  bool // some 10 µs a job, so that fewer will do
}

var executors = []executor{
	{"channel", startChannel, false},
	{"go", startGo, false},
	{"inline", startInline, false},
	{"semaphore", startSemaphore, false},
	{"shared", startKind(dispatch.Shared, dispatch.Options[chan struct{}]{}), false},
	{"shared-closure", startKind(dispatch.Shared, dispatch.Options[chan struct{}]{Settings: dispatch.Settings{Job: dispatch.Closure}}), false},
	{"shared-codel", startKind(dispatch.Shared, dispatch.Options[chan struct{}]{Settings: dispatch.Settings{Overflow: dispatch.CoDel, Target: time.Hour, Interval: time.Hour}}), false},
	{"shared-locked", startKind(dispatch.Shared, dispatch.Options[chan struct{}]{Settings: dispatch.Settings{Locked: true}}), true},
	{"shared-timed", startKind(dispatch.Shared, dispatch.Options[chan struct{}]{Waited: func(chan struct{}, time.Duration) {}}), false},
	{"perworker-rr", startKind(dispatch.PerWorker, dispatch.Options[chan struct{}]{Settings: dispatch.Settings{Queue: dispatch.RoundRobin}}), false},
	{"perworker-least", startKind(dispatch.PerWorker, dispatch.Options[chan struct{}]{Settings: dispatch.Settings{Queue: dispatch.Least}}), false},
	{"perworker-p2c", startKind(dispatch.PerWorker, dispatch.Options[chan struct{}]{Settings: dispatch.Settings{Queue: dispatch.TwoChoices}}), false},
	{"perworker-steal", startKind(dispatch.PerWorker, dispatch.Options[chan struct{}]{Settings: dispatch.Settings{Steal: true}}), false},
	{"ring", startKind(dispatch.Ring, dispatch.Options[chan struct{}]{}), false},
	{"ring-spin", startKind(dispatch.Ring, dispatch.Options[chan struct{}]{Settings: dispatch.Settings{Spin: 1000}}), true},
	{"adaptive", startKind(dispatch.Adaptive, dispatch.Options[chan struct{}]{Settings: dispatch.Settings{Target: time.Hour, Interval: time.Hour}}), false},
	{"lib-ants", startAnts, false},
	{"lib-pond", startPond, false},
	{"lib-conc", startConc, false},
	{"lib-workerpool", startWorkerpool, false},
}

// benchmarkHandoff reports a line for every executor of one measurement.
func benchmarkHandoff(b *testing.B, workers int) {
	took := map[string][]float64{} // ns per job, by executor, in the order of rounds
	allocs := map[string]float64{}
	var running []contestant
	for _, e := range executors {
		submit, stop := e.start(workers)
		defer stop()
		c := contestant{executor: e, submit: submit, workers: workers, jobs: handoffJobs}
		if e.slow {
			c.jobs /= 20
		}
		c.run() // some start workers as they go
		allocs[e.name] = c.allocs()
		running = append(running, c)
	}
	for round := range handoffRounds {
		if round%2 == 0 {
			rand.Shuffle(len(running), func(i, j int) { running[i], running[j] = running[j], running[i] })
		} else {
			slices.Reverse(running)
		}
		for _, c := range running {
			took[c.name] = append(took[c.name], float64(c.run())/float64(c.jobs))
		}
	}
	for _, e := range executors {
		b.Run("executor="+e.name, func(b *testing.B) {
			b.ReportMetric(median(took[e.name]), "ns/job")
			b.ReportMetric(allocs[e.name], "allocs/job")
			b.ReportMetric(median(quotients(took[e.name], took["channel"])), "to-channel")
			b.ReportMetric(median(quotients(took[e.name], took["go"])), "to-go")
			b.ReportMetric(0, "ns/op") // nothing is left to time here
		})
	}
}

func median(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	return values[len(values)/2]
}

func quotients(values, by []float64) (q []float64) {
	for i := range values {
		q = append(q, values[i]/by[i])
	}
	return q
}

// A contestant is an executor at work.
type contestant struct {
	executor
	submit        func(reply chan struct{})
	workers, jobs int
}

// run shares the jobs out among as many submitters as workers.
func (c contestant) run() time.Duration {
	var left atomic.Int64
	left.Store(int64(c.jobs))
	var all sync.WaitGroup
	began := time.Now()
	for range c.workers {
		all.Go(func() {
			reply := make(chan struct{}, 1)
			for left.Add(-1) >= 0 {
				c.submit(reply)
				<-reply
			}
		})
	}
	all.Wait()
	return time.Since(began)
}

// allocs is how often a job allocates.
func (c contestant) allocs() float64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	c.run()
	runtime.ReadMemStats(&after)
	beside := 4 * float64(c.workers) // a submitter's goroutine, closures and channel
	return max(0, float64(after.Mallocs-before.Mallocs)-beside) / float64(c.jobs)
}

func answer(reply chan struct{}) { reply <- struct{}{} }

func startKind(kind dispatch.Kind, o dispatch.Options[chan struct{}]) func(int) (func(chan struct{}), func()) {
	return func(workers int) (func(chan struct{}), func()) {
		o.Workers, o.Depth, o.Run = workers, 2*workers, answer
		d := dispatch.New(kind, o)
		d.Start()
		return d.Put, d.Close
	}
}

func startChannel(workers int) (func(chan struct{}), func()) {
	jobs := make(chan chan struct{})
	for range workers {
		go func() {
			for reply := range jobs {
				reply <- struct{}{}
			}
		}()
	}
	return func(reply chan struct{}) { jobs <- reply }, func() { close(jobs) }
}

func startGo(int) (func(chan struct{}), func()) {
	return func(reply chan struct{}) { go answer(reply) }, func() {}
}

func startInline(int) (func(chan struct{}), func()) { return answer, func() {} }

func startSemaphore(workers int) (func(chan struct{}), func()) {
	s := dispatch.NewSemaphore(workers, time.Hour)
	return func(reply chan struct{}) {
		s.Acquire()
		answer(reply)
		s.Release()
	}, func() {}
}

func startAnts(workers int) (func(chan struct{}), func()) {
	p, err := ants.NewPoolWithFuncGeneric(workers, answer)
	if err != nil {
		panic(err)
	}
	return func(reply chan struct{}) { _ = p.Invoke(reply) }, p.Release // it refuses only when it is released
}

func startPond(workers int) (func(chan struct{}), func()) {
	p := pond.NewPool(workers)
	return func(reply chan struct{}) { _ = p.Go(func() { answer(reply) }) }, p.StopAndWait // as above
}

func startConc(workers int) (func(chan struct{}), func()) {
	p := pool.New().WithMaxGoroutines(workers)
	return func(reply chan struct{}) { p.Go(func() { answer(reply) }) }, p.Wait
}

func startWorkerpool(workers int) (func(chan struct{}), func()) {
	p := workerpool.New(workers)
	return func(reply chan struct{}) { p.Submit(func() { answer(reply) }) }, p.StopWait
}
