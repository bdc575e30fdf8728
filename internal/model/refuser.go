package model

import (
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"schedlab/internal/dispatch"
)

// A refuser answers connections that no worker is to serve: it reads the request, answers 503
// with Retry-After and closes. Without reading first, the kernel would reset connections whose
// clients are still sending.
type refuser struct {
	server *fasthttp.Server
	slots  chan struct{}
	active sync.WaitGroup

	unansweredTime time.Duration // how long a client that gets no answer is left waiting
}

const (
	refuserSlots   = 256             // refusals at a time; beyond them a connection is closed at once
	refusalTimeout = 1 * time.Second // for reading the request, and for writing the refusal
)

func newRefuser(cfg Config, r *requests) *refuser {
	return &refuser{
		slots:          make(chan struct{}, refuserSlots),
		unansweredTime: cfg.IdleTimeout,
		server: &fasthttp.Server{
			Handler: func(ctx *fasthttp.RequestCtx) {
				ctx.SetStatusCode(fasthttp.StatusServiceUnavailable)
				ctx.Response.Header.Set("Retry-After", retryAfter)
				ctx.SetContentType("text/plain; charset=utf-8")
				ctx.SetBodyString("overloaded\n")
				ctx.SetConnectionClose()
			},
			ErrorHandler:       r.refuseBad,
			Name:               serverName,
			ReadTimeout:        refusalTimeout,
			WriteTimeout:       refusalTimeout,
			ReadBufferSize:     cfg.MaxHead,
			MaxRequestBodySize: cfg.MaxBody,
			Logger:             quietLog{cfg.Log},

			SecureErrorLogMessage:        true,
			DisablePreParseMultipartForm: true,
		},
	}
}

// turnAway takes c over from a dispatcher and returns at once.
func (s *refuser) turnAway(c *Conn, why dispatch.Why) {
	c.endWait()
	if why == dispatch.Dropped {
		s.active.Go(func() { leaveUnanswered(c, s.unansweredTime) })
		return
	}
	s.refuse(c, reasons[why])
}

// refuse answers c with a refusal.
func (s *refuser) refuse(c *Conn, why Reason) {
	select {
	case s.slots <- struct{}{}:
	default:
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

func (s *refuser) wait() { s.active.Wait() }

// leaveUnanswered gives c no answer and closes it when its client does, or after longest.
func leaveUnanswered(c openConn, longest time.Duration) {
	e := c.ledgerEntry()
	e.drop(Unanswered)
	unread := make([]byte, 512)
	for err := c.SetReadDeadline(time.Now().Add(longest)); err == nil; _, err = c.Read(unread) {
		e.markAnswered() // a drain need not wait for it
	}
	c.Close()
}
