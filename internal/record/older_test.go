package record

import (
	"encoding/json"
	"testing"

	"schedlab/internal/outcome"
)

// An arm of an older record has a word for each kind of outcome.
func TestOlderCapacity(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]outcome.Outcome{
		"between": outcome.Yes, "beyond": outcome.Yes, "below": outcome.No, "never": outcome.No,
		"slow": outcome.Refused, "died": outcome.Refused, "open": outcome.Open, "no": outcome.No,
	} {
		var a ArmCapacity
		err := json.Unmarshal([]byte(`{"name": "pool", "outcome": "`+word+`", "recovers": "yes"}`), &a)
		if err != nil || a.Outcome != want || a.Never != (word == "never") || a.Recovers != outcome.Yes {
			t.Errorf("%s: got %+v, %v, want %s", word, a, err, want)
		}
	}
}

// A conclusion of an older record has its kind as the outcome.
func TestOlderConclusion(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]Conclusion{
		"one-wins": {Outcome: outcome.Yes, Kind: OneWins}, "tie-for-best": {Outcome: outcome.Yes, Kind: TieForBest},
		"several-win": {Outcome: outcome.Open, Kind: SeveralWin}, "other-loads": {Outcome: outcome.Refused, Kind: OtherLoads},
		"undecided": {Outcome: outcome.Open}, "no-verdict": {Outcome: outcome.Refused}, "refused": {Outcome: outcome.Refused}, "yes": {Outcome: outcome.Yes},
	} {
		var c Conclusion
		if err := json.Unmarshal([]byte(`{"outcome": "`+word+`"}`), &c); err != nil || c.Outcome != want.Outcome || c.Kind != want.Kind {
			t.Errorf("%s: got %s of kind %q, %v, want %s of %q", word, c.Outcome, c.Kind, err, want.Outcome, want.Kind)
		}
	}
}
