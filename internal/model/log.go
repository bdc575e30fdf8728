package model

import (
	"fmt"
	"log/slog"
)

// quietLog keeps what an HTTP library says of broken clients out of the log
// unless it is asked for: it is not news, and clients must not fill a disk.
type quietLog struct{ *slog.Logger }

func (q quietLog) Printf(format string, args ...any) { q.Debug(fmt.Sprintf(format, args...)) }

func (q quietLog) Write(p []byte) (int, error) {
	q.Debug(string(p))
	return len(p), nil
}
