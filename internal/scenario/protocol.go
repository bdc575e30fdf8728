package scenario

import (
	"time"

	"schedlab/internal/stats"
)

// A Timing is how long the windows of a protocol are, and how long a comparison may take.
// It ends earlier, at the first look at which everything is decided.
type Timing struct {
	Warmup, Window, Budget time.Duration
}

// Protocols are the kinds that a scenario may name.
var Protocols = map[string]Timing{
	"quick": {Warmup: 200 * time.Millisecond, Window: 500 * time.Millisecond, Budget: 75 * time.Second},
	"full":  {Warmup: 400 * time.Millisecond, Window: 3600 * time.Millisecond, Budget: 10 * time.Minute},
}

// MinBlocks is the first look: fewer blocks decide nothing. MaxBlocks is the last.
var (
	MinBlocks = stats.Looks()[0]
	MaxBlocks = stats.Looks()[len(stats.Looks())-1]
)
