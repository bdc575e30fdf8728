package window

import (
	"testing"
	"time"

	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
	"schedlab/internal/shared/stats"
)

// scheduled = good + too late + failed, and the window is past its trouble when its requests get good replies in time again.
func TestDeadlineDividesRequests(t *testing.T) {
	t.Parallel()
	var trial record.TrialRecord
	trial.Window, trial.Server = record.Lasting(time.Second), record.UnknownServer()
	for i := range int64(1000) {
		at := i * 1e6
		r := request.Request{Scheduled: at, Sent: at, Done: at + 5e6, Status: 200}
		switch {
		case i < 200 && i%2 == 0:
			r.Status = 503
		case i < 200:
			r.Outcome, r.Status, r.Done, r.Retries = request.TimedOut, 0, at+50e6, 1
		case i < 250:
			r.Done = at + 51e6 // an answer that came too late
		}
		trial.Requests = append(trial.Requests, r)
	}
	clients := record.Clients{Loop: "open", Rate: 1000, Patience: record.Patience{Deadline: record.Lasting(50 * time.Millisecond), Retries: 1}}
	w := Reduce(trial, record.Env{}, clients)
	if w.Requests != 1000 || w.Good != 750 || w.TooLate != 150 || w.Retries != 100 {
		t.Errorf("got %d good, %d too late and %d retries of %d, want 750, 150 and 100 of 1000", w.Good, w.TooLate, w.Retries, w.Requests)
	}
	for f, want := range map[stats.Figure]float64{stats.InTime: .75, stats.Goodput: 750, stats.Errors: .25, stats.Retries: .1, stats.Recovered: .25} {
		if got := w.Values[f].Float(); got < want || got > want+.016 { // a part of the window is 1/64 s
			t.Errorf("%v: got %g, want %g", f, got, want)
		}
	}
	clients.Patience = record.Patience{}
	if w := Reduce(trial, record.Env{}, clients); w.Good != 800 || w.Values[stats.InTime] != (stats.Opt{}) {
		t.Errorf("without a deadline: got %d good, %v in time, want 800 and nothing", w.Good, w.Values[stats.InTime])
	}
}
