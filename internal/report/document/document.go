// Package document is a report as values: headings, sentences, tables, charts.
// A topic builds its parts once, and three writers make text, Markdown and HTML of
// them. It knows nothing of what is reported.
package document

import (
	"fmt"
	"html/template"
	"reflect"
	"slices"
)

// A Document is one report. What is "" is left out.
type Document struct {
	Name     string   // of what was measured, a word or two
	Question string   // that was asked
	State    string   // why not all of the answer is there
	Answer   string   // in a sentence
	Context  []string // on what machine, at what load: a sentence each, without a full stop
	Parts    []Part
	Data     any // lies in a page as JSON, in the element with id "result"; nil for none
}

// A Part is one of the types below.
type Part interface{ part() }

type (
	// A Section is parts under a heading; without a title, parts that belong together.
	Section struct {
		ID    string // of the heading in a page, after "h-"
		Title string
		About string // what the figures below are: follows the title in brackets
		Lead  string // how to read them, for a page
		Parts []Part
	}

	// A Table is rows of cells, the head first. It has no width but its own.
	Table struct {
		Rows  [][]string
		Words bool   // the cells are words, set to the left, and not figures
		Below int    // columns from this one on stand below their row in a text, each after its head; 0 for none
		Marks []Mark // of the rows below the head; nil or as many as those
	}

	// A Mark says more of a row: how its name is drawn in charts, and which numbered
	// sentences are about it.
	Mark struct {
		Class string // of its line, in a page
		Notes []int
	}

	// Lines are sentences, one on a line or in an item of a list.
	Lines []string

	// A Note is a sentence below what it is about.
	Note string

	// Facts are sentences with a label each. A label is written once in a row.
	Facts []Fact

	// Numbered are sentences that a Mark refers to, from 1.
	Numbered []string

	// Findings are statements with what came of each.
	Findings []Finding

	// Commands are what to type, each with a label.
	Commands []Fact

	// Linked are sentences with links to the files that they are about.
	Linked []Link

	// A Grid is many short facts, for a page.
	Grid []Fact

	// Charts are drawn side by side.
	Charts []Chart

	// Details are parts that a page folds away.
	Details struct {
		Summary string
		Parts   []Part
	}

	// Page is parts that a page alone has room for.
	Page []Part
)

// A Fact is a sentence with its label.
type Fact struct{ Label, Text string }

// A Link is a sentence, and files beside the page.
type Link struct {
	Text  string
	Files []string
}

// A Finding is a statement, what came of it, and why.
type Finding struct{ Mark, Class, Text, Reason string }

// A Chart is a drawing, with parts that say the same.
type Chart struct {
	Caption string
	Alt     string
	File    string        // beside a Markdown report; "" for none
	Picture template.HTML // the drawing
	Keys    []Key         // of its legend
	Instead []Part
	Wide    bool // the legend stands beside it
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

// nbsp joins a number to its unit in a page; text and Markdown have a blank there.
const nbsp = "\u00a0"

// notEmpty reports whether a writer has anything to write of p.
func notEmpty(p Part) bool {
	switch p := p.(type) {
	case Section:
		return slices.ContainsFunc(p.Parts, notEmpty)
	case Page:
		return slices.ContainsFunc(p, notEmpty)
	case Details:
		return slices.ContainsFunc(p.Parts, notEmpty)
	case Table:
		return len(p.Rows) > 0
	}
	return reflect.ValueOf(p).Len() > 0 // a list, or a note
}

// Below is the end of a brief report: its first doubt, and where the rest is.
func Below(doubts []string) Facts {
	return append(Doubts(doubts, 1), Fact{Label: "More", Text: "--verbose, or --output json"})
}

// Doubts are the first of them, so many at most, and how many more there are.
func Doubts(all []string, most int) (facts Facts) {
	shown := min(most, len(all))
	for _, d := range all[:shown] {
		facts = append(facts, Fact{Label: "Doubts", Text: d})
	}
	switch left := len(all) - shown; {
	case left > 0 && shown > 0:
		facts = append(facts, Fact{Label: "Doubts", Text: fmt.Sprintf("%d more with --verbose", left)})
	case left > 0:
		facts = append(facts, Fact{Label: "Doubts", Text: fmt.Sprintf("%d, with --verbose", left)})
	}
	return facts
}
