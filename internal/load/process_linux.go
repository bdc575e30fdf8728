package load

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// shortestSleep is the shortest pause worth its two context switches: of requests that are
// due closer together the later ones are sent up to so much late. It halves the
// generator's CPU time at 40,000 requests per second, and is far below the lag that a
// window may have.
const shortestSleep = 50 * time.Microsecond

// Sleep blocks the calling thread for d as the pacer of the engine vegeta does: for 50 µs at
// least, or less when a signal arrives. The thread's timer slack is set to 1 ns (the default is
// 50 µs), so it ends some ten microseconds late on an idle core where time.Sleep
// ends up to 1 ms late: an idle Go process waits in epoll_wait, which counts
// milliseconds.
func Sleep(d time.Duration) {
	runtime.LockOSThread() // the slack belongs to a thread
	defer runtime.UnlockOSThread()
	// A failure leaves the default slack: later by 50 µs, and the lag says so.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	ts := unix.NsecToTimespec(int64(max(d, shortestSleep)))
	_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &ts, nil)
}

// processTime is the CPU time of this process so far; 0 when the kernel does not report it.
func processTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// descriptorLimit is how many files this process may have open.
func descriptorLimit() (n uint64, known bool) {
	var limit unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit)
	return limit.Cur, err == nil
}
