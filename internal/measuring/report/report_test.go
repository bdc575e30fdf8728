package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/measuring/report/golden"
	"schedlab/internal/measuring/report/say"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

func results() map[string]*record.Comparison {
	return map[string]*record.Comparison{"quick": quick(), "interrupted": interrupted(), "hopeless": hopeless(), "killed": killed(), "swept": swept()}
}

func rendered(t *testing.T, format string, r record.Result) string {
	t.Helper()
	var b bytes.Buffer
	if err := Formats().Render(&b, format, r); err != nil {
		t.Fatalf("%s: %v", format, err)
	}
	return b.String()
}

func TestGolden(t *testing.T) {
	t.Parallel()
	extension := map[string]string{"text": "txt", "json": "json", "markdown": "md", "summary": "summary.md", "html": "html", "csv": "csv", "benchstat": "bench.txt", "hgrm": "hgrm"}
	for name, r := range results() {
		for _, f := range Formats() {
			if f.Name == "hgrm" && name != "quick" || f.Name == "json" && name != "killed" && name != "quick" || name == "swept" && f.Name != "html" && f.Name != "text" {
				continue
			}
			got := rendered(t, f.Name, r)
			golden.Check(t, filepath.Join("testdata", name+"."+extension[f.Name]), got)
		}
	}
}

// What no valid block gave is unknown, and no 0, in every format.
func TestUnknownIsNoZero(t *testing.T) {
	t.Parallel()
	r := hopeless()
	r.Valid = 0
	for i := range r.Arms {
		a := &r.Arms[i]
		a.Goodput, a.CPUPerRequest, a.XMax, a.Jain, a.Twin, a.Requests, a.Blocks = nil, nil, nil, nil, nil, 0, stats.Series{}
	}
	zero := regexp.MustCompile(`\b0(/s| s| ns)|"(goodput|cpu_per_request|x_max|jain|ratio|low|high)": 0|,0,|1/s,0|Benchmark`)
	for _, f := range Formats() {
		if f.Name == "hgrm" { // an error
			continue
		}
		text := strings.ReplaceAll(rendered(t, f.Name, r), say.NBSP, " ")
		text = regexp.MustCompile(` data-v="[^"]*"`).ReplaceAllString(text, "")      // readings of counters, which are known
		text = regexp.MustCompile(`,0,"?errors: nethttp`).ReplaceAllString(text, "") // needed
		if hit := zero.FindString(text); hit != "" {
			t.Errorf("%s has %q:\n%s", f.Name, hit, text)
		}
	}
}

// A verdict has one word, whatever reads it.
func TestOneWordForAVerdict(t *testing.T) {
	t.Parallel()
	r := quick()
	if text := rendered(t, "text", r); !strings.Contains(text, "is LOWER than nethttp in CPU per request") {
		t.Errorf("text: %s", text)
	}
	if text := rendered(t, "csv", r); !strings.Contains(text, ",LOWER,") || strings.Contains(text, "FASTER") {
		t.Errorf("csv: %s", text)
	}
}

func TestTextSaysWhatAReaderNeedsFirst(t *testing.T) {
	t.Parallel()
	text := strings.Join(strings.Fields(rendered(t, "text", quick())), " ")
	for _, want := range []string{
		"1,127 requests/s to each arm", "12 blocks, none left out", "server on CPU 0 (1 CPU, GOMAXPROCS 1)", "seed 42",
		"Verdicts (6 comparisons of times, 95 % together; 4 others, 99.2 % each)", "fasthttp is the SAME as nethttp at p99",
		"schedlab runs show schedlab-runs/20261107-123005-quick-beef --output html",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("text lacks %q:\n%s", want, text)
		}
	}
	slower := regexp.MustCompile(`pool is SLOWER than nethttp at p99: \+4\d % \(95 % interval \+\d+ % to \+\d+ %\), slower in 12 of 12 blocks`)
	if !slower.MatchString(text) {
		t.Errorf("text lacks a verdict like %s:\n%s", slower, text)
	}
}

func TestSentences(t *testing.T) {
	t.Parallel()
	v := func(verdict string, ratio, low, high float64, won, needed int, reason string) record.Verdict {
		return record.Verdict{Metric: stats.P50, Primary: true, Baseline: "a", Arm: "b", Verdict: decision(verdict), Ratio: ratio, Low: low, High: high, Blocks: 12, Won: won, Lost: 12 - won, Needed: needed, Reason: said(reason)}
	}
	for _, c := range []struct {
		v    record.Verdict
		want string
	}{
		{v("FASTER", 0.8, 0.7, 0.9, 11, 0, ""), "b is FASTER than a at p50: -20 % (95 % interval -30 % to -10 %), faster in 11 of 12 blocks"},
		{v("SLOWER", 5.25, 4, 12.5, 0, 0, ""), "b is SLOWER than a at p50: ×5.2 (95 % interval ×4.0 to ×12), slower in 12 of 12 blocks"},
		{v("SAME", 1.0001, 0.985, 1.013, 5, 0, ""), "b is the SAME as a at p50: ±0 % (95 % interval -1.5 % to +1.3 %), within ±10 %"},
		{v("open", 1.03, 0.9, 1.2, 5, 31, ""), "b against a at p50 is open after 12 blocks: +3.0 % (95 % interval -10 % to +20 %), about 31 blocks would decide"},
		{v("open", 1.03, 0.2, 9, 5, 201, ""), "b against a at p50 is open after 12 blocks: +3.0 % (95 % interval -80 % to ×9.0), --window 5.1s --budget 7m should decide"},
		{v("open", 1.03, 0.1, 9, 5, 8784, ""), "b against a at p50 is open after 12 blocks: +3.0 % (95 % interval -90 % to ×9.0), as noisy as here, no --window up to a minute would decide"},
		{v("refused", 0, 0, 0, 0, 0, "lag p99 3 ms, limit 1 ms"), "b against a at p50 is refused: lag p99 3 ms, limit 1 ms"},
		{v("", 0, 0, 0, 0, 0, ""), "b against a at p50 is refused: no reason recorded"},
		{v("FASTER", 0.8, 0.68, 0.9996, 11, 0, ""), "b is FASTER than a at p50: -20 % (95 % interval -32 % to -0.04 %), faster in 11 of 12 blocks"},
		{v("SLOWER", 1.2, 1.000004, 1.3, 1, 0, ""), "b is SLOWER than a at p50: +20 % (95 % interval +0.0004 % to +30 %), slower in 11 of 12 blocks"},
		{v("SAME", 0.98, 0.97, 0.9996, 11, 0, ""), "b is the SAME as a at p50: -2.0 % (95 % interval -3.0 % to ±0 %), within ±10 %"},
	} {
		if got := strings.ReplaceAll(sentence(&record.Comparison{Common: record.Common{Window: record.Lasting(time.Second)}, Arms: make([]record.Arm, 2)}, c.v), say.NBSP, " "); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// Only a time is faster or slower: a rate is higher, a cost lower, whichever is better.
func TestWordsOfWhatIsNoTime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		metric          stats.Figure
		verdict         string
		sentence, class string
	}{
		{stats.CPUPerRequest, "LOWER", "b is LOWER than a in CPU per request: -13 % (95 % interval -15 % to -11 %), lower in 10 of 12 blocks", "FASTER"},
		{stats.CPUPerRequest, "HIGHER", "b is HIGHER than a in CPU per request: -13 % (95 % interval -15 % to -11 %), higher in 2 of 12 blocks", "SLOWER"},
		{stats.Goodput, "HIGHER", "b is HIGHER than a in goodput: -13 % (95 % interval -15 % to -11 %), higher in 10 of 12 blocks", "FASTER"},
		{stats.Goodput, "LOWER", "b is LOWER than a in goodput: -13 % (95 % interval -15 % to -11 %), lower in 2 of 12 blocks", "SLOWER"},
		{stats.Goodput, "SAME", "b is the SAME as a in goodput: -13 % (95 % interval -15 % to -11 %), within ±3 %", "SAME"},
		{stats.P99, "FASTER", "b is FASTER than a at p99: -13 % (95 % interval -15 % to -11 %), faster in 10 of 12 blocks", "FASTER"},
	} {
		v := record.Verdict{Metric: c.metric, Baseline: "a", Arm: "b", Verdict: decision(c.verdict), Ratio: .87, Low: .85, High: .89, Blocks: 12, Won: 10, Lost: 2}
		r := &record.Comparison{}
		row := forestRowOf(r, v)
		for got, want := range map[string]string{sentence(r, v): c.sentence, row.Class: c.class} {
			if got = strings.ReplaceAll(got, say.NBSP, " "); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		}
	}
}

// A copy that could not be judged is not one that differs.
func TestControlThatWasNotJudged(t *testing.T) {
	t.Parallel()
	aa := []record.Verdict{
		{Metric: stats.P50, Baseline: "a", Arm: "a'", Verdict: decision("SAME"), Ratio: 1.01, Low: .98, High: 1.03},
		{Metric: stats.P99, Baseline: "a", Arm: "a'", Verdict: decision("refused"), Reason: said("too few requests")},
	}
	if got, want := aaBriefly(aa, 12), "a, run twice as a check, does not differ from itself in p50"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	aa[0].Verdict, aa[0].Low = decision("SLOWER"), 1.005
	if got, want := aaBriefly(aa, 12), "a, run twice as a check, DIFFERS from itself in p50, and only a difference beyond that stands"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestTinyLoss(t *testing.T) {
	t.Parallel()
	for loss, want := range map[float64]string{0: "0 %", 5e-324: "~0 %", 1e-7: "~0 %", 2e-6: "0.0002 %", .031: "3.1 %"} {
		if got := strings.ReplaceAll(lossText(loss), say.NBSP, " "); got != want {
			t.Errorf("%g: got %q, want %q", loss, got, want)
		}
	}
}

// tableRow is a row of figures, or a head.
var tableRow = regexp.MustCompile(`(\d|s|-|%)  +\S*\d|law  |goodput  |client  |ideal \(|highest  |late at p50  `)

func TestTextFitsItsWidthAndTerminal(t *testing.T) {
	t.Parallel()
	for name, r := range results() {
		r.Dir = "d"
		for _, width := range []int{60, 80, 120} {
			var b bytes.Buffer
			if err := Text(&b, r, TextOptions{Width: width}); err != nil {
				t.Fatal(err)
			}
			if strings.ContainsAny(b.String(), "\x1b\r") {
				t.Errorf("%s: control characters in plain text", name)
			}
			for line := range strings.Lines(b.String()) {
				table := tableRow.MatchString(line)
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width && !table {
					t.Errorf("%s at %d: line of %d: %q", name, width, n, line)
				}
			}
		}
	}
	var plain, coloured bytes.Buffer
	_ = Text(&plain, quick(), TextOptions{})
	_ = Text(&coloured, quick(), TextOptions{Colour: Colours})
	if !strings.Contains(coloured.String(), "\x1b[1;31mSLOWER\x1b[0m") {
		t.Error("no colour on SLOWER")
	}
	bare := regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(coloured.String(), "")
	if diff := cmp.Diff(plain.String(), bare); diff != "" {
		t.Errorf("colour changed the text: %s", diff)
	}
}

// What a record says cannot drive a terminal, in any format.
func TestNoControlCharacters(t *testing.T) {
	t.Parallel()
	const evil = "\x1b[31mevil\u009b2J\x07"
	r := quick()
	r.Scenario, r.Question, r.Note, r.Headline, r.Dir = evil, evil, evil, evil, evil
	r.Doubts = append(r.Doubts, fact.Fact{Code: "test", Arm: evil, Text: evil})
	name := r.Arms[2].Name
	r.Arms[2].Name, r.Arms[2].Role = evil, record.Challenger
	for i := range r.Verdicts {
		if v := &r.Verdicts[i]; v.Arm == name {
			v.Arm = evil
		}
	}
	for _, f := range Formats() {
		text := rendered(t, f.Name, r)
		if i := strings.IndexFunc(text, func(c rune) bool { return unicode.IsControl(c) && c != '\n' && c != '\t' }); i >= 0 && f.Name != "json" {
			t.Errorf("%s: a control character after %q", f.Name, text[max(0, i-80):i])
		}
		if f.Name != "json" && !strings.Contains(text, "evil") {
			t.Errorf("%s: the arm is not there", f.Name)
		}
	}
}

func TestJSONRoundTrips(t *testing.T) {
	t.Parallel()
	for name, want := range results() {
		text := rendered(t, "json", want)
		var got record.Comparison
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatal(err)
		}
		var before, after bytes.Buffer
		_ = json.NewEncoder(&before).Encode(want)
		_ = json.NewEncoder(&after).Encode(got)
		same := strings.NewReplacer("null", "[]").Replace
		if diff := cmp.Diff(same(before.String()), same(after.String())); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		for _, key := range []string{"arms", "verdicts", "aa", "doubts", "refused", "not_checked"} {
			if strings.Contains(text, `"`+key+`": null`) {
				t.Errorf("%s: %s is null", name, key)
			}
		}
	}
}

// Lines as golang.org/design/14313-benchmark-format has them.
func TestBenchLines(t *testing.T) {
	t.Parallel()
	line := regexp.MustCompile(`^([a-z][^\sA-Z]*: \S.*|Unit \S+ better=(lower|higher) assume=nothing|Benchmark\S+ 1( [0-9.]+ \S+)+)$`)
	figures := ""
	for _, m := range stats.Metrics() {
		figures += ` [0-9.]+ ` + regexp.QuoteMeta(m.Bench)
	}
	full := regexp.MustCompile(`^BenchmarkServe/mode=pool/scenario=quick 1` + figures + `$`)
	perArm := 0
	for l := range strings.Lines(rendered(t, "benchstat", quick())) {
		l = strings.TrimSuffix(l, "\n")
		if !line.MatchString(l) {
			t.Errorf("not a line of the benchmark format: %q", l)
		}
		if full.MatchString(l) {
			perArm++
		}
	}
	if perArm != 12 {
		t.Errorf("%d whole lines for pool, want one per block, 12", perArm)
	}
	odd := quick()
	odd.Scenario, odd.Env.CPU = "rate 7/8-2", "one\nBenchmarkForged 1 1 ns/op"
	text := rendered(t, "benchstat", odd)
	if !strings.Contains(text, "/scenario=rate_7_8-2-1 1 ") || strings.Contains(text, "\nBenchmarkForged") {
		t.Errorf("name or value not made safe:\n%.600s", text)
	}
}

func TestCSVIsRectangular(t *testing.T) {
	t.Parallel()
	rows, err := csv.NewReader(strings.NewReader(rendered(t, "csv", hopeless()))).ReadAll()
	if err != nil || len(rows) != 1+4*5 {
		t.Errorf("%d rows, %v; want a head and arms × metrics", len(rows), err)
	}
}

func TestHTMLIsSelfContainedAndEscaped(t *testing.T) {
	t.Parallel()
	for name, r := range results() {
		html := rendered(t, "html", r)
		if m := regexp.MustCompile(`(?i)(src|href)\s*=\s*"[^#"d]|https?://|@import|url\([^#]|<img|<svg onload|\son\w+="`).FindString(html); m != "" {
			t.Errorf("%s: page holds %q", name, m)
		}
		if strings.Contains(html, "ZgotmplZ") || strings.Contains(html, "<no value>") || strings.Contains(html, "NaN") {
			t.Errorf("%s: the template could not write a value", name)
		}
		if n := strings.Count(html, "<script>"); n != 1 {
			t.Errorf("%s: %d scripts, want the page's own", name, n)
		}
		data := regexp.MustCompile(`(?s)<script type="application/json" id="result">(.*?)</script>`).FindStringSubmatch(html)
		var got record.Comparison
		if data == nil || json.Unmarshal([]byte(data[1]), &got) != nil || got.Question != r.Question || len(got.Arms) != len(r.Arms) {
			t.Errorf("%s: the result cannot be read back from the page", name)
		}
		opened, closed := strings.Count(html, "<svg"), strings.Count(html, "</svg>")
		if opened != closed {
			t.Errorf("%s: %d <svg, %d </svg>", name, opened, closed)
		}
	}
}

func TestHGRMNeedsDistributions(t *testing.T) {
	t.Parallel()
	if err := hgrm(&bytes.Buffer{}, killed()); err == nil || !strings.Contains(err.Error(), "holds no distributions") {
		t.Errorf("got %v", err)
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestErrors(t *testing.T) {
	t.Parallel()
	for _, f := range Formats() {
		if err := f.Render(brokenPipe{}, quick()); !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s on a broken writer: got %v", f.Name, err)
		}
	}
	err := Formats().Render(&bytes.Buffer{}, "pdf", quick())
	if want := `unknown format "pdf": use one of text, json, markdown, summary, html, csv, benchstat, hgrm`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// A hint has the flags that would do, from the noise that was seen.
func TestHintsSayHowMuch(t *testing.T) {
	t.Parallel()
	for needed, want := range map[int]string{161: "--window 2.1s --budget 6m should decide", 4_000: "as noisy as here, no --budget up to 30m would decide", 50_000: "as noisy as here, no --window up to a minute would decide"} {
		if got := remedy(&record.Comparison{Common: record.Common{Warmup: record.Lasting(400 * time.Millisecond), Window: record.Lasting(500 * time.Millisecond)}, Arms: make([]record.Arm, 3)}, needed); got != want {
			t.Errorf("%d blocks: got %q, want %q", needed, got, want)
		}
	}
	of := doubt.Ended{Budget: 75, Blocks: 40, Open: 2, Most: 40, Window: 2.1, Needed: 341}
	ended := doubt.BudgetEnded.Of(of)
	const want = "2 verdicts are open after 40 blocks: 40 blocks, the most, are not enough; --window 2.1s --budget 5m41s should be"
	if got := ended.String(); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	// The remedy of a verdict is the doubt's where that covers it, so that a report has one estimate.
	for needed, want := range map[int]string{161: "--window 2.1s --budget 5m41s should decide", 200: "--window 2.5s --budget 6m should decide"} {
		if got := remedy(&record.Comparison{Common: record.Common{Warmup: record.Lasting(400 * time.Millisecond), Window: record.Lasting(500 * time.Millisecond), Doubts: []fact.Fact{ended}}, Arms: make([]record.Arm, 3)}, needed); got != want {
			t.Errorf("%d blocks with a doubt: got %q, want %q", needed, got, want)
		}
	}
	roomy := doubt.BudgetEnded.Of(doubt.Ended{Room: 36, Needed: 130})
	if got, want := remedy(&record.Comparison{Common: record.Common{Doubts: []fact.Fact{roomy}}}, 36), "about 36\u00a0blocks would decide (--budget 2m10s)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	of.Verdicts, of.Open = "pool in goodput", 1
	const named = "pool in goodput is open after 40 blocks: 40 blocks"
	if got := doubt.BudgetEnded.Of(of).String(); !strings.HasPrefix(got, named) {
		t.Errorf("got  %q\nwant %q", got, named)
	}
}

// A run that was interrupted says how many blocks it measured, how many the verdicts leave out, and why.
func TestInterruptedSaysWhichBlocksCount(t *testing.T) {
	t.Parallel()
	r := interrupted()
	if got, want := strings.ReplaceAll(state(r), say.NBSP, " "), "INTERRUPTED: 11 blocks measured; 1 left out of the verdicts, because of flow law (connections)"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	r.Valid, r.Ran, r.Refused = 3, 4, nil
	if got, want := strings.ReplaceAll(state(r), say.NBSP, " "), "4 blocks measured; 1 left out of the verdicts, because of trials that are missing, failed or cannot be read"; !strings.HasSuffix(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A spreadsheet computes a cell that begins with = + - or @. Text that does is marked as text; numbers
// are left alone.
func TestCSVCellsAreNoFormulas(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"=1+1": "'=1+1", "+cmd": "'+cmd", "-x": "'-x", "@SUM(A1)": "'@SUM(A1)", " =1": "' =1", "\t=1": "'\t=1", "＝1": "'＝1",
		"-1.5": "-1.5", "+3e-9": "+3e-9", "pool": "pool", "": "", "a=b": "a=b",
	} {
		var b strings.Builder
		if err := writeCSV(&b, [][]string{{in, "next"}}); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
		if err != nil || rows[0][0] != want {
			t.Errorf("%q: got %q, %v; want %q", in, rows, err, want)
		}
	}
}
