package load

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"schedlab/internal/measuring/arrivals"
)

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// evenly returns arrivals within [0, span) at a constant rate per second.
func evenly(rate float64, span time.Duration) []time.Duration {
	return arrivals.Process{Kind: arrivals.KindConstant}.Draw(rate, span, nil).At
}

func TestAttackRefusesBadOptions(t *testing.T) {
	t.Parallel()
	good := Target{Method: "GET", URL: "http://server/work"}
	for want, o := range map[string]Options{
		"no targets":     {},
		"one server":     {Targets: []Target{good, {Method: "GET", URL: "http://server:81/"}}},
		"2 demands for":  {Targets: []Target{good}, Trace: arrivals.Trace{At: make([]time.Duration, 1), Demand: make([]arrivals.Demand, 2)}},
		"sort the":       {Targets: []Target{good}, Trace: arrivals.Trace{At: []time.Duration{2, 1}}},
		"never negative": {Targets: []Target{good}, Trace: arrivals.Trace{At: []time.Duration{0}, Demand: []arrivals.Demand{{Sleep: -1}}}},
		"has its own":    {Targets: []Target{{Method: "GET", URL: "http://server/work?cpu=1ms"}}, Trace: arrivals.Trace{At: []time.Duration{0}, Demand: []arrivals.Demand{{}}}},
	} {
		if res, err := Attack(t.Context(), o); res != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, %v; want an error with %q", res, err, want)
		}
	}
}
