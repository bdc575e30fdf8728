package report

import (
	"fmt"
	"io"

	"schedlab/internal/doubt"
	"schedlab/internal/record"
	"schedlab/internal/report/document"
	"schedlab/internal/report/say"
)

// A page shows what a run found. Each question that a run can have answers with a page of its own: a comparison, a gate, or a
// search for capacity.
type page interface {
	// found is what the run found, whatever disturbed it, in one or a few sentences.
	found() string
	// below is the ranking as a line below that, without its full stop; nil where it says nothing more.
	below() []string
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
	// beside is a file that a record has beside its page, and how it is written.
	beside() (file string, write func(io.Writer) error)
	// measured is what the plan is called, and how much of it was measured.
	measured() (plan, had string)
}

// The pages.
type (
	comparisonPage struct{ *record.Comparison }
	gatePage       struct{ comparisonPage }
	searchPage     struct{ *record.Search }
)

// pageOf returns the page for the question of a run. Nothing else asks a result what it is.
func pageOf(r record.Result) page {
	switch r := r.(type) {
	case *record.Search:
		return searchPage{r}
	case *record.Comparison:
		if len(r.Gate) > 0 {
			return gatePage{comparisonPage{r}}
		}
		return comparisonPage{r}
	}
	panic(fmt.Sprintf("no page for a result of type %T", r))
}

func (p gatePage) found() string { return gateAnswer(p.Comparison) }

// below is nothing: a gate asks another question than the ranking.
func (p gatePage) below() []string { return nil }

func (p gatePage) brief(int) document.Document { return gateBriefly(p.Comparison) }

func (p gatePage) summary(w io.Writer) error { return gateComment(w, p.Comparison) }

// whole has the verdicts of the gate, which is judged by both runs of the first build, and others by one.
func (p gatePage) whole(all bool) document.Document {
	gate := gateFigures(p.Comparison)
	gate.ID, gate.Title = "verdicts", "Verdicts"
	return fully(p.Comparison, gate, all)
}

func (p searchPage) found() string {
	return doubted(p.Search, doubt.StickyPool.Is) + capacityHeadline(p.Search)
}

// below is nothing: nothing is ranked.
func (p searchPage) below() []string { return nil }

func (p searchPage) brief(width int) document.Document { return capacityBriefly(p.Search, width) }

func (p searchPage) whole(bool) document.Document { return capacityDocument(p.Search) }

// summary is the whole report: a search is short already.
func (p searchPage) summary(w io.Writer) error { return Markdown(w, p.Search) }

func (p searchPage) csv(w io.Writer) error { return capacityCSV(w, p.Search) }

func (p searchPage) measured() (plan, had string) {
	windows := 0
	for _, a := range p.Arms {
		windows += len(a.Windows)
	}
	return "the search", say.Plural(windows, "window") + " measured"
}

func (p searchPage) beside() (file string, write func(io.Writer) error) {
	return "capacity.svg", func(w io.Writer) error { return CapacitySVG(w, p.Search) }
}

func (p comparisonPage) beside() (file string, write func(io.Writer) error) {
	return "bench.txt", func(w io.Writer) error { return Bench(w, p.Comparison) }
}

// Beside returns the file that a record of this result has beside its page, and how it is written: for benchstat, or the
// drawing of a search.
func Beside(r record.Result) (file string, write func(io.Writer) error) { return pageOf(r).beside() }

func (p searchPage) data() record.Result {
	full := *p.Search
	full.Doubts, full.NotChecked = list(p.Doubts), list(p.NotChecked)
	return &full
}

func (p comparisonPage) data() record.Result {
	full := *p.Comparison
	full.Doubts, full.Refused, full.NotChecked, full.Expectations = list(p.Doubts), list(p.Refused), list(p.NotChecked), list(p.Expectations)
	full.Verdicts, full.AA, full.Duels, full.Arms = list(p.Verdicts), list(p.AA), list(p.Duels), list(p.Arms)
	for i, a := range full.Arms {
		full.Arms[i].Curve = list(a.Curve)
	}
	return &full
}
