package server

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
	if got := s.AdminAddr(); got != nil {
		t.Errorf("got %v, want no admin address", got)
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
	slow, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	io.WriteString(slow, "PUT /kv/k HTTP/1.1\r\nHost: test\r\nContent-Length: 5\r\n\r\nva")
	eventually(t, "a connection", func() bool { return s.Counts().Open == 1 })
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
		c, err := net.Dial("tcp", s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	eventually(t, "the cap", func() bool { return s.Counts().Open == uint64(cfg.MaxConns) })
	_, body := s.fetch(t, "GET", "/metrics")
	for _, line := range []string{"accepted_total", "open"} {
		if want := fmt.Sprintf("schedlab_connections_%s{mode=\"nethttp\"} %d\n", line, cfg.MaxConns); !strings.Contains(body, want) {
			t.Errorf("metrics lack %s", want)
		}
	}
}
