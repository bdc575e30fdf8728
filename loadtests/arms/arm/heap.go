package arm

import (
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"runtime/metrics"

	"schedlab/internal/shared/workload"
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

// hold returns a live heap of n bytes. It leaves the process as minutes of requests that allocate do: the kernel has given
// it the memory that it uses between two collections. Until then each request would pay for new pages, as much as for all
// else that it needs.
func hold(app *workload.App, n int) []*entry {
	// The collector is off meanwhile, or it would mark the growing heap again and again. A GOMEMLIMIT still counts.
	gogc := debug.SetGCPercent(-1)
	index := cache(n)
	spend(app, garbage(n, gogc))
	debug.SetGCPercent(gogc)
	runtime.GC() // the first collection under load starts from the live heap
	return index
}

// cache returns entries of n bytes in all, with their index: a cache that has been in use for long. An entry and its parts
// lie together, as they were allocated. The order of the index and of the list is random in memory, always the same
// order, so the collector finds each entry at a place of its own.
func cache(n int) []*entry {
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

// garbage returns the most bytes of dropped objects that a heap with n live bytes holds when a collection ends. gogc is as
// [debug.SetGCPercent] returns it. What requests drop while the collector marks stays until the next collection: it was
// up to 0.37 of the live heap, and GOGC counts it as live. Without GOGC there is less garbage than the memory limit, and
// without a limit no collection.
func garbage(n, gogc int) int {
	if gogc < 0 {
		if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
			return int(limit)
		}
		return 0
	}
	return n*14/10*(100+gogc)/100 - n
}

// spend answers requests that allocate n bytes in all and drop them. It ends with the first collection.
func spend(app *workload.App, n int) {
	const each = 64 << 10
	began := collections()
	for used := 0; used < n && collections() == began; used += each {
		app.Serve(&workload.Exchange{Method: "GET", Path: "/work", Query: "alloc=64KiB"})
	}
}

// collections returns how many collections have ended. Unlike [runtime.ReadMemStats] it stops no other thread.
func collections() uint64 {
	ended := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(ended)
	return ended[0].Value.Uint64()
}
