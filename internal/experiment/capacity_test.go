package experiment

import (
	"strings"
	"testing"

	"schedlab/internal/mode"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
	"schedlab/internal/scenario/demo"
	"schedlab/internal/stats"
)

func promised(t *testing.T, text string) stats.SLO {
	t.Helper()
	slo, err := stats.ParseSLO(text)
	if err != nil {
		t.Fatal(err)
	}
	return slo
}

func TestASearchIsPlannedWithoutACopyOfTheBaseline(t *testing.T) {
	t.Parallel()
	s, err := scenario.Parse("demo", []byte(demo.Text))
	if err != nil {
		t.Fatal(err)
	}
	s.Arms = s.Arms[:1]
	c, err := PlanCapacity(s, Options{Self: "schedlab", Pin: "none", Modes: map[string]mode.Mode{"nethttp": {Station: "goroutines"}}}, promised(t, "p99<=10ms"))
	if err != nil {
		t.Fatal(err)
	}
	p := c.Planned()
	if len(p.Arms) != 1 || p.Arms[0].Role != record.Baseline || p.Windows != 24 || p.Estimate != 93 || p.SLO != "p99<=10ms" || p.Stamps != "off" {
		t.Errorf("planned %+v, want one arm of 24 windows without stamps in 93 s", p)
	}
	if got := p.Arms[0].Clients; got.Timeout != 1 || got.Rate != 0 {
		t.Errorf("its clients are %+v, want a timeout of 100 limits and no rate", got)
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
