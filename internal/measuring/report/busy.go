package report

import (
	"slices"

	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
)

// others returns the doubts without the one that the first line of a report tells already.
func others(doubts []fact.Fact) []fact.Fact {
	if doubt.TooBusy(doubts).None() {
		return doubts
	}
	return slices.DeleteFunc(slices.Clone(doubts), fact.Fact.Disturbs)
}
