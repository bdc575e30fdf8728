package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"schedlab/internal/serving/model"
)

// A second instance on a port is refused, told why, and disturbs nobody.
func TestPortInUse(t *testing.T) {
	t.Parallel()
	first := run(t, testConfig("nethttp"))
	for _, tc := range []struct {
		flag   string
		addr   net.Addr
		change func(*Config, string)
	}{
		{"addr", first.ln.Addr(), func(c *Config, addr string) { c.Addr = addr }},
		{"admin", first.admin.ln.Addr(), func(c *Config, addr string) { c.Admin = addr }},
	} {
		cfg := testConfig("pool")
		tc.change(&cfg, tc.addr.String())
		second, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		err = second.Listen(t.Context())
		want := fmt.Sprintf("listening on %s: the port is in use; stop the program that has it or choose another --%s", tc.addr, tc.flag)
		if err == nil || err.Error() != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
		if bad := new(ConfigError); errors.As(err, &bad) {
			t.Errorf("%v is a wrong setting, want a failure", err)
		}
		if tc.flag == "admin" { // its data socket must be gone too
			if c, err := net.DialTimeout("tcp", second.ln.Addr().String(), soon); !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("got %v %v, want the data listener closed", c, err)
			}
		}
		if err := first.get(t, first.url("/plaintext"), "Hello, World!"); err != nil {
			t.Errorf("the first instance: %v", err)
		}
	}
}

// get asks for a page and reports an answer that is not as wanted.
func (r *running) get(t *testing.T, url, want string) error {
	res, err := browser(t).Get(url)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 || string(body) != want {
		return fmt.Errorf("got %d %q %v, want 200 %q", res.StatusCode, body, err, want)
	}
	return nil
}

func TestBacklogAboveTheKernels(t *testing.T) {
	t.Parallel()
	cfg := testConfig("nethttp")
	cfg.Backlog = 1 << 30
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	err = s.Listen(t.Context())
	var bad *ConfigError
	if !errors.As(err, &bad) || !strings.HasPrefix(err.Error(), "--backlog: backlog 1073741824 is above the kernel's limit ") ||
		!strings.HasSuffix(err.Error(), "; lower --backlog or raise net.core.somaxconn") {
		t.Errorf("got %v, want the kernel's limit and the fix", err)
	}
}

func TestAddressThatIsNotOurs(t *testing.T) {
	t.Parallel()
	cfg := testConfig("nethttp")
	cfg.Addr = "192.0.2.1:0" // TEST-NET-1, RFC 5737
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	err = s.Listen(t.Context())
	if !errors.Is(err, syscall.EADDRNOTAVAIL) || !strings.HasPrefix(err.Error(), "listening on --addr 192.0.2.1:0: ") {
		t.Errorf("got %v, want the flag and the cause", err)
	}
}

// A log is written by many and read at the end.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// The log says what serves and, last, what became of every connection.
func TestLog(t *testing.T) {
	t.Parallel()
	var log syncBuffer
	cfg := testConfig("pool")
	cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
	cfg.Workers, cfg.Depth, cfg.Overflow = 3, 7, "reject"
	s := run(t, cfg)
	if err := s.get(t, s.url("/plaintext"), "Hello, World!"); err != nil {
		t.Error(err)
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	for i, want := range map[int][]string{
		0: {"msg=serving", "mode=pool", "overflow=reject thread=free", "addr=" + s.ln.Addr().String(), "gomaxprocs=", "max_conns=",
			"backlog=", "admin=" + s.admin.ln.Addr().String(), "workers=3", "queue_depth=7", "overflow=reject"},
		1:              {"level=WARN", "a worker keeps its connection", "of more than 3 keep-alive clients"},
		2:              {"msg=draining", "open=1"},
		len(lines) - 1: {"msg=drained", "forced=0", "accepted=1 done=1 gave_up=0 rejected=0 dropped=0 open=0"},
	} {
		for _, part := range want {
			if !strings.Contains(lines[i], part) {
				t.Errorf("line %d: got %s\nwant %s in it", i, lines[i], part)
			}
		}
	}
}

// Every mode serves, counts and ends through a Server as it does alone.
func TestEveryModeServes(t *testing.T) {
	t.Parallel()
	for _, mode := range model.Variants() {
		t.Run(mode.Name, func(t *testing.T) {
			t.Parallel()
			s := run(t, testConfig(mode.Name))
			if err := s.get(t, s.url("/plaintext"), "Hello, World!"); err != nil {
				t.Error(err)
			}
			began := time.Now()
			if err := s.stop(); err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took >= s.cfg.DrainTimeout {
				t.Errorf("the drain of an idle server took %v, its whole timeout", took)
			}
			if c := s.ln.Counts(); c.Accepted != 1 || c.Done != 1 || c.Open != 0 {
				t.Errorf("got %+v, want one accepted and done", c)
			}
		})
	}
}
