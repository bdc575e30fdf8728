package arm

import (
	"runtime"
	"testing"
	"unsafe"
)

// A live heap has the size that was asked for, and each entry is in its list.
func TestHold(t *testing.T) {
	const size = 4 << 20
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	index := hold(size)
	runtime.ReadMemStats(&after)
	if got := int64(after.HeapAlloc) - int64(before.HeapAlloc); got < size*95/100 || got > size*105/100 {
		t.Errorf("the heap grew by %d bytes, want %d within 5 %%", got, size)
	}
	first := index[0]
	if got := unsafe.Sizeof(first) + unsafe.Sizeof(*first) + uintptr(len(first.parts))*unsafe.Sizeof(*first.parts[0]); got != entrySize {
		t.Errorf("an entry, its parts and its place have %d bytes, want %d", got, entrySize)
	}
	seen := map[*entry]bool{}
	for e := first; !seen[e]; e = e.newer {
		if seen[e] = true; e.newer.older != e {
			t.Fatal("the list is not the same in both directions")
		}
	}
	if len(seen) != len(index) {
		t.Errorf("the list has %d entries, and the index %d", len(seen), len(index))
	}
}
