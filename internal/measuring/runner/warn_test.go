package runner

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/measuring/host"
	"schedlab/internal/measuring/judge"
	"schedlab/internal/measuring/scenario"
	"schedlab/internal/measuring/scenario/demo"
	"schedlab/internal/measuring/window"
	"schedlab/internal/shared/cmdline"
	"schedlab/internal/shared/cpuset"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/mode"
	"schedlab/internal/shared/queueing"
	"schedlab/internal/shared/stats"
)

func TestPlanDoubts(t *testing.T) {
	t.Parallel()
	kept := strings.Replace(demo.Arm("{mode: pool, workers: 4}"), "rate: 300/s", "rate: 300/s\n  keepalive: true", 1)
	for _, c := range []struct{ name, text, want string }{
		{"p99 of too few requests", demo.Text, "p99 cannot be decided: a window holds 150 requests, it needs 1100; --window 3.7s --budget 2m4s would do"},
		{"a sticky pool", kept, "pool,workers=4: starves 60 of 64 kept connections, because a worker keeps its connection until it closes: what it does is for 4 clients only; give it workers=64, take pool-requeue, or give --close"},
		{"an arm of another mode than the one it is named after", strings.Replace(demo.Arm("{name: pool, mode: pool-request}"), "arms:", "arms:\n  - {mode: pool, workers: 4}", 1),
			"pool,workers=4: has mode pool, and the arm pool has mode pool-request; write pool-request,FLAG=VALUE for that with another setting"},
		{"clients that wait longer than a window", strings.Replace(strings.Replace(demo.Text, "rate: 300/s", "loop: closed\n  connections: 256", 1), "cpu: 100us", "cpu: 2ms", 1),
			"256 clients that ask for 2.00 ms of CPU time each take 256 ms for a turn each, and a window has 500 ms: some wait all through it; give --warmup 1s --window 2s --budget 1m57s"},
		{"Little's law", strings.Replace(demo.Arm("{mode: pool, workers: 4}"), "cpu: 100us", "cpu: 100us\n  sleep: 20ms", 1),
			"pool,workers=4: 4 workers cannot keep up: by Little's law 300/s x 20.1 ms held keeps 6.03 busy, so give it 7 or more"},
		{"shared CPUs", demo.Text, "server and load share CPUs: the load disturbs what it measures; leave --cpus none out, on two or more CPUs"},
	} {
		p, err := planned(t, c.text, nil).offered(findings{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if !slices.Contains(doubts(p.recorded()), c.want) {
			t.Errorf("%s: got %q, want %q among them", c.name, doubts(p.recorded()), c.want)
		}
	}
	enough, err := planned(t, demo.Arm("{mode: pool, workers: 8}"), func(o *Options) { o.Rate = scenario.Rate{PerSecond: 2200} }).offered(findings{})
	if err != nil {
		t.Fatal(err)
	}
	if got := doubts(enough.recorded()); len(got) != 1 {
		t.Errorf("with enough of everything: got %q, want only that CPUs are shared", got)
	}
	turns, err := planned(t, strings.Replace(demo.Arm("{mode: pool, workers: 4}"), "rate: 300/s", "loop: closed\n  keepalive: true\n  connections: 10\n  session: 5", 1), nil).offered(findings{})
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(doubts(turns.recorded()), func(d string) bool { return strings.Contains(d, "starves") }) {
		t.Errorf("clients whose sessions end starve nobody: got %q", doubts(turns.recorded()))
	}
	for _, m := range stats.Quantiles() {
		if p := enough.recorded(); judge.LowestRate(p)*p.Window.Seconds() < judge.RequestsFor(m.Quantile) {
			t.Errorf("2200/s over 0.5 s are too few for %s", m.Name)
		}
	}
}

func TestIdentifiability(t *testing.T) {
	t.Parallel()
	kept := func(n string) string { return "rate: 300/s\n  keepalive: true\n  connections: " + n }
	for _, c := range []struct {
		name, load, arm string
		want            string // part of a doubt; "" for none of this kind
	}{
		{"one in flight", kept("1"), "{name: two, mode: pool-request, workers: 2}", "no more than 1 request is in flight, so 1 of 2 workers never work"},
		{"queue holds all", "loop: closed\n  keepalive: true\n  connections: 64", "{name: q, mode: pool-request, workers: 8, queue-depth: 64, overflow: reject}", "a queue of 64 beside 8 workers holds all that can be in flight (64 requests)"},
		{"a depth given and the default policy", "loop: closed\n  keepalive: true\n  connections: 64", "{name: q, mode: pool-request, workers: 1, queue-depth: 64}", "a queue of 64 beside 1 worker holds all"},
		{"the default depth", "loop: closed\n  keepalive: true\n  connections: 2", "{name: q, mode: pool-request, workers: 1}", ""},
		{"workers to spare, and the queue besides", kept("4"), "{name: q, mode: pool-request, workers: 8, queue-depth: 16}", "4 of 8 workers never work"},
		{"the queue besides workers to spare", kept("4"), "{name: q, mode: pool-request, workers: 8, queue-depth: 16}", "a queue of 16 beside 8 workers holds all"},
		{"a gate wider than the crowd", kept("4"), "{name: s, mode: semaphore, workers: 8}", "no more than 4 requests are in flight, so 4 of 8 workers never work"},
		{"queue may overflow", "loop: closed\n  keepalive: true\n  connections: 64", "{name: q, mode: pool-request, workers: 8, queue-depth: 16, overflow: reject}", ""},
		{"a blocking queue", "loop: closed\n  keepalive: true\n  connections: 64", "{name: q, mode: pool-request, workers: 8, queue-depth: 64, overflow: block}", ""},
		{"a connection each", "rate: 300/s", "{name: p, mode: pool, workers: 2}", ""},
	} {
		p := planned(t, strings.Replace(demo.Arm(c.arm), "rate: 300/s", c.load, 1), func(o *Options) { o.Modes["semaphore"] = mode.Mode{Flags: []string{"workers"}, Station: "pool"} })
		found := slices.IndexFunc(doubts(p.recorded()), func(d string) bool {
			return strings.Contains(d, "not identifiable") && (c.want == "" || strings.Contains(d, c.want))
		})
		if (found >= 0) != (c.want != "") {
			t.Errorf("%s: doubts %q, want %q", c.name, doubts(p.recorded()), c.want)
		}
	}
	one := planned(t, demo.Arm("{name: two, mode: pool, listeners: 2}"), func(o *Options) { o.CPUs = "0/0" })
	if !slices.ContainsFunc(doubts(one.recorded()), func(d string) bool { return strings.Contains(d, "one CPU, so 2 listeners share it") }) {
		t.Errorf("one CPU: doubts %q", doubts(one.recorded()))
	}

	// A queue that only runs over when goroutines run beside a handler.
	computes := strings.Replace(demo.Arm("{name: q, mode: pool-request, workers: 1, queue-depth: 16, overflow: reject}"), "rate: 300/s", kept("64"), 1)
	for _, c := range []struct {
		name, text string
		cpus       cpuset.Set
		told       bool
	}{
		{"one CPU", computes, cpuset.Set{0}, true},
		{"two CPUs", computes, cpuset.Set{0, 1}, false},
		{"handlers that sleep", strings.Replace(computes, "cpu: 100us", "cpu: 100us\n  sleep: 5ms", 1), cpuset.Set{0}, false},
		{"a queue of connections", strings.Replace(computes, "pool-request", "pool", 1), cpuset.Set{0}, false},
		{"a queue that blocks", strings.Replace(computes, "overflow: reject", "overflow: block", 1), cpuset.Set{0}, false},
	} {
		p := planned(t, c.text, nil)
		p.cpus.Server = c.cpus
		p.Doubts = nil
		p.cannotMatter(p.Arms[2])
		if told := slices.ContainsFunc(p.Doubts, func(d fact.Fact) bool { return d.Code == queueUnused.Code }); told != c.told {
			t.Errorf("%s: got %q, want a doubt about the queue: %v", c.name, doubts(p.recorded()), c.told)
		}
	}
}

func TestDifferentLoads(t *testing.T) {
	t.Parallel()
	p := planned(t, demo.Arm("{name: fast, mode: nethttp, rate: 600/s, arrivals: constant}"), nil)
	if !slices.ContainsFunc(doubts(p.recorded()), func(d string) bool { return strings.HasPrefix(d, "the arms' clients differ (arrivals, rate)") }) {
		t.Errorf("got %q", doubts(p.recorded()))
	}
	if _, err := newPlan(parsed(t, demo.Arm("{name: b, mode: nethttp, arrivals: 'burst(12,60ms,48)'}")), options()); err == nil || !strings.Contains(err.Error(), "lower the rate") {
		t.Errorf("bursts that overlap: got %v", err)
	}
}

// Arms on different HTTP parsers are told, whichever is the baseline; another program has none that is known.
func TestDifferentParsers(t *testing.T) {
	t.Parallel()
	const want = "HTTP parsers differ too: pool on fasthttp's; nethttp on net/http's"
	for _, c := range []struct {
		fast string // the stack of the other modes
		told bool
	}{{"fasthttp", true}, {"nethttp", false}, {"", false}} {
		p := planned(t, demo.Arm("pool"), func(o *Options) {
			o.Modes = maps.Clone(o.Modes)
			for name, m := range o.Modes {
				if m.Axes.Stack = c.fast; name == "nethttp" {
					m.Axes.Stack = "nethttp"
				}
				o.Modes[name] = m
			}
		})
		if told := slices.ContainsFunc(doubts(p.recorded()), func(d string) bool { return strings.HasPrefix(d, want) }); told != c.told {
			t.Errorf("others on %q: doubts %q", c.fast, doubts(p.recorded()))
		}
	}
}

// The checks of the plan follow the default that the arm's environment makes.
func TestDefaultWorkersAreOfTheArmsProcs(t *testing.T) {
	t.Setenv(host.MaxProcs, "")
	kept := func(n int) func(string) string {
		return strings.NewReplacer("rate: 300/s", fmt.Sprintf("rate: 300/s\n  keepalive: true\n  connections: %d", n)).Replace
	}
	for _, c := range []struct{ text, want string }{
		{kept(16)(demo.Arm("{mode: pool, env: {GOMAXPROCS: 4}}")), "starves 8 of 16 kept connections"},
		{kept(16)(demo.Arm("{mode: pool, env: {GOMAXPROCS: 2}}")), "starves 12 of 16 kept connections"},
		{kept(2)(demo.Arm("{mode: pool-request, env: {GOMAXPROCS: 2}}")), "no more than 2 requests are in flight, so 2 of 4 workers never work"},
		{strings.Replace(demo.Arm("{mode: pool, env: {GOMAXPROCS: 1}}"), "cpu: 100us", "cpu: 100us\n  sleep: 20ms", 1), "2 workers cannot keep up: by Little's law 300/s x 20.1 ms held keeps 6.03 busy, so give it 7 or more"},
		{demo.Arm("{mode: nethttp, name: n, listeners: 2, env: {GOMAXPROCS: 1}}"), "its GOMAXPROCS is 1, so 2 listeners share it"},
	} {
		p := planned(t, c.text, nil)
		p.cpus.Server = cpuset.Set{0, 1}
		p.Doubts = nil
		p.warn()
		if !slices.ContainsFunc(doubts(p.recorded()), func(d string) bool { return strings.Contains(d, c.want) }) {
			t.Errorf("%s: doubts %q, want %q", c.text, doubts(p.recorded()), c.want)
		}
	}
	p := planned(t, demo.Arm("{mode: nethttp, name: n, vary: {env.GOMAXPROCS: [1, 2]}}"), nil)
	var own []int
	for _, a := range p.Arms {
		own = append(own, a.Procs)
	}
	if !slices.Equal(own, []int{0, 0, 1, 2}) {
		t.Errorf("the record has %v Ps of its arms, want 0 for those that set none, 1 and 2", own)
	}
}

// A pipeline beyond what a server can stamp is not stamped, and the plan says so.
func TestPipelineBeyondStamps(t *testing.T) {
	t.Parallel()
	p := planned(t, demo.Arm("{name: deep, mode: nethttp, loop: closed, connections: 8, keepalive: true, pipeline: 65}\n  - {name: full, mode: nethttp, loop: closed, connections: 8, keepalive: true, pipeline: 64}"), nil)
	for name, want := range map[string]bool{"nethttp": true, "deep": false, "full": true} {
		if got := judge.Accounts(p.recorded(), name); got != want {
			t.Errorf("%s accounts: %v, want %v", name, got, want)
		}
	}
	if got := strings.Join(doubts(p.recorded()), "\n"); strings.Count(got, "at most 64 requests in flight") != 1 || !strings.Contains(got, "deep: there is no breakdown of its time") {
		t.Errorf("doubts:\n%s", got)
	}
}

// An arm that starves kept connections of an open loop gets a warm-up in which all of them are asked, or
// each trial would wait for the timeouts of the window's requests.
func TestWarmupUntilStarved(t *testing.T) {
	t.Parallel()
	usual := planned(t, strings.Replace(demo.Text, "rate: 300/s", "rate: 300/s\n  keepalive: true", 1), nil).Warmup.Seconds()
	for _, c := range []struct {
		load, pool string
		want       float64
	}{
		{"rate: 300/s\n  keepalive: true", "{mode: pool, workers: 4}", .35}, // 64 and 32 more for chance
		{"rate: 300/s\n  keepalive: true", "{mode: pool, workers: 64}", usual},
		{"rate: 300/s\n  keepalive: true", "{mode: pool-request, workers: 4}", usual},
		{"rate: 300/s\n  keepalive: false", "{mode: pool, workers: 4}", usual},
		{"rate: 9/s\n  keepalive: true", "{mode: pool, workers: 4}", usual}, // it would take longer than the timeout
		{"rate: 300/s\n  keepalive: true\nprotocol: {warmup: 200ms}", "{mode: pool, workers: 4}", .2},
	} {
		p := planned(t, strings.NewReplacer("rate: 300/s", c.load, "- fasthttp", "- "+c.pool).Replace(demo.Text), nil)
		if p.Warmup.Seconds() != c.want {
			t.Errorf("%s, %s: a warm-up of %v s, want %v", c.load, c.pool, p.Warmup, c.want)
		}
	}
}

// What a plan writes down of an arm's queue.
func TestStationOf(t *testing.T) {
	t.Parallel()
	workers := []string{"workers"}
	p := plan{cpus: host.Sides{Server: cpuset.Set{0, 1}}, opts: Options{Modes: map[string]mode.Mode{
		"nethttp":        {Station: "goroutines"},
		"pool":           {Flags: workers, Station: "pool", Sticky: true, Overflow: "block", Depth: func(int) int { return 1024 }},
		"pool-perworker": {Flags: workers, Station: "per-worker", Sticky: true, Overflow: "block", Depth: func(int) int { return 1024 }},
		"pool-request":   {Flags: workers, Station: "pool", Overflow: "reject", Depth: func(w int) int { return 2 * w }},
		"pool-adaptive":  {Flags: workers, Station: "pool", Adaptive: true, Overflow: "reject"},
		"pool-ring":      {Flags: workers, Station: "pool"},
		"semaphore":      {Flags: []string{"workers", "wait"}, Station: "pool"},
		"loop":           {Flags: []string{"listeners"}, Station: "loops"},
		"prefork":        {Flags: []string{"processes", "threads"}, Station: "goroutines"},
	}}}
	for spec, want := range map[string]queueing.Station{
		"nethttp":             {Kind: "goroutines", Cores: 2},
		"pool,workers=4":      {Kind: "pool", Workers: 4, Cores: 2, Sticky: true},
		"pool,queue-depth=8":  {Kind: "pool", Workers: 4, Cores: 2, Sticky: true}, // waiting outside is waiting
		"pool-request":        {Kind: "pool", Workers: 4, Cores: 2, Places: 12, Overflow: "reject"},
		"semaphore,workers=3": {Kind: "pool", Workers: 3, Cores: 2, Patience: queueing.Span(100 * time.Millisecond)},
		"semaphore,wait=5ms":  {Kind: "pool", Workers: 4, Cores: 2, Patience: queueing.Span(5 * time.Millisecond)},
		"semaphore,wait=0":    {Kind: "pool", Workers: 4, Cores: 2, Places: 4, Overflow: "reject"},
		"loop,listeners=3":    {Kind: "loops", Workers: 3, Cores: 2},
		"pool-request,workers=2,queue-depth=5,overflow=drop-oldest": {Kind: "pool", Workers: 2, Cores: 2, Places: 7, Overflow: "drop-oldest"},
		"pool-perworker,workers=2,queue=least,steal=true":           {Kind: "per-worker", Workers: 2, Cores: 2, Sticky: true, Pick: "least", Steal: true},
		"pool-perworker,workers=2,queue-depth=6,overflow=reject":    {Kind: "per-worker", Workers: 2, Cores: 2, Sticky: true, Places: 4, Overflow: "reject"},
		"pool-request,overflow=codel":                               {Kind: "pool", Workers: 4, Cores: 2, Places: 12, Overflow: "codel", Target: queueing.Span(5 * time.Millisecond), Interval: queueing.Span(100 * time.Millisecond)},
		"prefork,processes=1,threads=1":                             {Kind: "goroutines", Cores: 1},
	} {
		a, err := scenario.ParseArm(spec)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, p.stationOf(a)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", spec, diff)
		}
	}
	for spec, want := range map[string]string{
		"pool-adaptive,overflow=drop-oldest": "drops the oldest, too",
		"prefork":                            "the kernel's choice",
		"pool-ring,spin=100":                 "its workers spin",
		"nethttp,backlog=4":                  "its listener",
		"pool-perworker,workers=2,queue-depth=5,overflow=reject": "different length",
	} {
		a, err := scenario.ParseArm(spec)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.stationOf(a).Unknown; !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", spec, got, want)
		}
	}
}

// Theory says nothing of a mode that is no station.
func TestNoStation(t *testing.T) {
	t.Parallel()
	p := planned(t, demo.Arm("strange"), func(o *Options) { o.Modes["strange"] = mode.Mode{} })
	if got := p.Arms[2].Station; got != nil {
		t.Errorf("got station %+v", got)
	}
}

// The theory knows of an arm's queue that it ages, by the settings its server takes.
func TestStationAges(t *testing.T) {
	t.Parallel()
	for arm, want := range map[string]queueing.Station{
		"pool":                          {},
		"{mode: pool, overflow: codel}": {Target: queueing.Span(5 * time.Millisecond), Interval: queueing.Span(100 * time.Millisecond)},
		"{mode: pool-request, overflow: codel, codel-target: 20ms}":               {Target: queueing.Span(20 * time.Millisecond), Interval: queueing.Span(400 * time.Millisecond)},
		"{mode: pool, overflow: codel, codel-target: 2ms, codel-interval: 300ms}": {Target: queueing.Span(2 * time.Millisecond), Interval: queueing.Span(300 * time.Millisecond)},
	} {
		p := planned(t, demo.Arm(arm), nil)
		got := *p.Arms[2].Station
		if got.Target != want.Target || got.Interval != want.Interval || got.Adaptive {
			t.Errorf("%s: got %+v, want %+v", arm, got, want)
		}
	}
	ages := plan{opts: Options{Modes: map[string]mode.Mode{"ages": {Station: "pool", Adaptive: true}}}}
	if got := ages.stationOf(scenario.Arm{Mode: "ages"}); !got.Adaptive || got.Target != queueing.Span(5*time.Millisecond) {
		t.Errorf("a queue that ages anyway: got %+v", got)
	}
}

// What an arm's server makes of its environment, the plan makes of it, too: workers
// and loops by default, cores, and what cannot matter on one P.
// An arm's CPU limit sets the Ps of our servers as Go does, unless GOMAXPROCS is set, and leaves them without a twin.
func TestProcsOfALimit(t *testing.T) {
	for _, c := range []struct {
		inherited, limit string
		procs            int
	}{{"", "0.5", 2}, {"", "1", 2}, {"", "2.5", 3}, {"", "8", 4}, {"1", "2.5", 1}} {
		t.Setenv(host.MaxProcs, c.inherited)
		p := planned(t, demo.Arm("{mode: pool}"), nil)
		p.cpus.Server = cpuset.Set{0, 1, 2, 3}
		a := p.Arms[2].asked
		a.Limits = map[string]string{cmdline.LimitKey: c.limit} // not in the scenario: the plan would make its group
		if s, of := p.stationOf(a), p.setup(a); of.procs != c.procs || of.own != c.procs || !strings.Contains(s.Unknown, "CPU limit") {
			t.Errorf("GOMAXPROCS %q, limit %s: got %d Ps (its own: %d), no twin because %q; want %d of its own, and the limit", c.inherited, c.limit, of.procs, of.own, s.Unknown, c.procs)
		}
	}
}

func TestProcsAreTheArms(t *testing.T) {
	onTwo := func(o *Options) {
		o.Modes["loop"] = mode.Mode{Flags: []string{"listeners"}, Station: "loops"}
		o.Modes["prefork"] = mode.Mode{Flags: []string{"processes", "threads"}, Station: "goroutines"}
		o.Modes["pool-perworker"] = mode.Mode{Flags: []string{"workers"}, Station: "per-worker"}
	}
	for _, c := range []struct {
		inherited, arm             string
		procs, own, workers, cores int
		unknown                    string // part of why it has no twin
	}{
		{"", "{mode: pool}", 2, 0, 4, 2, ""},
		{"", "{mode: pool, env: {GOMAXPROCS: 1}}", 1, 1, 2, 1, ""},
		{"", "{mode: pool, env: {GOMAXPROCS: 4}}", 4, 4, 8, 2, "4 Ps share 2 CPUs"},
		{"", "{mode: pool, workers: 3, env: {GOMAXPROCS: 1}}", 1, 1, 3, 1, ""},
		{"", "{mode: pool-perworker, env: {GOMAXPROCS: 1}}", 1, 1, 2, 1, ""},
		{"", "{mode: nethttp, env: {GOMAXPROCS: 1}, name: n}", 1, 1, 0, 1, ""},
		{"", "{mode: loop}", 2, 0, 2, 2, ""},
		{"", "{mode: loop, env: {GOMAXPROCS: 1}}", 1, 1, 1, 1, ""},
		{"", "{mode: loop, listeners: 2, env: {GOMAXPROCS: 1}}", 1, 1, 2, 1, ""},
		{"", "{mode: prefork, threads: 2}", 2, 0, 0, 2, "which process"},
		{"", "{mode: prefork, threads: 2, env: {GOMAXPROCS: 1}}", 1, 1, 0, 2, ""},
		{"", "{mode: prefork, processes: 1, threads: 3}", 2, 0, 0, 2, "3 Ps share 2 CPUs"},
		{"", "{mode: pool, workers: 0}", 2, 0, 4, 2, ""}, // 0 is the default, as for serve
		{"", "{mode: loop, listeners: 0}", 2, 0, 2, 2, ""},
		{"", "{mode: prefork, processes: 0, threads: 0}", 2, 0, 0, 1, "which process"},
		{"1", "{mode: pool}", 1, 0, 2, 1, ""},
		{"1", "{mode: pool, env: {GOMAXPROCS: 2}}", 2, 2, 4, 2, ""},
		{"1", "{mode: pool, env: {GOMAXPROCS: none}}", 2, 2, 4, 2, ""}, // Go passes over it
		{"-1", "{mode: pool}", 2, 0, 4, 2, ""},
	} {
		t.Run(fmt.Sprintf("%q %s", c.inherited, c.arm), func(t *testing.T) {
			t.Setenv(host.MaxProcs, c.inherited)
			p := planned(t, demo.Arm(c.arm), onTwo)
			p.cpus.Limit = 0 // that of the machine on which this test runs
			p.cpus.Server = cpuset.Set{0, 1}
			a := p.Arms[2].asked
			s, of := p.stationOf(a), p.setup(a)
			if of.procs != c.procs || of.own != c.own || s.Workers != c.workers || s.Cores != c.cores {
				t.Errorf("got %d Ps (its own: %d), %d workers, %d cores; want %d (%d), %d, %d",
					of.procs, of.own, s.Workers, s.Cores, c.procs, c.own, c.workers, c.cores)
			}
			if (c.unknown == "") != (s.Unknown == "") || !strings.Contains(s.Unknown, c.unknown) {
				t.Errorf("it has no twin because %q, want %q", s.Unknown, c.unknown)
			}
		})
	}
}

// A first window without a good reply ends the run, except where it may be overload: a mode of ours that gave no reply, and 503 to others.
func TestSilentArm(t *testing.T) {
	t.Parallel()
	p := planned(t, demo.Arm("{name: b, mode: pool-request}"), nil)
	ours, other := p.Arms[0], p.Arms[0]
	other.asked.Mode = ""
	for _, c := range []struct {
		name   string
		arm    arm
		status map[uint16]float64
		ends   bool
	}{
		{"no reply", ours, map[uint16]float64{0: 1}, false},
		{"no reply, and 503", ours, map[uint16]float64{0: .9, 503: .1}, false},
		{"404", ours, map[uint16]float64{404: 1}, true},
		{"no reply, and 404", ours, map[uint16]float64{0: .5, 404: .5}, true},
		{"no reply of another program", other, map[uint16]float64{0: 1}, true},
	} {
		w := window.Window{Status: c.status}
		w.Requests = 100
		if err := p.silent(c.arm, 0, w); (err != nil) != c.ends {
			t.Errorf("%s: got error %v, want one: %v", c.name, err, c.ends)
		}
	}
}
