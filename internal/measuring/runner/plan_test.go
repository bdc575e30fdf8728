package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/measuring/expect"
	"schedlab/internal/measuring/load"
	"schedlab/internal/measuring/report"
	"schedlab/internal/measuring/scenario"
	"schedlab/internal/measuring/scenario/demo"
	"schedlab/internal/shared/mode"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// asserted is a list of one assertion.
func asserted(t *testing.T, text string) []expect.Expectation {
	t.Helper()
	e, err := expect.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return []expect.Expectation{e}
}

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
	return Options{Self: "schedlab", Seed: 7, CPUs: FreeCPUs, Iters: 2, Modes: map[string]mode.Mode{
		"nethttp": {Station: "goroutines"}, "fasthttp": {Station: "goroutines"},
		"pool":         {Flags: []string{"workers"}, Station: "pool", Sticky: true, Overflow: "block"},
		"pool-request": {Flags: []string{"workers"}, Station: "pool", Axes: mode.Axes{Unit: "request"}, Overflow: "reject", Depth: func(workers int) int { return 2 * workers }},
	}}
}

func planned(t *testing.T, text string, change func(*Options)) plan {
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
		if p.Blocks != 40 || !slices.Equal(p.Looks, stats.Looks()) || p.Estimate.Duration > c.budget || len(doubts(p)) != 1 {
			t.Errorf("budget %v: got %d blocks in %.1f s, looks at %v, doubts %q; want 40 at most, and no doubt but that CPUs are shared", c.budget, p.Blocks, p.Estimate.Seconds(), p.Looks, doubts(p))
		}
	}
	full := planned(t, demo.Text+"protocol: {kind: full}\n", func(o *Options) { o.Rate = scenario.Rate{PerSecond: 400} })
	if full.Blocks != 40 || full.Window.Seconds() != 3.6 || full.Warmup.Seconds() != .2 || full.budget != 10*time.Minute {
		t.Errorf("kind: full: got %+v", full.recorded())
	}
	few := planned(t, demo.Text, func(o *Options) { o.Blocks = 15 })
	if few.Blocks != 15 || len(few.Order) != 15 || !slices.Equal(few.Looks, []int{10, 12, 13, 14}) {
		t.Errorf("--blocks 15: got %d blocks, looks at %v", few.Blocks, few.Looks)
	}
}

// The default budget grows for long windows and warm-ups of flags, for 16 blocks or the most that there may be, and up to ten minutes. One
// that was given does not.
func TestBudgetGrowsForFlags(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what   string
		change func(*Options)
		grows  bool
		most   time.Duration
	}{
		{"nothing is given", func(*Options) {}, false, 75 * time.Second},
		{"a window that is short", func(o *Options) { o.Window = 300 * time.Millisecond }, false, 75 * time.Second},
		{"a window for which there is room", func(o *Options) { o.Window = 600 * time.Millisecond }, false, 75 * time.Second},
		{"a long window", func(o *Options) { o.Window = 4 * time.Second }, true, 4 * time.Minute},
		{"a long window in ten blocks", func(o *Options) { o.Window, o.Blocks = 4*time.Second, 10 }, true, 150 * time.Second},
		{"a long warm-up", func(o *Options) { o.Warmup = 4 * time.Second }, true, 4 * time.Minute},
		{"windows for which ten minutes have room", func(o *Options) { o.Window = 15 * time.Second }, true, 10 * time.Minute},
	} {
		p := planned(t, demo.Text, func(o *Options) {
			o.Rate = scenario.Rate{PerSecond: 400}
			c.change(o)
		})
		if grew := p.budget > 75*time.Second; grew != c.grows || p.budget > c.most || (p.grown > 0) != c.grows {
			t.Errorf("%s: a budget of %v, which grew to %v", c.what, p.budget, p.grown)
		}
	}
	given := options()
	given.Window, given.Budget = 4*time.Second, 75*time.Second
	if _, err := Plan(parsed(t, demo.Text), given); err == nil {
		t.Error("a budget that was given grew")
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
		{demo.Arm("loop"), nil, `f.yaml:9:5: arm "loop": unknown mode "loop" (want one of fasthttp, nethttp, pool, pool-request)`},
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

// elsewhere is a site that nothing is started on.
type elsewhere struct{ Site }

func (elsewhere) ServerCPUs() int          { return 1 }
func (elsewhere) TrialCost() time.Duration { return time.Second }
func (elsewhere) Describe() *record.Site {
	return &record.Site{Words: record.SiteWords{Name: "a farm", Senders: "the tractors of a farm", CPUs: "--horses"}}
}

// A message about what a site cannot do has the site's words and flags, and the one about this machine those of a comparison here.
func TestImpossibleOnASite(t *testing.T) {
	t.Parallel()
	here := func(o *Options) { o.ForImages = "farm run --help" }
	there := func(o *Options) { o.Site = elsewhere{} }
	one := everyCPU(t)[0]
	for _, c := range []struct {
		text   string
		change func(*Options)
		want   string
	}{
		{demo.Text, func(o *Options) { there(o); o.Engine = load.EngineVegeta },
			"--engine vegeta: the tractors of a farm begin at one agreed moment, which only the engine spin can; leave it out"},
		{demo.Text + "needs: {server_cpus: 2}\n", there,
			`scenario "demo" needs 2 CPUs for the server, and has 1 here: the models would not differ in what it asks; give --horses 2`},
		{demo.Text + "needs: {server_cpus: 2}\n", func(o *Options) { o.CPUs = fmt.Sprint(one, "/", one) },
			fmt.Sprintf(`scenario "demo" needs 2 CPUs for the server, and has 1 here: the models would not differ in what it asks; --cpus %d/%d gives it that many`, one, one)},
		{foreign("./server -listen {addr}"), there,
			`f.yaml:9:5: arm "mine": ./server is a program, and a farm runs images: give the arm as 'image:REGISTRY/NAME@sha256:... -listen {addr}'`},
		{foreign("image:app -listen {addr}"), here,
			`f.yaml:9:5: arm "mine": image:app is an image, and this machine runs programs: give the arm as './PROGRAM -listen {addr}', or see farm run --help`},
		{foreign("image:app -listen {addr}"), nil,
			`f.yaml:9:5: arm "mine": image:app is an image, and this machine runs programs: give the arm as './PROGRAM -listen {addr}'`},
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
}

// foreign returns the demo with an arm of this command.
func foreign(command string) string {
	return demo.Arm(fmt.Sprintf("{name: mine, command: %q}", command))
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
	if r := p.recorded(); !slices.Equal(r.Expect, []string{`errors("fasthttp") == 0`}) || !slices.Contains(doubts(r), said) {
		t.Errorf("got %q and doubts %q, want the first and %q", r.Expect, doubts(r), said)
	}
}

// The edition for CI asks the same questions, of smaller scenarios that every
// machine can plan.
func TestShortScenariosParse(t *testing.T) {
	t.Parallel()
	dir := os.DirFS("../../../loadtests")
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

// describe lists a plan's arms with their loads.
func (p plan) described() (lines []string) {
	for _, a := range p.Arms {
		lines = append(lines, fmt.Sprintf("%s %s: %s", a.Role, a.Name, report.Load(a.Clients)))
	}
	return lines
}

func TestVariedLoad(t *testing.T) {
	t.Parallel()
	p := planned(t, demo.Swap("rate: 300/s", "rate: 300/s\n  keepalive: true\n  vary: {connections: [16, 64]}"), nil)
	want := []string{
		"baseline nethttp,connections=16: open loop, poisson at 300/s over 16 connections",
		"copy nethttp,connections=16': open loop, poisson at 300/s over 16 connections",
		"challenger nethttp,connections=64: open loop, poisson at 300/s over 64 connections",
		"challenger fasthttp,connections=16: open loop, poisson at 300/s over 16 connections",
		"challenger fasthttp,connections=64: open loop, poisson at 300/s over 64 connections",
	}
	if diff := cmp.Diff(want, p.described()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if a := p.Arms[2]; a.Family != "nethttp" || !cmp.Equal(a.Levels, []record.Level{{Factor: "connections", Value: "64"}}) {
		t.Errorf("got family %q, levels %v", a.Family, a.Levels)
	}
}

func TestArmsOwnLoad(t *testing.T) {
	t.Parallel()
	p := planned(t, demo.Arm("{name: waves, mode: nethttp, rate: 900/s, arrivals: 'sine(0.5,100ms)', keepalive: true}\n  - {name: loop, mode: nethttp, loop: closed, connections: 8, keepalive: true, think: 5ms}"), nil)
	want := []string{
		"baseline nethttp: open loop, poisson at 300/s, a connection for each request",
		"copy nethttp': open loop, poisson at 300/s, a connection for each request",
		"challenger waves: open loop, sine(0.5,100ms) at 900/s over 64 connections",
		"challenger loop: closed loop of 8 clients, that think 5 ms",
	}
	if diff := cmp.Diff(want, p.described()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	arrivals := func(arm int) int {
		trace, err := p.trace(p.Arms[arm], 0, p.span())
		if err != nil {
			t.Fatal(err)
		}
		return len(trace.At)
	}
	if base, twin, waves := arrivals(0), arrivals(1), arrivals(2); base != twin || waves < 2*base {
		t.Errorf("%d arrivals for the baseline, %d for its copy, %d at three times the rate", base, twin, waves)
	}
}

// What a plan takes, the load behind it takes, too: one limit, and clients that are
// all there when the window begins.
func TestMostConnections(t *testing.T) {
	t.Parallel()
	closed := "loop: closed\n  keepalive: true\n  connections: 16384\n  ramp: 3s"
	p := planned(t, demo.Swap("rate: 300/s", closed), func(o *Options) { o.Warmup, o.Budget = 3*time.Second, time.Hour })
	if got, want := report.Load(p.Arms[0].Clients), "closed loop of 16384 clients, started over 3 s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if p.Arms[0].Clients.Connections != load.MaxConnections {
		t.Errorf("got %d connections, want %d", p.Arms[0].Clients.Connections, load.MaxConnections)
	}
	_, err := newPlan(parsed(t, demo.Swap("rate: 300/s", closed)), options())
	want := `arm "nethttp": load.ramp 3s is longer than the warm-up of 200ms; lengthen protocol.warmup (--warmup), or shorten the ramp`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %q", err, want)
	}
}

func TestTargetsOfAFile(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("t.txt", "GET /a\n\nPUT http://elsewhere:1/b?c\nX: 1\n")
	s := parsed(t, demo.Swap("cpu: 100us", "targets: t.txt"))
	if s.AsksWork() {
		t.Error("it asks for /work")
	}
	p, err := newPlan(s, options())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, target := range p.scenario.Targets("127.0.0.1:5") {
		got = append(got, target.Method+" "+target.URL)
	}
	if want := []string{"GET http://127.0.0.1:5/a", "PUT http://127.0.0.1:5/b?c"}; !slices.Equal(got, want) || p.Asked != "2 requests of t.txt in turn" {
		t.Errorf("got %q, %s, want %q", got, p.Asked, want)
	}
	write("t.txt", "GET ftp://h/a\n")
	if _, err := newPlan(s, options()); err == nil || !strings.Contains(err.Error(), `workload.targets: t.txt: reading targets: line 1: scheme "ftp"`) {
		t.Errorf("got %v", err)
	}
}
