package judge

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/record"
)

// An arm's connections over time are medians of its windows', and the readings those of one
// block for all arms; an arm of which one window told nothing has none.
func TestCounters(t *testing.T) {
	t.Parallel()
	s := synthetic{edit: func(trial *record.Trial, requests []record.Request) []record.Request {
		n := int64(trial.Block)
		if trial.Arm == "pool" && n == 5 {
			return requests
		}
		trial.Server.Readings = []record.Reading{ // in the first half 10 n more are accepted than done
			{At: 0, Accepted: 20, Done: 20},
			{At: .5, Accepted: 20 + 20*n, Done: 20 + 10*n, Open: 10 * n},
			{At: 1, Accepted: 20 + 30*n, Done: 20 + 30*n},
		}
		return requests
	}}
	r := s.judged(t)
	for _, a := range r.Arms {
		if a.Name == "pool" {
			if a.Counters != nil {
				t.Errorf("pool told nothing in a block: got %+v", a.Counters)
			}
			continue
		}
		got := *a.Counters
		if got.Block != 6 || len(got.Readings) != 3 || got.Readings[1].Open != 60 {
			t.Errorf("%s: got the readings of block %d, %+v; want those of 6", a.Name, got.Block, got.Readings)
		}
		got.Readings = nil
		if want := (record.Counters{OpenPeak: 65, Accepted: 195, AcceptedPeak: 260, Done: 195, DonePeak: 260, Block: 6}); !cmp.Equal(got, want) {
			t.Errorf("%s: got %+v, want %+v, of blocks 1 to 12", a.Name, got, want)
		}
	}
}
