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
	coded     atomic.Bool  // a transfer coding was named
	ambiguous atomic.Bool  // beside a length, with no empty line between them
	certain   atomic.Bool  // and no body came before, so that it was in a head
	codedHead atomic.Int32 // the first head, counted from 1, that names a coding; 0: none before a body
	crowded   atomic.Bool  // more lines stood together than a head may have

	// Of the connection's goroutine.
	serving  bool   // a request is the handler's
	requests int32  // that the handler has had
	asked    uint64 // bytes read before the last write
	tally    *tally

	// What follows belongs to the reader.
	block  lineKinds                     // of the lines since the last empty one
	lines  int32                         // since then
	heads  int32                         // that are over, before the first body
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

// begins takes note of a request that reaches the handler.
func (f *framing) begins() {
	f.serving = true
	f.requests++
}

// flaw is what the lines tell of r, the request that began last. A length beside a
// coding can only be the first request's that has one. HTTP/1.0 has no codings, and
// net/http takes a request that names one for a request without.
func (f *framing) flaw(r *http.Request) flaw {
	switch {
	case len(r.TransferEncoding) > 0 && f.certain.Load():
		return ambiguous
	case !r.ProtoAtLeast(1, 1) && f.codedHead.Load() == f.requests:
		return foreign
	case f.crowded.Load() && fields(r) > maxFields: // a body's lines may have been counted
		return crowded
	}
	return sound
}

// fields counts what net/http shows of a head, and Host, which it does not.
func fields(r *http.Request) int {
	n := 1
	for _, values := range r.Header {
		n += len(values)
	}
	return n
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
	if !r.ProtoAtLeast(1, 1) {
		return f.coded.Load() && f.codedHead.Load() <= f.requests // of a later head it is known
	}
	return len(r.TransferEncoding) > 0 && f.ambiguous.Load()
}

// see looks at the next bytes of the connection.
func (f *framing) see(p []byte) {
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		if end > 1 && f.held == 0 && !f.over && p[0]|0x20 != 't' && p[0]|0x20 != 'c' {
			f.count()
			p = p[end+1:]
			continue
		}
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

// count counts a line of what may be a head: the request's own, and its fields.
func (f *framing) count() {
	if f.lines++; f.lines == maxFields+2 {
		f.crowded.Store(true)
	}
}

// begin looks at the beginning of a line, which may be all of it.
func (f *framing) begin(line []byte, whole bool) {
	f.over = !whole
	if whole && (len(line) == 0 || len(line) == 1 && line[0] == '\r') {
		if !f.bodies {
			f.heads++
			f.bodies = f.block != 0
		}
		f.block, f.lines = 0, 0
		return
	}
	f.count()
	switch {
	case named(line, transferCoding):
		f.block |= codingLine
		f.coded.Store(true)
		if !f.bodies {
			f.codedHead.CompareAndSwap(0, f.heads+1)
		}
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
