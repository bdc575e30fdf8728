// Package workload is what a request costs and the handlers that charge it:
// calibrated CPU iterations, sleeps, demand distributions, and the endpoints
// every scheduling model serves. It knows no HTTP library: an adapter in the
// serving room fills an Exchange, calls App.Serve and writes the answer, so that
// all models give identical responses. It measures nothing.
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

// DefaultMaxBody is the largest request body taken unless Options says
// otherwise, in bytes.
const DefaultMaxBody = 1 << 20

// maxBytes is the most that /bytes/{n} returns.
const maxBytes = 1 << 20

// Options configures an App. The zero value calibrates this machine and uses
// the defaults.
type Options struct {
	// ItersPerMicro converts CPU demand in time to iterations of Spin. A value
	// that is not positive and finite means: call Calibrate in New (some 10 ms).
	// A comparison passes the same value to every arm.
	ItersPerMicro float64
	// MaxBody bounds request bodies, in bytes; above it the answer is 413. It
	// also lowers the 1 MiB limit of /bytes. Not positive means DefaultMaxBody.
	MaxBody int
	// KVLocks is the number of locks that share the keys of /kv, 1 to MaxKVLocks;
	// 0 is one lock for all.
	KVLocks int
	// PlantCPU multiplies the CPU demand of every /work, above 0; not positive
	// means 1. It plants a known difference between two servers, to see whether a
	// comparison finds it.
	PlantCPU float64
	// PlantLock is how long a request for a key sleeps under the key's lock: a planted fault.
	PlantLock time.Duration
}

// An App is the handler set with its state (the key-value store). It is safe for
// concurrent use.
type App struct {
	itersPerMicro float64
	maxIters      int // one second's worth, before what is planted
	plant         float64
	maxBody       int
	payload       []byte // what /bytes is cut from
	index         []byte
	lock          sync.Mutex // of /work
	kv            *store
}

// New returns an App with an empty store.
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

// Serve answers x: it pays the request's demand and sets every answer field. It
// never panics, whatever the request holds. HEAD gets GET's answer, of which the
// adapter drops the body. It blocks for as long as the demand says, at most the
// caps of /work.
func (a *App) Serve(x *Exchange) {
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

// Constant answers; nothing writes to them.
var (
	hello  = []byte("Hello, World!")
	okLine = []byte("ok\n")
)

// serve answers a request whose route and method are known to fit.
func (a *App) serve(x *Exchange, rest string) {
	switch x.Route {
	case RouteRoot:
		x.answer(200, textPlain, a.index)
	case RoutePlaintext:
		x.answer(200, textPlain, hello)
	case RouteJSON:
		a.serveJSON(x)
	case RouteWork:
		a.serveWork(x)
	case RouteKV:
		a.serveKV(x, rest)
	case RouteEcho:
		x.buf = append(x.buf[:0], x.Body...)
		x.answer(200, octetStream, x.buf)
	case RouteBytes:
		a.serveBytes(x, rest)
	}
}

func (a *App) serveJSON(x *Exchange) {
	out, err := json.Marshal(struct {
		Message string `json:"message"`
	}{"Hello, World!"})
	if err != nil {
		x.fail(500, "encoding the message failed")
		return
	}
	x.answer(200, applicationJSON, out)
}

func (a *App) serveBytes(x *Exchange, size string) {
	n, err := strconv.ParseUint(size, 10, 63)
	if err != nil || n > uint64(len(a.payload)) {
		x.fail(400, "/bytes/{n} takes a whole number from 0 to %d", len(a.payload))
		return
	}
	x.answer(200, octetStream, a.payload[:n:n])
}

// notAllowed answers 405 with the methods x.Route serves.
func (x *Exchange) notAllowed() {
	allow := routes[x.Route].allow
	x.fail(405, "method not allowed; allowed: %s", allow)
	x.Allow = allow
}

// unescape decodes percent-escapes and leaves '+' alone: it is part of a mix of
// demands (0.8*0s+0.2*10ms), and RFC 3986 gives it no other meaning.
func unescape(s string) (string, bool) {
	u, err := url.PathUnescape(s)
	return u, err == nil
}

// An Exchange is one request's view and its answer. The adapter sets the
// request fields, App.Serve sets every answer field. The zero value is ready to
// use, and reusing one saves its buffer. It is not safe for concurrent use.
//
// Method, Path, Query, Seq and Body may alias the parser's buffers: they need to
// stay valid only until Serve returns, and no answer field aliases them.
type Exchange struct {
	Method string
	Path   string // path of the request target as sent, percent-escapes untouched
	Query  string // after the '?', as sent; "" without one
	Body   []byte // whole request body
	Seq    string // X-Vegeta-Seq, or ""

	Route       Route  // endpoint that answered: the metric label
	Status      int    // HTTP status
	ContentType string // "" when the answer has no body (204)
	Out         []byte // body; read-only, valid until the next Serve or Reset of x
	Allow       string // Allow field of a 405, or ""
	RetryAfter  string // Retry-After in seconds, or ""; Serve clears it, models set it when they shed
	Close       bool   // the connection must close after this answer

	// The model's own: whether it stamps x, and when x was put into its queue,
	// taken out, begun and ended. Serve does not touch them.
	Stamped                     bool
	Queued, Taken, Begun, Ended int64

	buf []byte
}

// maxKeptBuffer bounds what an idle Exchange holds on to, in bytes: one large
// echo must not pin a megabyte per connection.
const maxKeptBuffer = 64 << 10

// Reset clears x for the next request and keeps its buffer unless that has grown
// large. An Exchange that returns to a pool should be reset first, so that it
// keeps no parser buffer alive.
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

// fail answers one short line of text. Client bytes in args must go through
// %+.40q.
func (x *Exchange) fail(status int, format string, args ...any) {
	x.buf = append(fmt.Appendf(x.buf[:0], format, args...), '\n')
	x.answer(status, textPlain, x.buf)
}

// ContentTypes returns every content type an answer may have.
func ContentTypes() []string { return []string{textPlain, octetStream, applicationJSON} }

// Owned reports whether Out lies in x's own buffer, so that it must be copied
// before x is used again.
func (x *Exchange) Owned() bool {
	return len(x.Out) > 0 && cap(x.buf) > 0 && &x.Out[0] == &x.buf[:1][0]
}
