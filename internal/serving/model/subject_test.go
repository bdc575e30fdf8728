package model_test

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"schedlab/internal/serving/dispatch"
	"schedlab/internal/serving/model"
	"schedlab/internal/shared/workload"
)

// soon is how long a test waits for what should happen at once, on a machine
// that is doing something else.
const soon = time.Minute

// eventually waits until ok reports true, and fails the test if it never does.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(soon); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never happened: %s", what)
		}
	}
}

// A setup is what a test may change of its subject before it starts.
type setup struct {
	model.Config
	Socket model.Socket
	Drain  time.Duration
	warn   func(msg string, args ...any) // of the listener; nil: to nobody
}

// newSetup is four workers behind the mode's own queue and overflow policy, the
// default limits of size, no timeout that a test on a busy machine could reach, and
// the real handlers.
func newSetup(_ testing.TB, mode model.Mode) setup {
	s := setup{
		Config: model.Config{
			Handle:   workload.New(workload.Options{ItersPerMicro: 1000}).Serve,
			Limits:   model.DefaultLimits(),
			Settings: dispatch.Settings{Workers: 4, Target: soon, Interval: soon, Wait: soon}, // nothing ages
			Log:      slog.New(slog.DiscardHandler),
		},
		Socket: model.Socket{Addr: "127.0.0.1:0", MaxConns: 1000},
		Drain:  soon,
	}
	if mode.Axes.Accept == "reuseport" {
		s.Socket.Sockets = 3
	}
	s.HeaderTimeout, s.BodyTimeout, s.WriteTimeout, s.IdleTimeout = time.Hour, time.Hour, time.Hour, time.Hour
	if mode.Depth != nil {
		s.Depth, s.Overflow = mode.Depth(s.Workers), mode.Overflow
	}
	return s
}

// model makes the model, with the listener's cap.
func (s setup) model(mode model.Mode) model.Model {
	s.Config.MaxConns = s.Socket.MaxConns
	return mode.New(s.Config)
}

// A subject is one model serving on loopback. Whatever its test is about, its
// counts are read all the time and must add up in every reading, and at the end.
type subject struct {
	t        testing.TB
	ln       *model.Listener
	model    model.Model
	answered atomic.Uint64
	dialled  atomic.Uint64
	drain    func() (model.Drain, error)
}

// start serves mode until the test ends or drain is called.
func start(t testing.TB, mode model.Mode, changes ...func(*setup)) *subject {
	t.Helper()
	s := &subject{t: t}
	with := newSetup(t, mode)
	with.Observe = func(workload.Route, int, time.Duration) { s.answered.Add(1) }
	for _, change := range changes {
		change(&with)
	}
	ln, err := with.Socket.Listen(t.Context(), with.warn)
	if err != nil {
		t.Fatal(err)
	}
	with.Depth = max(with.Depth, mode.LeastDepth)
	s.ln, s.model = ln, with.model(mode)

	ctx, cancel := context.WithCancel(context.Background())
	sampled := s.sample(ctx)
	var result model.Drain
	served := make(chan struct{})
	go func() {
		defer close(served)
		result, err = model.Serve(ctx, s.model, ln, with.Drain)
	}()
	s.drain = sync.OnceValues(func() (model.Drain, error) {
		cancel()
		<-served
		<-sampled
		s.checkEnd()
		return result, err
	})
	t.Cleanup(func() {
		if _, err := s.drain(); err != nil && !t.Failed() {
			t.Errorf("serving: %v", err)
		}
	})
	return s
}

// sample reads the counts until ctx is done; the channel closes after the last. While they stay as they are it reads
// them less often: dozens of idle subjects would keep a CPU busy.
func (s *subject) sample(ctx context.Context) <-chan struct{} {
	const often, seldom = 200 * time.Microsecond, 2 * time.Millisecond
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		var last model.Counts
		pause := often
		next := time.NewTimer(pause)
		defer next.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-next.C:
				c := s.ln.Counts()
				if c.Accepted != c.Done+c.Turned()+c.Open || c.GaveUp > c.Done {
					s.t.Errorf("counts do not add up: %+v", c)
					return
				}
				if pause = often; c == last {
					pause = seldom
				}
				last = c
				next.Reset(pause)
			}
		}
	}()
	return ended
}

// checkEnd checks what holds once Serve has returned.
func (s *subject) checkEnd() {
	c := s.ln.Counts()
	if c.Open != 0 || c.Accepted != c.Done+c.Turned() {
		s.t.Errorf("after the drain: got %+v, want none open and accepted = done + turned away", c)
	}
	if r := s.model.Requests(); r.Started != s.answered.Load()+r.Aborted {
		s.t.Errorf("after the drain: started %d, want answered %d + aborted %d", r.Started, s.answered.Load(), r.Aborted)
	}
}

func (s *subject) addr() string { return s.ln.Addr().String() }

// open waits until that many connections are open.
func (s *subject) open(n int) {
	s.t.Helper()
	eventually(s.t, "the number of open connections", func() bool { return s.ln.Counts().Open == uint64(n) })
}

// dial connects and gives everything on the connection a generous deadline.
func (s *subject) dial() *client {
	s.t.Helper()
	c, err := s.tryDial()
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

func (s *subject) tryDial() (*client, error) {
	c, err := connect(s.addr())
	if err != nil {
		return nil, err
	}
	s.dialled.Add(1)
	s.t.Cleanup(func() { c.Close() })
	return c, nil
}

// connect leaves it to the caller to close the connection.
func connect(addr string) (*client, error) {
	nc, err := net.DialTimeout("tcp", addr, soon)
	if err != nil {
		return nil, err
	}
	nc.SetDeadline(time.Now().Add(soon))
	return newClient(nc.(*net.TCPConn)), nil
}
