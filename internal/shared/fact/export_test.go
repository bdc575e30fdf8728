package fact

import (
	"maps"
	"slices"
)

// Codes returns the codes of all kinds, in order.
func Codes() []Code { return slices.Sorted(maps.Keys(kinds)) }
