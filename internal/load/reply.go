package load

import (
	"bytes"
	"errors"
	"net/http"
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
			n, valid := parseLength(bytes.Trim(value, " \t"))
			// A second length could be another one, which nobody may guess between.
			if !valid || h.length >= 0 {
				return h, false
			}
			h.length = n
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

// parseLength reads a Content-Length of at most 18 digits, so that it fits an int64.
// A sign or any other character is refused.
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

// isName reports whether b equals name, a lower-case ASCII word, in any mix of cases.
func isName(b []byte, name string) bool {
	if len(b) != len(name) {
		return false
	}
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		// Only b is folded: name is in lower case.
		if c != name[i] {
			return false
		}
	}
	return true
}
