package load

import "time"

// Sleep blocks for d as the pacer of the engine vegeta does, so that its lateness can be
// measured: on Linux in the kernel, with the calling thread's timer slack set to 1 ns, and
// for 50 µs at least.
func Sleep(d time.Duration) { nanosleep(d) }
