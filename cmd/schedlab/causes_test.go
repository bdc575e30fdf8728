package main

import (
	"bytes"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"schedlab/internal/capabilities/session"
)

// rudeServer answers each request with answer and closes the connection; with reset it resets it.
func rudeServer(t *testing.T, answer string, reset bool) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for nc, err := l.Accept(); err == nil; nc, err = l.Accept() {
			all.Go(func() {
				defer nc.Close()
				if n, _ := nc.Read(make([]byte, 4<<10)); n == 0 { // the attack's end
					return
				}
				_, _ = io.WriteString(nc, answer)
				if reset {
					_ = nc.(*net.TCPConn).SetLinger(0)
				}
			})
		}
	})
	t.Cleanup(func() { l.Close(); all.Wait() })
	return "http://" + l.Addr().String() + "/"
}

// printed runs schedlab and returns its exit code and all that it printed, with single spaces.
func printed(t *testing.T, args ...string) (code int, text string) {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.Command("schedlab", args...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = &out, &out, t.TempDir()
	var exit *exec.ExitError
	if err := cmd.Run(); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	return code, strings.Join(strings.Fields(out.String()), " ")
}

// The first screen of an attack says why no reply was good, in the cause's own words. A failure starves
// nobody.
func TestAttackSaysWhyItFailed(t *testing.T) {
	t.Parallel()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	missing := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(missing.Close)
	moved := httptest.NewServer(http.RedirectHandler("/elsewhere", http.StatusFound))
	t.Cleanup(moved.Close)
	starved := regexp.MustCompile(`[1-9]\d* starved`)
	for want, test := range map[string]struct {
		url   string
		code  int
		flags []string
	}{
		": the server reset the connection.":                                  {rudeServer(t, "", true), session.NoAnswer, nil},
		": the server closed the connection without a reply.":                 {rudeServer(t, "", false), session.NoAnswer, nil},
		": the server closed the connection in the middle of its reply.":      {rudeServer(t, "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nok", false), session.NoAnswer, nil},
		": what came back is not HTTP.":                                       {rudeServer(t, "ICY 200 OK\r\nContent-Length: 2\r\n\r\nok", false), session.NoAnswer, nil},
		": the port is closed, no server listens there;":                      {"http://" + closed.Addr().String() + "/", session.NoAnswer, nil},
		"No request got a good reply: status 404 (Not Found).":                {missing.URL, session.NoAnswer, nil},
		"is signed by no authority that this machine knows; --insecure takes": {secure.URL, session.NoAnswer, []string{"--engine", "vegeta"}},
		": the TLS handshake failed; ask for http:// if":                      {strings.Replace(missing.URL, "http:", "https:", 1), session.NoAnswer, []string{"--engine", "vegeta"}},
		"with a redirect (status 302), which is not followed":                 {moved.URL, 0, nil},
	} {
		args := append([]string{"attack", "--target", test.url, "-r", "100/s", "-z", "200ms", "--arrivals", "constant", "-c", "4"}, test.flags...)
		code, text := printed(t, args...)
		if code != test.code || !strings.Contains(text, want) || strings.Contains(text, "in vain") || starved.MatchString(text) {
			t.Errorf("exit code %d, want %d with %q:\n%s", code, test.code, want, text)
		}
		// A closed loop fails in the same words.
		if test.flags == nil {
			code, text = printed(t, "attack", "--target", test.url, "--loop", "closed", "-z", "200ms", "-c", "4")
			if code != test.code || !strings.Contains(text, want) || starved.MatchString(text) {
				t.Errorf("closed loop: exit code %d, want %d with %q:\n%s", code, test.code, want, text)
			}
		}
	}
}

// The whole of a log is sent as it was logged, and the first screen tells what was left out.
func TestAttackReplaysLogs(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	asked := map[string]int{}
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked[r.RequestURI]++
	}))
	t.Cleanup(s.Close)
	logs, err := filepath.Abs(filepath.Join("..", "..", "internal", "measuring", "arrivals", "testdata"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, want string
		paths      []string
	}{
		{"log-ms-100.log", "All 100 requests got a good reply", []string{"/r0", "/r99"}},
		{"log-ms-last-dropped.log", "All 3 requests got a good reply", []string{"/three"}},
		{"log-half-proxy.log", "All 20 requests got a good reply", []string{"/ok0"}},
		{"log-odd-lines.log", "log of 28 lines 7 are left out: 5 ask with other methods than GET and HEAD, whose bodies a log does not hold (CONNECT 1, OPTIONS 1, POST 1, PROPFIND 1, VERSION-CONTROL 1); 2 without a request that can be sent (lines 16, 19)",
			[]string{"/a%2Fb%7Cc", "/a%2Fb", "/frag%23part", "//double/slash"}},
		{"access.log.2.gz", "requests 1 sent", []string{"/gz"}},
	} {
		code, text := printed(t, "attack", "--target", s.URL, "--arrivals", "log("+filepath.Join(logs, test.name)+")")
		if code != 0 || !strings.Contains(text, test.want) {
			t.Errorf("%s: exit code %d, want %q in\n%s", test.name, code, test.want, text)
		}
		mu.Lock()
		for _, path := range test.paths {
			if asked[path] == 0 {
				t.Errorf("%s: %s was never asked", test.name, path)
			}
		}
		mu.Unlock()
	}
}
