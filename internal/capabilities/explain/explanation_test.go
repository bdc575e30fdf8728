package explain

import (
	"encoding/json"
	"testing"

	"schedlab/internal/shared/outcome"
)

// An explanation of an older record has other words for its outcome and those of its causes.
func TestOlderExplanation(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]outcome.Outcome{
		`{"outcome": "because", "causes": [{"state": "confirmed"}]}`:                   {outcome.Yes, outcome.Yes},
		`{"outcome": "shown", "causes": [{"state": "shown"}]}`:                         {outcome.Yes, outcome.Yes},
		`{"outcome": "correlated", "causes": [{"state": "not-confirmed"}]}`:            {outcome.Open, outcome.No},
		`{"outcome": "no-cause", "slower": "b"}`:                                       {outcome.Open},
		`{"outcome": "no-cause", "reason": {"code": "starvation", "text": "starved"}}`: {outcome.Refused},
		`{"outcome": "no-difference"}`:                                                 {outcome.No},
		`{"outcome": "not-known"}`:                                                     {outcome.Open},
	} {
		var x Explanation
		err := json.Unmarshal([]byte(text), &x)
		got := [2]outcome.Outcome{x.Outcome}
		if len(x.Causes) > 0 {
			got[1] = x.Causes[0].Outcome
		}
		if err != nil || got != want || x.Answer != outcome.Difference.Phrase(want[0]) {
			t.Errorf("%s: got %s (%s), %v, want %s", text, got, x.Answer, err, want)
		}
	}
}
