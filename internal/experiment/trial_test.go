package experiment

import (
	"testing"

	"schedlab/internal/record"
)

// Only requests that found no server at the end of a trial are worth waiting for
// its death.
func TestBrokeOff(t *testing.T) {
	t.Parallel()
	at := func(done int64, how record.Outcome) record.Request { return record.Request{Done: done, Outcome: how} }
	for _, c := range []struct {
		requests []record.Request
		want     bool
	}{
		{nil, false},
		{[]record.Request{at(1, record.Answered), at(2, record.Reset)}, true},
		{[]record.Request{at(3, record.Refused), at(2, record.Answered)}, true},
		{[]record.Request{at(3, record.Answered), at(2, record.Reset)}, false},
		{[]record.Request{at(1, record.Reset), at(2, record.TimedOut)}, false},
	} {
		if got := brokeOff(c.requests); got != c.want {
			t.Errorf("%v: got %v, want %v", c.requests, got, c.want)
		}
	}
}
