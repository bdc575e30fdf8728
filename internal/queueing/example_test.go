package queueing_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"schedlab/internal/queueing"
)

// docs/reference/queueing.md quotes these examples whole; TestPageQuotesTheExamples compares.

func ExampleWorkers() {
	// 300 requests a second, each 0.1 ms of CPU and 20 ms of waiting for a database.
	fmt.Printf("%.2f busy, so %d workers\n", queueing.Little(300, 0.0201), queueing.Workers(300, 0.0201))
	// Output: 6.03 busy, so 7 workers
}

func ExampleMMc() {
	// 1 ms of exponential demand on four workers with a core each.
	for _, rate := range []float64{2000, 3200, 3800} {
		fmt.Printf("%.0f/s: %.0f %% wait, mean %.2f ms, p99 %.1f ms\n", rate,
			100*queueing.MMcWait(rate, 0.001, 4, 0),
			1000*queueing.MMc(rate, 0.001, 4),
			1000*queueing.MMcQuantile(rate, 0.001, 4, 0.99))
	}
	// Output:
	// 2000/s: 17 % wait, mean 1.09 ms, p99 4.8 ms
	// 3200/s: 60 % wait, mean 1.75 ms, p99 6.9 ms
	// 3800/s: 89 % wait, mean 5.46 ms, p99 23.6 ms
}

func ExampleRoundRobin() {
	// The same at 3,200 requests a second.
	fmt.Printf("one queue        %.2f ms\n", 1000*queueing.MMc(3200, 0.001, 4))
	fmt.Printf("dealt in turn    %.2f ms\n", 1000*queueing.RoundRobin(3200, 0.001, 4))
	fmt.Printf("by connection    %.2f ms\n", 1000*queueing.MMc(3200.0/4, 0.001, 1))
	// Output:
	// one queue        1.75 ms
	// dealt in turn    3.27 ms
	// by connection    5.00 ms
}

func ExampleMMcK() {
	// One worker of 1 ms offered half as much again as it can do.
	for _, depth := range []int{4, 16, 64, 256} {
		b := queueing.MMcK(1500, 0.001, 1, 1+depth)
		fmt.Printf("queue of %3d: %.0f/s served, %.0f %% refused, %.0f ms\n", depth, b.Throughput, 100*b.Loss, 1000*b.Response)
	}
	// Output:
	// queue of   4: 952/s served, 37 % refused, 4 ms
	// queue of  16: 1000/s served, 33 % refused, 15 ms
	// queue of  64: 1000/s served, 33 % refused, 63 ms
	// queue of 256: 1000/s served, 33 % refused, 255 ms
}

func ExampleAllenCunneen() {
	// 2 ms on average at a load of 0.7: each whole, or all at once.
	for _, scv := range []float64{0, 1, 25} {
		fmt.Printf("C² %2.0f: in order %4.1f ms, shared %.1f ms\n", scv, 1000*queueing.AllenCunneen(350, 0.002, 1, 1, scv), 1000*queueing.MMc(350, 0.002, 1))
	}
	// Output:
	// C²  0: in order  4.3 ms, shared 6.7 ms
	// C²  1: in order  6.7 ms, shared 6.7 ms
	// C² 25: in order 62.7 ms, shared 6.7 ms
}

func ExampleReplay() {
	// 60 ms of work on one core, and 1 ms of work 5 ms later.
	trace := []queueing.Job{{CPU: 60 * time.Millisecond}, {At: 5 * time.Millisecond, CPU: time.Millisecond}}
	for _, s := range []queueing.Station{
		{Kind: queueing.Pool, Workers: 1, Cores: 1, Turn: queueing.GoTurn},
		{Kind: queueing.Goroutines, Cores: 1, Turn: queueing.GoTurn},
	} {
		completions, err := queueing.Replay(s, trace)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%v: the short one takes %v\n", s.Kind, completions[1].Finish-trace[1].At)
	}
	// Output:
	// pool: the short one takes 56ms
	// goroutines: the short one takes 6ms
}

func ExampleAsymptotic() {
	// Clients that wait for each answer, 2.4 ms of one resource per request.
	for _, clients := range []int{1, 10, 64} {
		mostX, leastT := queueing.Asymptotic(clients, 0.0024, 0.0024, 0)
		fmt.Printf("%2d clients: at most %.0f/s, at least %.1f ms\n", clients, mostX, 1000*leastT)
	}
	// Output:
	//  1 clients: at most 417/s, at least 2.4 ms
	// 10 clients: at most 417/s, at least 24.0 ms
	// 64 clients: at most 417/s, at least 153.6 ms
}

func ExamplePredict() {
	// Eight workers on two cores; one request in a hundred takes 20 ms, not 0.2.
	rng := rand.New(rand.NewPCG(1, 2))
	var trace []queueing.Job
	for at := 0.0; at < 60; at += rng.ExpFloat64() / 3000 {
		cpu := 200 * time.Microsecond
		if rng.IntN(100) == 0 {
			cpu = 20 * time.Millisecond
		}
		trace = append(trace, queueing.Job{At: time.Duration(at * 1e9), CPU: cpu})
	}
	for _, workers := range []int{2, 8} {
		s := queueing.Station{Kind: queueing.Pool, Workers: workers, Cores: 2, Turn: queueing.GoTurn}
		p, twin := queueing.Predict(s, queueing.Measure(trace)), queueing.Twin(s, trace)
		fmt.Printf("%d workers: mean %.1f ms by %s; this trace %.1f ms, p99 %.0f ms\n",
			workers, 1000**p.Mean, p.Formula, 1000**twin.Mean, 1000**twin.P99)
	}
	// Output:
	// 2 workers: mean 2.9 ms by G/G/c (Allen-Cunneen); this trace 2.5 ms, p99 25 ms
	// 8 workers: mean 2.3 ms by replay; this trace 2.3 ms, p99 24 ms
}
