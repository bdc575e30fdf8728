package record

import (
	"schedlab/internal/shared/request"
	"schedlab/internal/shared/responses"
	"testing"
	"time"
)

// Every request of the window is counted once, and one without a reply in the top row however long
// it took.
func TestHeat(t *testing.T) {
	t.Parallel()
	trial := Trial{Warmup: Lasting(time.Second), Window: Lasting(6 * time.Second)}
	at := func(seconds, took float64, o request.End) request.Request {
		return request.Request{Scheduled: int64(seconds * 1e9), Done: int64((seconds + took) * 1e9), Outcome: o}
	}
	got := trial.Heat([]request.Request{
		at(.9, .001, request.Answered), at(7, .001, request.Answered), // in the warm-up, and after the end
		at(1, 0, request.Answered), at(1, 1000, request.Answered), // shorter than the lowest row, longer than the highest
		at(3.1, .00115, request.Answered), at(3.2, .00115, request.Answered), at(6.999, .0105, request.Answered),
		at(2, 10, request.TimedOut), at(2.6, .0001, request.Refused), at(2.7, 1, request.Reset), at(2.8, 1, request.Cut),
	})
	want := responses.HeatCounts{}
	want[0][0], want[0][responses.NoReply-1], want[4][30], want[11][40], want[2][responses.NoReply], want[3][responses.NoReply] = 1, 1, 2, 1, 1, 3
	if *got != want {
		for i := range got {
			for row, n := range got[i] {
				if n != want[i][row] {
					t.Errorf("slice %d, row %d (%g s) has %d requests, want %d", i, row, responses.HeatTime(row), n, want[i][row])
				}
			}
		}
	}
}
