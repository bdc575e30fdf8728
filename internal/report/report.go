// Package report renders a record.Result on an io.Writer: text for a terminal,
// Markdown, one self-contained HTML page, JSON, CSV, the Go benchmark format
// and HdrHistogram's distribution format. It judges nothing: every number and
// verdict is the record's.
package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"schedlab/internal/record"
)

// A Format is one way to render a result.
type Format struct {
	Name    string // as given to --output
	Summary string // one phrase for the help
	Render  func(w io.Writer, r *record.Result) error
}

// Formats returns every format in presentation order. Its text is plain and 100
// columns wide; Text takes more options.
func Formats() []Format {
	return []Format{
		{"text", "for reading in a terminal", func(w io.Writer, r *record.Result) error { return Text(w, r, TextOptions{}) }},
		{"json", "the whole result, schema 1", JSON},
		{"markdown", "for an issue or a README", Markdown},
		{"html", "one self-contained page with charts", HTML},
		{"csv", "one row per arm and metric", CSV},
		{"benchstat", "Go benchmark format, one line per arm and block", Bench},
		{"hgrm", "response-time distributions, milliseconds", HGRM},
	}
}

// Render renders r in the named format. An unknown name is an error that lists
// the known ones.
func Render(w io.Writer, format string, r *record.Result) error {
	var names []string
	for _, f := range Formats() {
		if f.Name == format && r.Capacity != nil && (format == "benchstat" || format == "hgrm") {
			return fmt.Errorf("a search for capacity compares no blocks, so there is nothing to render as %s: use text, json, markdown, html or csv", format)
		}
		if f.Name == format {
			return f.Render(w, r)
		}
		names = append(names, f.Name)
	}
	return fmt.Errorf("unknown report format %q: use one of %s", format, strings.Join(names, ", "))
}

// emit writes what compose put together, in one Write. A bytes.Buffer never
// fails, so composing code need not check each line.
func emit(w io.Writer, format string, compose func(b *bytes.Buffer)) error {
	var b bytes.Buffer
	compose(&b)
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("writing %s report: %w", format, err)
	}
	return nil
}
