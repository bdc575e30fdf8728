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

// A Format is one way to render a result, or a map.
type Format[T any] struct {
	Name   string // as given to --output
	Render func(w io.Writer, of T) error
}

// Formats returns every format of a result in presentation order. Its text is plain and 100
// columns wide; Text takes more options.
func Formats() []Format[*record.Result] {
	return []Format[*record.Result]{
		{"text", func(w io.Writer, r *record.Result) error { return Text(w, r, TextOptions{}) }},
		{"json", JSON},
		{"markdown", Markdown},
		{"html", HTML},
		{"csv", CSV},
		{"benchstat", Bench},
		{"hgrm", HGRM},
	}
}

// MapFormats returns every format of a map in presentation order.
func MapFormats() []Format[*record.Map] {
	return []Format[*record.Map]{
		{"text", MapText},
		{"json", MapJSON},
		{"markdown", MapMarkdown},
		{"html", MapHTML},
		{"csv", MapCSV},
		{"svg", MapSVG},
	}
}

// Names are those of formats.
func Names[T any](formats []Format[T]) (names []string) {
	for _, f := range formats {
		names = append(names, f.Name)
	}
	return names
}

// Render renders r in the named format. An unknown name is an error that lists
// the known ones.
func Render(w io.Writer, format string, r *record.Result) error {
	if r.Capacity != nil && (format == "benchstat" || format == "hgrm") {
		return fmt.Errorf("a search for capacity compares no blocks, so there is nothing to render as %s: use text, json, markdown, html or csv", format)
	}
	return render(w, Formats(), format, r)
}

// RenderMap is Render for a map.
func RenderMap(w io.Writer, format string, m *record.Map) error {
	return render(w, MapFormats(), format, m)
}

func render[T any](w io.Writer, formats []Format[T], name string, of T) error {
	for _, f := range formats {
		if f.Name == name {
			return f.Render(w, of)
		}
	}
	return fmt.Errorf("unknown format %q: use one of %s", name, strings.Join(Names(formats), ", "))
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
