package model

import (
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"
)

// warnEvery bounds how often a state that lasts, or comes and goes, is warned of.
const warnEvery = 10 * time.Second

// A seldom says yes at most once in [warnEvery]. It is safe for concurrent use.
// Somebody who sets the machine's clock neither silences it nor makes it talk.
type seldom struct{ last atomic.Pointer[time.Time] }

func (s *seldom) now() bool {
	last := s.last.Load()
	if last != nil && time.Since(*last) < warnEvery {
		return false
	}
	return s.last.CompareAndSwap(last, new(time.Now()))
}

// quietLog keeps what an HTTP library says of broken clients out of the log
// unless it is asked for: it is not news, and clients must not fill a disk.
type quietLog struct{ *slog.Logger }

func (q quietLog) Printf(format string, args ...any) { q.Debug(fmt.Sprintf(format, args...)) }

func (q quietLog) Write(p []byte) (int, error) {
	q.Debug(string(p))
	return len(p), nil
}
