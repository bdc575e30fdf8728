package experiment

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/record"
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

// Only requests that found no server at the end of a trial are worth waiting for
// its death.
func TestBrokeOff(t *testing.T) {
	t.Parallel()
	at := func(done int64, how record.Outcome) record.Request { return record.Request{Done: done, Outcome: how} }
	for _, c := range []struct {
		requests []record.Request
		want     bool
	}{
		{nil, false},
		{[]record.Request{at(1, record.Answered), at(2, record.Reset)}, true},
		{[]record.Request{at(3, record.Refused), at(2, record.Answered)}, true},
		{[]record.Request{at(3, record.Answered), at(2, record.Reset)}, false},
		{[]record.Request{at(1, record.Reset), at(2, record.TimedOut)}, false},
	} {
		if got := brokeOff(c.requests); got != c.want {
			t.Errorf("%v: got %v, want %v", c.requests, got, c.want)
		}
	}
}

func TestCounters(t *testing.T) {
	t.Parallel()
	got := counters([]byte(`# TYPE schedlab_connections_accepted counter
schedlab_connections_accepted_total{mode="pool"} 12.0 1700000000.1
schedlab_connections_rejected_total{mode="pool",reason="full"} 2
schedlab_connections_rejected_total{mode="pool",reason="late"} 3
schedlab_connections_open{mode="pool"} broken
schedlab_requests_total{mode="pool",code="200"} 12
# EOF
`))
	want := map[string]float64{"schedlab_connections_accepted_total": 12, "schedlab_connections_rejected_total": 5}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
