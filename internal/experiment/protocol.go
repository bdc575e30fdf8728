package experiment

import (
	"time"

	"schedlab/internal/stats"
)

// A protocol is how long windows are, and how long it may take. Either ends at the first
// look at which everything is decided.
type protocol struct {
	warmup, window, budget time.Duration
}

var protocols = map[string]protocol{
	"quick": {warmup: 200 * time.Millisecond, window: 500 * time.Millisecond, budget: 75 * time.Second},
	"full":  {warmup: 400 * time.Millisecond, window: 3600 * time.Millisecond, budget: 10 * time.Minute},
}

var (
	// minBlocks is the first look: fewer blocks decide nothing. maxBlocks is the last.
	minBlocks = stats.Looks()[0]
	maxBlocks = stats.Looks()[len(stats.Looks())-1]
)
