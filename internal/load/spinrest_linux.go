package load

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// settle prepares the process for the way in which the load rests, and says which that
// is. undo takes it back.
//
// Note: the goroutine is not locked to one thread that alone goes first: when Go takes
// the P from a locked goroutine, another thread has to run before it comes back.
func (s *spinner) settle() (rest Rest, undo func()) {
	if !s.sleeps {
		return RestSpins, func() {}
	}
	if !schedule(unix.SCHED_RR, 1) {
		exactTimers()
		return RestWaits, func() {}
	}
	return RestFirst, func() { schedule(unix.SCHED_NORMAL, 0) }
}

// schedule gives all threads of this process a policy, again until no new one shows up.
// It reports whether that is permitted.
func schedule(policy, priority uint32) bool {
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

// exactTimers has sleeps end when they should: by default up to 50 µs later. Where that
// is not permitted the lag says so.
func exactTimers() {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/timerslack_ns", os.Getpid()))
	for _, f := range files {
		_ = os.WriteFile(f, []byte("1"), 0)
	}
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
}

// spun adds what the spinner noted on itself.
func (p *Proof) spun(s *spinner, rest Rest) {
	p.Rest, p.LongestGap, p.Away = rest, time.Duration(s.watch.longest), time.Duration(s.watch.away)
	p.audited(&s.audit)
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
