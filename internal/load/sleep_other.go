//go:build !linux

package load

import "time"

// nanosleep is time.Sleep off Linux, where this program does not measure.
func nanosleep(d time.Duration) { time.Sleep(d) }
