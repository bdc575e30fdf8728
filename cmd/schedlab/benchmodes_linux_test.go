package main

import (
	"flag"
	"fmt"
	"maps"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"schedlab/internal/model"
	"schedlab/internal/stats"
)

// What a table costs in time, and how much it can be trusted.
var (
	tableRounds = flag.Int("rounds", 3, "rounds of the benchmarks that compare every mode")
	tableWindow = flag.Duration("window", 500*time.Millisecond, "window of each server in each of their rounds")
	tableOnly   = flag.String("servers", "", "comma-separated servers of theirs to run beside bare fasthttp; all if empty")
)

// BenchmarkModes is the price of a request under every mode, beside the bare
// libraries and a loop of raw system calls without HTTP. All run in one
// measurement: each round runs every server once, in fresh processes, in an order
// drawn by chance or the reverse of the last; ratio is the median over the rounds
// of a server's CPU time per request to that of bare fasthttp in the same round,
// to-raw the same to the raw loop. Sticky modes have a worker for each connection,
// which their name says; queues have room for all, so that nobody is refused. The
// driver never sleeps: it is busy all the time, and idle-looks is the share of its
// looks for answers that found none. -count repeats the lines, not the measurement.
//
//	go test ./cmd/schedlab -run '^$' -bench Modes -rounds 10 -window 1.5s -timeout 1h
func BenchmarkModes(b *testing.B) {
	for _, t := range []struct {
		name string
		traffic
	}{
		{"kept-64", traffic{conns: 64, depth: 1}},
		{"kept-256", traffic{conns: 256, depth: 1}},
		{"fresh-64", traffic{conns: 64, depth: 1, fresh: true}},
		{"pipelined-16x64", traffic{conns: 64, depth: 16}},
	} {
		b.Run("load="+t.name, func(b *testing.B) {
			benchmarkTable(b, course{traffic: t.traffic, warmup: benchWarmup / 2, window: *tableWindow},
				append(bareServers(), everyMode(t.conns)...))
		})
	}
}

// baseline is the contender that others are compared with, by name.
const baseline = "bare-fasthttp"

func bareServers() (all []contender) {
	for _, stack := range []string{"fasthttp", "nethttp", "raw"} {
		all = append(all, contender{"bare-" + stack, []string{"bare-server", "-stack", stack}})
	}
	return all
}

func everyMode(conns int) (all []contender) {
	for _, mode := range model.Modes() {
		all = append(all, served(mode, conns))
	}
	return all
}

// served is `schedlab serve` in a mode, with room for so many connections that
// all ask at the same time and want an answer.
func served(mode model.Mode, conns int) contender {
	name := mode.Name
	flags := []string{"--iters", "1000", "--max-conns", fmt.Sprint(conns + 32)}
	if mode.Sticky {
		name += fmt.Sprintf("-workers-%d", conns)
		flags = append(flags, "--workers", fmt.Sprint(conns))
	}
	if mode.Has("queue-depth") {
		flags = append(flags, "--queue-depth", fmt.Sprint(1<<bits.Len(uint(conns))))
	}
	if mode.Name == "pool-adaptive" { // which is to refuse nobody here
		flags = append(flags, "--codel-target", "1m", "--codel-interval", "1m")
	}
	return contender{name, append([]string{"schedlab"}, serveArgs(mode.Name, flags...)...)}
}

// benchmarkTable reports a line for every contender of one measurement.
func benchmarkTable(b *testing.B, course course, contenders []contender) {
	if runtime.NumCPU() < 2 {
		b.Skip("NOT RUN: a server and a driver that never sleeps need two CPUs")
	}
	if *tableOnly != "" {
		contenders = slices.DeleteFunc(contenders, func(c contender) bool {
			return c.name != baseline && !slices.Contains(strings.Split(*tableOnly, ","), c.name)
		})
	}
	costs := measureTable(b, course, contenders)
	for _, c := range contenders {
		b.Run("server="+c.name, func(b *testing.B) {
			mine := costs[c.name]
			ratios := paired(mine, costs[baseline], cost.cpu)
			if course.conns >= crowd {
				memory := paired(mine, costs[baseline], cost.memory)
				b.ReportMetric(median(mine, cost.memory)/1024, "KiB/conn")
				b.ReportMetric(stats.Median(memory), "mem-ratio")
				b.ReportMetric(slices.Max(memory), "mem-ratio-max")
			}
			if raw := costs["bare-raw"]; raw != nil {
				b.ReportMetric(stats.Median(paired(mine, raw, cost.cpu)), "to-raw")
			}
			b.ReportMetric(median(mine, cost.cpu), "cpu-ns/req")
			b.ReportMetric(median(mine, func(c cost) float64 { return c.perSecond }), "req/s")
			b.ReportMetric(median(mine, func(c cost) float64 { return c.idle }), "idle-looks")
			b.ReportMetric(stats.Median(ratios), "ratio")
			b.ReportMetric(slices.Min(ratios), "ratio-min")
			b.ReportMetric(slices.Max(ratios), "ratio-max")
			b.ReportMetric(0, "ns/op") // nothing is left to time here
		})
	}
}

// paired are the ratios of two contenders' figures, round by round.
func paired(mine, base []cost, of func(cost) float64) (ratios []float64) {
	for round := range mine {
		ratios = append(ratios, of(mine[round])/of(base[round]))
	}
	return ratios
}

// measureTable runs the rounds. The costs of each contender are in their order.
func measureTable(b *testing.B, course course, contenders []contender) map[string][]cost {
	costs := map[string][]cost{}
	order := slices.Clone(contenders)
	answers := map[string]bool{}
	for round := range *tableRounds {
		if round%2 == 0 {
			rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		} else {
			slices.Reverse(order)
		}
		for _, c := range order {
			cost, answer := c.measure(b, course)
			costs[c.name] = append(costs[c.name], cost)
			if answers[answer] = true; len(answers) > 1 {
				b.Fatalf("%s answers otherwise than the others: %v", c.name, slices.Collect(maps.Keys(answers)))
			}
		}
	}
	return costs
}
