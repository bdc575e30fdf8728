package workload

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
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
		s := newStore(1, 0)
		for i := range maxKeys {
			if !s.put(strconv.Itoa(i), nil, 0) {
				t.Fatalf("key %d did not fit", i)
			}
		}
		if s.put("more", nil, 0) {
			t.Error("a key above the limit was stored")
		}
		if !s.put("0", []byte("v"), 0) {
			t.Error("replacing a key of a full store failed")
		}
	})
}

// Requests are spread over keys by their numbers, the same keys each time, and what the
// query asks is checked.
func TestKVQuery(t *testing.T) {
	t.Parallel()
	a := New(Options{ItersPerMicro: testIters, KVLocks: 64})
	put := func(query, seq string) *Exchange {
		x := &Exchange{Method: "PUT", Path: "/kv/k", Query: query, Seq: seq, Body: []byte("v")}
		a.Serve(x)
		return x
	}
	for range 2 {
		for seq := range 1000 {
			if x := put("keys=16&hold=1us", strconv.Itoa(seq)); x.Status != 204 {
				t.Fatalf("got %d %q, want 204", x.Status, x.Out)
			}
		}
	}
	if n := a.kv.keys.Load(); n != 16 {
		t.Errorf("a thousand requests, twice, have %d keys, want 16", n)
	}
	for i := range 16 {
		if x := ask(a, "GET", "/kv/k-"+strconv.Itoa(i), ""); x.Status != 200 {
			t.Errorf("key %d: got %d, want 200", i, x.Status)
		}
	}
	for query, want := range map[string]string{
		"keys=0":      "keys takes a whole number from 1 to 100000\n",
		"keys=100001": "keys takes a whole number from 1 to 100000\n",
		"hold=":       "hold has no value\n",
		"hold=101ms":  "hold: 101ms is above the cap of 100ms\n",
		"held=1us":    "unknown key \"held\"; /kv takes hold, keys\n",
	} {
		if x := put(query, "1"); x.Status != 400 || string(x.Out) != want {
			t.Errorf("%s: got %d %q, want 400 %q", query, x.Status, x.Out, want)
		}
	}
}

// A handler that computes under its key's lock keeps out those of the same lock alone.
func TestKVHoldsItsLock(t *testing.T) {
	t.Parallel()
	a := New(Options{ItersPerMicro: testIters, KVLocks: 2})
	other := 0
	for a.kv.shard("/other"+strconv.Itoa(other)) == a.kv.shard("mine") {
		other++
	}
	lock := &a.kv.shard("mine").mu
	lock.Lock()
	done := make(chan int, 1)
	go func() {
		x := &Exchange{Method: "PUT", Path: "/kv/mine", Query: "hold=1us"}
		a.Serve(x)
		done <- x.Status
	}()
	if x := ask(a, "PUT", "/kv//other"+strconv.Itoa(other), "v"); x.Status != 204 {
		t.Errorf("a key of another lock: got %d, want 204", x.Status)
	}
	select {
	case <-done:
		t.Error("a key of the same lock was written while that was held")
	default:
	}
	lock.Unlock()
	if status := <-done; status != 204 {
		t.Errorf("got %d, want 204", status)
	}
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
	s := newStore(4, 0)
	s.bytes.Store(maxKeyValue - 10)
	if s.put("k", make([]byte, 10), 0) || s.keys.Load() != 0 || s.bytes.Load() != maxKeyValue-10 {
		t.Errorf("got %d keys and %d bytes, want none and %d", s.keys.Load(), s.bytes.Load(), maxKeyValue-10)
	}
	if !s.put("k", make([]byte, 9), 0) || s.keys.Load() != 1 || s.bytes.Load() != maxKeyValue {
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

// A planted fault has every request for a key sleep under the key's lock.
func TestPlantedLockOfKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const asleep = 2 * time.Millisecond
		a, began := New(Options{ItersPerMicro: 100, PlantLock: asleep}), time.Now()
		for _, method := range []string{"PUT", "GET", "DELETE"} {
			a.Serve(&Exchange{Method: method, Path: "/kv/key"})
		}
		if took := time.Since(began); took != 3*asleep {
			t.Errorf("three requests took %v, want %v each", took, asleep)
		}
	})
}
