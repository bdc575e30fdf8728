package server

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"schedlab/internal/serving/model"
)

func TestMain(m *testing.M) {
	if mode := os.Getenv(childMode); mode != "" {
		os.Exit(serveAsChild(mode))
	}
	if mode := os.Getenv(scarceMode); mode != "" {
		if err := serveScarce(mode); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	flag.Set("test.parallel", "8") // tests here wait for timeouts more than they compute
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
	// Nothing ages where a test does not ask for it: on a busy machine a request may wait for longer than the default target.
	for _, m := range model.Variants() {
		if m.Name == mode && m.Adaptive {
			cfg.Target, cfg.Interval = time.Minute, time.Minute
		}
	}
	cfg.Spawn = func(ctx context.Context, flags ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, os.Args[0], flags...)
		cmd.Stderr, cmd.Env = os.Stderr, append(os.Environ(), childMode+"="+mode)
		return cmd
	}
	return cfg
}

// childMode names, in the environment, the mode that this binary is to serve as a
// prefork server's process, instead of running tests.
const childMode = "SCHEDLAB_TEST_CHILD_MODE"

func serveAsChild(mode string) int {
	cfg := Default()
	cfg.Mode = mode
	index := flag.Int("child", 0, "")
	flag.StringVar(&cfg.Addr, "addr", "", "")
	flag.StringVar(&cfg.Admin, "admin", "", "")
	flag.IntVar(&cfg.MaxConns, "max-conns", 0, "")
	flag.Float64Var(&cfg.Iters, "iters", 0, "")
	flag.DurationVar(&cfg.DrainTimeout, "drain-timeout", 0, "")
	flag.StringVar(&cfg.Stamps, "stamps", "off", "")
	flag.IntVar(&cfg.Timeline, "timeline", cfg.Timeline, "")
	flag.Parse()
	var err error
	if cfg.Child, err = NewChild(*index, ChildFD); err == nil {
		var s *Server
		if s, err = New(cfg); err == nil {
			if err = s.Listen(context.Background()); err == nil {
				err = s.Serve(context.Background())
			}
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
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
	eventually(t, "it serves", s.begun.Load)
	return r
}

func (r *running) url(path string) string      { return "http://" + r.ln.Addr().String() + path }
func (r *running) adminURL(path string) string { return "http://" + r.admin.ln.Addr().String() + path }

// browser returns a client whose connections end with the test.
func browser(t *testing.T) *http.Client {
	transport := &http.Transport{DialContext: (&net.Dialer{Timeout: soon}).DialContext}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: soon}
}
