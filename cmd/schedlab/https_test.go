package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"schedlab/internal/capabilities/session"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/selfsigned"
)

// secured starts a Go server that speaks HTTP/1.1 and HTTP/2 over TLS, and returns its URL and the file of its certificate.
func secured(t *testing.T) (url, cert string) {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") }))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.EnableHTTP2 = true
	id := selfsigned.New(t, "example.com", "127.0.0.1")
	s.TLS = id.Server()
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL, id.Cert
}

// Servers that speak TLS are arms by their URL, and so are commands that speak HTTP/2: the engine is chosen for all, and
// each trial records its handshakes.
func TestSecureArms(t *testing.T) {
	t.Parallel()
	url, cert := secured(t)
	// One of our own servers trusts its own certificate by default.
	own := selfsigned.New(t, "localhost", "127.0.0.1")
	r, dir := compareArms(t, "--path", "/", "--arm", "h1=tls="+cert+" host=example.com "+url, "--arm", "nethttp,tls-cert="+own.Cert+",tls-key="+own.Key+",http=2,streams=8")
	for _, a := range r.Arms {
		want := record.Speaks{TLS: cert, Host: "example.com"}
		if a.Name == "nethttp,http=2,streams=8,tls" {
			want = record.Speaks{TLS: own.Cert, HTTP2: true, Streams: 8}
		}
		if a.Clients.Engine != "vegeta" || a.Clients.Speaks != want || a.Errors > 0 || a.Requests == 0 {
			t.Errorf("%s: %d of %d requests failed, by %+v; want them good and %+v", a.Name, a.Errors, a.Requests, a.Clients, want)
		}
	}
	if text := saidOf(r, ""); !strings.Contains(text, "over TLS and HTTP/2 all loads are sent by the engine vegeta: ") {
		t.Errorf("no word about the engine in:\n%s", text)
	}
	for trial, err := range dir.Trials() {
		if err != nil {
			t.Fatal(err)
		}
		// On a busy machine one may still be open at the last look.
		if s := trial.Server; strings.HasPrefix(trial.Arm, "nethttp") && (s.Done < 1 || s.Accepted != s.Done+s.Open) {
			t.Errorf("%s: %v connections accepted, %v done and %v open", trial.Arm, s.Accepted, s.Done, s.Open)
		}
		if h, d := trial.Client.Handshakes, trial.Client.Dialled; h == 0 || h > d || d > 64 {
			t.Errorf("%s: %d handshakes on %d connections, want at most one on each of up to 64", trial.Arm, h, d)
		}
	}
	if f := r.Env.Floor; f == nil || f.Speaks.TLS == "" || f.P50 <= 0 {
		t.Errorf("got the floor %+v, want one over TLS", f)
	}
}

// An arm with a certificate that the clients do not take ends the run at once, by its cause and how to mend it.
func TestArmsSayWhyTLSFailed(t *testing.T) {
	t.Parallel()
	url, cert := secured(t)
	moved := httptest.NewServer(http.RedirectHandler(url, http.StatusMovedPermanently))
	t.Cleanup(moved.Close)
	for want, arm := range map[string]string{
		"its certificate is signed by no authority that this machine knows; tls=insecure before its URL or command takes any": "a=" + url,
		"its certificate is for another host; host=NAME before its URL or command":                                            "a=tls=" + cert + " host=other.example.org " + url,
		"the server does not speak HTTP/2; leave out http=2":                                                                  "a=http=2 tls=insecure " + onlyHTTP1(t),
	} {
		code, text := printed(t, "compare", "--path", "/", "--rate", "100/s", "--progress", "none", "--arm", arm, "--arm", "b="+moved.URL)
		if code == session.Done || !strings.Contains(text, want) {
			t.Errorf("%s: exit code %d, want an error with %q in\n%s", arm, code, want, text)
		}
	}
	// A redirect is told where it leads.
	code, text := printed(t, "attack", "--target", moved.URL, "-r", "100/s", "-z", "200ms")
	if want := "which is not followed: ask for " + url; code != session.Done || !strings.Contains(text, want) {
		t.Errorf("exit code %d, want %q in\n%s", code, want, text)
	}
}

// onlyHTTP1 starts a server over TLS that has no HTTP/2.
func onlyHTTP1(t *testing.T) (url string) {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = &tls.Config{NextProtos: []string{"http/1.1"}}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL
}

// nginx, which is no Go program, is asked over TLS, in HTTP/1.1 and HTTP/2.
func TestAttackOnNginxOverTLS(t *testing.T) {
	t.Parallel()
	need(t, "nginx")
	url, cert := secureNginx(t)
	for name, c := range map[string]struct {
		flags []string
		said  string
	}{
		"https": {[]string{"-c", "4"}, "HTTP/1.1 over TLS"},
		"h2":    {[]string{"-c", "4", "--http", "2"}, "HTTP/2 over TLS"},
	} {
		args := append([]string{"attack", "--target", url, "--cacert", cert, "--host", "api.example.com", "-r", "200/s", "-z", "500ms", "--arrivals", "constant"}, c.flags...)
		if code, text := printed(t, args...); code != session.Done || !strings.Contains(text, "All 100 requests got a good reply") || !strings.Contains(text, c.said) {
			t.Errorf("%s: exit code %d, want %q in\n%s", name, code, c.said, text)
		}
	}
	if code, text := printed(t, "attack", "--target", strings.Replace(url, "https:", "http:", 1), "-r", "100/s", "-z", "100ms"); code != session.NoAnswer || !strings.Contains(text, "status 400") {
		t.Errorf("plain HTTP at a TLS port: exit code %d in\n%s", code, text)
	}
}

// secureNginx starts nginx with TLS and HTTP/2, and returns its URL and the file of its certificate.
func secureNginx(t *testing.T) (url, cert string) {
	t.Helper()
	dir := t.TempDir()
	id := selfsigned.New(t, "api.example.com", "127.0.0.1")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	conf := filepath.Join(dir, "nginx.conf")
	text := fmt.Sprintf(`daemon off; worker_processes 1; pid %[1]s/pid; error_log %[1]s/error.log;
events { worker_connections 256; }
http { access_log off; client_body_temp_path %[1]s/b; proxy_temp_path %[1]s/p; fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
  server { listen %[2]s ssl http2; ssl_certificate %[3]s; ssl_certificate_key %[4]s; location / { return 200 "ok\n"; } } }
`, dir, addr, id.Cert, id.Key)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("nginx", "-c", conf, "-p", dir, "-e", filepath.Join(dir, "error.log"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	for range 200 {
		if nc, err := net.Dial("tcp", addr); err == nil {
			nc.Close()
			return "https://" + addr + "/", id.Cert
		}
		time.Sleep(10 * time.Millisecond)
	}
	said, _ := os.ReadFile(filepath.Join(dir, "error.log"))
	t.Fatalf("nginx does not listen: %s", said)
	return "", ""
}
