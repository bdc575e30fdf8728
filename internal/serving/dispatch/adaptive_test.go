package dispatch

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A shift runs jobs of equal length, and notes how old each was when it was
// taken or refused.
type shift struct {
	service     time.Duration
	mu          sync.Mutex
	ran, denied []time.Duration
}

func (s *shift) run(put time.Time) {
	s.note(&s.ran, put)
	time.Sleep(s.service)
}

func (s *shift) refuse(put time.Time, _ Why) { s.note(&s.denied, put) }

func (s *shift) note(ages *[]time.Duration, put time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*ages = append(*ages, time.Since(put))
}

// clear returns what was noted since it was last called, sorted.
func (s *shift) clear() (ran, denied []time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ran, denied = s.ran, s.denied
	s.ran, s.denied = nil, nil
	slices.Sort(ran)
	slices.Sort(denied)
	return ran, denied
}

// offer puts a job every so often.
func offer(d Dispatcher[time.Time], every, lasts time.Duration) {
	for began := time.Now(); time.Since(began) < lasts; sleep(every) {
		d.Put(time.Now())
	}
}

// underShift runs f with four workers that need 20 ms for a job, 200 a second.
func underShift(t *testing.T, kind Kind, f func(t *testing.T, d Dispatcher[time.Time], s *shift)) {
	synctest.Test(t, func(t *testing.T) {
		s := &shift{service: 20 * time.Millisecond}
		d := New(kind, Options[time.Time]{
			Settings: Settings{Workers: 4, Depth: 1 << 10, Overflow: CoDel, Target: DefaultTarget, Interval: DefaultInterval}, Run: s.run, Refuse: s.refuse,
		})
		d.Start()
		f(t, d, s)
		d.Close()
	})
}

// Under overload the adaptive queue refuses within twice the target and one
// arrival, though every worker is busy for longer, and loses no work. It must not
// take the emptiness that refusing makes for the end of the overload: then every
// other interval would let jobs wait for all of it.
func TestAdaptiveRefusesEarly(t *testing.T) {
	t.Parallel()
	for _, times := range []int{2, 3, 5, 10} {
		t.Run(fmt.Sprintf("times=%d", times), func(t *testing.T) {
			t.Parallel()
			every := second / time.Duration(200*times)
			underShift(t, Adaptive, func(t *testing.T, d Dispatcher[time.Time], s *shift) {
				offer(d, every, second) // the first intervals are still a burst
				s.clear()
				offer(d, every, 10*second)
				ran, denied := s.clear()
				t.Logf("%d run, the slowest after %v; %d refused, the slowest after %v", len(ran), ran[len(ran)-1], len(denied), denied[len(denied)-1])
				if late := denied[len(denied)-1]; late > 2*DefaultTarget+every {
					t.Errorf("got a refusal after %v, want all within %v", late, 2*DefaultTarget+every)
				}
				if got := len(ran); got < 2000*97/100 {
					t.Errorf("got %d jobs run in ten seconds, want about 2000", got)
				}
			})
		})
	}
}

// When an overload is over, a queue forgets it: at four fifths of the capacity
// nothing is refused, and bursts pass as before.
func TestCoDelForgets(t *testing.T) {
	t.Parallel()
	for _, kind := range []Kind{Shared, Adaptive} {
		underShift(t, kind, func(t *testing.T, d Dispatcher[time.Time], s *shift) {
			offer(d, time.Millisecond, 5*second)
			if _, denied := s.clear(); len(denied) < 3500 {
				t.Errorf("%v: got %d refused, want four of five", kind, len(denied))
			}
			const every = 6250 * time.Microsecond
			offer(d, every, 2*DefaultInterval)
			s.clear()
			offer(d, every, second)
			if _, denied := s.clear(); len(denied) != 0 {
				t.Errorf("%v: got %d refused at four fifths of the capacity, want none", kind, len(denied))
			}
			sleep(second)
			for range 16 { // 80 ms of work at once
				d.Put(time.Now())
			}
			sleep(second)
			if _, denied := s.clear(); len(denied) != 0 {
				t.Errorf("%v: got %d of a burst refused, want none", kind, len(denied))
			}
		})
	}
}
