package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"schedlab/internal/arrivals"
	"schedlab/internal/record"
)

// Whatever goes wrong stays in the result, with its time.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	const timeout = 200 * time.Millisecond
	type want struct {
		outcome record.Outcome
		status  uint16
		after   time.Duration
		dialled uint64
	}
	tests := map[string]struct {
		method string
		dial   func(ctx context.Context) error // before the connection opens
		answer func(n int32) string            // to the n-th request
		want   [2]want                         // of two requests, one second apart, by then dialled
	}{
		"good": {
			answer: func(int32) string { return okReply },
			want:   [2]want{{record.Answered, 200, 0, 1}, {record.Answered, 200, 0, 1}},
		},
		"bad status is an answer": {
			answer: func(int32) string { return "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n" },
			want:   [2]want{{record.Answered, 503, 0, 1}, {record.Answered, 503, 0, 1}},
		},
		"redirect is an answer": {
			answer: func(int32) string { return "HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n" },
			want:   [2]want{{record.Answered, 302, 0, 1}, {record.Answered, 302, 0, 1}},
		},
		"server asks to close": {
			answer: func(int32) string { return "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n" },
			want:   [2]want{{record.Answered, 200, 0, 1}, {record.Answered, 200, 0, 2}},
		},
		"no answer in time": {
			answer: func(int32) string { time.Sleep(time.Minute); return "" },
			want:   [2]want{{record.TimedOut, 0, timeout, 1}, {record.TimedOut, 0, timeout, 2}},
		},
		"half an answer": {
			answer: func(int32) string { return "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf" },
			want:   [2]want{{record.TimedOut, 0, timeout, 1}, {record.TimedOut, 0, timeout, 2}},
		},
		"closed before the answer": {
			answer: func(int32) string { return "" },
			want:   [2]want{{record.Reset, 0, 0, 1}, {record.Reset, 0, 0, 2}},
		},
		"not HTTP": {
			answer: func(int32) string { return "SSH-2.0-OpenSSH\r\n\r\n" },
			want:   [2]want{{record.Reset, 0, 0, 1}, {record.Reset, 0, 0, 2}},
		},
		"stale connection, safe method": {
			answer: func(n int32) string {
				if n == 2 {
					return ""
				}
				return okReply
			},
			want: [2]want{{record.Answered, 200, 0, 1}, {record.Answered, 200, 0, 2}},
		},
		"stale connection, and the new one fails too": {
			answer: func(n int32) string {
				if n >= 2 {
					return ""
				}
				return okReply
			},
			want: [2]want{{record.Answered, 200, 0, 1}, {record.Reset, 0, 0, 2}},
		},
		"stale connection, unsafe method": {
			method: "POST",
			answer: func(n int32) string {
				if n == 2 {
					return ""
				}
				return okReply
			},
			want: [2]want{{record.Answered, 200, 0, 1}, {record.Reset, 0, 0, 1}},
		},
		"refused": {
			dial: func(context.Context) error { return syscall.ECONNREFUSED },
			want: [2]want{{record.Refused, 0, 0, 0}, {record.Refused, 0, 0, 0}},
		},
		"dial never ends": {
			dial: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
			want: [2]want{{record.TimedOut, 0, timeout, 0}, {record.TimedOut, 0, timeout, 0}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var n atomic.Int32
				s := newPipeServer(t, func(int, string) string { return test.answer(n.Add(1)) })
				for i, w := range test.want {
					o := pipeOptions(s, []time.Duration{0, time.Second}[:i+1])
					n.Store(0)
					o.Timeout = timeout
					if test.method != "" {
						o.Targets[0].Method = test.method
					}
					if test.dial != nil {
						o.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
							if err := test.dial(ctx); err != nil {
								return nil, fmt.Errorf("dialling %s: %w", addr, err)
							}
							return s.dial(ctx, addr)
						}
					}
					res := attack(t, o)
					r := res.Requests[i]
					got := want{r.Outcome, r.Status, time.Duration(r.Done - r.Sent), res.Dialled}
					if got != w {
						t.Errorf("request %d: got %+v, want %+v", i, got, w)
					}
				}
			})
		})
	}
}

// A lack of ports or descriptors is the generator's fault and counted separately.
func TestExhaustionIsCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := pipeOptions(nil, arrivals.Constant(1, 3*time.Second))
		dials := 0
		o.Dial = func(context.Context, string) (net.Conn, error) {
			if dials++; dials == 1 {
				return nil, errors.New("no route")
			}
			return nil, &net.OpError{Op: "dial", Err: syscall.EADDRNOTAVAIL}
		}
		if res := attack(t, o); res.Exhausted != 2 || res.Requests[1].Outcome != record.Refused {
			t.Errorf("got %d exhausted, outcome %v; want 2 of 3, refused", res.Exhausted, res.Requests[1].Outcome)
		}
	})
}

func TestWaitForAConnectionTimesOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := pipeOptions(newPipeServer(t, afterwards(time.Second)), []time.Duration{0, 600 * time.Millisecond})
		o.Connections, o.Timeout = 1, 1100*time.Millisecond
		res := attack(t, o)
		if got := res.Requests[0].Outcome; got != record.Answered {
			t.Errorf("first request %v, want answered", got)
		}
		if res.Waited != 1 {
			t.Errorf("%d waited, want the second", res.Waited)
		}
		// It waited 400 ms and had 700 ms left of the second it needed.
		r := res.Requests[1]
		if got := time.Duration(r.Done - r.Sent); r.Outcome != record.TimedOut || got != o.Timeout {
			t.Errorf("second request %v after %v, want timed out after %v", r.Outcome, got, o.Timeout)
		}
	})
}
