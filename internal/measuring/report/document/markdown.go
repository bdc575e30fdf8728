package document

import (
	"fmt"
	"strings"
)

// Markdown returns d for an issue, a commit or a README, in GitHub's dialect. Everything in it
// is escaped, and it has no control characters. Parts for a page only are left out.
func (d Document) Markdown() string {
	var m markdown
	if d.Name != "" {
		m.block("## %s", md(d.Name))
	}
	if d.Question != "" {
		m.block("*%s*", md(d.Question))
	}
	for _, s := range []string{d.State, d.Answer} {
		if s != "" {
			m.block("**%s**", md(s))
		}
	}
	var chips []string
	for _, c := range d.Chips {
		if !c.Told {
			chips = append(chips, strings.TrimSpace(fmt.Sprintf("- %s **%s** %s", md(c.Name), md(c.Mark), md(c.Text))))
		}
	}
	if chips != nil {
		m.block("%s", strings.Join(chips, "\n"))
	}
	for _, l := range d.Lead {
		m.block("%s.", md(l))
	}
	if len(d.Context) > 0 {
		m.block("%s.", md(strings.Join(d.Context, "; ")))
	}
	m.parts(d.Parts, 3)
	return Harmless(strings.Join(m.blocks, "\n\n") + "\n")
}

// A markdown collects the blocks of a report: paragraphs, headings, lists and tables. They are
// joined with empty lines, as Markdown needs between blocks.
type markdown struct{ blocks []string }

// block adds a block. The arguments must be escaped already, by md or by code.
func (m *markdown) block(format string, args ...any) {
	m.blocks = append(m.blocks, fmt.Sprintf(format, args...))
}

// parts adds the blocks of all parts that have content. level is the level of their headings.
func (m *markdown) parts(parts []Part, level int) {
	for _, p := range parts {
		if markdownFile.shows(p) {
			m.part(p, level)
		}
	}
}

// part adds the blocks of one part. Its headings have at least the given level, 1 to 6.
func (m *markdown) part(p Part, level int) {
	switch p := p.(type) {
	case Section:
		if p.Title != "" {
			m.block("%s %s", strings.Repeat("#", level), md(titled(p)))
			level++
		}
		m.parts(p.Parts, level)
	case Details:
		m.block("<details><summary>%s</summary>", md(p.Summary))
		m.parts(p.Parts, level)
		m.block("</details>")
	case Table:
		m.table(p)
	case Lines:
		list(m, p, md)
	case Note:
		m.block("%s.", md(strings.TrimSuffix(string(p), ".")))
	case Facts:
		list(m, p, func(f Fact) string { return md(f.Label) + ": " + md(f.Text) })
	case Numbered:
		n := 0
		list(m, p, func(l string) string { n++; return fmt.Sprintf("[%d] %s", n, md(l)) })
	case Findings:
		list(m, p, func(f Finding) string {
			evidence := fmt.Sprintf("`%s`: %s", code(f.Text), md(f.Reason))
			switch {
			case f.Text == "":
				evidence = md(f.Said) + "; " + md(f.Reason)
			case f.Said != "":
				evidence = fmt.Sprintf("%s (%s)", md(f.Said), evidence)
			}
			return fmt.Sprintf("**%s** %s", f.Mark, evidence)
		})
	case Commands:
		list(m, p, func(f Fact) string { return md(f.Label) + ": `" + code(f.Text) + "`" })
	case Charts:
		for _, c := range p {
			if c.File != "" {
				m.block("![%s](%s)", md(c.Alt), c.File)
				continue
			}
			m.parts(c.Instead, level)
		}
	}
}

// list adds a block with one item for each element of all.
func list[T any](m *markdown, all []T, item func(T) string) {
	items := make([]string, len(all))
	for i, x := range all {
		items[i] = "- " + item(x)
	}
	m.block("%s", strings.Join(items, "\n"))
}

// table adds a table with figures aligned right and words aligned left.
func (m *markdown) table(t Table) {
	var lines []string
	for i, row := range t.rows() {
		for k := range row {
			row[k] = md(row[k])
		}
		lines = append(lines, "| "+strings.Join(row, " | ")+" |")
		if i == 0 {
			cell := "---:|"
			if t.Words {
				cell = "---|"
			}
			lines = append(lines, "|---|"+strings.Repeat(cell, len(row)-1))
		}
	}
	m.block("%s", strings.Join(lines, "\n"))
}

// md escapes the characters that Markdown, or HTML inside it, would take for markup.
func md(s string) string {
	return strings.NewReplacer(nbsp, " ", "\\", "\\\\", "|", "\\|", "*", "\\*", "_", "\\_", "`", "\\`",
		"[", "\\[", "]", "\\]", "<", "&lt;", ">", "&gt;", "&", "&amp;", "\n", " ", "\r", " ").Replace(s)
}

// code makes s safe inside one pair of backticks.
func code(s string) string { return strings.NewReplacer("`", "'", "\n", " ", "\r", " ").Replace(s) }
