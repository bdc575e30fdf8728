package load

import (
	"bytes"
	"errors"
	"io"
	"math"
	"net/http"
)

// A reply is what the driver keeps of a response.
type reply struct {
	status uint16
	bytes  int64 // of the body
	keep   bool  // the connection may carry another request
}

// A head is the part of a response head that decides how it is read on.
type head struct {
	status uint16
	length int64 // Content-Length
	close  bool  // Connection: close
	size   int   // bytes of the head itself
}

// maxHead bounds a response head that does not fit the buffer.
const maxHead = 1 << 20

var errHeadTooLarge = errors.New("response head beyond 1 MiB")

// readReply reads one whole response. A plain one, with a head that fits the
// buffer and a Content-Length, is read in place without allocating. Whatever
// else comes is left to http.ReadResponse, on the same bytes.
func (k *conn) readReply(bodiless bool) (reply, error) {
	for {
		if err := k.fillHead(); err != nil {
			return reply{}, err
		}
		b, _ := k.br.Peek(k.br.Buffered())
		h, ok := parseHead(b)
		if !ok {
			rep, interim, err := k.readOther(bodiless)
			if interim && err == nil {
				continue
			}
			return rep, err
		}
		_, _ = k.br.Discard(h.size) // it is in the buffer
		rep := reply{status: h.status, keep: !h.close}
		if bodiless || h.status == http.StatusNoContent || h.status == http.StatusNotModified {
			return rep, nil
		}
		rep.bytes = h.length
		return rep, k.skip(h.length)
	}
}

// fillHead reads until the buffer holds a whole head, or as much as is needed
// to see that it never will.
func (k *conn) fillHead() error {
	for n := 1; ; {
		_, err := k.br.Peek(n)
		b, _ := k.br.Peek(k.br.Buffered())
		switch {
		case bytes.Contains(b, []byte("\n\r\n")) || bytes.Contains(b, []byte("\n\n")) || len(b) == k.br.Size():
			return nil
		case err == io.EOF && len(b) > 0:
			return io.ErrUnexpectedEOF
		case err != nil:
			return err
		}
		n = len(b) + 1
	}
}

// skip discards n bytes of body.
func (k *conn) skip(n int64) error {
	for n > 0 {
		m, err := k.br.Discard(int(min(n, math.MaxInt32)))
		n -= int64(m)
		if err == io.EOF {
			return io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readOther reads a response with net/http's reader: chunked, of no stated
// length, HTTP/1.0, malformed. Interim tells a 1xx, after which the real one
// follows.
func (k *conn) readOther(bodiless bool) (rep reply, interim bool, err error) {
	k.quota = maxHead
	req := http.Request{Method: http.MethodGet}
	if bodiless {
		req.Method = http.MethodHead
	}
	resp, err := http.ReadResponse(k.br, &req)
	k.quota = math.MaxInt64
	if err != nil {
		return reply{}, false, err
	}
	defer resp.Body.Close()
	if resp.StatusCode < 100 {
		return reply{}, false, errors.New("response status below 100")
	}
	if resp.StatusCode < 200 && resp.StatusCode != http.StatusSwitchingProtocols {
		return reply{}, true, nil
	}
	rep.status = uint16(resp.StatusCode)
	rep.keep = !resp.Close && resp.StatusCode != http.StatusSwitchingProtocols
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return rep, false, nil
	}
	rep.bytes, err = io.Copy(io.Discard, resp.Body)
	return rep, false, err
}

// parseHead reads a response head at the start of b. It is deliberately narrow:
// HTTP/1.1, a final status, CRLF line ends, no folded line, no
// Transfer-Encoding, exactly one Content-Length (none is fine with 204 and 304),
// at most one Connection of one plain value. Not ok means "not for me".
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
	if h.status < 200 || b[12] != ' ' && b[12] != '\r' {
		return h, false
	}
	h.length = -1
	connections := 0
	for at := 0; ; {
		n := bytes.IndexByte(b[at:], '\n')
		if n < 1 || b[at+n-1] != '\r' {
			return h, false
		}
		field := b[at : at+n-1]
		first := at == 0
		at += n + 1
		if len(field) == 0 {
			h.size = at
			break
		}
		if first {
			continue
		}
		colon := bytes.IndexByte(field, ':')
		if colon < 1 {
			return h, false
		}
		name, value := field[:colon], field[colon+1:]
		if c := name[colon-1]; name[0] <= ' ' || c <= ' ' {
			return h, false
		}
		switch {
		case isName(name, "content-length"):
			n, valid := parseLength(bytes.Trim(value, " \t"))
			if !valid || h.length >= 0 {
				return h, false
			}
			h.length = n
		case isName(name, "transfer-encoding"):
			return h, false
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
	if h.length < 0 && h.status != http.StatusNoContent && h.status != http.StatusNotModified {
		return h, false
	}
	return h, connections <= 1
}

// parseLength reads a Content-Length of at most 18 digits, which fit an int64.
func parseLength(b []byte) (n int64, ok bool) {
	if len(b) == 0 || len(b) > 18 {
		return 0, false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// isName reports whether b is the lower-case ASCII name, whatever b's case.
func isName(b []byte, name string) bool {
	if len(b) != len(name) {
		return false
	}
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != name[i] {
			return false
		}
	}
	return true
}
