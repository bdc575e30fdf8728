package load

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"schedlab/internal/shared/record"
)

// shortestSleep is the shortest pause that is worth its two context switches. Where requests
// are due closer together than this, the later ones are sent up to shortestSleep late. The
// limit halves the generator's CPU time at 40,000 requests per second.
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

// applyRest prepares the process for the way in which the load waits between requests, and
// returns that way. undo reverses the preparations. With a CPU to itself the spinner polls all the
// time. With a shared CPU it sleeps, and the process becomes SCHED_RR, so that it runs as soon as it
// wakes. Where SCHED_RR is not permitted it sleeps under the normal policy.
//
// Note: with SCHED_RR, too, the goroutine is not locked to a thread. See spinner.
func (s *spinner) applyRest() (rest string, undo func()) {
	if !s.options.Shared {
		return record.RestSpins, func() {}
	}
	if !setPolicy(unix.SCHED_RR, 1) {
		exactTimers()
		return record.RestWaits, func() {}
	}
	return record.RestFirst, func() { setPolicy(unix.SCHED_NORMAL, 0) }
}

// setPolicy sets the scheduling policy of all threads of this process. It repeats until no
// new thread has appeared. It reports whether that is permitted.
func setPolicy(policy, priority uint32) bool {
	// A thread that a changed one creates inherits the policy. Threads that others create meanwhile do not,
	// so the list is read again until it stays the same.
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: policy, Priority: priority}
	for seen, last := 0, -1; seen != last; {
		last = seen
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return false
		}
		seen = len(threads)
		for _, t := range threads {
			id, _ := strconv.Atoi(t.Name())
			if err := unix.SchedSetAttr(id, &attr, 0); err != nil && err != unix.ESRCH {
				return false
			}
		}
	}
	return true
}

// exactTimers sets the timer slack of all threads to 1 ns. With the default slack sleeps end
// up to 50 µs late. Where setting it is not permitted, the lag shows it.
func exactTimers() {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/timerslack_ns", os.Getpid()))
	for _, f := range files {
		_ = os.WriteFile(f, []byte("1"), 0)
	}
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
}
