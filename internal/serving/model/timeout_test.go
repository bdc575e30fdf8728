package model_test

import (
	"io"
	"testing"
	"time"

	"schedlab/internal/serving/model"
)

// slack is what a timeout may be late by on this machine; half of the others
// would be seen as well.
const slack = 5 * time.Second

// Every way of holding a connection without using it ends at its limit.
func TestTimeouts(t *testing.T) {
	const short = time.Second
	for _, tc := range []struct {
		name  string
		limit func(*model.Limits)
		hold  func(*testing.T, *client)
		told  bool // the client may get an answer of class 4xx; otherwise none, in any mode
	}{
		{"silent", func(l *model.Limits) { l.HeaderTimeout = short }, func(*testing.T, *client) {}, false},
		{"stalled head", func(l *model.Limits) { l.HeaderTimeout = short }, func(_ *testing.T, c *client) {
			io.WriteString(c, "GET /plaintext HTTP/1.1\r\nHo")
		}, true},
		{"stalled second head", func(l *model.Limits) { l.HeaderTimeout = short }, func(t *testing.T, c *client) {
			if _, err := c.ask(get("/plaintext")); err != nil {
				t.Error(err)
			}
			io.WriteString(c, "GET /plaintext HTTP/1.1\r\nHo")
		}, true},
		{"stalled body", func(l *model.Limits) { l.HeaderTimeout, l.BodyTimeout = short, short }, func(_ *testing.T, c *client) {
			io.WriteString(c, "POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 5\r\n\r\nhe")
		}, true},
		{"stalled chunk", func(l *model.Limits) { l.HeaderTimeout, l.BodyTimeout = short, short }, func(_ *testing.T, c *client) {
			io.WriteString(c, "POST /echo HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe")
		}, true},
		{"idle", func(l *model.Limits) { l.IdleTimeout = short }, func(t *testing.T, c *client) {
			if _, err := c.ask(get("/plaintext")); err != nil {
				t.Error(err)
			}
		}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			eachMode(t, func(t *testing.T, mode model.Mode) {
				s := start(t, mode, func(with *setup) {
					tc.limit(&with.Limits)
				})
				c := s.dial()
				began := time.Now()
				tc.hold(t, c)
				a, err := c.read("GET")
				if told := err == nil && a.Status/100 == 4; err != io.EOF && (!told || !tc.told) {
					t.Errorf("got %+v %v, want a clean close; a refusal first: %v", a, err, tc.told)
				}
				s.open(0)
				if took := time.Since(began); took < short/2 || took > 2*short+slack {
					t.Errorf("closed after %v, want about %v", took, short)
				}
			})
		})
	}
}

// A head that stops half-way is answered 408, and a client that has sent no byte
// gets no answer. net/http takes what came of a line for all of it, answers 400 where
// that is no line, and otherwise says nothing.
func TestHalfAHead(t *testing.T) {
	heads := []struct {
		sent          string
		want, nethttp int // status; 0: no answer
	}{
		{"", 0, 0},
		{"GET /pla", 408, 400},
		{"GET /plaintext HTTP/1.1\r\n", 408, 0},
		{"GET /plaintext HTTP/1.1\r\nHo", 408, 400},
		{"GET /plaintext HTTP/1.1\r\nHost: te", 408, 0},
		{"GET /plaintext HTTP/1.1\r\nHost: test\r\n", 408, 0},
	}
	eachMode(t, func(t *testing.T, mode model.Mode) {
		s := start(t, mode, func(with *setup) { with.HeaderTimeout, with.Workers = time.Second, len(heads) })
		var clients []*client
		for _, h := range heads {
			c := s.dial()
			io.WriteString(c, h.sent)
			clients = append(clients, c)
		}
		var refused uint64
		for i, h := range heads {
			want := h.want
			if mode.Axes.Stack == "nethttp" {
				want = h.nethttp
			}
			if want != 0 {
				refused++
			}
			if a, err := clients[i].read("GET"); a.Status != want || want == 0 && err != io.EOF {
				t.Errorf("%q: got %d %v, want %d and a clean close", h.sent, a.Status, err, want)
			}
		}
		s.open(0)
		var counted uint64
		for _, n := range s.model.Requests().Refused {
			counted += n
		}
		if counted != refused {
			t.Errorf("got %d refused, want %d", counted, refused)
		}
	})
}

// An upload may take as long as the body timeout says, however short the header
// timeout is.
func TestSlowBodyOutlivesTheHeaderTimeout(t *testing.T) {
	eachMode(t, func(t *testing.T, mode model.Mode) {
		const short = time.Second
		s := start(t, mode, func(with *setup) { with.HeaderTimeout, with.BodyTimeout = short, soon })
		c := s.dial()
		io.WriteString(c, "POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 4\r\n\r\n")
		tick := time.NewTicker(short / 2)
		defer tick.Stop()
		for _, b := range []string{"s", "l", "o", "w"} {
			<-tick.C
			io.WriteString(c, b)
		}
		if a, err := c.read("POST"); err != nil || a.Body != "slow" {
			t.Errorf("got %+v %v, want the echo", a, err)
		}
	})
}

// A client that does not read its answer is let go. Its socket cannot tell: the
// end waits behind what it has not read, so the server is asked.
func TestUnreadAnswerTimesOut(t *testing.T) {
	eachMode(t, func(t *testing.T, mode model.Mode) {
		const short = time.Second
		s := start(t, mode, func(with *setup) { with.WriteTimeout = short })
		c := s.dial()
		c.SetReadBuffer(4096)
		s.open(1)
		began := time.Now()
		for range 16 { // 16 MiB: more than both kernel buffers hold
			io.WriteString(c, get("/bytes/1048576"))
		}
		s.open(0)
		if took := time.Since(began); took < short/2 || took > short+slack {
			t.Errorf("closed after %v, want about %v", took, short)
		}
	})
}
