package document

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Options adapt a text to where it is read. The zero value is 100 columns without colour. A
// column is one character; wide characters, as in Chinese, count as one too.
type Options struct {
	Width  int               // columns to wrap sentences at; 0 means 100. Tables are never wrapped
	Colour map[string]string // ANSI codes by word; nil for a text without escapes
}

// Text returns d for a terminal: the question, the state, the answer with its chips and its lead, the context, and then
// the parts with an empty line before each. Sentences are wrapped at o.Width columns; tables and commands are not. Every string
// is freed from control characters, so text from outside cannot drive the terminal.
func (d Document) Text(o Options) string {
	if o.Width <= 0 {
		o.Width = 100
	}
	t := &text{Options: o}
	answer := d.Answer
	switch {
	case d.Question != "":
		t.prose("", strings.TrimPrefix(d.Name+": "+d.Question, ": "))
	case d.Name != "" && answer != "":
		answer = d.Name + ": " + answer
	}
	t.prose("", d.State)
	for _, l := range Wrap(answer, t.Width, 0) {
		if l = plain(l); o.Colour != nil {
			l = "\x1b[1m" + l + "\x1b[0m"
		}
		t.b.WriteString(l + "\n")
	}
	t.chips(d.Chips, d.Axis)
	for _, l := range d.Lead {
		t.prose("", l)
	}
	if len(d.Context) > 0 {
		t.gap()
	}
	for _, c := range d.Context {
		t.prose("", c)
	}
	for _, p := range d.Parts {
		if terminal.shows(p) {
			t.gap()
			t.part("", p)
		}
	}
	return t.b.String()
}

// A text is a document being written for a terminal. Its methods write whole lines to b. Each
// takes the indent of the part, and counts it towards the width.
type text struct {
	Options
	b strings.Builder
}

// chips writes a line for each chip, with names, words and bars in columns, and above the bars their axis. If names and marks
// leave little room, each chip's words stand below its name. If all chips are told, it writes none.
func (t *text) chips(chips []Chip, axis string) {
	if !slices.ContainsFunc(chips, func(c Chip) bool { return !c.Told }) {
		return
	}
	const room = 30 // columns that names and bars must leave for the words
	names, marks, bars := 0, 0, 0
	for _, c := range chips {
		names, marks = max(names, utf8.RuneCountInString(c.Name)), max(marks, utf8.RuneCountInString(c.Mark))
		if c.Bar != "" {
			bars = utf8.RuneCountInString(c.Bar) + 2
		}
	}
	left := t.Width - names - marks - 4
	if left < room {
		for _, c := range chips {
			t.line(c.Name+"  ", c.Mark)
			for _, l := range Wrap(c.Text, t.Width-4, 0) {
				t.line("    ", l)
			}
		}
		return
	}
	// A bar must not cost a line: if it makes words wrap, no bar is drawn.
	wraps := func(c Chip) bool {
		return len(Wrap(c.Text, left-bars, 0)) > len(Wrap(c.Text, left, 0))
	}
	if left-bars < room || slices.ContainsFunc(chips, wraps) {
		bars = 0
	}
	if bars > 0 && axis != "" {
		t.line(strings.Repeat(" ", names+marks+4)+axis, "")
	}
	for _, c := range chips {
		lines := Wrap(c.Text, left-bars, 0)
		if len(lines) == 0 {
			lines = []string{""}
		}
		for i, l := range lines {
			if i > 0 {
				c.Name, c.Mark, c.Bar = "", "", ""
			}
			gap := strings.Repeat(" ", marks-utf8.RuneCountInString(c.Mark)+2)
			if bars > 0 {
				gap += fmt.Sprintf("%-*s", bars, c.Bar)
			}
			t.line(fmt.Sprintf("%-*s  ", names, c.Name), c.Mark+gap+l)
		}
	}
}

// part writes one part, indented.
func (t *text) part(indent string, p Part) {
	switch p := p.(type) {
	case Section:
		if p.Title != "" {
			t.prose(indent, titled(p))
			indent += "  "
		}
		t.parts(indent, p.Parts)
	case Details:
		t.prose(indent, p.Summary)
		t.parts(indent+"  ", p.Parts)
	case Table:
		t.table(indent, p)
	case Lines:
		for _, l := range p {
			t.prose(indent, l)
		}
	case Note:
		t.prose(indent, string(p))
	case Facts:
		t.facts(indent, p)
	case Commands: // not wrapped, so that they can be copied
		column := labelWidth(Facts(p))
		for _, c := range p {
			t.line(indent+fmt.Sprintf("%-*s", column, c.Label)+c.Text, "")
		}
	case Numbered:
		var facts Facts
		for i, l := range p {
			facts = append(facts, Fact{fmt.Sprintf("[%d]", i+1), l})
		}
		t.facts(indent, facts)
	case Findings:
		for _, f := range p {
			said, below := f.Text, f.Reason
			if f.Said != "" {
				said = f.Said
				if f.Text != "" {
					below = f.Text + ": " + f.Reason
				}
			}
			t.prose(indent, f.Mark+" "+said)
			t.prose(indent+"        ", below)
		}
	case Charts:
		for _, c := range p {
			t.parts(indent, c.Instead)
		}
	}
}

// parts writes the parts of a section, with an empty line before notes, before sections, and
// between two lists. Facts and tables follow each other without a gap: their columns set them apart.
func (t *text) parts(indent string, parts []Part) {
	var before Part
	for _, p := range parts {
		if !terminal.shows(p) {
			continue
		}
		gap := false
		switch p.(type) {
		case Note, Section:
			gap = before != nil
		case Lines:
			_, gap = before.(Lines)
		}
		if gap {
			t.line("", "")
		}
		t.part(indent, p)
		before = p
	}
}

// titled returns a section's heading with the kind of its figures in brackets, "Figures (medians)".
func titled(s Section) string {
	if s.About == "" {
		return s.Title
	}
	return s.Title + " (" + s.About + ")"
}

// line writes one line without spaces at its end. Words in its second part get their colours;
// its first part, an indent or a label, never does.
func (t *text) line(left, words string) {
	t.b.WriteString(strings.TrimRight(plain(left)+t.paint(plain(words)), " ") + "\n")
}

// plain makes s one line without control characters.
func plain(s string) string {
	return strings.NewReplacer("\n", " ", "\t", " ", nbsp, " ").Replace(Harmless(s))
}

// gap writes an empty line, unless the text is empty.
func (t *text) gap() {
	if t.b.Len() > 0 {
		t.line("", "")
	}
}

// prose writes s, wrapped. Lines after the first are indented by two more.
func (t *text) prose(indent, s string) {
	for i, l := range Wrap(s, t.Width-len(indent), 2) {
		if i > 0 {
			l = "  " + l
		}
		t.line(indent, l)
	}
}

// facts writes the labels in one column and the sentences, wrapped, in another.
func (t *text) facts(indent string, facts Facts) {
	column := labelWidth(facts)
	before := ""
	for _, f := range facts {
		for _, l := range Wrap(f.Text, t.Width-len(indent)-column, 0) {
			label := f.Label
			if label == before {
				label = ""
			}
			before = f.Label
			t.line(indent+fmt.Sprintf("%-*s", column, label), l)
		}
	}
}

// labelWidth returns the width of the column of labels: the longest label and two spaces.
func labelWidth(facts Facts) (column int) {
	for _, f := range facts {
		column = max(column, utf8.RuneCountInString(f.Label)+2)
	}
	return column
}

// table writes a table with the first column aligned left, and figures aligned right, so that
// digits of equal weight stand above each other. With table.Below its rows are facts: the columns before the
// last one above the rest are the label, and the columns from table.Below on follow, each after its head.
func (t *text) table(indent string, table Table) {
	rows := table.rows()
	columns := len(rows[0])
	if table.Below > 0 {
		columns = table.Below - 1
	}
	widths := make([]int, columns)
	for _, row := range rows {
		for i, cell := range row[:columns] {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var facts Facts
	for k, row := range rows {
		cells := make([]string, columns)
		for i, cell := range row[:columns] {
			width := widths[i]
			if i == 0 || table.Words || table.Below > 0 {
				width = -width // aligned left
			}
			cells[i] = fmt.Sprintf("%*s", width, cell)
		}
		left := strings.Join(cells, "  ")
		// Words after the first column get the colours of sentences; without colours the line is the same.
		if table.Words && table.Below == 0 {
			t.line(indent+cells[0], "  "+strings.Join(cells[1:], "  "))
			continue
		}
		if table.Below == 0 {
			t.line(indent+left, "")
			continue
		}
		facts = append(facts, Fact{left, row[columns]})
		for i, cell := range row[table.Below:] {
			if k > 0 && cell != "" {
				facts = append(facts, Fact{left, rows[0][table.Below+i] + ": " + cell})
			}
		}
	}
	t.facts(indent, facts)
}

// rows returns a copy of the table's rows, with the numbers of their marks after the names: "pool [1,2]".
func (table Table) rows() [][]string {
	rows := make([][]string, len(table.Rows))
	for i, row := range table.Rows {
		rows[i] = append([]string{}, row...)
		if i > 0 && table.Marks != nil && len(table.Marks[i-1].Notes) > 0 {
			rows[i][0] += " " + strings.ReplaceAll(fmt.Sprint(table.Marks[i-1].Notes), " ", ",")
		}
	}
	return rows
}

// paint colours the words of s that have a colour. A colon or comma after the word is no part
// of it. Without colours it returns s.
func (t *text) paint(s string) string {
	if t.Colour == nil {
		return s
	}
	words := strings.Split(s, " ")
	for i, word := range words {
		bare := strings.TrimRight(word, ":,")
		if code, ok := t.Colour[bare]; ok {
			words[i] = "\x1b[" + code + "m" + bare + "\x1b[0m" + word[len(bare):]
		}
	}
	return strings.Join(words, " ")
}

// Wrap breaks s at spaces into lines of at most width columns. Lines after the first are
// shorter by hang, so that the caller can indent them. A longer word gets a line for itself. An
// nbsp is no space, so a number stays with its unit.
func Wrap(s string, width, hang int) (lines []string) {
	for word := range strings.FieldsFuncSeq(s, func(c rune) bool { return c == ' ' || unicode.IsControl(c) }) {
		last := len(lines) - 1
		if last > 0 {
			width, hang = width-hang, 0
		}
		if last >= 0 && utf8.RuneCountInString(lines[last])+1+utf8.RuneCountInString(word) <= width {
			lines[last] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

// Unbroken joins the words of a command, so that a text does not wrap it.
func Unbroken(command string) string { return strings.ReplaceAll(command, " ", nbsp) }

// Harmless replaces control characters by spaces, except line breaks and tabs, and drops the
// characters that change the direction of text. Text from a server or a file could otherwise hold
// escape sequences, which drive a terminal, or show figures and names in another order than they have.
func Harmless(s string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case unicode.Is(unicode.Bidi_Control, c):
			return -1
		case unicode.IsControl(c) && c != '\n' && c != '\t':
			return ' '
		}
		return c
	}, s)
}

// Cut shortens s to width columns, at least 1, and marks the cut with "…". A shorter s is
// returned unchanged, but with spaces in place of nbsp.
func Cut(s string, width int) string {
	s = strings.ReplaceAll(s, nbsp, " ")
	if runes := []rune(s); len(runes) > width {
		return strings.TrimRight(string(runes[:width-1]), " ,;:") + "…"
	}
	return s
}
