package workload

import (
	"bytes"
	"hash/maphash"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Limits of the store. They keep a client from growing the server without end. A full
// store answers 507, because trying again later may succeed. One value that is too
// large is answered 413, because that will never succeed.
const (
	maxKey      = 256      // bytes, after percent-decoding
	maxValue    = 64 << 10 // bytes
	maxKeys     = 100_000  // keys
	maxKeyValue = 64 << 20 // bytes of keys and values together
)

// MaxKVLocks is the largest number of locks that /kv can have.
const MaxKVLocks = 256

// A store holds the keys and values of /kv/{key}. Keys are spread by a hash over
// shards, each behind an RWMutex. One shard shows the contention of one lock; many
// shards show the gain of finer locks. A stored value is never modified, so a reader
// may keep it after it has released the lock.
type store struct {
	shards []shard
	seed   maphash.Seed
	keys   atomic.Int64
	bytes  atomic.Int64  // bytes of keys and values
	asleep time.Duration // each request sleeps this long under its lock
}

// A shard is one lock and the keys that it guards.
type shard struct {
	mu     sync.RWMutex
	values map[string][]byte
	_      [96]byte // pads to 128 bytes: no two locks share a cache line or the pair of lines that a core fetches
}

func newStore(locks int, asleep time.Duration) *store {
	s := &store{shards: make([]shard, max(locks, 1)), seed: maphash.MakeSeed(), asleep: asleep}
	for i := range s.shards {
		s.shards[i].values = map[string][]byte{}
	}
	return s
}

// shard returns the shard of a key, always the same one.
func (s *store) shard(key string) *shard {
	// One lock is the usual case: no hash is computed for it.
	if len(s.shards) == 1 {
		return &s.shards[0]
	}
	return &s.shards[maphash.String(s.seed, key)%uint64(len(s.shards))]
}

// serveKV reads or writes a key. In the query ?hold= is the CPU time that the handler spends
// while it holds the key's lock. ?keys=N spreads requests over N keys: it appends a number
// below N to {key}. The number is drawn from the request's number, or at random without one.
func (a *App) serveKV(x *Exchange, key string) {
	var q [2]string
	if err := splitQuery(x.Query, "/kv", kvKeys, q[:]); err != nil {
		x.fail(400, "%v", err)
		return
	}
	hold, keys, base := q[0], q[1], seedOf(x.Seq)
	held, err := draw("hold", hold, maxLock, base^streamLock)
	if err != nil {
		x.fail(400, "%v", err)
		return
	}
	if keys != "" {
		n, err := strconv.ParseUint(keys, 10, 63)
		if err != nil || n == 0 || n > maxKeys {
			x.fail(400, "keys takes a whole number from 1 to %d", maxKeys)
			return
		}
		key += "-" + strconv.FormatUint(base%n, 10)
	}
	a.kv.serve(x, key, a.planted(a.iters(held)))
}

// kvKeys are the keys of /kv's query.
var kvKeys = []string{"hold", "keys"}

// serve answers one request; held is the number of iterations to compute under the key's lock.
func (s *store) serve(x *Exchange, key string, held int) {
	if len(key) == 0 || len(key) > maxKey {
		x.fail(400, "/kv/{key} takes a key of 1 to %d bytes", maxKey)
		return
	}
	switch x.Method {
	case "PUT":
		if len(x.Body) > maxValue {
			x.fail(413, "the value is above the limit of %d bytes", maxValue)
			return
		}
		// The key is cloned even if it is in the map already: an assignment replaces
		// the stored key too, and this one may alias the parser's buffer.
		if !s.put(strings.Clone(key), bytes.Clone(x.Body), held) {
			x.fail(507, "the store is full: %d keys or %d bytes", maxKeys, maxKeyValue)
			return
		}
		x.answer(204, "", nil)
	case "DELETE":
		s.delete(key, held)
		x.answer(204, "", nil)
	default:
		value, ok := s.get(key, held)
		if !ok {
			x.fail(404, "no such key")
			return
		}
		x.answer(200, octetStream, value)
	}
}

// hold computes and sleeps, to prolong the time for which the caller holds its lock.
func (s *store) hold(iters int) {
	spin(iters)
	time.Sleep(s.asleep)
}

// get returns a key's value and whether there is one. Readers share the lock, so a hold under it
// delays writers only.
func (s *store) get(key string, held int) ([]byte, bool) {
	h := s.shard(key)
	h.mu.RLock()
	defer h.mu.RUnlock()
	s.hold(held)
	value, ok := h.values[key]
	return value, ok
}

// put stores value under key and reports whether they fitted. It takes ownership of both.
func (s *store) put(key string, value []byte, held int) bool {
	h := s.shard(key)
	h.mu.Lock()
	defer h.mu.Unlock()
	s.hold(held)
	old, replaces := h.values[key]
	keys, grown := int64(0), int64(len(value)-len(old))
	if !replaces {
		keys, grown = 1, grown+int64(len(key))
	}
	// The counts are reserved before the map is changed. Other shards may reserve at the same time,
	// so both counts are atomic and a failed one is taken back.
	if !reserve(&s.keys, keys, maxKeys) {
		return false
	}
	if !reserve(&s.bytes, grown, maxKeyValue) {
		s.keys.Add(-keys)
		return false
	}
	h.values[key] = value
	return true
}

// reserve adds n to total and reports true, unless the sum would exceed most. With n 0,
// as for a value that replaces one of the same size, it does not touch total, which all
// shards share.
func reserve(total *atomic.Int64, n, most int64) bool {
	if n == 0 {
		return true
	}
	if total.Add(n) > most && n > 0 {
		total.Add(-n)
		return false
	}
	return true
}

// delete removes a key, if it is there, and gives its room back.
func (s *store) delete(key string, held int) {
	h := s.shard(key)
	h.mu.Lock()
	defer h.mu.Unlock()
	s.hold(held)
	if old, ok := h.values[key]; ok {
		delete(h.values, key)
		s.keys.Add(-1)
		s.bytes.Add(-int64(len(key) + len(old)))
	}
}
