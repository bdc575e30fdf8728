package report

import (
	"slices"
	"strings"

	"schedlab/internal/doubt"
	"schedlab/internal/record"
)

// tooBusy returns the first line of an answer that is open because others took CPU time; "" for any other. busy is the
// doubt about them, or no fact.
func tooBusy(busy record.Fact) string {
	if of, _ := doubt.MachineBusy.In(busy); !of.Open {
		return ""
	}
	return busy.Part("answer") + "."
}

// belowTooBusy returns the sentences below that line, without a full stop: who took the time, what that did, the ways
// out, and soFar, the answer that the run would have had; nil if there is no such line.
func belowTooBusy(busy record.Fact, soFar string) []string {
	if tooBusy(busy) == "" {
		return nil
	}
	lines := []string{"Busy: " + busy.Part("took"), "Effect: " + busy.Part("effect"), "Next: " + busy.Part("do")}
	if soFar != "" {
		lines = append(lines, "So far: "+strings.TrimSuffix(soFar, "."))
	}
	return lines
}

// others returns a result without the doubt that its first line tells already.
func others(r *record.Result) *record.Result {
	if doubt.TooBusy(r.Doubts).None() {
		return r
	}
	rest := *r
	rest.Doubts = slices.DeleteFunc(slices.Clone(r.Doubts), record.Fact.Disturbs)
	return &rest
}
