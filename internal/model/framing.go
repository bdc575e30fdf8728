package model

import (
	"bytes"
	"net/http"
	"strconv"
	"sync/atomic"
)

// A framing watches the bytes of a connection for request heads with ambiguous framing: two
// readers could disagree about where the body ends. It is for net/http, which removes the
// conflicting fields before a handler runs and keeps the connection (go.dev/issue/80942). It
// then takes the rest of such a body for a request.
//
// A framing sees lines, not requests. After the first body of a connection, lines of a body may
// look like an ambiguous head, and then the connection closes without need. No ambiguous head
// is missed. A line costs some 5 ns.
//
// scan splits what was read into lines, and begin looks at the first bytes of a line. A line with
// neither field in question costs one search for its end. The flags that they set are read by flaw
// and mustClose, on the goroutine that serves the request.
type framing struct {
	coded         atomic.Bool  // a line named a transfer coding
	ambiguous     atomic.Bool  // lines named a coding and a length, with no empty line between them
	ambiguousHead atomic.Bool  // ambiguous, and before any body, so the lines certainly were a head
	codedHead     atomic.Int32 // the first head, counted from 1, that names a coding before any body; 0: none
	tooManyLines  atomic.Bool  // more lines came without an empty one than a head may have

	// Used by the connection's goroutine.
	serving         bool   // a handler has a request
	requests        int32  // requests that reached the handler
	readBeforeWrite uint64 // bytes read before the last write
	tally           *tally

	// Used by the goroutine that reads.
	block    lineKinds                     // kinds seen since the last empty line
	lines    int32                         // lines since the last empty line
	heads    int32                         // heads that have ended before the first body
	bodies   bool                          // the next lines may belong to a body
	tail     [len(transferCoding) + 1]byte // the beginning of an incomplete line
	tailLen  int
	skipLine bool // skip the rest of the line: its beginning has been read
}

// lineKinds is a set: the fields that decide where a body ends.
type lineKinds uint8

const (
	codingLine lineKinds = 1 << iota
	lengthLine
)

const (
	transferCoding = "transfer-encoding"
	contentLength  = "content-length"
)

// requestBegan counts a request that reaches the handler.
func (f *framing) requestBegan() {
	f.serving = true
	f.requests++
}

// flaw returns the flaw that the lines show in r, the request that began last. Only the first
// request with a coding can also have a length. HTTP/1.0 has no codings, so net/http ignores
// one there.
func (f *framing) flaw(r *http.Request) flaw {
	switch {
	case len(r.TransferEncoding) > 0 && f.ambiguousHead.Load():
		return ambiguousFraming
	case !r.ProtoAtLeast(1, 1) && f.codedHead.Load() == f.requests:
		return unknownCoding
	case f.tooManyLines.Load() && fields(r) > maxFields: // tooManyLines may have counted a body's lines
		return tooManyFields
	}
	return noFlaw
}

// fields returns the number of fields in a head. net/http shows all of them but Host.
func fields(r *http.Request) int {
	n := 1
	for _, values := range r.Header {
		n += len(values)
	}
	return n
}

// countOwnAnswer counts an answer that net/http sends without calling a handler.
func (f *framing) countOwnAnswer(answer []byte) {
	const status = len("HTTP/1.1 ")
	if f.serving || len(answer) < status+3 {
		return
	}
	if code, err := strconv.Atoi(string(answer[status : status+3])); err == nil {
		f.tally.refuse(code)
	}
}

// mustClose reports whether the connection must close after r (RFC 9112 §6.1).
func (f *framing) mustClose(r *http.Request) bool {
	if !r.ProtoAtLeast(1, 1) {
		return f.coded.Load() && f.codedHead.Load() <= f.requests // a coding in a later head belongs to a later request
	}
	return len(r.TransferEncoding) > 0 && f.ambiguous.Load()
}

// scan looks at the next bytes of the connection.
func (f *framing) scan(p []byte) {
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		// The fast path. A whole line that begins with neither t nor c names neither field, and
		// with end > 1 it is not empty.
		if end > 1 && f.tailLen == 0 && !f.skipLine && p[0]|0x20 != 't' && p[0]|0x20 != 'c' {
			f.count()
			p = p[end+1:]
			continue
		}
		line := p
		if end >= 0 {
			line = p[:end]
		}
		if !f.skipLine {
			// The line began in an earlier read, or goes on in the next one. Only its first bytes
			// are kept.
			if f.tailLen > 0 || end < 0 {
				n := copy(f.tail[f.tailLen:], line)
				f.tailLen += n
				line = f.tail[:f.tailLen]
			}
			// Whole, or long enough to tell which field it is.
			if end >= 0 || f.tailLen == len(f.tail) {
				f.begin(line, end >= 0)
			}
		}
		if end < 0 {
			return
		}
		f.tailLen, f.skipLine = 0, false
		p = p[end+1:]
	}
}

// count counts a line that may belong to a head: the request line or a field.
func (f *framing) count() {
	// The request line and maxFields fields are allowed.
	if f.lines++; f.lines == maxFields+2 {
		f.tooManyLines.Store(true)
	}
}

// begin examines the beginning of a line, or all of it when whole is true.
func (f *framing) begin(line []byte, whole bool) {
	f.skipLine = !whole
	if whole && (len(line) == 0 || len(line) == 1 && line[0] == '\r') {
		// A head with neither field has no body, so the next line begins another head. After the
		// first head that may have a body, heads and bodies cannot be told apart.
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
			f.ambiguousHead.Store(true)
		}
	}
}

// named reports whether a line is a field of that name, in any case. A comparison of the first byte
// answers for most lines.
func named(line []byte, name string) bool {
	return len(line) > len(name) && line[len(name)] == ':' && line[0]|0x20 == name[0] && bytes.EqualFold(line[:len(name)], []byte(name))
}
