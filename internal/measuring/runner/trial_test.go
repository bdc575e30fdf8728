package runner

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/measuring/load"
	"schedlab/internal/measuring/window"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
	"schedlab/internal/shared/timeline"
)

// Only requests that found no server at the end of a trial are worth waiting for
// its death.
func TestBrokeOff(t *testing.T) {
	t.Parallel()
	at := func(done int64, how request.End) request.Request { return request.Request{Done: done, Outcome: how} }
	for _, c := range []struct {
		requests []request.Request
		want     bool
	}{
		{nil, false},
		{[]request.Request{at(1, request.Answered), at(2, request.Reset)}, true},
		{[]request.Request{at(3, request.Refused), at(2, request.Answered)}, true},
		{[]request.Request{at(3, request.Answered), at(2, request.Reset)}, false},
		{[]request.Request{at(1, request.Reset), at(2, request.TimedOut)}, false},
	} {
		if got := brokeOff(c.requests); got != c.want {
			t.Errorf("%v: got %v, want %v", c.requests, got, c.want)
		}
	}
}

// Of what a server tells, the record has the window and the last reading before it; of a
// long window so many readings as a chart needs, with the one that has most connections open.
func TestReadingsOfAWindow(t *testing.T) {
	t.Parallel()
	var lines []string // from 2 s before the window on
	for i := range 601 {
		open := i % 7
		if i == 333 {
			open = 1000
		}
		lines = append(lines, fmt.Sprintf(`{"at_ns": %d, "accepted": %d, "open": %d}`, 5e9+int64(i-20)*1e8+3e7, i, open))
	}
	read := func(lines []string, window float64) []record.Reading {
		return readings(strings.NewReader(strings.Join(lines, "\n")+"\n{\"at_ns\": 99"), 5e9, window)
	}
	got := read(lines, 1)
	if len(got) != 11 || got[0].Accepted != 19 || got[10].Accepted != 29 || math.Abs(got[10].At-.93) > 1e-9 {
		t.Errorf("a window of 1 s has %+v, want the last reading before it and ten", got)
	}
	if got := read(lines[:100], 100); len(got) != 81 {
		t.Errorf("a window beyond the last reading has %d, want all from the last before it", len(got))
	}
	if got := read(lines[30:], 1); len(got) != 0 {
		t.Errorf("a window before the first reading has %+v", got)
	}
	thin, peak, last := read(lines, 58), int64(0), int64(-1)
	for _, r := range thin {
		if r.Accepted <= last {
			t.Errorf("%d follows %d", r.Accepted, last)
		}
		last, peak = r.Accepted, max(peak, r.Open)
	}
	if len(thin) < mostReadings/2 || len(thin) > mostReadings || peak != 1000 {
		t.Errorf("582 readings are thinned to %d with %d open at most, want %d at the most and 1000", len(thin), peak, mostReadings)
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
schedlab_loop_busy_seconds_total{mode="loop"} 0.5
process_cpu_seconds_total 1.5
schedlab_host_steal_seconds_total{mode="pool"} 0.25
schedlab_cpu_throttled_seconds_total{mode="pool"} 0.75
# EOF
`))
	want := map[string]float64{
		"schedlab_connections_accepted_total": 12, "schedlab_connections_rejected_total": 5,
		"schedlab_loop_busy_seconds_total": .5, "process_cpu_seconds_total": 1.5,
		"schedlab_host_steal_seconds_total": .25, "schedlab_cpu_throttled_seconds_total": .75,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A server's own GOMAXPROCS is read from its metrics, in both text formats, and never a nonsense.
func TestPublishedProcs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"go_sched_gomaxprocs_threads 2\n":                                                          2,
		"a 1\ngo_sched_gomaxprocs_threads 4.0\n":                                                   4,
		"go_sched_gomaxprocs_threads{process=\"0\"} 1\ngo_sched_gomaxprocs_threads 2 1700000000\n": 2, // prefork
		"# TYPE go_sched_gomaxprocs_threads gauge\n":                                               0,
		"go_sched_gomaxprocs_threads NaN\n":                                                        0,
		"go_sched_gomaxprocs_threads -1\n":                                                         0,
		"go_sched_gomaxprocs_threads 1e300\n":                                                      0,
		"":                                                                                         0,
	} {
		if got := published([]byte(text)); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
}

// Requests of a closed loop are found by the numbers their clients gave them: they
// stand in the order they were sent, and the warm-up's are not among them.
func TestJoinClosedLoop(t *testing.T) {
	t.Parallel()
	start := time.Now()
	zero := timeline.At(start)
	client := []request.Stamps{{Ready: 3, Wrote: 4, First: 80}, {Ready: 1, Wrote: 2, First: 90}, {Ready: 5, Wrote: 6, First: 95}}
	of := func(seq uint64) timeline.Server {
		at := zero + 10*int64(seq)
		return timeline.Server{Seq: seq, Read: at, Begin: at + 1, End: at + 2, Write: at + 3}
	}
	join(load.ClosedResult{Result: load.Result{Start: start, Stamps: client}, Seqs: []uint64{5, 8, 9}}, []timeline.Server{of(4), of(5), of(6), of(8), of(10), {Seq: timeline.Unnumbered, Read: zero, Write: zero}})
	want := []request.Stamps{
		{Ready: 3, Wrote: 4, First: 80, Read: 50, Begin: 51, End: 52, Write: 53},
		{Ready: 1, Wrote: 2, First: 90, Read: 80, Begin: 81, End: 82, Write: 83},
		{Ready: 5, Wrote: 6, First: 95},
	}
	if diff := cmp.Diff(want, client); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	join(load.ClosedResult{Result: load.Result{Start: start}}, []timeline.Server{of(0)}) // no request has that number
}

func TestJoin(t *testing.T) {
	t.Parallel()
	start := time.Now()
	zero := timeline.At(start)
	client := []request.Stamps{{Wrote: 100, First: 900}, {Wrote: 200, First: 950}, {Wrote: 300, First: 990}}
	// The first was sent again once, so it has the stamps of its second attempt.
	requests := []request.Request{{Retries: 1}, {}, {}}
	join(load.ClosedResult{Result: load.Result{Start: start, Stamps: client, Requests: requests}}, []timeline.Server{
		{Seq: 2, Accept: zero - 5000, Received: zero + 310, Read: zero + 320, Enqueue: zero + 330, Dequeue: zero + 400, Begin: zero + 410, End: zero + 800, Write: zero + 900},
		{Seq: 1 << 40, Read: zero + 150, Begin: zero + 160, End: zero + 700, Write: zero + 800},
		{Seq: 0, Read: zero + 50, Begin: zero + 60, End: zero + 70, Write: zero + 80},
		{Seq: 3, Read: zero + 1, Write: zero + 2},
		{Seq: timeline.Unnumbered, Read: zero + 1, Write: zero + 2},
	})
	want := []request.Stamps{
		{Wrote: 100, First: 900, Read: 150, Begin: 160, End: 700, Write: 800},
		{Wrote: 200, First: 950}, // nobody told of it
		{Wrote: 300, First: 990, Accept: 1, Received: 310, Read: 320, Enqueue: 330, Dequeue: 400, Begin: 410, End: 800, Write: 900}, // of a connection older than the attack
	}
	if diff := cmp.Diff(want, client); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if client[1].Joined() || !client[2].Joined() {
		t.Error("joined is not what has a server's stamps")
	}
	r := request.Request{Scheduled: 50, Sent: 60, Done: 1000}
	for i, s := range client {
		s.Ready = 90
		parts, sum := window.PartsOf(r, s), int64(0)
		for _, d := range parts {
			sum += d
		}
		if sum != r.Done-r.Scheduled {
			t.Errorf("request %d: its parts %v add up to %d ns, want its response time of %d", i, parts, sum, r.Done-r.Scheduled)
		}
	}
}
