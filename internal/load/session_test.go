package load

import (
	"math"
	"testing"
	"time"
)

func TestSumSessions(t *testing.T) {
	t.Parallel()
	var all []Session
	for i := range 100 {
		all = append(all, Session{Began: 5, Ended: 5 + int64(i+1)*int64(time.Millisecond), Good: 9, Failed: 1})
	}
	all = append(all, Session{Began: 5, Ended: int64(time.Hour), Good: 2, Failed: 1, Broken: true})
	s := SumSessions(all)
	if s.Complete != 100 || s.Broken != 1 || s.Good != 902 || s.Failed != 101 || s.Duration.Count != 100 || math.Abs(s.Duration.P90-.09) > .001 || s.Duration.Max > .101 {
		t.Errorf("got %+v; want 100 complete ones of up to 100ms, and the broken one in no time", s)
	}
}
