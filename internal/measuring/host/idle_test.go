package host

import (
	"testing"
	"time"

	"schedlab/internal/shared/cpuset"
)

// The idle time of a CPU never falls, and grows no faster than time. Where one CPU has no clock, there is none.
func TestIdleClock(t *testing.T) {
	t.Parallel()
	for _, none := range []cpuset.Set{nil, {1 << 20}, {0, 1 << 20}} {
		if c := NewIdleClock(none); c != nil {
			t.Errorf("CPUs %v have the clock %v", none, c)
		}
		if _, ok := NewIdleClock(none).Read(); ok {
			t.Errorf("the idle time of CPUs %v is known", none)
		}
	}
	c, begun := NewIdleClock(cpuset.Set{0}), time.Now()
	if c == nil {
		t.Log("this kernel tells no idle times")
		return
	}
	first, _ := c.Read()
	last := first
	for range 100 {
		next, ok := c.Read()
		if !ok || next < last {
			t.Fatalf("%v after %v (read: %v)", next, last, ok)
		}
		last = next
	}
	// A CPU that was idle at the first reading adds that time when it wakes up, for which a minute is ample.
	if grown := last - first; grown > time.Since(begun)+time.Minute {
		t.Errorf("%v idle in %v", grown, time.Since(begun))
	}
}
