package model

import (
	"strings"

	"github.com/valyala/fasthttp"
)

// A head is what the raw bytes of a request head say and fasthttp's parser
// loses.
type head struct {
	foreign   bool // a transfer coding other than chunked: the identity of old
	ambiguous bool // a length beside a transfer coding: two readers could differ (RFC 9112 §6.1)
	// closes says that the client wants the connection closed: a token in any case
	// and any place (RFC 9110 §7.6.1), of which fasthttp knows a lone "close".
	closes bool
}

// inspect reads a request's head once more. It costs some 30 ns.
func inspect(req *fasthttp.RequestHeader) head {
	var h head
	var coded, sized bool
	for rest := view(req.RawHeaders()); rest != ""; {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		if line == "" {
			continue
		}
		switch line[0] | 0x20 {
		case 't':
			if coding, ok := field(line, "transfer-encoding"); ok {
				coded = true
				h.foreign = h.foreign || !hasToken(coding, "chunked")
			}
		case 'c':
			if _, ok := field(line, "content-length"); ok {
				sized = true
			} else if options, ok := field(line, "connection"); ok {
				h.closes = h.closes || hasToken(options, "close")
			}
		}
	}
	h.ambiguous = coded && sized
	return h
}

// field returns the value of a line of a head if it is the field of that name.
func field(line, name string) (value string, ok bool) {
	if len(line) <= len(name) || line[len(name)] != ':' || !strings.EqualFold(line[:len(name)], name) {
		return "", false
	}
	return line[len(name)+1:], true
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
