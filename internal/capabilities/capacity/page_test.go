package capacity

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"schedlab/internal/measuring/report"
	"schedlab/internal/measuring/report/golden"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

var _ report.Content = (*Search)(nil)

// said is a fact with this text; none for "".
func said(text string) fact.Fact {
	if text == "" {
		return fact.Fact{}
	}
	return fact.Fact{Code: "test", Text: text}
}

func rendered(t *testing.T, format string, r record.Result) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.Formats().Render(&b, format, r); err != nil {
		t.Fatalf("%s: %v", format, err)
	}
	return b.String()
}

// sample is a search of six arms: one with an interval, one that sheds its load
// and so breaks nothing, one whose windows were refused, one that kept nothing that can
// be judged, one that died, and one that was too slow for any window.
func sample() *Search {
	r := &Search{
		Common: record.Common{
			Schema: record.Schema, Kind: Kind, Run: "20261121-221500-capacity-cafe", Dir: "schedlab-runs/20261121-221500-capacity-cafe",
			Scenario: "capacity", Question: "How much can be promised?", Status: record.Complete, Seed: 7, Window: record.Lasting(3 * time.Second), Started: time.Date(2026, 11, 7, 12, 30, 5, 0, time.UTC),
			Env: record.Env{CPU: "Intel Xeon 2.80GHz", CPUs: 2, Virtualised: true, Kernel: "Linux 6.1.0", Clocksource: "tsc",
				Go: "go1.26.8", Version: "v0.1.0", ServerCPUs: "0", LoadCPUs: "1", ServerProcs: 1, LoadProcs: 2, GOGC: "100",
				Somaxconn: 4096, PortRange: "32768-60999", NoFile: 1048576, Load1: 0.21, PSI: "avg10=0.00", StealRatio: 0.0004, ItersPerUsec: 412.5},
			Doubts: []fact.Fact{{Arm: "pool", Text: "3 of 3 windows are refused and count for nothing, the last for foreign load"}, {Text: "one host, loopback, synthetic demand"}},
		},
	}
	window := func(trial int, purpose string, rate, p99 float64, refused string) RateWindow {
		return RateWindow{Trial: trial, Purpose: purpose, Rate: rate, Sent: rate * 1.01, Goodput: rate, Values: map[stats.Measure]float64{{Quantile: .99}: p99},
			Kept: refused == "" && p99 <= .010, Refused: said(refused)}
	}
	line := RateLine{Intercept: 625, Slope: -.22}
	at := func(rate float64) float64 { return 1 / (line.Intercept + line.Slope*rate) }
	first := ArmCapacity{
		Contestant: record.Contestant{Name: "nethttp"},
		Outcome:    outcome.Yes, Fact: said("nethttp keeps p99<=10ms up to between 2,310/s and 2,480/s"),
		Low: 2310, LowKept: 3, LowOf: 3, High: 2480, HighBroken: 2, HighOf: 2, Estimate: 2386, HalfWidth: .012, Term: "p99<=10ms",
		Line: &line, Saturation: 2841, XMax: 2950, Recovers: "yes", AgainKept: 1, AgainOf: 1, CPUPerRequest: 350e-6,
		CPURates: []float64{1475, 2480},
	}
	for i, rate := range []float64{1475, 1858, 2242, 2625, 3009, 2270, 2310, 2310, 2310, 2480, 2480} {
		purpose := []string{"curve", "curve", "curve", "curve", "curve", "near", "verify", "verify", "verify", "refute", "refute"}[i]
		p99 := at(rate)
		if rate > 2800 {
			p99 = .900 // beyond saturation, and beyond the drawing
		}
		first.Windows = append(first.Windows, window(i+1, purpose, rate, p99, ""))
	}
	shedding := ArmCapacity{
		Contestant: record.Contestant{Name: "shedding"},
		Outcome:    outcome.Yes, Stopped: "budget", Low: 9000, LowKept: 3, LowOf: 3, XMax: 2900, Recovers: outcome.Open, AgainKept: 1, AgainOf: 2,
		Fact:    said("shedding keeps p99<=10ms at 9,000/s, and nothing up to 9,000/s broke it; the budget ended there: raise --budget; recovery open: after the overload 1 of 2 windows at 9,000/s kept it, and the budget ended; 67 % of the requests get no good reply there, which no term forbids: add errors<=0.1%"),
		Windows: []RateWindow{window(12, "curve", 1500, .002, ""), window(13, "reach", 9000, .004, "")},
	}
	pool := ArmCapacity{
		Contestant: record.Contestant{Name: "pool"},
		Outcome:    outcome.Open, XMax: 2800, Fact: said("pool for p99<=10ms: open, all 3 windows are refused, the last for foreign load"),
		Windows: []RateWindow{window(14, "curve", 1400, .003, "foreign load"), {Trial: 15, Purpose: "overload", Rate: 4000, Values: map[stats.Measure]float64{{Quantile: .99}: 2}}},
	}
	late := ArmCapacity{
		Contestant: record.Contestant{Name: "late"},
		Outcome:    outcome.No, Stopped: "floor", High: 367, HighBroken: 2, HighOf: 2, XMax: 700,
		Fact:    said("late does not keep p99<=10ms at 367/s: 2 of 2 windows break it; that is the lowest rate that a window of 3 s can judge: --window 6s looks down to half of it"),
		Windows: []RateWindow{window(16, "refute", 1467, .030, "")},
	}
	frail := ArmCapacity{
		Contestant: record.Contestant{Name: "frail"},
		Outcome:    outcome.Refused, XMax: 2500, Fact: said("frail died at 2,550/s: the server ended at 2550/s (exit status 7); its log ends with: out of memory"),
		End: &record.ArmEnd{Died: true, Rate: 2550, Why: "the server ended at 2550/s (exit status 7); its log ends with: out of memory"}, Windows: []RateWindow{},
	}
	sleepy := ArmCapacity{
		Contestant: record.Contestant{Name: "sleepy"},
		Outcome:    outcome.Refused, XMax: 40, Windows: []RateWindow{},
		Fact: said("sleepy is too slow to judge: it does 40/s at most, and a window of 3 s needs 367/s to judge p99<=10ms; lengthen --window to 56s or ask for a lower quantile"),
	}
	r.SLO, r.Budget, r.Terms = "p99<=10ms", record.Lasting(time.Minute), []SLOTerm{{Text: "p99<=10ms", Term: stats.Term{Metric: stats.Measure{Quantile: .99}, Limit: .010}}}
	r.Arms = []ArmCapacity{first, shedding, pool, late, frail, sleepy}
	r.Lines = []fact.Fact{moreCapacity.Of(capacities{9000, 2480}).On("shedding").Against("nethttp")}
	for i := range r.Arms {
		a := &r.Arms[i]
		a.Mode, a.Role, a.Command, a.Answer = a.Name, record.Challenger, "schedlab serve --mode "+a.Name, outcome.Capacity.Phrase(a.Outcome)
		a.Clients = record.Clients{Loop: "open", Arrivals: "poisson", Connections: 64, KeepAlive: true}
	}
	r.Arms[0].Role = record.Baseline
	return r
}

func TestCapacityGolden(t *testing.T) {
	t.Parallel()
	r := sample()
	var brief bytes.Buffer
	if err := report.Brief(&brief, r, report.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(brief.String(), "\n"); lines > 24 { // a screen
		t.Errorf("%d lines, want 24 at most", lines)
	}
	for l := range strings.Lines(brief.String()) {
		if n := utf8.RuneCountInString(l) - 1; n > 100 {
			t.Errorf("a line of %d columns: %s", n, l)
		}
	}
	files := map[string]string{"capacity.brief.txt": brief.String()}
	for format, file := range map[string]string{"text": "capacity.txt", "json": "capacity.json", "markdown": "capacity.md", "html": "capacity.html", "csv": "capacity.csv"} {
		files[file] = rendered(t, format, r)
	}
	var svg bytes.Buffer
	if err := r.writeSVG(&svg); err != nil {
		t.Fatal(err)
	}
	files["capacity.svg"] = svg.String()
	for file, got := range files {
		golden.Check(t, filepath.Join("testdata", file), got)
	}
}

// A search that decides nothing ends its answer with the flags that would help, and a screen has room
// for them.
func TestAnUndecidedSearchKeepsItsRemedy(t *testing.T) {
	t.Parallel()
	r := sample()
	r.Arms, r.Lines = r.Arms[2:3], nil
	const remedy = "twice as much of both, --window 2s --budget 1m0s, may tell"
	long := doubt.StickyPool.Of(doubt.Sticky{Waiting: 62, Connections: 64, Workers: 2}).On("pool,workers=2")
	r.Arms[0].Fact = said(long.String() + ". nethttp for p99<=10ms,errors<=0.1%: open, 5,221/s is refuted, and no lower rate is verified (1 of 2 windows at 3,819/s kept it, and 3 of 3 have to); windows of one rate differ too much, or the budget is too small: " + remedy)
	var brief bytes.Buffer
	if err := report.Brief(&brief, r, report.TextOptions{Width: 100}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(strings.Fields(brief.String()), " "); !strings.Contains(got, remedy) {
		t.Errorf("no %q in\n%s", remedy, &brief)
	}
}

// An arm that starves clients is not ranked, and the cells of its capacity carry a mark that the page
// explains.
func TestAStarvingArmIsMarked(t *testing.T) {
	t.Parallel()
	r := sample()
	pool := r.Arms[3] // below 367/s
	pool.Name, pool.Starves = "pool,workers=2", doubt.StickyPool.Of(doubt.Sticky{Waiting: 62, Connections: 64, Workers: 2}).On("pool,workers=2")
	r.Arms, r.Lines = []ArmCapacity{r.Arms[0], pool}, nil
	if got, want := r.Found(), "nethttp keeps p99<=10ms up to between 2,310/s and 2,480/s."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	var brief bytes.Buffer
	if err := report.Brief(&brief, r, report.TextOptions{Width: 200}); err != nil {
		t.Fatal(err)
	}
	for form, text := range map[string]string{"text": rendered(t, "text", r), "markdown": rendered(t, "markdown", r), "brief": brief.String()} {
		for _, want := range []string{"none†", "700/s†", "† pool,workers=2: of 2 clients only, because it starves 62 of 64 kept connections; it is compared with no other arm; " +
			"none: with 64 clients it missed p99<=10ms at 367/s already, the lowest rate that was tried, and a lower one would starve the same clients"} {
			if said := strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "&lt;", "<"); !strings.Contains(said, want) {
				t.Errorf("%s: no %q in\n%s", form, want, text)
			}
		}
		if strings.Contains(text, "most capacity") {
			t.Errorf("%s: an arm that starves clients is ranked:\n%s", form, text)
		}
	}
	if fed := rendered(t, "text", sample()); strings.Contains(fed, ofSome) {
		t.Errorf("a mark without an arm that starves clients:\n%s", fed)
	}
}

// An interval that ends above X_max is explained, on the screen too; one with its low end above it has a doubt instead.
func TestAnIntervalAboveXMaxIsExplained(t *testing.T) {
	t.Parallel()
	for xmax, want := range map[float64]bool{2479: true, 2310: true, 2480: false, 2309: false, 0: false} {
		r := sample()
		r.Arms[0].XMax = xmax
		var brief bytes.Buffer
		if err := report.Brief(&brief, r, report.TextOptions{Width: 200}); err != nil {
			t.Fatal(err)
		}
		for form, text := range map[string]string{"text": rendered(t, "text", r), "markdown": rendered(t, "markdown", r), "brief": brief.String()} {
			said := strings.Contains(strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "\\", ""), "nethttp: the interval reaches above the rate of the closed loop")
			if said != want {
				t.Errorf("%s with an X_max of %v/s: explained is %v, want %v:\n%s", form, xmax, said, want, text)
			}
		}
	}
}

func TestCapacityDrawingIsXMLWithEveryWindow(t *testing.T) {
	t.Parallel()
	r := sample()
	var svg bytes.Buffer
	if err := r.writeSVG(&svg); err != nil {
		t.Fatal(err)
	}
	circles, paths := 0, 0
	d := xml.NewDecoder(&svg)
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok {
			switch start.Name.Local {
			case "circle":
				circles++
			case "path":
				paths++
			}
		}
	}
	// All but the overload; the fit.
	if circles != 15 || paths != 1 {
		t.Errorf("%d windows and %d paths are drawn, want 15 and 1", circles, paths)
	}
}

func TestCapacityHasNoBlocksToRender(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"benchstat", "hgrm"} {
		var b bytes.Buffer
		if err := report.Formats().Render(&b, format, sample()); err == nil || !strings.Contains(err.Error(), "compares no blocks") || b.Len() > 0 {
			t.Errorf("%s: error %v and %d bytes, want a refusal", format, err, b.Len())
		}
	}
}

func TestCapacityJSONRoundTrip(t *testing.T) {
	t.Parallel()
	r := sample()
	back := new(Search)
	if err := json.Unmarshal([]byte(rendered(t, "json", r)), back); err != nil {
		t.Fatal(err)
	}
	r.Headline, r.NotChecked = report.Headline(r), []string{} // as JSON has them
	if diff := cmp.Diff(r, back, cmpopts.IgnoreFields(fact.Fact{}, "Text")); diff != "" {
		t.Error(diff)
	}
}

func TestCapacityWithoutATimeHasNoDrawing(t *testing.T) {
	t.Parallel()
	r := sample()
	r.Terms = []SLOTerm{{Text: "errors<=1%", Term: stats.Term{Metric: stats.Measure{Figure: stats.Errors}, Limit: .01}}}
	if charts := rateCharts(r, 0); charts != nil {
		t.Errorf("%d charts of a search for errors alone", len(charts))
	}
	if strings.Contains(rendered(t, "html", r), `id="h-curves"`) {
		t.Error("the page has an empty section")
	}
}

// A count of windows at a rate that was not settled names the rate.
func TestCapacityTableNamesTheRateTried(t *testing.T) {
	t.Parallel()
	r := sample()
	r.Arms = []ArmCapacity{{
		Contestant: record.Contestant{Name: "pool"},
		Outcome:    outcome.Open, High: 900, HighBroken: 2, HighOf: 2, LowKept: 2, LowOf: 2,
		Windows: []RateWindow{{Purpose: "refute", Rate: 900}, {Purpose: "verify", Rate: 800, Kept: true}},
	}}
	if row := r.table()[1]; row[1] != "open: below 900/s" || row[3] != "2 of 2 at 800/s" || row[4] != "2 of 2" {
		t.Errorf("got %q", row)
	}
}
