package load

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"schedlab/internal/record"
)

// applyRest prepares the process for the way in which the load waits between requests, and
// returns that way. undo reverses the preparations.
//
// Note: the goroutine is not locked to a single thread with SCHED_RR: when Go takes the P
// from a locked goroutine, another thread has to run before it comes back.
// There are three ways. With a CPU to itself the spinner polls all the time. With a shared CPU it
// sleeps, and the process becomes SCHED_RR, so that it runs as soon as it wakes. Where SCHED_RR is
// not permitted it sleeps under the normal policy.
func (s *spinner) applyRest() (rest string, undo func()) {
	if !s.sleeps {
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

// addSpinner adds what the spinner measured of itself.
// Busy is the share of time in turns that did something; it replaces the process's CPU time, which is
// near 1 for a spinner even if nothing is due.
func (p *Proof) addSpinner(s *spinner, rest string) {
	p.Rest, p.LongestGap, p.Away = rest, time.Duration(s.watch.longest).Seconds(), time.Duration(s.watch.away).Seconds()
	p.addReadAudit(&s.audit)
	if p.Elapsed > 0 {
		p.Busy = min(1, time.Duration(s.watch.work).Seconds()/p.Elapsed)
	}
}

// maxOpenConns returns the number of connections that this process may open.
func maxOpenConns() int {
	limit, known := descriptorLimit()
	if !known || limit > MaxConnections+spareDescriptors {
		return MaxConnections
	}
	return max(1, int(limit)-spareDescriptors)
}
