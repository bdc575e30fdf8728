package record

import (
	"cmp"
	"encoding/json"
	"fmt"

	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/stats"
)

// A Winner tells whether it is known which arm is best. Its text is the arm's name, "trade" or "open". A run that compared
// nothing has the zero Winner.
type Winner struct {
	Outcome outcome.Outcome // Yes or Open
	Arm     string          // the winning arm if the outcome is Yes; "" for a trade, which has no winner
}

// tradeWord is the text of a trade, of a winner and of a place.
const tradeWord = "trade"

// String returns the winner's text.
func (w Winner) String() string {
	if w.Outcome == outcome.Yes {
		return cmp.Or(w.Arm, tradeWord)
	}
	return string(w.Outcome)
}

// MarshalText writes what String returns.
func (w Winner) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

// UnmarshalText reads a winner, also "undecided" of a record that an older schedlab wrote.
func (w *Winner) UnmarshalText(text []byte) error {
	switch word := string(text); word {
	case "":
		*w = Winner{}
	case "open", "undecided":
		*w = Winner{Outcome: outcome.Open}
	case tradeWord:
		*w = Winner{Outcome: outcome.Yes}
	default:
		*w = Winner{Outcome: outcome.Yes, Arm: word}
	}
	return nil
}

// A Conclusion is the outcome of all verdicts of a comparison.
type Conclusion struct {
	Outcome   outcome.Outcome `json:"outcome"`            // whether it is decided which arm is best; Refused if no verdict was reached
	Answer    string          `json:"answer"`             // Outcome in words: decided, open, refused
	Kind      AnswerKind      `json:"kind,omitempty"`     // "" for a plain Open, and for a Refused with a Reason
	Faster    []string        `json:"faster,omitempty"`   // arms that beat the arm they are compared with
	Standings []Standing      `json:"standings"`          // one per challenger, in plan order
	Duels     []Duel          `json:"duels,omitempty"`    // challengers that beat the baseline, against one another
	Starving  []string        `json:"starving,omitempty"` // arms that left connections without a reply, if no standing says so
	Reason    fact.Fact       `json:"reason,omitzero"`    // of a Refused: why no verdict was reached
	// Says is the answer to another question than which arm is best, in one sentence with its figures. Outcome is its outcome
	// then. None where that is the question, and of a gate, which has its answers in Comparison.Gate.
	Says fact.Fact `json:"says,omitzero"`
}

// UnmarshalJSON reads a conclusion. In older records the outcome is the kind.
func (c *Conclusion) UnmarshalJSON(data []byte) error {
	type plain Conclusion
	if err := json.Unmarshal(data, (*plain)(c)); err != nil {
		return err
	}
	var older struct {
		Outcome AnswerKind `json:"outcome"`
	}
	if err := json.Unmarshal(data, &older); err == nil && older.Outcome.Outcome() != outcome.Open || older.Outcome == SeveralWin {
		c.Kind = older.Outcome
	}
	if c.Says.None() {
		c.Answer = outcome.Winner.Phrase(c.Outcome)
	}
	return nil
}

// An AnswerKind is the kind of a Conclusion. It decides the words of the headline.
type AnswerKind string

// The kinds.
const (
	OtherLoads AnswerKind = "other-loads"  // the arms' loads differ, so no arm wins
	OneWins    AnswerKind = "one-wins"     // one arm beats all others
	SeveralWin AnswerKind = "several-win"  // several beat the baseline; the best of them is open
	ATrade     AnswerKind = "trade"        // better at one metric, worse at another
	ATie       AnswerKind = "tie"          // all are the same
	TieForBest AnswerKind = "tie-for-best" // some are the same, the others slower
)

// Outcome returns the outcome of a conclusion of this kind.
func (k AnswerKind) Outcome() outcome.Outcome {
	switch k {
	case OneWins, ATrade, ATie, TieForBest:
		return outcome.Yes
	case OtherLoads:
		return outcome.Refused
	}
	return outcome.Open
}

// A Standing is where one challenger stands by all its verdicts.
type Standing struct {
	Arm      string `json:"arm"`
	Baseline string `json:"baseline"` // the arm compared with
	Place    Place  `json:"rank"`
	// Differs names the settings of a closed loop that differ. Response times then follow the
	// load and say nothing about the servers: only the work done and its cost are compared.
	Differs []string `json:"differs,omitempty"`
}

// A Duel compares one challenger with another, by the blocks of both.
type Duel struct {
	Standing
	Verdicts []Verdict `json:"verdicts"`
}

// A Place is where an arm stands against another, by all their verdicts together. An arm has the zero
// Place against itself.
type Place struct {
	Outcome outcome.Outcome // Yes if the rank is known; Open or Refused
	// Rank is by the response times. Where an arm does not keep up or fails requests it is by goodput: Higher or Lower. With
	// Open it is Same if the arms are the same at some metrics, and the other metrics are open.
	Rank stats.Rank
	Why  NoTimes // set for Refused
}

// A NoTimes tells why two arms have no response times to compare.
type NoTimes string

// The reasons.
const (
	OtherLoad      NoTimes = "other-load" // see Standing.Differs
	StarvesClients NoTimes = "starves"    // the arm starves so many connections that the times of the others mean nothing
	NoTimesBeside  NoTimes = "no-times"   // the other arm starves so many connections
)

// placeWords are the texts of places.
var placeWords = map[Place]string{
	{}: "",
	{Outcome: outcome.Yes, Rank: stats.Faster}:      "faster",
	{Outcome: outcome.Yes, Rank: stats.Slower}:      "slower",
	{Outcome: outcome.Yes, Rank: stats.Same}:        "same",
	{Outcome: outcome.Yes, Rank: stats.Trade}:       tradeWord,
	{Outcome: outcome.Yes, Rank: stats.Higher}:      "keeps-up",
	{Outcome: outcome.Yes, Rank: stats.Lower}:       "falls-behind",
	{Outcome: outcome.Open, Rank: stats.Same}:       "partly-same",
	{Outcome: outcome.Open}:                         "open",
	{Outcome: outcome.Refused, Why: OtherLoad}:      string(OtherLoad),
	{Outcome: outcome.Refused, Why: StarvesClients}: string(StarvesClients),
	{Outcome: outcome.Refused, Why: NoTimesBeside}:  string(NoTimesBeside),
}

// Placed returns the place of a known rank.
func Placed(r stats.Rank) Place { return Place{Outcome: outcome.Yes, Rank: r} }

// Better reports whether the arm beats the other.
func (p Place) Better() bool { return p == Placed(stats.Faster) || p == Placed(stats.Higher) }

// Worse reports whether the other arm beats it.
func (p Place) Worse() bool { return p == Placed(stats.Slower) || p == Placed(stats.Lower) }

// String returns the place's word, as records have it.
func (p Place) String() string { return placeWords[p] }

// MarshalText writes what String returns.
func (p Place) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads a place, also "undecided" of a record that an older schedlab wrote.
func (p *Place) UnmarshalText(text []byte) error {
	word := string(text)
	if word == "undecided" {
		word = "open"
	}
	for place, is := range placeWords {
		if is == word {
			*p = place
			return nil
		}
	}
	return fmt.Errorf("unknown rank %q", text)
}
