package doctor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"schedlab/internal/report/document"
	"schedlab/internal/stats"
)

// Formats are the names that Write knows.
var Formats = []string{"text", "json", "markdown"}

// Write renders r, in one Write, in a format of Formats. A text that is not verbose
// fits on a screen.
func (r Report) Write(w io.Writer, format string, verbose bool) error {
	var b bytes.Buffer
	switch format {
	case "text":
		b.WriteString(r.Document(verbose).Text(document.Options{}))
	case "markdown":
		b.WriteString(r.Document(true).Markdown())
	case "json":
		enc := json.NewEncoder(&b)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		if err := enc.Encode(r); err != nil {
			return fmt.Errorf("writing the report: %w", err)
		}
	default:
		return fmt.Errorf("unknown format %q: use one of %s", format, strings.Join(Formats, ", "))
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

// Document is the report: what is wrong and what can be told apart, or all findings.
func (r Report) Document(verbose bool) document.Document {
	d := document.Document{Answer: r.Sentence}
	if !verbose {
		d.Answer = document.Cut(r.Sentence, 190) // two lines; the findings say the rest
	}
	findings := document.Table{Rows: [][]string{{"check", "state", "found", "spoils", "fix"}}, Words: true, Below: 3}
	fine, unknown, room := 0, 0, r.room()
	for _, f := range r.Findings {
		state, spoils := string(f.State), ""
		if f.State == Bad {
			state = "BAD"
		}
		if f.Fix != "" {
			spoils = f.Spoils
		}
		row := []string{f.Check, state, f.Found, spoils, f.Fix}
		if wrong := f.State == Bad || f.State == Warn; !verbose {
			if !wrong {
				fine += stats.Count(f.State == OK)
				unknown += stats.Count(f.State == Unknown)
				continue
			}
			row[2], row[3], row[4] = document.Cut(f.Found, room), "", document.Cut(f.Fix, room)
		}
		findings.Rows = append(findings.Rows, row)
	}
	more := document.Facts{}
	if !verbose {
		if left := len(findings.Rows) - 1 - mostShown; left > 0 {
			findings.Rows = findings.Rows[:1+mostShown]
			more = append(more, document.Fact{Label: "Also", Text: fmt.Sprintf("%d more that is not fit", left)})
		}
		text := fmt.Sprintf("%d of %d checks are fine", fine, len(r.Findings))
		if unknown > 0 {
			text += fmt.Sprintf("; of %d the machine does not tell", unknown)
		}
		more = append(more, document.Fact{Label: "Sure", Text: text})
		more = append(more, document.Below(nil)...)
	}
	if len(findings.Rows) > 1 {
		d.Parts = append(d.Parts, findings)
	}
	if rows := r.table(); len(rows) > 0 {
		d.Parts = append(d.Parts, document.Section{
			Title: "What this machine can tell apart", About: r.Noise.origin(), Parts: []document.Part{document.Table{Rows: rows, Words: true}},
		})
	}
	d.Parts = append(d.Parts, more)
	return d
}

// room is how long a brief finding may be: one line, or two where few are not fit.
func (r Report) room() int {
	wrong := 0
	for _, f := range r.Findings {
		wrong += stats.Count(f.State == Bad || f.State == Warn)
	}
	if wrong > mostShown-1 {
		return 65
	}
	return 140
}

// mostShown is how many findings a brief report has room for.
const mostShown = 3

// origin says what the table rests on.
func (n *Noise) origin() string {
	blocks := fmt.Sprint(n.Blocks)
	if n.Ran > n.Blocks {
		blocks += fmt.Sprintf(" of %d", n.Ran)
	}
	text := fmt.Sprintf("by the baseline of scenario %s against itself in %s blocks", n.Scenario, blocks)
	if n.Rate > 0 {
		text += fmt.Sprintf(" at %.0f requests/s", n.Rate)
	}
	return text
}

// table is a row for each metric and a column for each protocol, with a head.
func (r Report) table() (rows [][]string) {
	if r.Noise == nil || len(r.Noise.Judges) == 0 {
		return nil
	}
	head := []string{""}
	at := map[string]int{}
	for _, j := range r.Noise.Judges {
		if at[j.Protocol] == 0 {
			at[j.Protocol] = len(head)
			head = append(head, fmt.Sprintf("%s: %d blocks of %.3g s in %s", j.Protocol, j.Blocks, j.Window, about(j.Takes)))
		}
	}
	rows = append(rows, head)
	for _, j := range r.Noise.Judges {
		last := rows[len(rows)-1]
		if last[0] != j.Metric {
			last = make([]string, len(head))
			last[0] = j.Metric
			rows = append(rows, last)
		}
		last[at[j.Protocol]] = j.String()
		if j.Scaled && j.HalfWidth != nil {
			last[at[j.Protocol]] += " (estimated)"
		}
	}
	return rows
}

// about is 50 s, or 6 min.
func about(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	if d < 100*time.Second {
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f min", d.Minutes())
}
