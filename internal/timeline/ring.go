package timeline

import "sync"

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

// The sizes a ring can have, in requests of some 72 bytes. MaxRing requests take 1.2 GB.
const (
	MinRing = 1
	MaxRing = 1 << 24
)

// NewRing returns a ring for size requests. It limits size to MinRing and MaxRing.
func NewRing(size int) *Ring { return &Ring{slots: make([]Server, min(max(size, MinRing), MaxRing))} }

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
