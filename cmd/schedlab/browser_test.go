package main

import (
	"bytes"
	"fmt"
	"image/color"
	"image/png"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"schedlab/internal/measuring/report"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/responses"
	"schedlab/internal/shared/stats"
)

// TestReportInBrowser opens a report in a real Chromium: its headline, its
// charts and its table are there, and it asks for nothing but itself.
func TestReportInBrowser(t *testing.T) {
	t.Parallel()
	chromium := need(t, "chromium")
	var page bytes.Buffer
	result := pictured()
	if err := report.HTML(&page, result); err != nil {
		t.Fatal(err)
	}
	site := newSite(t, page.Bytes())

	shot := filepath.Join(t.TempDir(), "shot.png")
	dom := site.open(t, chromium, "--dump-dom")
	site.open(t, chromium, "--screenshot="+shot, "--window-size=1200,3000")

	want := map[string]int{
		"<h1>" + report.Short(result) + "</h1>": 1,
		`<table class="overview">`:              1,
		`<svg class="chart zooms"`:              1 + len(stats.Quantiles()), // curves, and the blocks of each quantile
		"<figure>":                              3 + len(stats.Quantiles()), // the overview, verdicts, curves, and the blocks of each quantile
		`<table class="forest">`:                1,
		`<circle class="median`:                 2*len(result.Verdicts) + len(result.AA), // in the overview and in the forest
		`<th scope="row">p99</th>`:              len(result.Arms) - 1,                    // each arm but the baseline
	}
	for text, n := range want {
		if got := strings.Count(dom, text); got != n {
			t.Errorf("%q is %d times in the page, want %d", text, got, n)
		}
	}
	for _, figure := range strings.Split(dom, "<figure>")[1:] {
		if figure, _, _ := strings.Cut(figure, "</figure>"); !strings.Contains(figure, "<circle") && !strings.Contains(figure, `<path class="line`) {
			t.Errorf("a figure without its chart: %.200s", figure)
		}
	}
	if copies, tables := strings.Count(dom, ">Copy as CSV</button>"), strings.Count(dom, `<table class="figures">`); copies != tables || tables == 0 {
		t.Errorf("%d tables have %d buttons to copy them: the policy of the page stops its script", tables, copies)
	}
	// The command to run next is one of those that have a button.
	if copies, commands := strings.Count(dom, ">Copy</button>"), strings.Count(dom, "<dd><code>"); copies != commands || !strings.Contains(dom, "<dd><code>schedlab explain ") {
		t.Errorf("%d of %d commands have a button, want all, and the command that explains among them", copies, commands)
	}
	for _, a := range result.Arms {
		if !strings.Contains(dom, a.Name+"</th>") {
			t.Errorf("no table row for %q", a.Name)
		}
	}
	if n := colours(t, shot); n < 10 {
		t.Errorf("the screenshot has %d colours: nothing is drawn", n)
	}
	if got := site.requests(); slices.ContainsFunc(got, func(r string) bool { return r != site.page() }) || len(got) == 0 {
		t.Errorf("fetched %q, want the page alone", got)
	}
}

// The buttons of a page do what they say: an arm is hidden from its tables and from the copies of
// them, a chart is enlarged and made small by a key, and the pointer finds a value.
func TestPageButtons(t *testing.T) {
	t.Parallel()
	chromium := need(t, "chromium")
	rooms := filepath.Join(moduleRoot(t), "internal", "measuring", "report")
	script := "<script>" + read(t, filepath.Join(rooms, "document", "page.js")) + "</script>"
	page := strings.Replace(read(t, filepath.Join(rooms, "testdata", "quick.html")), "<script></script>", script, 1)
	const clicks = `<pre id="said"></pre><script>
const copied = [], all = what => [...document.querySelectorAll(what)], named = (what, text) => all(what).find(e => e.textContent.trim() === text);
Object.defineProperty(navigator, "clipboard", {value: {writeText: async text => { copied.push(text); }}});
named(".tools label", "nethttp'").querySelector("input").click();
named(".tools button", "Copy as Markdown").click();
named(".tools button", "Copy as CSV").click();
const size = named(".tools button", "Enlarge"), large = () => all("figure.large").length;
size.click();
copied.push("large " + large());
size.dispatchEvent(new KeyboardEvent("keydown", {key: "Escape", bubbles: true}));
copied.push("small " + large());
const mark = all("svg.chart title").map(t => t.parentElement).find(m => m.tagName !== "g"), box = mark.getBoundingClientRect();
mark.closest("svg").dispatchEvent(new PointerEvent("pointermove", {clientX: box.left, clientY: box.top}));
copied.push("hint " + (document.querySelector(".hint").textContent !== ""));
// The curve's nearest point has a value; a chart is zoomed by keys and by dragging, and Escape shows all of it.
const curve = document.querySelector("[data-v]"), chart = curve.closest("svg"), at = curve.getAttribute("d").match(/[-.\d]+/g).map(Number);
const place = (x, y) => { const m = chart.getScreenCTM(); return {clientX: m.a * x + m.e, clientY: m.d * y + m.f, bubbles: true, button: 0}; };
chart.dispatchEvent(new PointerEvent("pointermove", place(at[0], at[1])));
copied.push("curve " + document.querySelector(".hint").textContent);
const key = k => chart.dispatchEvent(new KeyboardEvent("keydown", {key: k, bubbles: true}));
const shown = () => chart.classList.contains("zoomed") + " " + chart.querySelectorAll(".ticks text").length;
const before = shown();
key("+"); key("+"); key("ArrowRight");
copied.push("keys " + shown());
key("Escape");
copied.push("whole " + (shown() === before));
const [left, right, roof] = chart.querySelector(".ticks").dataset.box.split(" ").map(Number);
chart.dispatchEvent(new PointerEvent("pointerdown", place(left + 100, roof + 20)));
chart.dispatchEvent(new PointerEvent("pointermove", place(left + 200, roof + 20)));
document.dispatchEvent(new PointerEvent("pointerup", place(left + 200, roof + 20)));
copied.push("drag " + shown() + " " + getComputedStyle(chart).getPropertyValue("--narrow"));
named(".tools button", "Whole axis") && all(".tools button").filter(b => b.textContent === "Whole axis" && !b.hidden).forEach(b => b.click());
copied.push("again " + (shown() === before));
document.querySelector("#said").textContent = copied.join("\n");
</script></body>`
	// Its own policy would stop the script that clicks.
	tried := strings.Replace(strings.Replace(page, "http-equiv", "name", 1), "</body>", clicks, 1)
	dom := newSite(t, []byte(tried)).open(t, chromium, "--dump-dom")
	_, said, _ := strings.Cut(dom, `<pre id="said">`)
	said, _, _ = strings.Cut(said, "</pre>")
	for _, want := range []string{"| nethttp | ", "|---|", "\nnethttp,", "\nfasthttp,", "large 1", "small 0", "hint true", "curve open: 64 at -0.03", "keys true ", "whole true", "drag true ", "again true"} {
		if !strings.Contains(said, want) {
			t.Errorf("the buttons gave %q, want %q in it", said, want)
		}
	}
	if strings.Contains(said, "nethttp'") {
		t.Errorf("the copies have the hidden arm:\n%s", said)
	}
}

// TestBrowserFetchesAreSeen is the control: what a page does fetch is seen,
// from another host as well.
func TestBrowserFetchesAreSeen(t *testing.T) {
	t.Parallel()
	chromium := need(t, "chromium")
	site := newSite(t, []byte(`<!doctype html><img src="http://elsewhere.example/x.png">`))
	site.open(t, chromium, "--dump-dom")
	if got := site.requests(); !slices.Contains(got, "elsewhere.example/x.png") {
		t.Errorf("saw %q, want elsewhere.example/x.png among them", got)
	}
}

// A site serves one page and remembers every request but those for a favicon.
// Its browsers find every host name here.
type site struct {
	server *httptest.Server
	mu     sync.Mutex
	asked  []string
}

func newSite(t *testing.T, page []byte) *site {
	s := &site{}
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/favicon.ico" {
			http.NotFound(w, r)
			return
		}
		s.mu.Lock()
		s.asked = append(s.asked, r.Host+r.URL.Path)
		s.mu.Unlock()
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Write(page)
	}))
	t.Cleanup(s.server.Close)
	return s
}

func (s *site) addr() string { return s.server.Listener.Addr().String() }
func (s *site) page() string { return s.addr() + "/report.html" }

func (s *site) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// open loads the page and returns what the browser prints.
func (s *site) open(t *testing.T, chromium string, flags ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), chromium, slices.Concat([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--disable-extensions", "--disable-default-apps", "--disable-features=NetworkTimeServiceQuerying",
		// What is left of the browser's own calls home finds nobody.
		"--host-resolver-rules=MAP *.googleapis.com ~NOTFOUND, MAP *.google.com ~NOTFOUND, MAP * " + s.addr(),
		"--user-data-dir=" + t.TempDir(),
	}, flags, []string{"http://" + s.page()})...)
	cmd.WaitDelay = 30 * time.Second // its helper processes end after it, on a busy machine much later
	return output(t, cmd)
}

// colours counts the distinct colours of a picture.
func colours(t *testing.T, name string) int {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	picture, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[color.Color]bool{}
	for y := range picture.Bounds().Dy() {
		for x := range picture.Bounds().Dx() {
			seen[picture.At(x, y)] = true
		}
	}
	return len(seen)
}

// pictured is a result with everything that is drawn: a baseline, its copy and a
// challenger with slower tails.
func pictured() *record.Comparison {
	r := &record.Comparison{
		Common: record.Common{
			Schema: record.Schema, Run: "20261121-081500-drawn-beef", Scenario: "drawn", Question: "Is it drawn?", Status: record.Complete, Window: record.Lasting(time.Second), Headline: "pool is slower than nethttp at p99",
		},
		Rate: 1000, Planned: 12, Valid: 12, Winner: record.Winner{Outcome: outcome.Yes, Arm: "nethttp"},
	}
	for i, name := range []string{"nethttp", "nethttp'", "pool"} {
		slower := 1 + 0.4*float64(i/2)
		a := record.Arm{Contestant: record.Contestant{Name: name, Mode: []string{"nethttp", "nethttp", "pool"}[i], Role: []record.Role{record.Baseline, record.Copy, record.Challenger}[i]},
			Figures: record.Figures{Goodput: new(999.), CPUPerRequest: new(2e-4), Requests: 12_000, Blocks: stats.Series{}},
		}
		h := responses.NewHistogram()
		for k := range 12_000 {
			h.Record(time.Duration(1e6 * slower * -math.Log1p(-float64(k)/12_001)))
		}
		a.Curve = h.Curve()
		for _, m := range stats.Metrics() {
			for block := range 12 {
				a.Blocks[m.Figure] = append(a.Blocks[m.Figure], 1e-3*slower*(1+0.01*float64((5*block+7*i)%12)))
			}
		}
		for _, m := range stats.Quantiles() {
			a.SetMedian(m.Figure, stats.Known(a.Blocks[m.Figure][0]))
		}
		r.Arms = append(r.Arms, a)
	}
	for _, m := range stats.Metrics() {
		v := record.Verdict{Metric: m.Figure, Primary: m.Primary, Baseline: "nethttp", Arm: "pool", Verdict: stats.Decided(stats.Slower), Ratio: 1.4, Low: 1.3, High: 1.5, Blocks: 12, Lost: 12}
		r.Verdicts = append(r.Verdicts, v)
		v.Arm, v.Verdict, v.Ratio, v.Low, v.High, v.Won, v.Lost = "nethttp'", stats.Decided(stats.Same), 1, 0.98, 1.02, 6, 6
		r.AA = append(r.AA, v)
	}
	r.Doubts = []fact.Fact{{Text: fmt.Sprintf("drawn from %d invented requests", 36_000)}}
	return r
}
