package record

import "schedlab/internal/fact"

// Facts are in package fact; a record has them in many places.
type (
	Fact = fact.Fact
	Code = fact.Code
)
