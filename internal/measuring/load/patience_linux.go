package load

import (
	"container/heap"
	"math"

	"schedlab/internal/shared/request"
)

// An impatience drives the requests of an open loop that are sent again. A request has one timer at a time: for its next sending,
// or for the end of its present attempt. The first attempts need none: see spinner.expire.
//
// It is all zero in a load without retries.
type impatience struct {
	most    uint8 // retries of a request
	backoff int64
	timers  timers
	ready   []int32 // requests to be sent again that wait for a connection, in the order in which they came; some have ended
}

// A timer is due at a time, of request i as long as that has been sent again as often as tries says.
type timer struct {
	at    int64
	i     int32
	tries uint8
}

// timers are a heap with the next timer first.
type timers []timer

func (t timers) Len() int           { return len(t) }
func (t timers) Less(i, k int) bool { return t[i].at < t[k].at }
func (t timers) Swap(i, k int)      { t[i], t[k] = t[k], t[i] }
func (t *timers) Push(any)          {} // add appends instead, which allocates nothing for a value in an interface
func (t *timers) Pop() any          { return nil }

func (t *timers) add(x timer) {
	*t = append(*t, x)
	heap.Fix(t, len(*t)-1)
}

func (t *timers) take() (x timer) {
	last := len(*t) - 1
	x = (*t)[0]
	t.Swap(0, last)
	if *t = (*t)[:last]; last > 0 {
		heap.Fix(t, 0)
	}
	return x
}

// next returns when the next timer is due; math.MaxInt64 without one.
func (t timers) next() int64 {
	if len(t) == 0 {
		return math.MaxInt64
	}
	return t[0].at
}

// The states of a request that is sent again.
const (
	backingOff = iota + 1 // until its backoff is over
	readyAgain            // it waits for a connection
	underWay              // it was sent
)

// givesUp returns when the client of a request gives up an attempt that began at a time.
func (s *spinner) givesUp(e *entry, began int64) int64 {
	at := began + s.timeout
	if s.patience > 0 {
		at = min(at, e.due+s.patience)
	}
	return at
}

// again reports whether request i will be sent again instead of ending with this outcome: it failed in a way that may not last,
// its retries are not used up, and the backoff is over before its deadline. A request that never got a connection is not among
// them.
func (s *spinner) again(i int, out request.End) bool {
	e := s.log.at(i)
	lasting := out == request.Cut || out == request.Exhausted || out == request.Answered && e.status < 500 && e.status != statusTooMany
	at := s.now + s.retries.backoff
	if e.retries == s.retries.most || lasting || e.conn < 0 || e.again == readyAgain || s.patience > 0 && at >= e.due+s.patience {
		return false
	}
	e.retries, e.again = e.retries+1, backingOff
	// It may end without another attempt, and then has nothing of this one.
	e.ready, e.wrote, e.first, e.status, e.bytes, e.ends = 0, 0, 0, 0, 0, false
	s.retries.timers.add(timer{at, int32(i), e.retries})
	return true
}

// statusTooMany is Too Many Requests (RFC 6585, section 4): the only error of a client that waiting mends.
const statusTooMany = 429

// expireAgain handles the timers that are due.
func (s *spinner) expireAgain() {
	r := &s.retries
	for len(r.timers) > 0 && r.timers[0].at <= s.now {
		t := r.timers.take()
		if int(t.i) < s.oldest { // it has ended, and its slab may be given up
			continue
		}
		switch e := s.log.at(int(t.i)); {
		case e.done > 0 || e.retries != t.tries: // a timer of an attempt that is over
		case e.again == backingOff:
			e.again = readyAgain
			r.ready = append(r.ready, t.i)
			r.timers.add(timer{s.givesUp(e, s.now), t.i, t.tries})
			s.freed = true
		case e.again == readyAgain:
			s.finish(int(t.i), request.TimedOut)
		default:
			s.broken(&s.conns[e.conn], request.TimedOut)
		}
	}
}

// nextAgain takes the request that waits longest to be sent again. ok is false if there is none.
func (s *spinner) nextAgain() (i int, ok bool) {
	r := &s.retries
	for len(r.ready) > 0 && !ok {
		i = int(r.ready[0])
		r.ready = r.ready[1:]
		ok = i >= s.oldest && s.log.at(i).done == 0
	}
	return i, ok
}
