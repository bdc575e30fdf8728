package workload

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

// testIters makes 1 s of CPU demand a million iterations, so that tests are
// quick and caps are round numbers.
const testIters = 1

func newTestApp() *App { return New(Options{ItersPerMicro: testIters}) }

// ask serves one request from a used Exchange, so that a stale answer field
// would show.
func ask(a *App, method, target, body string) *Exchange {
	x := &Exchange{Status: 999, ContentType: "stale", Out: []byte("stale"), Allow: "stale", RetryAfter: "stale", Close: true}
	x.Method = method
	x.Path, x.Query, _ = strings.Cut(target, "?")
	x.Body = []byte(body)
	a.Serve(x)
	return x
}

func TestServe(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("k", 100)
	for _, tc := range []struct {
		request, body string
		route         Route
		status        int
		contentType   string
		out           string // whole body; with a leading ~, a part of it
		allow         string
		close         bool
	}{
		{"GET /", "", routeRoot, 200, textPlain, "~/bytes/{n}", "", false},
		{"HEAD /", "", routeRoot, 200, textPlain, "~/plaintext", "", false},
		{"POST /", "", routeRoot, 405, textPlain, "method not allowed; allowed: GET, HEAD\n", "GET, HEAD", false},

		{"GET /plaintext", "", RoutePlaintext, 200, textPlain, "Hello, World!", "", false},
		{"HEAD /plaintext", "", RoutePlaintext, 200, textPlain, "Hello, World!", "", false},
		{"GET /plaintext?x=1", "", RoutePlaintext, 200, textPlain, "Hello, World!", "", false},
		{"GET /pl%61intext", "", RoutePlaintext, 200, textPlain, "Hello, World!", "", false},
		{"PUT /plaintext", "x", RoutePlaintext, 405, textPlain, "~allowed: GET, HEAD", "GET, HEAD", false},
		{"get /plaintext", "", RoutePlaintext, 405, textPlain, "~allowed: GET, HEAD", "GET, HEAD", false},
		{"GET, /plaintext", "", RoutePlaintext, 405, textPlain, "~allowed", "GET, HEAD", false},
		{" /plaintext", "", RoutePlaintext, 405, textPlain, "~allowed", "GET, HEAD", false},
		{"OPTIONS /plaintext", "", RoutePlaintext, 405, textPlain, "~allowed", "GET, HEAD", false},

		{"GET /json", "", routeJSON, 200, "application/json", `{"message":"Hello, World!"}`, "", false},
		{"DELETE /json", "", routeJSON, 405, textPlain, "~allowed", "GET, HEAD", false},

		{"GET /work", "", RouteWork, 200, textPlain, "ok\n", "", false},
		{"HEAD /work", "", RouteWork, 200, textPlain, "ok\n", "", false},
		{"GET /work?iters=123&sleep=1us", "", RouteWork, 200, textPlain, "ok\n", "", false},
		{"GET /work?&cpu=exp(200us)&&sleep=0.8*0s+0.2*1us&seed=x&", "", RouteWork, 200, textPlain, "ok\n", "", false},
		{"GET /work?cpu=exp%28200us%29&sleep=0.8*0s%2B0.2*1us", "", RouteWork, 200, textPlain, "ok\n", "", false},
		{"GET /work?cpu=1s", "", RouteWork, 200, textPlain, "ok\n", "", false},
		{"GET /work?iters=1000000", "", RouteWork, 200, textPlain, "ok\n", "", false},
		{"GET /work?cpu=1.1s", "", RouteWork, 400, textPlain, "cpu: 1.1s is above the cap of 1s\n", "", false},
		{"GET /work?cpu=0.9*0s+0.1*exp(2s)", "", RouteWork, 400, textPlain, "cpu: 2s is above the cap of 1s\n", "", false},
		{"GET /work?sleep=exp(11s)", "", RouteWork, 400, textPlain, "sleep: 11s is above the cap of 10s\n", "", false},
		{"GET /work?iters=1000001", "", RouteWork, 400, textPlain, "iters: 1000001 is above the cap of 1000000 (1s of cpu)\n", "", false},
		{"GET /work?iters=-1", "", RouteWork, 400, textPlain, "iters: \"-1\" is not a whole number of iterations\n", "", false},
		{"GET /work?cpu=1us&iters=1", "", RouteWork, 400, textPlain, "cpu and iters exclude each other; give one\n", "", false},
		{"GET /work?memory=64KiB", "", RouteWork, 400, textPlain, "unknown key \"memory\"; /work takes cpu, iters, sleep, alloc, lock, seed\n", "", false},
		{"GET /work?alloc=64KiB&lock=lognormal(50us,4)", "", RouteWork, 200, textPlain, "ok\n", "", false},
		{"GET /work?alloc=16MiB&lock=100ms", "", RouteWork, 200, textPlain, "ok\n", "", false},
		{"GET /work?alloc=17MiB", "", RouteWork, 400, textPlain, "alloc: 17MiB is above the cap of 16 MiB\n", "", false},
		{"GET /work?alloc=16777217", "", RouteWork, 400, textPlain, "alloc: 16777217 is above the cap of 16 MiB\n", "", false},
		{"GET /work?alloc=-1", "", RouteWork, 400, textPlain, "alloc: \"-1\" is not a size such as 64KiB\n", "", false},
		{"GET /work?alloc=1GiB", "", RouteWork, 400, textPlain, "alloc: \"1GiB\" is not a size such as 64KiB\n", "", false},
		{"GET /work?lock=101ms", "", RouteWork, 400, textPlain, "lock: 101ms is above the cap of 100ms\n", "", false},
		{"GET /work?lock=1us&lock=1us", "", RouteWork, 400, textPlain, "lock is given twice\n", "", false},
		{"GET /work?cpu=1us&cpu=1us", "", RouteWork, 400, textPlain, "cpu is given twice\n", "", false},
		{"GET /work?seed=", "", RouteWork, 400, textPlain, "seed has no value\n", "", false},
		{"GET /work?sleep", "", RouteWork, 400, textPlain, "sleep has no value\n", "", false},
		{"GET /work?sleep=%zz", "", RouteWork, 400, textPlain, "sleep has a malformed percent-escape\n", "", false},
		{"GET /work?cpu=-1us", "", RouteWork, 400, textPlain, "~cannot be negative", "", false},
		{"GET /work?\x00\n\xff" + long, "", RouteWork, 400, textPlain, `~unknown key "\x00\n\xff` + long[:37] + `"; /work`, "", false},
		{"POST /work", "", RouteWork, 405, textPlain, "~allowed", "GET, HEAD", false},

		{"GET /kv/", "", RouteKV, 400, textPlain, "/kv/{key} takes a key of 1 to 256 bytes\n", "", false},
		{"PUT /kv/" + strings.Repeat("k", 257), "v", RouteKV, 400, textPlain, "~1 to 256 bytes", "", false},
		{"PUT /kv/" + strings.Repeat("%6b", 256), "v", RouteKV, 204, "", "", "", false},
		{"GET /kv/absent", "", RouteKV, 404, textPlain, "no such key\n", "", false},
		{"DELETE /kv/absent", "", RouteKV, 204, "", "", "", false},
		{"PUT /kv/full", strings.Repeat("v", 64<<10), RouteKV, 204, "", "", "", false},
		{"PUT /kv/over", strings.Repeat("v", 64<<10+1), RouteKV, 413, textPlain, "the value is above the limit of 65536 bytes\n", "", false},
		{"POST /kv/k", "v", RouteKV, 405, textPlain, "~allowed", "GET, HEAD, PUT, DELETE", false},
		{"GET /kv/%", "", RouteOther, 400, textPlain, "the path has a malformed percent-escape\n", "", false},

		{"POST /echo", "a\x00b", routeEcho, 200, octetStream, "a\x00b", "", false},
		{"PUT /echo", "", routeEcho, 200, octetStream, "", "", false},
		{"POST /echo", strings.Repeat("e", 1<<20+1), routeEcho, 413, textPlain, "the body is above the limit of 1048576 bytes\n", "", false},
		{"GET /echo", "", routeEcho, 405, textPlain, "~allowed", "POST, PUT", false},

		{"GET /bytes/0", "", routeBytes, 200, octetStream, "", "", false},
		{"GET /bytes/10", "", routeBytes, 200, octetStream, "0123456789", "", false},
		{"GET /bytes/1048577", "", routeBytes, 400, textPlain, "/bytes/{n} takes a whole number from 0 to 1048576\n", "", false},
		{"GET /bytes/-1", "", routeBytes, 400, textPlain, "~whole number", "", false},
		{"GET /bytes/", "", routeBytes, 400, textPlain, "~whole number", "", false},
		{"GET /bytes/99999999999999999999", "", routeBytes, 400, textPlain, "~whole number", "", false},
		{"PUT /bytes/1", "", routeBytes, 405, textPlain, "~allowed", "GET, HEAD", false},

		{"GET /nowhere", "", RouteOther, 404, textPlain, "no such path; GET / lists the endpoints\n", "", false},
		{"GET /kv", "", RouteOther, 404, textPlain, "~no such path", "", false},
		{"GET /plaintext/", "", RouteOther, 404, textPlain, "~no such path", "", false},
		{"BREW ", "", RouteOther, 404, textPlain, "~no such path", "", false},

		{"TRACE /plaintext", "", RoutePlaintext, 405, textPlain, "~allowed", "GET, HEAD", true},
		{"TRACE /nowhere", "", RouteOther, 405, textPlain, "~allowed", "GET, HEAD, POST, PUT, DELETE", true},
		{"CONNECT example.org:443", "", RouteOther, 405, textPlain, "~allowed", "GET, HEAD, POST, PUT, DELETE", true},
	} {
		t.Run(fmt.Sprintf("%.40s", tc.request), func(t *testing.T) {
			t.Parallel()
			method, target, _ := strings.Cut(tc.request, " ")
			x := ask(newTestApp(), method, target, tc.body)
			if x.Route != tc.route || x.Status != tc.status || x.ContentType != tc.contentType {
				t.Errorf("got %v %d %q, want %v %d %q", x.Route, x.Status, x.ContentType, tc.route, tc.status, tc.contentType)
			}
			if got := RouteOf(x.Path); got != x.Route {
				t.Errorf("RouteOf: got %v, want %v as served", got, x.Route)
			}
			if x.ContentType != "" && !slices.Contains(ContentTypes(), x.ContentType) {
				t.Errorf("content type %q is not in ContentTypes", x.ContentType)
			}
			if x.Allow != tc.allow || x.Close != tc.close || x.RetryAfter != "" {
				t.Errorf("got allow %q close %v retry %q, want %q %v \"\"", x.Allow, x.Close, x.RetryAfter, tc.allow, tc.close)
			}
			part, isPart := strings.CutPrefix(tc.out, "~")
			if out := string(x.Out); isPart && !strings.Contains(out, part) || !isPart && out != tc.out {
				t.Errorf("got body %.200q, want %.200q", out, tc.out)
			}
			if x.Status >= 400 && bytes.IndexByte(x.Out, '\n') != len(x.Out)-1 {
				t.Errorf("error body %q is not one line", x.Out)
			}
		})
	}
}

func TestMaxBodyBoundsBodiesAndBytes(t *testing.T) {
	t.Parallel()
	a := New(Options{ItersPerMicro: testIters, MaxBody: 100})
	for _, tc := range []struct {
		method, target string
		body, status   int
	}{
		{"POST", "/echo", 100, 200},
		{"POST", "/echo", 101, 413},
		{"GET", "/plaintext", 101, 413},
		{"GET", "/bytes/100", 0, 200},
		{"GET", "/bytes/101", 0, 400},
	} {
		x := ask(a, tc.method, tc.target, strings.Repeat("b", tc.body))
		if x.Status != tc.status {
			t.Errorf("%s %s with %d bytes: got %d, want %d", tc.method, tc.target, tc.body, x.Status, tc.status)
		}
	}
}

func TestRouteLabels(t *testing.T) {
	t.Parallel()
	want := []string{"/", "/plaintext", "/json", "/work", "/kv", "/echo", "/bytes", "other"}
	for r := range NumRoutes {
		if got := r.String(); got != want[r] {
			t.Errorf("route %d: got %q, want %q", r, got, want[r])
		}
	}
	if got := (NumRoutes + 5).String(); got != "other" {
		t.Errorf("unknown route: got %q, want \"other\"", got)
	}
}

// An answer must survive the parser reusing its buffers.
func TestAnswersDoNotAliasTheRequest(t *testing.T) {
	t.Parallel()
	body := []byte("body")
	x := &Exchange{Method: "POST", Path: "/echo", Body: body}
	newTestApp().Serve(x)
	copy(body, "XXXX")
	if string(x.Out) != "body" {
		t.Errorf("got %q, want %q", x.Out, "body")
	}
}

func TestOwnedTellsBuffersFromSharedData(t *testing.T) {
	t.Parallel()
	a := newTestApp()
	ask(a, "PUT", "/kv/k", "value")
	for _, tc := range []struct {
		request string
		want    bool
	}{
		{"POST /echo", true}, {"GET /nowhere", true}, {"GET /plaintext", false}, {"GET /json", false},
		{"GET /kv/k", false}, {"GET /bytes/5", false}, {"GET /bytes/0", false}, {"DELETE /kv/k", false},
	} {
		method, path, _ := strings.Cut(tc.request, " ")
		x := &Exchange{Method: method, Path: path, Body: []byte("body"), buf: make([]byte, 3)}
		a.Serve(x)
		if got := x.Owned(); got != tc.want {
			t.Errorf("%s: got %v, want %v", tc.request, got, tc.want)
		}
	}
}

func TestResetKeepsOnlyASmallBuffer(t *testing.T) {
	t.Parallel()
	a := newTestApp()
	for _, tc := range []struct {
		body int
		kept bool
	}{{1 << 10, true}, {1 << 20, false}} {
		x := ask(a, "POST", "/echo", strings.Repeat("b", tc.body))
		x.Reset()
		if x.Method != "" || x.Body != nil || x.Out != nil || x.Status != 0 {
			t.Errorf("reset left %q %d", x.Method, x.Status)
		}
		if kept := cap(x.buf) > 0; kept != tc.kept {
			t.Errorf("after an echo of %d bytes: buffer kept %v, want %v", tc.body, kept, tc.kept)
		}
	}
}

func TestServeAllocations(t *testing.T) {
	a := newTestApp()
	for _, tc := range []struct{ path, query string }{
		{"/plaintext", ""},
		{"/work", "iters=123"},
		{"/work", "cpu=exp(20us)&sleep=exp(1ns)"},
		{"/work", "cpu=0.8*0s+0.2*exp(10us)&seed=1"},
		{"/bytes/1000", ""},
	} {
		x := &Exchange{Method: "GET", Path: tc.path, Query: tc.query, Seq: "17"}
		if got := testing.AllocsPerRun(200, func() { a.Serve(x) }); got != 0 || x.Status != 200 {
			t.Errorf("%s?%s: got %v allocations and %d, want 0 and 200", tc.path, tc.query, got, x.Status)
		}
	}
	// Sleeping itself needs a timer, once per goroutine; parsing must need nothing.
	if got := testing.AllocsPerRun(200, func() { _, _ = a.parseWork("iters=123&sleep=10ms", "17") }); got != 0 {
		t.Errorf("parsing iters and sleep: got %v allocations, want 0", got)
	}
}

func TestServeConcurrently(t *testing.T) {
	t.Parallel()
	a := newTestApp()
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			var x Exchange
			for i := range 200 {
				x.Reset()
				x.Path = fmt.Sprintf("/kv/%d", i%10)
				x.Method = []string{"PUT", "GET", "DELETE", "GET"}[(i+g)%4]
				x.Body = bytes.Repeat([]byte{byte('a' + g)}, 64)
				a.Serve(&x)
				if x.Status == 200 && string(x.Out) != strings.Repeat(string(x.Out[:1]), 64) {
					t.Errorf("torn value %q", x.Out)
				}
			}
		})
	}
	wg.Wait()
}

// maxErrorLine leaves room for the longest quotation: 60 characters, each as
// \U0010ffff.
const maxErrorLine = 800

func FuzzServe(f *testing.F) {
	for _, s := range []string{"/", "/work?cpu=exp(1us)&seed=3", "/work?sleep=0.5*0s+0.5*1ns", "/kv/a%2fb", "/bytes/12", "/echo", "/%zz?x", "*", "/work?cpu=" + strings.Repeat("\U0010ffff", 50)} {
		for _, m := range []string{"GET", "PUT", "TRACE", ""} {
			f.Add(m, s, []byte("body"), "1")
		}
	}
	a := New(Options{ItersPerMicro: 1e-3})
	f.Fuzz(func(t *testing.T, method, target string, body []byte, seq string) {
		x := &Exchange{Method: method, Body: body, Seq: seq}
		x.Path, x.Query, _ = strings.Cut(target, "?")
		if strings.HasPrefix(x.Path, "/work") && strings.Contains(x.Query, "sleep") {
			_, _ = a.parseWork(x.Query, seq) // everything but the sleeping
			return
		}
		a.Serve(x)
		switch x.Status {
		case 200, 204, 400, 404, 405, 413, 507:
		default:
			t.Errorf("%s %q: got status %d", method, target, x.Status)
		}
		if (x.Status == 204) != (x.ContentType == "") || x.Route >= NumRoutes {
			t.Errorf("%s %q: got %d with content type %q, route %d", method, target, x.Status, x.ContentType, x.Route)
		}
		if x.Status >= 400 && (len(x.Out) > maxErrorLine || bytes.IndexByte(x.Out, '\n') != len(x.Out)-1) {
			t.Errorf("%s %q: error body %q is not one short line", method, target, x.Out)
		}
	})
}
