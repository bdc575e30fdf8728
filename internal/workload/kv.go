package workload

import (
	"bytes"
	"strings"
	"sync"
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

// A store is the map behind /kv/{key}, under one RWMutex: a global lock is the
// contention it is there to show. A stored value is never written again, so a
// reader may keep it after the lock is gone.
type store struct {
	mu     sync.RWMutex
	values map[string][]byte
	bytes  int // keys and values
}

func (s *store) serve(x *Exchange, key string) {
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
		if !s.put(strings.Clone(key), bytes.Clone(x.Body)) {
			x.fail(507, "the store is full: %d keys or %d bytes", maxKeys, maxKeyValue)
			return
		}
		x.answer(204, "", nil)
	case "DELETE":
		s.delete(key)
		x.answer(204, "", nil)
	default:
		value, ok := s.get(key)
		if !ok {
			x.fail(404, "no such key")
			return
		}
		x.answer(200, octetStream, value)
	}
}

func (s *store) get(key string) ([]byte, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	value, ok := s.values[key]
	return value, ok
}

// put takes ownership of key and value and reports whether they fitted.
func (s *store) put(key string, value []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, replaces := s.values[key]
	grown := s.bytes + len(value) - len(old)
	if !replaces {
		grown += len(key)
	}
	if grown > maxKeyValue || !replaces && len(s.values) >= maxKeys {
		return false
	}
	s.values[key], s.bytes = value, grown
	return true
}

func (s *store) delete(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, ok := s.values[key]; ok {
		delete(s.values, key)
		s.bytes -= len(key) + len(old)
	}
}
