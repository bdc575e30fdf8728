package experiment

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
)

// The collector is off in a window, but not whatever it costs: past a limit it runs.
// Afterwards all is as it was.
func TestQuietCollector(t *testing.T) {
	percent, limit := debug.SetGCPercent(80), debug.SetMemoryLimit(math.MaxInt64)
	defer func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}()
	undo := quietCollector()
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	room := debug.SetMemoryLimit(-1) - int64(now.Sys-now.HeapReleased)
	if off := debug.SetGCPercent(-1); off != -1 || room > quietRoom || room < quietRoom/2 {
		t.Errorf("in the window the collector is at %d %%, with room for %d bytes; want it off, with about %d", off, room, quietRoom)
	}
	undo()
	if on, after := debug.SetGCPercent(80), debug.SetMemoryLimit(-1); on != 80 || after != math.MaxInt64 {
		t.Errorf("afterwards %d %% and a limit of %d, want 80 and none", on, after)
	}
	debug.SetMemoryLimit(1 << 29) // the user's own
	undo = quietCollector()
	if got := debug.SetMemoryLimit(-1); got > 1<<29 {
		t.Errorf("the limit is raised to %d, want the user's", got)
	}
	undo()
}
