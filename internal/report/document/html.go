package document

import (
	_ "embed"
	"fmt"
	"html/template"
	"strings"
)

//go:embed page.html
var source string

//go:embed page.css
var style string

// Style returns the style sheet of a page, for drawings outside a page.
func Style() template.CSS { return template.CSS(style) }

// HTML returns d as one page that needs no script and loads no other file. Everything in it is
// escaped, except the pictures of charts, and it has no control characters.
func (d Document) HTML() (string, error) {
	t, err := template.New("page").Funcs(template.FuncMap{
		"kind":  func(p Part) string { return strings.TrimPrefix(fmt.Sprintf("%T", p), "document.") },
		"any":   notEmpty,
		"below": func(rows [][]string) [][]string { return rows[1:] },
		"mark":  func(t Table, i int) *Mark { return t.mark(i) },
		"next":  func(i int) int { return i + 1 },
	}).Parse(source)
	if err != nil {
		return "", fmt.Errorf("parsing the page's template: %w", err)
	}
	var b strings.Builder
	if err := t.Execute(&b, struct {
		Document
		Style template.CSS
	}{d, Style()}); err != nil {
		return "", fmt.Errorf("rendering the page: %w", err)
	}
	return Harmless(b.String()), nil
}

// mark returns the mark of row i below the head; nil if the table has none.
func (table Table) mark(i int) *Mark {
	if table.Marks == nil {
		return nil
	}
	return &table.Marks[i]
}
