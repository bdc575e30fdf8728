package experiment

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/host"
	"schedlab/internal/judge"
	"schedlab/internal/mode"
	"schedlab/internal/queueing"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
	"schedlab/internal/scenario/demo"
)

// What a plan writes down of an arm's queue.
func TestStationOf(t *testing.T) {
	t.Parallel()
	workers := []string{"workers"}
	p := plan{cpus: host.Sides{Server: record.CPUs{0, 1}}, opts: Options{Modes: map[string]mode.Mode{
		"nethttp":        {Station: "goroutines"},
		"pool":           {Flags: workers, Station: "pool", Sticky: true, Overflow: "block", Depth: func(int) int { return 1024 }},
		"pool-perworker": {Flags: workers, Station: "per-worker", Sticky: true, Overflow: "block", Depth: func(int) int { return 1024 }},
		"pool-request":   {Flags: workers, Station: "pool", Overflow: "reject", Depth: func(w int) int { return 2 * w }},
		"pool-adaptive":  {Flags: workers, Station: "pool", Adaptive: true, Overflow: "reject"},
		"pool-ring":      {Flags: workers, Station: "pool"},
		"semaphore":      {Flags: []string{"workers", "wait"}, Station: "pool"},
		"loop":           {Flags: []string{"listeners"}, Station: "loops"},
		"prefork":        {Flags: []string{"processes", "threads"}, Station: "goroutines"},
	}}}
	for spec, want := range map[string]record.Station{
		"nethttp":             {Kind: "goroutines", Cores: 2},
		"pool,workers=4":      {Kind: "pool", Workers: 4, Cores: 2, Sticky: true},
		"pool,queue-depth=8":  {Kind: "pool", Workers: 4, Cores: 2, Sticky: true}, // waiting outside is waiting
		"pool-request":        {Kind: "pool", Workers: 4, Cores: 2, Places: 12, Overflow: "reject"},
		"semaphore,workers=3": {Kind: "pool", Workers: 3, Cores: 2, Patience: .1},
		"semaphore,wait=5ms":  {Kind: "pool", Workers: 4, Cores: 2, Patience: .005},
		"semaphore,wait=0":    {Kind: "pool", Workers: 4, Cores: 2, Places: 4, Overflow: "reject"},
		"loop,listeners=3":    {Kind: "loops", Workers: 3, Cores: 2},
		"pool-request,workers=2,queue-depth=5,overflow=drop-oldest": {Kind: "pool", Workers: 2, Cores: 2, Places: 7, Overflow: "drop-oldest"},
		"pool-perworker,workers=2,queue=least,steal=true":           {Kind: "per-worker", Workers: 2, Cores: 2, Sticky: true, Pick: "least", Steal: true},
		"pool-perworker,workers=2,queue-depth=6,overflow=reject":    {Kind: "per-worker", Workers: 2, Cores: 2, Sticky: true, Places: 4, Overflow: "reject"},
		"pool-request,overflow=codel":                               {Kind: "pool", Workers: 4, Cores: 2, Places: 12, Overflow: "codel", Target: .005, Interval: .1},
		"prefork,processes=1,threads=1":                             {Kind: "goroutines", Cores: 1},
	} {
		a, err := scenario.ParseArm(spec)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, p.stationOf(a)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", spec, diff)
		}
	}
	for spec, want := range map[string]string{
		"pool-adaptive,overflow=drop-oldest": "drops the oldest, too",
		"prefork":                            "the kernel's choice",
		"pool-ring,spin=100":                 "its workers spin",
		"nethttp,backlog=4":                  "its listener",
		"pool-perworker,workers=2,queue-depth=5,overflow=reject": "different length",
	} {
		a, err := scenario.ParseArm(spec)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.stationOf(a).Unknown; !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", spec, got, want)
		}
	}
}

// Theory says nothing of a mode that is no station.
func TestNoStation(t *testing.T) {
	t.Parallel()
	p := planned(t, demo.Arm("strange"), func(o *Options) { o.Modes["strange"] = mode.Mode{} })
	arm := p.Arms[2]
	if _, _, why := judge.TwinOf(arm.PlanArm); arm.Station != nil || why.Code != "twin-not-recorded" {
		t.Errorf("got station %+v, %q", arm.Station, why)
	}
}

// The theory knows of an arm's queue that it ages, by the settings its server takes.
func TestStationAges(t *testing.T) {
	t.Parallel()
	for arm, want := range map[string]record.Station{
		"pool":                          {},
		"{mode: pool, overflow: codel}": {Target: .005, Interval: .1},
		"{mode: pool-request, overflow: codel, codel-target: 20ms}":               {Target: .02, Interval: .4},
		"{mode: pool, overflow: codel, codel-target: 2ms, codel-interval: 300ms}": {Target: .002, Interval: .3},
	} {
		p := planned(t, demo.Arm(arm), nil)
		got := *p.Arms[2].Station
		if got.Target != want.Target || got.Interval != want.Interval || got.Adaptive {
			t.Errorf("%s: got %+v, want %+v", arm, got, want)
		}
		if aging := judge.Station(got).Aging; want.Target > 0 && aging != (queueing.Aging{Target: record.Duration(want.Target), Interval: record.Duration(want.Interval)}) {
			t.Errorf("%s: the simulator is given %+v", arm, aging)
		}
	}
	ages := plan{opts: Options{Modes: map[string]mode.Mode{"ages": {Station: "pool", Adaptive: true}}}}
	if got := ages.stationOf(scenario.Arm{Mode: "ages"}); !got.Adaptive || got.Target != .005 {
		t.Errorf("a queue that ages anyway: got %+v", got)
	}
}

// What an arm's server makes of its environment, the plan makes of it, too: workers
// and loops by default, cores, and what cannot matter on one P.
func TestProcsAreTheArms(t *testing.T) {
	onTwo := func(o *Options) {
		o.Modes["loop"] = mode.Mode{Flags: []string{"listeners"}, Station: "loops"}
		o.Modes["prefork"] = mode.Mode{Flags: []string{"processes", "threads"}, Station: "goroutines"}
		o.Modes["pool-perworker"] = mode.Mode{Flags: []string{"workers"}, Station: "per-worker"}
	}
	for _, c := range []struct {
		inherited, arm             string
		procs, own, workers, cores int
		unknown                    string // part of why it has no twin
	}{
		{"", "{mode: pool}", 2, 0, 4, 2, ""},
		{"", "{mode: pool, env: {GOMAXPROCS: 1}}", 1, 1, 2, 1, ""},
		{"", "{mode: pool, env: {GOMAXPROCS: 4}}", 4, 4, 8, 2, "4 Ps share 2 CPUs"},
		{"", "{mode: pool, workers: 3, env: {GOMAXPROCS: 1}}", 1, 1, 3, 1, ""},
		{"", "{mode: pool-perworker, env: {GOMAXPROCS: 1}}", 1, 1, 2, 1, ""},
		{"", "{mode: nethttp, env: {GOMAXPROCS: 1}, name: n}", 1, 1, 0, 1, ""},
		{"", "{mode: loop}", 2, 0, 2, 2, ""},
		{"", "{mode: loop, env: {GOMAXPROCS: 1}}", 1, 1, 1, 1, ""},
		{"", "{mode: loop, listeners: 2, env: {GOMAXPROCS: 1}}", 1, 1, 2, 1, ""},
		{"", "{mode: prefork, threads: 2}", 2, 0, 0, 2, "which process"},
		{"", "{mode: prefork, threads: 2, env: {GOMAXPROCS: 1}}", 1, 1, 0, 2, ""},
		{"", "{mode: prefork, processes: 1, threads: 3}", 2, 0, 0, 2, "3 Ps share 2 CPUs"},
		{"", "{mode: pool, workers: 0}", 2, 0, 4, 2, ""}, // 0 is the default, as for serve
		{"", "{mode: loop, listeners: 0}", 2, 0, 2, 2, ""},
		{"", "{mode: prefork, processes: 0, threads: 0}", 2, 0, 0, 1, "which process"},
		{"1", "{mode: pool}", 1, 0, 2, 1, ""},
		{"1", "{mode: pool, env: {GOMAXPROCS: 2}}", 2, 2, 4, 2, ""},
		{"1", "{mode: pool, env: {GOMAXPROCS: none}}", 2, 2, 4, 2, ""}, // Go passes over it
		{"-1", "{mode: pool}", 2, 0, 4, 2, ""},
	} {
		t.Run(fmt.Sprintf("%q %s", c.inherited, c.arm), func(t *testing.T) {
			t.Setenv(host.MaxProcs, c.inherited)
			p := planned(t, demo.Arm(c.arm), onTwo)
			p.cpus.Server = record.CPUs{0, 1}
			a := p.Arms[2].asked
			s := p.stationOf(a)
			if p.procs(a) != c.procs || p.ownProcs(a) != c.own || s.Workers != c.workers || s.Cores != c.cores {
				t.Errorf("got %d Ps (its own: %d), %d workers, %d cores; want %d (%d), %d, %d",
					p.procs(a), p.ownProcs(a), s.Workers, s.Cores, c.procs, c.own, c.workers, c.cores)
			}
			if (c.unknown == "") != (s.Unknown == "") || !strings.Contains(s.Unknown, c.unknown) {
				t.Errorf("it has no twin because %q, want %q", s.Unknown, c.unknown)
			}
		})
	}
}
