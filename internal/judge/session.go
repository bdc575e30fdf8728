package judge

import (
	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// sessions are those of an arm's valid windows; nil when its clients had none, or
// that is not known.
func (j *Judge) sessions(arm string) *record.SessionTimes {
	var t *record.SessionTimes
	var p50, p90 []float64
	for _, block := range j.valid {
		s := j.windows[block][arm].Trial.Client.Sessions
		if s == nil {
			return nil
		}
		if t == nil {
			t = &record.SessionTimes{PerWindow: s.Complete}
		}
		t.Complete, t.Broken, t.PerWindow = t.Complete+s.Complete, t.Broken+s.Broken, min(t.PerWindow, s.Complete)
		p50, p90 = append(p50, s.Duration.P50), append(p90, s.Duration.P90)
	}
	if t == nil {
		return nil
	}
	if t.PerWindow >= stats.MinRequests(.5) {
		t.P50 = new(stats.Median(p50))
	}
	if t.PerWindow >= stats.MinRequests(.9) {
		t.P90 = new(stats.Median(p90))
	}
	return t
}
