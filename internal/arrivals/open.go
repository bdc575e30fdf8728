package arrivals

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// Open reads the file of a KindTrace (see ReadTrace) or KindLog (see ReadAccessLog) and returns
// a Process from which arrivals can be drawn. It returns other kinds unchanged. itersPerMicro is
// as in ReadTrace.
//
// A Process that is opened keeps what it read in memory. Copies share it, and only read it.
func (a Process) Open(itersPerMicro float64) (Process, error) {
	if a.Kind != KindTrace && a.Kind != KindLog {
		return a, nil
	}
	f, err := os.Open(a.File)
	if err != nil {
		return a, fmt.Errorf("opening the %s: %w", a.Kind, err)
	}
	defer f.Close()
	if a.Kind == KindLog {
		a.log, err = ReadAccessLog(a.File, f)
		return a, err
	}
	trace, err := ReadTrace(a.File, f, itersPerMicro)
	a.trace = &trace
	return a, err
}

// eachLine calls f with each line of a file and its number, from 1. A line of more than longest
// bytes is an error. Errors begin with the file's name and the line's number.
func eachLine(name string, r io.Reader, longest int, f func(number int, text string) error) error {
	lines := bufio.NewScanner(r)
	// The scanner's own limit would be 64 KiB.
	lines.Buffer(make([]byte, 0, min(longest, 4<<10)), longest)
	number := 0
	for lines.Scan() {
		number++
		if err := f(number, lines.Text()); err != nil {
			return fmt.Errorf("%s:%d: %w", name, number, err)
		}
	}
	err := lines.Err()
	if err == bufio.ErrTooLong {
		err = fmt.Errorf("the line is longer than %d bytes", longest)
	}
	if err != nil {
		// The scanner stops before the line that it cannot give out.
		return fmt.Errorf("%s:%d: %w", name, number+1, err)
	}
	return nil
}

// Span returns the shortest window that holds all arrivals of an opened trace: 1 ns more than
// the time of the last arrival. It returns 0 for other kinds, which have no end.
func (a Process) Span() time.Duration {
	if a.trace == nil {
		return 0
	}
	return a.trace.At[len(a.trace.At)-1] + 1
}

// Log returns the access log of an opened KindLog; nil for other kinds.
func (a Process) Log() *AccessLog { return a.log }

// OwnRate returns the mean rate of an opened log at its Speed, in requests per second; 0 for
// other kinds.
func (a Process) OwnRate() float64 {
	switch {
	case a.log == nil:
		return 0
	case a.Speed > 0:
		return a.log.Rate() * a.Speed
	}
	return a.log.Rate()
}

// LogSpan returns the time that an opened log lasts at a mean rate in requests per second; 0 for
// other kinds.
func (a Process) LogSpan(rate float64) time.Duration {
	if a.log == nil {
		return 0
	}
	return time.Duration(float64(len(a.log.At)) / rate * float64(time.Second))
}

// Part moves the window of an opened log to stretch number k, from 0. The log, replayed at a
// mean rate, is divided into stretches of length span; after the last one comes the first again.
// Part returns other kinds unchanged.
func (a Process) Part(k int, span time.Duration, rate float64) Process {
	if a.log != nil {
		// Only whole stretches are used: a shorter rest would have a window with a lower rate.
		stretches := max(1, int(a.LogSpan(rate)/span))
		a.offset = time.Duration(k%stretches) * span
	}
	return a
}

// until returns the part of the trace before span. It shares t's memory.
func (t *Trace) until(span time.Duration) Trace {
	// An arrival at span itself belongs to the next window.
	n, _ := slices.BinarySearch(t.At, span)
	part := Trace{At: t.At[:n:n]}
	if t.Demand != nil {
		part.Demand = t.Demand[:n:n]
	}
	return part
}
