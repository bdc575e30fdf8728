// Package report writes a record.Result: as text for a terminal, Markdown, a self-contained HTML
// page, JSON, CSV, the Go benchmark format, or HdrHistogram's distribution format. It also writes
// maps, audits, attacks, choices and explanations. It judges nothing: every number and verdict
// comes from the record.
package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"schedlab/internal/record"
	"schedlab/internal/report/document"
	"schedlab/internal/stats"
)

// A Format is one way to write a value, such as a result or a map.
type Format[T any] struct {
	Name   string // the value of --output
	Render func(w io.Writer, of T) error
}

// Formats returns every format of a result in presentation order. Its text is plain and 100
// columns wide; Text takes more options.
func Formats() []Format[*record.Result] {
	return []Format[*record.Result]{
		{"text", func(w io.Writer, r *record.Result) error { return Text(w, r, TextOptions{}) }},
		{"json", JSON},
		{"markdown", Markdown},
		{"summary", Summary},
		{"html", HTML},
		{"csv", CSV},
		{"benchstat", Bench},
		{"hgrm", HGRM},
	}
}

// documentFormats returns the formats that a document has, and JSON.
func documentFormats[T any](of func(T) document.Document, json func(w io.Writer, of T) error) []Format[T] {
	return []Format[T]{
		{"text", func(w io.Writer, x T) error { return TextOptions{}.write(w, of(x)) }},
		{"json", json},
		{"markdown", func(w io.Writer, x T) error { return writeMarkdown(w, of(x)) }},
		{"html", func(w io.Writer, x T) error { return writeHTML(w, of(x)) }},
	}
}

// Names returns the names of formats, in their order.
func Names[T any](formats []Format[T]) (names []string) {
	for _, f := range formats {
		names = append(names, f.Name)
	}
	return names
}

// Render writes r in the named format. An unknown name is an error that lists the known ones.
func Render(w io.Writer, format string, r *record.Result) error {
	if r.Capacity != nil && (format == "benchstat" || format == "hgrm") {
		return fmt.Errorf("a search for capacity compares no blocks, so there is nothing to render as %s: use text, json, markdown, html or csv", format)
	}
	return render(w, Formats(), format, r)
}

// render writes a value in the named format.
func render[T any](w io.Writer, formats []Format[T], name string, of T) error {
	for _, f := range formats {
		if f.Name == name {
			return f.Render(w, of)
		}
	}
	return fmt.Errorf("unknown format %q: use one of %s", name, strings.Join(Names(formats), ", "))
}

// emit calls compose and writes the buffer in one Write. A bytes.Buffer never fails, so compose
// need not check errors.
func emit(w io.Writer, format string, compose func(b *bytes.Buffer)) error {
	var b bytes.Buffer
	compose(&b)
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("writing %s report: %w", format, err)
	}
	return nil
}

// JSON writes the whole result, indented, with lists of numbers and points of curves on one line
// each. Lists are never null. NaN or an infinite figure is an error.
func JSON(w io.Writer, r *record.Result) error {
	return writeJSON(w, complete(r))
}

// complete returns a copy of r with its headline, and with empty lists in place of nil.
func complete(r *record.Result) *record.Result {
	full := *r
	full.Headline = Headline(r)
	full.Doubts, full.Refused, full.NotChecked, full.Expectations = list(r.Doubts), list(r.Refused), list(r.NotChecked), list(r.Expectations)
	full.Verdicts, full.AA, full.Duels, full.Arms = list(r.Verdicts), list(r.AA), list(r.Duels), list(r.Arms)
	for i, a := range full.Arms {
		full.Arms[i].Curve = list(a.Curve)
	}
	return &full
}

// writeJSON writes a value as indented, compacted JSON.
func writeJSON[T any](w io.Writer, of T) error {
	var raw bytes.Buffer
	if err := record.WriteJSON(&raw, of); err != nil {
		return err
	}
	return emit(w, "json", func(b *bytes.Buffer) { b.Write(compact(raw.Bytes())) })
}

// list returns a copy of s that is not nil.
func list[T any](s []T) []T { return append([]T{}, s...) }

// compact puts every list without nested lists on one line, and likewise points and spreads. A
// raw line break is never part of a JSON string, so strings stay unchanged.
func compact(indented []byte) []byte {
	leaf := regexp.MustCompile(`\[\n[^\[\]{}]*\n\s*\]|\{\n\s*"q": [^\n]*\n\s*"s": [^\n]*\n\s*\}|\{\n\s*"median": [^\n]*\n[^\n]*\n[^\n]*\n\s*\}`)
	space := regexp.MustCompile(`\n\s*`)
	return leaf.ReplaceAllFunc(indented, func(m []byte) []byte {
		inner := space.ReplaceAll(m[1:len(m)-1], []byte(" "))
		return append(append([]byte{m[0]}, bytes.TrimSpace(inner)...), m[len(m)-1])
	})
}

// CSV writes one row per arm and metric, in base units (seconds, 1/s), with the verdict in the
// same row. The baseline has no verdict; its copy has the A/A verdict.
func CSV(w io.Writer, r *record.Result) error {
	if r.Capacity != nil {
		return capacityCSV(w, r)
	}
	return writeCSV(w, func(put func(cells ...string)) {
		put("run", "scenario", "arm", "mode", "role", "metric", "primary", "unit", "value",
			"verdict", "ratio", "low", "high", "blocks", "won", "needed", "reason")
		for i := range r.Arms {
			a := &r.Arms[i]
			for _, m := range stats.Metrics() {
				value := ""
				if v := a.Median(m.Name); v != nil {
					value = float(*v)
				}
				row := []string{r.Run, r.Scenario, a.Name, a.Mode, string(a.Role), m.Name, strconv.FormatBool(m.Primary), m.Unit, value}
				put(append(row, judged(r, a, m.Name)...)...)
			}
		}
	})
}

// writeCSV writes the rows that are passed to put, in one Write.
func writeCSV(w io.Writer, rows func(put func(cells ...string))) error {
	return emit(w, "csv", func(b *bytes.Buffer) {
		out := csv.NewWriter(b)
		rows(func(cells ...string) {
			for i := range cells {
				cells[i] = document.Harmless(cells[i])
			}
			_ = out.Write(cells) // into memory: no error
		})
		out.Flush()
	})
}

// judged returns the verdict columns of one arm and metric; empty cells without a verdict.
func judged(r *record.Result, a *record.Arm, metric string) []string {
	verdicts := r.Verdicts
	if a.Role == record.Copy {
		verdicts = r.AA
	}
	for _, v := range verdicts {
		if v.Arm == a.Name && v.Metric == metric {
			won := strconv.Itoa(v.Won)
			if v.Verdict == stats.Refused {
				won = ""
			}
			return []string{string(v.Verdict), quotient(v.Ratio), quotient(v.Low), quotient(v.High),
				strconv.Itoa(v.Blocks), won, strconv.Itoa(v.Needed), v.Reason.String()}
		}
	}
	return make([]string, 8)
}

// quotient formats a ratio; "" for 0, which means that there is none.
func quotient(v float64) string {
	if v == 0 {
		return ""
	}
	return float(v)
}

// float formats v with all its digits, for programs.
func float(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
