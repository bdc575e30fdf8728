package session

import (
	"testing"

	"schedlab/internal/capabilities/doctor"
	"schedlab/internal/shared/outcome"
)

// The short look of a comparison never calls a machine fit, as doctor's further checks may find
// something.
func TestShortLookCallsNothingFit(t *testing.T) {
	t.Parallel()
	for doubt, want := range map[bool]string{
		false: "machine: a short look found nothing that disturbs it; `schedlab doctor` checks more",
		true:  "machine: fit with reservations: swap: 3 of 9 MiB in use; `schedlab doctor` says more",
	} {
		r := doctor.Report{
			Outcome: outcome.Yes, Sentence: "fit with reservations: swap: 3 of 9 MiB in use",
			Findings: []doctor.Finding{{Outcome: outcome.Yes, Doubt: doubt}},
		}
		if got := machineLine(r); got != want {
			t.Errorf("a doubt %v: got %q, want %q", doubt, got, want)
		}
	}
}
