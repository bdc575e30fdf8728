package scenario

import (
	"time"

	"schedlab/internal/stats"
)

// A Timing holds the durations of a protocol: of each warm-up and window, and the longest time that a
// comparison may take. A comparison ends earlier, at the first look at which everything is decided.
type Timing struct {
	Warmup, Window, Budget time.Duration
}

// Protocols are the protocols that a scenario may name. They are only read.
var Protocols = map[string]Timing{
	"quick": {Warmup: 200 * time.Millisecond, Window: 500 * time.Millisecond, Budget: 75 * time.Second},
	"full":  {Warmup: 400 * time.Millisecond, Window: 3600 * time.Millisecond, Budget: 10 * time.Minute},
}

// MinBlocks is the number of blocks at the first look: fewer blocks decide nothing. MaxBlocks is the
// number at the last look.
var (
	MinBlocks = stats.Looks()[0]
	MaxBlocks = stats.Looks()[len(stats.Looks())-1]
)
