package model

import (
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"schedlab/internal/dispatch"
)

// A shed has the connections that no worker is to serve. It refuses them politely:
// it reads the request, answers 503 with Retry-After and closes. Writing the refusal without reading first would make
// the kernel reset connections whose clients are still sending.
type shed struct {
	server *fasthttp.Server
	slots  chan struct{}
	active sync.WaitGroup

	patience time.Duration // with a client that gets no answer at all
}

const (
	shedSlots   = 256             // refusals under way at a time; past it a connection is closed at once
	shedTimeout = 1 * time.Second // for the request that is to be refused, and for reading the refusal
)

func newShed(cfg Config, r *requests) *shed {
	return &shed{
		slots:    make(chan struct{}, shedSlots),
		patience: cfg.IdleTimeout,
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
			ReadTimeout:        shedTimeout,
			WriteTimeout:       shedTimeout,
			ReadBufferSize:     cfg.MaxHead,
			MaxRequestBodySize: cfg.MaxBody,
			Logger:             quietLog{cfg.Log},

			SecureErrorLogMessage:        true,
			DisablePreParseMultipartForm: true,
		},
	}
}

// turnAway takes c over from a dispatcher and returns at once.
func (s *shed) turnAway(c *Conn, why dispatch.Why) {
	c.leave()
	if why == dispatch.Dropped {
		s.active.Go(func() { forsake(c, s.patience) })
		return
	}
	s.refuse(c, reasons[why])
}

// refuse answers.
func (s *shed) refuse(c *Conn, why Reason) {
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

func (s *shed) wait() { s.active.Wait() }

// forsake gives c no answer: its client waits until it has had enough, or for as
// long as patience says.
func forsake(c openConn, patience time.Duration) {
	e := c.ledgerEntry()
	e.drop(Unanswered)
	unread := make([]byte, 512)
	for err := c.SetReadDeadline(time.Now().Add(patience)); err == nil; _, err = c.Read(unread) {
		e.settle() // a drain need not wait for it
	}
	c.Close()
}
