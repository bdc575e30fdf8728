package model

import (
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"
)

// warnEvery is the shortest time between two warnings of the same state.
const warnEvery = 10 * time.Second

// A warnLimiter allows a warning at most once in [warnEvery]. It is safe for concurrent use,
// and setting the machine's clock does not disturb it.
type warnLimiter struct{ last atomic.Pointer[time.Time] }

func (s *warnLimiter) allow() bool {
	last := s.last.Load()
	if last != nil && time.Since(*last) < warnEvery {
		return false
	}
	return s.last.CompareAndSwap(last, new(time.Now()))
}

// quietLog logs what an HTTP library says of broken clients at level debug: it is of no use in
// general, and clients must not be able to fill a disk.
type quietLog struct{ *slog.Logger }

func (q quietLog) Printf(format string, args ...any) { q.Debug(fmt.Sprintf(format, args...)) }

func (q quietLog) Write(p []byte) (int, error) {
	q.Debug(string(p))
	return len(p), nil
}
