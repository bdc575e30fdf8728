// Package timeline shows where a request's time went. It defines the stamps that
// client and server put on a request, all on one clock, and the parts between
// them, which add up to the client's response time exactly. Apart from the record
// it is the only thing that the measured and the measuring half share. It reads no
// sockets and judges nothing.
package timeline

import (
	"time"

	"golang.org/x/sys/unix"
)

// origin is one moment on two clocks: Go's, which gives only differences, and the
// machine's, which all its processes share.
var origin = calibrate()

// A moment is one instant as both clocks show it.
type moment struct {
	at   time.Time
	mono int64 // CLOCK_MONOTONIC, nanoseconds
}

// calibrations is the number of comparisons of the two clocks; the closest one counts.
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

// Now returns the time on the machine's monotonic clock in nanoseconds. The clock is the same in
// every process of the machine. Now is safe for concurrent use.
func Now() int64 { return origin.mono + int64(time.Since(origin.at)) }

// At converts t to nanoseconds on the clock of [Now]. t must carry a monotonic reading.
func At(t time.Time) int64 { return origin.mono + int64(t.Sub(origin.at)) }
