package experiment

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/arrivals"
	"schedlab/internal/judge"
	"schedlab/internal/mode"
	"schedlab/internal/record"
	"schedlab/internal/report"
	"schedlab/internal/scenario"
	"schedlab/internal/scenario/demo"
	"schedlab/internal/stats"
)

// scenario parses text, which must be sound.
func parsed(t *testing.T, text string) scenario.Scenario {
	t.Helper()
	s, err := scenario.Parse("f.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// options are those of a machine that leaves both sides free.
func options() Options {
	return Options{Self: "schedlab", Seed: 7, Pin: "none", Iters: 2, Modes: map[string]mode.Mode{
		"nethttp": {Station: "goroutines"}, "fasthttp": {Station: "goroutines"},
		"pool":         {Flags: []string{"workers"}, Station: "pool", Sticky: true, Overflow: "block"},
		"pool-request": {Flags: []string{"workers"}, Station: "pool", Axes: mode.Axes{Unit: "request"}, Overflow: "reject", Depth: func(workers int) int { return 2 * workers }},
	}}
}

func planned(t *testing.T, text string, change func(*Options)) *plan {
	t.Helper()
	o := options()
	if change != nil {
		change(&o)
	}
	p, err := newPlan(parsed(t, text), o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func doubts(p record.Plan) (texts []string) {
	for _, d := range p.Doubts {
		texts = append(texts, report.Doubt(d))
	}
	return texts
}

func TestCopySecond(t *testing.T) {
	t.Parallel()
	p := planned(t, demo.Arm("{mode: pool, vary: {workers: [1, 4]}}"), nil)
	var got []string
	for _, a := range p.Arms {
		got = append(got, fmt.Sprintf("%s %s", a.Role, a.Name))
	}
	want := []string{"baseline nethttp", "copy nethttp'", "challenger pool,workers=1", "challenger pool,workers=4"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !slices.Equal(p.Arms[0].Command, p.Arms[1].Command) {
		t.Errorf("the copy runs %q, the baseline %q", p.Arms[1].Command, p.Arms[0].Command)
	}
}

func TestOrder(t *testing.T) {
	t.Parallel()
	order := func(seed uint64) [][]int {
		return planned(t, demo.Arm("pool"), func(o *Options) { o.Seed = seed }).Order
	}
	got := order(7)
	if len(got) != 40 {
		t.Fatalf("%d blocks ordered, want 40", len(got))
	}
	seen := map[string]int{}
	for i, block := range got {
		if sorted := slices.Sorted(slices.Values(block)); !slices.Equal(sorted, []int{0, 1, 2}) {
			t.Errorf("block %d runs %v, want every arm once", i+1, block)
		}
		seen[fmt.Sprint(block)]++
	}
	for text, n := range seen {
		if n > 20 || len(seen) != 6 {
			t.Errorf("of 40 blocks %d run %s, and %d orders are seen of 6: want them drawn at random", n, text, len(seen))
		}
	}
	if diff := cmp.Diff(got, order(7)); diff != "" {
		t.Errorf("the same seed gives another order:\n%s", diff)
	}
	if cmp.Equal(got, order(8)) {
		t.Error("another seed gives the same order")
	}
	first := map[int]bool{}
	for _, block := range got {
		first[block[0]] = true
	}
	if len(first) != 3 {
		t.Errorf("only arms %v ever run first", first)
	}
}

func TestBudget(t *testing.T) {
	t.Parallel()
	// 3 arms: 3 x 0.81 s a block, 3 s fixed; nothing is probed for a fixed rate.
	for _, c := range []struct {
		budget time.Duration
		blocks int
	}{
		{75 * time.Second, 29}, {52 * time.Second, 20}, {28 * time.Second, 10}, {time.Hour, 40},
	} {
		o := options()
		o.Budget = c.budget
		planned, err := Plan(parsed(t, demo.Text), o)
		if err != nil {
			t.Fatal(err)
		}
		p := planned.Planned()
		if budget, blocks := planned.Budget(); budget != c.budget || blocks != c.blocks {
			t.Errorf("budget %v: got %v, room for %d blocks, want %d", c.budget, budget, blocks, c.blocks)
		}
		if p.Blocks != 40 || !slices.Equal(p.Looks, stats.Looks()) || p.Estimate > c.budget.Seconds() || len(doubts(p)) != 1 {
			t.Errorf("budget %v: got %d blocks in %.1f s, looks at %v, doubts %q; want 40 at most, and no doubt but that CPUs are shared", c.budget, p.Blocks, p.Estimate, p.Looks, doubts(p))
		}
	}
	full := planned(t, demo.Text, func(o *Options) { o.Protocol, o.Rate = "full", scenario.Rate{PerSecond: 400} })
	if full.Blocks != 40 || full.Window != 3.6 || full.Warmup != .4 || full.budget != 10*time.Minute {
		t.Errorf("full: got %+v", full.Plan)
	}
	few := planned(t, demo.Text, func(o *Options) { o.Blocks = 15 })
	if few.Blocks != 15 || len(few.Order) != 15 || !slices.Equal(few.Looks, []int{10, 12, 14}) {
		t.Errorf("--blocks 15: got %d blocks, looks at %v", few.Blocks, few.Looks)
	}
}

// X_max is measured only where something needs it.
func TestProbes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		want       []bool // of nethttp, its copy and the challenger
		long       time.Duration
	}{
		{"a fixed rate", demo.Text, []bool{false, false, false}, shortProbe},
		{"a bounded rate", demo.Swap("rate: 300/s", "rate: 900/s\n  max_rate: 0.85x"), []bool{true, false, true}, shortProbe},
		{"a share", demo.Swap("rate: 300/s", "rate: 0.7x"), []bool{true, false, true}, probeWindow},
		{"an expectation", demo.Text + "expect: ['x_max(\"nethttp\") > 1000/s']\n", []bool{true, false, true}, probeWindow},
	} {
		p := planned(t, c.text, nil)
		for i, want := range c.want {
			if got := p.probes(p.arms[i]); got != want {
				t.Errorf("%s: %s is probed: %v, want %v", c.name, p.Arms[i].Name, got, want)
			}
		}
		if got := p.probeFor(); got != c.long {
			t.Errorf("%s: a probe takes %v, want %v", c.name, got, c.long)
		}
	}
}

// A bounded rate is lowered where an arm cannot take it, and it is said once.
func TestRatesAreLowered(t *testing.T) {
	t.Parallel()
	text := demo.Swap("rate: 300/s", "rate: 900/s\n  max_rate: 0.85x")
	for slowest, want := range map[float64]float64{2000: 900, 1000: 850} {
		p := planned(t, text, nil)
		if err := p.chooseRate(map[string]float64{"nethttp": 3000, "fasthttp": slowest}, 0); err != nil {
			t.Fatal(err)
		}
		for _, a := range p.Arms {
			if a.Clients.Rate != want {
				t.Errorf("the slowest does %v: %s is asked for %v, want %v", slowest, a.Name, a.Clients.Rate, want)
			}
		}
		said := 0
		for _, d := range doubts(p.Plan) {
			said += stats.Count(d == "offered 850/s instead of 900/s: fasthttp does 1,000/s at most; leave it out with --arms, or give --rate")
		}
		if said != stats.Count(want < 900) {
			t.Errorf("the slowest does %v: said %d times among %q", slowest, said, doubts(p.Plan))
		}
	}
	asked := planned(t, text, func(o *Options) { o.Rate = scenario.Rate{PerSecond: 900} })
	if err := asked.chooseRate(map[string]float64{"nethttp": 3000, "fasthttp": 1000}, 0); err != nil || asked.Arms[0].Clients.Rate != 900 {
		t.Errorf("--rate 900/s: offered %v, %v; want what was asked for", asked.Arms[0].Clients.Rate, err)
	}
}

func TestImpossible(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text   string
		change func(*Options)
		want   string
	}{
		{demo.Text, func(o *Options) { o.Budget = 24 * time.Second },
			"10 blocks of 3 arms (nethttp' is the baseline again, for the A/A control) take 27s, more than the budget of 24s; raise --budget, drop arms or shorten --window"},
		{demo.Text, func(o *Options) { o.Blocks = 9 }, "--blocks 9 is below 10, too few for any verdict"},
		{demo.Text, func(o *Options) { o.Blocks = 41 }, "--blocks 41 is above 40, the last look; lengthen the windows instead"},
		{demo.Text, func(o *Options) { o.Window = 99 * time.Millisecond }, "--window 99ms is outside 100ms to 24h0m0s"},
		{demo.Text, func(o *Options) { o.Window = 87600 * time.Hour }, "--window 87600h0m0s is outside 100ms to 24h0m0s"},
		{demo.Text, func(o *Options) { o.Warmup = -1 }, "--warmup -1ns is outside 0 to 24h0m0s"},
		{demo.Text, func(o *Options) {
			o.Rate, o.Window, o.Budget = scenario.Rate{PerSecond: 1e6}, 10*time.Second, time.Hour
		},
			"the rate 1000000/s makes 10200000 requests a trial, above 5000000; lower --rate or shorten --window"},
		{demo.Text + "needs: {server_cpus: 2000}\n", nil,
			fmt.Sprintf("scenario \"demo\" needs 2000 CPUs for the server, and has %d here: the models would not differ in what it asks", len(everyCPU(t)))},
		{demo.Arm("loop"), nil, `arm "loop": unknown mode "loop" (want one of fasthttp, nethttp, pool, pool-request)`},
	} {
		o := options()
		if c.change != nil {
			c.change(&o)
		}
		_, err := Plan(parsed(t, c.text), o)
		var bad *Impossible
		if !errors.As(err, &bad) || err.Error() != c.want {
			t.Errorf("got %v\nwant %s", err, c.want)
		}
	}
	s := parsed(t, demo.Text)
	s.Arms = s.Arms[:1]
	if _, err := Plan(s, options()); err == nil || err.Error() != "a comparison needs two arms or more, a baseline and a challenger; name another with --arm or --arms" {
		t.Errorf("one arm: got %v", err)
	}
	s.Arms = append(s.Arms, s.Arms[0])
	if _, err := Plan(s, options()); err == nil || err.Error() != `two arms are called "nethttp"; name one of them otherwise` {
		t.Errorf("one arm twice: got %v", err)
	}
	for range 40 {
		s.Arms = append(s.Arms, s.Arms[0])
	}
	if _, err := Plan(s, options()); err == nil || err.Error() != "42 arms are more than 40; drop some" {
		t.Errorf("42 arms: got %v", err)
	}
}

func TestPlanDoubts(t *testing.T) {
	t.Parallel()
	kept := strings.Replace(demo.Arm("{mode: pool, workers: 4}"), "rate: 300/s", "rate: 300/s\n  keepalive: true", 1)
	for _, c := range []struct{ name, text, want string }{
		{"p99 of too few requests", demo.Text, "p99 cannot be decided: a window holds 150 requests, it needs 1100; --window 3.7s --budget 2m4s would do"},
		{"a sticky pool", kept, "pool,workers=4: starves 60 of 64 kept connections, because a worker keeps its connection until it closes: its capacity and times are those of 4 clients only; give it workers=64, or --close"},
		{"Little's law", strings.Replace(demo.Arm("{mode: pool, workers: 4}"), "cpu: 100us", "cpu: 100us\n  sleep: 20ms", 1),
			"pool,workers=4: 4 workers cannot keep up: by Little's law 300/s x 20.1 ms held needs 7"},
		{"shared CPUs", demo.Text, "server and load share CPUs: the load disturbs what it measures; use --pin auto on two or more CPUs"},
	} {
		p := planned(t, c.text, nil)
		if err := p.chooseRate(nil, 0); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if !slices.Contains(doubts(p.Plan), c.want) {
			t.Errorf("%s: got %q, want %q among them", c.name, doubts(p.Plan), c.want)
		}
	}
	enough := planned(t, demo.Arm("{mode: pool, workers: 8}"), func(o *Options) { o.Rate = scenario.Rate{PerSecond: 2200} })
	if err := enough.chooseRate(nil, 0); err != nil {
		t.Fatal(err)
	}
	if got := doubts(enough.Plan); len(got) != 1 {
		t.Errorf("with enough of everything: got %q, want only that CPUs are shared", got)
	}
	turns := planned(t, strings.Replace(demo.Arm("{mode: pool, workers: 4}"), "rate: 300/s", "loop: closed\n  keepalive: true\n  connections: 10\n  session: 5", 1), nil)
	if err := turns.chooseRate(nil, 0); err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(doubts(turns.Plan), func(d string) bool { return strings.Contains(d, "starves") }) {
		t.Errorf("clients whose sessions end starve nobody: got %q", doubts(turns.Plan))
	}
	if got := judge.JudgedQuantiles(enough.Plan); !got["p50"] || !got["p90"] || !got["p99"] {
		t.Errorf("2200/s over 0.5 s: judged %v, want all", got)
	}
}

// What breaks the answer is known and told before anything is measured; a comparison without two
// arms that serve all clients is refused, unless its expectations ask for that.
func TestHopelessIsToldFirst(t *testing.T) {
	t.Parallel()
	const kept, closed = "rate: 300/s\n  keepalive: true", "rate: 300/s"
	arms := func(load, first, second string) string {
		return strings.NewReplacer("rate: 300/s", load, "- nethttp", "- "+first, "- fasthttp", "- "+second).Replace(demo.Text)
	}
	const four, enough = "{mode: pool, workers: 4}", "{mode: pool, workers: 64}"
	for _, c := range []struct {
		name, text string
		told       []string // who starves
		answers    bool
	}{
		{"a sweep of starving pools", arms(kept, four, "{mode: pool, vary: {workers: [8, 16]}}"), []string{"pool,workers=4"}, false},
		{"a starving baseline", arms(kept, four, enough), []string{"pool,workers=4"}, false},
		{"starving challengers", arms(kept, "nethttp", four), []string{"pool,workers=4"}, false},
		{"one that does not starve", arms(kept, enough, "nethttp"), nil, true},
		{"one of two starves", arms(kept, "nethttp", four) + "  - fasthttp\n", []string{"pool,workers=4"}, true},
		{"a connection for each request", arms(closed, four, "{mode: pool, vary: {workers: [8, 16]}}"), nil, true},
		{"asked for", arms(kept, "nethttp", four) + "expect:\n  - served(\"pool,workers=4\") == 4\n", []string{"pool,workers=4"}, true},
	} {
		var told []string
		p := planned(t, c.text, nil)
		run := &Comparison{p, Options{OnDoubt: func(d record.Fact) { told = append(told, d.Arm) }}}
		run.tellCannot()
		if err := run.CanAnswer(); (err == nil) != c.answers || err != nil && !strings.Contains(err.Error(), "pool,workers=4 starves 60 of 64 kept connections") || !slices.Equal(told, c.told) {
			t.Errorf("%s: told of %q, %v", c.name, told, err)
		}
	}
}

// A question that was asked of one rate says so when another is run.
func TestAnotherRateIsSaid(t *testing.T) {
	t.Parallel()
	at := func(r scenario.Rate) func(*Options) { return func(o *Options) { o.Rate = r } }
	for _, c := range []struct {
		text string
		rate scenario.Rate
		want string
	}{
		{demo.Text, scenario.Rate{}, "Which is faster?"},
		{demo.Text, scenario.Rate{PerSecond: 300}, "Which is faster?"},
		{demo.Text, scenario.Rate{PerSecond: 2000}, "Which is faster? (asked of 300/s, run at 2000/s)"},
		{demo.Swap("rate: 300/s", "rate: 0.7x"), scenario.Rate{PerSecond: 2000}, "Which is faster?"},
	} {
		if p := planned(t, c.text, at(c.rate)); p.Question != c.want {
			t.Errorf("%v: got %q, want %q", c.rate, p.Question, c.want)
		}
	}
}

func TestChooseRate(t *testing.T) {
	t.Parallel()
	relative := func() *plan {
		return planned(t, demo.Swap("rate: 300/s", "rate: 0.7x\n  min_rate: 1100/s"), nil)
	}
	p := relative()
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
		p := relative()
		err := p.chooseRate(map[string]float64{"nethttp": 5000, "fasthttp": c.slowest}, 0)
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
	p.cpus.Load = record.CPUs{1}
	if err := p.chooseRate(map[string]float64{"nethttp": 91636.43, "fasthttp": 117018}, 31000); err != nil || p.Rate != 31000 || p.Sendable != 31000 {
		t.Errorf("a generator that can send 31000/s: got %v/s, %v", p.Rate, err)
	}
	if want := "31,000/s are what the load's CPU 1 can send, less than the share of X_max that was asked for: the servers have time to spare; give the load more CPUs (--load-cpus) or ask for more work"; !slices.Contains(doubts(p.Plan), want) {
		t.Errorf("a generator that can send 31000/s: got %q, want %q among them", doubts(p.Plan), want)
	}
	p = planned(t, demo.Swap("rate: 300/s", "rate: 0.7x"), nil)
	if err := p.chooseRate(map[string]float64{"nethttp": 91636.43, "fasthttp": 117018}, 1e5); err != nil || p.Rate != 64150 || p.Sendable != 0 {
		t.Errorf("a generator that can send more: got %v/s, %v, want 64150/s", p.Rate, err)
	}
	// An absolute rate is the user's own: it is not refused.
	p = planned(t, demo.Text, nil)
	if err := p.chooseRate(map[string]float64{"nethttp": 10, "fasthttp": 10}, 0); err != nil || p.Rate != 300 {
		t.Errorf("absolute: got %v/s, %v", p.Rate, err)
	}
}

func traced(t *testing.T, p *plan, block int, iters float64) arrivals.Trace {
	t.Helper()
	trace, err := p.trace(p.Arms[0].Clients, block, p.span(), iters)
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
	if diff := cmp.Diff(traced(t, a, 3, 2), traced(t, b, 3, 2)); diff != "" {
		t.Errorf("the same seed and block differ:\n%s", diff)
	}
	if cmp.Equal(traced(t, a, 3, 2).At, traced(t, a, 4, 2).At) || cmp.Equal(traced(t, a, 3, 2).At, traced(t, other, 3, 2).At) {
		t.Error("another block or seed gives the same arrivals")
	}
	slow, fast := traced(t, a, 0, 2), traced(t, a, 0, 200)
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
	if plain := traced(t, planned(t, demo.Swap("cpu: 100us", "path: /plaintext"), nil), 0, 2); plain.Demand != nil {
		t.Error("a path other than /work carries demands")
	}
	even := traced(t, planned(t, demo.Swap("rate: 300/s", "rate: 100/s\n  arrivals: constant"), nil), 0, 2)
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
	first := traced(t, p, 0, 2)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	want := arrivals.Trace{At: []time.Duration{0, 10 * time.Millisecond}, Demand: []arrivals.Demand{{Iters: 20}, {Iters: 40}}}
	for _, got := range []arrivals.Trace{first, traced(t, p, 5, 2)} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestOneProbeForAlikeArms(t *testing.T) {
	t.Parallel()
	p := planned(t, demo.Arm("{name: again, mode: nethttp}")+"  - {name: closing, mode: nethttp, keepalive: true}\n", nil)
	for arm, want := range []int{-1, 0, 0, -1} {
		if got := p.sameAs(arm); got != want {
			t.Errorf("%s is probed as arm %d, want %d", p.Arms[arm].Name, got, want)
		}
	}
}

// Assertions about arms that the user left out are left out too, and that is said.
func TestExpectationsOfAbsentArms(t *testing.T) {
	t.Parallel()
	s := parsed(t, demo.Text+"  - pool\nexpect:\n  - errors(\"fasthttp\") == 0\n  - errors(\"pool\") == 0\n")
	s.Arms = s.Arms[:2]
	p, err := newPlan(s, options())
	if err != nil {
		t.Fatal(err)
	}
	const said = "left out of the scenario: 1 expectation about arms that are not compared here"
	if !slices.Equal(p.Expect, []string{`errors("fasthttp") == 0`}) || !slices.Contains(doubts(p.Plan), said) {
		t.Errorf("got %q and doubts %q, want the first and %q", p.Expect, doubts(p.Plan), said)
	}
}

// The edition for CI asks the same questions, of smaller scenarios that every
// machine can plan.
func TestShortScenariosParse(t *testing.T) {
	t.Parallel()
	dir := os.DirFS("../../loadtests")
	files, err := fs.Glob(dir, "short/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("short scenarios: %v, %v", files, err)
	}
	for _, file := range files {
		read := func(file string) scenario.Scenario {
			text, err := fs.ReadFile(dir, file)
			if err != nil {
				t.Fatal(err)
			}
			s, err := scenario.Parse(file, text)
			if err != nil {
				t.Error(err)
			}
			return s
		}
		short, full := read(file), read(path.Base(file))
		if short.Name != "short-"+full.Name || short.Question != full.Question || len(short.Expect) == 0 {
			t.Errorf("%s: got the name %q, the question %q and %d expectations", file, short.Name, short.Question, len(short.Expect))
		}
		if _, err := newPlan(short, options()); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// A plan knows what an ideal scheduler makes of its arrivals: nothing where there is no demand or
// no model, the same for arms of one station, and longer tails for a pool that is short of workers.
func TestPlanExpectsTimes(t *testing.T) {
	t.Parallel()
	pools := strings.NewReplacer("- fasthttp", "- mode: pool\n    workers: 3", "rate: 300/s", "rate: 500/s")
	p := planned(t, pools.Replace(demo.Swap("cpu: 100us", "cpu: 50us\n  sleep: 5ms")), nil)
	if err := p.expect(t.Context(), record.Env{ItersPerUsec: 2}, 2); err != nil {
		t.Fatal(err)
	}
	base, twin, pool := p.Arms[0].Expected, p.Arms[1].Expected, p.Arms[2].Expected
	if base == nil || twin != base || pool == nil {
		t.Fatalf("got %+v, %+v and %+v, want one expectation for nethttp and its copy, another for the pool", base, twin, pool)
	}
	if base.P50 < 5.04e-3 || base.P50 > 5.2e-3 || pool.P99 < 2*base.P99 {
		t.Errorf("got %+v for nethttp and %+v for the pool", *base, *pool)
	}
	p = planned(t, pools.Replace(demo.Swap("cpu: 100us", "path: /plaintext")), nil)
	if err := p.expect(t.Context(), record.Env{ItersPerUsec: 2}, 2); err != nil || p.Arms[2].Expected != nil {
		t.Errorf("got %+v and %v, want nothing for requests without a demand", p.Arms[2].Expected, err)
	}
}
