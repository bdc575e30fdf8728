package attack

import (
	"testing"
	"time"

	"schedlab/internal/load"
	"schedlab/internal/record"
)

// More connections are advised when they would change something: not for the few
// requests that waited long because the server died.
func TestAdviceOnConnections(t *testing.T) {
	t.Parallel()
	for waited, advised := range map[int]bool{3: false, 19: false, 200: true} {
		result := &load.Result{Start: time.Now(), Waited: waited}
		for i := range int64(1931) {
			at := i * int64(time.Millisecond)
			result.Requests = append(result.Requests, record.Request{Scheduled: at, Sent: at, Done: at + 10e6, Status: 200})
		}
		sum := record.Attack{Status: record.Complete, Loop: "open", Duration: 1.931, Timeout: 1}
		for _, r := range result.Requests {
			result.Stamps = append(result.Stamps, record.Stamps{Ready: r.Sent + 5e6, Wrote: r.Sent + 5e6})
		}
		sumUp(&sum, result)
		if got := len(sum.Doubts) > 0; got != advised {
			t.Errorf("%d of 1931 waited: doubts %v; want one, on connections: %v", waited, sum.Doubts, advised)
		}
	}
}
