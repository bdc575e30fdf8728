package report

import (
	"fmt"
	"io"

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
	// summary writes short Markdown.
	summary(w io.Writer) error
	// verdicts describes how the arms differ.
	verdicts() document.Part
	// csv writes rows of figures.
	csv(w io.Writer) error
	// measured is what the plan is called, and how much of it was measured.
	measured() (plan, had string)
	// inBlocks reports whether it was measured in blocks, at an offered rate.
	inBlocks() bool
}

// The pages.
type (
	comparisonPage struct{ *record.Result }
	gatePage       struct{ comparisonPage }
	searchPage     struct{ comparisonPage }
)

// pageOf returns the page for the question of a run. Nothing else asks a result what it is.
func pageOf(r *record.Result) page {
	switch of := (comparisonPage{r}); {
	case r.Capacity != nil:
		return searchPage{of}
	case len(r.Gate) > 0:
		return gatePage{of}
	default:
		return of
	}
}

func (p gatePage) found() string { return gateAnswer(p.Result) }

// below is nothing: a gate asks another question than the ranking.
func (p gatePage) below() []string { return nil }

func (p gatePage) brief(int) document.Document { return gateBriefly(p.Result) }

func (p gatePage) summary(w io.Writer) error { return gateComment(w, p.Result) }

// verdicts are those of the gate, which is judged by both runs of the first build, and verdicts by one.
func (p gatePage) verdicts() document.Part {
	gate := gateFigures(p.Result)
	gate.ID, gate.Title = "verdicts", "Verdicts"
	return gate
}

func (p searchPage) found() string { return doubted(p.Result) + capacityHeadline(p.Capacity) }

// below is nothing: nothing is ranked.
func (p searchPage) below() []string { return nil }

func (p searchPage) brief(width int) document.Document { return capacityBriefly(p.Result, width) }

func (p searchPage) whole(bool) document.Document { return capacityDocument(p.Result) }

// summary is the whole report: a search is short already.
func (p searchPage) summary(w io.Writer) error { return Markdown(w, p.Result) }

func (p searchPage) csv(w io.Writer) error { return capacityCSV(w, p.Result) }

func (p searchPage) measured() (plan, had string) {
	windows := 0
	for _, a := range p.Capacity.Arms {
		windows += len(a.Windows)
	}
	return "the search", say.Plural(windows, "window") + " measured"
}

func (p searchPage) inBlocks() bool { return false }

// refuseFormat returns an error for a format that has no form for a run without blocks.
func refuseFormat(r *record.Result, format string) error {
	if !pageOf(r).inBlocks() && (format == "benchstat" || format == "hgrm") {
		return fmt.Errorf("a search for capacity compares no blocks, so there is nothing to render as %s: use text, json, markdown, html or csv", format)
	}
	return nil
}
