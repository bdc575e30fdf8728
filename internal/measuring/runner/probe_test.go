package runner

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"schedlab/internal/measuring/host"
	"schedlab/internal/measuring/load"
	"schedlab/internal/measuring/scenario"
	"schedlab/internal/measuring/scenario/demo"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
)

// X_max is measured only where something needs it.
func TestProbes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		want       []bool // of nethttp, its copy and the challenger
		long       time.Duration
	}{
		{"a fixed rate", demo.Text, []bool{false, false, false}, shortProbe},
		{"a bounded rate", demo.Swap("rate: 300/s", "rate: 900/s\n  max_rate: 0.85x"), []bool{true, false, true}, shortProbe},
		{"a share", demo.Swap("rate: 300/s", "rate: 0.7x"), []bool{true, false, true}, probeWindow},
		{"an expectation", demo.Text + "expect: ['x_max(\"nethttp\") > 1000/s']\n", []bool{true, false, true}, probeWindow},
	} {
		p := planned(t, c.text, nil)
		for i, want := range c.want {
			if got := p.probes(p.Arms[i]); got != want {
				t.Errorf("%s: %s is probed: %v, want %v", c.name, p.Arms[i].Name, got, want)
			}
		}
		if got := p.probeFor(); got != c.long {
			t.Errorf("%s: a probe takes %v, want %v", c.name, got, c.long)
		}
	}
}

func TestOneProbeForAlikeArms(t *testing.T) {
	t.Parallel()
	p := planned(t, demo.Arm("{name: again, mode: nethttp}")+"  - {name: closing, mode: nethttp, keepalive: true}\n", nil)
	for arm, want := range []int{-1, 0, 0, -1} {
		if got := p.sameAs(arm); got != want {
			t.Errorf("%s is probed as arm %d, want %d", p.Arms[arm].Name, got, want)
		}
	}
}

// A probe whose halves differ says by how much, as a share of the whole; failures are
// in neither half.
func TestUnevenness(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		first, second, failed int
		want                  float64
	}{{50, 50, 9, 0}, {60, 40, 0, .4}, {40, 60, 0, .4}, {0, 10, 0, 2}} {
		r := load.ClosedResult{Answered: c.first + c.second, Elapsed: probeWindow}
		add := func(n int, at time.Duration, status int) {
			for range n {
				r.Requests = append(r.Requests, request.Request{Done: int64(at), Outcome: request.Answered, Status: uint16(status)})
			}
		}
		add(c.first, probeWarmup+probeWindow/4, 200)
		add(c.second, probeWarmup+probeWindow*3/4, 200)
		add(c.failed, probeWarmup+probeWindow*3/4, 503)
		if got := unevenness(r); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%+v: got %g", c, got)
		}
	}
}

// A share of a throughput that no generator can offer becomes a rate that it has
// offered, or one computed from what its requests cost; where the closed loop tells
// that there is room, and where no rate is a share, nothing is sent.
func TestRehearse(t *testing.T) {
	if host.ProcessCPU(os.Getpid()) < 0 {
		t.Skip("NOT RUN: the CPU time of the generator is not known here")
	}
	const x = 300_000.
	for _, c := range []struct {
		name   string
		rate   scenario.Rate
		cost   float64
		capped bool
	}{
		{"too much", scenario.Rate{OfSlowest: .7}, 1e-5, true},
		{"room for four times the closed loop's cost", scenario.Rate{OfSlowest: .7}, 1e-7, false},
		{"an absolute rate", scenario.Rate{PerSecond: .7 * x}, 1e-5, false},
	} {
		comp := comparison(t, "good", "good", func(s *scenario.Scenario, o *Options) {
			o.CPUs = ""
			s.Load.Rate, s.Load.KeepAlive, s.Load.MinRate = c.rate, true, scenario.Rate{}
		})
		p, got := comp.plan, 0.
		err := withLab(p.cpus, lab{}, func(l lab) error {
			server, err := l.launcher.Start(t.Context(), p.Arms[0].Command, "/")
			if err != nil {
				return err
			}
			defer server.Kill()
			got, err = rehearse(t.Context(), p, server, p.Arms[0], x, c.cost)
			return err
		})
		if err != nil || c.capped != (got > 0) || got >= .7*x {
			t.Errorf("%s: got %v/s, error %v", c.name, got, err)
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
			o.CPUs = ""
			s.Load.Rate, s.Load.KeepAlive, s.Load.MinRate, s.Needs.ServerCPUs = c.rate, true, scenario.Rate{}, c.needs
			if c.told {
				o.Rate = c.rate
			}
		})
		comp.plan.self = os.Args[0]
		var got float64
		err := withLab(comp.plan.cpus, lab{began: time.Now()}, func(l lab) (err error) {
			got, err = l.sharedMost(t.Context(), comp.plan)
			return err
		})
		if err != nil || c.bound != (got > 0) || got > 30_000 {
			t.Errorf("%s: got %v/s, error %v", c.name, got, err)
		}
	}
}

// A probe in which others took CPU time is repeated, a few times at most, and the least disturbed one
// counts. If others took much of that one too, the plan has a doubt: the rate may be a smaller share.
func TestDisturbedProbe(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		probes []throughput
		asked  int
		want   float64 // X_max
		doubt  bool
	}{
		{"quiet", []throughput{{x: 3019, taken: .02}}, 1, 3019, false},
		{"disturbed once", []throughput{{x: 804, taken: .73, most: "cc"}, {x: 3019}}, 2, 3019, false},
		{"always disturbed", []throughput{{x: 804, taken: .73, most: "cc"}, {x: 1500, taken: .5, most: "ld"}, {x: 700, taken: .8, most: "cc"}}, 3, 1500, true},
	} {
		asked, p := 0, planned(t, demo.Swap("rate: 300/s", "rate: 0.5x"), nil)
		got, err := p.calmest(func() (throughput, error) { asked++; return c.probes[asked-1], nil })
		if err != nil || asked != c.asked || got.x != c.want {
			t.Errorf("%s: X_max %g after %d probes, error %v", c.name, got.x, asked, err)
		}
		ready, err := p.offered(findings{
			xmax: map[string]float64{"nethttp": 4000, "fasthttp": got.x}, doubts: got.doubts("fasthttp"),
		})
		found := slices.IndexFunc(ready.Doubts, doubt.DisturbedProbe.Code.Is)
		if err != nil || (found >= 0) != c.doubt {
			t.Errorf("%s: doubts %v, error %v", c.name, ready.Doubts, err)
		}
		if found >= 0 {
			const want = "others took 50 % of its CPU time (most: ld)"
			if d := ready.Doubts[found]; d.Arm != "fasthttp" || !strings.HasPrefix(d.String(), want) || !d.Code.Decides() {
				t.Errorf("%s: %s: %v", c.name, d.Arm, d)
			}
		}
	}
}

// What others took counts as a share of the side's CPUs on which they ran.
func TestTakenBy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		troubles []record.Trouble
		taken    float64
		most     string
	}{
		{[]record.Trouble{
			{Cause: record.Stolen, Share: .2, Server: .1}, {Cause: record.Program, Share: .3, Load: .3, Program: "cc"},
			{Cause: record.Program, Share: .2, Server: .1, Program: "ld"}, {Cause: record.Passing, Share: .1, Server: .1, Load: .1},
		}, .4, "cc"}, // of the load; of the servers 0.3
		{[]record.Trouble{{Cause: record.Program, Share: .9, Server: .5, Load: .4, Program: "cc"}, {Cause: record.Program, Share: 1.1, Server: .6, Load: .5, Program: "ld"}}, 1, "ld"},
		{[]record.Trouble{{Cause: record.Own, Share: .9, Server: .9}}, 0, ""}, // this program itself
	} {
		if taken, most := takenBy(&record.Others{Troubles: c.troubles}); math.Abs(taken-c.taken) > 1e-9 || c.most != most {
			t.Errorf("%+v: got %g, %q, want %g, %q", c.troubles, taken, most, c.taken, c.most)
		}
	}
	if taken, most := takenBy(nil); taken != 0 || most != "" {
		t.Errorf("of an unknown machine: %g, %q", taken, most)
	}
}
