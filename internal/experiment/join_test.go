package experiment

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/judge"
	"schedlab/internal/record"
	"schedlab/internal/scenario/demo"
	"schedlab/internal/timeline"
	"schedlab/internal/window"
)

// Requests of a closed loop are found by the numbers their clients gave them: they
// stand in the order they were sent, and the warm-up's are not among them.
func TestJoinClosedLoop(t *testing.T) {
	t.Parallel()
	start := time.Now()
	zero := timeline.At(start)
	client := []record.Stamps{{Ready: 3, Wrote: 4, First: 80}, {Ready: 1, Wrote: 2, First: 90}, {Ready: 5, Wrote: 6, First: 95}}
	of := func(seq uint64) timeline.Server {
		at := zero + 10*int64(seq)
		return timeline.Server{Seq: seq, Read: at, Begin: at + 1, End: at + 2, Write: at + 3}
	}
	join(start, client, bySeq([]uint64{5, 8, 9}), []timeline.Server{of(4), of(5), of(6), of(8), of(10), {Seq: timeline.Unnumbered, Read: zero, Write: zero}})
	want := []record.Stamps{
		{Ready: 3, Wrote: 4, First: 80, Read: 50, Begin: 51, End: 52, Write: 53},
		{Ready: 1, Wrote: 2, First: 90, Read: 80, Begin: 81, End: 82, Write: 83},
		{Ready: 5, Wrote: 6, First: 95},
	}
	if diff := cmp.Diff(want, client); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if at := bySeq(nil)(0); at != -1 {
		t.Errorf("of no requests, number 0 stands at %d", at)
	}
}

// The servers of a comparison keep as many requests as the fastest of them may get,
// all the same number, and no more than a ring can have.
func TestRing(t *testing.T) {
	t.Parallel()
	const window = .7 // with its warm-up, seconds
	closed := demo.Swap("rate: 300/s", "loop: closed\n  connections: 8\n  keepalive: true")
	for _, c := range []struct {
		name, text string
		xmax       float64 // of one arm; the others have 1000/s
		want       int     // 0: the server's own
	}{
		{"slow", closed, 20_000, 0},
		{"fast", closed, 250_000, int(2 * 250_000 * window)},
		{"pipelined", demo.Swap("rate: 300/s", "loop: closed\n  connections: 8\n  keepalive: true\n  pipeline: 16"), 150_000, int(2 * 4 * 150_000 * window)},
		{"paced", demo.Swap("rate: 300/s", "loop: closed\n  connections: 8\n  keepalive: true\n  rate: 4000/s"), 150_000, 0},
		{"beyond any ring", closed, 1e9, timeline.MaxRing},
		{"open", demo.Swap("300/s", "200000/s"), 1e9, int(2 * 200_000 * window)},
	} {
		p := planned(t, c.text, func(o *Options) { o.Budget = time.Hour })
		ring := p.ring(map[string]float64{"nethttp": 1000, "fasthttp": c.xmax})
		for _, a := range p.arms {
			got := 0
			if argv := p.command(a, ring); len(argv) > len(a.Command) {
				if _, err := fmt.Sscan(argv[len(argv)-1], &got); err != nil || argv[len(argv)-2] != "--timeline" {
					t.Fatalf("%s: got %q", c.name, argv)
				}
			}
			if got < c.want-1 || got > c.want {
				t.Errorf("%s: %s keeps %d requests, want %d", c.name, a.Name, got, c.want)
			}
		}
	}
}

// A pipeline beyond what a server can stamp is not stamped, and the plan says so.
func TestPipelineBeyondStamps(t *testing.T) {
	t.Parallel()
	p := planned(t, demo.Arm("{name: deep, mode: nethttp, loop: closed, connections: 8, keepalive: true, pipeline: 65}\n  - {name: full, mode: nethttp, loop: closed, connections: 8, keepalive: true, pipeline: 64}"), nil)
	for name, want := range map[string]bool{"nethttp": true, "deep": false, "full": true} {
		if got := judge.Accounts(p.Plan, name); got != want {
			t.Errorf("%s accounts: %v, want %v", name, got, want)
		}
	}
	if got := strings.Join(doubts(p.Plan), "\n"); strings.Count(got, "at most 64 requests in flight") != 1 || !strings.Contains(got, "deep: there is no breakdown of its time") {
		t.Errorf("doubts:\n%s", got)
	}
}

func TestJoin(t *testing.T) {
	t.Parallel()
	start := time.Now()
	zero := timeline.At(start)
	client := []record.Stamps{{Wrote: 100, First: 900}, {Wrote: 200, First: 950}, {Wrote: 300, First: 990}}
	join(start, client, inOrder(len(client)), []timeline.Server{
		{Seq: 2, Accept: zero - 5000, Received: zero + 310, Read: zero + 320, Enqueue: zero + 330, Dequeue: zero + 400, Begin: zero + 410, End: zero + 800, Write: zero + 900},
		{Seq: 0, Read: zero + 150, Begin: zero + 160, End: zero + 700, Write: zero + 800},
		{Seq: 3, Read: zero + 1, Write: zero + 2},
		{Seq: timeline.Unnumbered, Read: zero + 1, Write: zero + 2},
	})
	want := []record.Stamps{
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
	r := record.Request{Scheduled: 50, Sent: 60, Done: 1000}
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
