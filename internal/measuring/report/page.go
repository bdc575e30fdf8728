package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"schedlab/internal/measuring/report/document"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/record"
)

// A Content is a result that is no comparison. Its methods return the special parts of its pages. This package adds the parts of
// every page: disturbances, the load, the machine, the doubts and the record.
type Content interface {
	record.Result
	// Called is the name of such a run, with its article: "a search".
	Called() string
	// Measured is the name of its plan, with its article, and how much of the plan was measured.
	Measured() (plan, had string)
	// Found is what the run found, whatever disturbed it, in one or a few sentences.
	Found() string
	// InShort is Found without what a chip for each arm, or the table on the screen, tells: a sentence, and the chips.
	InShort() (answer string, chips []document.Chip)
	// Conditions tell how the run was measured. This package adds the loads, the seed, the requests and the sizes of servers.
	Conditions() []string
	// Screen is the table of figures for one screen, and sentences that explain it.
	Screen() (figures document.Table, means []string)
	// Longer is the budget, in seconds, in which the same may find what is open; 0 if that does not help, or nothing is open.
	Longer() float64
	// Sections are the parts of the full report up to the doubts. marks are of the arms, in their order.
	Sections(marks []document.Mark) []document.Part
	// Rows are the figures for a program, with the head first.
	Rows() [][]string
	// Beside is the name of the file of figures that lies next to the report's page, and the function that writes it.
	Beside() (file string, write func(io.Writer) error)
	// Copy is a copy of the result. It may share what its head only points to.
	Copy() record.Result
}

// A page shows what a run found. There is one type of page for each question: a comparison, a gate, and all others.
type page interface {
	// found is what the run found, whatever disturbed it, in one or a few sentences.
	found() string
	// top is the first lines of every report, as if nothing had disturbed the run.
	top() top
	// brief is the report for one screen of this width.
	brief(width int) document.Document
	// whole is the full report; see [whole].
	whole(all bool) document.Document
	// data is the result for programs, without null in place of empty lists.
	data() record.Result
	// summary writes short Markdown.
	summary(w io.Writer) error
	// csv writes rows of figures.
	csv(w io.Writer) error
	Beside() (file string, write func(io.Writer) error) // as in Content
	Measured() (plan, had string)                       // as in Content
}

// The pages.
type (
	comparisonPage struct{ *record.Comparison }
	gatePage       struct{ comparisonPage }
	otherPage      struct{ Content }
)

// pageOf returns the page for the question of a run.
func pageOf(r record.Result) page {
	switch r := r.(type) {
	case Content:
		return otherPage{r}
	case *record.Comparison:
		if len(r.Gate) > 0 {
			return gatePage{comparisonPage{r}}
		}
		return comparisonPage{r}
	}
	panic(fmt.Sprintf("no page for a result of type %T", r))
}

func (p gatePage) found() string               { return gateAnswer(p.Comparison) }
func (p gatePage) brief(int) document.Document { return gateBriefly(p.Comparison) }
func (p gatePage) summary(w io.Writer) error   { return gateComment(w, p.Comparison) }

// whole has the answers of the gate in place of the verdicts, and in a page first: the gate uses both runs of the first build, and
// a verdict one, so with both a report would say two things about the same figures.
func (p gatePage) whole(all bool) document.Document {
	gate := gateFigures(p.Comparison)
	gate.ID, gate.Title = "verdicts", "Verdicts"
	d := fully(p.Comparison, []document.Part{document.Charts{{Instead: []document.Part{gate}}}, figures(p.Comparison)}, all)
	drawn := document.Page{gateDrawing(p.Comparison)} // in place of the table
	d.First = append([]document.Part{append(drawn, gate.Parts[1:]...)}, d.First...)
	d.Name = gateName
	return d
}

func (p otherPage) found() string { return p.doubted() + p.Found() }

// doubted is the doubt that undermines the answer; "" for none.
func (p otherPage) doubted() string { return doubted(p.Content, doubt.StickyPool.Code.Is) }

func (p otherPage) brief(int) document.Document {
	r := p.Head()
	figures, means := p.Screen()
	var facts document.Facts
	for _, line := range means {
		if line != "" {
			facts = append(facts, document.Fact{Label: "That is", Text: line})
		}
	}
	// The answer has the doubt about starving clients already.
	untold := slices.DeleteFunc(others(p.Content), doubt.StickyPool.Code.Is)
	t := topOf(p.Content)
	return document.Document{
		Name: r.Scenario, State: state(p.Content), Answer: t.answer, Lead: t.lead,
		Context: []string{p.conditions() + onCPUs(r.Env)},
		Parts:   []document.Part{figures, append(facts, rest(p.Content, untold, causes())...)},
	}
}

func (p otherPage) whole(bool) document.Document {
	r := p.Head()
	var note document.Facts
	if r.Note != "" {
		note = document.Facts{{Label: "Note", Text: r.Note}}
	}
	t := topOf(p.Content)
	return document.Document{
		Name: r.Scenario, Question: r.Question, State: state(p.Content), Answer: t.answer, Chips: t.chips, Lead: t.lead, First: nextOf(p.Content).parts(),
		Context: []string{p.conditions(), machine(p.Content)}, Data: complete(p.Content, Headline(p.Content)),
		Parts: append(p.Sections(marks(p.Content)),
			document.Section{ID: "doubts", Title: "Doubts", Parts: []document.Part{numbered(r.Doubts), note}},
			recordSection(p.Content, fingerprint(p.Content), nil)),
	}
}

// conditions describes in one line how the run was measured.
func (p otherPage) conditions() string {
	parts := append(slices.Concat(loads(p.Contestants()), p.Conditions()), fmt.Sprintf("seed %d", p.Head().Seed))
	for _, more := range []string{asked(p.Head().Asked), sizes(p.Contestants())} {
		if more != "" {
			parts = append(parts, more)
		}
	}
	return strings.Join(parts, ", ")
}

// summary is the whole report: it is short.
func (p otherPage) summary(w io.Writer) error { return Markdown(w, p.Content) }

func (p otherPage) csv(w io.Writer) error { return writeCSV(w, p.Rows()) }

func (p otherPage) data() record.Result {
	full := p.Copy()
	full.Head().Doubts, full.Head().NotChecked = list(full.Head().Doubts), list(full.Head().NotChecked)
	return full
}

func (p comparisonPage) Beside() (file string, write func(io.Writer) error) {
	return "bench.txt", func(w io.Writer) error { return bench(w, p.Comparison) }
}

// Beside returns the name of the file of figures that lies next to the report's page, and the function that writes it. For a
// comparison the file is in benchstat's format.
func Beside(r record.Result) (file string, write func(io.Writer) error) { return pageOf(r).Beside() }

func (p comparisonPage) data() record.Result {
	full := *p.Comparison
	full.Doubts, full.Refused, full.NotChecked, full.Expectations = list(p.Doubts), list(p.Refused), list(p.NotChecked), list(p.Expectations)
	full.Verdicts, full.AA, full.Duels, full.Arms = list(p.Verdicts), list(p.AA), list(p.Duels), list(p.Arms)
	for i, a := range full.Arms {
		full.Arms[i].Curve = list(a.Curve)
	}
	return &full
}
