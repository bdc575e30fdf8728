package main

import (
	"flag"
	"fmt"
	"maps"
	"math/bits"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"schedlab/internal/serving/model"
	"schedlab/internal/shared/stats"
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
// to-raw the same to the raw loop, and above-raw-ns the median of the time by which it is
// above that loop's. Sticky modes have a worker for each connection,
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
		{"kept-2000", traffic{conns: 2000, depth: 1}},
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
	for _, mode := range model.Variants() {
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

// benchmarkTable reports a line for every contender of one measurement. It needs a
// descriptor for each connection in the driver and in the server, which have the
// limit of this process: Go raises it as far as it may.
func benchmarkTable(b *testing.B, course course, contenders []contender) {
	if runtime.NumCPU() < 2 {
		b.Skip("NOT RUN: a server and a driver that never sleeps need two CPUs")
	}
	const besides = 200
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		b.Fatal(err)
	}
	if files.Max < uint64(course.conns+besides) {
		b.Skipf("NOT RUN: %d connections need %d descriptors and the hard limit is %d (ulimit -Hn)", course.conns, course.conns+besides, files.Max)
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
			ratios := paired(mine, costs[baseline], cost.cpu, ratio)
			if course.conns >= crowd {
				memory := paired(mine, costs[baseline], cost.memory, ratio)
				b.ReportMetric(median(mine, cost.memory)/1024, "KiB/conn")
				b.ReportMetric(stats.Median(memory), "mem-ratio")
				b.ReportMetric(slices.Max(memory), "mem-ratio-max")
			}
			if raw := costs["bare-raw"]; raw != nil {
				b.ReportMetric(stats.Median(paired(mine, raw, cost.cpu, ratio)), "to-raw")
				b.ReportMetric(stats.Median(paired(mine, raw, cost.cpu, excess)), "above-raw-ns")
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

// paired compares two contenders' figures round by round.
func paired(mine, base []cost, of func(cost) float64, compare func(mine, base float64) float64) (compared []float64) {
	for round := range mine {
		compared = append(compared, compare(of(mine[round]), of(base[round])))
	}
	return compared
}

func ratio(mine, base float64) float64  { return mine / base }
func excess(mine, base float64) float64 { return mine - base }

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

// A crowd is so many connections that what each of them holds shows in the
// memory of a process.
const crowd = 10_000

// BenchmarkIdleConnections is what a kept connection costs under every mode when
// there are 10,000: the memory that stays in core after one request on each, and
// then the CPU time per request while all of them ask and, once answered, ask
// again. The measurement is that of BenchmarkModes; mem-ratio is to bare fasthttp.
func BenchmarkIdleConnections(b *testing.B) {
	benchmarkCrowd(b, crowd, append(bareServers(), everyMode(crowd)...))
}

// BenchmarkManyConnections is the same with 16,384 connections and the modes that
// people would use for them.
func BenchmarkManyConnections(b *testing.B) {
	const conns = 16_384
	contenders := bareServers()
	for _, name := range []string{"nethttp", "fasthttp", "loop", "pool-requeue"} {
		mode, err := model.Lookup(name)
		if err != nil {
			b.Fatal(err)
		}
		contenders = append(contenders, served(mode, conns))
	}
	benchmarkCrowd(b, conns, contenders)
}

func benchmarkCrowd(b *testing.B, conns int, contenders []contender) {
	benchmarkTable(b, course{traffic: traffic{conns: conns, depth: 1}, warmup: benchWarmup, window: *tableWindow}, contenders)
}

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
	for _, mode := range model.Variants() {
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
					b.ReportMetric(stats.Median(paired(mine, costs["off"], cost.cpu, ratio)), level+"-ratio")
				}
			}
			b.ReportMetric(0, "ns/op") // nothing is left to time here
		})
	}
}

// A family is the process ids of a server, of which prefork has more than one.
type family []int

// cpu is the CPU time they have used.
func (f family) cpu(b *testing.B) (used time.Duration) {
	for _, pid := range f {
		// The clock id is the kernel's encoding of a pid: ~pid<<3 | CPUCLOCK_SCHED
		// (clock_getcpuclockid(3)).
		const cpuclockSched = 2
		var ts unix.Timespec
		if err := unix.ClockGettime(int32(^pid<<3|cpuclockSched), &ts); err != nil {
			b.Fatal(err)
		}
		used += time.Duration(ts.Nano())
	}
	return used
}

// resident is the memory they have in core, in bytes.
func (f family) resident(b *testing.B) (bytes int) {
	for _, pid := range f {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
		if err != nil {
			b.Fatal(err)
		}
		var size, pages int
		if _, err := fmt.Sscan(string(text), &size, &pages); err != nil {
			b.Fatalf("parsing %q: %v", text, err)
		}
		bytes += pages * os.Getpagesize()
	}
	return bytes
}

func (c *child) family(b *testing.B) family {
	return append(family{c.cmd.Process.Pid}, c.processes(b)...)
}
