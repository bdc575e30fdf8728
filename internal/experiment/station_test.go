package experiment

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/host"
	"schedlab/internal/judge"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
	"schedlab/internal/scenario/demo"
)

// What a plan writes down of an arm's queue.
func TestStationOf(t *testing.T) {
	t.Parallel()
	workers := []string{"workers"}
	p := &plan{cpus: host.Sides{Server: record.CPUs{0, 1}}, modes: map[string]scenario.Mode{
		"nethttp":        {Station: "goroutines"},
		"pool":           {Flags: workers, Station: "pool", Sticky: true, Overflow: "block", Depth: func(int) int { return 1024 }},
		"pool-perworker": {Flags: workers, Station: "per-worker", Sticky: true, Overflow: "block", Depth: func(int) int { return 1024 }},
		"pool-request":   {Flags: workers, Station: "pool", Overflow: "reject", Depth: func(w int) int { return 2 * w }},
		"pool-adaptive":  {Flags: workers, Station: "pool", Adaptive: true, Overflow: "reject"},
		"pool-ring":      {Flags: workers, Station: "pool"},
		"semaphore":      {Flags: []string{"workers", "wait"}, Station: "pool", Wait: 100 * time.Millisecond},
		"loop":           {Flags: []string{"listeners"}, Station: "loops"},
		"prefork":        {Flags: []string{"processes", "threads"}, Station: "goroutines"},
	}}
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
	p := planned(t, demo.Arm("strange"), func(o *Options) { o.Modes["strange"] = scenario.Mode{} })
	arm := p.Arms[2]
	if _, _, why := judge.TwinOf(arm); arm.Station != nil || why.Code != "twin-not-recorded" {
		t.Errorf("got station %+v, %q", arm.Station, why)
	}
}
