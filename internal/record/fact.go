package record

import "schedlab/internal/fact"

// A Fact is what package fact calls so, and a Code identifies its kind. A record has facts in many places.
type (
	Fact = fact.Fact
	Code = fact.Code
)
