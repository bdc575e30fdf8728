package load

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"schedlab/internal/record"
)

// A connection that was never asked anything is not starved: it is not counted.
func TestUnaskedConnectionsAreNotCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := pipeOptions(newPipeServer(t, afterwards(time.Millisecond)), Constant(46, time.Second))
		o.Connections = 64
		res := attack(t, o)
		if len(res.ConnAnswers) != 46 || slices.Contains(res.ConnAnswers, 0) || res.Waited != 0 {
			t.Errorf("open loop: answers %v, %d waited; want one on each of 46 of 64 connections, none waiting", res.ConnAnswers, res.Waited)
		}
		c := closedOptions(newPipeServer(t, afterwards(time.Millisecond)))
		c.Connections, c.Rate = 64, 50
		if got := closedRun(t, c).ConnAnswers; len(got) != 50 || slices.Contains(got, 0) {
			t.Errorf("closed loop: answers %v, want one of each of 50 of 64 clients", got)
		}
	})
}

// A loop's start is told once, when its connections are open, before a request.
func TestClosedTellsItsStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newPipeServer(t, afterwards(time.Millisecond))
		o := closedOptions(s)
		o.OpenRate = 2 // the fourth is opened after 1.5 s
		began := time.Now()
		var told []time.Time
		open := 0
		o.Started = func(at time.Time) { told, open = append(told, at), s.conns }
		res := closedRun(t, o)
		if len(told) != 1 || told[0] != res.Start || told[0].Sub(began) != 1500*time.Millisecond || open != 4 {
			t.Errorf("told %v with %d connections open; want once, after 1.5s, with 4", told, open)
		}
	})
}

// checkMarks holds a result's marks to its requests.
func checkMarks(t *testing.T, res *ClosedResult) {
	t.Helper()
	if len(res.Marks) != len(res.Requests) {
		t.Fatalf("%d marks of %d requests", len(res.Marks), len(res.Requests))
	}
	seen := map[uint64]bool{}
	for i, r := range res.Requests {
		m := res.Marks[i]
		if seen[m.Seq] {
			t.Fatalf("two requests have number %d", m.Seq)
		}
		seen[m.Seq] = true
		if ordered := slices.IsSorted([]int64{r.Sent, m.Ready, m.Wrote, m.First, r.Done}); r.Outcome == record.Answered && !ordered {
			t.Fatalf("request %+v has mark %+v, want them in order", r, m)
		}
		if i > 0 && r.Sent < res.Requests[i-1].Sent {
			t.Fatalf("request %d is not in the order they were sent", i)
		}
	}
}

// Every request of a closed loop has its number and its stamps beside it.
func TestClosedMarksRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, depth := range []int{1, 4} {
			s := newPipeServer(t, func(_ int, requests string) string {
				time.Sleep(3 * time.Millisecond)
				return strings.Repeat(okReply, strings.Count(requests, "\r\n\r\n"))
			})
			o := closedOptions(s)
			o.Record, o.Pipeline, o.Demands, o.Duration = true, depth, []Demand{{Iters: 0}, {Iters: 1}, {Iters: 2}}, 100*time.Millisecond
			res := closedRun(t, o)
			checkMarks(t, &res)
			for i, r := range res.Requests {
				m := res.Marks[i]
				if uint64(r.Iters) != m.Seq%3 {
					t.Fatalf("depth %d: request with demand %d has number %d", depth, r.Iters, m.Seq)
				}
				if m.First-m.Wrote < int64(3*time.Millisecond)-1 || m.First != r.Done {
					t.Fatalf("depth %d: written at %v, answered from %v; want 3ms between", depth, time.Duration(m.Wrote), time.Duration(m.First))
				}
			}
		}
	})
}

// An answer completes a session whatever its status; a broken connection does
// not.
func TestSessionsBreakWithTheirConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const missing = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
		for name, test := range map[string]struct {
			last   string // the third answer of three
			broken bool
			failed int
		}{
			"good":            {last: okReply},
			"not found":       {last: missing, failed: 1},
			"closed":          {broken: true, failed: 1},
			"closing is told": {last: "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"},
		} {
			for _, depth := range []int{1, 3} {
				s := newPipeServer(t, nil)
				asked := map[int]int{}
				s.answer = func(conn int, requests string) (answer string) {
					time.Sleep(time.Millisecond)
					s.mu.Lock()
					defer s.mu.Unlock()
					for range strings.Count(requests, "\r\n\r\n") {
						if asked[conn]++; asked[conn] == 3 {
							return answer + test.last
						}
						answer += okReply
					}
					return answer
				}
				o := closedOptions(s)
				o.Targets[0].Method = "POST" // which is not repeated
				o.Connections, o.Session, o.Pipeline, o.Record = 1, 3, depth, true
				if name == "closed" && depth == 3 {
					continue // the pipe server cannot answer and close
				}
				res := closedRun(t, o)
				if len(res.Sessions) < 100 {
					t.Errorf("%s, depth %d: %d sessions, want a hundred at least", name, depth, len(res.Sessions))
				}
				for _, got := range res.Sessions {
					if got.Broken != test.broken || got.Failed != test.failed || got.Good != 3-test.failed {
						t.Fatalf("%s, depth %d: session %+v, want broken %v and %d failed", name, depth, got, test.broken, test.failed)
					}
				}
			}
		}
	})
}
