package judge

import (
	"math"
	"testing"

	"schedlab/internal/record"
)

// A quantile of an arm's sessions is the windows' median, and needs enough in each.
func TestArmSessions(t *testing.T) {
	t.Parallel()
	r := synthetic{edit: func(t *record.Trial, requests []record.Request) []record.Request {
		complete := map[string]int{"nethttp": 120, "fasthttp": 50, "pool": 3}[t.Arm]
		if complete > 0 {
			t.Client.Sessions = &record.Sessions{Complete: complete + t.Block%2, Broken: 1, Duration: record.Quantiles{P50: .01 * float64(t.Block), P90: .02 * float64(t.Block)}}
		}
		return requests
	}}.judged(t)
	near := func(name string, got *float64, want float64) {
		t.Helper()
		if (got == nil) != (want == 0) || got != nil && math.Abs(*got-want) > 1e-9 {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	base, fasthttp, pool := r.Arms[0].Sessions, r.Arms[2].Sessions, r.Arms[3].Sessions
	near("p50", base.P50, .065)
	near("p90", base.P90, .13)
	near("p50 of 50", fasthttp.P50, .065)
	near("p90 of 50", fasthttp.P90, 0)
	near("p50 of 3", pool.P50, 0)
	if base.Complete != 12*120+6 || base.Broken != 12 || base.PerWindow != 120 {
		t.Errorf("got %+v", base)
	}
	if r.Arms[1].Sessions != nil {
		t.Errorf("without sessions: got %+v", r.Arms[1].Sessions)
	}
}
