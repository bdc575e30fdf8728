package load

import (
	"bufio"
	"bytes"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// A reply holds what the spinner keeps from a response.
type reply struct {
	status uint16
	bytes  int64 // of the body
	keep   bool  // the connection may carry another request
}

// A head holds the fields of a response head that decide how the rest is read.
type head struct {
	status  uint16
	length  int64 // Content-Length; below 0: not known beforehand
	chunked bool
	close   bool // Connection: close
	size    int  // bytes of the head itself
}

// maxHead bounds a response head.
const maxHead = 1 << 20

// errHeadTooLarge ends a connection: a head without end would fill the memory.
var errHeadTooLarge = errors.New("response head beyond 1 MiB")

// errNotHTTP is the error for the reply of another protocol.
var errNotHTTP = errors.New("response does not begin with HTTP/")

// parseHead reads a response head at the start of b. It is deliberately strict:
// HTTP/1.1, a final status, CRLF line ends, no folded line, exactly one
// Content-Length or a Transfer-Encoding of chunked (204 and 304 may have neither), and at
// most one Connection field with one plain value. When ok is false the caller tries
// net/http's reader.
//
// A load reads the same few heads all the time, and parsing one this way allocates nothing. net/http's
// reader takes every legal head, but allocates a response for each.
func parseHead(b []byte) (h head, ok bool) {
	const line = "HTTP/1.1 200"
	if len(b) < len(line)+2 || string(b[:9]) != "HTTP/1.1 " {
		return h, false
	}
	for _, c := range b[9:12] {
		if c < '0' || c > '9' {
			return h, false
		}
		h.status = h.status*10 + uint16(c-'0')
	}
	// A status line may end after the status: the reason phrase is optional.
	if h.status < 200 || b[12] != ' ' && b[12] != '\r' {
		return h, false
	}
	h.length = -1
	connections := 0
	for at := 0; ; {
		// A missing line end means that the head is not whole yet, or too odd for this parser.
		n := bytes.IndexByte(b[at:], '\n')
		if n < 1 || b[at+n-1] != '\r' {
			return h, false
		}
		field := b[at : at+n-1]
		first := at == 0
		at += n + 1
		// An empty line ends the head.
		if len(field) == 0 {
			h.size = at
			break
		}
		// The status line is already read.
		if first {
			continue
		}
		colon := bytes.IndexByte(field, ':')
		if colon < 1 {
			return h, false
		}
		name, value := field[:colon], field[colon+1:]
		// White space at the name's start is a folded line; before the colon it is forbidden (RFC 9112,
		// sections 5.2 and 5.1).
		if c := name[colon-1]; name[0] <= ' ' || c <= ' ' {
			return h, false
		}
		switch {
		case isName(name, "content-length"):
			n, err := strconv.ParseUint(string(bytes.Trim(value, " \t")), 10, 63)
			// A second length could differ from the first, and guessing between them would be wrong.
			if err != nil || h.length >= 0 {
				return h, false
			}
			h.length = int64(n)
		case isName(name, "transfer-encoding"):
			if h.chunked || !isName(bytes.Trim(value, " \t"), "chunked") {
				return h, false
			}
			h.chunked = true
		case isName(name, "connection"):
			switch value = bytes.Trim(value, " \t"); {
			case isName(value, "close"):
				h.close = true
			case !isName(value, "keep-alive"):
				return h, false
			}
			connections++
		}
	}
	// A body without a length ends with the connection. A length together with chunked is an attack or a
	// fault (RFC 9112, section 6.3). net/http decides about both.
	known := h.length >= 0 || h.chunked || h.status == http.StatusNoContent || h.status == http.StatusNotModified
	return h, known && !(h.length >= 0 && h.chunked) && connections <= 1
}

// isName reports whether b equals name, an ASCII word, in any mix of cases.
func isName(b []byte, name string) bool {
	return len(b) == len(name) && strings.EqualFold(string(b), name)
}

// A headCache parses response heads and remembers the last one. A server's heads are the
// same byte for byte, except for a Date that changes once a second.
type headCache struct {
	raw  []byte
	head head
}

// errHeadUnread is no fault: the caller tries again when more bytes have come.
var errHeadUnread = errors.New("head not whole yet")

// parse reads the head at the start of b. It reads usual heads in place and all others with
// net/http's reader. It returns errHeadUnread when it needs more bytes.
func (c *headCache) parse(b []byte) (head, error) {
	// The remembered head ends with its empty line, so a match is a whole head.
	if len(c.raw) > 0 && bytes.HasPrefix(b, c.raw) {
		return c.head, nil
	}
	// parseHead fails for heads that are odd or not whole; parseOddHead tells them apart.
	h, ok := parseHead(b)
	if !ok {
		var err error
		if h, err = parseOddHead(b); err != nil {
			return h, err
		}
	}
	c.raw, c.head = append(c.raw[:0], b[:h.size]...), h
	return h, nil
}

// parseOddHead reads the heads that parseHead leaves: interim and HTTP/1.0 responses, bodies
// that end with the connection, bare line ends, folded lines.
func parseOddHead(b []byte) (h head, err error) {
	// net/http reads only a whole head: it would block on, or fail for, a part of one.
	if h.size = headEnd(b); h.size == 0 {
		// A server of another protocol may never send an empty line, so its first bytes decide.
		const begin = "HTTP/"
		if n := min(len(b), len(begin)); string(b[:n]) != begin[:n] {
			return h, errNotHTTP
		}
		if len(b) > maxHead {
			return h, errHeadTooLarge
		}
		return h, errHeadUnread
	}
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(b[:h.size])), toHead)
	if err != nil {
		return h, err
	}
	defer resp.Body.Close()
	if resp.StatusCode < 100 {
		return h, errors.New("response status below 100")
	}
	h.status, h.length, h.close = uint16(resp.StatusCode), resp.ContentLength, resp.Close
	h.chunked = slices.Contains(resp.TransferEncoding, "chunked")
	return h, nil
}

// toHead makes net/http report only what a response head states. For GET it would add that
// a reply without a length ends with its connection.
var toHead = &http.Request{Method: http.MethodHead}

// headEnd returns the length in bytes of the head at the start of b; 0 when it is not whole. An empty line
// ends it.
func headEnd(b []byte) (end int) {
	for _, mark := range []string{"\n\n", "\n\r\n"} {
		if i := bytes.Index(b, []byte(mark)); i >= 0 && (end == 0 || i+len(mark) < end) {
			end = i + len(mark)
		}
	}
	return end
}

// A replyReader reads the replies of one connection from pieces of its stream, in order.
// It skips body bytes and counts them. The zero value expects a head. A replyReader
// allocates only for unusual heads and for heads that arrive in pieces.
type replyReader struct {
	partial []byte // the start of a head that is not whole yet
	reply   reply  // its body is being read
	stage   stage
	left    int64 // bytes of the body still to come, of a known length
	chunks  chunkReader
}

// A stage tells which part of a reply comes next.
type stage uint8

const (
	atHead stage = iota
	inLength
	inChunks
	untilClose
)

// next reads b, the next piece of the stream, up to the end of the next reply. It returns
// the rest of b, empty when the reply is not whole yet. bodiless is true when the reply
// answers a HEAD. Interim responses are skipped.
func (r *replyReader) next(b []byte, heads *headCache, bodiless bool) (rest []byte, rep reply, whole bool, err error) {
	for r.stage == atHead {
		// A head that arrives in pieces is collected in partial, and parsed again with each piece.
		text := b
		if len(r.partial) > 0 {
			r.partial = append(r.partial, b...)
			text = r.partial
		}
		h, err := heads.parse(text)
		if err == errHeadUnread {
			if len(r.partial) == 0 {
				r.partial = append(r.partial, b...)
			}
			return nil, rep, false, nil
		}
		if err != nil {
			return nil, rep, false, err
		}
		// The head ends within b. The bytes after it stay.
		b = b[len(b)-(len(text)-h.size):]
		r.partial = r.partial[:0]
		// After an interim response the stage is still atHead, and the loop reads the next head.
		r.begin(h, bodiless)
	}
	switch r.stage {
	case inLength:
		n := min(r.left, int64(len(b)))
		b, r.left = b[n:], r.left-n
		whole = r.left == 0
	case inChunks:
		if b, whole, err = r.chunks.next(b); err != nil {
			return nil, rep, false, err
		}
		r.reply.bytes = r.chunks.body
	case untilClose:
		r.reply.bytes += int64(len(b))
		// Only the close of the connection ends this body: see end.
		b = nil
	}
	if !whole {
		return nil, rep, false, nil
	}
	r.stage = atHead
	return b, r.reply, true, nil
}

// begin decides from the head how the rest of a reply is read.
func (r *replyReader) begin(h head, bodiless bool) {
	if h.status < 200 && h.status != http.StatusSwitchingProtocols { // interim
		return
	}
	// The order of the rules is RFC 9112, section 6.3. Without a body the stage is inLength with nothing
	// left, so that next finds the reply whole at once.
	r.reply = reply{status: h.status, keep: !h.close}
	r.stage, r.left = inLength, 0
	switch {
	case h.status == http.StatusSwitchingProtocols:
		// From here on the connection speaks another protocol.
		r.reply.keep = false
	case bodiless || h.status == http.StatusNoContent || h.status == http.StatusNotModified:
	case h.chunked:
		r.stage, r.chunks = inChunks, chunkReader{line: r.chunks.line[:0]}
	case h.length >= 0:
		r.reply.bytes, r.left = h.length, h.length
	default:
		r.stage, r.reply.keep = untilClose, false
	}
}

// end ends the reply at the close of the connection. Only a body without a length ends so;
// for any other, whole is false.
func (r *replyReader) end() (rep reply, whole bool) {
	if r.stage != untilClose {
		return rep, false
	}
	r.stage = atHead
	return r.reply, true
}

// reset forgets a reply that was read only in part.
func (r *replyReader) reset() { *r = replyReader{partial: r.partial[:0]} }

// A chunkReader finds the end of a chunked body (RFC 9112, section 7.1). The zero
// value begins with the first chunk's size.
type chunkReader struct {
	expects chunkLine
	line    []byte // the start of a line that is not whole yet
	left    int64  // bytes still to come of the present chunk
	body    int64  // bytes of all chunks so far
	extra   int64  // bytes of extensions and trailers
}

// A chunkLine is a kind of line outside the data of chunks.
type chunkLine uint8

const (
	chunkSize chunkLine = iota
	chunkEnd            // the empty line after a chunk's data
	trailer             // after the last chunk, up to an empty line
)

// maxChunkExtra limits the bytes of extensions and trailers of a chunked body. They may be
// maxChunkExtra more than the body's data so far.
const maxChunkExtra = 64 << 10

var errChunk = errors.New("malformed chunked body")

// next reads b up to the end of the body, and returns the rest.
func (c *chunkReader) next(b []byte) (rest []byte, whole bool, err error) {
	for len(b) > 0 {
		// Inside a chunk's data, line ends mean nothing.
		if c.left > 0 {
			n := min(c.left, int64(len(b)))
			b, c.left, c.body = b[n:], c.left-n, c.body+n
			continue
		}
		line, after, ends := bytes.Cut(b, []byte{'\n'})
		// A line that arrives in pieces is collected in line.
		if b = after; len(c.line) > 0 || !ends {
			c.line = append(c.line, line...)
			line = c.line
		}
		// Without this limit a server could send lines for ever, and line would fill the memory.
		if c.extra+int64(len(line)) > maxChunkExtra+c.body {
			return nil, false, errChunk
		}
		if !ends {
			return nil, false, nil
		}
		c.line = c.line[:0]
		if whole, err = c.take(line); whole || err != nil {
			return b, whole, err
		}
	}
	return nil, false, nil
}

// take handles a whole line, given without its line feed. It reports whether the line is the
// body's last.
func (c *chunkReader) take(line []byte) (last bool, err error) {
	line, returned := bytes.CutSuffix(line, []byte{'\r'})
	switch c.expects {
	case chunkEnd:
		if len(line) > 0 || !returned {
			return false, errChunk
		}
		c.expects = chunkSize
	case trailer:
		c.extra += int64(len(line))
		if len(line) > 0 && line[0] == '\r' {
			return false, errChunk
		}
		return len(line) == 0, nil
	case chunkSize:
		// Extensions after the size mean nothing to this client.
		digits := line
		if at := bytes.IndexAny(line, "; \t\r"); at >= 0 {
			digits = line[:at]
		}
		size, err := strconv.ParseUint(string(digits), 16, 63)
		if err != nil || len(digits) > 16 { // as net/http takes
			return false, errChunk
		}
		c.extra += int64(len(line) - len(digits))
		c.left, c.expects = int64(size), chunkEnd
		// The last chunk has size 0 and no data. Trailers may follow.
		if size == 0 {
			c.expects = trailer
		}
	}
	return false, nil
}
