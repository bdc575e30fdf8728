package main

import "testing"

// Values leave in the order in which they came, none before its time, however long the line grows.
func TestLine(t *testing.T) {
	t.Parallel()
	l := line[int]{delay: 100}
	if _, ok := l.next(); ok {
		t.Error("an empty line has a next value")
	}
	came, left := 0, 0
	for now := int64(0); left < 5000; now += 7 {
		for range now % 4 { // none to three at a time, and none after the first half
			if came < 5000 {
				l.put(now, came)
				came++
			}
		}
		for {
			due, some := l.next()
			v, late, ok := l.take(now)
			if ok != (some && due <= now) {
				t.Fatalf("at %d: taken %v, due at %d", now, ok, due)
			}
			if !ok {
				break
			}
			if v != left || late != now-due || late >= 7 {
				t.Fatalf("at %d: got value %d, %d late, want value %d, due at %d", now, v, late, left, due)
			}
			left++
		}
	}
	if n := cap(l.values); n > 256 {
		t.Errorf("a line that had some forty values at a time keeps room for %d", n)
	}
}

// A value is kept for the whole delay.
func TestLineDelay(t *testing.T) {
	t.Parallel()
	l := line[string]{delay: 1000}
	l.put(5, "a")
	l.put(6, "b")
	if _, _, ok := l.take(1004); ok {
		t.Error("a value left before its time")
	}
	if v, late, ok := l.take(1005); v != "a" || late != 0 || !ok {
		t.Errorf("got %q, %d late, %v", v, late, ok)
	}
	if v, late, ok := l.take(1016); v != "b" || late != 10 || !ok {
		t.Errorf("got %q, %d late, %v", v, late, ok)
	}
}
