package model

import (
	"net/url"
	"strings"

	"github.com/valyala/fasthttp"
)

// A head holds what fasthttp's parser does not report about a request: whether a strict reader
// would refuse its head, and whether the client wants the connection closed. (That is a token
// in any case and place, RFC 9110 §7.6.1; fasthttp sees only a lone "close".) It also holds
// the two fields that this package reads, because fasthttp takes some 40 ns to find each.
type head struct {
	flaw   flaw
	closes bool
	seq    string // value of seqHeader; valid as long as the request
	timing bool   // timingHeader is present and not empty
}

// A flaw is a reason to refuse a request although fasthttp, or net/http, accepts its head.
type flaw uint8

const (
	noFlaw           flaw = iota
	malformed             // a name that is no token, a folded line, an invalid host
	ambiguousFraming      // a length and a transfer coding: two readers could differ (RFC 9112 §6.1)
	unknownCoding         // a transfer coding other than chunked, such as the old identity
	tooManyFields         // too many fields
	wrongVersion          // a protocol other than HTTP/1
)

// refusals are the answers to flaws. The connection closes after any of them.
var refusals = [...]struct {
	status int
	body   string
}{
	malformed:        {fasthttp.StatusBadRequest, "malformed request\n"},
	ambiguousFraming: {fasthttp.StatusBadRequest, "ambiguous message framing\n"},
	unknownCoding:    {fasthttp.StatusNotImplemented, unsupportedCoding},
	tooManyFields:    {fasthttp.StatusRequestHeaderFieldsTooLarge, "too many fields\n"},
	wrongVersion:     {fasthttp.StatusHTTPVersionNotSupported, "unsupported protocol version\n"},
}

// maxFields is the largest number of fields in a head. nginx and Apache httpd have such a
// limit too.
const maxFields = 100

// inspect reads a request's head again, after fasthttp. It costs some 55 ns for a usual head,
// and allocates only for a target that is not a path.
func inspect(req *fasthttp.RequestHeader) head {
	var h head
	var coded, sized, hosted bool
	fields := 0
	// The head is read by lines, as fasthttp has stored them: without the request line.
	for rest := view(req.RawHeaders()); rest != ""; {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		if line == "" || line == "\r" {
			continue
		}
		fields++
		colon := 0
		for colon < len(line) && line[colon] > ' ' && line[colon] != ':' {
			colon++
		}
		// fasthttp accepts folded lines, and spaces in names.
		if colon == 0 || colon == len(line) || line[colon] != ':' {
			h.flaw = malformed
			continue
		}
		name, value := line[:colon], line[colon+1:]
		// One letter, in lower case, leaves at most two names to compare with.
		switch name[0] | 0x20 {
		case 't':
			if len(name) == len(transferCoding) && strings.EqualFold(name, transferCoding) {
				coded = true
				// Without chunked nothing tells where the body ends.
				if !hasToken(value, "chunked") {
					h.flaw = max(h.flaw, unknownCoding)
				}
			}
		case 'c':
			if strings.EqualFold(name, contentLength) {
				sized = true
			} else if strings.EqualFold(name, "connection") {
				h.closes = h.closes || hasToken(value, "close")
			}
		case 'h':
			if len(name) == len("host") && strings.EqualFold(name, "host") {
				hosted = true
				if !isHost(value) {
					h.flaw = max(h.flaw, malformed)
				}
			}
		case 'x':
			switch {
			case len(name) == len(seqHeader) && h.seq == "" && strings.EqualFold(name, seqHeader):
				h.seq = strings.TrimSpace(value)
			case len(name) == len(timingHeader) && strings.EqualFold(name, timingHeader):
				h.timing = h.timing || strings.TrimSpace(value) != ""
			}
		}
	}
	switch {
	case h.flaw != noFlaw:
	case coded && sized:
		h.flaw = ambiguousFraming
	case fields > maxFields:
		h.flaw = tooManyFields
	case !isTarget(req):
		h.flaw = malformed
	}
	// Only HTTP/1.0 may leave Host out (RFC 9112 §3.2). fasthttp checks it for HTTP/1.1 alone.
	if !req.IsHTTP11() {
		switch version := view(req.Protocol()); {
		case !strings.HasPrefix(version, "HTTP/1."):
			h.flaw = wrongVersion
		case version != "HTTP/1.0" && !hosted:
			h.flaw = malformed
		}
	}
	return h
}

// isTarget reports whether a request's target is valid: a path with complete escapes, an
// asterisk, an authority or a URL (RFC 9112 §3.2).
func isTarget(req *fasthttp.RequestHeader) bool {
	target := view(req.RequestURI())
	if target[0] != '/' {
		if req.IsConnect() {
			target = "http://" + target
		}
		_, err := url.ParseRequestURI(target)
		return err == nil
	}
	if strings.IndexByte(target, '%') < 0 {
		return true
	}
	// Escapes in the query are the handler's concern.
	path, _, _ := strings.Cut(target, "?")
	for {
		_, escape, found := strings.Cut(path, "%")
		switch {
		case !found:
			return true
		case len(escape) < 2 || !isHex(escape[0]) || !isHex(escape[1]):
			return false
		}
		path = escape[2:]
	}
}

func isHex(b byte) bool {
	return '0' <= b && b <= '9' || 'a' <= b|0x20 && b|0x20 <= 'f'
}

// hostBytes lists the bytes that a host and its port may contain (RFC 3986 §3.2.2).
const hostBytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!$%&'()*+,-.:;=[]_~"

// inHost is hostBytes as a table: a look-up per byte.
var inHost = func() (set [256]bool) {
	for _, b := range []byte(hostBytes) {
		set[b] = true
	}
	return set
}()

// isHost reports whether a Host field holds a possible host. It lets an empty one pass.
func isHost(value string) bool {
	value = strings.TrimSpace(value)
	for i := range len(value) {
		if !inHost[value[i]] {
			return false
		}
	}
	return true
}

// hasToken reports whether a comma-separated list holds token, in any case.
func hasToken(list, token string) bool {
	for list != "" {
		var item string
		item, list, _ = strings.Cut(list, ",")
		if strings.EqualFold(strings.TrimSpace(item), token) {
			return true
		}
	}
	return false
}
