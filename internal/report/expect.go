package report

import (
	"fmt"

	"schedlab/internal/record"
	"schedlab/internal/report/document"
)

// expectations are what the scenario asserts, with what came of it.
func expectations(r *record.Result) document.Part {
	class := map[record.Answer]string{record.Passed: "FASTER", record.Failed: "SLOWER", record.Undecided: "INCONCLUSIVE", record.NoAnswer: "REFUSED"} // badges of verdicts
	var all document.Findings
	for _, e := range r.Expectations {
		all = append(all, document.Finding{Mark: string(e.Outcome), Class: class[e.Outcome], Text: e.Text, Reason: e.Reason.String()})
	}
	return document.Section{
		ID: "expectations", Title: "Expectations", About: tally(r.Expectations), Parts: []document.Part{all},
		Lead: "One fails only when the blocks are sure of it. It is open when they say neither, and REFUSED when what it speaks of was disturbed or is not there.",
	}
}

// tally counts the answers in a sentence, "" when nothing was expected.
func tally(all []record.Expectation) string {
	if len(all) == 0 {
		return ""
	}
	n := map[record.Answer]int{}
	for _, e := range all {
		n[e.Outcome]++
	}
	return fmt.Sprintf("%s: %d passed, %d failed, %d open, %d refused", plural(len(all), "expectation"), n[record.Passed], n[record.Failed], n[record.Undecided], n[record.NoAnswer])
}
