package load

import (
	"context"
	"errors"
	"math"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"schedlab/internal/record"
)

func closedOptions(s *pipeServer) ClosedOptions {
	return ClosedOptions{
		Targets:     []Target{{Method: "GET", URL: "http://server/work"}},
		Connections: 4,
		KeepAlive:   true,
		Duration:    time.Second,
		Dial:        s.dial,
	}
}

func TestClosedCountsRepliesOfTheMeasuredTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := closedOptions(newPipeServer(t, afterwards(3*time.Millisecond)))
		o.Warmup, o.Record = 500*time.Millisecond, true
		res, err := Closed(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		// Replies at 3, 6, … ms on each of 4 connections: the 167th is the
		// first after 500 ms, the 499th the last before 1,500 ms; the 500th
		// falls on the end, where the window is closed.
		const want = 4 * (499 - 167 + 1)
		if res.Answered != want || res.Failed != 0 || res.Elapsed != time.Second || len(res.Requests) != want {
			t.Errorf("got %d answered, %d failed, %d recorded in %v; want %d, 0, %d in 1s", res.Answered, res.Failed, len(res.Requests), res.Elapsed, want, want)
		}
		if got := res.Rate(); got != want {
			t.Errorf("rate %v, want %v", got, float64(want))
		}
		if !slices.IsSortedFunc(res.Requests, func(a, b record.Request) int { return int(a.Sent - b.Sent) }) {
			t.Error("requests are not in the order they were sent")
		}
	})
}

// What the end leaves under way is counted with the time that it had had by then.
func TestClosedTimesWhatItCutsOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for name, test := range map[string]struct {
			depth int
			want  record.Pending
		}{
			// Three clients are 5 ms into a request at the end, and one has waited since the warm-up.
			"one at a time": {1, record.Pending{Requests: 4, Early: 1, Time: .015, Squares: 75e-6}},
			// Both requests of each in one write, answered 20 ms after it.
			"a pipeline": {2, record.Pending{Requests: 8, Early: 2, Time: 6 * .015, Squares: 6 * 225e-6}},
		} {
			began := time.Now()
			s := newPipeServer(t, func(conn int, requests string) string {
				n := strings.Count(requests, "\r\n\r\n")
				time.Sleep(time.Duration(n) * 10 * time.Millisecond)
				if conn == 3 && time.Since(began) > 200*time.Millisecond {
					time.Sleep(time.Hour)
				}
				return strings.Repeat(okReply, n)
			})
			o := closedOptions(s)
			o.Warmup, o.Duration, o.Pipeline, o.Timeout = 500*time.Millisecond, 500*time.Millisecond+15*time.Millisecond, test.depth, time.Minute
			res, err := Closed(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
			if got, want := res.Cut, test.want; got.Requests != want.Requests || got.Early != want.Early || !near(got.Time, want.Time) || !near(got.Squares, want.Squares) {
				t.Errorf("%s: got %+v, want %+v", name, got, want)
			}
		}
	})
}

func TestClosedTellsGoodFromFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for name, test := range map[string]struct {
			dial         error
			reply        string
			failed, most int
		}{
			"rejected": {reply: "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", failed: 4 * 99, most: 4 * 100},
			"dropped":  {failed: 4 * 99, most: 4 * 100},
			"refused":  {dial: syscall.ECONNREFUSED, failed: 4 * 100, most: 4 * 101},
		} {
			s := newPipeServer(t, func(int, string) string { time.Sleep(10 * time.Millisecond); return test.reply })
			o := closedOptions(s)
			if test.dial != nil {
				o.Dial = func(context.Context, string) (net.Conn, error) { return nil, test.dial }
			}
			res, err := Closed(t.Context(), o)
			if err != nil || res.Answered != 0 || res.Failed < test.failed || res.Failed > test.most {
				t.Errorf("%s: got %d answered, %d failed, %v; want 0 and %d to %d", name, res.Answered, res.Failed, err, test.failed, test.most)
			}
		}
	})
}

func TestClosedUsesDemandsAndConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		seen := map[uint32]int{}
		s := newPipeServer(t, afterwards(10*time.Millisecond))
		o := closedOptions(s)
		o.KeepAlive, o.Record = false, true
		o.Demands = []Demand{{Iters: 1}, {Iters: 2}, {Iters: 3}}
		res, err := Closed(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range res.Requests {
			seen[r.Iters]++
		}
		if len(seen) != 3 || seen[1]-seen[3] > 4 || seen[3]-seen[1] > 4 {
			t.Errorf("demands used %v, want 1, 2 and 3 alike", seen)
		}
		if s.conns < res.Answered {
			t.Errorf("%d connections for %d answers, want one each", s.conns, res.Answered)
		}
	})
}

func TestClosedStopsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, answer := range []string{okReply, ""} {
			s := newPipeServer(t, func(int, string) string { time.Sleep(7 * time.Millisecond); return answer })
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			start := time.Now()
			res, err := Closed(ctx, closedOptions(s))
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 300*time.Millisecond {
				t.Errorf("error %v after %v, want the context's after 300ms", err, time.Since(start))
			}
			if res.Elapsed != 300*time.Millisecond || res.Answered+res.Failed == 0 {
				t.Errorf("got %+v, want what was counted in 300ms", res)
			}
		}
	})
}

func TestClosedRefusesBadOptions(t *testing.T) {
	t.Parallel()
	good := closedOptions(&pipeServer{})
	for name, spoil := range map[string]func(*ClosedOptions){
		"connections": func(o *ClosedOptions) { o.Connections = 0 },
		"duration":    func(o *ClosedOptions) { o.Duration = 0 },
		"warm-up":     func(o *ClosedOptions) { o.Warmup = -1 },
		"targets":     func(o *ClosedOptions) { o.Targets = nil },
	} {
		o := good
		spoil(&o)
		if _, err := Closed(t.Context(), o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
