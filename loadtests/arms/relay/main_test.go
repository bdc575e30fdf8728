package main

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Half of a round trip is the delay of one direction.
func TestHalfOf(t *testing.T) {
	t.Parallel()
	for rtt, want := range map[string]time.Duration{"": 0, "0s": 0, "2ms": time.Millisecond, "25ms": 12500 * time.Microsecond} {
		if got, err := halfOf(rtt); got != want || err != nil {
			t.Errorf("%q: got %v, %v, want %v", rtt, got, err, want)
		}
	}
	for _, rtt := range []string{"2", "-2ms", "x"} {
		if got, err := halfOf(rtt); err == nil {
			t.Errorf("%q: got %v, want an error", rtt, got)
		}
	}
}
