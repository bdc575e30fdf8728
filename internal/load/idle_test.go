package load

import (
	"context"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"schedlab/internal/record"
)

// Idle connections are asked once, left alone, and missed when they go.
func TestIdleConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const main, idle = 4, 20
		var asked [main + idle]atomic.Int32
		s := newPipeServer(t, nil)
		s.answer = func(conn int, _ string) string {
			asked[conn].Add(1)
			if conn < main {
				return okReply
			}
			switch time.Sleep(10 * time.Millisecond); conn % 5 {
			case 0: // four never answer
				time.Sleep(time.Hour)
			case 1: // four ask to close
				return "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
			}
			return okReply
		}
		o := pipeOptions(s, Constant(100, time.Second))
		o.Engine = DefaultEngine
		o.Connections, o.Idle, o.Timeout = main, idle, 2*time.Second
		dials := 0
		var order sync.Mutex
		o.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
			order.Lock()
			defer order.Unlock()
			dials++
			n := dials
			if n > main && n <= main+3 {
				return nil, syscall.ECONNREFUSED
			}
			nc, err := s.dial(ctx, addr)
			if n == main+idle-1 { // the server's 19 breaks during the attack
				time.AfterFunc(2*time.Second+500*time.Millisecond, func() { nc.Close() })
			}
			return nc, err
		}
		res := attack(t, o)
		got := res.Idle
		// Connections 4 to 20 of the server are idle: 5, 10, 15, 20 starve; 6, 11, 16 close.
		if got.Opened != 17 || got.Answered != 13 || got.Lost != 4+3+1 {
			t.Errorf("got %+v, want 17 opened, 13 answered, 8 lost", got)
		}
		if got.FirstLost >= 0 {
			t.Errorf("first lost %v from the start, want before it", got.FirstLost)
		}
		for _, r := range res.Requests {
			if !r.Good() || r.Done != r.Scheduled {
				t.Fatalf("got %+v, want the load itself untouched", r)
			}
		}
		for conn := main; conn < main+17; conn++ {
			if n := asked[conn].Load(); n != 1 {
				t.Errorf("idle connection %d was asked %d times, want once", conn, n)
			}
		}
		if len(res.ConnAnswers) != main {
			t.Errorf("answers of %d connections, want the load's %d alone", len(res.ConnAnswers), main)
		}
	})
}

// Requests are told one by one, each complete and once, as they end.
func TestAttackTellsWhatEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := pipeOptions(newPipeServer(t, afterwards(20*time.Millisecond)), Constant(100, time.Second))
		o.Engine = DefaultEngine
		told := map[int]record.Request{}
		o.Ended = func(seq int, r record.Request) {
			if _, twice := told[seq]; twice {
				t.Errorf("request %d was told twice", seq)
			}
			told[seq] = r
		}
		res := attack(t, o)
		for seq, r := range res.Requests {
			if told[seq] != r {
				t.Errorf("request %d: told %+v, want %+v", seq, told[seq], r)
			}
		}
		if p := res.Proof; p.Planned != 100 || p.Sent != 100 || p.LongestLag != 0 || p.Elapsed != 1010*time.Millisecond {
			t.Errorf("proof %+v, want 100 planned and sent without lag in 1.01s", p)
		}
	})
}

func TestAttackRefusesBeforeItOpens(t *testing.T) {
	t.Parallel()
	good := Options{Targets: []Target{{Method: "GET", URL: "http://127.0.0.1:1/"}}, KeepAlive: true}
	for want, spoil := range map[string]func(*Options){
		"holds 16384 at most":   func(o *Options) { o.Connections, o.Idle = 10_000, 10_000 },
		"neither is ever negat": func(o *Options) { o.Idle = -1 },
		"without keep-alive":    func(o *Options) { o.Idle, o.KeepAlive = 1, false },
	} {
		o := good
		spoil(&o)
		if res, err := Attack(t.Context(), o); res != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, %v; want an error with %q", res, err, want)
		}
	}
}
