package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"schedlab/internal/record"
)

// Markdown renders r for an issue, a commit or a README. Everything that came
// from outside is escaped.
func Markdown(w io.Writer, r *record.Result) error {
	r = InWords(r)
	if r.Capacity != nil {
		return capacityMarkdown(w, r)
	}
	return emit(w, "markdown", func(b *bytes.Buffer) {
		line := func(format string, args ...any) {
			fmt.Fprintf(b, format+"\n", args...)
		}
		line("## %s", md(r.Scenario))
		if r.Question != "" {
			line("\n*%s*", md(r.Question))
		}
		if s := state(r); s != "" {
			line("\n**%s**", md(s))
		}
		if r.Headline != "" {
			line("\n**%s**", md(r.Headline))
		}
		line("\n%s; %s.", md(offered(r)), md(machine(r.Env, r.Arms)))
		if len(r.Arms) > 0 {
			line("")
			markdownArms(line, r)
			line("")
			if r.Valid > 0 {
				line("- %s", md(mediansOf(r)))
			}
			for _, c := range complaints(r.Arms) {
				line("- %s", md(c))
			}
		}
		if len(r.Verdicts) > 0 {
			line("\n### Verdicts (%s)\n", md(conditions(r)))
			markdownVerdicts(line, r)
		}
		tables := breakdowns(r)
		for _, b := range tables {
			line("\n### Where the time went %s\n", md(b.title()))
			markdownRows(line, b.cells())
			for i, l := range b.Differences {
				if i == 0 {
					line("")
				}
				line("- %s", md(l))
			}
		}
		if l := legend(r, tables); l != "" {
			line("\n%s.", md(l))
		}
		if s := coverage(r); s != "" {
			line("\n%s.", md(s))
		}
		markdownTwins(line, r)
		markdownExpectations(line, r)
		for i, l := range predictions(r) {
			if i == 0 {
				line("\n### Theory against measurement (%s)\n", overBlocks("medians", ""))
			}
			line("- %s", md(l))
		}
		markdownScales(line, r)
		line("\n### Reservations\n")
		line("- A/A: %s", md(controls(r.AA)))
		if g := generator(r); g != "" {
			line("- generator: %s", md(g))
		}
		if l := disturbed(r.Arms); l != "" {
			line("- disturbed: %s", md(l))
		}
		if l := laws(r.Laws); l != "" {
			line("- laws: %s", md(l))
		}
		for _, l := range fairness(r.Arms) {
			line("- fairness: %s", md(l))
		}
		for _, l := range sessions(r.Arms) {
			line("- sessions: %s", md(l))
		}
		for i, d := range r.Doubts {
			of := ""
			if d.Arm != "" {
				of = md(d.Arm) + ": "
			}
			line("- [%d] %s%s", i+1, of, md(d.Text))
		}
		for _, l := range refusals(r.Refused) {
			line("- left out: %s", md(l))
		}
		if len(r.NotChecked) > 0 {
			line("- not checked: %s", md(strings.Join(r.NotChecked, "; ")))
		}
		if r.Note != "" {
			line("- note: %s", md(r.Note))
		}
		line("\nRecord `%s`; render again with `%s`.", code(r.Dir), code(again(r)))
	})
}

func markdownVerdicts(line func(string, ...any), r *record.Result) {
	if refused := allRefused(r); refused != "" {
		line("%s.", md(refused))
		return
	}
	for _, group := range byArm(r.Verdicts) {
		for _, l := range sentences(group) {
			line("- %s", md(l))
		}
	}
}

// markdownRows is a table: a head, then a line for each arm.
func markdownRows(line func(string, ...any), rows [][]string) {
	for i, row := range rows {
		cells := make([]string, len(row))
		for k, cell := range row {
			cells[k] = md(cell)
		}
		line("| %s |", strings.Join(cells, " | "))
		if i == 0 {
			line("|---|%s", strings.Repeat("---:|", len(row)-1))
		}
	}
}

func markdownArms(line func(string, ...any), r *record.Result) {
	head, rule := "| arm |", "|---|"
	rows := make([]string, len(r.Arms))
	for i, a := range r.Arms {
		rows[i] = "| " + md(a.Name)
		for _, n := range notes(r, a.Name) {
			rows[i] += fmt.Sprintf(" [%d]", n)
		}
		rows[i] += " |"
	}
	for _, m := range metrics() {
		head += " " + m.label + " |"
		rule += "---:|"
		for i, cell := range m.cells(r.Arms) {
			rows[i] += " " + md(cell) + " |"
		}
	}
	for _, column := range extras(r.Arms) {
		head += " " + column[0] + " |"
		rule += "---:|"
		for i, cell := range column[1:] {
			rows[i] += " " + md(cell) + " |"
		}
	}
	line("%s\n%s\n%s", head, rule, strings.Join(rows, "\n"))
}

// md escapes what Markdown and the HTML inside it would take for markup.
func md(s string) string {
	return strings.NewReplacer(nbsp, " ", "\\", "\\\\", "|", "\\|", "*", "\\*", "_", "\\_", "`", "\\`",
		"[", "\\[", "]", "\\]", "<", "&lt;", ">", "&gt;", "&", "&amp;", "\n", " ", "\r", " ").Replace(s)
}

// code makes s safe inside one pair of backticks.
func code(s string) string { return strings.NewReplacer("`", "'", "\n", " ", "\r", " ").Replace(s) }
