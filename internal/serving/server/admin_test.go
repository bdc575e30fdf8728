package server

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// fetch returns an answer of the admin listener.
func (r *running) fetch(t *testing.T, method, path string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(method, r.adminURL(path), nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := browser(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

func TestAdminPages(t *testing.T) {
	t.Parallel()
	s := run(t, testConfig("pool"))
	for _, tc := range []struct {
		method, path string
		status       int
		contains     string
	}{
		{"GET", "/", 200, "/metrics /healthz /readyz"},
		{"HEAD", "/metrics", 200, ""},
		{"GET", "/metrics", 200, `schedlab_connections_open{mode="pool"} 0`},
		{"GET", "/readyz", 200, "ready"},
		{"GET", "/nowhere", 404, ""},
		{"GET", "/plaintext", 404, ""},
		{"POST", "/metrics", 405, ""},
		{"PUT", "/healthz", 405, ""},
		{"DELETE", "/readyz", 405, ""},
		{"POST", "/debug/pprof/symbol", 405, ""},
	} {
		if res, body := s.fetch(t, tc.method, tc.path); res.StatusCode != tc.status || !strings.Contains(body, tc.contains) {
			t.Errorf("%s %s: got %d %.200q, want %d with %q", tc.method, tc.path, res.StatusCode, body, tc.status, tc.contains)
		}
	}
	for _, path := range []string{"/metrics", "/healthz", "/readyz", "/debug/pprof/"} {
		if res, err := browser(t).Get(s.url(path)); err != nil || res.StatusCode != 404 {
			t.Errorf("%s on the data listener: got %v %v, want 404", path, res, err)
		} else {
			res.Body.Close()
		}
	}
}

func TestHealthz(t *testing.T) {
	t.Parallel()
	cfg := testConfig("pool-request")
	cfg.Overflow = "block"
	res, body := run(t, cfg).fetch(t, "GET", "/healthz")
	if got := res.Header.Get("Content-Type"); res.StatusCode != 200 || got != "application/json" {
		t.Errorf("got %d %q, want 200 and JSON", res.StatusCode, got)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"status": "ok", "mode": "pool-request", "version": "v1.2.3", "axes": map[string]any{
		"stack": "fasthttp", "accept": "single", "unit": "request", "executor": "fixed", "queue": "shared",
		"overflow": "block", "thread": "free",
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("healthz (-want, +got):\n%s", diff)
	}
}

// Profiles are there only where nobody else can read them, unless asked for.
func TestPprof(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		admin, pprof string
		status       int
	}{
		{"127.0.0.1:0", "auto", 200}, {"127.0.0.1:0", "on", 200}, {"127.0.0.1:0", "off", 404},
		{"0.0.0.0:0", "auto", 404}, {"0.0.0.0:0", "on", 200}, {"0.0.0.0:0", "off", 404},
	} {
		t.Run(tc.admin+" "+tc.pprof, func(t *testing.T) {
			t.Parallel()
			cfg := testConfig("nethttp")
			cfg.Admin, cfg.Pprof = tc.admin, tc.pprof
			s := run(t, cfg)
			for _, page := range []string{"", "cmdline", "symbol", "goroutine?debug=1"} {
				if res, _ := s.fetch(t, "GET", "/debug/pprof/"+page); res.StatusCode != tc.status {
					t.Errorf("%s: got %d, want %d", page, res.StatusCode, tc.status)
				}
			}
		})
	}
}

func TestAdminOff(t *testing.T) {
	t.Parallel()
	cfg := testConfig("nethttp")
	cfg.Admin = "off"
	s := run(t, cfg)
	if s.admin != nil {
		t.Errorf("got the admin address %v, want none", s.admin.ln.Addr())
	}
	if err := s.get(t, s.url("/plaintext"), "Hello, World!"); err != nil {
		t.Error(err)
	}
}

// A draining server is alive and not ready, and still tells its counts.
func TestReadyzWhileDraining(t *testing.T) {
	t.Parallel()
	cfg := testConfig("fasthttp")
	cfg.DrainTimeout = soon
	s := run(t, cfg)
	slow, err := net.Dial("tcp", s.ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	io.WriteString(slow, "PUT /kv/k HTTP/1.1\r\nHost: test\r\nContent-Length: 5\r\n\r\nva")
	eventually(t, "a connection", func() bool { return s.ln.Counts().Open == 1 })
	go s.stop()
	eventually(t, "not ready", func() bool {
		res, body := s.fetch(t, "GET", "/readyz")
		return res.StatusCode == 503 && body == "draining\n"
	})
	if res, _ := s.fetch(t, "GET", "/healthz"); res.StatusCode != 200 {
		t.Errorf("healthz: got %d, want 200", res.StatusCode)
	}
	if _, body := s.fetch(t, "GET", "/metrics"); !strings.Contains(body, `schedlab_connections_open{mode="fasthttp"} 1`) {
		t.Error("metrics do not show the open connection")
	}
	io.WriteString(slow, "lue")
	slow.SetReadDeadline(time.Now().Add(soon))
	res, err := http.ReadResponse(bufio.NewReader(slow), nil)
	if err != nil || res.StatusCode != 204 || !res.Close {
		t.Errorf("got %v %v, want 204 and close", res, err)
	}
}

// The admin listener shares nothing with a data listener that is full.
func TestAdminAnswersAtMaxConns(t *testing.T) {
	t.Parallel()
	cfg := testConfig("nethttp")
	cfg.MaxConns = 3
	s := run(t, cfg)
	for range 3 * cfg.MaxConns {
		c, err := net.Dial("tcp", s.ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	eventually(t, "the cap", func() bool { return s.ln.Counts().Open == uint64(cfg.MaxConns) })
	_, body := s.fetch(t, "GET", "/metrics")
	for _, line := range []string{"accepted_total", "open"} {
		if want := fmt.Sprintf("schedlab_connections_%s{mode=\"nethttp\"} %d\n", line, cfg.MaxConns); !strings.Contains(body, want) {
			t.Errorf("metrics lack %s", want)
		}
	}
}

// rude connects to the admin listener, with small buffers on both sides, and sends text.
func (r *running) rude(t *testing.T, text string) net.Conn {
	t.Helper()
	small := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 4<<10) })
	}}
	c, err := small.Dial("tcp", r.admin.ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	conns := &r.admin.conns
	eventually(t, "the connection is accepted", func() bool {
		conns.mu.Lock()
		defer conns.mu.Unlock()
		for _, ours := range conns.waiting {
			if ours.RemoteAddr().String() == c.LocalAddr().String() {
				return ours.(*net.TCPConn).SetWriteBuffer(4<<10) == nil
			}
		}
		return false
	})
	io.WriteString(c, text)
	return c
}

// Scrapes at the same time are all answered soon and add up, beside clients that do not read,
// read slowly, or send rubbish.
func TestParallelScrapes(t *testing.T) {
	for _, mode := range []string{"pool", "prefork"} {
		t.Run(mode, func(t *testing.T) {
			s := run(t, testConfig(mode))
			many := strings.Repeat("GET /metrics HTTP/1.1\r\nHost: test\r\n\r\n", 20)
			for i := range 8 {
				s.rude(t, many) // never read
				slow := s.rude(t, many)
				go func() {
					for b := make([]byte, 1); ; time.Sleep(time.Millisecond) {
						if _, err := slow.Read(b); err != nil {
							return
						}
					}
				}()
				s.rude(t, strings.Repeat([]string{"\x00", "GET ", "\r\n", "HTTP/1.1 200 OK\r\n"}[i%4], 1000))
			}
			client := browser(t)
			client.Timeout = 10 * time.Second // within 1 s where the machine is idle
			var all sync.WaitGroup
			var mu sync.Mutex
			var times []time.Duration
			for range 20 {
				all.Go(func() {
					for range 3 {
						if res, err := http.Get(s.url("/plaintext")); err == nil { // so that the counters move
							res.Body.Close()
						}
						began := time.Now()
						res, err := client.Get(s.adminURL("/metrics"))
						if err != nil {
							t.Error(err)
							return
						}
						page, err := io.ReadAll(res.Body)
						res.Body.Close()
						mu.Lock()
						times = append(times, time.Since(began))
						mu.Unlock()
						if err != nil || res.StatusCode != 200 {
							t.Errorf("got %d %v, want 200", res.StatusCode, err)
						}
						sums := map[string]float64{}
						for line := range strings.Lines(string(page)) {
							if name, rest, ok := strings.Cut(line, "{"); ok {
								value, _ := strconv.ParseFloat(strings.TrimSpace(rest[strings.LastIndex(rest, " ")+1:]), 64)
								sums[strings.TrimPrefix(name, "schedlab_connections_")] += value
							}
						}
						if sums["accepted_total"] != sums["done_total"]+sums["rejected_total"]+sums["dropped_total"]+sums["open"] {
							t.Errorf("got %v accepted, %v done, %v rejected, %v dropped, %v open", sums["accepted_total"], sums["done_total"], sums["rejected_total"], sums["dropped_total"], sums["open"])
						}
					}
				})
			}
			all.Wait()
			if slices.Sort(times); len(times) > 0 {
				t.Logf("%d scrapes: median %v, slowest %v", len(times), times[len(times)/2], times[len(times)-1])
			}
		})
	}
}

// Clients that do not read their answers, as many as the admin listener takes, keep it for
// seconds at the most.
func TestUnreadAnswersEndSoon(t *testing.T) {
	t.Parallel()
	s := run(t, testConfig("nethttp"))
	for range adminConns {
		s.rude(t, strings.Repeat("GET /metrics HTTP/1.1\r\nHost: test\r\n\r\n", 20)) // far more than fits into the buffers
	}
	conns := &s.admin.conns
	eventually(t, "all wait for their clients", func() bool {
		conns.mu.Lock()
		defer conns.mu.Unlock()
		return conns.open == adminConns && len(conns.waiting) == 0
	})
	began := time.Now()
	s.fetch(t, http.MethodGet, "/healthz")
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("an answer took %v, want it when the first of the others is cut off", took)
	}
}

// Clients that do not finish their heads, more than the admin listener takes,
// delay nobody by their timeout.
func TestSlowHeadsLetScrapesPass(t *testing.T) {
	t.Parallel()
	s := run(t, testConfig("pool"))
	for range 3 * adminConns {
		c, err := net.Dial("tcp", s.admin.ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		io.WriteString(c, "GET /metrics HTTP/1.1\r\nHo")
	}
	began := time.Now()
	if res, _ := s.fetch(t, "GET", "/metrics"); res.StatusCode != 200 {
		t.Errorf("got %d, want 200", res.StatusCode)
	}
	if took := time.Since(began); took >= adminHeader/2 {
		t.Errorf("a scrape took %v beside slow heads, want it at once", took)
	}
}

// A tracked connection tells a connCap when it is closed, as its server does.
type tracked struct {
	net.Conn
	conns *connCap
	tell  chan struct{} // it tells once this is closed; nil: at once
	once  sync.Once
}

func (c *tracked) Close() error {
	c.once.Do(func() {
		go func() {
			if c.tell != nil {
				<-c.tell
			}
			c.conns.track(c, http.StateClosed)
		}()
	})
	return nil
}

// At the cap room is made by closing who waits for no answer, the longest waiting first, and
// otherwise a new connection waits until one has closed.
func TestAdminMakesRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := connCap{most: 2}
		g.change.L = &g.mu
		come := func() *tracked {
			c := &tracked{conns: &g}
			go g.track(c, http.StateNew)
			synctest.Wait()
			return c
		}
		check := func(step string, open int, waiting ...net.Conn) {
			t.Helper()
			synctest.Wait()
			if g.open != open || !slices.Equal(g.waiting, waiting) {
				t.Errorf("%s: got %d open and %v waiting, want %d and %v", step, g.open, g.waiting, open, waiting)
			}
		}
		first := come()
		g.track(first, http.StateActive)
		second := come()
		check("two", 2, second)
		third := come()
		check("the second closed: the first has its answer to come", 2, third)
		g.track(third, http.StateActive)
		g.track(first, http.StateIdle)
		fourth := come()
		check("the first closed, which is idle now", 2, fourth)
		g.track(fourth, http.StateActive)
		fifth := come()
		check("all have a request", 2)
		third.Close()
		check("the third has closed", 2, fifth)
		sixth := come()
		check("the fifth closed", 2, sixth)

		sixth.tell = make(chan struct{})
		seventh := come()
		check("the sixth is being closed", 2)
		g.track(fourth, http.StateIdle)
		check("one is closed for one that comes", 2, fourth)
		close(sixth.tell)
		check("the sixth has closed", 2, fourth, seventh)
	})
}

// The runtime samples locks and what blocks only while a profile of them is taken.
func TestContentionIsSampledInAWindowOnly(t *testing.T) {
	cfg := testConfig("nethttp")
	s := run(t, cfg)
	for _, tc := range []struct {
		page   string
		status int
	}{
		{"mutex?seconds=1&rate=1", 200}, {"block?seconds=1&rate=1000", 200}, {"mutex", 200},
		{"mutex?rate=1", 400}, {"block?seconds=1&rate=0", 400}, {"block?seconds=1&rate=x", 400},
	} {
		if res, body := s.fetch(t, "GET", "/debug/pprof/"+tc.page); res.StatusCode != tc.status {
			t.Errorf("%s: got %d %.100q, want %d", tc.page, res.StatusCode, body, tc.status)
		}
	}
	if got := runtime.SetMutexProfileFraction(-1); got != 0 {
		t.Errorf("mutexes are sampled at the rate %d when nobody profiles them, want 0", got)
	}
}
