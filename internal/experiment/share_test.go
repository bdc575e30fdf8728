package experiment

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"schedlab/internal/host"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
	"schedlab/internal/scenario/demo"
)

// sharing gives a plan two CPUs for its servers, of which the load has one.
func sharing(p *plan) *plan {
	p.cpus = host.Sides{Server: record.CPUs{0, 1}, Load: record.CPUs{1}, Pin: true, Shared: true}
	return p
}

// A rate at which the load takes too much of a shared CPU is lowered, and that is said; one
// that the user gave for the run is not.
func TestSpareServers(t *testing.T) {
	t.Parallel()
	xmax := map[string]float64{"nethttp": 5000, "fasthttp": 4000}
	told := func(o *Options) { o.Rate = scenario.Rate{PerSecond: 3000} }
	for _, c := range []struct {
		name, rate string
		change     func(*Options)
		bearable   float64
		want       float64
		asked      string // what it was, in the doubt; "" for no doubt
	}{
		{"a share", "0.7x", nil, 1500, 1500, "2,800"},
		{"a share with room", "0.7x", nil, 2900, 2800, ""},
		{"an absolute rate", "3000/s", nil, 1500, 1500, "3,000"},
		{"nothing known", "3000/s", nil, 0, 3000, ""},
		{"the user's own", "300/s", told, 1500, 3000, ""},
	} {
		p := sharing(planned(t, demo.Swap("rate: 300/s", "rate: "+c.rate), c.change))
		p.bearable = c.bearable
		if err := p.chooseRate(xmax, 0); err != nil || p.Rate != c.want {
			t.Errorf("%s: got %v/s, %v, want %v/s", c.name, p.Rate, err, c.want)
		}
		said := slices.IndexFunc(doubts(p.Plan), func(d string) bool { return strings.Contains(d, "more the load takes over 15 % of CPU 1") })
		if c.asked == "" && said >= 0 {
			t.Errorf("%s: got the doubt %q", c.name, doubts(p.Plan)[said])
		}
		want := "offered 1,500/s instead of " + c.asked + "/s: at more the load takes over 15 % of CPU 1, which it shares with the servers; --rate offers more"
		if c.asked != "" && !slices.Contains(doubts(p.Plan), want) {
			t.Errorf("%s: got %q, want %q among them", c.name, doubts(p.Plan), want)
		}
	}
}

// The highest rate that a shared CPU bears is found by sending. It is looked for only where
// a CPU is shared and the rate is the plan's.
func TestBoundShare(t *testing.T) {
	all := everyCPU(t)
	if host.ProcessCPU(os.Getpid()) < 0 || len(all) < 2 {
		t.Skip("NOT RUN: it needs two CPUs, and the CPU time of the load")
	}
	for _, c := range []struct {
		name  string
		rate  scenario.Rate
		needs int
		told  bool
		bound bool
	}{
		{"far too many", scenario.Rate{PerSecond: 50_000}, len(all), false, true},
		{"a share", scenario.Rate{OfSlowest: .7}, len(all), false, true},
		{"few", scenario.Rate{PerSecond: 10}, len(all), false, false},
		{"on its own CPU", scenario.Rate{PerSecond: 50_000}, 0, false, false},
		{"as the user says", scenario.Rate{PerSecond: 50_000}, len(all), true, false},
	} {
		comp := comparison(t, "good", "good", func(s *scenario.Scenario, o *Options) {
			o.Pin = "auto"
			s.Load.Rate, s.Load.KeepAlive, s.Load.MinRate, s.Needs.ServerCPUs = c.rate, true, scenario.Rate{}, c.needs
			if c.told {
				o.Rate = c.rate
			}
		})
		comp.plan.self = os.Args[0]
		r := &runner{plan: comp.plan, run: &record.Run{Env: comp.Env()}, began: time.Now()}
		err := r.onItsCPUs(t.Context(), r.boundShare)
		if got := comp.plan.bearable; err != nil || c.bound != (got > 0) || got > 30_000 {
			t.Errorf("%s: got %v/s, error %v", c.name, got, err)
		}
	}
}
