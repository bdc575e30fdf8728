package recipes_test

import (
	"bufio"
	"context"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	fast "github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpadaptor"
	"go.uber.org/goleak"

	"schedlab/loadtests/recipes"
	"schedlab/loadtests/recipes/fasthttp"
	"schedlab/loadtests/recipes/goroutine"
	"schedlab/loadtests/recipes/nethttp"
	"schedlab/loadtests/recipes/nethttpgate"
	"schedlab/loadtests/recipes/pool"
	"schedlab/loadtests/recipes/poolrequest"
	"schedlab/loadtests/recipes/reuseport"
	"schedlab/loadtests/recipes/semaphore"
)

// clients is how many clients the tests have, each on a connection that it keeps.
const clients = 20

// A subject is a recipe with room for all clients.
type subject struct {
	mode           string
	serve          func(ctx context.Context, addr string, handle func(request context.Context)) error
	accepted, done *atomic.Int64
}

func subjects() []subject {
	std := func(handle func(context.Context)) http.Handler {
		return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { handle(r.Context()) })
	}
	parsed := func(handle func(context.Context)) fast.RequestHandler {
		return func(rc *fast.RequestCtx) { handle(rc) } // the context that the adaptor gives an http.Handler, too
	}
	return []subject{
		{"nethttp", func(ctx context.Context, addr string, handle func(context.Context)) error {
			return nethttp.ListenAndServe(ctx, addr, std(handle))
		}, &nethttp.Accepted, &nethttp.Done},
		{"nethttp-gate", func(ctx context.Context, addr string, handle func(context.Context)) error {
			return nethttpgate.ListenAndServe(ctx, addr, std(handle), clients)
		}, &nethttpgate.Accepted, &nethttpgate.Done},
		{"fasthttp", func(ctx context.Context, addr string, handle func(context.Context)) error {
			return fasthttp.ListenAndServe(ctx, addr, parsed(handle))
		}, &fasthttp.Accepted, &fasthttp.Done},
		{"goroutine", func(ctx context.Context, addr string, handle func(context.Context)) error {
			return goroutine.ListenAndServe(ctx, addr, parsed(handle))
		}, &goroutine.Accepted, &goroutine.Done},
		{"reuseport", func(ctx context.Context, addr string, handle func(context.Context)) error {
			return reuseport.ListenAndServe(ctx, addr, parsed(handle), 2)
		}, &reuseport.Accepted, &reuseport.Done},
		{"semaphore", func(ctx context.Context, addr string, handle func(context.Context)) error {
			return semaphore.ListenAndServe(ctx, addr, parsed(handle), clients)
		}, &semaphore.Accepted, &semaphore.Done},
		{"pool", func(ctx context.Context, addr string, handle func(context.Context)) error {
			return pool.ListenAndServe(ctx, addr, parsed(handle), clients, clients)
		}, &pool.Accepted, &pool.Done},
		{"pool-request", func(ctx context.Context, addr string, handle func(context.Context)) error {
			return poolrequest.ListenAndServe(ctx, addr, parsed(handle), 2, clients)
		}, &poolrequest.Accepted, &poolrequest.Done},
	}
}

// noLeak fails if the test leaves a goroutine, other than fasthttp's clock and the cleaner of its pool,
// which sleeps out ten seconds.
func noLeak(t *testing.T) {
	t.Helper()
	goleak.VerifyNone(t,
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"))
}

// begin serves until the returned function is called, which returns the error of the recipe.
func begin(t *testing.T, serve func(ctx context.Context, addr string) error) (addr string, end func() error) {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr = ln.Addr().String()
	ln.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, addr) }()
	return addr, func() error {
		cancel()
		return <-ended
	}
}

// A client keeps one connection.
type client struct {
	net.Conn
	replies *bufio.Reader
}

// dial connects once somebody listens.
func dial(t *testing.T, addr string) client {
	t.Helper()
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		c, err := net.Dial("tcp4", addr)
		if err == nil && c.LocalAddr().String() == addr { // a connection to itself, of a port that nobody listens on
			c.Close()
			continue
		}
		if err == nil {
			t.Cleanup(func() { c.Close() })
			c.SetDeadline(time.Now().Add(20 * time.Second))
			return client{c, bufio.NewReader(c)}
		}
		if time.Since(began) > 10*time.Second {
			t.Fatal(err)
		}
	}
}

// get sends a request and returns the reply without its body, nil with an error.
func (c client) get() (*http.Response, error) {
	if _, err := fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: test\r\n\r\n"); err != nil {
		return nil, err
	}
	res, err := http.ReadResponse(c.replies, nil)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(io.Discard, res.Body)
	return res, err
}

// Every recipe answers clients that come at once, and ends within a second while they keep their
// connections. It then has counted every connection in and out, and left no goroutine.
func TestRecipesServeAndDrain(t *testing.T) {
	for _, s := range subjects() {
		t.Run(s.mode, func(t *testing.T) {
			accepted, done := s.accepted.Load(), s.done.Load()
			addr, end := begin(t, func(ctx context.Context, addr string) error {
				return s.serve(ctx, addr, func(context.Context) { time.Sleep(time.Millisecond) })
			})
			conns := make([]client, clients)
			for i := range conns {
				conns[i] = dial(t, addr)
			}
			for range 2 { // the second on the kept connections
				var all sync.WaitGroup
				for _, c := range conns {
					all.Go(func() {
						if res, err := c.get(); err != nil {
							t.Error(err)
						} else if res.StatusCode != http.StatusOK {
							t.Error(res.Status)
						}
					})
				}
				all.Wait()
			}
			began := time.Now()
			if err := end(); err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took > time.Second {
				t.Errorf("the drain took %v", took)
			}
			if in, out := s.accepted.Load()-accepted, s.done.Load()-done; in != clients || out != clients {
				t.Errorf("accepted %d, done %d, of %d connections", in, out, clients)
			}
			noLeak(t)
		})
	}
}

// A request that is under way when the context ends, or when the listener fails, keeps its own context beyond
// the grace. It is answered, and announces the end of its connection.
func TestRequestUnderWayIsAnswered(t *testing.T) {
	for _, s := range subjects() {
		for _, why := range []string{"the context ends", "the listener fails"} {
			t.Run(s.mode+"/"+why, func(t *testing.T) {
				entered, release := make(chan struct{}), make(chan struct{})
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				var calls atomic.Int64
				addr, end := begin(t, func(_ context.Context, addr string) error {
					return s.serve(ctx, addr, func(request context.Context) {
						if calls.Add(1) == 1 {
							return
						}
						close(entered)
						<-release
						if err := request.Err(); err != nil {
							t.Errorf("the request's context has ended: %v", err)
						}
					})
				})
				idle := dial(t, addr)
				if _, err := idle.get(); err != nil {
					t.Fatal(err)
				}
				c := dial(t, addr)
				answered := make(chan struct{})
				go func() {
					defer close(answered)
					switch res, err := c.get(); {
					case err != nil:
						t.Error(err)
					case res.StatusCode != http.StatusOK || !res.Close:
						t.Errorf("%s, Connection: close %v", res.Status, res.Close)
					}
				}()
				<-entered
				fails := why == "the listener fails"
				if fails {
					failListeners(t, addr)
				} else {
					stop()
				}
				if _, err := idle.replies.ReadByte(); err != io.EOF { // which says that the grace has passed
					t.Errorf("the idle connection got %v, want a clean close", err)
				}
				close(release)
				if err := end(); fails != (err != nil) {
					t.Errorf("the recipe returned %v", err)
				}
				<-answered
				noLeak(t)
			})
		}
	}
}

// failListeners makes Accept fail on all sockets that listen on addr.
func failListeners(t *testing.T, addr string) {
	t.Helper()
	failed := 0
	for fd := range 1 << 10 {
		if listens, err := syscall.GetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_ACCEPTCONN); err != nil || listens == 0 {
			continue
		}
		local, _ := syscall.Getsockname(fd)
		if ip4, ok := local.(*syscall.SockaddrInet4); ok && strings.HasSuffix(addr, fmt.Sprintf(":%d", ip4.Port)) {
			if err := syscall.Shutdown(fd, syscall.SHUT_RD); err != nil {
				t.Fatal(err)
			}
			failed++
		}
	}
	if failed == 0 {
		t.Fatal("found no listener")
	}
}

// A client that waits to be told to send its body is told at once, in whatever case it asks, or gets 413
// for a body that is too long. (net/http does the first when a handler reads.)
func TestExpectation(t *testing.T) {
	for _, s := range subjects() {
		if strings.HasPrefix(s.mode, "nethttp") {
			continue
		}
		t.Run(s.mode, func(t *testing.T) {
			addr, end := begin(t, func(ctx context.Context, addr string) error {
				return s.serve(ctx, addr, func(context.Context) {})
			})
			for _, tc := range []struct {
				length, expect, want string
			}{
				{"5", "100-continue", "HTTP/1.1 100 Continue\r\n"},
				{"5", "100-Continue", "HTTP/1.1 100 Continue\r\n"},
				{"5", "x-y, 100-CONTINUE", "HTTP/1.1 100 Continue\r\n"},
				{"1048577", "100-continue", "HTTP/1.1 413 Request Entity Too Large\r\n"},
			} {
				c := dial(t, addr)
				fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: test\r\nContent-Length: %s\r\nExpect: %s\r\n\r\n", tc.length, tc.expect)
				if line, err := c.replies.ReadString('\n'); err != nil || line != tc.want {
					t.Errorf("%s of %s bytes: got %q %v, want %q", tc.expect, tc.length, line, err, tc.want)
				}
				c.Close()
			}
			if err := end(); err != nil {
				t.Error(err)
			}
			noLeak(t)
		})
	}
}

// A handler that panics costs its client an answer of 500 or the connection, and no other client anything.
func TestPanicEndsNoProgram(t *testing.T) {
	for _, s := range subjects() {
		t.Run(s.mode, func(t *testing.T) {
			var calls atomic.Int64
			addr, end := begin(t, func(ctx context.Context, addr string) error {
				return s.serve(ctx, addr, func(context.Context) {
					if calls.Add(1) == 1 {
						panic("planted")
					}
				})
			})
			if res, err := dial(t, addr).get(); err == nil && res.StatusCode != http.StatusInternalServerError {
				t.Errorf("the panic was answered %s", res.Status)
			}
			if res, err := dial(t, addr).get(); err != nil || res.StatusCode != http.StatusOK {
				t.Errorf("after it: %v, %v", res, err)
			}
			if err := end(); err != nil {
				t.Error(err)
			}
			noLeak(t)
		})
	}
}

// With its only worker busy and its only place taken, pool-request refuses all others at once. semaphore
// refuses what got no turn in time. Once the context has ended a refusal, too, ends its connection.
func TestFullIs503(t *testing.T) {
	for _, full := range []struct {
		mode    string
		serve   func(ctx context.Context, addr string, h fast.RequestHandler) error
		refused *atomic.Int64
		want    int64 // of four requests beside the one that is served
	}{
		{"pool-request", func(ctx context.Context, addr string, h fast.RequestHandler) error {
			return poolrequest.ListenAndServe(ctx, addr, h, 1, 1)
		}, &poolrequest.Refused, 3},
		{"semaphore", func(ctx context.Context, addr string, h fast.RequestHandler) error {
			return semaphore.ListenAndServe(ctx, addr, h, 1)
		}, &semaphore.Refused, 4},
	} {
		t.Run(full.mode, func(t *testing.T) {
			before := full.refused.Load()
			entered, release := make(chan struct{}, 5), make(chan struct{})
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			addr, end := begin(t, func(_ context.Context, addr string) error {
				return full.serve(ctx, addr, func(*fast.RequestCtx) { entered <- struct{}{}; <-release })
			})
			var served, refused atomic.Int64
			var all sync.WaitGroup
			ask := func(c client) {
				switch res, err := c.get(); {
				case err != nil:
					t.Error(err)
				case res.StatusCode == http.StatusOK:
					served.Add(1)
				case res.StatusCode == http.StatusServiceUnavailable && res.Header.Get("Retry-After") == "1":
					refused.Add(1)
				default:
					t.Error(res.Status)
				}
			}
			first := dial(t, addr)
			all.Go(func() { ask(first) })
			<-entered
			for range 4 {
				c := dial(t, addr)
				all.Go(func() { ask(c) })
			}
			for began := time.Now(); refused.Load() < full.want && time.Since(began) < 10*time.Second; {
				time.Sleep(time.Millisecond)
			}
			stop()
			if res, err := dial(t, addr).get(); err != nil || res.StatusCode != http.StatusServiceUnavailable || !res.Close {
				t.Errorf("once the context has ended: got %v, %v", res, err)
			}
			close(release)
			all.Wait()
			if counted := full.refused.Load() - before; refused.Load() != full.want || served.Load() != 5-full.want || counted != full.want+1 {
				t.Errorf("%d served, %d refused, counted %d with the last one, want %d refused", served.Load(), refused.Load(), counted, full.want)
			}
			if err := end(); err != nil {
				t.Error(err)
			}
			noLeak(t)
		})
	}
}

// A recipe on fasthttp serves an http.Handler by the adaptor that its comment names.
func TestAdaptedHandler(t *testing.T) {
	addr, end := begin(t, func(ctx context.Context, addr string) error {
		h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
		return poolrequest.ListenAndServe(ctx, addr, fasthttpadaptor.NewFastHTTPHandler(h), 1, 1)
	})
	if res, err := dial(t, addr).get(); err != nil || res.StatusCode != http.StatusTeapot {
		t.Errorf("got %v, %v", res, err)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
	noLeak(t)
}

// A pool with fewer workers than kept connections starves the others, as its comment warns.
func TestPoolStarvesBeyondItsWorkers(t *testing.T) {
	addr, end := begin(t, func(ctx context.Context, addr string) error {
		return pool.ListenAndServe(ctx, addr, func(*fast.RequestCtx) {}, 1, 1)
	})
	kept, other := dial(t, addr), dial(t, addr)
	if _, err := kept.get(); err != nil {
		t.Fatal(err)
	}
	other.SetDeadline(time.Now().Add(100 * time.Millisecond))
	if res, err := other.get(); err == nil {
		t.Errorf("the second client got %s beside a kept connection", res.Status)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
	noLeak(t)
}

// What cannot be served is an error at once.
func TestImpossibleSizes(t *testing.T) {
	for name, err := range map[string]error{
		"gate":      nethttpgate.ListenAndServe(t.Context(), "127.0.0.1:0", nil, 0),
		"semaphore": semaphore.ListenAndServe(t.Context(), "127.0.0.1:0", nil, 0),
		"pool":      pool.ListenAndServe(t.Context(), "127.0.0.1:0", nil, 0, 1),
		"queue":     poolrequest.ListenAndServe(t.Context(), "127.0.0.1:0", nil, 1, -1),
		"address":   nethttp.ListenAndServe(t.Context(), "127.0.0.1:none", nil),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A recipe is one file of the package of its mode's name, which needs nothing but the standard library and fasthttp.
func TestRecipesStandAlone(t *testing.T) {
	for _, s := range subjects() {
		source, ok := recipes.Of(s.mode)
		if !ok {
			t.Errorf("no recipe for %s", s.mode)
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), s.mode, source, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if want := strings.ReplaceAll(s.mode, "-", ""); file.Name.Name != want || !strings.HasPrefix(file.Doc.Text(), "Package "+want+" ") {
			t.Errorf("%s: package %s, want %s with a comment", s.mode, file.Name.Name, want)
		}
		onFasthttp := false
		for _, i := range file.Imports {
			onFasthttp = onFasthttp || i.Path.Value == `"github.com/valyala/fasthttp"`
			if path := strings.Trim(i.Path.Value, `"`); strings.Contains(path, ".") && !strings.HasPrefix(path, "github.com/valyala/fasthttp") || strings.HasPrefix(path, "schedlab") {
				t.Errorf("%s imports %s", s.mode, path)
			}
		}
		// A file on fasthttp says how an http.Handler gets in.
		if doc := file.Doc.Text(); onFasthttp != strings.Contains(doc, "fasthttp.RequestHandler. For an http.Handler give it fasthttpadaptor.NewFastHTTPHandler(handler)\n(github.com/valyala/fasthttp/fasthttpadaptor)") ||
			onFasthttp != strings.Contains(doc, "take the recipe nethttp") {
			t.Errorf("%s on fasthttp is %v, and its comment says:\n%s", s.mode, onFasthttp, doc)
		}
	}
}
