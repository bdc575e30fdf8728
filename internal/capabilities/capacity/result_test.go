package capacity

import (
	"encoding/json"
	"testing"

	"schedlab/internal/shared/outcome"
)

// An arm of an older record has a word for each kind of outcome.
func TestOlderCapacity(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]outcome.Outcome{
		"between": outcome.Yes, "beyond": outcome.Yes, "below": outcome.No, "never": outcome.No,
		"slow": outcome.Refused, "died": outcome.Refused, "open": outcome.Open, "no": outcome.No,
	} {
		var a ArmCapacity
		err := json.Unmarshal([]byte(`{"name": "pool", "outcome": "`+word+`", "answer": {"code": "x", "arm": "pool"}, "recovers": "yes"}`), &a)
		if err != nil || a.Outcome != want || a.Never != (word == "never") || a.Recovers != outcome.Yes || a.Answer != outcome.Capacity.Phrase(want) || a.Fact.Arm != "pool" {
			t.Errorf("%s: got %+v, %v, want %s", word, a, err, want)
		}
	}
}
