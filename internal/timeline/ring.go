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

// perLock is how many stamps a reader copies under one lock, for which requests wait: some 10 µs.
const perLock = 1024

// Since returns, oldest first, the stamps put after the first n ever, how many
// have been put by now, and how many of those asked for are no longer held.
func (r *Ring) Since(n uint64) (stamps []Server, put, lost uint64) {
	put = r.count()
	n = min(n, put)
	stamps = r.between(n, put)
	return stamps, put, put - n - uint64(len(stamps))
}

// Newest returns the newest n stamps, oldest first, or as many as it holds, and how many were
// ever put before them.
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

// between copies the stamps from number from to number to that are held when their turn comes.
func (r *Ring) between(from, to uint64) []Server {
	size := uint64(len(r.slots))
	from = max(from, to-min(size, to))
	stamps := make([]Server, 0, to-from)
	for from < to {
		r.mu.Lock()
		from = max(from, r.put-min(size, r.put)) // those before were overwritten meanwhile
		for end := min(from+perLock, to); from < end; from++ {
			stamps = append(stamps, r.slots[from%size])
		}
		r.mu.Unlock()
	}
	return stamps
}
