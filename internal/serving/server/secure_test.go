package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"testing"
	"time"

	"schedlab/internal/serving/model"
	"schedlab/internal/shared/selfsigned"
)

// A secureServer runs in a mode that speaks TLS. Its client speaks one protocol alone.
type secureServer struct {
	*Server
	http2  bool
	client *http.Client
	stop   func() error // ends the server, and returns what Serve does
}

// overTLS runs a test in each mode that speaks TLS, and over HTTP/2 where its stack is net/http's.
func overTLS(t *testing.T, test func(t *testing.T, s secureServer)) {
	id := selfsigned.New(t, "127.0.0.1")
	for _, m := range model.Modes() {
		if !m.Has("tls-cert") {
			continue
		}
		for _, http2 := range []bool{false, true} {
			if http2 && m.Axes.Stack != "nethttp" {
				continue
			}
			t.Run(m.Name+map[bool]string{true: " h2"}[http2], func(t *testing.T) {
				t.Parallel()
				cfg := Default()
				cfg.Mode, cfg.Addr, cfg.Admin, cfg.TLSCert, cfg.TLSKey, cfg.Iters, cfg.Stamps = m.Name, "127.0.0.1:0", "off", id.Cert, id.Key, 1, "basic"
				cfg.DrainGrace = 20 * time.Millisecond
				if m.Has("workers") {
					cfg.Workers = 64
				}
				s, err := New(cfg)
				if err != nil {
					t.Fatal(err)
				}
				if err := s.Listen(t.Context()); err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- s.Serve(ctx) }()
				by := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: id.Pool()}, Protocols: new(http.Protocols)}
				by.Protocols.SetHTTP1(!http2)
				by.Protocols.SetHTTP2(http2)
				test(t, secureServer{s, http2, &http.Client{Transport: by, Timeout: 5 * time.Second}, func() error {
					stop()
					return <-ended
				}})
				by.CloseIdleConnections()
			})
		}
	}
}

// ask sends a request, and expects a good answer in the client's protocol.
func (s secureServer) ask(ctx context.Context, t *testing.T, method, path string, body io.Reader) {
	req, err := http.NewRequestWithContext(ctx, method, "https://"+s.ln.Addr().String()+path, body)
	if err != nil {
		t.Error(err)
		return
	}
	reply, err := s.client.Do(req)
	if err != nil {
		t.Errorf("%s %s: %v", method, path, err)
		return
	}
	defer reply.Body.Close()
	if _, err := io.Copy(io.Discard, reply.Body); err != nil || reply.StatusCode > 299 || (reply.ProtoMajor == 2) != s.http2 {
		t.Errorf("%s %s: %s %s, %v", method, path, reply.Proto, reply.Status, err)
	}
}

// Modes that speak TLS answer over it as without, and over HTTP/2 where their stack is net/http's, with every connection
// counted, and refuse a client without TLS.
func TestModesSpeakTLS(t *testing.T) {
	t.Parallel()
	overTLS(t, func(t *testing.T, s secureServer) {
		var all sync.WaitGroup
		for i := range 40 {
			all.Go(func() {
				if i%4 == 0 {
					s.ask(t.Context(), t, "PUT", "/kv/a", strings.NewReader(strings.Repeat("x", 50_000)))
				} else {
					s.ask(t.Context(), t, "GET", "/work?sleep=5ms", nil)
				}
			})
		}
		all.Wait()
		// A client without TLS is refused, and counted as any other connection.
		if reply, err := http.Get("http://" + s.ln.Addr().String()); err == nil {
			if reply.Body.Close(); reply.StatusCode != http.StatusBadRequest {
				t.Errorf("a client without TLS got %s, want it refused", reply.Status)
			}
		}
		// The connections are idle now, and kept: a drain closes them at once and drops none.
		began := time.Now()
		if err := s.stop(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("the drain took %v with idle connections alone", took)
		}
		c := s.ln.Counts()
		if dropped := c.Dropped[model.DrainTimeout]; c.Open != 0 || c.Accepted == 0 || c.Accepted != c.Done || dropped > 0 {
			t.Errorf("counted %+v; want all done", c)
		}
	})
}

// A server that speaks TLS answers what is under way when it is told to stop: requests that are being served, and one whose
// body comes after the drain's grace, alone and beside them.
func TestDrainsOverTLS(t *testing.T) {
	t.Parallel()
	for _, others := range []int{0, 3} {
		t.Run(fmt.Sprintf("beside %d", others), func(t *testing.T) {
			overTLS(t, func(t *testing.T, s secureServer) {
				s.ask(t.Context(), t, "GET", "/plaintext", nil) // so that nothing of the connection's beginning follows the head
				body, send := io.Pipe()
				var all sync.WaitGroup
				sent := make(chan struct{}, 100)
				ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{WroteHeaders: func() { sent <- struct{}{} }})
				all.Go(func() { s.ask(ctx, t, "PUT", "/kv/a", body) })
				for range others {
					all.Go(func() { s.ask(ctx, t, "GET", "/work?sleep=200ms", nil) })
				}
				for range 1 + others {
					select {
					case <-sent:
					case <-time.After(5 * time.Second):
						t.Error("the requests are not sent")
					}
				}
				time.Sleep(50 * time.Millisecond) // the server has read the heads
				stopped := make(chan error, 1)
				go func() { stopped <- s.stop() }()
				time.Sleep(400 * time.Millisecond) // the others are answered, and the drain looks at what is left
				if _, err := io.WriteString(send, "late"); err != nil {
					t.Error(err)
				}
				send.Close()
				all.Wait()
				if err := <-stopped; err != nil {
					t.Error(err)
				}
				if c := s.ln.Counts(); c.Open != 0 || c.Accepted != c.Done {
					t.Errorf("counted %+v; want all done", c)
				}
			})
		})
	}
}

// Half of what TLS needs, or files that are none, are refused by name.
func TestTLSNeedsBothFiles(t *testing.T) {
	t.Parallel()
	id := selfsigned.New(t, "127.0.0.1")
	for want, c := range map[string]struct{ mode, cert, key string }{
		"belong together":                     {"nethttp", id.Cert, ""},
		"--tls-cert: reading the certificate": {"fasthttp", id.Key, id.Cert},
		"--tls-cert means nothing to --mode pool; it belongs to --mode nethttp, nethttp-gate, goroutine, fasthttp, semaphore": {"pool", id.Cert, id.Key},
	} {
		cfg := Default()
		cfg.Mode, cfg.TLSCert, cfg.TLSKey, cfg.Iters = c.mode, c.cert, c.key, 1
		_, err := New(cfg)
		var bad *ConfigError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
