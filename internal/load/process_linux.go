package load

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// shortestSleep is the shortest pause that is worth its two context switches. Where requests
// are due closer together than this, the later ones are sent up to shortestSleep late. The
// limit halves the generator's CPU time at 40,000 requests per second, and is far below the
// lag that a window may have.
const shortestSleep = 50 * time.Microsecond

// Sleep blocks the calling thread for d, but for no less than 50 µs unless a signal arrives.
// The pacer of the engine vegeta uses it. It sets the thread's timer slack to 1 ns (the
// default is 50 µs), so on an idle core it ends some ten microseconds late. time.Sleep ends up
// to 1 ms late there, because an idle Go process waits in epoll_wait, which counts
// milliseconds.
func Sleep(d time.Duration) {
	runtime.LockOSThread() // the slack belongs to a thread
	defer runtime.UnlockOSThread()
	// If this fails the default slack stays: the sleep ends up to 50 µs later, and the lag
	// shows it.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	ts := unix.NsecToTimespec(int64(max(d, shortestSleep)))
	_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &ts, nil)
}

// processTime returns the CPU time of this process so far; 0 when the kernel does not report it.
func processTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// descriptorLimit returns the number of files that this process may have open.
func descriptorLimit() (n uint64, known bool) {
	var limit unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit)
	return limit.Cur, err == nil
}
