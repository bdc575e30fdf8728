package experiment

import (
	"math"
	"testing"
	"time"

	"schedlab/internal/load"
	"schedlab/internal/record"
)

// A probe whose halves differ says by how much, as a share of the whole; failures are
// in neither half.
func TestUnevenness(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		first, second, failed int
		want                  float64
	}{{50, 50, 9, 0}, {60, 40, 0, .4}, {40, 60, 0, .4}, {0, 10, 0, 2}} {
		r := load.ClosedResult{Answered: c.first + c.second, Elapsed: probeWindow}
		add := func(n int, at time.Duration, status int) {
			for range n {
				r.Requests = append(r.Requests, record.Request{Done: int64(at), Outcome: record.Answered, Status: uint16(status)})
			}
		}
		add(c.first, probeWarmup+probeWindow/4, 200)
		add(c.second, probeWarmup+probeWindow*3/4, 200)
		add(c.failed, probeWarmup+probeWindow*3/4, 503)
		if got := unevenness(r); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%+v: got %g", c, got)
		}
	}
}
