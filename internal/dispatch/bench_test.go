package dispatch

import (
	"fmt"
	"sync/atomic"
	"testing"
)

// BenchmarkHandoff is a job handed over and its reply awaited, by as many
// submitters as there are workers. channel is the floor, two goroutine switches
// over unbuffered channels without a queue or a clock; go starts a goroutine per
// job. Compare with benchstat -col /executor.
func BenchmarkHandoff(b *testing.B) {
	for _, workers := range []int{1, 4, 64} {
		for _, executor := range []struct {
			name  string
			start func(workers int) (submit func(reply chan struct{}), stop func())
		}{
			{"channel", startChannel}, {"go", startGo}, {"pool", startPool},
		} {
			b.Run(fmt.Sprintf("executor=%s/workers=%d", executor.name, workers), func(b *testing.B) {
				submit, stop := executor.start(workers)
				defer stop()
				b.ReportAllocs()
				handoff(b, workers, submit)
			})
		}
	}
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

func startPool(workers int) (func(chan struct{}), func()) {
	p := New(workers, 2*workers, answer, nil)
	p.Start()
	return p.Submit, p.Close
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
