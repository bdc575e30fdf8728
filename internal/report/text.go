package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// TextOptions fit a text report to where it is read.
type TextOptions struct {
	Width  int  // columns to wrap prose at; 0 means 100. Tables are never wrapped
	Colour bool // bold and coloured verdicts by ANSI escapes; for terminals only
}

// Text renders r for a terminal: context, figures, the answer, the verdicts
// and every reservation.
func Text(w io.Writer, r *record.Result, o TextOptions) error {
	r = InWords(r)
	if o.Width <= 0 {
		o.Width = 100
	}
	if r.Capacity != nil {
		return capacityText(w, r, o)
	}
	return emit(w, "text", func(b *bytes.Buffer) {
		p := printer{b, o}
		p.context(r)
		if len(r.Arms) > 0 {
			p.line("")
			p.arms(r)
			p.remarks(r)
		}
		p.verdicts(r)
		p.breakdowns(r)
		p.twins(r)
		p.expectations(r)
		p.theory(r)
		p.scales(r)
		p.reservations(r)
		p.line("")
		p.item("Record", r.Dir)
		p.item("Again", again(r))
	})
}

// A printer puts lines into a buffer.
type printer struct {
	b *bytes.Buffer
	o TextOptions
}

func (p printer) line(s string) {
	p.b.WriteString(strings.TrimRight(strings.ReplaceAll(s, nbsp, " "), " ") + "\n")
}

// bold prints an answer's lines.
func (p printer) bold(lines []string) {
	for _, l := range lines {
		if p.o.Colour {
			l = "\x1b[1m" + l + "\x1b[0m"
		}
		p.line(l)
	}
}

// prose wraps s, its later lines indented two further than indent.
func (p printer) prose(indent, s string) {
	for i, l := range wrap(s, p.o.Width-len(indent), 2) {
		if i > 0 {
			l = "  " + l
		}
		p.line(indent + p.paint(l))
	}
}

// item is prose with a label in a column of its own.
func (p printer) item(label, s string) {
	for i, l := range wrap(s, p.o.Width-10, 0) {
		if i > 0 {
			label = ""
		}
		p.line(fmt.Sprintf("%-9s %s", label, p.paint(l)))
	}
}

// paint colours the verdict words of one line.
func (p printer) paint(s string) string {
	if !p.o.Colour {
		return s
	}
	words := strings.Split(s, " ")
	for i, word := range words {
		bare := strings.TrimRight(word, ":,")
		code, ok := map[string]string{
			string(stats.Faster): "1;34", string(stats.Slower): "1;31", string(stats.Same): "1",
			"HIGHER": "1", "LOWER": "1", string(stats.Inconclusive): "1;33", string(stats.Refused): "1;35",
			"INTERRUPTED": "1;35", "INCOMPLETE": "1;35", "PARTIAL": "1;35", "STARVED": "1;31",
		}[bare]
		if ok {
			words[i] = "\x1b[" + code + "m" + bare + "\x1b[0m" + word[len(bare):]
		}
	}
	return strings.Join(words, " ")
}

func (p printer) context(r *record.Result) {
	title := r.Scenario
	if r.Question != "" {
		title += ": " + r.Question
	}
	p.prose("", title)
	if s := state(r); s != "" {
		p.prose("", s)
	}
	p.prose("", offered(r))
	p.prose("", machine(r.Env, r.Arms))
}

// arms prints the arms by their figures, with the numbers of their doubts.
func (p printer) arms(r *record.Result) {
	columns := [][]string{{"arm"}}
	for _, a := range r.Arms {
		name := a.Name
		if n := notes(r, a.Name); len(n) > 0 {
			name += " " + strings.ReplaceAll(fmt.Sprint(n), " ", ",")
		}
		columns[0] = append(columns[0], name)
	}
	for _, m := range metrics() {
		columns = append(columns, append([]string{m.label}, m.cells(r.Arms)...))
	}
	p.columns(append(columns, extras(r.Arms)...))
}

// remarks says what speaks against the figures, and what went wrong with requests.
func (p printer) remarks(r *record.Result) {
	lines := complaints(r.Arms)
	if r.Valid > 0 {
		lines = append([]string{mediansOf(r) + "."}, lines...)
	}
	for i, l := range lines {
		if i == 0 {
			p.line("")
		}
		p.prose("", l)
	}
}

// mediansOf says what the table of arms holds, without a full stop.
func mediansOf(r *record.Result) string {
	if c := caveat(r); c != "" {
		return "Medians over the blocks. These figures are " + c
	}
	return "Medians over the blocks; a verdict's change is the median of the blocks' own ratios"
}

// table prints rows as columns does columns.
func (p printer) table(rows [][]string) {
	columns := make([][]string, len(rows[0]))
	for i := range columns {
		for _, row := range rows {
			columns[i] = append(columns[i], row[i])
		}
	}
	p.columns(columns)
}

// columns prints a table, its first column to the left and the others to the
// right.
func (p printer) columns(columns [][]string) {
	for row := range columns[0] {
		var line strings.Builder
		for i, column := range columns {
			width := 0
			for _, cell := range column {
				width = max(width, utf8.RuneCountInString(cell))
			}
			gap := strings.Repeat(" ", width-utf8.RuneCountInString(column[row]))
			if i == 0 {
				line.WriteString(column[row] + gap)
			} else {
				line.WriteString("  " + gap + column[row])
			}
		}
		p.line(line.String())
	}
}

func (p printer) verdicts(r *record.Result) {
	if r.Headline != "" {
		p.line("")
		p.bold(wrap(r.Headline, p.o.Width, 0))
	}
	if len(r.Verdicts) == 0 {
		return
	}
	p.line("")
	if refused := allRefused(r); refused != "" {
		p.prose("", refused)
		return
	}
	p.prose("", "Verdicts ("+conditions(r)+")")
	for i, group := range byArm(r.Verdicts) {
		if i > 0 {
			p.line("")
		}
		for _, l := range sentences(group) {
			p.prose("  ", l)
		}
	}
}

// breakdowns prints where the time went.
func (p printer) breakdowns(r *record.Result) {
	tables := breakdowns(r)
	for _, b := range tables {
		p.line("")
		p.prose("", "Where the time went "+b.title())
		p.rows(b.cells())
		for _, l := range b.Differences {
			p.prose("  ", l)
		}
	}
	if l := legend(r, tables); l != "" {
		p.line("")
		p.prose("  ", l)
	}
	if s := coverage(r); s != "" {
		p.prose("", s)
	}
}

// rows prints a table within a section: a head, then a line for each arm.
func (p printer) rows(rows [][]string) {
	columns := make([][]string, len(rows[0]))
	for i := range columns {
		for k, row := range rows {
			cell := row[i]
			if i == 0 {
				cell = "  " + cell
			}
			if i == 0 && k == 0 {
				cell = ""
			}
			columns[i] = append(columns[i], cell)
		}
	}
	p.columns(columns)
}

func (p printer) theory(r *record.Result) {
	lines := predictions(r)
	if len(lines) == 0 {
		return
	}
	p.line("")
	p.prose("", "Theory, from measured arrivals, demands and CPU time, against the measurement ("+overBlocks("medians", "")+")")
	for _, l := range lines {
		p.prose("  ", l)
	}
}

func (p printer) reservations(r *record.Result) {
	p.line("")
	p.item("A/A", controls(r.AA))
	if g := generator(r); g != "" {
		p.item("Generator", g)
	}
	if l := disturbed(r.Arms); l != "" {
		p.item("Disturbed", l)
	}
	if l := laws(r.Laws); l != "" {
		p.item("Laws", l)
	}
	for i, l := range fairness(r.Arms) {
		p.item(first(i, "Fairness"), l)
	}
	for i, l := range sessions(r.Arms) {
		p.item(first(i, "Sessions"), l)
	}
	for i, d := range r.Doubts {
		p.item(fmt.Sprintf("[%d]", i+1), Doubt(d))
	}
	for i, l := range refusals(r.Refused) {
		p.item(first(i, "Left out"), l)
	}
	if len(r.NotChecked) > 0 {
		p.item("Unchecked", "rules that were not checked: "+strings.Join(r.NotChecked, "; "))
	}
	if r.Note != "" {
		p.item("Note", r.Note)
	}
}

// first is the label for the first of several items, and nothing for the rest.
func first(i int, label string) string {
	if i > 0 {
		return ""
	}
	return label
}

// wrap breaks s at spaces into lines of at most width columns, those after the
// first shorter by hang; a longer word keeps a line of its own. Control characters, which could drive a terminal,
// become spaces.
func wrap(s string, width, hang int) []string {
	s = strings.Map(func(c rune) rune {
		if c < ' ' || c >= 0x7f && c < 0xa0 {
			return ' '
		}
		return c
	}, s)
	var lines []string
	var line string
	for word := range strings.SplitSeq(s, " ") {
		switch {
		case word == "":
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			if len(lines) == 0 {
				width -= hang
			}
			lines = append(lines, line)
			line = word
		}
	}
	if line == "" {
		return lines
	}
	return append(lines, line)
}
