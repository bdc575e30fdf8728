// Package workload is what a request costs and the handlers that charge it:
// calibrated CPU iterations, sleeps, demand distributions, and the endpoints
// every scheduling model serves. It knows no HTTP library: an adapter in the
// serving room fills an Exchange, calls App.Serve and writes the answer, so that
// all models give identical responses. It measures nothing.
package workload

import "fmt"

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
