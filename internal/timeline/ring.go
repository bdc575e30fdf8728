package timeline

import "sync"

// A Ring keeps the newest stamps of a server. It is allocated once; a put is one
// short lock and a copy. It is safe for concurrent use.
type Ring struct {
	mu    sync.Mutex
	slots []Server
	put   uint64 // ever
	next  int    // put modulo the size, without the division
}

// MaxPending is how many answered requests of a connection can await the write that
// carries them. The stamps of a longer pipeline are lost.
const MaxPending = 64

// The sizes a ring can have, in requests of some 72 bytes.
const (
	MinRing = 1
	MaxRing = 1 << 24
)

// NewRing makes a ring of that many requests, between MinRing and MaxRing.
func NewRing(size int) *Ring { return &Ring{slots: make([]Server, min(max(size, MinRing), MaxRing))} }

// Put keeps stamps, in place of the oldest if need be.
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

// Since returns, oldest first, the stamps put after the first n ever, how many
// have been put by now, and how many of those asked for are no longer held.
func (r *Ring) Since(n uint64) (stamps []Server, put, lost uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	size := uint64(len(r.slots))
	from := min(n, r.put)
	if r.put-from > size {
		lost = r.put - from - size
		from += lost
	}
	stamps = make([]Server, 0, r.put-from)
	for i := from; i < r.put; i++ {
		stamps = append(stamps, r.slots[i%size])
	}
	return stamps, r.put, lost
}
