package dispatch

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkHandoff is a job handed over and its reply awaited, by as many
// submitters as there are workers. channel is the floor, two goroutine switches
// over unbuffered channels without a queue or a clock; go starts a goroutine per
// job. Compare with benchstat -col /executor.
func BenchmarkHandoff(b *testing.B) {
	executors := []executor{
		{"channel", startChannel},
		{"go", startGo},
		{"shared", startKind(Shared, Options[chan struct{}]{})},
		{"shared-closure", startKind(Shared, Options[chan struct{}]{Closure: true})},
		{"shared-codel", startKind(Shared, Options[chan struct{}]{Overflow: CoDel, Target: time.Hour, Interval: time.Hour})},
		{"shared-locked", startKind(Shared, Options[chan struct{}]{Locked: true})},
		{"perworker-rr", startKind(PerWorker, Options[chan struct{}]{Pick: RoundRobin})},
		{"perworker-least", startKind(PerWorker, Options[chan struct{}]{Pick: Least})},
		{"perworker-p2c", startKind(PerWorker, Options[chan struct{}]{Pick: TwoChoices})},
		{"perworker-steal", startKind(PerWorker, Options[chan struct{}]{Steal: true})},
		{"ring", startKind(Ring, Options[chan struct{}]{})},
		{"ring-spin", startKind(Ring, Options[chan struct{}]{Spin: 1000})},
		{"adaptive", startKind(Adaptive, Options[chan struct{}]{Target: time.Hour, Interval: time.Hour})},
		{"ants", startKind(Ants, Options[chan struct{}]{})},
		{"pond", startKind(Pond, Options[chan struct{}]{})},
	}
	for _, workers := range []int{1, 4, 64} {
		for _, e := range executors {
			b.Run(fmt.Sprintf("executor=%s/workers=%d", e.name, workers), func(b *testing.B) {
				submit, stop := e.start(workers)
				defer stop()
				b.ReportAllocs()
				handoff(b, workers, submit)
			})
		}
	}
}

type executor struct {
	name  string
	start func(workers int) (submit func(reply chan struct{}), stop func())
}

// handoff shares b.N jobs out among submitters.
func handoff(b *testing.B, submitters int, submit func(reply chan struct{})) {
	var left atomic.Int64
	left.Store(int64(b.N))
	done := make(chan struct{})
	b.ResetTimer()
	for range submitters {
		go func() {
			reply := make(chan struct{}, 1)
			for left.Add(-1) >= 0 {
				submit(reply)
				<-reply
			}
			done <- struct{}{}
		}()
	}
	for range submitters {
		<-done
	}
	b.StopTimer()
}

func answer(reply chan struct{}) { reply <- struct{}{} }

func startKind(kind Kind, o Options[chan struct{}]) func(int) (func(chan struct{}), func()) {
	return func(workers int) (func(chan struct{}), func()) {
		o.Workers, o.Depth, o.Run = workers, 2*workers, answer
		d := New(kind, o)
		d.Start()
		return d.Put, d.Close
	}
}

func startGo(int) (func(chan struct{}), func()) {
	return func(reply chan struct{}) { go answer(reply) }, func() {}
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
