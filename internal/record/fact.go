package record

import "schedlab/internal/fact"

// Fact is a fact, which a record has in many places.
type Fact = fact.Fact

// Code is the code of its kind.
type Code = fact.Code
