package audit_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/capabilities/audit"
	"schedlab/internal/measuring/report"
	"schedlab/internal/shared/outcome"
)

// answerOf returns the answer of a text's audit in one line, or the error that no run was read.
func answerOf(t *testing.T, text []byte) string {
	t.Helper()
	read, err := audit.Read(bytes.NewReader(text))
	if err != nil {
		return "error: " + err.Error()
	}
	var said strings.Builder
	a := audit.Judge(read, audit.Given{})
	if err := audit.Write(&said, "text", a, false, report.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	answer, _, _ := strings.Cut(said.String(), "\n\n")
	return strings.TrimPrefix(strings.Join(strings.Fields(answer), " "), ": ")
}

func contents(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// What honest tools print, and how it reaches a file, is read for what it is.
func TestCases(t *testing.T) {
	t.Parallel()
	const clean = "Nothing speaks against these figures"
	for file, c := range map[string]struct {
		starts string // of the answer
		has    string // a part of the answer or of a finding
		unread int    // lines
	}{
		"ab-S.txt":                                             {"Do not use the mean with this rate: no server can have so many requests in flight. 1 impossible", "2,000/s × 9 ms = 18 requests in flight", 0},
		"bombardier-bom-hides-little.txt":                      {"Do not use the mean with this rate", "requests in flight, and the connections hold 8", 0},
		"bombardier-utf8bom.txt":                               {clean, "", 0},
		"figures-decimal-comma.txt":                            {"line 1 (neu): Do not use the mean: it is 32 % of what the connections allow. 0 impossible", "the mean of 12.8 ms is 32 % of it", 0},
		"fortio-grpc.json":                                     {clean, "", 0},
		"h2load-zero.txt":                                      {"Nothing was measured: no request was answered. 0 impossible", "", 0},
		"k6-ansi.txt":                                          {clean, "in 1 run of k6.", 0},
		"k6-failed-truncated.txt":                              {clean, "in 1 run of k6.", 0},
		"k6-thresholds-full.txt":                               {clean, "in 1 run of k6.", 0},
		"oha-all-failed-inf.txt":                               {"Nothing was measured: no request was answered (200 errors). ", "in 1 run of oha.", 0},
		"oha-ansi.txt":                                         {clean, "in 1 run of oha.", 0},
		"oha-old-ratio.txt":                                    {"Do not use rate and times: 73.4 % of the replies were not good", "in 1 run of oha.", 0},
		"real-ab-S.txt":                                        {clean, "", 0},
		"real-ab-n3-median.txt":                                {clean, "3 requests are too few for a quantile", 0},
		"real-ab-timeout.txt":                                  {"error: line 5: ab gave up before it printed results (70007)", "", 0},
		"real-ab-w-html.txt":                                   {"error: line 14: this is ab's table in HTML (-w): run ab without -w", "", 0},
		"real-h2load-refused.txt":                              {"Nothing was measured: no request was answered (100 errors). ", "", 0},
		"real-hey-n3-percentiles.txt":                          {"Not one good reply: the times and the rate are those of 3 refusals. ", "3 requests are too few for a quantile", 0},
		"real-hey.csv":                                         {"error: line 1: this is hey's list of requests (-o csv): run hey without -o", "", 0},
		"real-k6-compact.txt":                                  {"Do not use rate and times: 14.3 % of the replies were not good", "in 1 run of k6.", 0},
		"real-k6-full.txt":                                     {"Do not use rate and times: 14.3 % of the replies were not good", "in 1 run of k6.", 0},
		"real-k6-tty.txt":                                      {"Do not use rate and times: ", "in 1 run of k6.", 0},
		"real-k6-machine.json":                                 {"Do not use rate and times: 14.3 % of the replies were not good", "in 1 run of k6.", 0},
		"real-vegeta-hdrplot.txt":                              {"error: line 1: this is vegeta's table of quantiles (report -type hdrplot): run 'vegeta report' without -type", "", 0},
		"real-vegeta-hist.txt":                                 {"error: line 1: this is vegeta's histogram (report -type hist): run 'vegeta report' without -type", "", 0},
		"real-vegeta-json-mean-truncated.json":                 {clean, "", 0},
		"real-ab-refused.txt":                                  {"Nothing was measured: no request was answered (15 errors). ", "", 0},
		"real-bombardier-intro-json.txt":                       {"Do not use rate and times: 37.9 % of the replies were not good", "in 1 run of bombardier.", 0},
		"real-bombardier-listed-errors-are-not-others.txt":     {clean, "5 requests are too few for a quantile", 1},
		"real-fortio-tcp.txt":                                  {clean, "1 request is too few for a quantile", 0},
		"real-fortio-size-minus-1.txt":                         {"Do not use the times: 4.52 % of the requests failed and are among them; 1 line not read", "in 1 run of fortio.", 1},
		"real-h2load-warm-up-one-more-status-than-started.txt": {clean, "in 1 run of h2load.", 1},
		"real-hey-0.1.5.txt":                                   {clean, "in 1 run of hey.", 0},
		"real-hey-refused.txt":                                 {"Nothing was measured: no request was answered (3 errors). ", "", 0},
		"real-httperf-one-connection-little.txt":               {"Do not use mean, max and quantiles above p50: 50 % of the requests failed", "in 1 run of httperf.", 0},
		"real-vegeta-error-set.txt":                            {"Do not use the times: 20 % of the requests failed and are among them. ", "in 1 run of vegeta.", 0},
		"real-vegeta-refused.json":                             {"Nothing was measured: no request was answered (496 errors). ", "", 0},
		"real-vegeta-one-request.json":                         {clean + ", but one request", "one request: no rate. vegeta does not divide by an attack of 0 s", 0},
		"real-vegeta-one-request.txt":                          {clean + ", but one request", "one request: no rate. vegeta does not divide by an attack of 0 s", 0},
		"real-wrk-lua-prints.txt":                              {clean + ", but in a closed loop", "; 5 lines not read. 0 impossible", 5},
		"real-wrk-noreply.txt":                                 {"Nothing was measured: no request was answered. 0 impossible", "", 0},
		"table-decimal-comma.md":                               {clean, "in 2 runs of table.", 0},
		"vegeta-zero.txt":                                      {"Nothing was measured: no request was answered. 0 impossible", "", 0},
		"wrk-latency-actions-timestamps.txt":                   {clean, "in 1 run of wrk.", 0},
		"wrk-latency-utf8bom.txt":                              {clean, "in 1 run of wrk.", 0},
		"wrk-zero-nan.txt":                                     {"Nothing was measured: no request was answered (200 errors). ", "200 while reading", 0},
		"wrk2-dsb-nan.txt":                                     {"Nothing was measured: no request was answered and timed. ", "60 are counted, and none of them has a time", 0},
		// The quantiles of this one contradict each other, whatever reads them.
		"k6-machine-readable.json": {"Do not use p90 and p95: they are in the wrong order. 1 impossible", "in 1 run of k6.", 0},
	} {
		text := contents(t, filepath.Join("testdata/cases", file))
		said := answerOf(t, text)
		if !strings.HasPrefix(said, c.starts) {
			t.Errorf("%s: got %q, want %q", file, said, c.starts)
		}
		read, err := audit.Read(bytes.NewReader(text))
		if err != nil {
			continue
		}
		unread, a := 0, audit.Judge(read, audit.Given{})
		for _, l := range a.NotRead {
			unread += l.End - l.Line + 1
		}
		for _, f := range a.Findings {
			said += "\n" + f.Fact().String()
		}
		if !strings.Contains(said, c.has) || unread != c.unread {
			t.Errorf("%s: got %s\nwant %q, and %d lines not read: %v", file, said, c.has, c.unread, a.NotRead)
		}
	}
}

// A number with a comma or other signs between its digits has the value that its writer means.
func TestNumbersAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{
		"12,8ms": .0128, "0,128ms": .000128, "12.8ms": .0128, "1,234ms": 1.234, "1,234.5ms": 1.2345, "1.234,5ms": 1.2345,
		"12,34,567ms": 1234.567, "1.234.567ms": 1234.567, "1'234ms": 1.234, "1234,5ms": 1.2345, "1234,567ms": 1.234567, "2m0,5s": 120.5,
	} {
		a := judge(t, "requests=7 mean="+text, audit.Given{})
		if got := a.Runs[0].Figures["mean"]; got < want*(1-1e-9) || got > want*(1+1e-9) {
			t.Errorf("%s: got %g, want %g", text, got, want)
		}
	}
	for _, text := range []string{"1,2,3ms", "1.2.3ms", "12,34,56ms"} {
		if a := judge(t, "requests=7 rate=1/s mean="+text, audit.Given{}); len(a.NotRead) != 1 || a.Runs[0].Figures["mean"] != 0 {
			t.Errorf("%s: got %v, not read %v", text, a.Runs[0].Figures, a.NotRead)
		}
	}
	a := judge(t, "requests = 12 345\nrate = 1 234,5/s\n", audit.Given{})
	if f := a.Runs[0].Figures; f["requests"] != 12345 || f["rate"] != 1234.5 {
		t.Errorf("got %v", f)
	}
}

// Little's law and the flow law are of the requests that have a time, and of figures as the tool rounds
// them; so are the answers for runs that measured nothing.
func TestHonestFigures(t *testing.T) {
	t.Parallel()
	const (
		hey = "Summary:\n  Total:\t1.0000 secs\n  Slowest:\t0.1200 secs\n  Fastest:\t0.0800 secs\n  Average:\t0.1000 secs\n  Requests/sec:\t200.0000\n\n" +
			"Status code distribution:\n  [200]\t100 responses\n\nError distribution:\n  [100]\tGet \"http://x/\": connection refused\n\n\n\n"
		vegeta = "Requests      [total, rate, throughput]  37500, 10.07, 10.07\nDuration      [total, attack, wait]      1h2m0s, 1h2m0s, 2ms\n"
		wrk    = "Running 2s test @ x\n  2 threads and 8 connections\n  Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency   900.00ms  10.00ms   1.10s    90.00%\n" +
			"    Req/Sec     9.00      2.00     10.00     80.00%\n  12 requests in 2.00s, 1.50KB read\nRequests/sec:      6.00\nTransfer/sec:     768.00B\n"
		wrk2 = "Running 5s test @ x\n  2 threads and 8 connections\n  Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency   300.00ms  10.00ms   0.40s    90.00%\n" +
			"    Req/Sec    50.00      2.00     60.00     80.00%\n  500 requests in 5.00s, 1.50KB read\nRequests/sec:    100.00\nTransfer/sec:     307.00B\n"
	)
	for name, c := range map[string]struct {
		text  string
		given audit.Given
		want  string // the codes that are no law of these figures
	}{
		"hey, half of whose requests fail at once": {hey, audit.Given{Connections: 10}, "little rate-time not-added"},
		"vegeta for more than an hour":             {vegeta, audit.Given{}, "rate-time said-twice"},
		"wrk with less than a request in a sample": {wrk, audit.Given{}, "unsteady starved-threads rate-time"},
		"oha's status with its reason":             {strings.Replace(hey, "[200]", "[200 OK]", 1), audit.Given{}, "rate-time not-added nothing"},
		"an unknown status":                        {strings.Replace(hey, "[200]", "[999]", 1), audit.Given{}, "rate-time not-added nothing"},
	} {
		for _, code := range codes(judge(t, c.text, c.given)) {
			if slices.Contains(strings.Fields(c.want), code) {
				t.Errorf("%s: found %s", name, code)
			}
		}
	}
	// What looks like wrk may be wrk2 in a short run, and is surely wrk in a longer one.
	for text, want := range map[string]outcome.Outcome{
		wrk2: outcome.Open,
		strings.NewReplacer("Running 5s", "Running 15s", "in 5.00s", "in 15.00s", "500 req", "1500 req", "1.50KB", "4.50KB").Replace(wrk2): outcome.No,
	} {
		a := judge(t, text, audit.Given{})
		i := slices.IndexFunc(a.Findings, func(f audit.Finding) bool { return f.Code == "audit-little" })
		if i < 0 || a.Findings[i].Outcome != want || strings.Contains(a.Findings[i].Fact().String(), "unless wrk2 printed it") != (want == outcome.Open) {
			t.Errorf("got %v, want little to be %s", codes(a), want)
		}
	}
	for text, want := range map[string]string{
		"requests=100 errors=100 seconds=2":                                           "Nothing was measured: no request was answered (100 errors). ",
		"requests=0 rate=0/s seconds=2":                                               "Nothing was measured: no request was answered. ",
		"requests=100 status_2xx=0 status_3xx=0 status_4xx=0 status_5xx=100 mean=1ms": "Not one good reply: the times and the rate are those of 100 refusals. ",
		"  unable to connect to 127.0.0.1:1 Connection refused\n":                     "error: line 1: wrk could not connect, so it measured nothing",
		"apr_socket_connect(): Connection refused (111)\n":                            "error: line 1: ab gave up before it printed results (111)",
	} {
		if said := answerOf(t, []byte(text)); !strings.HasPrefix(said, want) {
			t.Errorf("%q: got %q, want %q", text, said, want)
		}
	}
}

// wrappers are what editors, terminals, mail and logs do to each line or to a whole text.
func wrappers() map[string]func(text string) []byte {
	each := func(line func(i int, l string) string) func(string) []byte {
		return func(text string) []byte {
			lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
			for i, l := range lines {
				lines[i] = line(i, l)
			}
			return []byte(strings.Join(lines, "\n") + "\n")
		}
	}
	wide := func(order binary.ByteOrder, mark string) func(string) []byte {
		return func(text string) []byte {
			var out []byte
			for _, u := range utf16.Encode([]rune(mark + text)) {
				out = append(out, byte(u), byte(u>>8))
				if order == binary.BigEndian {
					n := len(out)
					out[n-2], out[n-1] = out[n-1], out[n-2]
				}
			}
			return out
		}
	}
	word := regexp.MustCompile(`\d+\.\d+`)
	return map[string]func(string) []byte{
		"UTF-8 with a mark":     func(text string) []byte { return []byte("\ufeff" + text) },
		"UTF-16LE":              wide(binary.LittleEndian, "\ufeff"),
		"UTF-16BE":              wide(binary.BigEndian, "\ufeff"),
		"UTF-16LE without mark": wide(binary.LittleEndian, ""),
		"CRLF":                  each(func(_ int, l string) string { return l + "\r" }),
		"colours":               each(func(_ int, l string) string { return word.ReplaceAllString(l, "\x1b[1;32m$0\x1b[0m") + "\x1b[K" }),
		"colours without escapes": each(func(_ int, l string) string {
			if strings.ContainsAny(l, "[{") { // where they could be the tool's
				return l
			}
			return word.ReplaceAllString(l, "[32m$0[0m")
		}),
		"escapes in words": each(func(_ int, l string) string { return word.ReplaceAllString(l, `^[[32m$0^[[0m`) }),
		"a container's log": each(func(_ int, l string) string {
			log, _ := json.Marshal(map[string]string{"log": l + "\n", "stream": "stdout", "time": "2026-11-20T08:15:00.1Z"})
			return string(log)
		}),
		"another terminal's encoding": each(func(_ int, l string) string {
			return strings.NewReplacer("µ", "┬╡", "█", "Γûê", "✓", "Γ£ô", "✗", "Γ£ù").Replace(l)
		}),
		"a quote":         each(func(_ int, l string) string { return "> " + l }),
		"a quote's quote": each(func(_ int, l string) string { return "> > " + l }),
		"a CI log":        each(func(i int, l string) string { return fmt.Sprintf("2026-11-20T08:15:%02d.%07dZ %s", i%60, i*7919, l) }),
		"a trimmed CI log": each(func(i int, l string) string {
			return strings.TrimRight(fmt.Sprintf("2026-11-20T08:15:%02d.%07dZ %s", i%60, i*7919, l), " ")
		}),
		"a job of a CI log": each(func(i int, l string) string {
			return fmt.Sprintf("bench\tRun wrk\t2026-11-20T08:15:%02d.%07dZ %s", i%60, i*7919, l)
		}),
		"Jenkins":      each(func(i int, l string) string { return fmt.Sprintf("[2026-11-20T08:15:%02d.%03dZ] %s", i%60, i%1000, l) }),
		"compose":      each(func(_ int, l string) string { return "load-1  | " + l }),
		"kubectl":      each(func(_ int, l string) string { return "[pod/load-7c9/load] " + l }),
		"syslog":       each(func(i int, l string) string { return fmt.Sprintf("Nov 20 08:15:%02d host load[123]: %s", i%60, l) }),
		"line numbers": each(func(i int, l string) string { return fmt.Sprintf("%6d\t%s", i+1, l) }),
		"an indent":    each(func(_ int, l string) string { return "    " + l }),
		"a tab":        each(func(_ int, l string) string { return "\t" + l }),
		"a list": func(text string) []byte {
			if strings.Contains(text, "\x1b") { // whose first line may be a command to the terminal alone
				return []byte(text)
			}
			begin := regexp.MustCompile(`(?m)^.*[\w{]`).FindStringIndex(text)[0]
			return []byte(text[:begin] + "- " + strings.ReplaceAll(text[begin:], "\n", "\n  "))
		},
		"hard spaces":     each(func(_ int, l string) string { return strings.ReplaceAll(l, "  ", "\u00a0 ") }),
		"trailing spaces": each(func(_ int, l string) string { return l + "   " }),
	}
}

// samples are the files in testdata that tools printed or that have their layout.
func samples(t *testing.T) (files []string) {
	t.Helper()
	for _, pattern := range []string{"clean/*", "written/*", "cases/*", "real/*/*"} {
		found, err := filepath.Glob(filepath.Join("testdata", pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, slices.DeleteFunc(found, func(f string) bool { return strings.HasSuffix(f, ".golden") })...)
	}
	if len(files) < 40 {
		t.Fatalf("%d samples", len(files))
	}
	return files
}

// Whatever is wrapped around a sample, its judgement is the same: its runs with their figures,
// its findings, and how many lines are not read.
func TestWrappedIsTheSame(t *testing.T) {
	t.Parallel()
	judged := func(text []byte) string {
		read, err := audit.Read(bytes.NewReader(text))
		if err != nil {
			return "error: " + err.Error()
		}
		a := audit.Judge(read, audit.Given{})
		unread := 0
		for _, l := range a.NotRead {
			unread += l.End - l.Line + 1
		}
		runs, err := json.MarshalIndent([]any{a.Runs, unread}, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		said := string(runs)
		for _, f := range a.Findings {
			said += fmt.Sprint("\n", f.Outcome, f.Line, ": ", f.Fact().String())
		}
		return said
	}
	all, redrawn := wrappers(), regexp.MustCompile(`(?m)^.*\r`)
	names := slices.Sorted(maps.Keys(all))
	for i, file := range samples(t) {
		text := string(contents(t, file))
		some := names
		if strings.Contains(file, "real/") { // of a dozen samples of a tool, each takes a few in turn
			some = []string{names[i%len(names)], names[(i+7)%len(names)], names[(i+14)%len(names)]}
		}
		plain := strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
		plain = redrawn.ReplaceAllString(plain, "") // for what stands before a line is overwritten as well
		want := judged([]byte(text))
		for _, name := range some {
			if got := judged(all[name](plain)); got != want {
				at := 0
				for at < min(len(got), len(want)) && got[at] == want[at] {
					at++
				}
				t.Errorf("%s in %s: got …%.200q, want …%.200q", file, name, got[max(0, at-40):], want[max(0, at-40):])
			}
		}
	}
}

// A real sample is clean as it is printed: no law calls it impossible.
func TestSamplesAreNotImpossible(t *testing.T) {
	t.Parallel()
	doctored := []string{"ab-S.txt", "bombardier-bom-hides-little.txt", "k6-machine-readable.json"}
	for _, file := range samples(t) {
		read, err := audit.Read(bytes.NewReader(contents(t, file)))
		if err != nil || slices.Contains(doctored, filepath.Base(file)) {
			continue
		}
		for _, f := range audit.Judge(read, audit.Given{}).Findings {
			if f.Outcome == outcome.No {
				t.Errorf("%s: %s", file, f.Fact().String())
			}
		}
	}
}

// What is left of a sample is no more impossible than the whole: without its head, without its
// end, or without any one of its lines, which may be what exempts the run from a law.
func TestPartsAreNotImpossible(t *testing.T) {
	t.Parallel()
	// Without one line of a list, nobody can tell a lost line from an altered figure.
	listed := regexp.MustCompile(`\[\d+\]|^spawning thread|\sinf$|^>=? |^Code |^(?:Connection time histogram|Aggregated Sleep Time|Error cases)`)
	for _, file := range samples(t) {
		text := string(contents(t, file))
		if strings.Contains(file, "real/") || len(text) > 10_000 || !strings.HasSuffix(file, ".txt") {
			continue
		}
		impossible := func(text string) (found []string) {
			read, err := audit.Read(strings.NewReader(text))
			if err != nil {
				return nil
			}
			for _, f := range audit.Judge(read, audit.Given{}).Findings {
				if f.Outcome == outcome.No {
					found = append(found, f.Fact().String())
				}
			}
			return found
		}
		if impossible(text) != nil {
			continue
		}
		lines := strings.SplitAfter(text, "\n")
		for i, l := range lines {
			if i%(1+len(lines)/40) > 0 {
				continue
			}
			for name, part := range map[string]string{
				"ends before":   strings.Join(lines[:i], ""),
				"begins behind": strings.Join(lines[i+1:], ""),
				"lacks":         strings.Join(slices.Delete(slices.Clone(lines), i, i+1), ""),
			} {
				if name == "lacks" && listed.MatchString(strings.TrimSpace(l)) {
					continue
				}
				for _, said := range impossible(part) {
					t.Errorf("%s that %s line %d, %q: %s", file, name, i+1, strings.TrimSpace(l), said)
				}
			}
		}
	}
}

// Several runs in one file are as many runs, with the figures of each, whatever stands between them and
// between the lines of one.
func TestManyRunsInOneFile(t *testing.T) {
	t.Parallel()
	figures := func(text string) (all []string) {
		read, err := audit.Read(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range audit.Judge(read, audit.Given{}).Runs {
			all = append(all, fmt.Sprint(r.Tool, r.Figures))
		}
		return all
	}
	var want []string
	var together, among, served strings.Builder
	for _, file := range glob(t, "clean/*.txt") {
		text := string(contents(t, file))
		want = append(want, figures(text)...)
		together.WriteString(text)
		among.WriteString("The run of " + file + ", as it was:\n\n" + text + "\nand so on.\n1. This went well\n2. 50% of us agree\n")
		for i, l := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
			fmt.Fprintf(&served, "load-1   | %s\n", l)
			if i%3 == 0 {
				fmt.Fprintf(&served, "server-1 | level=info msg=\"GET /%d\" took=%dms\n", i, i)
			}
		}
	}
	for name, text := range map[string]string{"together": together.String(), "among prose": among.String(), "with a server's log": served.String()} {
		if diff := cmp.Diff(want, figures(text)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}
