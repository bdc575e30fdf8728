package main

// A line keeps values for a fixed delay: they leave it in the order in which they came, none before its time.
// Times are nanoseconds of any clock that does not go back. It is not safe for concurrent use.
type line[T any] struct {
	delay  int64
	values []kept[T]
	first  int // of values: those before it have left
}

// A kept value leaves at the time due.
type kept[T any] struct {
	due   int64
	value T
}

// put adds a value that came at a time.
func (l *line[T]) put(now int64, v T) {
	// Where the slice would grow and half of it has left, its room is used again.
	if len(l.values) == cap(l.values) && l.first > len(l.values)/2 {
		n := copy(l.values, l.values[l.first:])
		clear(l.values[n:])
		l.values, l.first = l.values[:n], 0
	}
	l.values = append(l.values, kept[T]{now + l.delay, v})
}

// next returns when the first value is due; ok is false when there is none.
func (l *line[T]) next() (due int64, ok bool) {
	if l.first == len(l.values) {
		return 0, false
	}
	return l.values[l.first].due, true
}

// take removes and returns the first value, if it is due. late is for how long it has been.
func (l *line[T]) take(now int64) (v T, late int64, ok bool) {
	due, ok := l.next()
	if !ok || due > now {
		return v, 0, false
	}
	v = l.values[l.first].value
	l.values[l.first] = kept[T]{}
	if l.first++; l.first == len(l.values) {
		l.values, l.first = l.values[:0], 0
	}
	return v, now - due, true
}
