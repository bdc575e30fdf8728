package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"schedlab/internal/record"
)

// A MapFormat is one way to render a map.
type MapFormat struct {
	Name    string // as given to --output
	Summary string // one phrase for the help
	Render  func(w io.Writer, m *record.Map) error
}

// MapFormats returns every format of a map in presentation order.
func MapFormats() []MapFormat {
	return []MapFormat{
		{"text", "a grid of letters, for reading in a terminal", MapText},
		{"json", "the whole map, schema 1", MapJSON},
		{"markdown", "for an issue or a README", MapMarkdown},
		{"html", "one self-contained page", MapHTML},
		{"csv", "one row per cell", MapCSV},
		{"svg", "the chart alone", MapSVG},
	}
}

// RenderMap renders m in the named format. An unknown name is an error that lists
// the known ones.
func RenderMap(w io.Writer, format string, m *record.Map) error {
	var names []string
	for _, f := range MapFormats() {
		if f.Name == format {
			return f.Render(w, m)
		}
		names = append(names, f.Name)
	}
	return fmt.Errorf("unknown map format %q: use one of %s", format, strings.Join(names, ", "))
}

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
func MapText(w io.Writer, m *record.Map) error {
	m = mapInWords(m)
	return emit(w, "text", func(b *bytes.Buffer) {
		p := printer{b, TextOptions{Width: 100}}
		if s := mapState(m); s != "" {
			p.prose("", s)
		}
		p.prose("", m.Plan.Scenario+": "+m.Headline)
		for _, l := range theoryLines(m) {
			p.line("  " + l)
		}
		p.line("")
		p.prose("", mapPlan(m))
		p.prose("", machine(m.Env, nil))
		p.line("")
		p.grid(mapGrid(m))
		p.line("")
		for _, l := range mapLegend(m) {
			p.line("  " + l)
		}
		p.line("")
		for _, c := range m.Cells {
			if c.Decision == record.Rejected {
				p.prose("  ", cellSentence(m, &c))
			}
		}
		for _, d := range m.Doubts {
			p.item("Doubt", Doubt(d))
		}
		if m.Plan.Note != "" {
			p.item("Note", m.Plan.Note)
		}
		p.item("Record", m.Dir)
		p.item("Again", mapAgain(m))
	})
}

// grid prints a table with its first column to the right and two blanks between.
func (p printer) grid(rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		line := []string{strings.Repeat(" ", widths[0]-utf8.RuneCountInString(row[0])) + row[0]}
		for i, cell := range row[1:] {
			line = append(line, cell+strings.Repeat(" ", widths[i+1]-utf8.RuneCountInString(cell)))
		}
		p.line(strings.Join(line, "  "))
	}
}

// MapJSON writes the whole map, indented.
func MapJSON(w io.Writer, m *record.Map) error {
	m = mapInWords(m)
	var raw bytes.Buffer
	e := json.NewEncoder(&raw)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(m); err != nil {
		return fmt.Errorf("writing json map: %w", err)
	}
	return emit(w, "json", func(b *bytes.Buffer) { b.Write(compact(raw.Bytes())) })
}

// MapCSV writes one row per cell, the first row of the map first.
func MapCSV(w io.Writer, m *record.Map) error {
	m = mapInWords(m)
	return emit(w, "csv", func(b *bytes.Buffer) {
		out := csv.NewWriter(b)
		put := func(cells ...string) { _ = out.Write(cells) } // into memory: no error
		put(m.Plan.X.Name, m.Plan.Y.Name, "state", "decision", "winner", "metric", "arm", "ratio", "low", "high", "border", "short", "visits", "seconds", "run", "reason")
		for _, c := range m.Cells {
			run := ""
			if len(c.Runs) > 0 {
				run = c.Runs[len(c.Runs)-1]
			}
			put(m.Plan.X.Values[c.X], m.Plan.Y.Values[c.Y], string(c.State), string(c.Decision), c.Winner, c.Metric, c.Arm,
				quotient(c.Ratio), quotient(c.Low), quotient(c.High), strconv.FormatBool(c.Border), strings.Join(c.Short, " "),
				strconv.Itoa(c.Visits), float(c.Seconds), run, c.Reason.Text)
		}
		out.Flush()
	})
}

// MapMarkdown renders m for an issue or a README, with its chart as map.svg beside
// it. Everything that came from outside is escaped.
func MapMarkdown(w io.Writer, m *record.Map) error {
	m = mapInWords(m)
	return emit(w, "markdown", func(b *bytes.Buffer) {
		line := func(format string, args ...any) { fmt.Fprintf(b, format+"\n", args...) }
		line("## %s", md(mapTitle(m)))
		line("\n*%s*", md(m.Question))
		if s := mapState(m); s != "" {
			line("\n**%s**", md(s))
		}
		line("\n**%s**", md(m.Headline))
		line("\n%s; %s.", md(mapPlan(m)), md(machine(m.Env, nil)))
		line("\n![%s](map.svg)\n", md(mapTitle(m)))
		for i, row := range mapGrid(m) {
			for k, cell := range row {
				row[k] = md(cell)
			}
			line("| %s |", strings.Join(row, " | "))
			if i == 0 {
				line("|---:|%s", strings.Repeat(":---|", len(row)-1))
			}
		}
		line("")
		for _, l := range mapLegend(m) {
			line("- %s", md(l))
		}
		for i, l := range theoryLines(m) {
			if i == 0 {
				line("\n### %s\n", md(m.Theory.Law))
			}
			line("- %s", md(l))
		}
		line("\n### Reservations\n")
		for _, c := range m.Cells {
			if c.Decision == record.Rejected {
				line("- %s", md(cellSentence(m, &c)))
			}
		}
		for _, d := range m.Doubts {
			line("- %s", md(Doubt(d)))
		}
		line("\nRecord `%s`; render again with `%s`.", code(m.Dir), code(mapAgain(m)))
	})
}
