package arm

import (
	"math/rand/v2"
	"runtime"
	"runtime/debug"
)

// An entry is one value of a cache, an object that points to its parts, and its place in the list of all values. Entries
// and parts have 256 bytes each: marking costs time per object, so with objects of 128 bytes it would take longer than the
// requests, and Green Tea changes only how objects of up to 512 bytes are marked.
type entry struct {
	older, newer *entry
	parts        [7]*part
	_            [184]byte
}

// A part is an object of one entry.
type part struct {
	of *entry
	_  [248]byte
}

// entrySize is the memory of an entry, its parts and its place in the index, in bytes.
const entrySize = 8*256 + 8

// live is what -heap asked for. It stays reachable until the process ends.
var live []*entry

// hold returns entries of n bytes in all, with their index: a cache that has been in use for long. An entry and its parts
// lie together, as they were allocated. The order of the index and of the list is random in memory, always the same
// order, so the collector finds each entry at a place of its own.
func hold(n int) []*entry {
	// The collector is off meanwhile, or it would mark the growing heap again and again. A GOMEMLIMIT still counts.
	defer runtime.GC() // last: the first collection under load starts from the whole heap
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	index := make([]*entry, n/entrySize)
	for i := range index {
		e := new(entry)
		for k := range e.parts {
			e.parts[k] = &part{of: e}
		}
		index[i] = e
	}
	r := rand.New(rand.NewPCG(1, 2))
	r.Shuffle(len(index), func(i, j int) { index[i], index[j] = index[j], index[i] })
	for i, e := range index {
		e.older = index[(i+len(index)-1)%len(index)]
		e.newer = index[(i+1)%len(index)]
	}
	return index
}
