package load

import (
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"schedlab/internal/measuring/arrivals"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
	"schedlab/internal/shared/selfsigned"
)

// A watched server counts its connections and the most requests under way on one of them.
type watched struct {
	*httptest.Server
	mu    sync.Mutex
	under map[string]int // requests, by the client's address
	most  int
	all   int            // the most requests under way in all
	proto map[string]int // requests, by version and host
}

// watch starts a server that takes wait for each request. config is nil for a server without TLS.
func watch(t *testing.T, config *tls.Config, h2 bool, wait time.Duration) *watched {
	t.Helper()
	w := &watched{under: map[string]int{}, proto: map[string]int{}}
	w.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.under[r.RemoteAddr]++
		w.most = max(w.most, w.under[r.RemoteAddr])
		all := 0
		for _, n := range w.under {
			all += n
		}
		w.all = max(w.all, all)
		w.proto[r.Proto+" "+r.Host]++
		w.mu.Unlock()
		time.Sleep(wait)
		w.mu.Lock()
		w.under[r.RemoteAddr]--
		w.mu.Unlock()
		_, _ = io.WriteString(rw, "hello")
	}))
	w.Config.ErrorLog = log.New(io.Discard, "", 0)
	w.Config.Protocols = new(http.Protocols)
	w.Config.Protocols.SetHTTP1(true)
	w.Config.Protocols.SetHTTP2(h2)
	w.Config.Protocols.SetUnencryptedHTTP2(h2)
	if w.EnableHTTP2 = h2; config == nil {
		w.Start()
	} else {
		w.TLS = config
		w.StartTLS()
	}
	t.Cleanup(w.Close)
	return w
}

// Clients speak what they are asked to, over as many connections as they are given, and name the host that they were given.
func TestClientsSpeak(t *testing.T) {
	t.Parallel()
	id := selfsigned.New(t, "api.example.com")
	for name, c := range map[string]struct {
		server             *watched
		clients            record.Clients
		proto              string
		handshakes, opened uint64 // at most, and at least 1 where it is above 0
	}{
		"https": {watch(t, id.Server(), true, time.Millisecond), record.Clients{Speaks: record.Speaks{TLS: id.Cert, Host: "api.example.com"}, Connections: 4, KeepAlive: true}, "HTTP/1.1 api.example.com", 4, 4},
		"h2":    {watch(t, id.Server(), true, time.Millisecond), record.Clients{Speaks: record.Speaks{HTTP2: true, TLS: id.Cert, Host: "api.example.com"}, Connections: 4, KeepAlive: true}, "HTTP/2.0 api.example.com", 4, 4},
		"h2c":   {watch(t, nil, true, time.Millisecond), record.Clients{Speaks: record.Speaks{HTTP2: true, Host: "api.example.com"}, Connections: 3, KeepAlive: true}, "HTTP/2.0 api.example.com", 0, 3},
		"h2 on a connection for each request": {
			watch(t, id.Server(), true, 0), record.Clients{Speaks: record.Speaks{HTTP2: true, TLS: record.TrustAny}}, "HTTP/2.0 ", 200, 200,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.clients.Engine = EngineVegeta
			res := vegetaRun(t, Options{
				Clients: c.clients, Targets: []Target{{Method: "GET", URL: c.server.URL + "/a"}},
				Trace: arrivals.Trace{At: evenly(1000, 200*time.Millisecond)},
			})
			for i, r := range res.Requests {
				if !r.Good() || r.Bytes != 5 || !inStampOrder(r, res.Stamps[i]) {
					t.Fatalf("request %d: %+v with %+v; want a good reply", i, r, res.Stamps[i])
				}
			}
			for proto, n := range c.server.proto {
				if !strings.HasPrefix(proto, c.proto) {
					t.Errorf("%d requests in %s, want %s", n, proto, c.proto)
				}
			}
			if res.Dialled < 1 || res.Dialled > c.opened || res.Handshakes > c.handshakes || (res.Handshakes == 0) != (c.handshakes == 0) {
				t.Errorf("%d connections opened and %d handshakes; want up to %d and %d", res.Dialled, res.Handshakes, c.opened, c.handshakes)
			}
		})
	}
}

// A connection of HTTP/2 carries as many requests as it may, and connections are used in turn.
func TestStreams(t *testing.T) {
	t.Parallel()
	s := watch(t, nil, true, 50*time.Millisecond)
	o := Options{
		Clients: record.Clients{Engine: EngineVegeta, Connections: 2, KeepAlive: true, Speaks: record.Speaks{HTTP2: true, Streams: 3}},
		Targets: []Target{{Method: "GET", URL: s.URL}}, Trace: arrivals.Trace{At: make([]time.Duration, 12)}, // all at once
	}
	res := vegetaRun(t, o)
	if s.most != 3 || res.Dialled != 2 || len(s.under) != 2 {
		t.Errorf("%d requests under way on a connection, %d connections opened, %d seen; want 3, 2 and 2", s.most, res.Dialled, len(s.under))
	}
	var ends []int64
	for _, r := range res.Requests {
		if !r.Good() {
			t.Fatalf("%+v; want a good reply", r)
		}
		ends = append(ends, r.Done)
	}
	if slices.Sort(ends); ends[11] < int64(100*time.Millisecond) {
		t.Errorf("12 requests over 6 places of 50 ms took %v; want two turns", time.Duration(ends[11]))
	}
}

// Without keep-alive each request opens a connection of HTTP/2, and no more are open at once than the load was given.
func TestFreshConnectionsAreLimited(t *testing.T) {
	t.Parallel()
	s := watch(t, nil, true, 20*time.Millisecond)
	res := vegetaRun(t, Options{
		Clients: record.Clients{Engine: EngineVegeta, Connections: 3, Speaks: record.Speaks{HTTP2: true}},
		Targets: []Target{{Method: "GET", URL: s.URL}}, Trace: arrivals.Trace{At: make([]time.Duration, 12)}, // all at once
	})
	for i, r := range res.Requests {
		if !r.Good() || !inStampOrder(r, res.Stamps[i]) {
			t.Errorf("request %d: %+v with %+v; want a good reply", i, r, res.Stamps[i])
		}
	}
	if s.most != 1 || s.all > 3 || res.Dialled != 12 {
		t.Errorf("%d requests on a connection at once, %d in all, %d connections opened; want 1, at most 3, and 12", s.most, s.all, res.Dialled)
	}
}

// Requests that find no connection free, or no place on one, are counted.
func TestVegetaCountsWaits(t *testing.T) {
	t.Parallel()
	for name, speaks := range map[string]record.Speaks{"HTTP/1.1": {}, "HTTP/2": {HTTP2: true, Streams: 1}} {
		s := watch(t, nil, true, 20*time.Millisecond)
		o := Options{
			Clients: record.Clients{Engine: EngineVegeta, Connections: 1, KeepAlive: true, Speaks: speaks},
			Targets: []Target{{Method: "GET", URL: s.URL}}, Trace: arrivals.Trace{At: make([]time.Duration, 4)}, // all at once
		}
		if res := vegetaRun(t, o); res.Waited != 3 || res.Dialled != 1 {
			t.Errorf("%s: %d waited, %d connections opened; want 3 of 4 on the one", name, res.Waited, res.Dialled)
		}
		o.Connections = 0
		if res := vegetaRun(t, o); res.Waited != 0 {
			t.Errorf("%s without a limit: %d waited", name, res.Waited)
		}
	}
}

// The host that a target names is the one that is asked for, however its header is spelled.
func TestVegetaNamesTheHost(t *testing.T) {
	t.Parallel()
	for _, second := range []bool{false, true} {
		s := watch(t, nil, true, 0)
		o := Options{
			Clients: record.Clients{Engine: EngineVegeta, Connections: 1, KeepAlive: true, Speaks: record.Speaks{HTTP2: second, Host: "other.example"}},
			Trace:   arrivals.Trace{At: make([]time.Duration, 3)},
		}
		for _, name := range []string{"Host", "host", "HOST"} {
			o.Targets = append(o.Targets, Target{Method: "GET", URL: s.URL, Header: http.Header{name: {"a.example"}}})
		}
		vegetaRun(t, o)
		for asked, n := range s.proto {
			if !strings.HasSuffix(asked, " a.example") || n != 3 {
				t.Errorf("HTTP/2 %v: %d requests of %s", second, n, asked)
			}
		}
	}
}

// Over HTTP/2 without TLS, a server that resets a stream or leaves a connection is told from one that speaks no HTTP/2.
func TestHTTP2Failures(t *testing.T) {
	t.Parallel()
	resets := func(begun bool) string {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if begun {
				_ = http.NewResponseController(w).Flush()
			}
			panic(http.ErrAbortHandler)
		}))
		s.Config.Protocols = new(http.Protocols)
		s.Config.Protocols.SetUnencryptedHTTP2(true)
		s.Start()
		t.Cleanup(s.Close)
		return s.URL
	}
	leaves := func(last uint32, code http2.ErrCode) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for nc, err := l.Accept(); err == nil; nc, err = l.Accept() {
				leaveHTTP2(nc, last, code)
			}
		}()
		return "http://" + l.Addr().String()
	}
	for name, c := range map[string]struct {
		url  string
		want request.End
	}{
		"a stream reset":                  {resets(false), request.Reset},
		"a stream reset in its reply":     {resets(true), request.Reset},
		"a connection left":               {leaves(1, http2.ErrCodeNo), request.Closed},
		"a connection left for a mistake": {leaves(0, http2.ErrCodeProtocol), request.Closed},
	} {
		o := Options{
			Clients: record.Clients{Engine: EngineVegeta, Connections: 1, KeepAlive: true, Speaks: record.Speaks{HTTP2: true}, Timeout: record.Lasting(5 * time.Second)},
			Targets: []Target{{Method: "GET", URL: c.url}}, Trace: arrivals.Trace{At: []time.Duration{0}},
		}
		if r := vegetaRun(t, o).Requests[0]; r.Outcome != c.want {
			t.Errorf("%s: %v, want %v", name, r.Outcome, c.want)
		}
	}
}

// leaveHTTP2 ends a connection of HTTP/2 by GOAWAY when the first request is there. last is the last stream that it has served.
func leaveHTTP2(nc net.Conn, last uint32, code http2.ErrCode) {
	defer nc.Close()
	if _, err := io.ReadFull(nc, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	f := http2.NewFramer(nc, nc)
	_ = f.WriteSettings()
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return
		}
		if frame.Header().Type == http2.FrameHeaders {
			break
		}
	}
	_ = f.WriteGoAway(last, code, nil)
	_ = nc.(*net.TCPConn).CloseWrite()
	_, _ = io.Copy(io.Discard, nc) // so that the close is no reset
}

// A server that does not agree with the client says so by the cause.
func TestServersRefuseClients(t *testing.T) {
	t.Parallel()
	id := selfsigned.New(t, "a.example.com")
	mutual := &tls.Config{Certificates: []tls.Certificate{id.Pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: id.Pool()}
	old := mutual.Clone()
	old.MaxVersion = tls.VersionTLS12
	other := selfsigned.New(t, "b.example.com")
	one := record.Clients{Connections: 1, KeepAlive: true, Speaks: record.Speaks{TLS: record.TrustAny}, Timeout: record.Lasting(5 * time.Second)}
	with := func(change func(*record.Speaks)) record.Clients {
		c := one
		change(&c.Speaks)
		return c
	}
	for name, c := range map[string]struct {
		server  *watched
		clients record.Clients
		want    request.End
	}{
		"a known client":             {watch(t, mutual, false, 0), with(func(c *record.Speaks) { c.Cert, c.Key = id.Cert, id.Key }), request.Answered},
		"no certificate":             {watch(t, mutual, false, 0), one, request.NoClientCert},
		"no certificate, TLS 1.2":    {watch(t, old, false, 0), one, request.NoTLS}, // its alert may mean anything
		"another certificate":        {watch(t, mutual, false, 0), with(func(c *record.Speaks) { c.Cert, c.Key = other.Cert, other.Key }), request.NoClientCert},
		"no HTTP/2":                  {watch(t, &tls.Config{Certificates: []tls.Certificate{id.Pair}, NextProtos: []string{"http/1.1"}}, false, 0), with(func(c *record.Speaks) { c.HTTP2 = true }), request.NoHTTP2},
		"no HTTP/2 without TLS":      {watch(t, nil, false, 0), with(func(c *record.Speaks) { c.HTTP2, c.TLS = true, "" }), request.NoHTTP2},
		"another name":               {watch(t, id.Server(), false, 0), with(func(c *record.Speaks) { c.TLS, c.Host = id.Cert, "b.example.com" }), request.OtherHost},
		"another authority":          {watch(t, id.Server(), false, 0), with(func(c *record.Speaks) { c.TLS, c.Host = other.Cert, "a.example.com" }), request.Untrusted},
		"the name with another port": {watch(t, id.Server(), false, 0), with(func(c *record.Speaks) { c.TLS, c.Host = id.Cert, "a.example.com:8443" }), request.Answered},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.clients.Engine = EngineVegeta
			o := Options{Clients: c.clients, Targets: []Target{{Method: "GET", URL: c.server.URL}}, Trace: arrivals.Trace{At: []time.Duration{0}}}
			if r := vegetaRun(t, o).Requests[0]; r.Outcome != c.want {
				t.Errorf("got %v, want %v", r.Outcome, c.want)
			}
		})
	}
}

// Files that cannot be used are told before anything is sent.
func TestBadCertificates(t *testing.T) {
	t.Parallel()
	id := selfsigned.New(t, "a.example.com")
	for want, c := range map[string]record.Clients{
		"no such file":                   {Speaks: record.Speaks{TLS: "/no/such/file"}},
		"has none in PEM form":           {Speaks: record.Speaks{TLS: id.Key}},
		"the client's certificate":       {Speaks: record.Speaks{TLS: record.TrustAny, Cert: id.Cert}},
		"needs the engine vegeta":        {Speaks: record.Speaks{TLS: record.TrustAny}, Engine: EngineSpin},
		"HTTP/2 needs the engine vegeta": {Speaks: record.Speaks{HTTP2: true}, Engine: EngineSpin},
		"without HTTP/2":                 {Speaks: record.Speaks{TLS: record.TrustAny, Streams: 3}},
	} {
		if c.Engine == "" {
			c.Engine = EngineVegeta
		}
		c.KeepAlive = true
		o := Options{Clients: c, Targets: []Target{{Method: "GET", URL: "https://127.0.0.1:1/"}}, Trace: arrivals.Trace{At: []time.Duration{0}}}
		if _, err := Attack(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// A closed loop over TLS counts what its clients did, and calls back at its moments.
func TestClosedLoopOverTLS(t *testing.T) {
	t.Parallel()
	id := selfsigned.New(t, "a.example.com")
	s := watch(t, id.Server(), true, time.Millisecond)
	for _, http2 := range []bool{false, true} {
		var moments []int
		o := Options{
			Clients:  record.Clients{Loop: "closed", Engine: EngineVegeta, Speaks: record.Speaks{HTTP2: http2, TLS: record.TrustAny}, Connections: 8, KeepAlive: true},
			Targets:  []Target{{Method: "GET", URL: s.URL}},
			Duration: 1500 * time.Millisecond, Warmup: 50 * time.Millisecond,
			Moments: []time.Duration{50 * time.Millisecond, 1550 * time.Millisecond}, Moment: func(i int) { moments = append(moments, i) },
		}
		res, err := Closed(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		// Each client has a reply at most every millisecond.
		if res.Answered < 20 || res.Answered > 8*1500 || res.Failed != 0 || res.Elapsed != o.Duration || len(res.Requests) != res.Answered {
			t.Errorf("HTTP/2 %v: %d good, %d failed in %v, %d recorded", http2, res.Answered, res.Failed, res.Elapsed, len(res.Requests))
		}
		if !slices.Equal(moments, []int{0, 1}) || res.Handshakes < 1 || res.Handshakes > 8 || res.Proof.Work() <= 0 {
			t.Errorf("HTTP/2 %v: moments %v, %d handshakes, work %v", http2, moments, res.Handshakes, res.Proof.Work())
		}
		for _, r := range res.Requests {
			if !r.Good() || r.Done < int64(o.Warmup) || r.Done >= int64(o.Warmup+o.Duration) {
				t.Fatalf("HTTP/2 %v: %+v is not a good reply within the measured time", http2, r)
			}
		}
	}
	o := Options{Clients: record.Clients{Loop: "closed", Engine: EngineVegeta, Speaks: record.Speaks{TLS: record.TrustAny}, Connections: 1, KeepAlive: true, Rate: 5}, Targets: []Target{{Method: "GET", URL: s.URL}}, Duration: time.Second}
	if _, err := Closed(t.Context(), o); err == nil || !strings.Contains(err.Error(), "have no pace") {
		t.Errorf("a pace: got %v, want it refused", err)
	}
}
