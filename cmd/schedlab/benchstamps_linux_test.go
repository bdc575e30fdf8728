package main

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"schedlab/internal/model"
	"schedlab/internal/stats"
)

// BenchmarkStamps is what the timeline costs a server in every mode: CPU time per
// request with --stamps basic and full to that with --stamps off, kept
// connections, in rounds like those of BenchmarkModes (its flags apply). Goals:
// 1.04 and 1.07, and no allocation.
//
//	go test ./cmd/schedlab -run '^$' -bench Stamps -rounds 10 -window 1s -timeout 1h
func BenchmarkStamps(b *testing.B) {
	if runtime.NumCPU() < 2 {
		b.Skip("NOT RUN: a server and a driver that never sleeps need two CPUs")
	}
	levels := []string{"off", "basic", "full"}
	for _, mode := range model.Modes() {
		if *tableOnly != "" && !slices.Contains(strings.Split(*tableOnly, ","), mode.Name) {
			continue
		}
		b.Run("mode="+mode.Name, func(b *testing.B) {
			var contenders []contender
			for _, level := range levels {
				c := served(mode, kept.conns)
				contenders = append(contenders, contender{level, append(c.argv, "--stamps", level)})
			}
			course := kept
			course.warmup, course.window = benchWarmup/2, *tableWindow
			course.allocs = !mode.Processes // whose parent counts for itself
			costs := measureTable(b, course, contenders)
			for _, level := range levels {
				mine := costs[level]
				b.ReportMetric(median(mine, cost.cpu), level+"-cpu-ns/req")
				b.ReportMetric(median(mine, func(c cost) float64 { return c.allocs }), level+"-allocs/req")
				if level != "off" {
					b.ReportMetric(stats.Median(paired(mine, costs["off"], cost.cpu)), level+"-ratio")
				}
			}
			b.ReportMetric(0, "ns/op") // nothing is left to time here
		})
	}
}
