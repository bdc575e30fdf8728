package dispatch

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// A full queue: one job of a minute in service and jobs of 1, 2 s waiting, then
// one of 3 s.
func TestOverflow(t *testing.T) {
	for _, tc := range []struct {
		overflow string
		ran      []time.Duration
		why      Why
		refused  []time.Duration
		blocked  time.Duration
	}{
		{overflow: Block, ran: []time.Duration{time.Minute, second, 2 * second, 3 * second}, blocked: time.Minute},
		{overflow: Reject, ran: []time.Duration{time.Minute, second, 2 * second}, why: Full, refused: []time.Duration{3 * second}},
		{overflow: Drop, ran: []time.Duration{time.Minute, second, 2 * second}, why: Dropped, refused: []time.Duration{3 * second}},
		{overflow: DropOldest, ran: []time.Duration{time.Minute, 2 * second, 3 * second}, why: Evicted, refused: []time.Duration{second}},
		{overflow: CoDel, ran: []time.Duration{time.Minute, second, 2 * second}, why: Full, refused: []time.Duration{3 * second}},
	} {
		t.Run(tc.overflow, func(t *testing.T) {
			each(t, all, func(t *testing.T, kind Kind, o Options[time.Duration]) {
				o.Target, o.Interval = time.Hour, time.Hour // nothing ages
				o.Workers, o.Depth, o.Overflow = 1, 2, tc.overflow
				in(t, kind, o, func(t *testing.T, d Dispatcher[time.Duration], l *ledger) {
					put(d, time.Minute, second, 2*second)
					began := time.Now()
					d.Put(3 * second)
					blocked := time.Since(began)
					synctest.Wait()
					if blocked != tc.blocked {
						t.Errorf("Put took %v, want %v", blocked, tc.blocked)
					}
					if !slices.Equal(l.read().refused[tc.why], tc.refused) {
						t.Errorf("got refused %v, want %v as %v", l.read().refused, tc.refused, tc.why)
					}
					sleep(time.Hour)
					if !slices.Equal(l.read().ran, tc.ran) {
						t.Errorf("got run %v, want %v", l.read().ran, tc.ran)
					}
				})
			})
		})
	}
}
