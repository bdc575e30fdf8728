package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/measuring/arrivals"
	"schedlab/internal/measuring/host"
	"schedlab/internal/measuring/scenario"
	"schedlab/internal/measuring/scenario/demo"
	"schedlab/internal/shared/cpuset"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/stats"
	"schedlab/internal/shared/timeline"
)

func TestChooseRate(t *testing.T) {
	t.Parallel()
	p := planned(t, demo.Swap("rate: 300/s", "rate: 0.7x\n  min_rate: 1100/s"), nil)
	if p.Rate != 0 {
		t.Errorf("before the probes the rate is %v, want 0", p.Rate)
	}
	for _, c := range []struct {
		slowest, want float64
		err           string
	}{
		{4000, 2800, ""},
		{1400, 1100, ""}, // the floor, 0.79 of the slowest
		{1200, 0, `the rate 1100/s is above 0.85 of what arm "fasthttp" can do (1200/s): it would never keep up; drop that arm, lower --rate or give it more workers`},
	} {
		p, err := p.offered(findings{xmax: map[string]float64{"nethttp": 5000, "fasthttp": c.slowest}})
		var bad *Impossible
		switch {
		case c.err == "" && (err != nil || fmt.Sprintf("%.6g", p.Rate) != fmt.Sprintf("%.6g", c.want)):
			t.Errorf("slowest %v/s: got %v/s, %v, want %v/s", c.slowest, p.Rate, err, c.want)
		case c.err != "" && (!errors.As(err, &bad) || err.Error() != c.err):
			t.Errorf("slowest %v/s: got %v, want %s", c.slowest, err, c.err)
		}
	}
	// A rate that is a share is never above what the generator can send, and has no more
	// digits than are printed.
	p = planned(t, demo.Swap("rate: 300/s", "rate: 0.7x"), nil)
	p.cpus.Load = cpuset.Set{1}
	xmax := map[string]float64{"nethttp": 91636.43, "fasthttp": 117018}
	capped, err := p.offered(findings{xmax: xmax, sendable: 31000})
	if err != nil || capped.Rate != 31000 || capped.Sendable != 31000 {
		t.Errorf("a generator that can send 31000/s: got %v/s, %v", capped.Rate, err)
	}
	if want := "31,000/s are what the load's CPU 1 can send, less than the share of the highest rate that was asked for: the servers have time to spare; give the load more CPUs (--cpus) or ask for more work"; !slices.Contains(doubts(capped.recorded()), want) {
		t.Errorf("a generator that can send 31000/s: got %q, want %q among them", doubts(capped.recorded()), want)
	}
	if p, err := p.offered(findings{xmax: xmax, sendable: 1e5}); err != nil || p.Rate != 64150 || p.Sendable != 0 {
		t.Errorf("a generator that can send more: got %v/s, %v, want 64150/s", p.Rate, err)
	}
	// An absolute rate is the user's own: it is not refused.
	if p, err := planned(t, demo.Text, nil).offered(findings{xmax: map[string]float64{"nethttp": 10, "fasthttp": 10}}); err != nil || p.Rate != 300 {
		t.Errorf("absolute: got %v/s, %v", p.Rate, err)
	}
}

// What the probes find makes another plan. The one before it stays as it was, and two made of it do not
// share anything.
func TestAPlanNeverChanges(t *testing.T) {
	t.Parallel()
	p := sharing(planned(t, demo.Swap("rate: 300/s", "rate: 0.7x"), nil))
	before := p.recorded()
	offered := func(slowest, sharedMost float64) probed {
		made, err := p.offered(findings{xmax: map[string]float64{"nethttp": 9000, "fasthttp": slowest}, sharedMost: sharedMost})
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	one := offered(4000, 1500)
	text := doubts(one.recorded())
	if other := offered(3000, 1200); other.Arms[0].Clients.Rate != 1200 || one.Arms[0].Clients.Rate != 1500 {
		t.Errorf("got %v/s and %v/s, want 1500 and 1200", one.Arms[0].Clients.Rate, other.Arms[0].Clients.Rate)
	}
	if diff := cmp.Diff(text, doubts(one.recorded())); diff != "" {
		t.Errorf("another plan changed the doubts of the first (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(before, p.recorded()); diff != "" {
		t.Errorf("the plan changed (-before +after):\n%s", diff)
	}
}

// A bounded rate is lowered where an arm cannot take it, and it is said once.
func TestRatesAreLowered(t *testing.T) {
	t.Parallel()
	text := demo.Swap("rate: 300/s", "rate: 900/s\n  max_rate: 0.85x")
	for slowest, want := range map[float64]float64{2000: 900, 1000: 850} {
		p, err := planned(t, text, nil).offered(findings{xmax: map[string]float64{"nethttp": 3000, "fasthttp": slowest}})
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range p.Arms {
			if a.Clients.Rate != want {
				t.Errorf("the slowest does %v: %s is asked for %v, want %v", slowest, a.Name, a.Clients.Rate, want)
			}
		}
		said := 0
		for _, d := range doubts(p.recorded()) {
			said += stats.Count(d == "offered 850/s instead of 900/s: fasthttp did 1,000/s at its fastest; leave it out with --arms, or insist with --rate 900/s")
		}
		if said != stats.Count(want < 900) {
			t.Errorf("the slowest does %v: said %d times among %q", slowest, said, doubts(p.recorded()))
		}
	}
	asked, err := planned(t, text, func(o *Options) { o.Rate = scenario.Rate{PerSecond: 900} }).offered(findings{xmax: map[string]float64{"nethttp": 3000, "fasthttp": 1000}})
	if err != nil || asked.Arms[0].Clients.Rate != 900 {
		t.Errorf("--rate 900/s: offered %v, %v; want what was asked for", asked.Arms[0].Clients.Rate, err)
	}
}

// sharing gives a plan two CPUs for its servers, of which the load has one.
func sharing(p plan) plan {
	p.cpus = host.Sides{Server: cpuset.Set{0, 1}, Load: cpuset.Set{1}, Pin: true, Shared: true}
	return p
}

// A rate at which the load takes too much of a shared CPU is lowered, and that is said; one
// that the user gave for the run is not.
func TestSpareServers(t *testing.T) {
	t.Parallel()
	xmax := map[string]float64{"nethttp": 5000, "fasthttp": 4000}
	told := func(o *Options) { o.Rate = scenario.Rate{PerSecond: 3000} }
	for _, c := range []struct {
		name, rate string
		change     func(*Options)
		sharedMost float64
		want       float64
		asked      string // what it was, in the doubt; "" for no doubt
	}{
		{"a share", "0.7x", nil, 1500, 1500, "2,800"},
		{"a share with room", "0.7x", nil, 2900, 2800, ""},
		{"an absolute rate", "3000/s", nil, 1500, 1500, "3,000"},
		{"nothing known", "3000/s", nil, 0, 3000, ""},
		{"the user's own", "300/s", told, 1500, 3000, ""},
	} {
		p := sharing(planned(t, demo.Swap("rate: 300/s", "rate: "+c.rate), c.change))
		offered, err := p.offered(findings{xmax: xmax, sharedMost: c.sharedMost})
		if err != nil || offered.Rate != c.want {
			t.Errorf("%s: got %v/s, %v, want %v/s", c.name, offered.Rate, err, c.want)
		}
		said := slices.IndexFunc(doubts(offered.recorded()), func(d string) bool { return strings.Contains(d, "more the load takes over 15 % of CPU 1") })
		if c.asked == "" && said >= 0 {
			t.Errorf("%s: got the doubt %q", c.name, doubts(offered.recorded())[said])
		}
		want := "offered 1,500/s instead of " + c.asked + "/s: at more the load takes over 15 % of CPU 1, which it shares with the servers; --rate offers more"
		if c.asked != "" && !slices.Contains(doubts(offered.recorded()), want) {
			t.Errorf("%s: got %q, want %q among them", c.name, doubts(offered.recorded()), want)
		}
	}
}

func traced(t *testing.T, p plan, block int) arrivals.Trace {
	t.Helper()
	trace, err := p.trace(p.Arms[0], block, p.span())
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

func TestTrace(t *testing.T) {
	t.Parallel()
	text := demo.Swap("cpu: 100us", "cpu: exp(100us)\n  sleep: 0.5*0s+0.5*exp(2ms)")
	a, b := planned(t, text, nil), planned(t, text, nil)
	other := planned(t, text, func(o *Options) { o.Seed = 8 })
	if diff := cmp.Diff(traced(t, a, 3), traced(t, b, 3)); diff != "" {
		t.Errorf("the same seed and block differ:\n%s", diff)
	}
	if cmp.Equal(traced(t, a, 3).At, traced(t, a, 4).At) || cmp.Equal(traced(t, a, 3).At, traced(t, other, 3).At) {
		t.Error("another block or seed gives the same arrivals")
	}
	slow, fast := traced(t, a, 0), traced(t, planned(t, text, func(o *Options) { o.Iters = 200 }), 0)
	if len(slow.Demand) != len(slow.At) || len(slow.At) == 0 {
		t.Fatalf("%d demands for %d arrivals", len(slow.Demand), len(slow.At))
	}
	for i, d := range slow.Demand {
		if got, want := float64(fast.Demand[i].Iters), 100*float64(d.Iters); got < want-100 || got > want+100 {
			t.Fatalf("request %d: %d iterations at 2/us, %d at 200/us, want 100 times as many", i, d.Iters, fast.Demand[i].Iters)
		}
		if fast.Demand[i].Sleep != d.Sleep || fast.At[i] != slow.At[i] {
			t.Fatalf("request %d: sleep or arrival depends on the calibration", i)
		}
	}
	if plain := traced(t, planned(t, demo.Swap("cpu: 100us", "path: /plaintext"), nil), 0); plain.Demand != nil {
		t.Error("a path other than /work carries demands")
	}
	even := traced(t, planned(t, demo.Swap("rate: 300/s", "rate: 100/s\n  arrivals: constant"), nil), 0)
	if even.At[0] != 0 || even.At[5] != 50*time.Millisecond {
		t.Errorf("constant arrivals: got %v", even.At[:6])
	}
}

// A trace file is read while planning: what becomes of it later changes no trial.
func TestTraceFileIsReadOnce(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "arrivals.csv")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("at,cpu\n0s,10us\n10ms,20us\n30s,10us\n")
	p := planned(t, demo.Swap("rate: 300/s", "rate: 1/s\n  arrivals: trace("+file+")"), nil)
	write("at,cpu\n1s,10us\n")
	first := traced(t, p, 0)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	want := arrivals.Trace{At: []time.Duration{0, 10 * time.Millisecond}, Demand: []arrivals.Demand{{Iters: 20}, {Iters: 40}}}
	for _, got := range []arrivals.Trace{first, traced(t, p, 5)} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// Every arm of a block meets the same stretch of a log, the next block the next.
func TestReplayedLog(t *testing.T) {
	t.Chdir(t.TempDir())
	var log strings.Builder
	for i := range 400 {
		fmt.Fprintf(&log, "h - - [10/Oct/2000:13:55:%02d +0000] \"GET /%d HTTP/1.1\" 200 1\n", i/10, i%7)
	}
	if err := os.WriteFile("a.log", []byte(log.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	p := planned(t, demo.Swap("workload:\n  cpu: 100us\nload:\n  rate: 300/s", "load:\n  arrivals: log(a.log)"), nil)
	if p.Rate != 10 || p.Asked != "400 requests of a.log in their order, 7 different ones" {
		t.Errorf("got %g/s, %s", p.Rate, p.Asked)
	}
	stretch := func(block, arm int) string {
		trace, err := p.trace(p.Arms[arm], block, p.span())
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(trace.At, trace.Which)
	}
	if stretch(0, 0) != stretch(0, 2) || stretch(0, 0) == stretch(1, 0) {
		t.Error("the arms of a block met different requests, or two blocks the same")
	}
	if got := len(p.scenario.Cycle(1, p.iters).Which); got != 400 || len(p.scenario.Targets("127.0.0.1:1")) != 7 {
		t.Errorf("a closed loop goes through %d requests", got)
	}
	fast := planned(t, demo.Swap("workload:\n  cpu: 100us\nload:\n  rate: 300/s", "load:\n  arrivals: log(a.log,3x)"), nil)
	if fast.Rate != 30 {
		t.Errorf("three times as fast is %g/s", fast.Rate)
	}
	if _, err := newPlan(p.scenario, func() Options { o := options(); o.Rate = scenario.Rate{PerSecond: 1000}; return o }()); err == nil || !strings.Contains(err.Error(), "a.log lasts 400ms at 1000/s, and a trial takes 700ms") {
		t.Errorf("got %v", err)
	}
}

// The servers of a comparison keep as many requests as the fastest of them may get,
// all the same number, and no more than a ring can have.
func TestRing(t *testing.T) {
	t.Parallel()
	const window = .7 // with its warm-up, seconds
	closed := demo.Swap("rate: 300/s", "loop: closed\n  connections: 8\n  keepalive: true")
	for _, c := range []struct {
		name, text string
		xmax       float64 // of one arm; the others have 1000/s
		want       int     // 0: the server's own
	}{
		{"slow", closed, 20_000, 0},
		{"fast", closed, 250_000, int(2 * 250_000 * window)},
		{"pipelined", demo.Swap("rate: 300/s", "loop: closed\n  connections: 8\n  keepalive: true\n  pipeline: 16"), 150_000, int(2 * 4 * 150_000 * window)},
		{"paced", demo.Swap("rate: 300/s", "loop: closed\n  connections: 8\n  keepalive: true\n  rate: 4000/s"), 150_000, 0},
		{"beyond any ring", closed, 1e9, timeline.MaxRing},
		{"open", demo.Swap("300/s", "200000/s"), 1e9, int(2 * 200_000 * window)},
	} {
		p := planned(t, c.text, func(o *Options) { o.Budget = time.Hour })
		ready := probed{p, p.ringOf(map[string]float64{"nethttp": 1000, "fasthttp": c.xmax})}
		for _, a := range p.Arms {
			got := 0
			if argv := ready.command(a); len(argv) > len(a.Command) {
				if _, err := fmt.Sscan(argv[len(argv)-1], &got); err != nil || argv[len(argv)-2] != "--timeline" {
					t.Fatalf("%s: got %q", c.name, argv)
				}
			}
			if got < c.want-1 || got > c.want {
				t.Errorf("%s: %s keeps %d requests, want %d", c.name, a.Name, got, c.want)
			}
		}
	}
}

// Where an arm's few workers lower the rate of all, a doubt tells so, before the blocks and on the first screen.
func TestFewWorkersThatSetTheRate(t *testing.T) {
	t.Parallel()
	text := func(rate, workers string) string {
		asks := strings.Replace(demo.Arm("{mode: pool, workers: "+workers+"}"), "cpu: 100us", "cpu: 20us\n  sleep: 28ms", 1)
		return strings.Replace(asks, "rate: 300/s", rate+"\n  keepalive: false", 1)
	}
	const want = "pool,workers=2: its 2 workers hold every arm to 65/s: nethttp alone would be offered 2,170/s, and for that it needs 61 workers; give it workers=61, or leave it out with --arms"
	for _, c := range []struct {
		rate, workers string
		slowest       float64
		want          bool
	}{
		{"rate: 2170/s\n  max_rate: 0.97x", "2", 67.01, true},
		{"rate: 2170/s\n  max_rate: 0.97x", "64", 1500, false},
		{"rate: 60/s\n  max_rate: 0.97x", "2", 67.01, false},
	} {
		p, err := planned(t, text(c.rate, c.workers), nil).offered(findings{xmax: map[string]float64{"nethttp": 9000, "pool,workers=" + c.workers: c.slowest}})
		if err != nil {
			t.Fatal(err)
		}
		said := doubts(p.recorded())
		lowered := slices.ContainsFunc(said, func(s string) bool { return strings.HasPrefix(s, "offered ") })
		if slices.Contains(said, want) != c.want || c.want && lowered {
			t.Errorf("%+v: got %q, want %v, and one doubt about the rate", c, said, c.want)
		}
	}
	if !doubt.RateFewWorkers.Code.Decides() || !doubt.RateLowered.Code.Decides() {
		t.Error("what lowers the rate of all is told before the blocks")
	}
}
