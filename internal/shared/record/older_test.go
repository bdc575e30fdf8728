package record

import (
	"encoding/json"
	"testing"

	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/stats"
)

// A conclusion of an older record has its kind as the outcome.
func TestOlderConclusion(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]Conclusion{
		"one-wins": {Outcome: outcome.Yes, Kind: OneWins}, "tie-for-best": {Outcome: outcome.Yes, Kind: TieForBest},
		"several-win": {Outcome: outcome.Open, Kind: SeveralWin}, "other-loads": {Outcome: outcome.Refused, Kind: OtherLoads},
		"undecided": {Outcome: outcome.Open}, "no-verdict": {Outcome: outcome.Refused}, "refused": {Outcome: outcome.Refused}, "yes": {Outcome: outcome.Yes},
	} {
		var c Conclusion
		if err := json.Unmarshal([]byte(`{"outcome": "`+word+`"}`), &c); err != nil || c.Outcome != want.Outcome || c.Kind != want.Kind || c.Answer != outcome.Winner.Phrase(want.Outcome) {
			t.Errorf("%s: got %s of kind %q, %v, want %s of %q", word, c.Outcome, c.Kind, err, want.Outcome, want.Kind)
		}
	}
}

// A standing and a winner are written with their words, and those of an older record are read.
func TestPlacesAndWinners(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]Place{
		"faster": Placed(stats.Faster), "slower": Placed(stats.Slower), "same": Placed(stats.Same), "trade": Placed(stats.Trade),
		"keeps-up": Placed(stats.Higher), "falls-behind": Placed(stats.Lower),
		"open": {Outcome: outcome.Open}, "undecided": {Outcome: outcome.Open}, "partly-same": {Outcome: outcome.Open, Rank: stats.Same},
		"other-load": {Outcome: outcome.Refused, Why: OtherLoad}, "starves": {Outcome: outcome.Refused, Why: StarvesClients}, "no-times": {Outcome: outcome.Refused, Why: NoTimesBeside},
	} {
		var s Standing
		if err := json.Unmarshal([]byte(`{"arm": "pool", "rank": "`+word+`"}`), &s); err != nil || s.Place != want {
			t.Errorf("%s: got %+v, %v, want %+v", word, s.Place, err, want)
		}
		if written := s.Place.String(); written != word && word != "undecided" {
			t.Errorf("%s is written as %q", word, written)
		}
	}
	var s Standing
	if err := json.Unmarshal([]byte(`{"arm": "pool", "rank": "first"}`), &s); err == nil {
		t.Error("an unknown rank is read")
	}
	for word, want := range map[string]Winner{
		"": {}, "open": {Outcome: outcome.Open}, "undecided": {Outcome: outcome.Open}, "trade": {Outcome: outcome.Yes}, "pool": {Outcome: outcome.Yes, Arm: "pool"},
	} {
		var r Comparison
		if err := json.Unmarshal([]byte(`{"winner": "`+word+`"}`), &r); err != nil || r.Winner != want {
			t.Errorf("%q: got %+v, %v, want %+v", word, r.Winner, err, want)
		}
		if written := r.Winner.String(); written != word && word != "undecided" {
			t.Errorf("%q is written as %q", word, written)
		}
	}
}
