package doctor

import (
	"schedlab/internal/measuring/report/document"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/record"

	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sys/unix"

	"schedlab/internal/shared/stats"
)

var update = flag.Bool("update", false, "rewrite testdata")

var plans = []record.Plan{
	{Blocks: 40, Window: record.Lasting(quickWindow), Estimate: record.Lasting(75 * time.Second)},
	{Blocks: 40, Window: record.Lasting(fullWindow), Estimate: record.Lasting(600 * time.Second)},
}

// AA is the run of an A/A comparison.
type AA = record.Run

const fullWindow = 3600 * time.Millisecond

// alike is an A/A comparison in quick windows whose two arms differ by a factor,
// now one way and now the other.
func alike(blocks int, factor float64) AA {
	a, b := stats.Series{}, stats.Series{}
	for _, m := range stats.Metrics() {
		for i := range blocks {
			a[m.Figure] = append(a[m.Figure], 1)
			b[m.Figure] = append(b[m.Figure], math.Pow(factor, float64(1-2*(i%2))))
		}
	}
	return AA{Plan: record.Plan{Asked: "each request computes 20us and sleeps 28ms", Rate: 2500, Window: record.Lasting(quickWindow)}, Result: &record.Comparison{Ran: blocks, Valid: blocks, Arms: []record.Arm{{Figures: record.Figures{Blocks: a}}, {Figures: record.Figures{Blocks: b}}}}}
}

// The expected half-width is that of order statistics: known for two values, and
// for the normal distribution from tables (Harter 1961: the largest of ten has the mean
// 1.5388).
func TestHalfWidth(t *testing.T) {
	t.Parallel()
	// The lowest of ten is the lower value unless all are the upper one.
	want := .03 * (1 - 2/1024.)
	if got := halfWidth([]float64{.03, -.03}, 10); math.Abs(got-want) > 1e-12 {
		t.Errorf("got %v for two values, want %v", got, want)
	}
	const n = 4001
	normal := make([]float64, n)
	for i := range normal {
		normal[i] = math.Sqrt2 * math.Erfinv(2*(float64(i)+.5)/n-1)
	}
	if got := halfWidth(normal, 10); math.Abs(got-1.5388) > .002 {
		t.Errorf("got %v for the normal distribution, want 1.5388", got)
	}
	if got := halfWidth(normal, 40); got >= halfWidth(normal, 10) {
		t.Errorf("got %v for 40 blocks, want less than for 10", got)
	}
	if got, want := halfWidth(normal, 15), halfWidth(normal, 14); got != want {
		t.Errorf("got %v for 15 blocks, want %v, that of the look at 14", got, want)
	}
	if got := halfWidth(normal, 9); got != 0 {
		t.Errorf("got %v for 9 blocks, want none", got)
	}
	if got := halfWidth(nil, 12); got != 0 {
		t.Errorf("got %v from nothing, want none", got)
	}
}

// half is a judgement's half-width, NaN without one.
func half(j judgement) float64 {
	if j.HalfWidth == nil {
		return math.NaN()
	}
	return *j.HalfWidth
}

// A quantile for which windows are too short is undecided, with the window that it
// needs; one that the measured blocks have no figure of is undecided without.
func TestWhatIsNotJudgedIsUndecided(t *testing.T) {
	t.Parallel()
	slow := alike(4, 1.01)
	slow.Plan.Rate = 400 // a window of 0.5 s has 200 requests, p99 takes 1100
	for i := range slow.Comparison().Arms {
		slow.Comparison().Arms[i].Blocks[stats.P99] = nil
	}
	m := healthy(t)
	m.Noise = NewNoise("quick", []AA{slow}, plans)
	found := m.noise()
	want := "cannot tell p99 10 % apart: p99 in a quick comparison (needs windows > 2.8 s), p99 in a full comparison (not judged)"
	if text := found.Fact.String(); fit(found) != "doubt" || text != want {
		t.Errorf("got %s %q\nwant %q", fit(found), text, want)
	}
	text, err := json.Marshal(m.Noise)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Count(string(text), `"half_width"`), len(m.Noise.Judges)-2; got != want {
		t.Errorf("%d half-widths of %d judgements, want %d:\n%s", got, len(m.Noise.Judges), want, text)
	}
}

// A comparison is judged by the windows nearest its own; others count by the square
// root of their length.
func TestJudgements(t *testing.T) {
	t.Parallel()
	find := func(n *Noise, metric, comparison string) judgement {
		for _, j := range n.Judges {
			if j.Metric.String() == metric && j.Comparison == comparison {
				return j
			}
		}
		t.Fatalf("no judgement of %s by %s in %+v", metric, comparison, n)
		return judgement{}
	}
	quick := alike(4, 1.10)
	n := NewNoise("quick", []AA{quick}, plans)
	q, f := find(n, "p99", "quick"), find(n, "p99", "full")
	if half(q) < .098 || half(q) > .102 || q.Scaled {
		t.Errorf("quick: got %+v, want ±10 %%, measured", q)
	}
	scaled := math.Expm1(halfWidth([]float64{math.Log(1.1), -math.Log(1.1)}, 40) * math.Sqrt(.5/3.6))
	if math.Abs(half(f)-scaled) > 1e-9 || !f.Scaled {
		t.Errorf("full: got %+v, want %v, scaled", f, scaled)
	}
	full := alike(4, 1.02)
	full.Plan.Window = record.Lasting(fullWindow)
	if f := find(NewNoise("quick", []AA{quick, full}, plans), "p99", "full"); math.Abs(half(f)-.02) > .002 || f.Scaled {
		t.Errorf("full: got %+v, want ±2 %%, measured", f)
	}
}

// The reports of a machine with faults, in every format.
func TestGolden(t *testing.T) {
	t.Parallel()
	m := healthy(t)
	m.Out = ""
	m.Files = unix.Rlimit{Cur: 256, Max: 256}
	m.Others = others(program(1234, "hog", 1, .07))
	m.Pause = 20 * time.Millisecond
	m.Noise = NewNoise("quick", []AA{alike(4, 1.08)}, plans)
	m.Noise.Sleeps = true
	r := Examine(m)
	for _, format := range Formats(true, document.Options{}).Names() {
		var got bytes.Buffer
		if err := Formats(true, document.Options{}).Render(&got, format, r); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", "report."+format)
		if *update {
			if err := os.WriteFile(path, got.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got.String()); diff != "" {
			t.Errorf("%s differs (go test -update rewrites it): %s", path, diff)
		}
	}
	var brief bytes.Buffer
	if err := Formats(false, document.Options{}).Render(&brief, "text", r); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(strings.TrimSuffix(brief.String(), "\n"), "\n"); len(lines) > 24 || !strings.HasPrefix(lines[0], "unfit: descriptors: 256 descriptors") {
		t.Errorf("got %d lines, want 24 at most, the answer first:\n%s", len(lines), brief.String())
	}
	if err := Formats(true, document.Options{}).Render(&bytes.Buffer{}, "xml", r); err == nil || !strings.Contains(err.Error(), "text, json, markdown") {
		t.Errorf("got %v, want the known formats", err)
	}
	var back Report
	text, err := os.ReadFile(filepath.Join("testdata", "report.json"))
	if err == nil {
		err = json.Unmarshal(text, &back)
	}
	if diff := cmp.Diff(r, back, cmpopts.IgnoreUnexported(Noise{}), cmpopts.EquateEmpty(), cmpopts.IgnoreFields(fact.Fact{}, "Text")); err != nil || diff != "" {
		t.Errorf("JSON does not give the report back: %v %s", err, diff)
	}
}

// The page names every check, with what it spoils.
func TestDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "guide", "doctor.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range checks() {
		if !strings.Contains(string(page), "\n| "+c.name+" | ") {
			t.Errorf("docs/guide/doctor.md has no row for %q", c.name)
		}
	}
}

// TestNoQuantileIsQuieterThanALowerOne: four blocks whose p99 lie close together by chance do not make
// doctor promise more of p99 than of p50.
func TestNoQuantileIsQuieterThanALowerOne(t *testing.T) {
	t.Parallel()
	quick, full := alike(4, 1.02), alike(4, 1.01)
	full.Plan.Window = record.Lasting(fullWindow)
	quick.Comparison().Arms[1].Blocks[stats.P50] = []float64{1.3, 1 / 1.3, 1.3, 1 / 1.3}
	n := NewNoise("quick", []AA{quick, full}, plans)
	for _, j := range n.Judges {
		want := .02
		switch {
		case j.Comparison == "full":
			want = .01
		case j.Metric.Row().Quantile > 0: // p50's
			want = .3
		}
		if got := half(j); math.Abs(got-want) > .005 {
			t.Errorf("%s of %s: %v; want %v", j.Metric, j.Comparison, got, want)
		}
	}
}
