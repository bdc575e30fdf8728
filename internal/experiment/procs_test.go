package experiment

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"schedlab/internal/host"
	"schedlab/internal/mode"
	"schedlab/internal/record"
	"schedlab/internal/scenario/demo"
)

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
			a := p.arms[2].asked
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

// The checks of the plan follow the default that the arm's environment makes.
func TestDefaultWorkersAreOfTheArmsProcs(t *testing.T) {
	t.Setenv(host.MaxProcs, "")
	kept := func(n int) func(string) string {
		return strings.NewReplacer("rate: 300/s", fmt.Sprintf("rate: 300/s\n  keepalive: true\n  connections: %d", n)).Replace
	}
	for _, c := range []struct{ text, want string }{
		{kept(16)(demo.Arm("{mode: pool, env: {GOMAXPROCS: 4}}")), "starves 8 of 16 kept connections"},
		{kept(16)(demo.Arm("{mode: pool, env: {GOMAXPROCS: 2}}")), "starves 12 of 16 kept connections"},
		{kept(2)(demo.Arm("{mode: pool-request, env: {GOMAXPROCS: 2}}")), "no more than 2 requests are in flight, so 2 of 4 workers never work"},
		{strings.Replace(demo.Arm("{mode: pool, env: {GOMAXPROCS: 1}}"), "cpu: 100us", "cpu: 100us\n  sleep: 20ms", 1), "2 workers cannot keep up: by Little's law 300/s x 20.1 ms held needs 7"},
		{demo.Arm("{mode: nethttp, name: n, listeners: 2, env: {GOMAXPROCS: 1}}"), "its GOMAXPROCS is 1, so 2 listeners share it"},
	} {
		p := planned(t, c.text, nil)
		p.cpus.Server = record.CPUs{0, 1}
		p.Doubts = nil
		p.warn()
		p.warnShort()
		p.identify()
		if !slices.ContainsFunc(doubts(p.Plan), func(d string) bool { return strings.Contains(d, c.want) }) {
			t.Errorf("%s: doubts %q, want %q", c.text, doubts(p.Plan), c.want)
		}
	}
	p := planned(t, demo.Arm("{mode: nethttp, name: n, vary: {env.GOMAXPROCS: [1, 2]}}"), nil)
	var own []int
	for _, a := range p.Arms {
		own = append(own, a.Procs)
	}
	if !slices.Equal(own, []int{0, 0, 1, 2}) {
		t.Errorf("the record has %v Ps of its arms, want 0 for those that set none, 1 and 2", own)
	}
}
