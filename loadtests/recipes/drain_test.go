package recipes_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	fast "github.com/valyala/fasthttp"

	"schedlab/internal/serving/dispatch"
	"schedlab/internal/serving/model"
	"schedlab/internal/shared/workload"
	"schedlab/loadtests/recipes/fasthttp"
	"schedlab/loadtests/recipes/goroutine"
	"schedlab/loadtests/recipes/nethttp"
	"schedlab/loadtests/recipes/nethttpgate"
	"schedlab/loadtests/recipes/pool"
	"schedlab/loadtests/recipes/poolrequest"
	"schedlab/loadtests/recipes/reuseport"
	"schedlab/loadtests/recipes/semaphore"
)

// A drainer is a recipe or a mode with a number of workers, places or turns, where it has them.
type drainer struct {
	name  string
	serve func(ctx context.Context, addr string, handle func(), workers int) error
}

// drainers are all recipes and all modes.
func drainers() (all []drainer) {
	std := func(handle func()) http.Handler {
		return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // which the others have read by now
			handle()
		})
	}
	parsed := func(handle func()) fast.RequestHandler { return func(*fast.RequestCtx) { handle() } }
	const queue = 1 // of connections: more of them wait in the kernel
	all = []drainer{
		{"nethttp", func(ctx context.Context, addr string, handle func(), _ int) error {
			return nethttp.ListenAndServe(ctx, addr, std(handle))
		}},
		{"nethttp-gate", func(ctx context.Context, addr string, handle func(), workers int) error {
			return nethttpgate.ListenAndServe(ctx, addr, std(handle), workers)
		}},
		{"fasthttp", func(ctx context.Context, addr string, handle func(), _ int) error {
			return fasthttp.ListenAndServe(ctx, addr, parsed(handle))
		}},
		{"goroutine", func(ctx context.Context, addr string, handle func(), _ int) error {
			return goroutine.ListenAndServe(ctx, addr, parsed(handle))
		}},
		{"reuseport", func(ctx context.Context, addr string, handle func(), _ int) error {
			return reuseport.ListenAndServe(ctx, addr, parsed(handle), 2)
		}},
		{"semaphore", func(ctx context.Context, addr string, handle func(), workers int) error {
			return semaphore.ListenAndServe(ctx, addr, parsed(handle), workers)
		}},
		{"pool", func(ctx context.Context, addr string, handle func(), workers int) error {
			return pool.ListenAndServe(ctx, addr, parsed(handle), workers, queue)
		}},
		{"pool-request", func(ctx context.Context, addr string, handle func(), workers int) error {
			return poolrequest.ListenAndServe(ctx, addr, parsed(handle), workers, clients)
		}},
	}
	for i := range all {
		all[i].name = "recipe " + all[i].name
	}
	for _, mode := range model.Variants() {
		all = append(all, drainer{"mode " + mode.Name, func(ctx context.Context, addr string, handle func(), workers int) error {
			socket := model.Socket{Addr: addr, MaxConns: 1000}
			if mode.Axes.Accept == "reuseport" {
				socket.Sockets = 2
			}
			cfg := model.Config{
				Handle:   func(x *workload.Exchange) { handle(); x.Status = http.StatusOK },
				Limits:   model.DefaultLimits(),
				Settings: dispatch.Settings{Workers: workers, Depth: 32, Target: time.Minute, Interval: time.Minute, Wait: time.Minute},
				MaxConns: socket.MaxConns,
				Log:      slog.New(slog.DiscardHandler),
			}
			ln, err := socket.Listen(ctx, nil)
			if err != nil {
				return err
			}
			d, err := model.Serve(ctx, mode.New(cfg), ln, 10*time.Second)
			if d.Forced > 0 {
				err = errors.Join(err, fmt.Errorf("%d connections were cut", d.Forced))
			}
			return err
		}})
	}
	return all
}

// starting is held from the choice of a free port until somebody listens there: two tests at a time
// could choose the same.
var starting sync.Mutex

// draining serves until stop is called; ended then returns its error.
func (d drainer) draining(t *testing.T, handle func(), workers int) (addr string, stop context.CancelFunc, ended func() error) {
	t.Helper()
	starting.Lock()
	defer starting.Unlock()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr = ln.Addr().String()
	ln.Close()
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- d.serve(ctx, addr, handle, workers) }()
	dial(t, addr).Close()
	return addr, stop, func() error { return <-served }
}

// ask sends a request and wants a good answer. last says that the answer must end the connection.
func (c client) ask(last bool) error {
	res, err := c.get()
	return good(res, err, last)
}

func good(res *http.Response, err error, last bool) error {
	switch {
	case err != nil:
		return fmt.Errorf("a request was lost: %w", err)
	case res.StatusCode != http.StatusOK:
		return fmt.Errorf("got %s, want 200", res.Status)
	case last && !res.Close:
		return errors.New("the answer does not end its connection")
	}
	return nil
}

// past is a time after a stop by which every recipe and mode has closed the connections that were
// idle: later than the grace of 250 ms.
const past = 700 * time.Millisecond

// No recipe and no mode loses a request that its client could not know to be too late.
func TestDrainLosesNoRequest(t *testing.T) {
	for _, tc := range []struct {
		name string
		run  func(t *testing.T, d drainer)
	}{
		{"sent on an idle connection in the grace", func(t *testing.T, d drainer) {
			addr, stop, ended := d.draining(t, func() {}, clients)
			kept, fresh := dial(t, addr), dial(t, addr)
			if err := kept.ask(false); err != nil {
				t.Fatal(err)
			}
			time.Sleep(20 * time.Millisecond) // until fresh is accepted
			stop()
			time.Sleep(100 * time.Millisecond)
			for name, c := range map[string]client{"kept": kept, "fresh": fresh} {
				if err := c.ask(true); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			if err := ended(); err != nil {
				t.Error(err)
			}
		}},
		{"sent in part before the stop", func(t *testing.T, d drainer) {
			addr, stop, ended := d.draining(t, func() {}, clients)
			type part struct {
				client
				after string
			}
			var parts []part
			for _, cut := range [][2]string{
				{"G", "ET / HTTP/1.1\r\nHost: test\r\n\r\n"},
				{"GET / HTTP/1.1\r\nHo", "st: test\r\n\r\n"},
				{"GET / HTTP/1.1\r\nHost: test\r\n\r", "\n"},
				{"POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 5\r\n\r\nhe", "llo"},
			} {
				for before := range 2 { // whole requests on the connection
					c := dial(t, addr)
					if before == 1 {
						if err := c.ask(false); err != nil {
							t.Fatal(err)
						}
					}
					io.WriteString(c, cut[0])
					parts = append(parts, part{c, cut[1]})
				}
			}
			time.Sleep(50 * time.Millisecond) // until it is read
			stop()
			time.Sleep(past)
			for i, p := range parts {
				io.WriteString(p, p.after)
				res, err := http.ReadResponse(p.replies, nil)
				if err := good(res, err, true); err != nil {
					t.Errorf("part %d: %v", i, err)
				}
			}
			if err := ended(); err != nil {
				t.Error(err)
			}
		}},
		{"waiting for a place, sent in full", func(t *testing.T, d drainer) {
			entered := make(chan struct{}, clients)
			addr, stop, ended := d.draining(t, func() { entered <- struct{}{}; time.Sleep(40 * time.Millisecond) }, 1)
			var all sync.WaitGroup
			for range clients {
				c := dial(t, addr)
				io.WriteString(c, "GET / HTTP/1.1\r\nHost: test\r\n\r\n")
				all.Go(func() {
					switch res, err := http.ReadResponse(c.replies, nil); {
					case err != nil:
						t.Errorf("a request was lost: %v", err)
					case res.StatusCode == http.StatusServiceUnavailable && d.name == "recipe semaphore": // told, after longestWait
					case res.StatusCode != http.StatusOK:
						t.Error(res.Status)
					}
				})
			}
			<-entered
			stop()
			all.Wait()
			if err := ended(); err != nil {
				t.Error(err)
			}
		}},
		{"behind clients that send nothing", func(t *testing.T, d drainer) {
			addr, stop, ended := d.draining(t, func() {}, 1)
			for range 3 { // with ReadTimeout for each the drain would be over
				dial(t, addr)
			}
			c := dial(t, addr)
			io.WriteString(c, "GET / HTTP/1.1\r\nHost: test\r\n\r\n")
			stop()
			res, err := http.ReadResponse(c.replies, nil)
			if err := good(res, err, false); err != nil {
				t.Error(err)
			}
			if err := ended(); err != nil {
				t.Error(err)
			}
		}},
		{"by clients that go on until they are told", func(t *testing.T, d drainer) {
			addr, stop, ended := d.draining(t, func() { time.Sleep(time.Millisecond) }, clients)
			var all sync.WaitGroup
			for i := range clients {
				c := dial(t, addr)
				all.Go(func() {
					for last := time.Now(); ; {
						time.Sleep(time.Duration(i) * 5 * time.Millisecond)
						idle := time.Since(last)
						res, err := c.get()
						if err != nil && idle > 200*time.Millisecond {
							return // this machine held the client up for longer than the grace
						}
						if err := good(res, err, false); err != nil {
							t.Error(err)
							return
						}
						if res.Close {
							return
						}
						last = time.Now()
					}
				})
			}
			time.Sleep(100 * time.Millisecond)
			stop()
			all.Wait()
			if err := ended(); err != nil {
				t.Error(err)
			}
		}},
		{"answered late", func(t *testing.T, d drainer) {
			entered := make(chan struct{})
			var calls atomic.Int64
			addr, stop, ended := d.draining(t, func() {
				switch calls.Add(1) {
				case 1:
					return
				case 2:
					close(entered)
				}
				time.Sleep(past)
			}, clients)
			const request = "GET / HTTP/1.1\r\nHost: test\r\n\r\n"
			two, one := dial(t, addr), dial(t, addr)
			io.WriteString(two, request+request)
			<-entered
			io.WriteString(one, request)
			stop()
			if err := ended(); err != nil {
				t.Error(err)
			}
			for i, c := range []client{two, two, one} {
				res, err := http.ReadResponse(c.replies, nil)
				if err := good(res, err, i > 0); err != nil {
					t.Errorf("answer %d: %v", i, err)
				} else if _, err := io.Copy(io.Discard, res.Body); err != nil {
					t.Errorf("answer %d: %v", i, err)
				}
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			for _, d := range drainers() {
				t.Run(d.name, func(t *testing.T) {
					t.Parallel()
					tc.run(t, d)
				})
			}
		})
	}
}

// A connection without a request is closed cleanly, after the grace and not much later, and nobody is
// served any more.
func TestDrainEndsIdleConnections(t *testing.T) {
	t.Parallel()
	for _, d := range drainers() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			addr, stop, ended := d.draining(t, func() {}, clients)
			silent, kept := dial(t, addr), dial(t, addr)
			if err := kept.ask(false); err != nil { // by then silent is accepted
				t.Fatal(err)
			}
			began := time.Now()
			stop()
			for i, c := range []client{kept, silent} {
				if c == silent && d.name == "recipe reuseport" {
					break // its sockets accept no connection before its client sends
				}
				name := []string{"kept", "silent"}[i]
				if b, err := c.replies.ReadByte(); err != io.EOF {
					t.Errorf("%s: got %q %v, want a clean close", name, b, err)
				}
				if took := time.Since(began); took < model.DefaultGrace || took > 20*model.DefaultGrace {
					t.Errorf("%s: closed after %v, want %v", name, took, model.DefaultGrace)
				}
			}
			if err := ended(); err != nil {
				t.Error(err)
			}
			if c, err := net.Dial("tcp4", addr); err == nil {
				c.Close()
				t.Error("somebody still listens")
			} else if !errors.Is(err, syscall.ECONNREFUSED) {
				t.Error(err)
			}
		})
	}
}

// A request that is still under way at the limit of the drain sees its context end, and the recipe returns
// an error.
func TestDrainLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("the limit of the recipes is ten seconds")
	}
	t.Parallel()
	var all sync.WaitGroup // not tests of their own, of which only one a CPU would wait at a time
	for _, s := range subjects() {
		entered, over := make(chan struct{}), make(chan struct{})
		d := drainer{s.mode, func(ctx context.Context, addr string, _ func(), _ int) error {
			return s.serve(ctx, addr, func(request context.Context) {
				close(entered)
				<-request.Done()
				close(over)
			})
		}}
		addr, stop, ended := d.draining(t, nil, 0)
		c := dial(t, addr)
		io.WriteString(c, "GET / HTTP/1.1\r\nHost: test\r\n\r\n")
		<-entered
		stop()
		all.Go(func() {
			if err := ended(); err == nil {
				t.Errorf("%s returned no error", s.mode)
			}
			<-over
		})
	}
	all.Wait()
}
