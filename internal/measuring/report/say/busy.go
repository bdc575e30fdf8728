package say

import (
	"slices"
	"strings"

	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
)

// TooBusy returns the first line of an answer that is open because others took CPU time; "" for any other. busy is the
// doubt about them, or no fact.
func TooBusy(busy fact.Fact) string {
	if of, _ := fact.In(doubt.MachineBusy, busy); !of.Open {
		return ""
	}
	return busy.Part("answer") + "."
}

// BelowTooBusy returns the sentences below that line, without a full stop: who took the time, what that did, the ways
// out, "" if they are told elsewhere, and soFar, the answer that the run would have had; nil if there is no such line.
func BelowTooBusy(busy fact.Fact, soFar, wayOut string) []string {
	if TooBusy(busy) == "" {
		return nil
	}
	lines := []string{"Effect: " + busy.Part("effect")}
	if wayOut != "" {
		lines = append(lines, "Next: "+wayOut)
	}
	if took := busy.Part("took"); took != busy.Part("share") { // else the first line has it
		lines = slices.Insert(lines, 0, "Busy: "+took)
	}
	if soFar != "" {
		lines = append(lines, "So far: "+strings.TrimSuffix(soFar, "."))
	}
	return lines
}
