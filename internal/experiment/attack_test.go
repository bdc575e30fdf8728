package experiment

import (
	"strings"
	"testing"
	"time"

	"schedlab/internal/load"
	"schedlab/internal/record"
)

// Requests that were sent 5 ms late are the generator's fault in an open loop alone:
// a client of a paced closed loop is late because its last answer was.
func TestSummariseBlamesOpenLoopsForLag(t *testing.T) {
	t.Parallel()
	result := &load.Result{Start: time.Now()}
	for i := range int64(1000) {
		at := i * int64(time.Millisecond)
		result.Requests = append(result.Requests, record.Request{Scheduled: at, Sent: at + 5e6, Done: at + 7e6, Status: 200})
	}
	for loop, blamed := range map[string]bool{"open": true, "closed": false} {
		sum := Summarise(record.Attack{Loop: loop, Duration: 1, Timeout: 1}, result, len(result.Requests))
		if got := strings.Contains(strings.Join(doubtsOf(sum), "\n"), "the generator was late"); got != blamed {
			t.Errorf("%s loop: blamed %v, doubts %q; want %v", loop, got, doubtsOf(sum), blamed)
		}
		if (sum.Lag.P50 > 4e-3) != blamed || sum.Response.P50 < 6.9e-3 || sum.Service.P50 > 2.1e-3 {
			t.Errorf("%s loop: lag p50 %g s, response %g, service %g; want a lag of 5 ms in the open loop alone, 7 ms, 2 ms", loop, sum.Lag.P50, sum.Response.P50, sum.Service.P50)
		}
	}
}

func doubtsOf(a record.Attack) (texts []string) {
	for _, d := range a.Doubts {
		texts = append(texts, d.Text)
	}
	return texts
}
