// Package document represents a report as values: headings, sentences, tables, charts. A report
// builds its parts once, and three writers turn them into text, Markdown and HTML. The package
// knows nothing about the content of reports.
//
// A [Document] holds a list of [Part] values, and a [Section] holds parts in turn. Each writer has one switch
// over the kinds of parts: [Document.Text] in text.go, [Document.Markdown] in markdown.go, and the template
// page.html for [Document.HTML]. A new kind of part needs a case in all three. A part that is empty prints
// nothing, not even its heading, so a report can always add it.
package document

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// A Document is one report. Empty fields are left out, and the zero Document is an empty
// report. Methods do not change it, so one document can be written in several formats and by
// several goroutines. Strings are plain text: the writers escape them.
type Document struct {
	Name     string   // of the thing measured, one or two words
	Question string   // the question that the report answers
	State    string   // why the answer is incomplete
	Answer   string   // one sentence; at most ShortWords words where Chips and Lead say the rest
	Chips    []Chip   // the answer for each thing measured
	Axis     string   // the head of the chips' bars
	Lead     []string // the rest of the answer: a sentence each, without a full stop
	First    []Part   // what a page shows before anything else, such as the picture of the answer
	Context  []string // machine and load: a sentence each, without a full stop
	Parts    []Part
	Around   []Anchor // in a page, the way to the pages around it; a file has none
	Data     any      // included in a page as JSON, in the element with id "result"; nil for none
}

// An Anchor is a link to another page, with its text.
type Anchor struct{ Text, Address string }

// A Chip is the answer for one of the things measured, in a word.
type Chip struct {
	Line  string // CSS class of its line in charts
	Name  string
	Mark  string // the word
	Class string // CSS class of the word in a page
	Text  string // more, such as figures; may be empty
	Told  bool   // the answer or the lead has all of it: in Markdown it is left out, and a text has no chips if all are told
	Bar   string // an interval drawn with characters, for a text that is wide enough; all of a document have the same width
}

// A Part is one of the types below. Only this package can add one, because each writer must know it.
type Part interface{ part() }

type (
	// A Section is parts under a heading. Without a title it only groups parts. Without any
	// content it is left out, heading included.
	Section struct {
		ID    string // of the heading in a page, after "h-"
		Title string
		About string // kind of figures below: follows the title in brackets
		Lead  string // how to read the figures, for a page only
		Parts []Part
	}

	// A Table is rows of cells, with the head first. All rows have the same number of cells, at
	// least one. A text never wraps or cuts a table, so its width depends on its cells only;
	// Below is the way to make it narrow.
	Table struct {
		Rows  [][]string
		Words bool   // the cells are words, aligned left, instead of figures
		Below int    // in a text, columns from this one on are printed below their row, each after its head; 0 for none
		Marks []Mark // one per row below the head; or nil
	}

	// A Mark adds to a row how its name is drawn in charts, and the numbers of the sentences
	// about it. A number counts from 1 in the document's Numbered part; a page links it there.
	Mark struct {
		Class string // CSS class of its line, in a page
		Notes []int
	}

	// Lines are sentences, one per line in a text and one per list item elsewhere.
	Lines []string

	// A Note is a sentence about the part above it, such as a legend.
	Note string

	// Facts are sentences with labels. A text prints the labels in a column, and equal labels in a row once.
	Facts []Fact

	// Numbered are sentences with numbers, from 1, to which the Notes of a Mark refer. A
	// document should have one such part, since its numbers are the same in each.
	Numbered []string

	// Findings are statements with their results, such as a scenario's expectations.
	Findings []Finding

	// Commands are commands to type, each with a label. They are never wrapped, so that they can be copied.
	Commands []Fact

	// Linked are sentences with links to files, for a page only: elsewhere nothing would open them.
	Linked []Link

	// A Grid is many short facts, for a page only.
	Grid []Fact

	// Charts are drawings side by side, in a page. A text shows the Instead of each; Markdown
	// shows the File, or else the Instead.
	Charts []Chart

	// Details are parts under a summary, which a page and Markdown fold away. A text prints all of them.
	Details struct {
		Summary string
		Parts   []Part
	}

	// Page is parts that only a page has room for.
	Page []Part
)

// A Fact is a sentence or another text with its label.
type Fact struct{ Label, Text string }

// A Link is a sentence with paths of files, relative to the page. A page shows the sentence and
// a link for each file.
type Link struct {
	Text  string
	Files []string
}

// A Finding is a statement with its result. Mark is the word for the result and Class its CSS class in a page. Text is the
// statement as it was typed, for example "p99 < 10ms", or "" if nobody typed it. Said is the same in words, or "" if there are no
// words; a reader sees Said first, and Text as evidence. Reason is the reason for the result.
type Finding struct{ Mark, Class, Said, Text, Reason string }

// A Chart is a drawing, and the same data for readers without drawings.
type Chart struct {
	Caption string
	Alt     string        // for the link to File
	File    string        // path of the drawing, relative to a Markdown report; "" for none
	Picture template.HTML // the drawing, already escaped; "" if the page shows it elsewhere
	Keys    []Key         // the legend
	Instead []Part
	Wide    bool // the legend stands next to the drawing
}

// A Key is one entry of a legend.
type Key struct{ Class, Name string }

func (Section) part()  {}
func (Table) part()    {}
func (Lines) part()    {}
func (Note) part()     {}
func (Facts) part()    {}
func (Numbered) part() {}
func (Findings) part() {}
func (Commands) part() {}
func (Linked) part()   {}
func (Grid) part()     {}
func (Charts) part()   {}
func (Details) part()  {}
func (Page) part()     {}

// nbsp joins a number to its unit in a page. Text and Markdown replace it by a space.
const nbsp = "\u00a0"

// A medium is what a document is written for. Some parts are only for a page.
type medium int

const (
	terminal medium = iota
	markdownFile
	webPage
)

// shows reports whether p has any content in a medium. A table with nothing below its head has none. A page shows a chart's
// picture, Markdown the link to its file, and a text only its Instead, which a page has nothing of if there is no picture.
func (in medium) shows(p Part) bool {
	switch p := p.(type) {
	case Section:
		return slices.ContainsFunc(p.Parts, in.shows)
	case Details:
		return slices.ContainsFunc(p.Parts, in.shows)
	case Page:
		return in == webPage && slices.ContainsFunc(p, in.shows)
	case Linked, Grid:
		return in == webPage && reflect.ValueOf(p).Len() > 0
	case Table:
		return len(p.Rows) > 1
	case Charts:
		return slices.ContainsFunc(p, func(c Chart) bool {
			if in == webPage {
				return c.Picture != ""
			}
			return in == markdownFile && c.File != "" || slices.ContainsFunc(c.Instead, in.shows)
		})
	}
	return reflect.ValueOf(p).Len() > 0 // a list, or a note
}

// Below returns the end of a brief report: its first doubt with a count of the others, and how
// to see the rest.
func Below(doubts []string) Facts {
	return append(Doubts(doubts, 1, "with --verbose"), Fact{Label: "More", Text: "--verbose, or --output json"})
}

// Doubts returns the first doubts, at most most of them, and a line that counts the others and says where
// they are. With most 0 it is the count alone; without doubts it is empty.
func Doubts(all []string, most int, where string) (facts Facts) {
	for _, d := range all[:min(most, len(all))] {
		facts = append(facts, Fact{"Doubts", d})
	}
	if left := len(all) - len(facts); left > 0 {
		format := "%d, %s"
		if most > 0 {
			format = "%d more %s"
		}
		facts = append(facts, Fact{"Doubts", fmt.Sprintf(format, left, where)})
	}
	return facts
}

// flat returns parts with those of a Page in its place.
func flat(parts []Part) (all []Part) {
	for _, p := range parts {
		if page, is := p.(Page); is {
			all = append(all, flat(page)...)
		} else {
			all = append(all, p)
		}
	}
	return all
}

// source is the template of a page. It has one branch for each kind of part.
//
//go:embed page.html
var source string

// style is the style sheet of a page and of the drawings in it.
//
//go:embed page.css
var style string

// script gives a page its buttons: copies of tables, arms to hide, values under the pointer. A page
// is whole without it.
//
//go:embed page.js
var script string

// details keeps open what a reader has opened.
//
//go:embed details.js
var details string

// DetailsScript returns the script that keeps open what a reader has opened in a page, also after a reload and on the way back.
// A page of [Document.HTML] has it already.
func DetailsScript() string { return details }

// Style returns the style sheet of a page, for drawings outside a page: an SVG file must bring its own.
func Style() template.CSS { return template.CSS(style) }

// HTML returns d as one page that loads no other file and runs no script but its own. Everything in it
// is escaped, except the pictures of charts, and it has no control characters.
func (d Document) HTML() (string, error) {
	script := script + details
	sum := sha256.Sum256([]byte(script))
	return render("page", struct {
		Document
		Style   template.CSS
		Script  template.JS
		Allowed string
	}{d, Style(), template.JS(script), "sha256-" + base64.StdEncoding.EncodeToString(sum[:])})
}

// Fragment returns parts as they stand in a page, for a page that has the style sheet already.
func Fragment(parts ...Part) (template.HTML, error) {
	text, err := render("parts", parts)
	return template.HTML(text), err // html/template has escaped it
}

// templates are the templates of page.html, parsed when the first one is needed.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{
		// The template cannot switch on a type, so kind gives it the type's name.
		"kind": func(p Part) string { return strings.TrimPrefix(fmt.Sprintf("%T", p), "document.") },
		"any":  webPage.shows,
		"sections": func(parts []Part) (sections []Section) { // those that a page lists
			for _, p := range flat(parts) {
				if s, is := p.(Section); is && s.ID != "" && webPage.shows(s) {
					sections = append(sections, s)
				}
			}
			return sections
		},
		"below": func(rows [][]string) [][]string { return rows[1:] },
		"next":  func(i int) int { return i + 1 },
	}).Parse(source))
})

// render fills in one of the templates.
func render(name string, of any) (string, error) {
	var b strings.Builder
	if err := templates().ExecuteTemplate(&b, name, of); err != nil {
		return "", fmt.Errorf("rendering the page: %w", err)
	}
	return Harmless(b.String()), nil
}
