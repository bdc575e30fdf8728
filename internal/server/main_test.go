package server

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// fasthttp's clock and its cleaner of idle workers, which outlive any server.
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"))
}

// soon is how long a test waits for what should happen at once.
const soon = time.Minute

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(soon); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never happened: %s", what)
		}
	}
}

// testConfig serves mode on ports of the kernel's choice, without calibrating.
func testConfig(mode string) Config {
	cfg := Default()
	cfg.Mode, cfg.Addr, cfg.Admin, cfg.Iters = mode, "127.0.0.1:0", "127.0.0.1:0", 1000
	cfg.Version = "v1.2.3"
	return cfg
}

// A running server, until the test ends or stop is called.
type running struct {
	*Server
	stop func() error
}

func run(t *testing.T, cfg Config) *running {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx) }()
	r := &running{Server: s, stop: sync.OnceValue(func() error {
		cancel()
		return <-served
	})}
	t.Cleanup(func() {
		if err := r.stop(); err != nil {
			t.Errorf("serving: %v", err)
		}
	})
	return r
}

func (r *running) url(path string) string      { return "http://" + r.Addr().String() + path }
func (r *running) adminURL(path string) string { return "http://" + r.AdminAddr().String() + path }

// browser returns a client whose connections end with the test.
func browser(t *testing.T) *http.Client {
	transport := &http.Transport{DialContext: (&net.Dialer{Timeout: soon}).DialContext}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: soon}
}
