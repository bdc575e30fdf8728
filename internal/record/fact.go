package record

import "schedlab/internal/fact"

// Facts are in package fact; these names go when every package names it.
type (
	Fact   = fact.Fact
	Code   = fact.Code
	Values = map[string]float64
	Names  = map[string]string
)

// Sentence registers the words for a code whose values are not typed yet.
func Sentence(code Code, text string) Code {
	return fact.Sentence(code, 0, nil, text)
}

// ByWeight is fact.ByWeight.
func ByWeight(doubts []Fact) []Fact { return fact.ByWeight(doubts) }

// Facts that several packages find or branch on. Every other fact is in the package that finds it.
var (
	CauseTurnedAway = Sentence("cause-turned-away", `its queue is full, and it turns {{percentf "%.3g" .Values.away}} of its connections away`)
)
