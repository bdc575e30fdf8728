package audit_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"schedlab/internal/capabilities/audit"
	"schedlab/internal/measuring/report"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func read(t *testing.T, path string) *audit.Text {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text, err := audit.Read(f)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return text
}

func judge(t *testing.T, text string, given audit.Given) *audit.Report {
	t.Helper()
	read, err := audit.Read(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return audit.Judge(read, given)
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", pattern, len(files), err)
	}
	return slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, ".golden") })
}

// codes are those of the findings, each once.
func codes(a *audit.Report) []string {
	all := map[string]bool{}
	for _, f := range a.Findings {
		all[strings.TrimPrefix(string(f.Code), "audit-")] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// The flags that a reader must raise on the five logs this project began with.
func TestSeedsAreFlagged(t *testing.T) {
	t.Parallel()
	for file, want := range map[string][]string{
		"seed-000.txt": {"asked-rate", "bursts", "calibration", "failed", "fewer-connections", "offered-missed", "one-trial", "same-rate", "spinning", "uneven"},
		"seed-001.txt": {"one-trial", "utilisation"},
		"seed-002.txt": {"one-trial", "spinning", "statuses", "two-reports"},
		"seed-003.txt": {"asked-rate", "calibration", "dead", "fewer-connections", "identical", "little-plan", "offered-missed", "one-in-flight", "one-trial", "same-rate"},
		"seed-004.txt": {"change", "growth", "little", "one-trial", "turnaround"},
	} {
		text := read(t, filepath.Join("testdata", file))
		if len(text.Unread) > 0 {
			t.Errorf("%s: lines %v are not read", file, text.Unread)
		}
		if diff := cmp.Diff(want, codes(audit.Judge(text, audit.Given{}))); diff != "" {
			t.Errorf("%s (-want +got)\n%s", file, diff)
		}
	}
}

// The figures of a few flags, as they were worked out by hand.
func TestSeedsHaveTheNumbers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file   string
		code   fact.Code
		which  int // of the findings of that code
		number string
		want   float64
	}{
		{"000", "audit-offered-missed", 0, "missing", 326}, // 30 s at 1000/s less 29,674
		{"000", "audit-fewer-connections", 0, "opened", 396},
		{"000", "audit-bursts", 0, "within", .009},
		{"000", "audit-failed", 2, "share", .0562},
		{"001", "audit-utilisation", 0, "busy", 5.2},
		{"002", "audit-two-reports", 0, "inside", 10.5},
		{"002", "audit-statuses", 0, "bad", 803},
		{"003", "audit-dead", 1, "live", 24},
		{"003", "audit-dead", 1, "each", 28.6},
		{"003", "audit-dead", 2, "live", 32.2},
		{"003", "audit-dead", 0, "dead", 111.9},
		{"004", "audit-little", 0, "in_flight", 4612},
		{"004", "audit-little", 1, "in_flight", 425},
		{"004", "audit-little", 2, "in_flight", 681},
		{"004", "audit-change", 0, "change", -.165},
		{"004", "audit-turnaround", 2, "cycle", .0937},
		{"004", "audit-growth", 0, "mean", 39.9},
	} {
		a := audit.Judge(read(t, "testdata/seed-"+c.file+".txt"), audit.Given{})
		var of []audit.Finding
		for _, f := range a.Findings {
			if f.Code == c.code {
				of = append(of, f)
			}
		}
		if len(of) <= c.which {
			t.Errorf("%s: %d findings %s", c.file, len(of), c.code)
			continue
		}
		if got := of[c.which].Numbers[c.number]; math.Abs(got-c.want) > .006*math.Abs(c.want) {
			t.Errorf("%s: %s %d: %s is %g, want %g", c.file, c.code, c.which, c.number, got, c.want)
		}
	}
}

// What tools print of a sound run is read to the last line, and nothing of it is
// impossible or suspicious.
func TestCleanRunsPass(t *testing.T) {
	t.Parallel()
	for _, file := range append(glob(t, "clean/*"), glob(t, "written/*")...) {
		text := read(t, file)
		if len(text.Claims) == 0 || len(text.Unread) > 0 {
			t.Errorf("%s: %d runs, lines %v are not read", file, len(text.Claims), text.Unread)
		}
		for _, f := range audit.Judge(text, audit.Given{}).Findings {
			if f.Outcome != outcome.Open {
				t.Errorf("%s: %s: %s", file, f.Outcome, f.Fact().String())
			}
		}
	}
}

// A clean run of each tool in which one number was changed. Every tool says most things
// twice, so each copy contradicts itself.
func TestDoctoredRunsAreImpossible(t *testing.T) {
	t.Parallel()
	for file, edits := range map[string][][2]string{
		"clean/wrk-latency.txt": {
			{"Requests/sec:  90875", "Requests/sec:  120875"}, {"90897 requests", "90397 requests"}, {"in 1.00s", "in 2.00s"},
			{"12.83MB read", "13.83MB read"}, {"Transfer/sec:     12.83MB", "Transfer/sec:     14.83MB"},
			{"165.72us", "5.72ms"}, {"409.08us", "4.09ms"}, {"107.00us", "17.00us"}, {"99%    2.34ms", "99%    8.34ms"},
			{"45.72k", "75.72k"}, {"5.95k", "45.95k"}, {"93.89%", "193.89%"},
		},
		"written/wrk2.txt": {
			{"1996.33", "2996.33"}, {"59910 requests", "69910 requests"}, {"286.62KB", "386.62KB"}, {"99.000%    2.35ms", "99.000%    0.35ms"},
			{"#[Mean    =        1.210", "#[Mean    =        1.310"}, {"#[Max     =        5.300", "#[Max     =        6.300"},
			{"Total count    =        39780", "Total count    =        49780"}, {"1.720     0.9", "1.420     0.9"}, {"1.21ms  412", "3.21ms  412"},
		},
		"clean/ab.txt": {
			{"23092.02", "33092.02"}, {"0.346 [ms]", "0.246 [ms]"}, {"0.043 [ms]", "0.053 [ms]"}, {"3765.98", "4765.98"}, {"Complete requests:      3000", "Complete requests:      4000"},
			{"Failed requests:        0", "Failed requests:        30"}, {"501000 bytes", "601000 bytes"}, {"39000 bytes", "49000 bytes"}, {"Concurrency Level:      8", "Concurrency Level:      16"},
			{"0.130 seconds", "0.150 seconds"}, {"Total:          0    0", "Total:          0    3"}, {"Waiting:        0    0   0.1      0       1", "Waiting:        0    0   0.1      0       3"},
			{"90%      0", "90%      3"}, {"100%      1", "100%      9"},
		},
		"clean/httperf.txt": {
			{"2007.3 req/s", "2107.3 req/s"}, {"0.5 ms/req", "0.7 ms/req"}, {"200.7 conn/s", "220.7 conn/s"}, {"5.0 ms/conn", "6.0 ms/conn"}, {"test-duration 0.996", "test-duration 1.996"},
			{"replies 2000", "replies 2100"}, {"2xx=2000", "2xx=1900"}, {"10.000", "9.000"}, {"avg 0.5 max", "avg 5.5 max"}, {"total 148.0", "total 158.0"}, {"429.3 KB/s", "529.3 KB/s"},
			{"(3.5*", "(4.5*"}, {"user 25.7%", "user 35.7%"}, {"total 92.9%", "total 82.9%"}, {"Errors: total 0", "Errors: total 5"}, {"response 0.1", "response 2.1"},
		},
		"clean/httperf-samples.txt": {{"avg 100.0", "avg 120.0"}, {"(2 samples)", "(3 samples)"}},
		"clean/hey.txt": {
			{"33979.7291", "23979.7291"}, {"34009 responses", "35009 responses"}, {"Total:\t1.0009", "Total:\t2.0009"}, {"[33644]", "[33744]"}, {"13 bytes", "15 bytes"}, {"442117", "542117"},
			{"Slowest:\t0.0163", "Slowest:\t0.0263"}, {"90% in 0.0004", "90% in 0.0044"}, {"99% in 0.0019", "99% in 0.0119"}, {"Average:\t0.0002", "Average:\t0.0012"}, {"resp wait:\t0.0002", "resp wait:\t0.0202"},
		},
		"clean/oha.txt": {
			{"64269.1606", "74269.1606"}, {"1001.1956", "1101.1956"}, {"100.00%", "90.00%"}, {"64338 responses", "64438 responses"}, {"816.79", "916.79"}, {"815.82", "715.82"}, {"Size/request:	13", "Size/request:	19"},
			{"[63598]", "[62598]"}, {"Average:	0.1227", "Average:	0.4227"}, {"99.00% in 0.6069", "99.00% in 4.6069"}, {"Fastest:	0.0138", "Fastest:	0.0438"}, {"0.1380 ms, 0.0492", "0.1380 ms, 0.4492"}, {"[8] aborted", "[800] aborted"},
		},
		"clean/vegeta.txt": {
			{"500, 500.85, 500.70", "500, 600.85, 500.70"}, {"500.70", "400.70"}, {"500, 500.85", "550, 500.85"}, {"998.603ms", "898.603ms"}, {"998.303ms", "958.303ms"}, {"299.903µs", "999.903µs"}, {"303.941µs", "903.941µs"},
			{"384.043µs", "184.043µs"}, {"2.485ms", "1.485ms"}, {"6500, 13.00", "6500, 14.00"}, {"6500, 13.00", "7500, 13.00"}, {"100.00%", "99.00%"}, {"200:500", "200:400"}, {"200:500", "200:490  500:10"},
		},
		"written/k6.txt": {
			{"4500   150.021/s\n\n    EXECUTION", "4500   190.021/s\n\n    EXECUTION"}, {"0.00%  0 out of 4500", "5.00%  0 out of 4500"}, {"0.00%  0 out of 4500", "0.00%  9 out of 4500"}, {"avg=12.40ms", "avg=32.40ms"},
			{"p(95)=16.30ms", "p(95)=12.30ms"}, {"24 kB/s", "44 kB/s"}, {"avg=13.02ms", "avg=93.02ms"}, {"iterations.........................: 4500", "iterations.........................: 9500"},
			{"http_reqs..........................: 4500", "http_reqs..........................: 5500"}, {"4500 out of 4500", "4400 out of 4500"}, {"max=10\n\n", "max=1\n\n"},
		},
		"written/k6-legacy.txt": {
			{"600     59.97/s\n     iteration_", "700     59.97/s\n     iteration_"}, {"✗ 600", "✗ 500"}, {"100.00% ✓", "90.00% ✓"}, {"avg=21.4ms", "avg=11.4ms"}, {"9.8 kB/s", "19.8 kB/s"}, {"max=61\n     vus_max........................: 61      min=61      max=61", "max=61\n     vus_max........................: 61      min=61      max=41"},
		},
		"clean/fortio.txt": {
			{"qps=199.84", "qps=299.84"}, {"1.000811835s : 200", "1.000811835s : 300"}, {"count 200 avg 0.0002053781", "count 200 avg 0.0003053781"}, {"sum 0.04107562", "sum 0.05107562"}, {"5.679e-05", "5.679e-04"},
			{"# target 90% 0.00034766", "# target 90% 0.00014766"}, {"100.00, 200", "100.00, 210"}, {"Code 200 : 200", "Code 200 : 190"}, {"(100.0 %)", "(90.0 %)"}, {"avg 148", "avg 158"}, {"sum 27000", "sum 28000"},
			{"0.205 ms avg", "0.305 ms avg"}, {"199.8 qps", "209.8 qps"}, {"(total 200)", "(total 300)"}, {"avg 0.00041989225", "avg 0.00051989225"},
		},
		"clean/bombardier.txt": {
			{"142.13us", "2.13ms"}, {"121.26us", "12.26ms"}, {"204.00us", "24.00us"}, {"10.12ms", "0.12ms"}, {"2xx - 55603", "2xx - 95603"}, {"55847.87", "85847.87"}, {"10484.98", "99484.98"}, {"99%   533.00us", "99%   533.00ms"},
		},
		"clean/h2load.txt": {
			{"92710.00 req/s", "82710.00 req/s"}, {"13.09MB/s", "23.09MB/s"}, {"92710 done", "93710 done"}, {"92710 succeeded", "91710 succeeded"}, {"0 failed", "10 failed"}, {"92710 2xx", "91710 2xx"}, {"(13721080)", "(14721080)"},
			{"86us", "11.58ms"}, {"285us", "9.85ms"}, {"11578.44", "9578.44"}, {"97.64%", "197.64%"}, {"198us", "298us"}, {"0 errored", "5 errored"},
		},
		"clean/h2load-count.txt": {
			{"finished in 18.55ms", "finished in 28.55ms"}, {"53896.73", "63896.73"}, {"7.61MB/s", "8.61MB/s"}, {"(148000)", "(158000)"}, {"1000 started", "900 started"}, {"1000 total", "1100 total"}, {"(100000)", "(200000)"},
			{"4 total client(s). 500", "4 total client(s). 600"},
		},
		"clean/vegeta.json": {
			{`"requests":500`, `"requests":510`}, {`"throughput":500.6`, `"throughput":600.6`}, {`"rate":500.85`, `"rate":600.85`}, {`"mean":303941`, `"mean":403941`}, {`"total":151970680`, `"total":161970680`}, {`"200":500`, `"200":400`},
			{`"success":1`, `"success":0.9`}, {`"99th":1906760`, `"99th":190676`}, {`"total":6500`, `"total":7500`}, {`"wait":299903`, `"wait":9999030`},
		},
		"clean/fortio.json": {
			{`"ActualQPS": 499.6`, `"ActualQPS": 599.6`}, {`"Avg": 0.00018670839516129033`, `"Avg": 0.00028670839516129033`}, {`"Sum": 0.092607364`, `"Sum": 0.082607364`}, {`"200": 496`, `"200": 490`}, {`"ActualDuration": 992688145`, `"ActualDuration": 892688145`},
			{`"Max": 0.000765709`, `"Max": 0.000565709`}, {`"Count": 496`, `"Count": 596`},
		},
		"clean/bombardier.json": {{`"mean":100.7`, `"mean":900.7`}, {`"75":110,`, `"75":10,`}, {`"max":8001`, `"max":80`}, {`"req2xx":78371`, `"req2xx":98371`}, {`"stddev":179.6`, `"stddev":9179.6`}},
		"clean/oha.json": {
			{`"requestsPerSec": 66524`, `"requestsPerSec": 76524`}, {`"successRate": 1.0`, `"successRate": 0.9`}, {`"average": 0.000119`, `"average": 0.000919`}, {`"totalData": 866879`, `"totalData": 966879`}, {`"sizePerSec": 864746`, `"sizePerSec": 964746`},
			{`: 66268`, `: 66168`}, {`"p99": 0.000854415`, `"p99": 0.000054415`}, {`"slowest": 0.012574035`, `"slowest": 0.002574035`}, {`"200": `, `"200": 1`},
		},
		"written/k6-summary.json": {{`59.97},
    "iter`, `69.97},
    "iter`}, {`"fails": 600`, `"fails": 500`}, {`"avg": 21.4`, `"avg": 61.4`}, {`"count": 600, "rate": 59.97},
    "iter`, `"count": 700, "rate": 59.97},
    "iter`}, {`"med": 20.9`, `"med": 30.9`}},
		"written/figures.txt": {{"requests=100000", "requests=101000"}, {"rate=4950/s", "rate=5950/s"}, {"mean=12.8ms", "mean=32.8ms"}, {"p90=15.2ms", "p90=11.2ms"}, {"seconds=20 rate=4980", "seconds=30 rate=4980"}},
	} {
		text, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, edit := range edits {
			doctored := strings.Replace(string(text), edit[0], edit[1], 1)
			if doctored == string(text) {
				t.Errorf("%s: no %q", file, edit[0])
			}
			a := judge(t, doctored, audit.Given{})
			if !slices.ContainsFunc(a.Findings, func(f audit.Finding) bool { return f.Outcome == outcome.No }) {
				t.Errorf("%s: %q instead of %q is not found impossible: %v", file, edit[1], edit[0], codes(a))
			}
		}
	}
}

// Every layout gives the figures that stand in it, in seconds and counts.
func TestFiguresAreRead(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]map[string]float64{
		"clean/wrk-latency.txt":          {"requests": 90897, "rate": 90875.83, "connections": 8, "threads": 2, "mean": 165.72e-6, "stdev": 409.08e-6, "max": 4.78e-3, "p50": 64e-6, "p99": 2.34e-3, "seconds": 1},
		"clean/ab.txt":                   {"requests": 3000, "rate": 23092.02, "connections": 8, "seconds": .13, "bytes": 501000, "stdev": .1e-3, "max": 1e-3, "p90": 0, "p95": 1e-3, "errors": 0},
		"clean/httperf.txt":              {"requests": 2000, "rate": 2007.3, "concurrent": 2, "opened": 200, "seconds": .996, "mean": .1e-3, "status_2xx": 2000, "cpu": .929, "offered": 2000},
		"clean/h2load.txt":               {"requests": 92710, "ok": 92710, "rate": 92710, "connections": 8, "seconds": 1, "mean": 86e-6, "stdev": 285e-6, "max": 10.58e-3, "min": 11e-6, "bytes": 13721080},
		"clean/hey.txt":                  {"requests": 34009, "rate": 33979.7291, "seconds": 1.0009, "mean": .2e-3, "max": 16.3e-3, "p99": 1.9e-3, "status_2xx": 34009},
		"clean/oha.txt":                  {"requests": 64346, "cut_off": 8, "rate": 64269.1606, "seconds": 1.0011956, "mean": .1227e-3, "max": 5.1036e-3, "p99.9": 3.381e-3},
		"clean/oha.json":                 {"requests": 66689, "rate": 66524.9415112403, "mean": 119.02187485566178e-6, "p99.99": .005875445, "max": .012574035},
		"clean/vegeta.txt":               {"requests": 500, "seconds": .998603, "mean": 303.941e-6, "p90": 384.043e-6, "max": 2.485e-3, "min": 64.728e-6, "status_2xx": 500, "bytes": 6500},
		"clean/vegeta.json":              {"requests": 500, "seconds": .998602576, "mean": 303.941e-6, "p99": 1.90676e-3, "sum": .15197068},
		"clean/fortio.json":              {"requests": 496, "rate": 499.6533931610516, "offered": 500, "connections": 8, "mean": 186.70839516129033e-6, "p99.9": .0007649602373979799},
		"clean/bombardier.txt":           {"requests": 55603, "connections": 8, "mean": 142.13e-6, "p99": 533e-6, "max": 10.12e-3, "errors": 0},
		"clean/bombardier.json":          {"requests": 78371, "connections": 8, "seconds": 1.000455322, "mean": 100.73074223883835e-6, "p95": 209e-6, "max": 8001e-6},
		"written/wrk2.txt":               {"requests": 59910, "rate": 1996.33, "calibration.mean": 1.201e-3, "p99.999": 5.3e-3, "threads": 2, "mean": 1.21e-3},
		"written/k6.txt":                 {"requests": 4500, "rate": 150.021, "connections": 10, "mean": 12.4e-3, "p50": 12.1e-3, "p95": 16.3e-3, "not_good": 0},
		"written/k6-legacy.txt":          {"requests": 600, "rate": 59.97, "connections": 61, "mean": 21.4e-3, "p90": 25.1e-3, "not_good": 0},
		"written/k6-summary.json":        {"requests": 600, "rate": 59.97, "connections": 61, "mean": 21.4e-3, "p90": 25.1e-3},
		"written/k6-handle-summary.json": {"requests": 600, "rate": 59.97, "connections": 61, "mean": 21.4e-3, "p90": 25.1e-3},
		"written/figures.txt":            {"requests": 100000, "ok": 99990, "seconds": 20, "rate": 5000, "p99": .021, "max": .048},
	} {
		figures := read(t, filepath.Join("testdata", file)).Claims[0].Figures
		for name, v := range want {
			if got, ok := figures[name]; !ok || math.Abs(got.Value-v) > 1e-9*math.Abs(v)+1e-15 {
				t.Errorf("%s: %s is %v (%v), want %v", file, name, got.Value, ok, v)
			}
		}
	}
}

// Every law, broken by little and kept by little.
func TestLaws(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		given audit.Given
		want  string
	}{
		{"requests=1000 ok=990 errors=5", audit.Given{}, "failed not-added"},
		{"requests=1000 ok=995 errors=5", audit.Given{}, "failed"},
		{"requests=10000 ok=9999 errors=1", audit.Given{}, ""},
		{"requests=1000 rate=90/s seconds=10", audit.Given{}, "rate-time"},
		{"requests=1000 rate=99/s seconds=10", audit.Given{}, ""},
		{"requests=60000 rate=1000/s duration=1m", audit.Given{}, ""},
		{"requests=1000 bytes=2000 bytes_rate=300 seconds=10", audit.Given{}, "bytes-time"},
		{"accepted=10 done=11", audit.Given{}, "done-accepted"},
		{"accepted=10 done=9\n\naccepted=30 done=20\n\naccepted=60 done=30", audit.Given{}, "backlog-grows one-trial"},
		{"accepted=10 done=9\n\naccepted=30 done=29\n\naccepted=60 done=30", audit.Given{}, "one-trial"},
		{"rate=1000/s mean=11.0ms connections=10", audit.Given{}, "little"},
		{"rate=1000/s mean=11.0ms", audit.Given{Connections: 10}, "little"},
		{"rate=1000/s mean=11.0ms connections=10 depth=2", audit.Given{}, "turnaround"},
		{"rate=1000/s mean=10.1ms connections=10", audit.Given{}, "inverse"},
		{"rate=1000/s mean=10.1ms connections=10 loop=open", audit.Given{}, ""},
		{"rate=50000/s mean=1.00ms connections=396 loop=closed", audit.Given{}, "turnaround"}, // 7.9 ms a request
		{"rate=50000/s mean=1.00ms connections=396", audit.Given{}, ""},                       // which may be an open loop
		{"rate=1000/s mean=20.1ms connections=10 loop=open", audit.Given{}, "little-plan"},
		{"rate=1000/s mean=20.1ms connections=10 tool=wrk", audit.Given{}, "back-filled"},
		{"rate=1000/s mean=20.1ms max=100ms connections=10 tool=wrk", audit.Given{}, "back-filled"},
		{"rate=1000/s mean=20.1ms max=50ms connections=10 tool=wrk", audit.Given{}, "little"}, // 5 ms and 12.5 ms
		{"rate=1000/s mean=20.1ms connections=10 tool=h2load", audit.Given{}, "depth-untold"},
		{"rate=1000/s mean=20.1ms tool=hey", audit.Given{}, "connections-untold"},
		{"rate=1000/s mean=20.1ms tool=hey", audit.Given{Connections: 10}, "little"},
		{"requests=10000 rate=1000/s seconds=10 mean=5.0ms connections=10 timeouts=5 tool=wrk", audit.Given{}, "late turnaround"},
		{"requests=10000 rate=1000/s seconds=10 mean=5.0ms connections=10 timeouts=50 errors=50 tool=wrk", audit.Given{}, "failed late turnaround"},
		{"requests=10000 rate=1000/s seconds=10 mean=5.0ms connections=10 timeouts=50 tool=wrk2", audit.Given{}, ""},
		{"requests=10000 rate=1000/s seconds=10 mean=5.0ms connections=10 timeouts=50 tool=hey", audit.Given{}, "failed turnaround"},
		{"rate=1250/s threads=4 thread_rate.mean=500/s tool=wrk", audit.Given{}, "unsteady"},
		{"rate=1000/s threads=4 thread_rate.mean=500/s tool=wrk", audit.Given{}, "starved-threads"},
		{"rate=1000/s threads=4 thread_rate.mean=500/s timeouts=3 tool=wrk", audit.Given{}, "unsteady"},
		{"rate=1000/s threads=4 thread_rate.mean=500/s max=6s seconds=10 tool=wrk", audit.Given{}, "unsteady"}, // which stood still
		{"rate=1000/s threads=4 thread_rate.mean=500/s tool=wrk2", audit.Given{}, "unsteady"},
		{"rate=1600/s threads=4 thread_rate.mean=500/s tool=wrk", audit.Given{}, ""},
		{"rate=1000/s mean=1ms", audit.Given{Cores: 2, Service: 2.2e-3}, "utilisation"},
		{"rate=1000/s mean=1ms", audit.Given{Cores: 2, Service: 2e-3}, ""},
		{"rate=1000/s mean=1ms", audit.Given{Service: 2e-3}, "cores-untold"},
		{"p50=2.0ms p90=1.0ms", audit.Given{}, "order"},
		{"mean=3.0ms max=2.0ms", audit.Given{}, "order"},
		{"min=3.0ms mean=2.0ms", audit.Given{}, "order"},
		{"mean=1.0ms p50=4.0ms max=9ms", audit.Given{}, "mean-bounds"},
		{"mean=8.0ms p50=4.0ms max=9ms", audit.Given{}, "mean-bounds"},
		{"mean=1.0ms p50=4.0ms max=9ms tool=fortio", audit.Given{}, "interpolated"},
		{"mean=3.0ms p50=4.0ms max=9ms", audit.Given{}, ""},
		{"mean=5ms stdev=9ms max=10ms", audit.Given{}, "spread"},
		{"mean=5ms stdev=5ms max=10ms", audit.Given{}, ""},
		{"mean=5.0ms requests=1000 sum=6.0s", audit.Given{}, "sum"},
		{"mean=5.0ms max=13s seconds=10", audit.Given{}, "too-long"},
		{"rate=1000/s offered=1200/s", audit.Given{}, "offered-missed"},
		{"rate=1195/s offered=1200/s", audit.Given{}, ""},
		{"requests=100 status_2xx=60 status_3xx=0 status_4xx=40 status_5xx=0", audit.Given{}, "statuses"},
		{"requests=100 status_2xx=60 status_3xx=0 status_4xx=30 status_5xx=0", audit.Given{}, "not-added statuses"},
		{"rate=100/s change=0%\n\nrate=120/s change=+20%", audit.Given{}, "one-trial"},
		{"rate=100/s change=0%\n\nrate=120/s change=+30%", audit.Given{}, "change one-trial"},
		{"run=a mean=10ms\n\nrun=a mean=12ms\n\nrun=b mean=11ms", audit.Given{}, "within-noise"},
		{"run=a mean=10ms\n\nrun=a mean=12ms\n\nrun=b mean=15ms", audit.Given{}, ""},
	} {
		if got := strings.Join(codes(judge(t, c.text, c.given)), " "); got != c.want {
			t.Errorf("%q %+v: got %q, want %q", c.text, c.given, got, c.want)
		}
	}
}

// What wrk 4 calls a timeout was answered and is among the requests, and its time explains what the
// mean leaves open. Only the rest is put on the load.
func TestLateAnswersOfWrk(t *testing.T) {
	t.Parallel()
	const printed = "Running 10s test @ http://127.0.0.1:8080/work\n  2 threads and 64 connections\n  Thread Stats   Avg      Stdev     Max   +/- Stdev\n" +
		"    Latency     6.60ms    9.10ms  98.40ms   91.20%\n    Req/Sec     1.61k   310.00     2.20k    70.50%\n  32130 requests in 10.00s, 4.53MB read\n" +
		"  Socket errors: connect 0, read 0, write 0, timeout 213\nRequests/sec:   3213.00\nTransfer/sec:    463.87KB\n"
	for name, c := range map[string]struct {
		edit            [2]string
		late, inTheMean string
		suspicious      bool
	}{
		"all of the gap": {
			late:      "213 of 32130 requests (0.663 %) were answered after wrk's --timeout (2s unless set)",
			inTheMean: "At 2 s or more each (its default) they are 426 of the 640 connection-seconds, and the times in the mean 211 at most: none is left to explain",
		},
		"a part of it": {
			edit:      [2]string{"timeout 213", "timeout 100"},
			late:      "100 of 32130 requests",
			inTheMean: "they are 200 of the 640 connection-seconds, and the times in the mean 211 at most; of the other 229 some may be the load's own time",
		},
		"told --timeout": {
			edit:      [2]string{"Running", "$ wrk -t2 -c64 --timeout 1s http://127.0.0.1:8080/work\nRunning"},
			late:      "after wrk's --timeout of 1 s.",
			inTheMean: "At 1 s or more each they are 213 of the 640 connection-seconds",
		},
		"longer --timeout": {
			edit:      [2]string{"98.40ms", "2.50s "},
			late:      "after wrk's --timeout.",
			inTheMean: "At 2.5 s or more each (the max, which is below --timeout) they are 531 of the 640",
		},
		"shorter --timeout": {
			edit:      [2]string{"timeout 213", "timeout 400"},
			late:      "400 of 32130 requests (1.24 %) were answered after wrk's --timeout.",
			inTheMean: "(the max, which is below --timeout) they are 39.4 of the 640",
		},
		"none": {
			edit:       [2]string{"timeout 213", "timeout 0"},
			inTheMean:  "is 33 % of it: the rest is the load's own time, or connections were idle or waited",
			suspicious: true,
		},
		"too few to explain the mean": {
			edit:       [2]string{"timeout 213", "timeout 50"},
			late:       "50 of 32130 requests (0.156 %)",
			inTheMean:  "they are 100 of the 640 connection-seconds",
			suspicious: true,
		},
		"more than half with them": {
			edit:      [2]string{"timeout 213", "timeout 56"},
			late:      "56 of 32130 requests",
			inTheMean: "they are 112 of the 640 connection-seconds",
		},
	} {
		a := judge(t, strings.Replace(printed, c.edit[0], c.edit[1], 1), audit.Given{})
		said, kind := map[fact.Code]string{}, map[fact.Code]outcome.Outcome{}
		for _, f := range a.Findings {
			said[f.Code], kind[f.Code] = f.Fact().String(), f.Outcome
		}
		if got := kind["audit-turnaround"]; (got == outcome.Yes) != c.suspicious {
			t.Errorf("%s: the interactive law finds it %s", name, got)
		}
		if got := said["audit-late"]; !strings.Contains(got, c.late) || (got == "") != (c.late == "") {
			t.Errorf("%s: got %q, want %q", name, got, c.late)
		}
		if got := said["audit-turnaround"]; !strings.Contains(got, c.inTheMean) {
			t.Errorf("%s: got %q, want %q", name, got, c.inTheMean)
		}
		if said["audit-failed"] != "" || a.Runs[0].Figures["requests"] != 32130 {
			t.Errorf("%s: late answers are counted as failed, or twice: %v, %q", name, a.Runs[0].Figures, said["audit-failed"])
		}
	}
}

// Sticky workers answer as many connections as they are and starve the others. Each tool prints
// then times of the answered ones alone, and never one of a client that waited.
func TestStarvedConnections(t *testing.T) {
	t.Parallel()
	const (
		wrk = "Running 10s test @ http://127.0.0.1:8080/work\n  2 threads and 32 connections\n  Thread Stats   Avg      Stdev     Max   +/- Stdev\n" +
			"    Latency     1.03ms  112.40us   3.91ms   91.20%\n    Req/Sec     1.93k    31.02     2.01k    70.50%\n  38406 requests in 10.00s, 5.49MB read\n" +
			"Requests/sec:   3840.15\nTransfer/sec:    562.41KB\n"
		hey = "\nSummary:\n  Total:\t10.0011 secs\n  Slowest:\t0.0039 secs\n  Fastest:\t0.0010 secs\n  Average:\t0.00103 secs\n  Requests/sec:\t3840.1776\n\n" +
			"Status code distribution:\n  [200]\t38406 responses\n"
		ab = "Concurrency Level:      32\nTime taken for tests:   10.000 seconds\nComplete requests:      5000\nFailed requests:        0\nKeep-Alive requests:    5000\n" +
			"Requests per second:    500.00 [#/sec] (mean)\nTime per request:       64.000 [ms] (mean)\nTime per request:       2.000 [ms] (mean, across all concurrent requests)\n" +
			"\nConnection Times (ms)\n              min  mean[+/-sd] median   max\nConnect:        0    0   0.0      0       0\nProcessing:     7    8   0.4      8      11\n" +
			"Waiting:        7    8   0.4      8      11\nTotal:          7    8   0.4      8      11\n"
	)
	for name, c := range map[string]struct {
		text string
		says map[string]string // by code: class and a part of the sentence
	}{
		"wrk": {wrk, map[string]string{
			"audit-starved": "yes: 3,840/s × 1.03 ms = 3.96 requests in flight, and 32 connections: only about 4 of them got answers, and the other 28 waited all the time, as with 4 workers",
		}},
		"wrk with all answers on one thread": {strings.NewReplacer("1.93k", "3.84k", "2.01k", "3.99k").Replace(wrk), map[string]string{
			"audit-starved":         "yes: 3,840/s × 1.03 ms",
			"audit-starved-threads": "yes: 3,840/s in all is what 1 thread did, at 3,840/s each by the samples, of 2 threads: wrk takes no sample of a thread without answers, so 1 of 2 threads got none",
		}},
		"wrk between two whole numbers": {strings.Replace(wrk, "1.03ms", "1.17ms", 1), map[string]string{"audit-turnaround": "yes: 32 in flight / 3,840/s"}},
		"wrk with late answers":         {strings.Replace(wrk, "Requests/sec:", "  Socket errors: connect 0, read 0, write 0, timeout 28\nRequests/sec:", 1), map[string]string{"audit-turnaround": "of the other 225 some may be"}},
		"hey":                           {hey, map[string]string{"audit-starved": "or hey was held to a rate, which it does not print"}},
		"ab":                            {ab, map[string]string{"audit-starved": "yes: 500/s × 8 ms = 4 requests in flight"}},
	} {
		said := map[string]string{}
		for _, f := range judge(t, c.text, audit.Given{Connections: 32}).Findings {
			if code := string(f.Code); code == "audit-turnaround" || strings.HasPrefix(code, "audit-starved") {
				said[code] = string(f.Outcome) + ": " + f.Fact().String()
			} else if f.Outcome != outcome.Open && code != "audit-late" {
				t.Errorf("%s: %s", name, f.Fact().String())
			}
		}
		for code, want := range c.says {
			if !strings.Contains(said[code], want) {
				t.Errorf("%s: got %s %q, want %q", name, code, said[code], want)
			}
		}
		if len(said) != len(c.says) {
			t.Errorf("%s: got %v", name, said)
		}
	}
}

// The first line says what to do about the gravest finding, before it counts them.
func TestHeadlineSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"requests=10000 rate=1000/s seconds=10 mean=5.0ms connections=10 timeouts=414 timeout=20ms loop=closed tool=wrk": "Do not use mean, max and quantiles: 414 answers that came after wrk's --timeout are not in them, which are 8 % of all waiting at 20 ms each: look for connections that the server starves. 0 impossible, 1 suspicious, 1 open, in 1 run of wrk.",
		"rate=1000/s mean=0.50ms connections=10 loop=closed":                                                             "Do not use the mean: it is 5 % of what the connections allow. 0 impossible, 1 suspicious, 0 open, in 1 run of figures.",
		"rate=4000/s mean=1.00ms connections=32 loop=closed":                                                             "Do not use the times: only about 4 of 32 connections got answers, and the others waited all the time, so none of the times stand for a client. 0 impossible, 1 suspicious, 0 open, ",
		"rate=4000/s mean=1.00ms connections=32 tool=hey loop=closed":                                                    "Nothing speaks against these figures, but only about 4 of 32 connections got answers and the others waited all the time, unless hey was held to a rate. ",
		"rate=1000/s mean=6.0ms connections=10 loop=closed":                                                              "Nothing speaks against these figures, but see what is open. 0 impossible, 0 suspicious, 1 open, in 1 run of figures.",
		"rate=1000/s mean=0.50ms connections=10 tool=hey loop=closed":                                                    "Nothing speaks against these figures, but see what is open. ",
		"requests=1000 rate=90/s seconds=10 errors=50":                                                                   "Use neither rate nor requests / seconds: they contradict each other. 1 impossible, 1 suspicious, ",
		"run=a mean=1ms rate=5/s\n\nrun=b mean=3.0ms max=2.0ms rate=5/s":                                                 "line 3 (b): Do not use mean and max: they are in the wrong order. 1 impossible, ",
		"requests=1000 rate=100/s seconds=10":                                                                            "Nothing speaks against these figures. 0 impossible, 0 suspicious, 0 open, in 1 run of figures.",
		"rate=1000/s mean=9.9ms connections=10 loop=closed":                                                              "Nothing speaks against these figures, but in a closed loop the response time is the rate again, and leaves out what a delay costs (coordinated omission). 0 impossible, ",
		// What decides most comes first: figures that contradict each other, then how the load was sent, then
		// what is missing.
		"requests=1000 rate=90/s seconds=10 errors=50 mean=1ms max=20s":                               "Use neither rate nor requests / seconds: they contradict each other. 2 impossible, 1 suspicious, ",
		"requests=1000 rate=100/s seconds=10 mean=1.00ms connections=10 errors=5 tool=ab loop=closed": "Do not use the mean: it is 1 % of what the connections allow. 0 impossible, 2 suspicious, ",
		"requests=1000 ok=950 errors=50 mean=5ms":                                                     "Do not use mean, max and quantiles above p95: 5 % of the requests failed and are not in them. ",
	} {
		var got strings.Builder
		if err := audit.Write(&got, "text", judge(t, text, audit.Given{}), false, report.TextOptions{}); err != nil {
			t.Fatal(err)
		}
		if said := strings.Join(strings.Fields(got.String()), " "); !strings.HasPrefix(strings.TrimPrefix(said, ": "), want) {
			t.Errorf("%q: got %q, want %q", text, said, want)
		}
	}
	for _, file := range glob(t, "*.txt") {
		for _, f := range audit.Judge(read(t, file), audit.Given{}).Findings {
			if do := f.Fact().Part("do"); f.Outcome != outcome.Open && (do == string(f.Code) || strings.Contains(do, "<no value>")) {
				t.Errorf("%s: nothing is said about what to do: %q", f.Code, do)
			}
		}
	}
}

// Whether a rate was asked for is told once for each run of a tool that tells: the rate of a plan
// that was kept, or of a closed loop, where it is an outcome. Figures that somebody typed tell nothing.
func TestAskedRate(t *testing.T) {
	t.Parallel()
	wrk := "  2 threads and 8 connections\n  Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency     5.00ms    1.00ms   9.00ms   70.00%\n" +
		"  10000 requests in 10.00s, 1.50MB read\nRequests/sec:   1000.00\n"
	for _, c := range []struct{ text, want string }{
		{"Running 10s test @ x\n" + wrk, "no rate was asked for: 1,000/s is what 8 connections came to that each wait for a reply"},
		{"$ wrk -t2 -c8 -d10s -R1005 x\nRunning 10s test @ x\n" + wrk, "1,005/s were asked for, and 1,000/s were done (99.5 %)"},
		{"$ wrk -t2 -c8 -d10s -R1100 x\nRunning 10s test @ x\n" + wrk, ""}, // which offered-missed tells
		{"requests=10000 rate=1000/s seconds=10 connections=8 tool=wrk loop=closed", ""},
	} {
		said := ""
		for _, f := range judge(t, c.text, audit.Given{}).Findings {
			if f.Code == "audit-asked-rate" {
				said += f.Fact().String()
			}
		}
		if !strings.HasPrefix(said, c.want) || c.want == "" && said != "" {
			t.Errorf("%q: got %q, want %q", c.text, said, c.want)
		}
	}
}

// The last response's time is no missing load, unless requests are missing or it took too long.
func TestShortRunSentItsPlan(t *testing.T) {
	t.Parallel()
	kept, err := os.ReadFile("testdata/clean/fortio.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ seconds, max, rate, want string }{
		{"1015335388", "0.015005", "488.5", ""},
		{"1035335388", "0.015005", "479.1", "offered-missed"},
	} {
		text := strings.NewReplacer("992688145", c.seconds, "0.000765709", c.max, "499.6533931610516", c.rate).Replace(string(kept))
		if got := strings.Join(codes(judge(t, text, audit.Given{})), " "); !strings.Contains(got, "offered-missed") != (c.want == "") {
			t.Errorf("%s ns: got %q, want %q", c.seconds, got, c.want)
		}
	}
}

// What cannot be read is said with its line, and nothing is made of half a figure.
func TestReadingFails(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		line int
		says string
	}{
		"":                        {1, "no run found; want the output of wrk, wrk2, httperf"},
		" \n\n":                   {1, "the text is empty"},
		"\nhello\n":               {2, `the text begins with "hello"`},
		"rate=5/s mean=25":        {1, `mean: "25" has no unit; write one, like 25ms`},
		"rate=5/s\nmean=2parsecs": {2, `mean: "2parsecs" has an unknown unit`},
		"rate=5/s loop=round":     {1, `loop "round" is none of closed, paced, open`},
		"requests=-5 rate=2/s":    {1, "requests: -5 is below 0"},
		"Running 1s test @ x\n  Latency  fast  1ms  2ms  90.00%":   {2, `wrk: "fast" is no number`},
		`{"latencies":{"mean":"x"},"success":1,"status_codes":{}}`: {1, `vegeta: latencies.mean: "xns" is no number`},
		`{"metrics":{}}`: {1, "k6: the summary has no metric http_req_duration"},
	} {
		_, err := audit.Read(strings.NewReader(text))
		var syntax *audit.SyntaxError
		if !errors.As(err, &syntax) || syntax.Line != want.line || !strings.Contains(err.Error(), want.says) {
			t.Errorf("%q: got %v, want line %d: %s", text, err, want.line, want.says)
		}
	}
}

// A line that cannot be read does not end the reading: the rest counts, and the line is listed
// with the reason.
func TestUnreadableLines(t *testing.T) {
	t.Parallel()
	const wrk = "Running 1s test @ x\n  2 threads and 8 connections\n    Latency   165.72us  %s   4.78ms   93.89%%\n  900 requests in 1.00s, 12.83MB read\nRequests/sec:    900.00\n"
	for text, want := range map[string]struct {
		line    int
		says    string
		figures int
	}{
		"rate=5/s mean=2ms wheels=4":                    {1, `unknown key "wheels"`, 2},
		"rate=5/s\nmean=2ms\nmean=3ms":                  {3, "mean is said twice", 2},
		"rate=5/s\nmean=2\nmax=3ms":                     {2, `mean: "2" has no unit; write one, like 2ms`, 2},
		"rate=5/s, mean=2ms; loop=round":                {1, `loop "round" is none of closed, paced, open`, 2},
		strings.ReplaceAll(wrk, "%s", "fast"):           {3, `wrk: "fast" is no number`, 8},
		"rate=5/s mean=2ms\n\n{\"latencies\":{\"mean\"": {3, "the text ends within the JSON object that begins here: it was cut off", 2},
		`{"latencies":{"mean":"x","max":5},"requests":9,"success":1,"status_codes":{"999":9}}`: {1, `vegeta: latencies.mean: "xns" is no number`, 11},
	} {
		a := judge(t, text, audit.Given{})
		if len(a.NotRead) != 1 || a.NotRead[0].Line != want.line || a.NotRead[0].Reason != want.says || len(a.Runs) != 1 || len(a.Runs[0].Figures) != want.figures {
			t.Errorf("%q: got %+v, %+v, want line %d: %s", text, a.NotRead, a.Runs, want.line, want.says)
		}
		if said := answerOf(t, []byte(text)); !strings.Contains(said, "; 1 line not read. ") {
			t.Errorf("%q: the answer does not tell: %q", text, said)
		}
	}
}

// What a tool prints seldom is read as well: ab's warnings, hey's NaN where no request
// ended, and Go's long durations.
func TestSeldomLines(t *testing.T) {
	t.Parallel()
	for text, unread := range map[string]int{
		"Concurrency Level:      8\nComplete requests:      9\nERROR: The median and mean for the total time are more than twice the standard\n       deviation apart. These results are NOT reliable.\n": 0,
		"Summary:\n  Total:\t0.0009 secs\n  Average:\tNaN secs\n  Requests/sec:\t100.0\n":                                                                                                                 0,
		"Ended after 1s : 3 calls. qps=3\nAggregated Sleep Time : count 2 avg 0.1 +/- 0.3 min -0.2 max 0.4 sum 0.2\n>= -0.2 <= 0.4 , 0.1 , 100.00, 2\n# target 50% 0.3\n" +
			"WARNING 24.08% of sleep were falling behind\nAggregated Function Time : count 3 avg 0.01 +/- 0.001 min 0.009 max 0.011 sum 0.03\n> 0.008 <= 0.011 , 0.01 , 100.00, 3\n# target 50% 0.01\n": 0,
		"Requests      [total, rate]            1200, 10.01\nDuration      [total, attack, wait]    2m0.5s, 1m59.9s, 612ms\nodd\n": 1,
	} {
		read, err := audit.Read(strings.NewReader(text))
		if err != nil || len(read.Claims) != 1 || len(read.Unread) != unread {
			t.Errorf("%q: %v, %+v", text, err, read)
			continue
		}
		for _, f := range audit.Judge(read, audit.Given{}).Findings {
			if f.Outcome == outcome.No {
				t.Errorf("%q: %s", text, f.Fact().String())
			}
		}
	}
}

// Runs are found amid prose, a run that is cut in two is one, and the rest is told.
func TestRunsAmidProse(t *testing.T) {
	t.Parallel()
	prose := "# Title\n\nWe ran it:\n\n```\n$ wrk -t2 -c8 -d1s -R100 http://server/\nRunning 1s test @ http://server/\n  2 threads and 8 connections\n" +
		"  Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency     1.10ms  559.72us   4.12ms   69.86%\n    Req/Sec    50.00     10.00     60.00     99.03%\n```\n\nand below\n```\n" +
		"  100 requests in 1.00s, 3.26KB read\nRequests/sec:    100.00\n```\n"
	text, err := audit.Read(strings.NewReader(prose))
	if err != nil {
		t.Fatal(err)
	}
	if len(text.Claims) != 1 || text.Claims[0].Tool != "wrk2" || text.Claims[0].Line != 6 || text.Claims[0].End != 17 {
		t.Fatalf("got %+v", text.Claims)
	}
	var unread []int
	for _, lines := range text.Unread {
		unread = append(unread, lines.Line, lines.End)
	}
	if diff := cmp.Diff([]int{1, 1, 3, 3, 5, 5, 12, 12, 14, 15, 18, 18}, unread); diff != "" {
		t.Error(diff)
	}
	a := judge(t, "| Connections | Throughput | p99 |\n|---|---|---|\n| 8 | 1,000 req/s | 4ms |\n| 16 | ~1,900 req/s | ~5ms |\n", audit.Given{})
	if got := codes(a); len(a.Runs) != 1 || a.Runs[0].Figures["rate"] != 1000 || !slices.Equal(got, []string{"approximate"}) {
		t.Errorf("got %+v, %v", a.Runs, got)
	}
	a = judge(t, "### Plain (Pipelined ×16)\n| Connections | Throughput | Mean |\n|---|---|---|\n| 8 | 16,000 req/s | 7.9ms |\n# JSON\n| Connections | Throughput | Mean |\n|---|---|---|\n| 8 | 16,000 req/s | 7.9ms |\n", audit.Given{})
	if f := a.Findings[0]; f.Code != "audit-little" || f.Line != 8 || len(a.Runs) != 2 || a.Findings[1].Outcome == outcome.No {
		t.Errorf("the heading's depth is not taken for its table alone: %+v", a.Findings)
	}
	a = judge(t, "```\n# Many connections:\nRUNTIME=threads make run\n```\nrate=5/s mean=2ms\n# quick\nmax=3ms\n", audit.Given{})
	if len(a.Runs) != 1 || len(a.Runs[0].Figures) != 3 || a.Runs[0].Line != 5 || a.NotRead[0].End != 4 || len(a.NotRead) != 1 {
		t.Errorf("a shell's comment and settings are taken for a run: %+v, not read %v", a.Runs, a.NotRead)
	}
	a = judge(t, "It did 250 requests per second, with 4ms of CPU each.\nThen 1,300 requests per second.\n", audit.Given{Cores: 2})
	if got := codes(a); len(a.Runs) != 2 || !slices.Contains(got, "utilisation") {
		t.Errorf("got %+v, %v", a.Runs, got)
	}
}

// Reports, word for word.
func TestGolden(t *testing.T) {
	t.Parallel()
	for _, file := range append(glob(t, "seed-*.txt"), "testdata/written/figures.txt", "testdata/clean/wrk.txt") {
		a := audit.Judge(read(t, file), audit.Given{})
		a.File = filepath.Base(file)
		var got bytes.Buffer
		for _, verbose := range []bool{false, true} {
			if err := audit.Write(&got, "text", a, verbose, report.TextOptions{}); err != nil {
				t.Fatal(err)
			}
			got.WriteString("\n")
		}
		golden := strings.TrimSuffix(file, ".txt") + ".golden"
		if *update {
			if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got.String()); diff != "" {
			t.Errorf("%s (-want +got)\n%s", golden, diff)
		}
	}
}

// FuzzRead reads anything: every parser has its tool's output among the seeds. It does not
// panic, what it reads has its lines in order, and its audit can be worded and written.
func FuzzRead(f *testing.F) {
	for _, pattern := range []string{"testdata/*.txt", "testdata/*/*.txt", "testdata/*/*.json"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatal(pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(text))
		}
	}
	f.Add("| Connections | Throughput | vs Previous | Latency |\n|---|---|---|---|\n| 8 | 1,000 req/s | -1% | ~4ms |\n")
	f.Add("at 250 requests per second and 4ms of CPU\n")
	f.Fuzz(func(t *testing.T, text string) {
		read, err := audit.Read(strings.NewReader(text))
		if err != nil {
			return
		}
		a := audit.Judge(read, audit.Given{Cores: 2, Connections: 8})
		if _, err := json.Marshal(a); err != nil {
			t.Fatal(err)
		}
		lines := strings.Count(text, "\n") + strings.Count(text, "\r") + 1 // old systems end lines with \r
		for i, r := range a.Runs {
			if r.Line < 1 || r.End < r.Line || r.End > lines || i > 0 && r.Line < a.Runs[i-1].Line {
				t.Fatalf("run %d has lines %d to %d of %d", i, r.Line, r.End, lines)
			}
		}
		for _, f := range a.Findings {
			if said := f.Fact().String(); said == "" || strings.Contains(said, "<no value>") || strings.HasPrefix(said, string(f.Code)) {
				t.Fatalf("%s is worded %q", f.Code, said)
			}
		}
	})
}

// A figure that Go code asks for by name is in a table, so no name is misspelt.
func TestNamesAreInTheTables(t *testing.T) {
	t.Parallel()
	var code, tables strings.Builder
	for pattern, to := range map[string]*strings.Builder{"*.go": &code, "tools/*.txt": &tables} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(file, "_test.go") {
				to.Write(text)
			}
		}
	}
	names := regexp.MustCompile(`[A-Za-z_][\w.]*`)
	known := map[string]bool{"throughput": true, "slots": true, "served": true, "served_threads": true, "open": true, "floor": true, "ceil": true, "larger": true, "middle": true, "printed": true, "line": true, "column": true, "if": true, "unless": true}
	for _, word := range names.FindAllString(tables.String(), -1) {
		known[word] = true
	}
	checks, err := os.ReadFile("findings.txt")
	if err != nil {
		t.Fatal(err)
	}
	equations := regexp.MustCompile(`\n\t\t(?:with (\w+) =|holds [\w ]+:)(.*)`).FindAllStringSubmatch(string(checks), -1)
	for _, e := range equations {
		for _, name := range names.FindAllString(e[2], -1) {
			if !known[strings.TrimPrefix(name, "before.")] {
				t.Errorf("no table has the figure %q of %q", name, e[0])
			}
		}
		known[e[1]] = true
	}
	for _, line := range regexp.MustCompile(`\n\t\tuses (.*)`).FindAllStringSubmatch(string(checks), -1) {
		for name := range strings.FieldsSeq(line[1]) {
			if !known[name] {
				t.Errorf("no table has the figure %q, which sentences use", name)
			}
		}
	}
	for _, check := range regexp.MustCompile(`\n\t(audit-[\w-]+) `).FindAllStringSubmatch(string(checks), -1) {
		if f := (fact.Fact{Code: fact.Code(check[1])}); !f.Has("") {
			t.Errorf("%s is no equation, and facts.go has no kind for it", check[1])
		}
	}
	if len(equations) < 30 {
		t.Errorf("found %d equations of checks, want 30 or more", len(equations))
	}
	asked := 0
	for _, call := range regexp.MustCompile(`\.(?:get|value|has|set|add)\(("[\w.]+"(?:, "[\w.]+")*)[,)]`).FindAllStringSubmatch(code.String(), -1) {
		for name := range strings.SplitSeq(strings.ReplaceAll(call[1], `"`, ""), ", ") {
			asked++
			if !known[strings.TrimPrefix(name, "before.")] {
				t.Errorf("no table has the figure %q", name)
			}
		}
	}
	if asked < 50 {
		t.Errorf("found %d names in the code, want 50 or more", asked)
	}
}

// A report that ends with the times of something else is still about whole requests.
func TestFindingIsAboutRequests(t *testing.T) {
	t.Parallel()
	a := judge(t, "Ended after 1s : 3 calls. qps=3\nAggregated Function Time : count 3 avg 0.01 +/- 0.001 min 0.009 max 0.011 sum 0.09\n"+
		"Connection time histogram (s) : count 1 avg 0.1 +/- 0 min 0.1 max 0.1 sum 0.1\n", audit.Given{})
	if f := a.Findings[0]; f.Code != "audit-sum" || f.Names["of"] != "" {
		t.Errorf("got %+v", f)
	}
}

// Two runs of ab whose mean rounds to 0 cannot be compared, and nothing is said of how
// the mean grew; other findings keep their lines.
func TestMeanOfZero(t *testing.T) {
	t.Parallel()
	run := func(connections, rate string) string {
		return "Concurrency Level:      " + connections + "\nTime taken for tests:   1.000 seconds\nComplete requests:      " + rate + "\nRequests per second:    " + rate +
			".00 [#/sec] (mean)\nTotal:          0    0   0.1      0       1\n\n"
	}
	other := strings.Replace(run("16", "1000"), "      1\n", "      2\n", 1)
	if a := judge(t, run("8", "1000")+other, audit.Given{}); len(a.Runs) != 2 {
		t.Fatalf("%d runs", len(a.Runs))
	}
	a := judge(t, "mean=3.0ms max=2.0ms\n\n"+run("8", "1000")+run("16", "1000"), audit.Given{})
	if f := a.Findings[0]; f.Code != "audit-order" || f.Run != 0 || f.Line != 1 {
		t.Errorf("got %+v", f)
	}
	for _, f := range a.Findings {
		if f.Run >= 0 && f.Line != a.Runs[f.Run].Line || f.Line == 0 {
			t.Errorf("%s is about run %d and has line %d", f.Code, f.Run, f.Line)
		}
	}
}

// Reading takes time in proportion to the text, whatever it nests or repeats. It is CPU time, which other programs take
// none of.
func TestReadingIsLinear(t *testing.T) {
	t.Parallel()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	used := func() time.Duration {
		var ts unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
			t.Fatal(err)
		}
		return time.Duration(ts.Nano())
	}
	for name, text := range map[string]string{
		"open braces":   strings.Repeat("{\"a\":\n", 100_000),
		"nested braces": strings.Repeat("{\"a\":\n", 9_000) + "1" + strings.Repeat("\n}", 9_000),
		"pairs":         strings.Repeat("cores: x\n", 20_000),
		"summaries":     strings.Repeat("Summary:\n", 50_000) + strings.Repeat("\n", 50_000),
		"changes":       "change=0% rate=5/s\n\n" + strings.Repeat("change=0% rate=5/s\n\n", 20_000),
	} {
		begin := used()
		if read, err := audit.Read(strings.NewReader(text)); err == nil {
			audit.Judge(read, audit.Given{})
		}
		if took := used() - begin; took > 10*time.Second {
			t.Errorf("%s: %s for %d bytes", name, took.Round(time.Millisecond), len(text))
		}
	}
}
