package report

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"schedlab/internal/measuring/report/chart"
	"schedlab/internal/measuring/report/golden"
	"schedlab/internal/measuring/report/say"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/responses"
)

// The lines over the clients go from the left to the right, and labels do not touch.
func TestSweepOverClients(t *testing.T) {
	t.Parallel()
	r := &record.Comparison{}
	for i, n := range []int{16, 1, 4, 64, 256, 1024, 2048} {
		clients, v := strconv.Itoa(n), .001*float64(i+1)
		r.Arms = append(r.Arms, record.Arm{
			Contestant: record.Contestant{
				Name: "goroutine,connections=" + clients, Family: "goroutine", Levels: []record.Level{{Factor: "connections", Value: clients}},
			},
			Figures: record.Figures{P50: &v, P99: &v, Goodput: new(9_000.), CPUPerRequest: &v},
		})
	}
	var labels []string
	for _, c := range sweeps(r) {
		metric, _, _ := strings.Cut(c.Caption, " over ")
		labels = append(labels, metric)
		var ticks []string
		for _, x := range c.Panels[0].X.Ticks {
			ticks = append(ticks, x.Label)
		}
		if want := []string{"1", "4", "16", "64", "256", "", "2048"}; !slices.Equal(ticks, want) {
			t.Errorf("%s: got the labels %q, want %q: two of them would touch", c.Label, ticks, want)
		}
		for _, l := range c.Panels[0].Lines {
			if !slices.IsSortedFunc(l.Points, func(a, b chart.Point) int { return cmp.Compare(a.X, b.X) }) {
				t.Errorf("%s of %s goes back and forth: %+v", c.Label, l.Name, l.Points)
			}
		}
	}
	if want := []string{"p50", "p99", "goodput", "CPU/request"}; !slices.Equal(labels, want) {
		t.Errorf("got the charts %q, want %q", labels, want)
	}
}

// Where connections come and go, every report says how many were open, accepted and done;
// an arm that told nothing has no line.
func TestConnectionsOverTime(t *testing.T) {
	t.Parallel()
	r := comingAndGoing()
	for _, format := range []string{"text", "markdown"} {
		text := section(t, rendered(t, format, r), "Connections over time")
		if !strings.Contains(text, "150") || !strings.Contains(text, "370") || strings.Contains(text, "fasthttp") {
			t.Errorf("%s: got %s", format, text)
		}
	}
	page := rendered(t, "html", r)
	for _, want := range []string{"Connections of nethttp over the window", "Connections of pool over the window"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page, "Connections of fasthttp") {
		t.Error("the page draws an arm that told nothing")
	}
	if text, want := strings.Join(strings.Fields(inBrief(t, r, 80)), " "), "nethttp 150 and 370/s, pool 30 and 250/s"; !strings.Contains(text, want) {
		t.Errorf("got %s, want %s in it", text, want)
	}
	golden.Check(t, "testdata/connections.svg", firstChart(t, page))
}

// Kept connections have nothing to tell: only the whole text and the page do.
func TestKeptConnectionsSayNothing(t *testing.T) {
	t.Parallel()
	r := quick()
	if text := rendered(t, "markdown", r) + inBrief(t, r, 100); strings.Contains(text, "Connections over time") || strings.Contains(text, "most open") {
		t.Errorf("got %s", text)
	}
	for _, format := range []string{"text", "html"} {
		if text := rendered(t, format, r); !strings.Contains(text, "Connections over time") {
			t.Errorf("%s lacks them", format)
		}
	}
}

// section is a heading of a report and what follows it, to the next.
func section(t *testing.T, text, title string) string {
	t.Helper()
	_, rest, found := strings.Cut(text, title)
	if !found {
		t.Fatalf("no %q in %s", title, text)
	}
	rest, _, _ = strings.Cut(rest, "gainst the ideal twin")
	return rest
}

// inBrief is a brief report for a terminal so wide.
func inBrief(t *testing.T, r *record.Comparison, width int) string {
	t.Helper()
	var b bytes.Buffer
	if err := Brief(&b, r, TextOptions{Width: width}); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(b.String(), say.NBSP, " ")
}

// firstChart is the first chart of connections of a page.
func firstChart(t *testing.T, page string) string {
	t.Helper()
	before, _, found := strings.Cut(page, `aria-label="Connections of`)
	if !found {
		t.Fatal("no chart")
	}
	chart, _, _ := strings.Cut(page[strings.LastIndex(before, "<svg"):], "</svg>")
	return chart + "</svg>\n"
}

// However long a run was, every request is in one cell, and one without a reply is in the row above
// all times.
func TestHeatGridHasEveryRequest(t *testing.T) {
	t.Parallel()
	for _, blocks := range []int{1, 12, 40, 700} {
		arms := []record.Arm{{Contestant: record.Contestant{Name: "a"}, Details: record.Details{Heat: heated(blocks, 0)}}, {Contestant: record.Contestant{Name: "b"}, Details: record.Details{Heat: heated(blocks, 3)}}}
		g := newHeatGrid(arms)
		if n := g.columns(); n > heatColumns || g.rows > heatRows {
			t.Errorf("%d blocks have %d columns and %d rows, want at most %d and %d", blocks, n, g.rows, heatColumns, heatRows)
		}
		for i, columns := range g.cells {
			sum, lost := 0, 0
			for _, column := range columns {
				for _, n := range column {
					sum += n
				}
				lost += column[g.rows]
			}
			if want := blocks * (responses.HeatSlices*88 + 1); sum != want || lost != blocks {
				t.Errorf("%d blocks: arm %d has %d requests in cells, %d of them without a reply, want %d and %d", blocks, i, sum, lost, want, blocks)
			}
		}
	}
	if g := newHeatGrid([]record.Arm{{Contestant: record.Contestant{Name: "a"}}}); g != nil {
		t.Errorf("nothing is known, and the grid is %+v", g)
	}
}

// Colours go from one request to the most, without a gap, and the strongest is always used.
func TestHeatColours(t *testing.T) {
	t.Parallel()
	for _, most := range []uint32{1, 2, 5, 1000} {
		c := new(responses.HeatCounts)
		c[0][30], c[3][31] = 1, most
		g := newHeatGrid([]record.Arm{{Contestant: record.Contestant{Name: "a"}, Details: record.Details{Heat: []responses.Heat{{Block: 1, Valid: true, Counts: c}}}}})
		last := len(g.bounds) - 1
		if g.bounds[0] != 1 || g.bounds[last] > int(most) || len(g.bounds) > heatSteps || g.class(last) != "heat h5" {
			t.Errorf("up to %d requests: colours begin at %d, the strongest is %s", most, g.bounds, g.class(last))
		}
	}
}

// ten are ten minutes of five arms: 120 blocks of a second.
func ten() *record.Comparison {
	r := quick()
	r.Arms = append(r.Arms, r.Arms[2])
	r.Arms[4].Name = "fasthttp-2"
	for i := range r.Arms {
		r.Arms[i].Heat = heated(120, i)
	}
	return r
}

// A page of ten minutes and five arms stays below 1.5 MB.
func TestPageOfALongRunIsSmall(t *testing.T) {
	t.Parallel()
	page := rendered(t, "html", ten())
	if most := 1_500_000; len(page) > most {
		t.Errorf("the page has %d bytes, want at most %d", len(page), most)
	}
	if n := strings.Count(page, `class="cells"`); n != 5 {
		t.Errorf("it has %d heat maps, want one for each of five arms", n)
	}
}

// BenchmarkPage renders the page of ten minutes and five arms.
func BenchmarkPage(b *testing.B) {
	r := ten()
	var w strings.Builder
	for b.Loop() {
		w.Reset()
		if err := Formats().Render(&w, "html", r); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(w.Len()), "bytes/page")
}
