package record

import "schedlab/internal/fact"

// Facts are in package fact; these names go when every package names it.
type (
	Fact   = fact.Fact
	Code   = fact.Code
	Values = map[string]float64
	Names  = map[string]string
)

// ByWeight is fact.ByWeight.
func ByWeight(doubts []Fact) []Fact { return fact.ByWeight(doubts) }
