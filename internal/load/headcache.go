package load

import (
	"bytes"
	"errors"
	"net/http"
)

// A headCache parses response heads that are mostly the same, byte for byte: a
// server's head changes once a second, with its Date. It is exact, because what
// a head means depends on its bytes alone.
type headCache struct {
	raw  []byte
	head head
}

// maxSpinHead bounds a response head here: nothing of it is read before it is whole.
const maxSpinHead = 16 << 10

var (
	errHeadUnread   = errors.New("head not whole yet")
	errHeadUnfit    = errors.New("head without one Content-Length, or none of a final HTTP/1.1 response")
	headEnd         = []byte("\r\n\r\n")
	errHeadSpinSize = errors.New("head beyond 16 KiB")
)

// parse reads the head at the start of b, as parseHead does.
func (c *headCache) parse(b []byte) (head, error) {
	if len(c.raw) > 0 && bytes.HasPrefix(b, c.raw) {
		return c.head, nil
	}
	h, ok := parseHead(b)
	if ok {
		c.raw, c.head = append(c.raw[:0], b[:h.size]...), h
		return h, nil
	}
	switch {
	case bytes.Contains(b, headEnd):
		return h, errHeadUnfit
	case len(b) > maxSpinHead:
		return h, errHeadSpinSize
	}
	return h, errHeadUnread
}

// A replyReader reads the replies of one connection from pieces of its stream,
// in order. Body bytes are counted off and not looked at.
type replyReader struct {
	held  []byte // the start of a head that is not whole yet
	reply reply  // whose body is being read
	body  int64  // bytes of it still to come
	begun bool
}

// next takes from b, which follows what was given before, up to the end of the
// next reply. It returns the rest of b, empty when the reply is not whole yet.
// bodiless tells of that reply that its request was a HEAD.
func (r *replyReader) next(b []byte, heads *headCache, bodiless bool) (rest []byte, rep reply, whole bool, err error) {
	if !r.begun {
		text := b
		if len(r.held) > 0 {
			r.held = append(r.held, b...)
			text = r.held
		}
		h, err := heads.parse(text)
		if err == errHeadUnread {
			if len(r.held) == 0 {
				r.held = append(r.held, b...)
			}
			return nil, rep, false, nil
		}
		if err != nil {
			return nil, rep, false, err
		}
		b = b[len(b)-(len(text)-h.size):]
		r.held = r.held[:0]
		r.reply, r.begun = reply{status: h.status, bytes: h.length, keep: !h.close}, true
		if bodiless || h.status == http.StatusNoContent || h.status == http.StatusNotModified {
			r.reply.bytes = 0
		}
		r.body = r.reply.bytes
	}
	n := min(r.body, int64(len(b)))
	b, r.body = b[n:], r.body-n
	if r.body > 0 {
		return nil, rep, false, nil
	}
	r.begun = false
	return b, r.reply, true, nil
}
