package model

import (
	"log/slog"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"schedlab/internal/dispatch"
	"schedlab/internal/timeline"
)

// poolModel has a fixed number of workers, to which a dispatcher hands whole connections. A
// worker keeps a connection until it closes. When there are more keep-alive clients than
// workers, the others starve until the idle timeout frees a worker.
//
// The goroutine of Serve accepts and submits. With --overflow block it waits for a place in the
// queue, and connections then wait in the kernel. refuser answers the connections that the
// dispatcher refuses.
type poolModel struct {
	fasthttpEngine
	pool    *submitter[*Conn]
	refuser *refuser
}

// poolOver returns the constructor of a pool with that kind of dispatcher.
func poolOver(kind dispatch.Kind) func(Config) Model {
	return func(cfg Config) Model {
		e := newFasthttpEngine(cfg)
		m := &poolModel{fasthttpEngine: e, refuser: newRefuser(cfg, e.requests)}
		m.pool = newSubmitter(cfg, kind, "accepting", tookConn[*Conn], m.serveConn, m.refuser.turnAway)
		// Depth and Capacity are sums over all queues there.
		if kind == dispatch.PerWorker {
			m.pool.queues = cfg.Workers
		}
		return m
	}
}

// lockedPool makes a pool with its workers locked to operating-system threads.
func lockedPool(cfg Config) Model {
	cfg.Locked = true
	return poolOver(dispatch.Shared)(cfg)
}

// Serve accepts from the first socket only: every mode with this model has one.
func (m *poolModel) Serve(l *Listener) error {
	m.pool.Start()
	err := eachConn(l, func(c *Conn) {
		c.enqueue(timeline.Now())
		m.pool.submit(c)
	})
	// The workers end once the queue is empty and their connections are closed.
	m.pool.Close()
	m.refuser.wait()
	return err
}

func (m *poolModel) serveConn(c *Conn) {
	c.dequeue()
	m.server.ServeConn(c)
}

func (m *poolModel) Queue() dispatch.Queue { return m.pool.Dispatcher }

// stallTime is the wait for a place in the queue after which a warning is logged.
const stallTime = time.Second

// A submitter is a mode's dispatcher. If the overflow policy is to block, it logs a warning when a
// job waits long for a place in the queue.
//
// The models with a queue use it for connections (pool), bursts (pool-requeue), requests
// (pool-request) and suspended connections (loop-offload).
type submitter[T any] struct {
	dispatch.Dispatcher[T]
	what    string // the thing that waits when the queue is full, for the warning
	queues  int    // number of queues among which Capacity is divided
	blocks  bool   // the policy is to block
	log     *slog.Logger
	limiter warnLimiter
}

// newSubmitter returns a submitter over a dispatcher of that kind. took is called with each job
// that will run, and the job's wait in the queue.
func newSubmitter[T any](cfg Config, kind dispatch.Kind, what string, took func(T, time.Duration), run func(T), refuse func(T, dispatch.Why)) *submitter[T] {
	if cfg.Locked {
		allowThreads(cfg.Workers + spareThreads)
	}
	waited := took
	if cfg.Waited != nil {
		waited = func(job T, wait time.Duration) {
			cfg.Waited(wait)
			took(job, wait)
		}
	}
	pool := dispatch.New(kind, dispatch.Options[T]{Settings: cfg.Settings, Run: run, Refuse: refuse, Waited: waited})
	return &submitter[T]{Dispatcher: pool, what: what, queues: 1, blocks: cfg.Overflow == dispatch.Block, log: cfg.Log}
}

// submit queues job. It starts a timer only when a queue may be full. It is safe for concurrent
// use.
func (e *submitter[T]) submit(job T) {
	// One of several queues may be full as soon as Depth reaches Capacity/queues.
	if !e.blocks || (e.Depth()+1)*e.queues <= e.Capacity() {
		e.Put(job)
		return
	}
	// The warning must come while Put waits, so it cannot be written after it.
	stalled := time.AfterFunc(stallTime, e.warn)
	e.Put(job)
	stalled.Stop()
}

func (e *submitter[T]) warn() {
	if e.limiter.allow() {
		e.log.Warn("the queue is full and "+e.what+" waits for a worker; raise --workers or --queue-depth, or refuse with --overflow reject",
			"for", stallTime, "workers", e.Workers(), "queue_depth", e.Capacity())
	}
}

// A refuser answers connections that no worker will serve: it reads the request, answers 503
// with Retry-After and closes. If it did not read first, the kernel would reset the connection
// of a client that is still sending.
type refuser struct {
	server *fasthttp.Server
	slots  chan struct{}
	active sync.WaitGroup

	unansweredTime time.Duration // how long a client that gets no answer is left waiting
}

const (
	refuserSlots   = 256             // most refusals at a time; further connections are closed at once
	refusalTimeout = 1 * time.Second // for reading the request, and again for writing the refusal
)

// newRefuser makes a separate fasthttp server, because refusals have another handler and shorter
// timeouts.
func newRefuser(cfg Config, r *requests) *refuser {
	s := &refuser{server: newServer(cfg), slots: make(chan struct{}, refuserSlots), unansweredTime: cfg.IdleTimeout}
	s.server.Handler = func(ctx *fasthttp.RequestCtx) {
		ctx.SetStatusCode(fasthttp.StatusServiceUnavailable)
		ctx.Response.Header.Set("Retry-After", retryAfter)
		ctx.SetContentType("text/plain; charset=utf-8")
		ctx.SetBodyString("overloaded\n")
		ctx.SetConnectionClose()
	}
	s.server.ErrorHandler = r.refuseBad
	s.server.ReadTimeout, s.server.WriteTimeout = refusalTimeout, refusalTimeout
	return s
}

// turnAway refuses c, a connection that a dispatcher did not run, or leaves it unanswered. It
// returns at once.
func (s *refuser) turnAway(c *Conn, why dispatch.Why) {
	c.endWait()
	if why == dispatch.Dropped {
		s.active.Go(func() { leaveUnanswered(c, s.unansweredTime) })
		return
	}
	s.refuse(c, reasons[why])
}

// refuse answers c with a refusal, on a new goroutine. With all slots taken it closes c at once.
func (s *refuser) refuse(c *Conn, why Reason) {
	select {
	case s.slots <- struct{}{}:
	default:
		// The number of goroutines for refusals stays bounded.
		c.drop(ShedBusy)
		c.Close()
		return
	}
	c.reject(why)
	s.active.Go(func() {
		s.server.ServeConn(c)
		<-s.slots
	})
}

// wait returns when every refusal has ended. Call it when no more can begin.
func (s *refuser) wait() { s.active.Wait() }

// leaveUnanswered gives c no answer. It closes c when the client does, or after longest.
func leaveUnanswered(c openConn, longest time.Duration) {
	e := c.ledgerEntry()
	e.drop(Unanswered)
	unread := make([]byte, 512)
	for err := c.SetReadDeadline(time.Now().Add(longest)); err == nil; _, err = c.Read(unread) {
		e.markAnswered() // so that a drain does not wait for it
	}
	c.Close()
}
