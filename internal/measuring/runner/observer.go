package runner

import (
	"schedlab/internal/measuring/window"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/record"
)

// An Observer is told what happens in a run. Run calls it on its own goroutine, between windows only.
type Observer interface {
	// Doubt tells, before the blocks start, each kind of doubt that makes or breaks the answer, what the plan changed
	// for its aim, the expectations that it cannot judge, and each metric that was asked for and cannot be decided.
	Doubt(d fact.Fact)
	// Trouble tells, once for each cause, what takes CPU time from server or load.
	Trouble(t record.Trouble)
	// Look tells the result so far after each look that does not end the run.
	Look(r *record.Comparison)
	// Window tells the figures of each window of a comparison when its trial has ended.
	Window(p record.Plan, w window.Window)
}

// Unobserved is an Observer that ignores everything. Embed it to observe a part.
type Unobserved struct{}

// Doubt does nothing.
func (Unobserved) Doubt(fact.Fact) {}

// Trouble does nothing.
func (Unobserved) Trouble(record.Trouble) {}

// Look does nothing.
func (Unobserved) Look(*record.Comparison) {}

// Window does nothing.
func (Unobserved) Window(record.Plan, window.Window) {}
