package load

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"schedlab/internal/record"
)

// stalling stops answering for the last 200 ms of every 2 s.
func stalling(t *testing.T, service time.Duration) *pipeServer {
	start := time.Now()
	return newPipeServer(t, func(int, string) string {
		const period, stall = 2 * time.Second, 200 * time.Millisecond
		time.Sleep(service)
		if left := period - time.Since(start)%period; left <= stall {
			time.Sleep(left)
		}
		return okReply
	})
}

// quantile is the nearest-rank q-quantile of response times.
func quantile(reqs []record.Request, q float64) time.Duration {
	times := make([]time.Duration, len(reqs))
	for i, r := range reqs {
		times[i] = time.Duration(r.Done - r.Scheduled)
	}
	slices.Sort(times)
	return times[int(q*float64(len(times)))]
}

// One request in ten meets the stall and waits up to 200 ms, evenly, so p99 is
// 180 ms. Timed from the schedule the eight connections cannot hide that; asked
// in a closed loop, only the eight requests under way meet the stall, and p99 is
// the service time: coordinated omission.
func TestOpenLoopSeesTheStallAClosedLoopOmits(t *testing.T) {
	t.Parallel()
	const service, connections, rate = 200 * time.Microsecond, 8, 2000
	synctest.Test(t, func(t *testing.T) {
		o := pipeOptions(stalling(t, service), Constant(rate, 20*time.Second))
		o.Connections = connections
		open := quantile(attack(t, o).Requests, 0.99)
		if truth := 180 * time.Millisecond; open < truth*95/100 || open > truth*105/100 {
			t.Errorf("open loop p99 %v, want %v within 5 %%", open, truth)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		o := closedOptions(stalling(t, service))
		o.Connections, o.Duration, o.Record = connections, 2*time.Second, true
		res, err := Closed(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if closed := quantile(res.Requests, 0.99); closed >= time.Millisecond {
			t.Errorf("closed loop p99 %v, want below 1ms: it should not see the stall", closed)
		}
	})
}
