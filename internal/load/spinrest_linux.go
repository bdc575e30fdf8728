package load

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// settle prepares the thread for the way in which the load rests, and says which that
// is. undo takes it back.
func (s *spinner) settle() (rest Rest, undo func()) {
	if !s.sleeps {
		return RestSpins, func() {}
	}
	runtime.LockOSThread() // timer slack and scheduling belong to a thread
	// A failure leaves the default slack: later by 50 µs, and the lag says so.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	first := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: 1}
	if unix.SchedSetAttr(0, &first, 0) != nil {
		return RestWaits, runtime.UnlockOSThread
	}
	return RestFirst, func() {
		if unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL}, 0) == nil {
			runtime.UnlockOSThread() // else the thread ends with its goroutine
		}
	}
}

// spun adds what the spinner noted on itself.
func (p *Proof) spun(s *spinner, rest Rest) {
	p.Rest, p.LongestGap, p.Away = rest, time.Duration(s.watch.longest), time.Duration(s.watch.away)
	if p.Elapsed > 0 {
		p.Busy = min(1, float64(s.watch.work)/float64(p.Elapsed))
	}
}

// freeDescriptors is how many connections this process may open.
func freeDescriptors() int {
	limit, known := descriptorLimit()
	if !known || limit > MaxConnections+spareDescriptors {
		return MaxConnections
	}
	return max(1, int(limit)-spareDescriptors)
}
