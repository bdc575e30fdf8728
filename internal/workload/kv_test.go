package workload

import (
	"strconv"
	"strings"
	"testing"
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
	if a.kv.bytes != 0 || len(a.kv.values) != 0 {
		t.Errorf("after deleting all: got %d bytes in %d keys, want none", a.kv.bytes, len(a.kv.values))
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
		var s = store{values: map[string][]byte{}}
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
