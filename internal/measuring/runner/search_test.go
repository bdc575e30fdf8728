package runner

import (
	"strings"
	"testing"
	"time"

	"schedlab/internal/measuring/scenario"
	"schedlab/internal/measuring/scenario/demo"
	"schedlab/internal/shared/record"
)

// A timed is a search with these times. The rest of it is not called.
type timed struct {
	Search
	times SearchTimes
}

func (timed) Record(p *record.Plan) { p.SLO = "p99<=10ms" }

func (s timed) Times(SearchTimes, float64) (SearchTimes, error) { return s.times, nil }

// An arm of a search is probed once, whatever others take: its budget has room for one probe.
func TestASearchProbesAnArmOnce(t *testing.T) {
	t.Parallel()
	o := options()
	o.Search = timed{times: SearchTimes{Window: 3 * time.Second, Budget: 90 * time.Second}}
	p, err := newPlan(parsed(t, demo.Text), o)
	if err != nil {
		t.Fatal(err)
	}
	probes := 0
	_, err = p.calmest(func() (throughput, error) { probes++; return throughput{taken: 1}, nil })
	if err != nil || probes != 1 {
		t.Errorf("an arm is probed %d times, and its budget has room for one probe; error %v", probes, err)
	}
}

func TestLoadsThatASearchCannotSetAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ load, want string }{
		{"{loop: closed, connections: 8}", "is asked in a closed loop"},
		{"{rate: 300/s, arrivals: 'sine(0.5,2s)'}", "have no steady rate"},
		{"{rate: 300/s, arrivals: 'trace(x.txt)'}", "have no steady rate"},
		{"{rate: 300/s, vary: {rate: [300/s, 400/s]}}", "varies its load"},
		{"{rate: 300/s, arrivals: 'burst(12)'}", ""},
		{"{rate: 300/s, arrivals: constant}", ""},
	} {
		s, err := scenario.Parse("demo", []byte(strings.Replace(demo.Text, "load:\n  rate: 300/s", "load: "+c.load, 1)))
		if err != nil {
			t.Fatal(err)
		}
		err = steady(s)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("load %s: %v, want %q", c.load, err, c.want)
		}
	}
	s, err := scenario.Parse("demo", []byte(demo.Arm("{name: other, mode: fasthttp, rate: 400/s}")))
	if err != nil {
		t.Fatal(err)
	}
	if err := steady(s); err == nil || !strings.Contains(err.Error(), `arm "other" has a load of its own`) {
		t.Errorf("an arm with its own rate: %v", err)
	}
}
