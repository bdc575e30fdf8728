package say

import (
	"bytes"
	"fmt"
	"html/template"
	"io"
	"regexp"
	"slices"
	"strings"

	"schedlab/internal/measuring/report/document"
	"schedlab/internal/shared/record"
)

// A Format is one way to write a value, such as a result or an explanation. Render writes the whole
// value to w, and returns the error of w or of a value that the format cannot hold.
type Format[T any] struct {
	Name   string // the value of --output
	Render func(w io.Writer, of T) error
}

// FormatsOf are the formats of a value in presentation order: help and errors list them so.
type FormatsOf[T any] []Format[T]

// FormatsOfDocument returns the four formats that every document has: text, json, markdown and
// html. of builds the document; json writes the value itself.
func FormatsOfDocument[T any](of func(T) document.Document, json func(w io.Writer, of T) error) FormatsOf[T] {
	return FormatsOf[T]{
		{"text", func(w io.Writer, x T) error { return Text(w, of(x), document.Options{}) }},
		{"json", json},
		{"markdown", func(w io.Writer, x T) error { return Markdown(w, of(x)) }},
		{"html", func(w io.Writer, x T) error { return HTML(w, of(x)) }},
	}
}

// Names returns the names of the formats, in their order.
func (all FormatsOf[T]) Names() []string {
	names := make([]string, len(all))
	for i, f := range all {
		names[i] = f.Name
	}
	return names
}

// Render writes a value in the named format. An unknown name is an error that lists the known ones.
func (all FormatsOf[T]) Render(w io.Writer, name string, of T) error {
	for _, f := range all {
		if f.Name == name {
			return f.Render(w, of)
		}
	}
	return fmt.Errorf("unknown format %q: use one of %s", name, strings.Join(all.Names(), ", "))
}

// Emit writes a finished report in one Write, so that a report is whole or missing. An error
// names the format.
func Emit(w io.Writer, format, text string) error {
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("writing %s report: %w", format, err)
	}
	return nil
}

// JSON writes a value as indented, compacted JSON.
func JSON[T any](w io.Writer, of T) error {
	var raw bytes.Buffer
	if err := record.WriteJSON(&raw, of); err != nil {
		return err
	}
	return Emit(w, "json", string(compact(raw.Bytes())))
}

// compact puts every list without nested lists on one line, and likewise points and spreads. A
// raw line break is never part of a JSON string, so strings stay unchanged.
func compact(indented []byte) []byte {
	// A list without lists or objects in it, a point of a curve, or a spread.
	leaf := regexp.MustCompile(`\[\n[^\[\]{}]*\n\s*\]|\{\n\s*"q": [^\n]*\n\s*"s": [^\n]*\n\s*\}|\{\n\s*"median": [^\n]*\n[^\n]*\n[^\n]*\n\s*\}`)
	space := regexp.MustCompile(`\n\s*`)
	return leaf.ReplaceAllFunc(indented, func(m []byte) []byte {
		inner := bytes.TrimSpace(space.ReplaceAll(m[1:len(m)-1], []byte(" ")))
		return slices.Concat(m[:1], inner, m[len(m)-1:])
	})
}

// Text writes any document as a text.
func Text(w io.Writer, d document.Document, o document.Options) error {
	return Emit(w, "text", d.Text(o))
}

// Markdown writes any document as Markdown.
func Markdown(w io.Writer, d document.Document) error { return Emit(w, "markdown", d.Markdown()) }

// HTML writes any document as a page.
func HTML(w io.Writer, d document.Document) error {
	page, err := d.HTML()
	if err != nil {
		return err
	}
	return Emit(w, "html", page)
}

// SVG writes a drawing as a separate file.
func SVG(w io.Writer, drawing template.HTML) error { return Emit(w, "svg", string(drawing)) }
