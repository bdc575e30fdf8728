package advise

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/judge"
	"schedlab/internal/mode"
	"schedlab/internal/outcome"
	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// someModes are as many as the tests need, plainest first.
// kinds are the kinds of requests in the table's order.
var kinds = []string{ShortCPU, Blocking, Mixed, HeavyTail, Idle, Bursts, Pipelined, Locks}

func someModes() []mode.Mode {
	return []mode.Mode{
		{Name: "nethttp", Station: "goroutines", Summary: "net/http as it comes"},
		{Name: "goroutine", Station: "goroutines"},
		{Name: "fasthttp", Station: "goroutines"},
		{Name: "pool", Station: "pool", Flags: []string{"workers", "queue-depth"}, Sticky: true, Sized: true},
		{Name: "pool-perworker", Station: "per-worker", Flags: []string{"workers", "queue-depth"}, Sticky: true},
		{Name: "pool-ring", Station: "pool", Flags: []string{"workers", "queue-depth"}, Sticky: true},
		{Name: "pool-requeue", Station: "pool", Flags: []string{"workers", "queue-depth"}},
		{Name: "pool-request", Station: "pool", Flags: []string{"workers", "queue-depth"}, Sized: true},
		{Name: "semaphore", Station: "pool", Flags: []string{"workers", "wait"}, Sized: true},
		{Name: "loop", Station: "loops", Loops: true},
		{Name: "loop-single", Station: "loops", Loops: true},
		{Name: "loop-offload", Station: "pool", Loops: true, Flags: []string{"workers", "queue-depth"}},
	}
}

// asking is an Ask of a workload at a rate, with what edit changes.
func asking(t *testing.T, workload string, rate float64, edit func(*Ask)) Ask {
	t.Helper()
	d, err := ParseWorkload(workload)
	if err != nil {
		t.Fatal(err)
	}
	a := Ask{Demand: d, Rate: rate, Connections: 64, Pipeline: 1, Arrivals: "poisson", Path: "/work?x", Matters: Tail, Cores: 1, Seed: 1}
	if edit != nil {
		edit(&a)
	}
	return a
}

// rows is a pack of one scenario: "metric arm baseline verdict", and a ratio unless it is 1.2, a line.
func rows(scenario, text string) (p Pack) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		v := record.Verdict{Metric: f[0], Arm: f[1], Baseline: f[2], Verdict: stats.Decision(f[3]), Ratio: 1.2, Low: 1.1, High: 1.3, Blocks: 12}
		if len(f) > 4 {
			v.Ratio, _ = strconv.ParseFloat(f[4], 64)
		}
		if v.Verdict == stats.Refused {
			v.Ratio, v.Low, v.High, v.Reason = 0, 0, 0, record.Fact{Code: "errors", Arm: v.Arm}
		}
		p = append(p, Row{scenario, "abc1234", v})
	}
	return p
}

func TestWhatRequestsDo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		workload string
		edit     func(*Ask)
		want     string
	}{
		{"cpu=exp(200us)", nil, ShortCPU},
		{"cpu=20us,sleep=28ms", nil, Blocking},
		{"cpu=1ms,sleep=1ms", nil, Mixed},
		{"cpu=0.95*1ms+0.05*60ms", nil, Mixed},
		{"cpu=0.99*1ms+0.01*100ms", nil, HeavyTail},
		{"cpu=100us", func(a *Ask) { a.Idle = 4000 }, Idle},
		{"cpu=200us", func(a *Ask) { a.Arrivals = "burst(12)" }, Bursts},
		{"cpu=200us", func(a *Ask) { a.Arrivals = "constant" }, ShortCPU},
		{"cpu=199us", nil, Pipelined},
		{"cpu=20us", func(a *Ask) { a.Idle = 4000 }, Idle},
		{"cpu=200us", func(a *Ask) { a.Pipeline = 16 }, Pipelined},
		{"cpu=1250us", func(a *Ask) { a.Lock = time.Millisecond }, Locks},
	} {
		if got := asking(t, c.workload, 100, c.edit).Does(); got != c.want {
			t.Errorf("%s: got %s, want %s", c.workload, got, c.want)
		}
	}
}

// Each connection has one request under way at a time.
func TestConnectionsCarryTheRate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		workload string
		rate     float64
		edit     func(*Ask)
		short    bool
	}{
		{"sleep=20ms", 3000, nil, false},
		{"sleep=20ms", 3300, nil, true},
		{"sleep=20ms", 3300, func(a *Ask) { a.Connections = 128 }, false},
		{"sleep=20ms", 3300, func(a *Ask) { a.Pipeline = 2 }, false}, // a closed loop
		{"cpu=20ms", 3300, nil, false},                               // the core is what lacks
	} {
		if rate, short := asking(t, c.workload, c.rate, c.edit).Carry(); short != c.short {
			t.Errorf("%s at %v/s: short of connections %v, want %v; they carry %v/s", c.workload, c.rate, short, c.short, rate)
		}
	}
}

// The table has each kind of requests with each thing that matters, once, in order.
func TestTableIsWhole(t *testing.T) {
	t.Parallel()
	cells := Cells(nil, nil)
	for i, does := range kinds {
		for k, matters := range Matters() {
			if c := cells[len(Matters())*i+k]; c.Does != does || c.Matters != matters || c.Outcome != "" || len(c.Arms) < 2 {
				t.Errorf("cell %d is %+v, want %s, %s, without an outcome", len(Matters())*i+k, c, does, matters)
			}
		}
	}
	if len(cells) != len(kinds)*len(Matters()) {
		t.Errorf("%d cells", len(cells))
	}
}

// Net/http's 69 us of CPU time at 2,000/s are in what requests need, and on a busy CPU hardly more
// than the least that HTTP costs.
func TestHTTPCostsCPU(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		workload string
		rate     float64
		want     float64
	}{{"cpu=0us,sleep=1ms", 2000, 0.138}, {"cpu=100us", 3000, 0.44}, {"cpu=200us", 4850, 0.995}} {
		if got := asking(t, c.workload, c.rate, nil).busy(); math.Abs(got-c.want) > 0.005 {
			t.Errorf("%s at %g/s: %.3f of the CPU time, want %.3f", c.workload, c.rate, got, c.want)
		}
	}
}

// An advice says when its experiment has no other models, or no overload.
func TestCellsSayWhatTheyLack(t *testing.T) {
	t.Parallel()
	pack := rows("backlog", "p90 short long SLOWER\np90 enough long SAME\np90 enough short FASTER")
	got, test, err := Choose(asking(t, "cpu=500us", 100, func(a *Ask) { a.Arrivals, a.Matters = "burst(12)", Overload }), pack, someModes())
	if err != nil {
		t.Fatal(err)
	}
	if len(test.Arms) < 2 {
		t.Errorf("tested by %v alone", test.Arms)
	}
	for _, want := range []record.Code{chooseOneMode, chooseBelow} {
		if !slices.ContainsFunc(got.Doubts, func(f record.Fact) bool { return f.Code == want }) {
			t.Errorf("no doubt %s in %v", want, got.Doubts)
		}
	}
}

// Who is best in a cell follows from the verdicts, challengers' own comparisons among them.
func TestCellsFollowFromVerdicts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, scenario, verdicts, matters string
		outcome                           record.AnswerKind
		best                              string
	}{
		{"two tie", "quick", "cpu_per_request fasthttp nethttp SAME\ncpu_per_request pool nethttp HIGHER\ncpu_per_request pool fasthttp HIGHER", Throughput, record.TieForBest, "nethttp fasthttp"},
		{"one wins", "quick", "cpu_per_request fasthttp nethttp LOWER\ncpu_per_request pool nethttp SAME\ncpu_per_request pool fasthttp HIGHER", Throughput, record.OneWins, "fasthttp"},
		{"two beat the baseline", "quick", "cpu_per_request fasthttp nethttp LOWER\ncpu_per_request pool nethttp LOWER\ncpu_per_request pool fasthttp LOWER", Throughput, record.OneWins, "pool"},
		{"which of two is open", "quick", "cpu_per_request fasthttp nethttp LOWER\ncpu_per_request pool nethttp LOWER\ncpu_per_request pool fasthttp open", Throughput, record.SeveralWin, "fasthttp pool"},
		{"of undecided ones a median far behind is last", "quick", "cpu_per_request fasthttp nethttp open 0.88\ncpu_per_request pool nethttp open 0.95\ncpu_per_request pool fasthttp open", Throughput, record.OpenOutcome, "fasthttp pool nethttp"},
		{"one a little behind is not", "quick", "cpu_per_request fasthttp nethttp open 0.92\ncpu_per_request pool nethttp open 0.95\ncpu_per_request pool fasthttp open", Throughput, record.OpenOutcome, "nethttp fasthttp pool"},
		{"more goodput is better", "pool-block", "goodput pool,workers=4 nethttp open 0.96\ngoodput pool,workers=8 nethttp open 1.04\ngoodput pool,workers=8 pool,workers=4 open", Overload, record.OpenOutcome, "pool,workers=8 nethttp pool,workers=4"},
		{"nobody is known to be slower", "quick", "cpu_per_request fasthttp nethttp open\ncpu_per_request pool nethttp HIGHER\ncpu_per_request pool fasthttp open", Throughput, record.OpenOutcome, "nethttp fasthttp"},
		{"two metrics", "quick", "p90 fasthttp nethttp SAME\np99 fasthttp nethttp FASTER\np90 pool nethttp SLOWER\np99 pool nethttp SLOWER\np90 pool fasthttp SLOWER\np99 pool fasthttp SLOWER", Tail, record.OneWins, "fasthttp"},
		{"refused", "quick", "cpu_per_request fasthttp nethttp refused\ncpu_per_request pool nethttp refused\ncpu_per_request pool fasthttp refused", Throughput, record.NoVerdict, ""},
		{"not all is there", "quick", "cpu_per_request fasthttp nethttp SAME", Throughput, "", ""},
	} {
		cell := cellOf(Cells(rows(c.scenario, c.verdicts), someModes()), Blocking, c.matters)
		var best []string
		for _, b := range cell.Best {
			best = append(best, b.Name)
		}
		if cell.Outcome != c.outcome || strings.Join(best, " ") != c.best {
			t.Errorf("%s: got %s of %q, want %s of %q", c.name, cell.Outcome, best, c.outcome, c.best)
		}
	}
}

// What is measured decides. A cell without a verdict has no answer: the experiment has to run first.
func TestAdviceRestsOnACell(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, verdicts, mode string }{
		{"measured, and a pool that takes requests stands for one that keeps connections", "memory fasthttp nethttp LOWER\nmemory pool nethttp LOWER\nmemory pool fasthttp LOWER", "pool-request"},
		{"not all is there", "memory fasthttp nethttp LOWER", ""},
		{"refused is not measured", "memory fasthttp nethttp refused\nmemory pool nethttp refused\nmemory pool fasthttp refused", ""},
	} {
		got, _, err := Choose(asking(t, "cpu=20us,sleep=28ms", 300, func(a *Ask) { a.Matters = Memory }), rows("quick", c.verdicts), someModes())
		if got.Mode != c.mode || (err == nil) != (c.mode != "") || (got.Cell == nil) != (c.mode == "") {
			t.Errorf("%s: got %q, %v; want %q", c.name, got.Mode, err, c.mode)
		}
	}
}

// From some hundred connections on, memory is what they take: loops need least of it, with
// workers behind them where a request waits.
func TestMemoryOfConnections(t *testing.T) {
	t.Parallel()
	pack := slices.Concat(
		rows("many-idle", "memory loop-crowd,idle=16000 goroutine-crowd,idle=16000 LOWER 0.1"),
		rows("pool-cpu", "memory nethttp goroutine HIGHER\nmemory pool,workers=4 goroutine SAME\nmemory pool,workers=4 nethttp LOWER"),
		rows("pool-cpu", "cpu_per_request nethttp goroutine HIGHER\ncpu_per_request pool,workers=4 goroutine SAME\ncpu_per_request pool,workers=4 nethttp LOWER"),
		rows("quick", "memory fasthttp nethttp LOWER\nmemory pool nethttp LOWER\nmemory pool fasthttp SAME"),
	)
	for _, c := range []struct {
		workload, matters string
		connections, idle int
		known             record.Knowing
		mode              string
		why, doubt        record.Code
	}{
		{"cpu=1ms", Memory, 127, 0, record.KnownMeasured, "goroutine", chooseMeasured, ""},
		{"cpu=1ms", Memory, 128, 0, record.KnownNear, "loop", chooseCrowded, ""},
		{"cpu=1ms", Memory, 64, 64, record.KnownNear, "loop", chooseCrowded, ""},
		{"sleep=1ms", Memory, 127, 0, record.KnownMeasured, "fasthttp", chooseMeasured, ""},
		{"sleep=1ms", Memory, 128, 0, record.KnownNear, "loop-offload", chooseCrowded, chooseWaits},
		{"cpu=1ms", Memory, 64, 4000, record.KnownMeasured, "loop", chooseMeasured, ""},
		{"cpu=1ms", Throughput, 128, 0, record.KnownMeasured, "goroutine", chooseMeasured, ""},
	} {
		got, test, err := Choose(asking(t, c.workload, 100, func(a *Ask) { a.Matters, a.Connections, a.Idle = c.matters, c.connections, c.idle }), pack, someModes())
		if err != nil {
			t.Fatal(err)
		}
		if got.Known != c.known || got.Mode != c.mode || got.Why.Code != c.why || !strings.HasPrefix(test.Arms[0], c.mode) {
			t.Errorf("%s, %s, %d and %d idle connections: got %s, %s, %s, tested by %v; want %s, %s, %s", c.workload, c.matters, c.connections, c.idle, got.Mode, got.Known, got.Why.Code, test.Arms, c.mode, c.known, c.why)
		}
		stood := slices.ContainsFunc(got.Doubts, func(f record.Fact) bool { return f.Code == c.doubt })
		if stood != (c.doubt != "") {
			t.Errorf("%s, %d connections: doubts %v, want %q", c.workload, c.connections, got.Doubts, c.doubt)
		}
	}
}

// A mode on fasthttp's parser takes no handlers of net/http. The advice says so, and how net/http did
// in the experiment, or that it was not there.
func TestAdviceTellsOfHandlers(t *testing.T) {
	t.Parallel()
	modes := someModes()
	for i := range modes {
		modes[i].Axes.Stack = fasthttp
	}
	modes[0].Axes.Stack = "nethttp"
	const takes = "is on fasthttp's parser: its handlers are fasthttp's (fasthttp.RequestHandler), not net/http's; "
	for _, c := range []struct {
		name, workload, mode, says string
		pack                       Pack
	}{
		{"measured", "sleep=20ms", "fasthttp", "fasthttp " + takes + "how net/http did in the experiment is told above",
			rows("quick", "memory fasthttp nethttp LOWER\nmemory pool nethttp SAME\nmemory pool fasthttp HIGHER")},
		{"not measured", "cpu=1ms,sleep=1ms", "goroutine", "goroutine " + takes + "net/http was not measured in the experiment quantum",
			rows("quantum", "memory one-worker goroutine HIGHER\nmemory loop-single goroutine HIGHER\nmemory loop-single one-worker SAME")},
		{"net/http itself", "sleep=20ms", "nethttp", "", rows("quick", "memory fasthttp nethttp SAME\nmemory pool nethttp SAME\nmemory pool fasthttp SAME")},
	} {
		got, _, err := Choose(asking(t, c.workload, 100, func(a *Ask) { a.Matters = Memory }), c.pack, modes)
		if told := got.Parser.Names["above"]; (told != "") != (got.Parser.RestsOn(chooseVerdict) && strings.Contains(got.Why.String(), "fasthttp against nethttp at memory: LOWER, +20 % (+10 % to +30 %)")) {
			t.Errorf("%s: told of net/http above: %q, in %s", c.name, told, got.Why)
		}
		if err != nil || got.Mode != c.mode || got.Parser.String() != c.says {
			t.Errorf("%s: got %s, %q, %v; want %s, %q", c.name, got.Mode, got.Parser, err, c.mode, c.says)
		}
	}
	behind := record.ChoiceCell{
		Best: []record.ChoiceArm{{Name: "pool", Mode: "pool"}}, Arms: []record.ChoiceArm{{Name: "nethttp", Mode: "nethttp"}, {Name: "goroutine", Mode: "goroutine"}, {Name: "pool", Mode: "pool"}},
		Verdicts: []record.Verdict{rows("quick", "p99 goroutine nethttp FASTER")[0].Verdict},
	}
	if got, want := asking(t, "cpu=1ms", 1, nil).parser(modes[1], behind, modes).String(), "goroutine "+takes+"net/http in the experiment: goroutine against nethttp at p99: FASTER, +20 % (+10 % to +30 %)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// An answer names what the requests ask and no part that they lack, and who wins.
func TestAnswerReadsWell(t *testing.T) {
	t.Parallel()
	quantum := rows("quantum", "memory one-worker goroutine HIGHER\nmemory loop-single goroutine HIGHER\nmemory loop-single one-worker SAME")
	pack := slices.Concat(quantum, rows("quick", "memory fasthttp nethttp HIGHER\nmemory pool nethttp HIGHER\nmemory pool fasthttp SAME"))
	for workload, want := range map[string]string{
		"cpu=0.95*1ms+0.05*20ms": "1.95ms of CPU a request, 100/s on 64 kept connections: long requests among short ones, about ",
		"cpu=1ms,sleep=1ms":      "1ms of CPU and 1ms of waiting a request, 100/s on 64 kept connections: requests that compute and wait, about ",
		"sleep=20ms":             "20ms of waiting a request, 100/s on 64 kept connections: requests that wait, about ",
	} {
		got, _, err := Choose(asking(t, workload, 100, func(a *Ask) { a.Matters = Memory }), pack, someModes())
		if err != nil || !strings.HasPrefix(got.Asked.String(), want) {
			t.Errorf("%s: got %q, want %q", workload, got.Asked, want)
		}
		if why := got.Why.String(); strings.Contains(why, "one wins") || !strings.Contains(why, " (docs/experiments, abc1234): "+got.Mode+" wins; ") {
			t.Errorf("%s: got %q", workload, why)
		}
	}
}

// A pool has the workers that the SLO needs, and where the tail matters as many as keep nearly
// everybody from waiting; the test has a queue long enough to refuse nobody.
func TestSizeOfAPool(t *testing.T) {
	t.Parallel()
	slo, err := stats.ParseSLO("p99<=100ms,errors<=0.1%")
	if err != nil {
		t.Fatal(err)
	}
	sizeOf := func(edit func(*Ask)) size {
		s, err := asking(t, "sleep=exp(20ms)", 300, edit).size()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	knee, tail := sizeOf(func(a *Ask) { a.Matters = Memory }), sizeOf(nil)
	kept := sizeOf(func(a *Ask) { a.SLO = slo })
	hopeless := sizeOf(func(a *Ask) { a.SLO = stats.SLO{{Metric: "mean", Limit: 1e-3}} })
	if !(6 < knee.workers && knee.workers < tail.workers) || tail.queue != deep || kept.workers < tail.workers || kept.fact.Code != chooseSized {
		t.Errorf("knee %+v, tail %+v, kept %+v", knee, tail, kept)
	}
	if hopeless.fact.Code != chooseHopeless || hopeless.workers != tail.workers {
		t.Errorf("got %+v", hopeless)
	}
	// However far the rate is above what the cores can do, the size is for what they can.
	for _, rate := range []float64{300, 1e6} {
		full := sizeOf(func(a *Ask) { a.Demand, a.Rate, a.Matters = asking(t, "cpu=4ms", 1, nil).Demand, rate, Overload })
		if full.workers < 1 || full.queue != 2*full.workers || full.fact.Values["busy"] > atFull {
			t.Errorf("overload by %g/s: %+v", rate, full)
		}
	}
}

// The test asks what was said, and no quantile that its windows hold too few requests for.
func TestTestOfAnAdvice(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		rate float64
		edit func(*Ask)
		want Test
	}{
		{"p99", 1000, nil, Test{Path: "/work?x", Rate: 1000, Arms: []string{"nethttp", "goroutine"}, Metrics: []string{"p90", "p99"}}},
		{"few requests", 100, nil, Test{Path: "/work?x", Rate: 100, Arms: []string{"nethttp", "goroutine"}, Metrics: []string{"p90"}}},
		{"the SLO's quantile", 1000, func(a *Ask) { a.SLO = stats.SLO{{Metric: "p90", Quantile: .9, Limit: 1}} }, Test{Path: "/work?x", Rate: 1000, Arms: []string{"nethttp", "goroutine"}, Metrics: []string{"p90", "p99"}, Keeps: stats.SLO{{Metric: "p90", Quantile: .9, Limit: 1}}}},
		{"an SLO on the median", 200, func(a *Ask) { a.SLO = stats.SLO{{Metric: "p50", Quantile: .5, Limit: 1}} }, Test{Path: "/work?x", Rate: 200, Arms: []string{"nethttp", "goroutine"}, Metrics: []string{"p50", "p90"}, Keeps: stats.SLO{{Metric: "p50", Quantile: .5, Limit: 1}}}},
		{"next to no requests", 20, nil, Test{Path: "/work?x", Rate: 20, Arms: []string{"nethttp", "goroutine"}, Metrics: []string{"p50"}}},
		{"an SLO that no window tells", 200, func(a *Ask) { a.SLO = stats.SLO{{Metric: "p99", Quantile: .99, Limit: 1}, {Metric: "mean", Limit: 1}} }, Test{Path: "/work?x", Rate: 200, Arms: []string{"nethttp", "goroutine"}, Metrics: []string{"p90"}, Keeps: stats.SLO{{Metric: "mean", Limit: 1}}}},
		{"a crowd", 1000, func(a *Ask) { a.Idle, a.Connections, a.Matters = 4000, 8, Memory }, Test{Path: "/work?x", Rate: 1000, Arms: []string{"nethttp", "goroutine"}, Vary: []string{"connections=8", "idle=4000"}, Metrics: []string{"memory"}}},
		{"bursts", 1000, func(a *Ask) { a.Arrivals, a.Matters = "burst(12)", Throughput }, Test{Path: "/work?x", Rate: 1000, Arms: []string{"nethttp", "goroutine"}, Vary: []string{"arrivals=burst(12)"}, Metrics: []string{"cpu_per_request"}}},
		{"pipelined", 1000, func(a *Ask) { a.Pipeline = 16 }, Test{Path: "/work?x", Arms: []string{"nethttp", "goroutine"}, Vary: []string{"loop=closed", "pipeline=16"}, Metrics: []string{"p90", "p99"}}},
		{"overload is more than can be done", 1000, func(a *Ask) { a.Matters = Overload }, Test{Path: "/work?x", Rate: 7500, Arms: []string{"nethttp", "goroutine"}, Metrics: []string{"good_mean", "goodput"}}},
	} {
		a := asking(t, "cpu=200us", c.rate, c.edit)
		if diff := cmp.Diff(c.want, a.test(someModes()[0], someModes()[:2], size{workers: 4, queue: 8})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	arms := asking(t, "cpu=200us", 100, nil).test(someModes()[7], someModes()[6:], size{workers: 4, queue: 8, wait: time.Second}).Arms
	if want := []string{"pool-request,workers=4,queue-depth=8", "pool-requeue,workers=4,queue-depth=8", "semaphore,workers=4,wait=1s"}; !slices.Equal(arms, want) {
		t.Errorf("got %q, want %q", arms, want)
	}
}

// An advice is wrong when another is surely better at what matters, and not when that is only
// undecided, or bought elsewhere.
func TestVerify(t *testing.T) {
	t.Parallel()
	broken := []record.Expectation{{Outcome: outcome.No}}
	for _, c := range []struct {
		name, verdicts string
		want           outcome.Outcome
		errors         int
		slo            []record.Expectation
		says           string // the beginning of the reason
	}{
		{name: "slower others", verdicts: "p99 b a SLOWER\np99 c a SAME", want: outcome.Yes, says: "the advice held: nothing is surely better than a; b against a"},
		{name: "a refused request", verdicts: "p99 b a SLOWER\np99 c a SAME", errors: 1, want: outcome.Refused},
		{name: "under overload that is the point", verdicts: "good_mean b a SLOWER\ngood_mean c a SAME", errors: 1, want: outcome.Yes},
		{name: "worse at p90", verdicts: "p90 b a SLOWER\np99 b a open\np90 c a SAME\np99 c a SAME", want: outcome.Yes, says: "the advice held: nothing is surely better than a; b against a at p90: SLOWER"},
		{name: "a broken SLO", verdicts: "p99 b a SLOWER\np99 c a SAME", slo: broken, want: outcome.No},
		{name: "undecided", verdicts: "p99 b a open\np99 c a refused", want: outcome.Yes,
			says: "not refuted: nothing is surely better than a; against b and c it is undecided; b against a at p99: open, +20 % (+10 % to +30 %); c against a at p99: refused"},
		{name: "one undecided", verdicts: "p99 b a open\np99 c a SAME", want: outcome.Yes, says: "not refuted: nothing is surely better than a; against b it is undecided; "},
		{name: "worse at one", verdicts: "good_mean b a SLOWER\ngoodput b a open\ngood_mean c a SAME\ngoodput c a SAME", want: outcome.Yes, says: "the advice held: "},
		{name: "a faster one", verdicts: "p99 b a FASTER\np99 c a SAME", want: outcome.No},
		{name: "two faster ones", verdicts: "p99 b a FASTER\np99 c a FASTER", want: outcome.No},
		{name: "less memory", verdicts: "memory b a LOWER\nmemory c a SAME", want: outcome.No},
		{name: "a trade", verdicts: "good_mean b a FASTER\ngoodput b a LOWER\ngood_mean c a SAME\ngoodput c a SAME", want: outcome.Yes},
		{name: "all refused", verdicts: "p99 b a refused\np99 c a refused", want: outcome.Refused},
	} {
		var verdicts []record.Verdict
		var metrics []string
		for _, r := range rows("x", c.verdicts) {
			verdicts, metrics = append(verdicts, r.Verdict), append(metrics, r.Metric)
		}
		got := Verify(record.Arm{Errors: c.errors, Requests: 1000}, []string{"a", "b", "c"}, metrics, verdicts, c.slo)
		if got.Answer != c.want || len(got.Why.Because) != len(verdicts) || !strings.HasPrefix(got.Why.String(), c.says) {
			t.Errorf("%s: got %s because of %v, want %s", c.name, got.Answer, got.Why, c.want)
		}
	}
}

// An answer that calls a plainer mode not known to be worse says otherwise after a test that found
// it worse, and only then. It says in how many blocks all arms kept the SLO.
func TestTestedPlainerMode(t *testing.T) {
	t.Parallel()
	asked := record.Choice{Answer: record.Fact{Code: chooseAdvice, Names: record.Names{"open": "open", "mode": "b", "summary": "about b", "plain": "a"}, Values: record.Values{}}}
	for verdict, want := range map[stats.Decision]string{stats.Slower: "the plainest, was worse in the test. Each of the 2 tested models kept p99<=10ms in 20 of 27 blocks or more, but over all requests b did not", stats.Open: "the plainest, is not known to be worse. Each of the 2 tested models kept p99<=10ms in 20 of 27 blocks or more, but over all requests b did not"} {
		kept := func(arm, broken string, blocks float64) record.Fact {
			return record.Fact{Code: chooseKeeps, Arm: arm, Names: record.Names{"answer": "yes", "slo": "p99<=10ms", "broken": broken}, Values: record.Values{"kept": blocks, "blocks": 27}}
		}
		test := record.ChoiceTest{Keeps: []record.Fact{kept("a", "", 23), kept("b", "p99 13.6 ms", 20)}, Verdicts: []record.Verdict{{Metric: "p90", Arm: "a", Baseline: "b", Verdict: verdict}}}
		got := Tested(asked, &test, []record.Fact{{Code: record.MachineBusy}})
		if !strings.HasSuffix(got.Answer.String(), want) || got.Verified != &test || asked.Answer.Names["worse"] != "" || len(got.Doubts) != 1 {
			t.Errorf("%s: %s, want ... %s", verdict, got.Answer, want)
		}
	}
}

// A test says for each of its arms whether it kept the SLO, and whether all its requests together did.
func TestEachArmKeptTheSLO(t *testing.T) {
	t.Parallel()
	slo, err := stats.ParseSLO("p99<=10ms")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range Keeps(slo, []judge.Keeping{
		{Arm: "pool", Blocks: 12, Kept: 12, Answer: outcome.Yes, Whole: map[string]float64{"p99": .008}},
		{Arm: "nethttp", Blocks: 12, Kept: 11, Answer: outcome.Yes, Whole: map[string]float64{"p99": .0136}},
		{Arm: "goroutine", Blocks: 12, Kept: 1, Answer: outcome.No},
		{Arm: "loop", Blocks: 12, Kept: 7, Answer: outcome.Open},
		{Arm: "semaphore", Answer: outcome.Refused, Reason: record.Fact{Code: "test", Text: "the load was late"}},
	}) {
		got = append(got, f.String())
	}
	want := []string{
		"pool kept p99<=10ms in 12 of 12 blocks",
		"nethttp kept p99<=10ms in 11 of 12 blocks; over all requests p99 13.6 ms",
		"goroutine did NOT keep p99<=10ms: kept in 1 of 12 blocks",
		"loop may or may not keep p99<=10ms: kept in 7 of 12 blocks",
		"semaphore may or may not keep p99<=10ms: the load was late",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if Keeps(nil, []judge.Keeping{{Arm: "pool"}}) != nil {
		t.Error("something is said about an SLO that nobody gave")
	}
}
