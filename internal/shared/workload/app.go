// Package workload defines the cost of a request, and the handlers that incur it:
// calibrated CPU iterations, sleeps, demand distributions, and the endpoints that
// every scheduling model serves. It uses no HTTP library: an adapter in package
// model fills an Exchange, calls App.Serve and writes the answer, so that all
// models give identical responses. It measures nothing.
package workload

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// DefaultMaxBody is the default limit on request bodies, in bytes; the ready arms have it, too.
const DefaultMaxBody = 1 << 20

// maxBytes is the largest n of /bytes/{n}, in bytes.
const maxBytes = 1 << 20

// Options configures an App. The zero value calibrates this machine and uses
// the defaults.
type Options struct {
	// ItersPerMicro is the number of iterations of spin per microsecond of CPU
	// demand. If it is not positive and finite, New calls Calibrate (some 10 ms).
	// A comparison passes the same value to every arm.
	ItersPerMicro float64
	// MaxBody limits request bodies, in bytes; a larger one is answered 413. It
	// also lowers the 1 MiB limit of /bytes. Not positive means DefaultMaxBody.
	MaxBody int
	// KVLocks is the number of locks among which the keys of /kv are divided, 1 to
	// MaxKVLocks; 0 means 1.
	KVLocks int
	// PlantCPU, above 0, multiplies the CPU demand of every /work; not positive
	// means 1. It plants a known difference between two servers, to test whether a
	// comparison finds it.
	PlantCPU float64
	// PlantLock is a planted fault: each request for a key sleeps this long under the
	// key's lock.
	PlantLock time.Duration
}

// An App is the handler set with its state (the key-value store). It is safe for
// concurrent use.
//
// Serve finds the route and checks the method and the body's size. The work itself is in
// work.go (/work) and kv.go (/kv); the other endpoints are small and stand here.
type App struct {
	itersPerMicro float64
	maxIters      int // the iterations of maxCPU, one second, before plant is applied
	plant         float64
	maxBody       int
	payload       []byte // /bytes answers with a prefix of it
	index         []byte
	lock          sync.Mutex // held by /work?lock=
	kv            *store
}

// New returns an App with an empty store. It replaces settings that are not set by their defaults.
// It never fails: a number of locks above MaxKVLocks is lowered to it.
func New(o Options) *App {
	if !(o.ItersPerMicro > 0) || math.IsInf(o.ItersPerMicro, 0) {
		o.ItersPerMicro = Calibrate()
	}
	if !(o.PlantCPU > 0) {
		o.PlantCPU = 1
	}
	if o.MaxBody <= 0 {
		o.MaxBody = DefaultMaxBody
	}
	const line = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.\n"
	// Every answer of /bytes is a prefix of one block, so it costs the server no allocation.
	size := min(o.MaxBody, maxBytes)
	return &App{
		itersPerMicro: o.ItersPerMicro,
		maxIters:      int(min(o.ItersPerMicro*maxCPU.Seconds()*1e6, math.MaxInt/2)),
		plant:         o.PlantCPU,
		maxBody:       o.MaxBody,
		payload:       []byte(strings.Repeat(line, size/len(line)+1)[:size]),
		index:         index(),
		kv:            newStore(min(o.KVLocks, MaxKVLocks), o.PlantLock),
	}
}

// Serve answers x: it does the work that the request demands and sets every answer
// field. It never panics, whatever the request holds. For HEAD it gives GET's answer,
// and the adapter drops the body. It blocks for the time of the demand, up to the caps
// of /work.
func (a *App) Serve(x *Exchange) {
	// The order of the checks decides which answer a request with several mistakes gets. CONNECT
	// and TRACE, which no endpoint has, come first: their answer also ends the connection.
	route, rest, ok := locate(x.Path)
	x.Route = route
	switch {
	case x.Method == "CONNECT" || x.Method == "TRACE":
		x.notAllowed()
		x.Close = true
	case !ok:
		x.fail(400, "the path has a malformed percent-escape")
	case x.Route == RouteOther:
		x.fail(404, "no such path; GET / lists the endpoints")
	case !x.Route.allows(x.Method):
		x.notAllowed()
	case len(x.Body) > a.maxBody:
		x.fail(413, "the body is above the limit of %d bytes", a.maxBody)
	default:
		a.serve(x, rest)
	}
}

// Constant answers, which must not be modified.
var (
	hello  = []byte("Hello, World!")
	okLine = []byte("ok\n")
)

// serve answers a request that Serve has checked: the route allows the method.
func (a *App) serve(x *Exchange, rest string) {
	switch x.Route {
	case routeRoot:
		x.answer(200, textPlain, a.index)
	case RoutePlaintext:
		x.answer(200, textPlain, hello)
	case routeJSON:
		a.serveJSON(x)
	case RouteWork:
		a.serveWork(x)
	case RouteKV:
		a.serveKV(x, rest)
	case routeEcho:
		// A copy: Out must not alias the request's body.
		x.buf = append(x.buf[:0], x.Body...)
		x.answer(200, octetStream, x.buf)
	case routeBytes:
		a.serveBytes(x, rest)
	}
}

func (a *App) serveJSON(x *Exchange) {
	// Encoded for each request on purpose: the endpoint is there to cost that.
	out, _ := json.Marshal(struct { // cannot fail: all of it is text
		Message string `json:"message"`
	}{"Hello, World!"})
	x.answer(200, applicationJSON, out)
}

// serveBytes answers with the first n bytes of a constant text.
func (a *App) serveBytes(x *Exchange, size string) {
	n, err := strconv.ParseUint(size, 10, 63)
	if err != nil || n > uint64(len(a.payload)) {
		x.fail(400, "/bytes/{n} takes a whole number from 0 to %d", len(a.payload))
		return
	}
	x.answer(200, octetStream, a.payload[:n:n])
}

// notAllowed answers 405 with the methods that x.Route serves.
func (x *Exchange) notAllowed() {
	allow := routes[x.Route].allow
	x.fail(405, "method not allowed; allowed: %s", allow)
	x.Allow = allow
}

// An Exchange holds one request and its answer. The adapter sets the request
// fields, App.Serve sets every answer field. The zero value is ready to use, and
// reusing an Exchange saves its buffer. It is not safe for concurrent use.
//
// Method, Path, Query, Seq and Body may alias the parser's buffers: they need to
// stay valid only until Serve returns, and no answer field aliases them.
type Exchange struct {
	Method string
	Path   string // path of the request target as sent, percent-escapes untouched
	Query  string // after the '?', as sent; "" without one
	Body   []byte // whole request body
	Seq    string // X-Vegeta-Seq, or ""

	Route       Route  // endpoint that answered, used as a metric label
	Status      int    // HTTP status
	ContentType string // "" when the answer has no body (204)
	Out         []byte // body; read-only, valid until the next Serve or Reset of x
	Allow       string // Allow field of a 405, or ""
	RetryAfter  string // Retry-After in seconds, or ""; Serve clears it, models set it when they shed
	Close       bool   // the connection must close after this answer

	// These fields belong to the model; Serve does not touch them. Unanswered is the model's reason if
	// x gets no answer. Stamped tells that the
	// model stamps x. The others are the times, in nanoseconds on the timeline's clock, at
	// which x was put into a queue, taken out, begun and ended.
	Unanswered                  uint8
	Stamped                     bool
	Queued, Taken, Begun, Ended int64

	buf []byte
}

// maxKeptBuffer is the largest buffer, in bytes, that Reset keeps: one large echo
// must not hold a megabyte per connection.
const maxKeptBuffer = 64 << 10

// Reset clears x for the next request. It keeps x's buffer unless that has grown
// large. Reset an Exchange before returning it to a pool, so that it keeps no parser
// buffer alive.
func (x *Exchange) Reset() {
	buf := x.buf[:0]
	if cap(buf) > maxKeptBuffer {
		buf = nil
	}
	*x = Exchange{buf: buf}
}

const (
	textPlain   = "text/plain; charset=utf-8"
	octetStream = "application/octet-stream"

	applicationJSON = "application/json"
)

// answer sets every answer field but Route. Out must not alias the request.
func (x *Exchange) answer(status int, contentType string, out []byte) {
	x.Status, x.ContentType, x.Out = status, contentType, out
	x.Allow, x.RetryAfter, x.Close = "", "", false
}

// fail answers with one short line of text. Client bytes in args must be formatted
// with %+.40q.
func (x *Exchange) fail(status int, format string, args ...any) {
	x.buf = append(fmt.Appendf(x.buf[:0], format, args...), '\n')
	x.answer(status, textPlain, x.buf)
}

// ContentTypes returns every content type that an answer may have, except "".
func ContentTypes() []string { return []string{textPlain, octetStream, applicationJSON} }

// Owned reports whether Out lies in x's own buffer, so that it must be copied
// before x is used again.
func (x *Exchange) Owned() bool {
	// An Out in buf always begins where buf begins, so comparing the two addresses is enough.
	return len(x.Out) > 0 && cap(x.buf) > 0 && &x.Out[0] == &x.buf[:1][0]
}

// A Route identifies an endpoint in metrics. It is below NumRoutes, so an array
// indexed by Route can hold resolved metric children.
type Route uint8

// The routes, in the order in which `GET /` lists them. RouteOther stands for every
// path that is not an endpoint.
const (
	routeRoot Route = iota
	RoutePlaintext
	routeJSON
	RouteWork
	RouteKV
	routeEcho
	routeBytes
	RouteOther
	NumRoutes // the number of routes, not a route
)

// routes has, by Route, the metric label, the path as the index shows it, the methods of the Allow
// header, and a line of help. RouteOther lists every method that some endpoint has: they are the
// Allow of a CONNECT or TRACE for another path.
var routes = [NumRoutes]struct{ label, path, allow, summary string }{
	routeRoot:      {"/", "/", "GET, HEAD", "this list"},
	RoutePlaintext: {"/plaintext", "/plaintext", "GET, HEAD", "a constant line of text"},
	routeJSON:      {"/json", "/json", "GET, HEAD", "a small object, encoded per request"},
	RouteWork:      {"/work", "/work", "GET, HEAD", "costs what ?cpu= (or ?iters=), ?lock= and ?sleep= say: 200us, exp(200us), lognormal(200us,4), 0.8*0s+0.2*10ms; ?alloc=64KiB; ?seed= fixes the draw"},
	RouteKV:        {"/kv", "/kv/{key}", "GET, HEAD, PUT, DELETE", "a map behind one lock or many (--kv-locks), values up to 64 KiB; ?hold=100us of CPU time under the lock; ?keys=4096 spreads requests over so many keys"},
	routeEcho:      {"/echo", "/echo", "POST, PUT", "the request's body"},
	routeBytes:     {"/bytes", "/bytes/{n}", "GET, HEAD", "n bytes, up to 1 MiB"},
	RouteOther:     {"other", "", "GET, HEAD, POST, PUT, DELETE", ""},
}

// String returns the metric label: "/", "/plaintext", ..., "other".
func (r Route) String() string {
	if r >= NumRoutes {
		r = RouteOther
	}
	return routes[r].label
}

// RouteOf returns the endpoint that Serve would set for a path as sent. It is for
// requests that never reach their handler.
func RouteOf(path string) Route {
	r, _, _ := locate(path)
	return r
}

// locate decodes a path as sent, and finds its endpoint and, for /kv/ and /bytes/, the rest of the
// path after the prefix. ok is false when a percent-escape is malformed.
func locate(path string) (r Route, rest string, ok bool) {
	if strings.IndexByte(path, '%') >= 0 {
		var err error
		if path, err = url.PathUnescape(path); err != nil {
			return RouteOther, "", false
		}
	}
	switch path {
	case "/":
		return routeRoot, "", true
	case "/plaintext":
		return RoutePlaintext, "", true
	case "/json":
		return routeJSON, "", true
	case "/work":
		return RouteWork, "", true
	case "/echo":
		return routeEcho, "", true
	}
	if key, ok := strings.CutPrefix(path, "/kv/"); ok {
		return RouteKV, key, true
	}
	if n, ok := strings.CutPrefix(path, "/bytes/"); ok {
		return routeBytes, n, true
	}
	return RouteOther, "", true
}

// allows reports whether r serves method.
func (r Route) allows(method string) bool {
	for m := range strings.SplitSeq(routes[r].allow, ", ") {
		if m == method {
			return true
		}
	}
	return false
}

func index() []byte {
	var b strings.Builder
	b.WriteString("schedlab: one handler set, many scheduling models\n\n")
	for _, r := range routes[:RouteOther] {
		b.WriteString(r.path + "  [" + r.allow + "]  " + r.summary + "\n")
	}
	return []byte(b.String())
}
