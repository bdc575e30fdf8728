package report

import (
	"slices"

	"schedlab/internal/doubt"
	"schedlab/internal/fact"
	"schedlab/internal/record"
)

// others returns a result without the doubt that its first line tells already.
func others(r *record.Result) *record.Result {
	if doubt.TooBusy(r.Doubts).None() {
		return r
	}
	rest := *r
	rest.Doubts = slices.DeleteFunc(slices.Clone(r.Doubts), fact.Fact.Disturbs)
	return &rest
}
