package attack

import (
	"math"
	"strings"
	"testing"
	"time"

	"schedlab/internal/load"
	"schedlab/internal/record"
)

// Requests that were sent 5 ms late are the generator's fault in an open loop alone:
// a client of a paced closed loop is late because its last answer was.
func TestSumUpBlamesOpenLoopsForLag(t *testing.T) {
	t.Parallel()
	result := &load.Result{Start: time.Now()}
	for i := range int64(1000) {
		at := i * int64(time.Millisecond)
		result.Requests = append(result.Requests, record.Request{Scheduled: at, Sent: at + 5e6, Done: at + 7e6, Status: 200})
	}
	for loop, blamed := range map[string]bool{"open": true, "closed": false} {
		sum := record.Attack{Loop: loop, Duration: 1, Timeout: 1}
		sumUp(&sum, writtenAtOnce(result))
		if got := strings.Contains(strings.Join(doubtsOf(sum), "\n"), "the generator was late"); got != blamed {
			t.Errorf("%s loop: blamed %v, doubts %q; want %v", loop, got, doubtsOf(sum), blamed)
		}
		if (sum.Lag.P50 > 4e-3) != blamed || sum.Response.P50 < 6.9e-3 || sum.Service.P50 > 2.1e-3 {
			t.Errorf("%s loop: lag p50 %g s, response %g, service %g; want a lag of 5 ms in the open loop alone, 7 ms, 2 ms", loop, sum.Lag.P50, sum.Response.P50, sum.Service.P50)
		}
	}
}

// writtenAtOnce stamps requests that waited for no connection.
func writtenAtOnce(result *load.Result) *load.Result {
	result.Stamps = nil
	for _, r := range result.Requests {
		result.Stamps = append(result.Stamps, record.Stamps{Ready: r.Sent, Wrote: r.Sent})
	}
	return result
}

// sumUp sums up an open loop's result.
func sumUp(sum *record.Attack, result *load.Result) {
	t := NewTally(sum)
	for i, r := range result.Requests {
		t.Add(r, result.Stamps[i])
	}
	t.end(result)
}

func doubtsOf(a record.Attack) (texts []string) {
	for _, d := range a.Doubts {
		texts = append(texts, d.String())
	}
	return texts
}

// What is said of an attack under way: bad replies are replies, the time never passes the attack's end, and
// after that the line tells how many replies are awaited.
func TestTallySoFar(t *testing.T) {
	t.Parallel()
	sum := record.Attack{Loop: "open", Timeout: 1}
	tally := NewTally(&sum)
	for i := range int64(2000) {
		r := record.Request{Scheduled: i, Sent: i, Done: i + 2e6, Status: 200}
		switch {
		case i < 3:
			r.Outcome, r.Status = record.Reset, 0
		case i < 10:
			r.Status = 503
		}
		tally.Add(r, record.Stamps{Ready: i, Wrote: i})
	}
	const counts = ": 2000 of 2100 requests ended, 3 without a reply, 7 not good; of those that ended p50 2.00 ms, p99 2.00 ms"
	for _, line := range []struct {
		at    time.Duration
		about bool
		want  string
	}{
		{9900 * time.Millisecond, false, ""}, {10100 * time.Millisecond, false, "after 10s of 15s" + counts}, {14 * time.Second, false, ""},
		{15100 * time.Millisecond, false, ""}, {16 * time.Second, false, "the 15s are over, waiting for replies to 100 requests" + counts},
		{17 * time.Second, false, ""}, {25 * time.Second, true, "the 15s are over, waiting for replies to about 100 requests" + counts},
	} {
		if got := tally.SoFar(line.at, 15*time.Second, func(time.Duration) (int, bool) { return 2100, line.about }); got != line.want {
			t.Errorf("at %v: got %q, want %q", line.at, got, line.want)
		}
	}
}

// Goodput is of the time in which good replies came: all of the sending and what the
// server took to catch up after it, but not the wait for requests that were lost.
func TestSumUpGoodput(t *testing.T) {
	t.Parallel()
	second := int64(time.Second)
	// A hundred a second for three seconds, answered after wait, or lost after 2 s.
	run := func(wait func(i int64) int64, lost ...int) *load.Result {
		result := &load.Result{Start: time.Now()}
		for i := range int64(300) {
			at := i * second / 100
			result.Requests = append(result.Requests, record.Request{Scheduled: at, Sent: at, Done: at + wait(i), Status: 200})
		}
		for _, i := range lost {
			r := &result.Requests[i]
			r.Outcome, r.Status, r.Done = record.TimedOut, 0, r.Sent+2*second
		}
		return result
	}
	prompt := func(int64) int64 { return 1e6 }
	for _, c := range []struct {
		name   string
		status record.Status
		result *load.Result
		want   float64
	}{
		{"prompt", record.Complete, run(prompt), 100},
		{"the last ones lost, and waited for", record.Complete, run(prompt, 297, 298, 299), 99},
		{"half of the rate, so twice the time", record.Complete, run(func(i int64) int64 { return (i + 1) * second / 100 }), 300 / 5.99},
		{"all lost", record.Complete, run(func(int64) int64 { return 0 }, seq(300)...), 0},
		{"interrupted after 2.99 s of 10, the last ones lost", record.Interrupted, run(prompt, 298, 299), 298 / 2.99},
	} {
		a := record.Attack{Status: c.status, Loop: "open", Duration: 3, Timeout: 2}
		if c.status == record.Interrupted {
			a.Duration = 10
		}
		if sumUp(&a, writtenAtOnce(c.result)); math.Abs(a.Goodput-c.want) > .01*c.want {
			t.Errorf("%s: goodput %g/s, want %g/s", c.name, a.Goodput, c.want)
		}
	}
}

func seq(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

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
