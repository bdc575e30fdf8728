package experiment

import (
	"testing"

	"schedlab/internal/record"
)

// Of what a server tells, the record has the window and the last reading before it; of a
// long window so many readings as a chart needs, with the one that has most connections open.
func TestReadingsOfAWindow(t *testing.T) {
	t.Parallel()
	var all []record.Reading
	for i := range 601 { // from 2 s before the window on
		all = append(all, record.Reading{At: float64(i-20)/10 + .03, Accepted: int64(i), Open: int64(i % 7)})
	}
	all[333].Open = 1000
	got := within(all, 1)
	if len(got) != 11 || got[0].Accepted != 19 || got[10].Accepted != 29 {
		t.Errorf("a window of 1 s has %+v, want the last reading before it and ten", got)
	}
	if got := within(all, 100); len(got) != 582 {
		t.Errorf("a window beyond the last reading has %d, want all from the last before it", len(got))
	}
	if got := within(all[30:], 1); len(got) != 0 {
		t.Errorf("a window before the first reading has %+v", got)
	}
	thin, peak, last := thinned(within(all, 58)), int64(0), int64(-1)
	for _, r := range thin {
		if r.Accepted <= last {
			t.Errorf("%d follows %d", r.Accepted, last)
		}
		last, peak = r.Accepted, max(peak, r.Open)
	}
	if len(thin) < mostReadings/2 || len(thin) > mostReadings || peak != 1000 {
		t.Errorf("582 readings are thinned to %d with %d open at most, want %d at the most and 1000", len(thin), peak, mostReadings)
	}
}
