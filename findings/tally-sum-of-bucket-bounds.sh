#!/usr/bin/env bash
# tally's histograms in Prometheus sum the bounds of their buckets: one request of 3 s makes the mean of eleven 27 years.
#
# Prometheus defines a histogram's _sum as the sum of all observed values, and the mean as rate(_sum) / rate(_count).
# uber-go/tally 4.1.17 keeps counts of buckets, and its Prometheus reporter observes each bucket's upper bound in place of
# the values. Ten requests of 11 ms in a bucket of 10 to 100 ms have a mean of 100 ms. The last bucket's bound is the
# largest duration (292 years) or the largest number: one request of 3 s above the last bound of 1 s adds 9.2e9 seconds to
# the sum, and two bodies above the last bound of sizes make it +Inf for good. The buckets and the count are right, so
# quantiles look well. tally's own Timer, given the same times and bounds, has the right sum.
#
# Seen on 2026-11-29 (go1.26.8):
#   ten of 11 ms
#     Histogram: count 10, mean 0.1 s
#     Timer:     count 10, mean 0.011 s
#   ten of 11 ms and one of 3 s
#     Histogram: count 11, mean 8.385e+08 s
#     Timer:     count 11, mean 0.2827 s
#   sizes of 500, 2000 and 3000 bytes, bounds 1000 and 1500
#     Histogram: count 3, sum +Inf
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'END'
package main

import (
	"fmt"
	"log"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/uber-go/tally/v4"
	reporter "github.com/uber-go/tally/v4/prometheus"
)

var bounds = []float64{0.01, 0.1, 1}

// sumAndCount returns what a scrape would show of the one metric that record made.
func sumAndCount(record func(tally.Scope)) (sum float64, count uint64) {
	r := prometheus.NewRegistry()
	scope, end := tally.NewRootScope(tally.ScopeOptions{
		CachedReporter: reporter.NewReporter(reporter.Options{
			Registerer: r, Gatherer: r,
			DefaultTimerType: reporter.HistogramTimerType, DefaultHistogramBuckets: bounds,
		}),
		Separator:              reporter.DefaultSeparator,
		OmitCardinalityMetrics: true,
	}, time.Hour)
	record(scope)
	if err := end.Close(); err != nil { // reports what was recorded
		log.Fatal(err)
	}
	families, err := r.Gather()
	if err != nil || len(families) != 1 {
		log.Fatal(len(families), err)
	}
	h := families[0].GetMetric()[0].GetHistogram()
	return h.GetSampleSum(), h.GetSampleCount()
}

func main() {
	eleven := make([]time.Duration, 10)
	for i := range eleven {
		eleven[i] = 11 * time.Millisecond
	}
	for _, c := range []struct {
		name  string
		times []time.Duration
	}{{"ten of 11 ms", eleven}, {"ten of 11 ms and one of 3 s", append(eleven, 3*time.Second)}} {
		fmt.Println(c.name)
		sum, count := sumAndCount(func(s tally.Scope) {
			h := s.Histogram("seconds", tally.DurationBuckets{10 * time.Millisecond, 100 * time.Millisecond, time.Second})
			for _, t := range c.times {
				h.RecordDuration(t)
			}
		})
		fmt.Printf("  Histogram: count %d, mean %.4g s\n", count, sum/float64(count))
		sum, count = sumAndCount(func(s tally.Scope) {
			timer := s.Timer("seconds")
			for _, t := range c.times {
				timer.Record(t)
			}
		})
		fmt.Printf("  Timer:     count %d, mean %.4g s\n", count, sum/float64(count))
	}
	fmt.Println("sizes of 500, 2000 and 3000 bytes, bounds 1000 and 1500")
	sum, count := sumAndCount(func(s tally.Scope) {
		h := s.Histogram("bytes", tally.ValueBuckets{1000, 1500})
		for _, v := range []float64{500, 2000, 3000} {
			h.RecordValue(v)
		}
	})
	fmt.Printf("  Histogram: count %d, sum %v\n", count, sum)
}
END
go mod init finding >/dev/null 2>&1
go get github.com/uber-go/tally/v4@v4.1.17 2>/dev/null
go mod tidy 2>/dev/null
go version
got=$(go run . 2>/dev/null)
echo "$got"
diff <(echo "$got") - <<'END'
ten of 11 ms
  Histogram: count 10, mean 0.1 s
  Timer:     count 10, mean 0.011 s
ten of 11 ms and one of 3 s
  Histogram: count 11, mean 8.385e+08 s
  Timer:     count 11, mean 0.2827 s
sizes of 500, 2000 and 3000 bytes, bounds 1000 and 1500
  Histogram: count 3, sum +Inf
END
