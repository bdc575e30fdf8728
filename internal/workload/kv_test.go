package workload

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"unsafe"
)

func TestKVLifeOfAKey(t *testing.T) {
	t.Parallel()
	a := newTestApp()
	check := func(method, target, body string, status int, out string) {
		t.Helper()
		x := ask(a, method, target, body)
		if x.Status != status || string(x.Out) != out {
			t.Errorf("%s %s: got %d %q, want %d %q", method, target, x.Status, x.Out, status, out)
		}
	}
	check("PUT", "/kv/a%2Fb", "one", 204, "")
	check("GET", "/kv/a/b", "", 200, "one")
	check("PUT", "/kv/a/b", "two", 204, "")
	check("HEAD", "/kv/a/b", "", 200, "two")
	check("PUT", "/kv/empty", "", 204, "")
	check("GET", "/kv/empty", "", 200, "")
	check("DELETE", "/kv/a/b", "", 204, "")
	check("GET", "/kv/a/b", "", 404, "no such key\n")
	check("DELETE", "/kv/a/b", "", 204, "")
	check("DELETE", "/kv/empty", "", 204, "")
	if bytes, keys := a.kv.bytes.Load(), a.kv.keys.Load(); bytes != 0 || keys != 0 {
		t.Errorf("after deleting all: got %d bytes in %d keys, want none", bytes, keys)
	}
}

// A value that was read must not change when its key is overwritten.
func TestKVReadersKeepTheirValue(t *testing.T) {
	t.Parallel()
	a := newTestApp()
	ask(a, "PUT", "/kv/k", "first")
	x := ask(a, "GET", "/kv/k", "")
	ask(a, "PUT", "/kv/k", "other")
	if string(x.Out) != "first" {
		t.Errorf("got %q, want %q", x.Out, "first")
	}
}

func TestKVIsBounded(t *testing.T) {
	t.Parallel()
	const full = "the store is full: 100000 keys or 67108864 bytes\n"

	t.Run("bytes", func(t *testing.T) {
		t.Parallel()
		a := newTestApp()
		value := strings.Repeat("v", maxValue)
		stored := 0
		for ask(a, "PUT", "/kv/"+strconv.Itoa(stored), value).Status == 204 {
			stored++
		}
		if want := maxKeyValue/maxValue - 1; stored != want { // keys count too
			t.Errorf("stored %d values, want %d", stored, want)
		}
		if x := ask(a, "PUT", "/kv/more", value); x.Status != 507 || string(x.Out) != full {
			t.Errorf("got %d %q, want 507 %q", x.Status, x.Out, full)
		}
		if x := ask(a, "PUT", "/kv/0", value); x.Status != 204 {
			t.Errorf("replacing a value: got %d, want 204", x.Status)
		}
		ask(a, "DELETE", "/kv/0", "")
		if x := ask(a, "PUT", "/kv/more", value); x.Status != 204 {
			t.Errorf("after making room: got %d, want 204", x.Status)
		}
	})
	t.Run("keys", func(t *testing.T) {
		t.Parallel()
		s := newStore(1)
		for i := range maxKeys {
			if !s.put(strconv.Itoa(i), nil) {
				t.Fatalf("key %d did not fit", i)
			}
		}
		if s.put("more", nil) {
			t.Error("a key above the limit was stored")
		}
		if !s.put("0", []byte("v")) {
			t.Error("replacing a key of a full store failed")
		}
	})
}

// The parser's buffer may be reused as soon as Serve returns.
func TestKVCopiesWhatItStores(t *testing.T) {
	t.Parallel()
	a := newTestApp()
	for range 2 { // the second PUT replaces, and the map then adopts its key
		body := []byte("value")
		x := &Exchange{Method: "PUT", Path: "/kv/k", Body: body}
		a.Serve(x)
		clear(body)
	}
	if x := ask(a, "GET", "/kv/k", ""); string(x.Out) != "value" {
		t.Errorf("got %q, want %q", x.Out, "value")
	}
}

// Any number of locks holds the same keys, within the same limits, and spreads
// them.
func TestKVLocks(t *testing.T) {
	t.Parallel()
	for _, locks := range []int{0, 1, 2, 7, MaxKVLocks, MaxKVLocks + 1} {
		a := New(Options{ItersPerMicro: testIters, KVLocks: locks})
		if got, want := len(a.kv.shards), min(max(locks, 1), MaxKVLocks); got != want {
			t.Errorf("%d locks: got %d, want %d", locks, got, want)
		}
		const writers, keys = 8, 200
		var all sync.WaitGroup
		for w := range writers {
			all.Go(func() {
				for i := range keys {
					key := "/kv/" + strconv.Itoa(w) + "-" + strconv.Itoa(i)
					ask(a, "PUT", key, "first")
					ask(a, "PUT", key, "second")
					if x := ask(a, "GET", key, ""); string(x.Out) != "second" {
						t.Errorf("%d locks: got %q, want %q", locks, x.Out, "second")
					}
					if i%2 == 0 {
						ask(a, "DELETE", key, "")
					}
				}
			})
		}
		all.Wait()
		var keysHeld, bytesHeld, used int64
		for i := range a.kv.shards {
			values := a.kv.shards[i].values
			for k, v := range values {
				keysHeld, bytesHeld = keysHeld+1, bytesHeld+int64(len(k)+len(v))
			}
			used += min(int64(len(values)), 1)
		}
		if keysHeld != writers*keys/2 || a.kv.keys.Load() != keysHeld || a.kv.bytes.Load() != bytesHeld {
			t.Errorf("%d locks: got %d keys and %d bytes, counted %d and %d, want %d keys", locks, keysHeld, bytesHeld,
				a.kv.keys.Load(), a.kv.bytes.Load(), writers*keys/2)
		}
		if half := int64(len(a.kv.shards)+1) / 2; used < half {
			t.Errorf("%d locks: the keys lie behind %d, want at least %d", locks, used, half)
		}
	}
}

// A key that is too large for what is left leaves the counts as they were.
func TestKVRefusalReservesNothing(t *testing.T) {
	t.Parallel()
	s := newStore(4)
	s.bytes.Store(maxKeyValue - 10)
	if s.put("k", make([]byte, 10)) || s.keys.Load() != 0 || s.bytes.Load() != maxKeyValue-10 {
		t.Errorf("got %d keys and %d bytes, want none and %d", s.keys.Load(), s.bytes.Load(), maxKeyValue-10)
	}
	if !s.put("k", make([]byte, 9)) || s.keys.Load() != 1 || s.bytes.Load() != maxKeyValue {
		t.Errorf("got %d keys and %d bytes, want 1 and %d", s.keys.Load(), s.bytes.Load(), maxKeyValue)
	}
}

// The padding that keeps locks apart.
func TestShardFillsTwoCacheLines(t *testing.T) {
	t.Parallel()
	if got := unsafe.Sizeof(shard{}); got%128 != 0 {
		t.Errorf("a shard has %d bytes, want a multiple of 128", got)
	}
}
