package timeline

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
)

// A Ring keeps the newest stamps of a server. It is allocated once. A Put costs one
// short lock and a copy. A Ring is safe for concurrent use.
type Ring struct {
	mu    sync.Mutex
	slots []Server
	put   uint64 // number of stamps put so far
	next  int    // put modulo the size, without the division
}

// MaxPending is the number of answered requests of a connection that can wait for the write of
// their answers. The stamps of a longer pipeline are lost.
const MaxPending = 64

// MaxRing is the largest size of a ring, in requests of some 72 bytes: 1.2 GB.
const MaxRing = 1 << 24

// NewRing returns a ring for size requests. It limits size to 1 and MaxRing.
func NewRing(size int) *Ring { return &Ring{slots: make([]Server, min(max(size, 1), MaxRing))} }

// Put adds stamps. When the ring is full they replace the oldest.
func (r *Ring) Put(stamps ...Server) {
	r.mu.Lock()
	for i := range stamps {
		r.slots[r.next] = stamps[i]
		if r.next++; r.next == len(r.slots) {
			r.next = 0
		}
	}
	r.put += uint64(len(stamps))
	r.mu.Unlock()
}

// perLock is the number of stamps that a reader copies under one lock. Requests wait for that
// lock, for some 10 µs.
const perLock = 1024

// Since returns the stamps put after the first n, oldest first. put is the number
// of stamps put so far: pass it as n in the next call. lost is the number of stamps
// after the first n that have been overwritten.
func (r *Ring) Since(n uint64) (stamps []Server, put, lost uint64) {
	put = r.count()
	n = min(n, put)
	stamps = r.between(n, put)
	return stamps, put, put - n - uint64(len(stamps))
}

// Newest returns the newest n stamps, oldest first. If the ring holds fewer it returns them all.
// older is the number of stamps put before the ones returned.
func (r *Ring) Newest(n int) (stamps []Server, older uint64) {
	put := r.count()
	stamps = r.between(put-min(uint64(n), put), put)
	return stamps, put - uint64(len(stamps))
}

func (r *Ring) count() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.put
}

// between copies the stamps from number from up to, but not including, number to. It leaves out
// stamps that are overwritten before it reads them.
func (r *Ring) between(from, to uint64) []Server {
	size := uint64(len(r.slots))
	from = max(from, to-min(size, to))
	stamps := make([]Server, 0, to-from)
	for from < to {
		r.mu.Lock()
		from = max(from, r.put-min(size, r.put)) // earlier stamps were overwritten meanwhile
		for end := min(from+perLock, to); from < end; from++ {
			stamps = append(stamps, r.slots[from%size])
		}
		r.mu.Unlock()
	}
	return stamps
}

// magic is the first line of a stream of stamps.
const magic = "schedlab timeline 1\n"

// LostHeader is the header of a server's answer that gives the number of requests that it
// stamped and no longer holds, because newer ones took their place.
const LostHeader = "Schedlab-Timeline-Lost"

// Write writes a line that names the format, and then the fields of each stamp, in order, as
// little-endian 64-bit numbers.
func Write(w io.Writer, stamps []Server) error {
	out := bufio.NewWriter(w)
	if _, err := out.WriteString(magic); err != nil {
		return err
	}
	var b []byte
	for i := range stamps {
		b, _ = binary.Append(b[:0], binary.LittleEndian, &stamps[i]) // a struct of numbers: it cannot fail
		if _, err := out.Write(b); err != nil {
			return err
		}
	}
	return out.Flush()
}

// Read reads stamps in the format of Write, to the end of r. It returns an error
// for more than MaxRing requests, another format, or a stream that ends within a
// request.
func Read(r io.Reader) ([]Server, error) {
	in := bufio.NewReader(r)
	head := make([]byte, len(magic))
	if _, err := io.ReadFull(in, head); err != nil || string(head) != magic {
		return nil, fmt.Errorf("reading a timeline: it does not begin with %q", magic[:len(magic)-1])
	}
	var stamps []Server
	var s Server
	b := make([]byte, binary.Size(s))
	for {
		switch _, err := io.ReadFull(in, b); {
		case errors.Is(err, io.EOF):
			return stamps, nil
		case err != nil:
			return nil, fmt.Errorf("reading a timeline: request %d: %w", len(stamps), err)
		case len(stamps) == MaxRing:
			return nil, fmt.Errorf("reading a timeline: more than %d requests", MaxRing)
		}
		_, _ = binary.Decode(b, binary.LittleEndian, &s) // b has its size
		stamps = append(stamps, s)
	}
}
