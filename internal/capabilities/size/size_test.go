package size

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/queueing"
	"schedlab/internal/shared/stats"
)

const ms = time.Millisecond

func TestParseWorkload(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"cpu=200us,sleep=exp(10ms)":                  "200us exp(10ms) 10.2ms",
		"sleep=10ms":                                 "0s 10ms 10ms",
		" sleep=lognormal(10ms,4) , cpu=exp(1ms)":    "exp(1ms) lognormal(10ms,4) 11ms",
		"cpu=0.5*1ms+0.5*exp(3ms)":                   "0.5*1ms+0.5*exp(3ms) 0s 2ms",
		"sleep=0.9*10ms+0.1*lognormal(100ms,2),cpu=": "",
		"sleep=10ms,sleep=20ms":                      "",
		"nap=10ms":                                   "",
		"cpu=0s":                                     "",
		"":                                           "",
	} {
		d, err := ParseWorkload(text)
		if want == "" {
			if err == nil || !strings.HasPrefix(err.Error(), "parsing workload ") {
				t.Errorf("ParseWorkload(%q) = %+v, %v; want an error", text, d, err)
			}
			continue
		}
		if got := fmt.Sprint(d.CPU, " ", d.Sleep, " ", d.held()); err != nil || got != want {
			t.Errorf("ParseWorkload(%q) = %q, %v; want %q", text, got, err, want)
		}
	}
}

func TestParseHeld(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, sleep string
		cpu, mean   time.Duration
		exponential bool
	}{
		{"20ms", "exp(20ms)", 0, 20 * ms, true},
		{"20ms", "exp(19.9ms)", ms / 10, 20 * ms, true},
		{"20ms", "exp(19ms)", ms, 20 * ms, false}, // too much of it constant
		{"p50=4ms,p99=40ms", "lognormal(6.528ms,1.664)", 0, 6528 * ms / 1000, false},
		{"p50=5ms, p99=41ms", "lognormal(6.528ms,1.664)", ms, 7528 * ms / 1000, false},
		{"p50=20ms,p99=20ms", "20ms", 0, 20 * ms, false},
	} {
		d, err := ParseHeld(c.text, c.cpu)
		if err != nil || d.Sleep.String() != c.sleep || d.held() != c.mean || d.exponential() != c.exponential {
			t.Errorf("ParseHeld(%q, %v): sleep %s, held %v, exponential %v, error %v", c.text, c.cpu, d.Sleep, d.held(), d.exponential(), err)
		}
	}
	for text, want := range map[string]string{
		"0s": "give one above 0", "20": "neither a time like 20ms nor two quantiles", "": "neither a time", "p50=4ms": "has not two quantiles",
		"p50=4ms,p99=40ms,p90=20ms": "has not two quantiles", "p99=40ms,p50=4ms": "does not ascend", "p50=40ms,p99=4ms": "does not ascend",
		"p50=4ms,p100=9ms": "is no quantile", "q50=4ms,p99=9ms": "is no quantile", "p50=0s,p99=9ms": "is no time above the 0s on a core", "p50=4ms,p99=x": "is no time",
	} {
		if d, err := ParseHeld(text, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseHeld(%q) = %+v, %v; want %q", text, d, err, want)
		}
	}
	for _, cpu := range []time.Duration{-ms, 21 * ms} {
		if d, err := ParseHeld("20ms", cpu); err == nil {
			t.Errorf("%v of CPU time: %+v, want an error", cpu, d)
		}
	}
}

// The two quantiles that are given are those of what is drawn.
func TestHeldHasItsQuantiles(t *testing.T) {
	t.Parallel()
	d, err := ParseHeld("p50=5ms,p99=41ms", ms)
	if err != nil {
		t.Fatal(err)
	}
	var all []time.Duration
	for _, j := range d.Load(100, 200_000, 1).Trace {
		all = append(all, j.CPU+j.Block)
	}
	slices.Sort(all)
	for q, want := range map[float64]time.Duration{.5: 5 * ms, .99: 41 * ms} {
		if got := all[int(q*float64(len(all)))]; math.Abs(float64(got)/float64(want)-1) > .03 {
			t.Errorf("the %g quantile is %v, want %v", q, got, want)
		}
	}
}

// An advice comes with the comparison that would prove it wrong, or with the reason why there is none.
func TestTestOfASize(t *testing.T) {
	t.Parallel()
	samples := sampled([]time.Duration{ms, 2 * ms, 3 * ms}, "a test")
	waits, err := ParseWorkload("cpu=100us,sleep=0.5*10ms+0.5 * exp(20ms)")
	if err != nil {
		t.Fatal(err)
	}
	const eight, six, one = "pool-request,workers=8,queue-depth=5,overflow=reject", "pool-request,workers=6,queue-depth=5,overflow=reject", "pool-request,workers=1,queue-depth=5,overflow=reject"
	for _, c := range []struct {
		workers   int
		d         Demand
		slo, want string
	}{
		{8, waits, "p99<=120ms,errors<=0.1%,goodput>=290/s", "compare --workload cpu=100us,sleep=0.5*10ms+0.5*exp(20ms) --rate 300/s --close --arm " + eight + " --arm " + six +
			` --expect p99("` + eight + `") <= 120ms and errors("` + eight + `") <= 0.001 and goodput("` + eight + `") >= 290/s` +
			` --expect not (p99("` + six + `") <= 120ms and errors("` + six + `") <= 0.001 and goodput("` + six + `") >= 290/s) --window 4s --budget 2m51s`},
		{1, waits, "mean<=30ms", "compare --workload cpu=100us,sleep=0.5*10ms+0.5*exp(20ms) --rate 300/s --close --arm " + one + " --arm nethttp" +
			` --expect mean("` + one + `") <= 30ms --window 4s --budget 2m51s`},
		{8, waits, "p95<=120ms", "expectations know p50, p90 and p99, and not p95; ask for one of these"},
		{8, samples, "p99<=120ms", "a comparison cannot draw the times of a histogram; ask again with two quantiles of them, --held p50=2ms,p99=3ms, for a distribution that it can"},
	} {
		slo, err := stats.ParseSLO(c.slo)
		if err != nil {
			t.Fatal(err)
		}
		a := Answer{Demand: c.d, SLO: slo, Ask: queueing.Ask{Load: queueing.Load{Rate: 300}}, Advice: queueing.Advice{Workers: c.workers, Queue: 5}}
		args, _, err := a.Test("300/s")
		text := strings.Join(args, " ")
		if err != nil {
			text = err.Error()
		}
		if text != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.slo, text, c.want)
		}
	}
}

// moments are the mean of n times in seconds, and their variance divided by the squared mean.
func moments(n int, value func(i int) time.Duration) (mean, scv float64) {
	var sum, squares float64
	for i := range n {
		t := value(i).Seconds()
		sum, squares = sum+t, squares+t*t
	}
	return sum / float64(n), squares*float64(n)/(sum*sum) - 1
}

// A trace has the demand's moments, its arrivals Poisson's.
func TestLoad(t *testing.T) {
	t.Parallel()
	d, err := ParseWorkload("cpu=1ms,sleep=exp(9ms)")
	if err != nil {
		t.Fatal(err)
	}
	l := d.Load(500, 40_000, 1)
	last := len(l.Trace) - 1
	gap, ca2 := moments(last, func(i int) time.Duration { return l.Trace[i+1].At - l.Trace[i].At })
	cpu, _ := moments(len(l.Trace), func(i int) time.Duration { return l.Trace[i].CPU })
	block, _ := moments(len(l.Trace), func(i int) time.Duration { return l.Trace[i].Block })
	_, scv := moments(len(l.Trace), func(i int) time.Duration { return l.Trace[i].CPU + l.Trace[i].Block })
	for what, pair := range map[string][2]float64{
		"rate": {1 / gap, 500}, "Ca2": {ca2, 1}, "CPU": {cpu, 0.001}, "blocked": {block, 0.009}, "Cs2": {scv, 0.81},
		"exact CPU": {l.Service, 0.001}, "exact blocked": {l.Block, 0.009}, "exact rate": {l.Rate, 500}, "exact Cs2": {l.SCV, 0.81},
	} {
		if math.Abs(pair[0]/pair[1]-1) > 0.04 {
			t.Errorf("%s: %g, want %g", what, pair[0], pair[1])
		}
	}
}

const exposition = `# TYPE other_bytes histogram
other_bytes_bucket{le="+Inf"} 1
other_bytes_sum 1
other_bytes_count 1
# TYPE handler_seconds histogram
handler_seconds_bucket{path="/a",le="0.01"} 50
handler_seconds_bucket{path="/a",le="0.02"} 90
handler_seconds_bucket{path="/a",le="+Inf"} 100
handler_seconds_sum{path="/a"} 1.85
handler_seconds_count{path="/a"} 100
handler_seconds_bucket{path="/b",le="0.01"} 50
handler_seconds_bucket{path="/b",le="0.02"} 90
handler_seconds_bucket{path="/b",le="+Inf"} 100
handler_seconds_sum{path="/b"} 1.85
handler_seconds_count{path="/b"} 100
`

// A histogram's times spread over their buckets, those beyond the last bound lie where
// the sum leaves them: (3.7 - 100·5 ms - 80·15 ms)/20 = 100 ms. All that is said.
func TestReadHistogram(t *testing.T) {
	t.Parallel()
	d, err := ReadHistogram(strings.NewReader(exposition), "m.txt", "")
	if err != nil {
		t.Fatal(err)
	}
	share := func(from, to time.Duration) (n float64) {
		for _, s := range d.Samples {
			if s > from && s <= to {
				n++
			}
		}
		return n / float64(len(d.Samples))
	}
	for _, c := range []struct {
		from, to time.Duration
		want     float64
	}{{0, 10 * ms, 0.5}, {0, 5 * ms, 0.25}, {10 * ms, 20 * ms, 0.4}, {99 * ms, 101 * ms, 0.1}} {
		if got := share(c.from, c.to); math.Abs(got-c.want) > 1e-3 {
			t.Errorf("%.4f of the times within %v to %v, want %g", got, c.from, c.to, c.want)
		}
	}
	if got := d.held().Seconds(); math.Abs(got-0.0185) > 1e-5 {
		t.Errorf("mean %g s, want 18.5 ms", got)
	}
	if text := said(d.Doubts); !strings.Contains(text, "within its bucket") || !strings.Contains(text, "10 % of the times are above its last bound of 0.02 s") {
		t.Errorf("doubts are\n%s", text)
	}
}

// exposed is a histogram of that name, of times up to 1 s.
func exposed(name string) string {
	return strings.ReplaceAll("# TYPE N histogram\nN_bucket{le=\"1\"} 5\nN_bucket{le=\"+Inf\"} 5\nN_sum 2.5\nN_count 5\n", "N", name)
}

// runtimes are histograms that no handler is timed by.
var runtimes = exposed("go_gc_pauses_seconds") + exposed("process_a_seconds") + exposed("schedlab_request_duration_seconds")

// What the runtime or schedlab exposes is never taken for the time held, unless it is
// asked for by name.
func TestReadHistogramChooses(t *testing.T) {
	t.Parallel()
	for metric, want := range map[string]string{
		"": "the histogram handler_seconds in m.txt (2 series added: path=\"/a\"; path=\"/b\")", "go_gc_pauses_seconds": "the histogram go_gc_pauses_seconds in m.txt",
	} {
		if d, err := ReadHistogram(strings.NewReader(runtimes+exposition), "m.txt", metric); err != nil || d.From != want {
			t.Errorf("%q: read %q, error %v, want %q", metric, d.From, err, want)
		}
	}
}

func TestReadHistogramErrors(t *testing.T) {
	t.Parallel()
	one := func(buckets string) string {
		return "# TYPE a_seconds histogram\n" + buckets + "a_seconds_sum 1\na_seconds_count 10\n"
	}
	for _, c := range []struct{ text, metric, want string }{
		{"", "", "no histogram *_seconds of a handler's times; it has none"},
		{runtimes, "", "no histogram *_seconds of a handler's times; it has go_gc_pauses_seconds, process_a_seconds, schedlab_request_duration_seconds; name one with --metric"},
		{runtimes + exposition + exposed("rpc_seconds"), "", "reading m.txt: 2 histograms may be meant: handler_seconds, rpc_seconds; choose one with --metric"},
		{exposition, "nosuch", "no histogram nosuch; it has handler_seconds, other_bytes"},
		{exposition, "other_bytes", "it has no bucket with a bound"},
		{"not a metric at all {", "", "reading m.txt: "},
		{one("a_seconds_bucket{le=\"1\"} 5\na_seconds_bucket{le=\"2\"} 3\n"), "", "buckets are cumulative"},
		{one("a_seconds_bucket{le=\"2\"} 3\na_seconds_bucket{le=\"1\"} 5\n"), "", "they ascend"},
		{one("a_seconds_bucket{le=\"1e9\"} 3\n"), "", "they ascend, in seconds up to 1h0m0s"},
		{one("a_seconds_bucket{le=\"1\"} 11\n"), "", "less than its buckets'"},
		{one("a_seconds_bucket{le=\"1\"} 5\na_seconds_bucket{le=\"+Inf\"} 5\n"), "", `reading m.txt: a_seconds{}: its _count is 10 and its bucket le="+Inf" 5; they`},
		{one("a_seconds_bucket{le=\"1\"} 5\na_seconds_bucket{le=\"+Inf\"} 4\n"), "", `a_seconds{}: the bucket le="+Inf" counts 4, fewer than the 5 of the one before it; buckets are cumulative`},
		{one("a_seconds_bucket{le=\"1\"} 5\na_seconds_bucket{le=\"2\"} 10\n"), "", "a_seconds{}: its _sum is 1 s, and the times in its buckets add up to 5 s at least and"},
		{one("a_seconds_bucket{le=\"1\"} 5\n"), "", "a_seconds{}: its _sum is 1 s, and the times in its buckets add up to 5 s at least and"},
		{one("a_seconds_bucket{le=\"0.09\"} 10\n"), "", "a_seconds{}: its _sum is 1 s, and the times in its buckets add up to 0 s at least and 0.9 s at most; it"},
		{strings.ReplaceAll(exposed("a_seconds"), "2.5", "NaN"), "", "a_seconds{}: its _sum is NaN"},
		{strings.ReplaceAll(exposition, "sum{path=\"/b\"} 1.85", "sum{path=\"/b\"} 0.1"), "", `handler_seconds{path="/b"}: its _sum is 0.1 s, and the times in its buckets add up to 0.6 s at least`},
	} {
		if d, err := ReadHistogram(strings.NewReader(c.text), "m.txt", c.metric); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q of %q: %d samples, error %v\nwant %q", c.metric, c.text, len(d.Samples), err, c.want)
		}
	}
}

// A sum at the end of what the buckets allow is sound, rounding included, and one that is
// not told is no fault; times above the last bound then lie on it.
func TestReadHistogramSums(t *testing.T) {
	t.Parallel()
	edge := "# TYPE a_seconds histogram\na_seconds_bucket{le=\"0.1\"} 10\na_seconds_bucket{le=\"+Inf\"} 10\na_seconds_sum 1.0000000001\na_seconds_count 10\n"
	for _, text := range []string{edge, strings.ReplaceAll(edge, "sum 1.0000000001", "sum 0")} {
		if _, err := ReadHistogram(strings.NewReader(text), "m.txt", ""); err != nil {
			t.Error(err)
		}
	}
	silent := strings.ReplaceAll(strings.ReplaceAll(edge, "} 10\na_seconds_b", "} 5\na_seconds_b"), "a_seconds_sum 1.0000000001\n", "")
	d, err := ReadHistogram(strings.NewReader(silent), "m.txt", "")
	if err != nil || d.Samples[len(d.Samples)-1] != 100*ms || !strings.Contains(said(d.Doubts), "it has no sum") {
		t.Errorf("without a sum: %v, doubts %q", err, d.Doubts)
	}
}

// said are facts in words, one on a line.
func said(facts []fact.Fact) (text string) {
	for _, f := range facts {
		text += f.String() + "\n"
	}
	return text
}

// The moments are the demand's, whatever the length and seed of the trace.
func TestLoadMoments(t *testing.T) {
	t.Parallel()
	d, err := ReadHistogram(strings.NewReader(exposition), "m.txt", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.SetCPU(10 * ms); err != nil {
		t.Fatal(err)
	}
	a, b := d.Load(100, 2000, 1), d.Load(100, 50_000, 2)
	if a.SCV != b.SCV || a.Service != b.Service || a.Block != b.Block {
		t.Errorf("C² %g and %g, CPU %g and %g s, blocked %g and %g s", a.SCV, b.SCV, a.Service, b.Service, a.Block, b.Block)
	}
	cpu, _ := moments(len(b.Trace), func(i int) time.Duration { return b.Trace[i].CPU })
	_, scv := moments(len(b.Trace), func(i int) time.Duration { return b.Trace[i].CPU + b.Trace[i].Block })
	if math.Abs(scv/b.SCV-1) > 0.03 || math.Abs(cpu/b.Service-1) > 0.01 {
		t.Errorf("its trace has C² %g and %g s of CPU, the demand %g and %g s", scv, cpu, b.SCV, b.Service)
	}
}

// Whatever is accepted can be drawn from and asked for.
func check(t *testing.T, d Demand) {
	t.Helper()
	if d.held() < 0 {
		t.Errorf("held %v", d.held())
	}
	for _, j := range d.Load(100, 50, 1).Trace {
		if j.CPU < 0 || j.Block < 0 {
			t.Errorf("a request asks %v and %v", j.CPU, j.Block)
		}
	}
	if len(d.Samples) > 0 {
		return
	}
	if back, err := ParseWorkload(d.workload()); err != nil || back.held() != d.held() {
		t.Errorf("asks for %s, which is %v (%v) and not %v", d.workload(), back.held(), err, d.held())
	}
}

func FuzzParseWorkload(f *testing.F) {
	f.Add("cpu=200us,sleep=exp(10ms)")
	f.Add("sleep=0.5*lognormal(10ms,4)+0.5*1ms")
	f.Fuzz(func(t *testing.T, text string) {
		if d, err := ParseWorkload(text); err == nil {
			check(t, d)
		}
	})
}

func FuzzReadHistogram(f *testing.F) {
	f.Add(exposition, "")
	f.Add("# TYPE a histogram\na_bucket{le=\"1\"} 5\na_sum NaN\na_count 9\n", "a")
	f.Fuzz(func(t *testing.T, text, metric string) {
		if d, err := ReadHistogram(strings.NewReader(text), "f", metric); err == nil {
			check(t, d)
		}
	})
}

// The answer says why no number of workers will do, whatever the reason.
func TestHopelessIsSaid(t *testing.T) {
	t.Parallel()
	slo, err := stats.ParseSLO("p99<=30ms")
	if err != nil {
		t.Fatal(err)
	}
	for why, want := range map[queueing.Hopeless]string{
		queueing.TooLong:     "No number of workers keeps p99<=30ms at any rate: a request alone on an idle server breaks it: its own demand is too long",
		queueing.TooFewCores: "No number of workers keeps p99<=30ms at any rate: the requests ask for 1.8 cores, 1.98 with the margin, and 1 is all there is; more workers add no CPU",
		queueing.CoresWait:   "No number of workers keeps p99<=30ms at any rate: waiting for the cores alone breaks it, with a worker for each request; more workers add no CPU",
		queueing.ByAHair:     "No number of workers keeps p99<=30ms at any rate: a worker for each request just keeps it, and no fixed number of workers does",
		queueing.NoQueue:     "No number of workers keeps p99<=30ms at any rate: it allows next to no loss, and a queue of 1048576 before 7 workers loses more",
	} {
		p := Page{Rate: "900/s", Answer: Answer{SLO: slo, Advice: queueing.Advice{Hopeless: why, Tried: 7}, Ask: queueing.Ask{Cores: 1, Margin: 0.1}}}
		p.Ask.Rate, p.Ask.Service = 900, 0.002
		if got := p.lead().String(); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
	p := Page{Rate: "900/s", Answer: Answer{SLO: slo, Advice: queueing.Advice{Hopeless: queueing.CoresWait, MostRate: 346.2}}}
	if got := p.lead().String(); !strings.HasPrefix(got, "No number of workers keeps p99<=30ms at 900/s: ") || !strings.HasSuffix(got, ". About 346/s could be promised") {
		t.Errorf("got %q, want the rate that could be promised", got)
	}
}

// In windows as short as those of the comparison that tests it, with a server's overhead on top, the
// advice keeps the SLO and 20 % fewer workers break it, in so many as the verdict
// asks for.
func TestAdviceStandsInShortWindows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rate                float64
		workload, real, slo string // real is with what a server adds: 80 µs of CPU time, and timers that are 0.8 ms late
	}{
		{1000, "cpu=60us,sleep=exp(15ms)", "cpu=140us,sleep=exp(15.8ms)", "p95<=90ms"},
		{1200, "cpu=60us,sleep=20ms", "cpu=140us,sleep=20.8ms", "p99<=40ms"},
	} {
		d, err := ParseWorkload(c.workload)
		if err != nil {
			t.Fatal(err)
		}
		slo, err := stats.ParseSLO(c.slo + ",errors<=0.1%")
		if err != nil {
			t.Fatal(err)
		}
		a, err := Find(d, slo, Options{Rate: c.rate, Cores: 1, Margin: .15, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		window := time.Second
		served := a
		if served.Demand, err = ParseWorkload(c.real); err != nil {
			t.Fatal(err)
		}
		advised, fewer := 0, 0
		for block := range uint64(testBlocks) {
			advised += stats.Count(windowKept(served, a.Advice.Workers, window, 100+block))
			fewer += stats.Count(windowKept(served, queueing.Fewer(a.Advice.Workers), window, 100+block))
		}
		if advised < 10 || fewer > 2 {
			t.Errorf("%g/s of %s, %s: %d workers keep it in %d of %d windows, %d in %d",
				c.rate, c.workload, c.slo, a.Advice.Workers, advised, testBlocks, queueing.Fewer(a.Advice.Workers), fewer)
		}
	}
}

// windowKept replays one window of a test with so many workers, and reports whether it keeps the SLO.
func windowKept(a Answer, workers int, window time.Duration, seed uint64) bool {
	ask := a.Ask
	ask.Exponential = false // Erlang's formulas know no windows
	ask.Load = a.Demand.Load(ask.Rate, int(ask.Rate*window.Seconds()), seed)
	return ask.Keep(ask.Pool(workers, a.Advice.Queue))
}

// An objective without a term about errors gets one, and says which; one that has such a term stays as it is.
func TestObjectiveAssumesFewErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{
		"p99<=10ms":             {"p99<=10ms,errors<=0.1%", "errors<=0.1%"},
		"p99<=10ms,errors<=1%":  {"p99<=10ms,errors<=1%", ""},
		"goodput>=90/s,p50<=1s": {"goodput>=90/s,p50<=1s,errors<=0.1%", "errors<=0.1%"},
	} {
		slo, assumed, err := Objective(text, 100)
		if err != nil || slo.String() != want[0] || assumed != want[1] {
			t.Errorf("%s: got %s, assumed %q, %v, want %q", text, slo, assumed, err, want)
		}
	}
	if _, _, err := Objective("goodput>=101/s", 100); err == nil || !strings.Contains(err.Error(), "--slo goodput>=101/s asks for more than --rate 100/s brings") {
		t.Errorf("more than the rate: got %v", err)
	}
}
