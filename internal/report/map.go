package report

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"schedlab/internal/record"
	"schedlab/internal/report/document"
)

// Marks of cells that no arm wins.
const (
	markSame      = "="
	markTrade     = "x"
	markOpen      = "~"
	markRefused   = "*"
	markUnreached = "."
)

// mapGrid is the map as a table: the head, then the rows with the last value of Y
// first, so that it rises upwards.
func mapGrid(m *record.Map) (rows [][]string) {
	rows = append(rows, append([]string{m.Plan.Y.Name + " \\ " + m.Plan.X.Name}, m.Plan.X.Values...))
	for y, value := range slices.Backward(m.Plan.Y.Values) {
		row := []string{value}
		for x := range m.Plan.X.Values {
			row = append(row, shorthand(m, m.At(x, y)))
		}
		rows = append(rows, row)
	}
	return rows
}

// MapText renders m for a terminal.
func MapText(w io.Writer, m *record.Map) error { return TextOptions{}.write(w, mapDocument(m)) }

// MapMarkdown renders m for an issue or a README, with its chart as map.svg beside
// it. Everything that came from outside is escaped.
func MapMarkdown(w io.Writer, m *record.Map) error { return writeMarkdown(w, mapDocument(m)) }

// MapHTML renders m as one page that needs no script; its cells link to the reports
// of their runs, which lie beside it. Everything from outside is escaped; the map
// itself lies in the page as JSON in the element with id "result".
func MapHTML(w io.Writer, m *record.Map) error { return writeHTML(w, mapDocument(m)) }

func mapDocument(m *record.Map) document.Document {
	d := document.Document{
		Name: mapTitle(m), Question: m.Question, State: mapState(m), Answer: m.Headline, Context: []string{mapPlan(m), machine(m.Env, nil)}, Data: m,
	}
	theory := document.Section{ID: "theory", Parts: []document.Part{document.Lines(theoryLines(m))}}
	dashed := ""
	if m.Theory != nil {
		theory.Title, dashed = m.Theory.Law, ", a dashed one is theory's border"
	}
	grid := document.Table{Rows: mapGrid(m), Words: true}
	var doubts document.Lines
	cells := make(document.Linked, len(m.Cells))
	for i := range m.Cells {
		c := &m.Cells[i]
		if c.Decision == record.Rejected {
			doubts = append(doubts, cellSentence(m, c))
		}
		if c.Visits > 0 {
			link := document.Link{Text: cellSentence(m, c)}
			for _, run := range c.Runs {
				link.Files = append(link.Files, run+"/report.html")
			}
			cells[c.Order-1] = link
		}
	}
	cells = slices.DeleteFunc(cells, func(l document.Link) bool { return l.Text == "" }) // not measured
	for _, x := range m.Doubts {
		doubts = append(doubts, Doubt(x))
	}
	if m.Plan.Note != "" {
		doubts = append(doubts, "note: "+m.Plan.Note)
	}
	d.Parts = []document.Part{
		document.Section{
			ID: "map", Title: "Who wins where", Parts: []document.Part{document.Charts{{
				Alt: mapTitle(m), File: "map.svg", Picture: draw("map", chartMap(m)), Instead: []document.Part{grid, document.Lines(mapLegend(m))},
			}}},
			Lead: "Pale cells are inferred: measured ones on both sides of them agree. Hatched cells lie at a border, or are undecided; " +
				"a solid line parts different verdicts" + dashed + ".",
		},
		theory,
		document.Page{document.Section{ID: "cells", Title: "Measured cells, in the order they ran", Parts: []document.Part{cells}}},
		document.Section{ID: "doubts", Title: "Reservations", Parts: []document.Part{doubts}},
		document.Section{ID: "record", Title: "Record", Parts: []document.Part{document.Commands{{Label: "data", Text: m.Dir}, {Label: "again", Text: again(m.Dir)}}}},
	}
	return d
}

// MapJSON writes the whole map, indented.
func MapJSON(w io.Writer, m *record.Map) error { return writeJSON(w, m) }

// MapCSV writes one row per cell, the first row of the map first.
func MapCSV(w io.Writer, m *record.Map) error {
	return writeCSV(w, func(put func(cells ...string)) {
		put(m.Plan.X.Name, m.Plan.Y.Name, "state", "decision", "winner", "metric", "arm", "ratio", "low", "high", "border", "short", "visits", "seconds", "run", "reason")
		for _, c := range m.Cells {
			run := ""
			if len(c.Runs) > 0 {
				run = c.Runs[len(c.Runs)-1]
			}
			put(m.Plan.X.Values[c.X], m.Plan.Y.Values[c.Y], string(c.State), string(c.Decision), c.Winner, c.Metric, c.Arm,
				quotient(c.Ratio), quotient(c.Low), quotient(c.High), strconv.FormatBool(c.Border), strings.Join(c.Short, " "),
				strconv.Itoa(c.Visits), float(c.Seconds), run, c.Reason.String())
		}
	})
}
