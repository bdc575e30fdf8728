package load

import (
	"bytes"
	"testing"
)

// A head from the cache is what parseHead makes of the same bytes.
func FuzzHeadCache(f *testing.F) {
	f.Add([]byte(plainReply), []byte(plainReply))
	f.Add([]byte(okReply), []byte("HTTP/1.1 503 No\r\nContent-Length: 3\r\nConnection: close\r\n\r\nno\n"))
	f.Add([]byte("HTTP/1.1 200 OK\r\n\r\n"), []byte("HTTP/1.1 204 OK\r\n\r\n"))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var c headCache
		for _, b := range [][]byte{first, second, first} {
			got, err := c.parse(b)
			want, ok := parseHead(b)
			if (err == nil) != ok || ok && got != want {
				t.Fatalf("%q: got %+v, %v; want %+v, %v", b, got, err, want, ok)
			}
			if err == errHeadUnread && (bytes.Contains(b, headEnd) || len(b) > maxSpinHead) {
				t.Fatalf("%q: waits for more of a head that is whole or too large", b)
			}
		}
	})
}

// However a stream is cut into pieces, the same replies are read from it, and
// they are those that the other reader reads.
func FuzzReplyReader(f *testing.F) {
	f.Add([]byte(plainReply+okReply), uint8(1), false)
	f.Add([]byte("HTTP/1.1 204 No Content\r\n\r\n"+okReply), uint8(7), false)
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"+okReply), uint8(3), true)
	f.Add([]byte("HTTP/1.1 503 No\r\nConnection: close\r\nContent-Length: 0\r\n\r\nrest"), uint8(64), false)
	f.Fuzz(func(t *testing.T, stream []byte, piece uint8, bodiless bool) {
		read := func(size int) (replies []reply, failed bool) {
			var r replyReader
			var c headCache
			for left := stream; len(left) > 0; {
				n := min(size, len(left))
				for b := left[:n]; len(b) > 0; {
					rest, rep, whole, err := r.next(b, &c, bodiless)
					if err != nil {
						return replies, true
					}
					if len(rest) > len(b) || whole && len(rest) == len(b) && len(r.held) == 0 && rep.bytes == 0 && len(b) == 0 {
						t.Fatalf("%q became %q", b, rest)
					}
					if whole {
						replies = append(replies, rep)
					}
					b = rest
				}
				left = left[n:]
			}
			return replies, false
		}
		whole, failed := read(len(stream) + 1)
		pieces, _ := read(int(piece) + 1)
		if len(pieces) != len(whole) {
			t.Fatalf("%q: %d replies at once and %d in pieces of %d", stream, len(whole), len(pieces), int(piece)+1)
		}
		k := reading(bytes.NewReader(stream))
		for i, got := range whole {
			want, err := k.readReply(bodiless)
			if err != nil || got != want || pieces[i] != got {
				t.Fatalf("reply %d of %q: got %+v and %+v, want %+v, %v (failed later: %v)", i, stream, got, pieces[i], want, err, failed)
			}
		}
	})
}
