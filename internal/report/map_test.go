package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/record"
)

// atlas is a map of three by three with a cell of every kind.
func atlas() *record.Map {
	wins := func(arm string, ratio float64) record.CellVerdict {
		return record.CellVerdict{Decision: record.Wins, Winner: arm, Metric: "goodput", Arm: "pool", Ratio: ratio, Low: ratio * 0.98, High: ratio * 1.02}
	}
	same := record.CellVerdict{Decision: record.Ties, Among: []string{"nethttp", "pool"}, Metric: "goodput", Arm: "pool", Ratio: 1.001, Low: 0.99, High: 1.01}
	short := []string{"pool"}
	m := &record.Map{
		Schema: record.Schema, Name: "20261121-120000-map-demo-beef", Dir: "schedlab-runs/20261121-120000-map-demo-beef", Status: record.Partial,
		Question: "Who <wins> | where?", Arms: []string{"nethttp", "pool"}, Rate: "1500/s", Estimate: 17, Spent: 101.5,
		Started: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), Env: quick().Env,
		Plan: record.MapPlan{
			Scenario: "demo", X: record.Factor{Name: "sleep-share", Values: []string{"0.02", "0.2", "0.7"}}, Y: record.Factor{Name: "workers", Values: []string{"1", "4", "16"}},
			Metric: "goodput", Seed: 7, Budget: 120, Blocks: 10, Window: 0.3, Warmup: 0.1, Pin: "auto",
		},
		Cells: []record.Cell{
			{X: 0, Y: 0, State: record.Sampled, CellVerdict: same, Visits: 1, Order: 1, Runs: []string{"cells/x1-y1/20261121-120000-demo-0001"}, Seconds: 17},
			{X: 1, Y: 0, State: record.Sampled, CellVerdict: wins("nethttp", 0.34), Visits: 1, Order: 2, Runs: []string{"cells/x2-y1/20261121-120100-demo-0002"}, Seconds: 17, Border: true, Short: short},
			{X: 2, Y: 0, State: record.Inferred, CellVerdict: record.CellVerdict{Decision: record.Wins, Winner: "nethttp"}, Short: short},
			{X: 0, Y: 1, State: record.Inferred, CellVerdict: record.CellVerdict{Decision: record.Ties, Among: []string{"nethttp", "pool"}}},
			{X: 1, Y: 1, State: record.Sampled, CellVerdict: record.CellVerdict{Decision: record.InDoubt, Metric: "goodput", Arm: "pool", Ratio: 0.97, Low: 0.93, High: 1.01}, Visits: 2, Order: 5,
				Runs: []string{"cells/x2-y2/20261121-120200-demo-0003", "cells/x2-y2/20261121-120300-demo-0004"}, Seconds: 50.5, Border: true},
			{X: 2, Y: 1, State: record.Voided, CellVerdict: record.CellVerdict{Decision: record.Rejected, Metric: "goodput", Reason: said("drift: <p50>")}, Visits: 1, Order: 6, Seconds: 17, Short: short},
			{X: 0, Y: 2, State: record.Sampled, CellVerdict: wins("pool", 1.2), Visits: 1, Order: 3, Seconds: 17, Border: true},
			{X: 1, Y: 2, State: record.Sampled, CellVerdict: record.CellVerdict{Decision: record.Trades, Metric: "goodput", Arm: "pool", Ratio: 0.7, Low: 0.6, High: 0.8}, Visits: 1, Order: 4, Seconds: 17, Border: true},
			{X: 2, Y: 2, State: record.Unreached},
		},
		Theory: &record.Border{Law: "Little's law: workers above rate x time held", Arm: "pool", Along: "workers", Lines: []record.BorderLine{
			{Value: "0.02", Known: true, Within1: true},
			{Value: "0.2", Law: 1, From: 1, To: 2, Known: true, Within1: true},
			{Value: "0.7", Law: 2, From: 1, To: 3},
		}},
		Headline: "Of 9 cells, 5 of them measured: the rest is <inferred>.",
		Doubts:   []record.Fact{{Text: "one host & loopback"}},
	}
	return m
}

func renderedMap(t *testing.T, format string, m *record.Map) string {
	t.Helper()
	var b bytes.Buffer
	if err := MapFormats().Render(&b, format, m); err != nil {
		t.Fatalf("%s: %v", format, err)
	}
	return b.String()
}

func TestMapGolden(t *testing.T) {
	t.Parallel()
	extension := map[string]string{"text": "txt", "json": "json", "markdown": "md", "html": "html", "csv": "csv", "svg": "svg"}
	for _, f := range MapFormats() {
		got := renderedMap(t, f.Name, atlas())
		golden(t, filepath.Join("testdata", "map."+extension[f.Name]), got)
	}
}

func TestMapTextShowsEveryKindOfCell(t *testing.T) {
	t.Parallel()
	text := renderedMap(t, "text", atlas())
	for _, want := range []string{
		"PARTIAL: ", "A nethttp wins; B pool wins; = the same; x a trade; ~ undecided; * refused; . not reached",
		"\n  16  ", "B/ +20 %", "x/ -30 %", "(=)", "~/ -3.0 %", "*!", "(A)!", "A/! -66 %", "= +0.1 %",
		"sleep-share=0.2: by law between 1 and 4, measured between 1 and 4 or up to between 4 and 16",
		"sleep-share=0.7: by law between 4 and 16, no one border measured", "refused: drift",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("text lacks %q:\n%s", want, text)
		}
	}
	if rows := strings.Index(text, "\n  16  "); rows > strings.Index(text, "\n  1  ") {
		t.Errorf("the largest value of Y is not at the top:\n%s", text)
	}
}

// Figures of one metric name it once, figures of several each, as +20 % of goodput is
// the opposite of +20 % of p50; a map that was resumed says that its time is of more
// than the last budget.
func TestMapNamesMetrics(t *testing.T) {
	t.Parallel()
	m := atlas()
	m.Plan.Metric = ""
	for _, f := range []string{"text", "svg"} {
		if got := strings.ToLower(renderedMap(t, f, m)); !strings.Contains(got, "figures: pool against nethttp, goodput") || strings.Contains(got, "goodput +20") {
			t.Errorf("%s, goodput in all cells:\n%s", f, got)
		}
	}
	for i := range m.Cells {
		if m.Cells[i].Decision == record.Wins && m.Cells[i].Winner == "pool" {
			m.Cells[i].Metric = "p50"
		}
	}
	m.Sessions = 2
	text := renderedMap(t, "text", m)
	for _, want := range []string{"B/ p50 +20 %", "~/ goodput -3.0 %", "figures: pool against nethttp, the metric named: the widest that decided, or of all if none did",
		"took 102 s in 2 sessions, the last with a budget of 120 s"} {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
			t.Errorf("text lacks %q:\n%s", want, text)
		}
	}
	if svg := renderedMap(t, "svg", m); !strings.Contains(svg, ">p50 &#43;20") {
		t.Errorf("svg lacks the metric of a cell:\n%s", svg)
	}
	m.Plan.Metric = "goodput"
	if text := renderedMap(t, "text", m); !strings.Contains(text, "goodput, or what is named where an arm is overloaded") {
		t.Errorf("one metric, and another where an arm is overloaded:\n%s", text)
	}
}

func TestMapChartIsAnImageOfItsOwn(t *testing.T) {
	t.Parallel()
	svg := renderedMap(t, "svg", atlas())
	d := xml.NewDecoder(strings.NewReader(svg))
	titles := 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("not XML: %v", err)
		}
		if s, ok := token.(xml.StartElement); ok && s.Name.Local == "title" {
			titles++
		}
	}
	if titles < 1+9 {
		t.Errorf("%d titles, want one of the chart and one of each cell", titles)
	}
	if n := strings.Count(svg, `class="m-hatch"`); n != 4+2 {
		t.Errorf("%d hatched places, want 4 cells and 2 entries of the legend", n)
	}
}

func TestMapJSONAndCSVHoldEveryCell(t *testing.T) {
	t.Parallel()
	var got record.Map
	if err := json.Unmarshal([]byte(renderedMap(t, "json", atlas())), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(atlas(), &got); diff != "" {
		t.Errorf("json (want, got): %s", diff)
	}
	rows, err := csv.NewReader(strings.NewReader(renderedMap(t, "csv", atlas()))).ReadAll()
	if err != nil || len(rows) != 10 {
		t.Errorf("csv: %d rows, %v, want a head and 9 cells", len(rows), err)
	}
}

func TestRenderMapKnowsItsFormats(t *testing.T) {
	t.Parallel()
	err := MapFormats().Render(io.Discard, "xml", atlas())
	if err == nil || !strings.Contains(err.Error(), `unknown format "xml": use one of text, json, markdown, html, csv, svg`) {
		t.Errorf("got %v", err)
	}
}
