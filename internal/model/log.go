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
type seldom struct{ next atomic.Int64 } // Unix ns

func (s *seldom) now() bool {
	now, next := time.Now().UnixNano(), s.next.Load()
	return now >= next && s.next.CompareAndSwap(next, now+int64(warnEvery))
}

// quietLog keeps what an HTTP library says of broken clients out of the log
// unless it is asked for: it is not news, and clients must not fill a disk.
type quietLog struct{ *slog.Logger }

func (q quietLog) Printf(format string, args ...any) { q.Debug(fmt.Sprintf(format, args...)) }

func (q quietLog) Write(p []byte) (int, error) {
	q.Debug(string(p))
	return len(p), nil
}
