package load

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"schedlab/internal/record"
	"schedlab/internal/timeline"
)

// A client knows one server and how to ask it. It is safe for concurrent use.
type client struct {
	templates []template
	which     []uint32 // template of each request; nil: in rotation
	addr      string
	keepAlive bool
	timeout   time.Duration
	dialer    func(ctx context.Context, addr string) (net.Conn, error)

	dialled   atomic.Uint64
	exhausted atomic.Uint64
	hung      atomic.Bool
	over      chan struct{} // closed by hangUp

	mu    sync.Mutex
	conns []*conn // every place there is, for hangUp
}

func newClient(targets []Target, keepAlive, demanded bool, timeout time.Duration, dial func(context.Context, string) (net.Conn, error)) (*client, error) {
	tps, addr, err := templates(targets, keepAlive, demanded)
	if err != nil {
		return nil, err
	}
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	if dial == nil {
		dial = plainDial
	}
	return &client{templates: tps, addr: addr, keepAlive: keepAlive, timeout: timeout, dialer: dial, over: make(chan struct{})}, nil
}

// template returns what request seq asks.
func (c *client) template(seq uint64) *template {
	if len(c.which) > 0 {
		return &c.templates[c.which[seq%uint64(len(c.which))]]
	}
	return &c.templates[seq%uint64(len(c.templates))]
}

// place makes room for one more connection.
func (c *client) place() *conn {
	k := newConn()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conns = append(c.conns, k)
	return k
}

// open dials every place there is, openers at a time and, unless rate is 0, that
// many a second. What cannot be opened now is dialled by the first request that
// needs it, and counted there.
func (c *client) open(ctx context.Context, rate float64) {
	var next atomic.Int64
	var dialers sync.WaitGroup
	start := time.Now()
	for range min(openers, len(c.conns)) {
		dialers.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(c.conns); i = next.Add(1) - 1 {
				if rate > 0 {
					pause(ctx, time.Until(start.Add(time.Duration(float64(i)/rate*1e9))))
				}
				_ = c.dial(ctx, c.conns[i], time.Now().Add(c.timeout))
			}
		})
	}
	dialers.Wait()
}

func (c *client) dial(ctx context.Context, k *conn, deadline time.Time) error {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	nc, err := c.dialer(ctx, c.addr)
	if err != nil {
		if errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
			c.exhausted.Add(1)
		}
		return err
	}
	c.dialled.Add(1)
	if !k.attach(nc, &c.hung) {
		return net.ErrClosed
	}
	return nil
}

// do asks request seq on k and reads the whole reply. As net/http's Transport
// does, it repeats a safe request once, on a new connection, when a connection
// that had answered before turns out closed and not a byte of reply was read.
func (c *client) do(ctx context.Context, k *conn, seq uint64, d Demand, deadline time.Time) (reply, record.Outcome) {
	tp := c.template(seq)
	k.out = tp.request(k.out[:0], seq, d)
	k.stamps, k.given = timeline.Client{}, true
	for {
		if k.nc == nil {
			if err := c.dial(ctx, k, deadline); err != nil {
				return reply{}, c.outcome(err, record.Refused)
			}
		}
		k.stamps.Ready = timeline.Now()
		if k.asked.IsZero() {
			k.asked = time.Now()
		}
		rep, err := k.exchange(deadline, tp.bodiless)
		if err == nil {
			k.fresh = false
			if k.answers++; k.answers == 1 {
				k.first = time.Since(k.asked)
			}
			if !rep.keep || !c.keepAlive {
				k.close()
			}
			return rep, record.Answered
		}
		stale := !k.fresh && !k.heard && tp.idempotent
		k.close()
		if out := c.outcome(err, record.Reset); out != record.Reset || !stale {
			return reply{}, out
		}
	}
}

// outcome tells what err made of a request; otherwise is what it is when it was
// neither the attack's end nor the request's deadline.
func (c *client) outcome(err error, otherwise record.Outcome) record.Outcome {
	switch {
	case c.hung.Load() || errors.Is(err, context.Canceled):
		return record.Cut
	case isTimeout(err):
		return record.TimedOut
	}
	return otherwise
}

// hangUp ends every request under way and every later one, for good.
func (c *client) hangUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hung.Swap(true) {
		return
	}
	close(c.over)
	for _, k := range c.conns {
		k.hangUp()
	}
}

// hangUpWith hangs up when ctx ends. The returned function hangs up at once and
// waits until that is done.
func (c *client) hangUpWith(ctx context.Context) (end func()) {
	stop := context.AfterFunc(ctx, c.hangUp)
	return func() {
		stop()
		c.hangUp()
	}
}
