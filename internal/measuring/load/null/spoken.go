package null

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"
)

// reply11 is the reply to every request of HTTP/1.1.
const reply11 = "HTTP/1.1 200 OK\r\nServer: null\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\nok\n"

// ServeSpoken answers clients that speak TLS, HTTP/2 or both, until the context ends. Then it closes ln and all connections.
// Without a certificate of its own it speaks no TLS. crypto/tls and net/http's HTTP/2 do the work, so it costs more than Serve.
func ServeSpoken(ctx context.Context, ln net.Listener, own *tls.Certificate, http2 bool) error {
	stop := context.AfterFunc(ctx, func() { _ = ln.Close() })
	defer stop()
	var config *tls.Config
	if own != nil {
		config = &tls.Config{Certificates: []tls.Certificate{*own}}
	}
	if http2 {
		return serveHTTP2(ctx, ln, config)
	}
	var conns sync.WaitGroup
	defer conns.Wait()
	answering, end := context.WithCancel(ctx)
	defer end()
	for {
		nc, err := ln.Accept()
		if ctx.Err() != nil { // answering may end a little later than ln
			return nil
		}
		if err != nil {
			return err
		}
		conns.Go(func() { answerAll(answering, nc, config) })
	}
}

// serveHTTP2 answers over HTTP/2 alone; config is nil for connections without TLS.
func serveHTTP2(ctx context.Context, ln net.Listener, config *tls.Config) error {
	s := &http.Server{
		Handler:   http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") }),
		TLSConfig: config, Protocols: new(http.Protocols), ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: time.Minute,
	}
	s.Protocols.SetHTTP2(config != nil)
	s.Protocols.SetUnencryptedHTTP2(config == nil)
	serve := s.Serve
	if config != nil {
		serve = func(ln net.Listener) error { return s.ServeTLS(ln, "", "") }
	}
	err := serve(ln)
	_ = s.Close()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// answerAll answers the requests of one connection over TLS until the client closes it or ctx ends. Requests have no body.
func answerAll(ctx context.Context, nc net.Conn, config *tls.Config) {
	stop := context.AfterFunc(ctx, func() { nc.Close() })
	defer stop()
	secured := tls.Server(nc, config)
	defer secured.Close()
	in := bufio.NewReader(secured)
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return
		}
		if len(line) > 2 { // not yet the empty line
			continue
		}
		if _, err := io.WriteString(secured, reply11); err != nil {
			return
		}
	}
}
