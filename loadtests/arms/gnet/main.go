// Command gnet serves schedlab's endpoints on panjf2000/gnet's event loops. gnet has no HTTP:
// fasthttp reads the requests from what a connection has received and writes the answers.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"io"

	"github.com/panjf2000/gnet/v2"
	"github.com/panjf2000/gnet/v2/pkg/logging"
	"github.com/valyala/fasthttp"

	"schedlab/internal/shared/workload"
	"schedlab/loadtests/arms/arm"
)

type server struct {
	gnet.BuiltinEventEngine
	engine  gnet.Engine
	booted  chan struct{} // closed when engine is set
	app     *workload.App
	offload bool
}

func (s *server) OnBoot(e gnet.Engine) gnet.Action {
	s.engine = e
	close(s.booted)
	return gnet.None
}

// busy is a connection's context while a goroutine answers its request.
type busy struct{}

// OnTraffic answers every whole request that c has received, in their order.
func (s *server) OnTraffic(c gnet.Conn) gnet.Action {
	for c.InboundBuffered() > 0 && c.Context() == nil {
		received, err := c.Peek(-1)
		if err != nil {
			return gnet.Close
		}
		req := fasthttp.AcquireRequest()
		used, err := parse(req, received)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			fasthttp.ReleaseRequest(req)
			return gnet.None // the rest is on its way
		}
		if err != nil || req.MayContinue() {
			fasthttp.ReleaseRequest(req)
			c.Write([]byte("HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"))
			return gnet.Close
		}
		c.Discard(used)
		if s.offload {
			c.SetContext(busy{})
			go s.answerLater(c, req)
			return gnet.None
		}
		out, last := s.answer(req)
		c.Write(out)
		if last {
			return gnet.Close
		}
	}
	return gnet.None
}

// parse reads one request from the start of b, which it does not keep, and returns its length.
func parse(req *fasthttp.Request, b []byte) (used int, err error) {
	r := bytes.NewReader(b)
	buffered := bufio.NewReader(r)
	err = req.ReadLimitBody(buffered, arm.MaxBody+1)
	return len(b) - r.Len() - buffered.Buffered(), err
}

// answer returns the answer's bytes, and whether the connection ends with it.
func (s *server) answer(req *fasthttp.Request) (out []byte, last bool) {
	res := fasthttp.AcquireResponse()
	defer fasthttp.ReleaseResponse(res)
	defer fasthttp.ReleaseRequest(req)
	arm.Fast(s.app.Serve, req, res)
	res.SkipBody = req.Header.IsHead()
	var b bytes.Buffer
	res.WriteTo(&b) // memory does not fail
	return b.Bytes(), res.ConnectionClose()
}

// answerLater answers beside the loop, and then lets the loop read c's next request.
func (s *server) answerLater(c gnet.Conn, req *fasthttp.Request) {
	out, last := s.answer(req)
	c.AsyncWrite(out, func(c gnet.Conn, err error) error {
		c.SetContext(nil)
		if last || err != nil {
			return c.Close()
		}
		return c.Wake(nil)
	})
}

func main() {
	offload := flag.Bool("offload", false, "run each request in a goroutine, for handlers that block; without it in the event loop")
	app, addr := arm.App()
	s := &server{booted: make(chan struct{}), app: app, offload: *offload}
	arm.Run(func() error {
		return gnet.Run(s, "tcp://"+addr, gnet.WithMulticore(true), gnet.WithTCPNoDelay(gnet.TCPNoDelay), gnet.WithLogLevel(logging.ErrorLevel))
	}, func(ctx context.Context) error {
		<-s.booted
		return s.engine.Stop(ctx)
	})
}
