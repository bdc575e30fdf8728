package runner

import (
	"testing"
	"time"

	"schedlab/internal/measuring/load"
	"schedlab/internal/shared/request"
)

// The longest gap is between two good replies, or at an end of the time asked for.
func TestLongestGap(t *testing.T) {
	t.Parallel()
	const ms = int64(time.Millisecond)
	from := int64(probeWarmup)
	replies := func(at ...int64) (r load.ClosedResult) {
		for _, end := range at {
			r.Requests = append(r.Requests, request.Request{Done: from + end, Status: 200, Outcome: request.Answered})
		}
		return r
	}
	failed := replies(2*ms, 4*ms, 6*ms, 8*ms)
	failed.Requests[2].Status = 500
	for _, c := range []struct {
		name   string
		result load.ClosedResult
		want   time.Duration
	}{
		{"even", replies(2*ms, 4*ms, 6*ms, 8*ms), 2 * time.Millisecond},
		{"amid", replies(1*ms, 2*ms, 7*ms, 8*ms, 9*ms), 5 * time.Millisecond},
		{"at the beginning", replies(6*ms, 8*ms), 6 * time.Millisecond},
		{"at the end", replies(1*ms, 3*ms), 7 * time.Millisecond},
		{"failed", failed, 4 * time.Millisecond},
	} {
		if got := longestGap(c.result, 10*time.Millisecond); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}
