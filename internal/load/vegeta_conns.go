package load

import (
	"context"
	"crypto/tls"
	"errors"
	"math"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"schedlab/internal/record"
	"schedlab/internal/timeline"
)

// A connSlot holds one kept connection, in an http.Transport of its own: one Transport
// for all would send on the connection used last and leave others unused. Without a limit
// there is one slot with as many connections as needed.
type connSlot struct {
	http   *http.Transport
	opened chan net.Conn // the connection opened beforehand, until it is used

	// Counted where connections are limited, by the request that has the slot.
	used       bool
	answers    uint32
	firstReady int64         // when its first request had a connection
	firstReply time.Duration // from then to its reply; 0 before
}

// connSlots give connections to requests. With a limit they are used in turn, and
// requests wait for one in order of arrival.
type connSlots struct {
	ctx     context.Context // ends with the attack, and so does dialling
	all     []*connSlot
	turn    chan *connSlot // nil without a limit
	addr    string
	dialer  func(ctx context.Context, addr string) (net.Conn, error)
	tls     *tls.Config // nil for plain http
	timeout time.Duration

	dialled, exhausted atomic.Uint64
	waited             atomic.Int64 // requests that found no slot free
}

func newConnSlots(ctx context.Context, o *Options, addr string, secure bool) *connSlots {
	c := &connSlots{ctx: ctx, addr: addr, dialer: o.Dial}
	if c.dialer == nil {
		c.dialer = plainDial
	}
	if secure {
		host, _, _ := net.SplitHostPort(addr) // we joined it
		c.tls = &tls.Config{ServerName: host, InsecureSkipVerify: o.SkipVerify}
	}
	if o.Connections > 0 {
		c.turn = make(chan *connSlot, o.Connections)
	}
	for range max(1, o.Connections) {
		p := &connSlot{opened: make(chan net.Conn, 1)}
		dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return c.dial(ctx, p) }
		p.http = &http.Transport{
			DialContext: dial, DialTLSContext: dial, DisableCompression: true,
			DisableKeepAlives: !o.KeepAlive, MaxIdleConnsPerHost: math.MaxInt,
		}
		c.all = append(c.all, p)
		if c.turn != nil {
			c.turn <- p
		}
	}
	return c
}

// get returns a slot, or ctx's error when none was free in time.
func (c *connSlots) get(ctx context.Context) (*connSlot, error) {
	if c.turn == nil {
		return c.all[0], nil
	}
	select {
	case p := <-c.turn:
		return p, nil
	default:
	}
	c.waited.Add(1)
	select {
	case p := <-c.turn:
		return p, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *connSlots) put(p *connSlot) {
	if c.turn != nil {
		c.turn <- p
	}
}

// countReply counts a request on p, which get returned.
func (c *connSlots) countReply(p *connSlot, x *exchange, answered bool) {
	if c.turn == nil {
		return // many requests share it
	}
	p.used = true
	if p.firstReady == 0 {
		p.firstReady = x.ready.Load()
	}
	if !answered {
		return
	}
	if p.answers++; p.answers == 1 {
		p.firstReply = time.Duration(timeline.Now() - p.firstReady)
	}
}

// addTo adds the slots that were given a request to a result.
func (c *connSlots) addTo(res *Result) {
	if c.turn == nil {
		return
	}
	for _, p := range c.all {
		if !p.used {
			continue
		}
		res.ConnAnswers = append(res.ConnAnswers, p.answers)
		res.Asked++
		if p.answers == 0 {
			res.Starved++
		}
		res.FirstReply = max(res.FirstReply, p.firstReply)
	}
}

// open dials for every slot of a limited number, openers at a time and, unless rate is 0,
// that many a second. What cannot be opened now is dialled by the first request
// that needs it, and counted there.
func (c *connSlots) open(rate float64) {
	if c.turn == nil {
		return
	}
	var next atomic.Int64
	var dialers sync.WaitGroup
	start := time.Now()
	for range min(openers, len(c.all)) {
		dialers.Go(func() {
			for i := int(next.Add(1) - 1); i < len(c.all); i = int(next.Add(1) - 1) {
				if rate > 0 {
					pause(c.ctx, time.Until(start.Add(time.Duration(float64(i)/rate*1e9))))
				}
				if nc, err := c.connect(time.Now().Add(c.timeout)); err == nil {
					c.all[i].opened <- nc
				}
			}
		})
	}
	dialers.Wait()
}

// close ends every connection that no request has.
func (c *connSlots) close() {
	for _, p := range c.all {
		p.http.CloseIdleConnections()
		select {
		case nc := <-p.opened:
			nc.Close()
		default:
		}
	}
}

// A dialError says that a request got no connection.
type dialError struct{ error }

func (e *dialError) Unwrap() error { return e.error }

// dial is the Transport's way to a connection for p. Its ctx outlives the
// request's, but has its values.
func (c *connSlots) dial(ctx context.Context, p *connSlot) (net.Conn, error) {
	select {
	case nc := <-p.opened:
		return nc, nil
	default:
	}
	x := ctx.Value(exchangeKey{}).(*exchange)
	nc, err := c.connect(x.deadline)
	if err != nil {
		return nil, &dialError{err}
	}
	return nc, nil
}

// connect opens a connection, with its TLS handshake. The innermost connection is a
// stampedConn.
func (c *connSlots) connect(deadline time.Time) (net.Conn, error) {
	ctx, cancel := context.WithDeadline(c.ctx, deadline)
	defer cancel()
	nc, err := c.dialer(ctx, c.addr)
	if err != nil {
		if errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
			c.exhausted.Add(1)
		}
		return nil, err
	}
	c.dialled.Add(1)
	stamped := &stampedConn{Conn: nc}
	if c.tls == nil {
		return stamped, nil
	}
	secure := tls.Client(stamped, c.tls)
	if err := secure.HandshakeContext(ctx); err != nil {
		nc.Close()
		return nil, err
	}
	return secure, nil
}

// plainDial opens plain TCP, as the servers under test listen: no MPTCP, no
// keep-alive probes, which would be traffic of their own.
func plainDial(ctx context.Context, addr string) (net.Conn, error) {
	d := net.Dialer{KeepAlive: -1}
	d.SetMultipathTCP(false)
	return d.DialContext(ctx, "tcp", addr)
}

// pause waits for d or ctx's end.
func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// An exchange is one request's stamps on the timeline's clock, written by the
// Transport's goroutines; 0 is what did not happen.
type exchange struct {
	deadline            time.Time
	ready, wrote, first atomic.Int64
}

type exchangeKey struct{}

// A stampedConn stamps the first write of each request.
type stampedConn struct {
	net.Conn
	present atomic.Pointer[exchange]
}

func (k *stampedConn) Write(b []byte) (int, error) {
	if x := k.present.Load(); x != nil && x.wrote.Load() == 0 {
		x.wrote.Store(timeline.Now())
	}
	return k.Conn.Write(b)
}

// gotConn begins x on a connection: again, when a kept one turned out closed.
func (x *exchange) gotConn(info httptrace.GotConnInfo) {
	nc := info.Conn
	if secure, ok := nc.(*tls.Conn); ok {
		nc = secure.NetConn()
	}
	x.wrote.Store(0)
	x.first.Store(0)
	x.ready.Store(timeline.Now())
	nc.(*stampedConn).present.Store(x)
}

func (x *exchange) gotFirst() { x.first.Store(timeline.Now()) }

// stamps are x's, from zero. A reply may come before its request is written; its
// stamps are in order all the same.
func (x *exchange) stamps(zero int64) (s record.Stamps) {
	s.Ready, s.Wrote = stampFrom(zero, x.ready.Load()), stampFrom(zero, x.wrote.Load())
	if first := stampFrom(zero, x.first.Load()); first > 0 && s.Wrote > 0 {
		s.First = max(first, s.Wrote)
	}
	return s
}

// stampFrom is a stamp of the timeline's clock as record.Stamps have it.
func stampFrom(zero, at int64) int64 {
	if at == 0 {
		return 0
	}
	return max(at-zero, 1)
}
