package model

import (
	"bytes"
	"net/http"
	"strconv"
	"sync/atomic"
)

// A framing watches the bytes of a connection for heads whose body two readers
// could end at different places. It is for net/http, which removes what gives
// them away before a handler runs, keeps the connection (go.dev/issue/80942), and
// so takes the rest for a request.
//
// It sees lines, not requests, so after the first body of a connection what looks
// like such a head may be none; then a connection closes that need not. It misses
// none. A line costs some 5 ns.
type framing struct {
	coded     atomic.Bool // a transfer coding was named
	ambiguous atomic.Bool // beside a length, with no empty line between them
	certain   atomic.Bool // and no body came before, so that it was in a head

	serving bool // a request is the handler's; of the connection's goroutine
	tally   *tally

	// What follows belongs to the reader.
	block  lineKinds                     // of the lines since the last empty one
	bodies bool                          // what follows may be a body
	tail   [len(transferCoding) + 1]byte // the beginning of a line that is not over
	held   int
	over   bool // the line is longer than its beginning, which has been looked at
}

type lineKinds uint8

const (
	codingLine lineKinds = 1 << iota
	lengthLine
)

const (
	transferCoding = "transfer-encoding"
	contentLength  = "content-length"
)

// refuses reports whether r itself is such a request: it is the first with a
// transfer coding on its connection, and after it comes no other.
func (f *framing) refuses(r *http.Request) bool {
	return len(r.TransferEncoding) > 0 && f.certain.Load()
}

// sent counts an answer that net/http makes by itself, without a handler.
func (f *framing) sent(answer []byte) {
	const status = len("HTTP/1.1 ")
	if f.serving || len(answer) < status+3 {
		return
	}
	if code, err := strconv.Atoi(string(answer[status : status+3])); err == nil {
		f.tally.refuse(code)
	}
}

// doubtful reports whether the connection must close after r (RFC 9112 §6.1).
func (f *framing) doubtful(r *http.Request) bool {
	return len(r.TransferEncoding) > 0 && f.ambiguous.Load() || !r.ProtoAtLeast(1, 1) && f.coded.Load()
}

// see looks at the next bytes of the connection.
func (f *framing) see(p []byte) {
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		line := p
		if end >= 0 {
			line = p[:end]
		}
		if !f.over {
			if f.held > 0 || end < 0 {
				n := copy(f.tail[f.held:], line)
				f.held += n
				line = f.tail[:f.held]
			}
			if end >= 0 || f.held == len(f.tail) {
				f.begin(line, end >= 0)
			}
		}
		if end < 0 {
			return
		}
		f.held, f.over = 0, false
		p = p[end+1:]
	}
}

// begin looks at the beginning of a line, which may be all of it.
func (f *framing) begin(line []byte, whole bool) {
	f.over = !whole
	switch {
	case whole && (len(line) == 0 || len(line) == 1 && line[0] == '\r'):
		f.bodies = f.bodies || f.block != 0
		f.block = 0
		return
	case named(line, transferCoding):
		f.block |= codingLine
		f.coded.Store(true)
	case named(line, contentLength):
		f.block |= lengthLine
	}
	if f.block == codingLine|lengthLine {
		f.ambiguous.Store(true)
		if !f.bodies {
			f.certain.Store(true)
		}
	}
}

func named(line []byte, name string) bool {
	return len(line) > len(name) && line[len(name)] == ':' && line[0]|0x20 == name[0] && bytes.EqualFold(line[:len(name)], []byte(name))
}
