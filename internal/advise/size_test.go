package advise

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"schedlab/internal/queueing"
	"schedlab/internal/record"
	"schedlab/internal/stats"
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
		cpu, sleep := d.Workload()
		if got := fmt.Sprint(cpu, " ", sleep, " ", d.Held()); err != nil || got != want {
			t.Errorf("ParseWorkload(%q) = %q, %v; want %q", text, got, err, want)
		}
	}
}

func TestHeld(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		held, cpu   time.Duration
		cv          float64
		sleep       string
		exponential bool
	}{
		{20 * ms, 0, 1, "exp(20ms)", true},
		{20 * ms, ms / 10, 1, "exp(19.9ms)", true},
		{20 * ms, ms, 1, "exp(19ms)", false}, // too much of it constant
		{20 * ms, ms, 0, "19ms", false},
		{20 * ms, 0, 2, "lognormal(20ms,4)", false},
	} {
		d, err := Held(c.held, c.cpu, c.cv)
		if _, sleep := d.Workload(); err != nil || sleep != c.sleep || d.Held() != c.held || d.Exponential() != c.exponential {
			t.Errorf("Held(%v, %v, %g): sleep %s, held %v, exponential %v, error %v", c.held, c.cpu, c.cv, sleep, d.Held(), d.Exponential(), err)
		}
	}
	for _, bad := range []struct {
		held, cpu time.Duration
		cv        float64
	}{{0, 0, 1}, {ms, 2 * ms, 1}, {ms, -ms, 1}, {ms, 0, -1}, {ms, 0, 11}, {ms, 0, math.NaN()}} {
		if d, err := Held(bad.held, bad.cpu, bad.cv); err == nil {
			t.Errorf("Held(%v, %v, %g) = %+v, want an error", bad.held, bad.cpu, bad.cv, d)
		}
	}
}

// A trace has the demand's moments, its arrivals Poisson's.
func TestLoad(t *testing.T) {
	t.Parallel()
	d, err := ParseWorkload("cpu=1ms,sleep=exp(9ms)")
	if err != nil {
		t.Fatal(err)
	}
	l := d.Load(500, 40_000, 1)
	m := queueing.Measure(l.Trace)
	for what, pair := range map[string][2]float64{
		"rate": {m.Rate, 500}, "Ca2": {m.CA2, 1}, "CPU": {m.Service, 0.001}, "blocked": {m.Block, 0.009}, "Cs2": {m.SCV, 0.81},
		"exact CPU": {l.Service, 0.001}, "exact blocked": {l.Block, 0.009}, "exact rate": {l.Rate, 500}, "exact Cs2": {l.SCV, 0.81},
	} {
		if math.Abs(pair[0]/pair[1]-1) > 0.04 {
			t.Errorf("%s: %g, want %g", what, pair[0], pair[1])
		}
	}
}

func TestReadCSV(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, column, unit string
		held               time.Duration // mean; 0: an error that says want
		want               string
	}{
		{"0.010\n0.030\n", "", "s", 20 * ms, ""},
		{"took\n10\n30\n", "", "ms", 20 * ms, ""},
		{"id,took\n1, 10000\n2,30000\n", "took", "us", 20 * ms, ""},
		{"id,took\n1,10\n", "time", "ms", 0, `t.csv:1: no column "time"; the header has id, took`},
		{"10\nten\n", "", "ms", 0, `t.csv:2: "ten" is not a time; give a number of at least 0`},
		{"10\n-1\n", "", "ms", 0, `t.csv:2: "-1" is not a time; give a number of at least 0`},
		{"10\nNaN\n", "", "ms", 0, `t.csv:2: "NaN" is not a time; give a number of at least 0`},
		{"a,b\n1,2\n3\n", "b", "ms", 0, `t.csv:3: 1 columns, and the times are in column 2`},
		{"10000\n", "", "s", 0, `t.csv:1: 10000 is more than 1h0m0s; is the unit right?`},
		{"took,note\n10,slow\n30,fast\n", "", "ms", 20 * ms, ""},
		{"who,took\nann,10\nben,30\n", "", "ms", 20 * ms, ""},
		{"id,took,note\n1,10,a\n2,30,b\n", "", "ms", 0, `t.csv:2: columns id and took have numbers; choose the one of the times with --column, by its name in the first row`},
		{"id,took,note\n1,,lost\n2,30,b\n", "", "ms", 0, `t.csv:3: columns id and took have numbers; choose the one of the times with --column, by its name in the first row`},
		{"1,10\n2,30\n", "", "ms", 0, `t.csv:1: columns 1 and 2 have numbers; choose the one of the times with --column, by its name in the first row`},
		{"who,took\nann,ten\n", "", "ms", 0, `t.csv:2: "ann" is not a time; give a number of at least 0`},
		{"took\n", "", "s", 0, `reading t.csv: no times in it; give one a row`},
		{"0\n0\n", "", "s", 0, `reading t.csv: all times are 0; nothing is held`},
		{"1\n", "", "days", 0, `unit "days" is none of s, ms, us, ns`},
		{"a\"b\n", "", "s", 0, `reading t.csv: parse error on line 1, column 2: bare " in non-quoted-field`},
	} {
		d, err := ReadCSV(strings.NewReader(c.text), "t.csv", c.column, c.unit)
		switch {
		case c.held == 0 && (err == nil || err.Error() != c.want):
			t.Errorf("%q: error %v\nwant %s", c.text, err, c.want)
		case c.held != 0 && (err != nil || d.Held() != c.held):
			t.Errorf("%q: held %v, error %v; want %v", c.text, d.Held(), err, c.held)
		}
	}
}

// What was taken is named: the column where there are several.
func TestReadCSVSays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, column, want string }{
		{"id,took\n1,10\n2,30\n", "took", "2 times in t.csv (column took)"},
		{"who,took\nann,10\nben,30\n", "", "2 times in t.csv (column took)"},
		{"ann,10\nben,30\n", "", "2 times in t.csv (column 2)"},
		{"took\n10\n30\n", "", "2 times in t.csv"},
	} {
		if d, err := ReadCSV(strings.NewReader(c.text), "t.csv", c.column, "ms"); err != nil || d.From != c.want {
			t.Errorf("%q: read %q, error %v, want %q", c.text, d.From, err, c.want)
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
	if got := d.Held().Seconds(); math.Abs(got-0.0185) > 1e-5 {
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
func said(facts []record.Fact) (text string) {
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
	if m := queueing.Measure(b.Trace); math.Abs(m.SCV/b.SCV-1) > 0.03 || math.Abs(m.Service/b.Service-1) > 0.01 {
		t.Errorf("its trace has C² %g and %g s of CPU, the demand %g and %g s", m.SCV, m.Service, b.SCV, b.Service)
	}
}

// A scenario's mix of eight values has the samples' mean, and a tail like theirs.
func TestWorkloadOfSamples(t *testing.T) {
	t.Parallel()
	var samples []time.Duration
	for i := range 10_000 {
		samples = append(samples, time.Duration(-20e6*math.Log(1-(float64(i)+0.5)/10_000)))
	}
	d := sampled(samples, "a test")
	if err := d.SetCPU(ms); err != nil {
		t.Fatal(err)
	}
	cpu, sleep := d.Workload()
	mix, err := ParseWorkload("cpu=" + cpu + ",sleep=" + sleep)
	if err != nil {
		t.Fatal(err)
	}
	// CPU time is 1 ms of each, also of the few shorter than that.
	if got, want := mix.Held().Seconds(), d.Held().Seconds(); math.Abs(got/want-1) > 0.01 {
		t.Errorf("%s holds %g s, the samples %g s", sleep, got, want)
	}
	if c2 := mix.Sleep.SquaredCV(); c2 < 0.85 || c2 > 1.15 {
		t.Errorf("C² of %s is %.2f, want about 1", sleep, c2)
	}
}

// Whatever is accepted can be drawn from and written as a scenario.
func check(t *testing.T, d Demand) {
	t.Helper()
	if d.Held() < 0 {
		t.Errorf("held %v", d.Held())
	}
	for _, j := range d.Load(100, 50, 1).Trace {
		if j.CPU < 0 || j.Block < 0 {
			t.Errorf("a request asks %v and %v", j.CPU, j.Block)
		}
	}
	d.Workload()
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

func FuzzReadCSV(f *testing.F) {
	f.Add("took,id\n10,1\n30,2\n", "took", "ms")
	f.Add("0.01\n0.03\n", "", "s")
	f.Fuzz(func(t *testing.T, text, column, unit string) {
		if d, err := ReadCSV(strings.NewReader(text), "f", column, unit); err == nil {
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
