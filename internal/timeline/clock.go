// Package timeline is where a request's time went: the stamps that client and
// server put on it, all on one clock, and the parts between them, which add up
// to the client's response time exactly. It is the one thing that the measured
// and the measuring half share beside the record. It reads no sockets and judges
// nothing.
package timeline

import (
	"time"

	"golang.org/x/sys/unix"
)

// origin is one moment on both clocks: Go's, which only tells differences, and
// the machine's, which every process on it shares.
var origin = calibrate()

type moment struct {
	at   time.Time
	mono int64 // CLOCK_MONOTONIC, nanoseconds
}

// calibrations is how often the two clocks are compared; the closest counts.
const calibrations = 100

// calibrate reads the machine's clock between two readings of Go's. On Linux
// they are the same clock, and the error is half the time between the two
// readings: some 25 ns.
func calibrate() (best moment) {
	least := time.Duration(1<<63 - 1)
	for range calibrations {
		var ts unix.Timespec
		before := time.Now()
		if unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) != nil {
			continue // no such clock: stamps of two processes cannot be compared
		}
		if took := time.Since(before); took < least {
			least, best = took, moment{before.Add(took / 2), ts.Nano()}
		}
	}
	if best.at.IsZero() {
		best.at = time.Now()
	}
	return best
}

// Now is the machine's monotonic clock in nanoseconds, the same in every process.
func Now() int64 { return origin.mono + int64(time.Since(origin.at)) }

// At is t, which carries a monotonic reading, on the same clock as [Now].
func At(t time.Time) int64 { return origin.mono + int64(t.Sub(origin.at)) }
