package workload

import (
	"bytes"
	"hash/maphash"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Limits of the store. They keep a client from growing the server without end;
// a full store answers 507, because trying again later may work, where 413
// (one value too large) never will.
const (
	maxKey      = 256      // bytes, after percent-decoding
	maxValue    = 64 << 10 // bytes
	maxKeys     = 100_000  // keys
	maxKeyValue = 64 << 20 // bytes of keys and values together
)

// MaxKVLocks is the largest number of locks /kv can have.
const MaxKVLocks = 256

// A store is what /kv/{key} reads and writes: keys spread by a hash over shards,
// each behind an RWMutex. With one shard the lock is the contention it is there to
// show; with many, what finer locks gain. A stored value is never written again,
// so a reader may keep it after the lock is gone.
type store struct {
	shards []shard
	seed   maphash.Seed
	keys   atomic.Int64
	bytes  atomic.Int64  // keys and values
	asleep time.Duration // under a lock, for each request
}

type shard struct {
	mu     sync.RWMutex
	values map[string][]byte
	_      [96]byte // to 128 bytes: no two locks share a cache line, nor the pair a core fetches
}

func newStore(locks int, asleep time.Duration) *store {
	s := &store{shards: make([]shard, max(locks, 1)), seed: maphash.MakeSeed(), asleep: asleep}
	for i := range s.shards {
		s.shards[i].values = map[string][]byte{}
	}
	return s
}

func (s *store) shard(key string) *shard {
	if len(s.shards) == 1 {
		return &s.shards[0]
	}
	return &s.shards[maphash.String(s.seed, key)%uint64(len(s.shards))]
}

// serveKV reads or writes a key. In the query ?hold= says for how long the handler computes
// while it has the key's lock, and ?keys=N spreads requests over N keys: each has its own
// number, which the request's draws, after {key}.
func (a *App) serveKV(x *Exchange, key string) {
	held := 0
	for pair := range strings.SplitSeq(x.Query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		base := rand.Uint64()
		if x.Seq != "" {
			base = hash64(x.Seq)
		}
		switch name {
		case "":
		case "hold":
			d, err := draw(value, maxLock, base^streamLock)
			if err != nil {
				x.fail(400, "hold: %v", err)
				return
			}
			held = a.planted(a.iters(d))
		case "keys":
			n, err := strconv.ParseUint(value, 10, 63)
			if err != nil || n == 0 || n > maxKeys {
				x.fail(400, "keys takes a whole number from 1 to %d", maxKeys)
				return
			}
			key += "-" + strconv.FormatUint(base%n, 10)
		default:
			x.fail(400, "unknown key %+.40q; /kv takes hold and keys", name)
			return
		}
	}
	a.kv.serve(x, key, held)
}

// serve answers one request; held is how many iterations are computed under the key's lock.
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
		// Cloned even for a key that is present: assigning to a string-keyed map
		// replaces the stored key too, and this one may alias the parser's buffer.
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

// hold keeps the lock that the caller has.
func (s *store) hold(iters int) {
	Spin(iters)
	time.Sleep(s.asleep)
}

func (s *store) get(key string, held int) ([]byte, bool) {
	h := s.shard(key)
	h.mu.RLock()
	defer h.mu.RUnlock()
	s.hold(held)
	value, ok := h.values[key]
	return value, ok
}

// put takes ownership of key and value and reports whether they fitted.
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

// reserve adds n to total unless that would exceed most. Replacing a value by one
// of its size leaves the totals, which all shards share, alone.
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
