package arm

import (
	"runtime"
	"runtime/debug"
	"testing"
	"unsafe"

	"schedlab/internal/shared/workload"
)

// A live heap has the size that was asked for, each entry is in its list, and GOGC is as before.
func TestHold(t *testing.T) {
	const size = 4 << 20
	defer debug.SetGCPercent(debug.SetGCPercent(150))
	app := workload.New(workload.Options{})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	index := hold(app, size)
	runtime.ReadMemStats(&after)
	if got := int64(after.HeapAlloc) - int64(before.HeapAlloc); got < size*95/100 || got > size*105/100 {
		t.Errorf("the heap grew by %d bytes, want %d within 5 %%", got, size)
	}
	if got, want := after.TotalAlloc-before.TotalAlloc, uint64(size+garbage(size, 150)); got < want*95/100 || got > want*105/100 {
		t.Errorf("%d bytes were allocated, want %d within 5 %%", got, want)
	}
	if got := debug.SetGCPercent(150); got != 150 {
		t.Errorf("GOGC is %d, want 150", got)
	}
	runtime.KeepAlive(app)
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

// A heap that may double has garbage of its own size at the end of a collection, and more for what stayed since the
// one before. Without GOGC and a limit no collection begins.
func TestGarbage(t *testing.T) {
	for gogc, want := range map[int]int{50: 1100, 100: 1800, 400: 6000, -1: 0} {
		if got := garbage(1000, gogc); got != want {
			t.Errorf("GOGC=%d: got %d, want %d", gogc, got, want)
		}
	}
}

// Spending ends with a collection.
func TestSpend(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	before := collections()
	spend(workload.New(workload.Options{}), 1<<40) // would take for ever
	if collections() == before {
		t.Error("no collection")
	}
}
