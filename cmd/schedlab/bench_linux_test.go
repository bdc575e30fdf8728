package main

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"schedlab/internal/stats"
)

const (
	benchRounds = 10
	benchWarmup = 300 * time.Millisecond
	benchWindow = 1500 * time.Millisecond

	serverCPU, driverCPU = 0, 1
)

// BenchmarkTelemetry is the price of everything `schedlab serve` adds to its HTTP
// library: server CPU time per request of a mode against the bare library (see
// bareServer), keep-alive, 64 connections, /plaintext, each server alone on CPU 0
// with GOMAXPROCS=1, the driver on CPU 1 never sleeping. Ten rounds, each in
// fresh processes and in the reverse order of the one before; ratio is the median
// of the rounds' ratios. One iteration is the whole measurement:
//
//	make bench BENCH=Telemetry COUNT=1
func BenchmarkTelemetry(b *testing.B) {
	for _, stack := range []string{"nethttp", "fasthttp"} {
		b.Run("mode="+stack, func(b *testing.B) {
			benchmarkPair(b, benchRounds,
				contender{"bare", []string{"bare-server", "-stack", stack}},
				contender{"telemetry", append([]string{"schedlab"}, serveArgs(stack)...)})
		})
	}
}

// BenchmarkTimeouts says what of the bare library's cost is its timeouts, for
// information: no mode serves without them.
func BenchmarkTimeouts(b *testing.B) {
	for _, stack := range []string{"nethttp", "fasthttp"} {
		b.Run("stack="+stack, func(b *testing.B) {
			benchmarkPair(b, benchRounds/2,
				contender{"untimed", []string{"bare-server", "-stack", stack, "-timeouts=false"}},
				contender{"timed", []string{"bare-server", "-stack", stack}})
		})
	}
}

// A contender is a server to measure, by the name its metrics get.
type contender struct {
	name string
	argv []string
}

// A course is what every contender is put through.
type course struct {
	traffic
	warmup, window time.Duration
	allocs         bool // count them, for which the server is scraped
}

// kept is the usual course: 64 connections, kept.
var kept = course{traffic{conns: 64, depth: 1}, benchWarmup, benchWindow, true}

// A cost is what a server paid in one window.
type cost struct {
	nanos     float64 // CPU time per answer
	allocs    float64 // heap objects per answer
	perSecond float64 // answers, for information: it is the driver's figure as well
	idle      float64 // share of the driver's looks that found no answer
	resident  float64 // bytes per connection, after one request on each
}

func (c cost) cpu() float64    { return c.nanos }
func (c cost) memory() float64 { return c.resident }

func benchmarkPair(b *testing.B, rounds int, base, other contender) {
	if runtime.NumCPU() < 2 {
		b.Skip("NOT RUN: a server and a driver that never sleeps need two CPUs")
	}
	for b.Loop() {
		var ratios []float64
		costs := make([][]cost, 2)
		for round := range rounds {
			order := []int{0, 1}
			if round%2 == 1 {
				order = []int{1, 0}
			}
			answers := make([]string, 2)
			for _, i := range order {
				c, answer := []contender{base, other}[i].measure(b, kept)
				costs[i], answers[i] = append(costs[i], c), answer
			}
			if answers[0] != answers[1] {
				b.Fatalf("%s answers %s, %s %s", base.name, answers[0], other.name, answers[1])
			}
			ratios = append(ratios, costs[1][round].nanos/costs[0][round].nanos)
		}
		allocs := func(c cost) float64 { return c.allocs }
		for i, name := range []string{base.name, other.name} {
			b.ReportMetric(median(costs[i], cost.cpu), name+"-ns/req")
			b.ReportMetric(median(costs[i], allocs), name+"-allocs/req")
			b.ReportMetric(median(costs[i], func(c cost) float64 { return c.perSecond }), name+"-req/s")
		}
		if added := median(costs[1], allocs) - median(costs[0], allocs); added > 0.05 {
			b.Errorf("%s allocates %.2f times a request more than %s, want never", other.name, added, base.name)
		}
		b.Logf("ratios of the rounds: %.3f", ratios)
		b.ReportMetric(stats.Median(ratios), "ratio")
		b.ReportMetric(slices.Min(ratios), "ratio-min")
		b.ReportMetric(slices.Max(ratios), "ratio-max")
		b.ReportMetric(0, "ns/op") // the time of the measurement itself
	}
}

func median(costs []cost, of func(cost) float64) float64 {
	var values []float64
	for _, c := range costs {
		values = append(values, of(c))
	}
	return stats.Median(values)
}

// measure runs one fresh server through one window.
func (c contender) measure(b *testing.B, course course) (cost, string) {
	cmd := exec.Command(c.argv[0], c.argv[1:]...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	server := startChild(b, cmd, func(cmd *exec.Cmd) (err error) {
		onCPU(b, serverCPU, func() { err = cmd.Start() })
		return err
	})
	defer server.stop(b)
	var result cost
	var answer string
	var err error
	onCPU(b, driverCPU, func() { result, answer, err = server.drive(b, course) })
	if err != nil {
		log := server.logged()
		b.Errorf("%s: %v\n%s", c.name, err, log[:min(len(log), 2000)]) // a crash says first why
	}
	if b.Failed() {
		b.FailNow()
	}
	return result, answer
}

// drive has a server serve one window.
func (c *child) drive(b *testing.B, course course) (cost, string, error) {
	family := c.family(b)
	empty := family.resident(b)
	d, answer, err := dial(c.addr, course.traffic)
	if err != nil {
		return cost{}, "", err
	}
	defer d.close()
	full := family.resident(b)
	if _, err := d.run(course.warmup); err != nil {
		return cost{}, "", err
	}
	var ofScrape, before float64
	if course.allocs {
		ofScrape = -c.allocated(b)
		before = c.allocated(b)
		ofScrape += before
	}
	began, cpu := time.Now(), family.cpu(b)
	n, err := d.run(course.window)
	if err != nil {
		return cost{}, "", err
	}
	used, took := family.cpu(b)-cpu, time.Since(began)
	result := cost{
		nanos:     float64(used) / float64(n),
		perSecond: float64(n) / took.Seconds(),
		idle:      float64(d.idle) / float64(d.polls),
		resident:  float64(full-empty) / float64(course.conns),
	}
	if course.allocs {
		result.allocs = (c.allocated(b) - before - ofScrape) / float64(n)
	}
	return result, answer, nil
}

// allocated is the number of heap objects the server has made.
func (c *child) allocated(b *testing.B) (n float64) {
	scrape := c.metrics(b)
	for _, series := range allocations {
		n += sum(b, scrape, series)
	}
	return n
}

// onCPU runs f on a thread of its own, bound to one CPU and where permitted
// SCHED_RR, so that a compiler next door takes no turns of 4 ms; what f starts
// inherits both.
func onCPU(b *testing.B, cpu int, f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread ends with its goroutine
		var set unix.CPUSet
		set.Set(cpu)
		if err := unix.SchedSetaffinity(0, &set); err != nil {
			b.Errorf("binding to CPU %d: %v", cpu, err)
			return
		}
		rr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: 1}
		if err := unix.SchedSetAttr(0, &rr, 0); err != nil && err != unix.EPERM {
			b.Errorf("asking for SCHED_RR: %v", err)
			return
		}
		f()
	}()
	<-done
}
