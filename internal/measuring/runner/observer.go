package runner

import (
	"schedlab/internal/measuring/window"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/record"
)

// An Observer follows a run. Run calls it on its own goroutine, between windows only.
type Observer interface {
	// Doubt tells, before the blocks start, each kind of doubt that makes or breaks the answer, what the plan changed
	// for its aim, the expectations that it cannot judge, and each metric that was asked for and cannot be decided.
	Doubt(d fact.Fact)
	// Trouble tells, once for each cause, what takes CPU time from server or load.
	Trouble(t record.Trouble)
	// Look tells the result so far, after this number of blocks that count, after each look that does not end the run.
	Look(r record.Result, blocks int)
	// Window tells the figures of each window of a comparison when its trial has ended.
	Window(p record.Plan, w window.Window)
}

// unobserved is the Observer of a run that nobody watches.
type unobserved struct{}

func (unobserved) Doubt(fact.Fact)                   {}
func (unobserved) Trouble(record.Trouble)            {}
func (unobserved) Look(record.Result, int)           {}
func (unobserved) Window(record.Plan, window.Window) {}
