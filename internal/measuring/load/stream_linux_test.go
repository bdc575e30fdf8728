package load

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"math"
	"net"
	"slices"
	"testing"
	"time"

	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
)

// quickServer answers whatever ends a request, without parsing it.
func quickServer(t testing.TB) *rawServer {
	return newRawServer(t, func(_ *rawServer, _ int, nc *net.TCPConn) {
		in, reply := make([]byte, 4096), []byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		for {
			n, err := nc.Read(in)
			if err != nil {
				return
			}
			if bytes.HasSuffix(in[:n], []byte("\r\n\r\n")) {
				if _, err := nc.Write(reply); err != nil {
					return
				}
			}
		}
	})
}

// spaced yields n times, gap apart.
func spaced(n int, gap time.Duration) iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		for i := 0; i < n && yield(time.Duration(i)*gap); i++ {
		}
	}
}

// A schedule that is drawn while the load runs is sent whole, each request is told once with its own
// time, and the counts are those of all requests, though the log holds a few slabs only.
func TestStreamIsSentWhole(t *testing.T) {
	const n, gap = 3*slabSize + 17, 10 * time.Microsecond
	o := openTo(quickServer(t))
	o.Connections, o.Timeout, o.Times = 8, record.Lasting(300*time.Second), spaced(n, gap)
	told := make([]bool, n)
	good := 0
	o.Ended = func(seq int, r request.Request, s request.Stamps) {
		if told[seq] || r.Scheduled != int64(seq)*int64(gap) || r.Sent < r.Scheduled || r.Done < r.Sent || s.Wrote < r.Sent {
			t.Errorf("request %d: told before: %v, %+v, %+v", seq, told[seq], r, s)
		}
		told[seq] = true
		if r.Good() {
			good++
		}
	}
	res, err := Attack(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if good != n || slices.Contains(told, false) {
		t.Errorf("%d of %d were good, and all told: %v", good, n, !slices.Contains(told, false))
	}
	answers := 0
	for _, a := range res.ConnAnswers {
		answers += int(a)
	}
	if res.Requests != nil || res.Proof.Planned != n || res.Proof.Sent != n || answers != n || res.Asked != 8 || res.Starved != 0 || res.FirstReply <= 0 || res.Proof.LongestLag <= 0 {
		t.Errorf("got %d requests kept, %d answers, %d connections asked, %d starved, first reply %v, proof %+v",
			len(res.Requests), answers, res.Asked, res.Starved, res.FirstReply, res.Proof)
	}
}

// A stream without end stops with its context: what was sent has an outcome, and what was not due yet
// is not planned.
func TestStreamStops(t *testing.T) {
	o := openTo(newRawServer(t, func(_ *rawServer, _ int, nc *net.TCPConn) { io.Copy(io.Discard, nc) }))
	o.Connections, o.Times = 4, spaced(math.MaxInt32, time.Millisecond)
	ctx, cancel := context.WithCancel(t.Context())
	o.Started = func(time.Time) { time.AfterFunc(100*time.Millisecond, cancel) }
	told := 0
	o.Ended = func(_ int, r request.Request, _ request.Stamps) {
		if told++; r.Outcome != request.Cut || r.Sent < 0 {
			t.Errorf("told %+v", r)
		}
	}
	res, err := Attack(ctx, o)
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	// A busy machine may notice the stop late.
	if told == 0 || told != res.Proof.Sent || res.Proof.Planned < told || res.Proof.Planned > told+slabSize/2 || res.Asked != 4 || res.Starved != 4 {
		t.Errorf("%d told, %d asked, %d starved, proof %+v", told, res.Asked, res.Starved, res.Proof)
	}
}

// A slab is used again when it was given back.
func TestStreamUsesItsSlabsAgain(t *testing.T) {
	s := newStream(spaced(10*slabSize, 1))
	defer s.close()
	seen := map[*slab]bool{}
	for i := range 10 {
		p := <-s.drawn
		if p.n != slabSize || p.slab[0].due != int64(i*slabSize) || p.slab[0].sent != -1 || p.slab[0].done != 0 {
			t.Fatalf("part %d of %d: %+v", i, p.n, p.slab[0])
		}
		seen[p.slab] = true
		p.slab[0].done = 1
		s.reuse(p.slab)
	}
	if _, more := <-s.drawn; more || len(seen) > slabsAhead+3 {
		t.Errorf("more: %v; %d slabs for ten parts", more, len(seen))
	}
}

// The queue gives every ending once and in order, over many blocks.
func TestEndingsInOrder(t *testing.T) {
	const n = 100_000
	q := newEndings()
	reports := q.reader()
	go func() {
		for i := range n {
			q.add(ending{i: i})
		}
	}()
	for next := 0; next < n; {
		for x := range reports {
			if x.i != next {
				t.Fatalf("got %d, want %d", x.i, next)
			}
			next++
		}
	}
}
