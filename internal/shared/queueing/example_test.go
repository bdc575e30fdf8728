package queueing_test

import (
	"fmt"

	"schedlab/internal/shared/queueing"
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
