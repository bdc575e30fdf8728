package load

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/net/http/httpguts"

	"schedlab/internal/measuring/arrivals"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
)

// A Target is one request to repeat. URL is absolute, http or https. Method and the names in Header are
// sent as they are spelled; a Host header overrides the URL's host. Connection, Content-Length,
// Transfer-Encoding and X-Vegeta-Seq are set by the engine and refused in Header. Body may be nil.
type Target struct {
	Method string
	URL    string
	Header http.Header
	Body   []byte
	Class  uint8 // of its requests, for request.Request
}

// LogTargets returns the different requests of an access log, one target each. Their URLs are
// paths: use At to add the server.
func LogTargets(l *arrivals.AccessLog) []Target {
	targets := make([]Target, len(l.Requests))
	for i, r := range l.Requests {
		targets[i] = Target{Method: r.Method, URL: r.Path}
	}
	return targets
}

// At returns t with its path and query moved to the server at addr, host:port. It leaves an
// https URL as it is.
func (t Target) At(addr string) Target {
	scheme, _, path := t.parts()
	if scheme == "" && strings.HasPrefix(t.URL, "/") || scheme == "http" {
		t.URL = "http://" + addr + path
	}
	return t
}

// parts splits the URL of t into the scheme in lower case, the host, and the path with the query, which are
// escaped where they must be. It drops a fragment, which is never sent (RFC 9110, section 7.1). A URL
// without scheme has no host either.
//
// Note: net/url is not used, because it decodes a path, and encodes all of it again if one byte needs that.
// So /a%2Fb|c would become /a/b%7Cc, which is another resource.
func (t Target) parts() (scheme, host, path string) {
	text, _, _ := strings.Cut(t.URL, "#")
	scheme, rest, absolute := strings.Cut(text, "://")
	if !absolute || strings.ContainsAny(scheme, "/?") {
		return "", "", arrivals.EscapeTarget(text)
	}
	host, path = arrivals.SplitAuthority(rest)
	return strings.ToLower(scheme), host, arrivals.EscapeTarget(path)
}

// A template is a target's request, rendered without its demand and number.
type template struct {
	Target
	addr       string // host:port to dial
	host       string // as the Host header has it
	url        []byte // the target's URL, escaped and without its fragment
	line       []byte // method and request target, "GET /work"
	query      byte   // joins a demand to line: '?' or '&'; 0: the target takes no demand
	demands    bool   // the target takes a demand and states one itself
	head       []byte // the rest of the head, up to the value of X-Vegeta-Seq
	bodiless   bool   // HEAD: the reply has no body, even with a Content-Length
	tls        bool   // https
	idempotent bool   // may be sent again when a stale connection lost it
}

// workPath is the one path that takes a demand.
const workPath = "/work"

// template renders t.
func (t Target) template(keepAlive bool) (tp template, err error) {
	scheme, authority, path := t.parts()
	whole := path // of a URL without a host, which is refused below
	if scheme != "" {
		whole = scheme + "://" + authority + path
	}
	u, err := url.Parse(whole)
	switch {
	case err != nil:
		return tp, err
	case u.Scheme != "http" && u.Scheme != "https":
		return tp, fmt.Errorf("scheme %q of %q; only http and https are driven", u.Scheme, t.URL)
	case u.Hostname() == "":
		return tp, fmt.Errorf("no host in %q; give an absolute URL", t.URL)
	case u.User != nil:
		return tp, errors.New("credentials in the URL; send an Authorization header instead")
	case t.Method == http.MethodConnect || !httpguts.ValidHeaderFieldName(t.Method): // a method is a token, too
		return tp, fmt.Errorf("method %q cannot be sent", t.Method)
	}
	host := u.Host
	// The zone of an IPv6 address is this machine's, and is not sent (RFC 6874, section 4).
	if literal, zone, zoned := strings.Cut(host, "%"); zoned && host[0] == '[' {
		host = literal + zone[strings.IndexByte(zone, ']'):]
	}
	var fields []byte
	for _, name := range slices.Sorted(maps.Keys(t.Header)) {
		if !httpguts.ValidHeaderFieldName(name) {
			return tp, fmt.Errorf("header name %q is not a token", name)
		}
		switch http.CanonicalHeaderKey(name) {
		case "Connection", "Content-Length", "Transfer-Encoding", "X-Vegeta-Seq":
			return tp, fmt.Errorf("header %q is set by the driver; leave it out", name)
		}
		for _, value := range t.Header[name] {
			if strings.ContainsAny(value, "\r\n\x00") {
				return tp, fmt.Errorf("header %q has a line break or NUL in its value", name)
			}
			// Host replaces the line that template writes itself.
			if isHost(name) {
				host = value
				continue
			}
			fields = fmt.Appendf(fields, "%s: %s\r\n", name, value)
		}
	}
	tp.url, tp.host, tp.tls = []byte(whole), host, u.Scheme == "https"
	tp.line = []byte(t.Method + " " + path)
	// Only /work reads a demand. Any other path is sent as it is.
	if u.Path == workPath {
		tp.query = '?'
		if strings.Contains(path, "?") {
			tp.query = '&'
		}
		q := u.Query()
		tp.demands = q.Has("cpu") || q.Has("iters") || q.Has("sleep")
	}
	tp.head = fmt.Appendf(nil, " HTTP/1.1\r\nHost: %s\r\n", host)
	if !keepAlive {
		tp.head = append(tp.head, "Connection: close\r\n"...)
	}
	tp.head = append(tp.head, fields...)
	switch t.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		// net/http's Transport repeats the same methods.
		tp.idempotent = true
		tp.bodiless = t.Method == http.MethodHead
	}
	// A request with a method that may have a body states its length even if that is 0 (RFC 9110,
	// section 8.6).
	if len(t.Body) > 0 || !tp.idempotent {
		tp.head = fmt.Appendf(tp.head, "Content-Length: %d\r\n", len(t.Body))
	}
	// The number comes last, because request appends it to the head.
	tp.head = append(tp.head, "X-Vegeta-Seq: "...)
	tp.Target, tp.addr = t, net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme]))
	return tp, nil
}

// isHost reports whether a header is Host, however it is spelled.
func isHost(name string) bool { return http.CanonicalHeaderKey(name) == "Host" }

// request appends request number seq to b.
func (tp *template) request(b []byte, seq uint64, d arrivals.Demand) []byte {
	b = append(b, tp.line...)
	b = tp.demand(b, d)
	b = append(b, tp.head...)
	b = strconv.AppendUint(b, seq, 10)
	b = append(b, "\r\n\r\n"...)
	return append(b, tp.Body...)
}

// demandURL returns the URL of a request with demand d.
func (tp *template) demandURL(d arrivals.Demand) string {
	return string(tp.demand(slices.Clip(tp.url), d))
}

// demand appends d to b as query parameters. It appends nothing when d is zero or the target
// takes no demand.
func (tp *template) demand(b []byte, d arrivals.Demand) []byte {
	if tp.query == 0 || d == (arrivals.Demand{}) {
		return b
	}
	b = append(b, tp.query)
	b = append(b, "iters="...)
	b = strconv.AppendUint(b, uint64(d.Iters), 10)
	if d.Sleep > 0 {
		b = append(b, "&sleep="...)
		b = strconv.AppendInt(b, int64(d.Sleep), 10)
		b = append(b, "ns"...)
	}
	return b
}

// A script holds the requests that a load sends to one server, and their order. They are rendered once,
// before the load. While it runs, an engine only joins a template with a request's demand and number.
type script struct {
	templates []template
	which     []uint32          // template of each request, used in turn; nil: in rotation
	demands   []arrivals.Demand // used in turn; nil: no demand
	keepAlive bool
}

// newScript renders the targets. It returns an error if they cannot be sent, if they name different
// servers, if demands are given and a target states one already, or if which holds an index that is no
// target's.
func newScript(targets []Target, keepAlive bool, demands []arrivals.Demand, which []uint32) (*script, error) {
	if len(targets) == 0 {
		return nil, errors.New("no targets; give at least one")
	}
	for i, w := range which {
		if int64(w) >= int64(len(targets)) {
			return nil, fmt.Errorf("request %d asks target %d of %d", i, w+1, len(targets))
		}
	}
	a := &script{make([]template, len(targets)), which, demands, keepAlive}
	for i, t := range targets {
		tp, err := t.template(keepAlive)
		a.templates[i] = tp
		switch first := a.templates[0]; {
		case err != nil:
			return nil, fmt.Errorf("target %d: %w", i+1, err)
		case tp.addr != first.addr:
			return nil, fmt.Errorf("target %d is at %s, the first at %s; drive one server at a time", i+1, tp.addr, first.addr)
		case tp.tls != first.tls:
			return nil, fmt.Errorf("target %d and the first differ in https; drive one server at a time", i+1)
		case demands != nil && tp.demands:
			return nil, fmt.Errorf("target %d: %q states a demand and the trace has its own; drop one of them", i+1, t.URL)
		}
	}
	return a, nil
}

// template returns the template of request seq.
func (a *script) template(seq uint64) *template {
	if len(a.which) > 0 {
		return &a.templates[a.which[seq%uint64(len(a.which))]]
	}
	return &a.templates[seq%uint64(len(a.templates))]
}

// demand returns the demand of request i; zero if the load has none.
func (a *script) demand(i int) (d arrivals.Demand) {
	if len(a.demands) > 0 {
		d = a.demands[i%len(a.demands)]
	}
	return d
}

// planned returns what is known of request i before it is sent: its class, and its demand, which is zero when its target
// takes none.
func (a *script) planned(i int) (r request.Request) {
	tp := a.template(uint64(i))
	if r.Class = tp.Class; tp.query != 0 {
		d := a.demand(i)
		r.Iters, r.Sleep = d.Iters, int64(d.Sleep)
	}
	return r
}

// maxRequestBytes returns an upper bound on the length of a rendered request.
func (a *script) maxRequestBytes() (n int) {
	const numbers = 80 // demand (up to 45 bytes), sequence number (20) and line ends (4)
	for _, tp := range a.templates {
		n = max(n, len(tp.line)+len(tp.head)+len(tp.Body)+numbers)
	}
	return n
}

// DefaultTimeout bounds one request where Options give no Timeout.
const DefaultTimeout = 10 * time.Second

// openers is the number of connections that are opened at the same time before a load.
const openers = 64

// failedDial returns the outcome of requests that have no connection because it could not be opened. It looks
// at the whole chain of err.
func failedDial(err error) request.End {
	var name *net.DNSError
	for _, one := range []struct {
		is  bool
		out request.End
	}{
		// The generator has run out of ports or descriptors: not the server's fault.
		{errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE), request.Exhausted},
		{errors.As(err, &name), request.NoName},
		{errors.Is(err, syscall.ENETUNREACH) || errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETDOWN) || errors.Is(err, syscall.EHOSTDOWN), request.Unreachable},
		{errors.Is(err, syscall.ETIMEDOUT), request.TimedOut},
		{errors.Is(err, syscall.ECONNRESET), request.Reset},
	} {
		if one.is {
			return one.out
		}
	}
	return request.Refused
}

// timeout returns a load's timeout, or DefaultTimeout when it gives none.
func timeout(given record.Span) time.Duration {
	if given.Duration <= 0 {
		return DefaultTimeout
	}
	return given.Duration
}

// bodyBytes returns n as a record stores it: at most 2^32-1.
func bodyBytes(n int64) uint32 { return uint32(min(n, math.MaxUint32)) }
