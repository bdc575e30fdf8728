package experiment

import (
	"slices"
	"strings"
	"testing"

	"schedlab/internal/mode"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
	"schedlab/internal/scenario/demo"
)

func TestIdentifiability(t *testing.T) {
	t.Parallel()
	kept := func(n string) string { return "rate: 300/s\n  keepalive: true\n  connections: " + n }
	for _, c := range []struct {
		name, load, arm string
		want            string // part of a doubt; "" for none of this kind
	}{
		{"one in flight", kept("1"), "{name: two, mode: pool-request, workers: 2}", "no more than 1 request is in flight, so 1 of 2 workers never work"},
		{"queue holds all", "loop: closed\n  keepalive: true\n  connections: 64", "{name: q, mode: pool-request, workers: 8, queue-depth: 64, overflow: reject}", "a queue of 64 beside 8 workers holds all that can be in flight (64 requests)"},
		{"a depth given and the default policy", "loop: closed\n  keepalive: true\n  connections: 64", "{name: q, mode: pool-request, workers: 1, queue-depth: 64}", "a queue of 64 beside 1 worker holds all"},
		{"the default depth", "loop: closed\n  keepalive: true\n  connections: 2", "{name: q, mode: pool-request, workers: 1}", ""},
		{"workers to spare, and the queue besides", kept("4"), "{name: q, mode: pool-request, workers: 8, queue-depth: 16}", "4 of 8 workers never work"},
		{"the queue besides workers to spare", kept("4"), "{name: q, mode: pool-request, workers: 8, queue-depth: 16}", "a queue of 16 beside 8 workers holds all"},
		{"a gate wider than the crowd", kept("4"), "{name: s, mode: semaphore, workers: 8}", "no more than 4 requests are in flight, so 4 of 8 workers never work"},
		{"queue may overflow", "loop: closed\n  keepalive: true\n  connections: 64", "{name: q, mode: pool-request, workers: 8, queue-depth: 16, overflow: reject}", ""},
		{"a blocking queue", "loop: closed\n  keepalive: true\n  connections: 64", "{name: q, mode: pool-request, workers: 8, queue-depth: 64, overflow: block}", ""},
		{"a connection each", "rate: 300/s", "{name: p, mode: pool, workers: 2}", ""},
	} {
		p := planned(t, strings.Replace(demo.Arm(c.arm), "rate: 300/s", c.load, 1), func(o *Options) { o.Modes["semaphore"] = mode.Mode{Flags: []string{"workers"}, Station: "pool"} })
		found := slices.IndexFunc(doubts(p.Plan), func(d string) bool {
			return strings.Contains(d, "not identifiable") && (c.want == "" || strings.Contains(d, c.want))
		})
		if (found >= 0) != (c.want != "") {
			t.Errorf("%s: doubts %q, want %q", c.name, doubts(p.Plan), c.want)
		}
	}
	one := planned(t, demo.Arm("{name: two, mode: pool, listeners: 2}"), func(o *Options) { o.Pin, o.ServerCPUs, o.LoadCPUs = "auto", "0", "0" })
	if !slices.ContainsFunc(doubts(one.Plan), func(d string) bool { return strings.Contains(d, "one CPU, so 2 listeners share it") }) {
		t.Errorf("one CPU: doubts %q", doubts(one.Plan))
	}

	// A queue that only runs over when goroutines run beside a handler.
	computes := strings.Replace(demo.Arm("{name: q, mode: pool-request, workers: 1, queue-depth: 16, overflow: reject}"), "rate: 300/s", kept("64"), 1)
	for _, c := range []struct {
		name, text string
		cpus       record.CPUs
		told       bool
	}{
		{"one CPU", computes, record.CPUs{0}, true},
		{"two CPUs", computes, record.CPUs{0, 1}, false},
		{"handlers that sleep", strings.Replace(computes, "cpu: 100us", "cpu: 100us\n  sleep: 5ms", 1), record.CPUs{0}, false},
		{"a queue of connections", strings.Replace(computes, "pool-request", "pool", 1), record.CPUs{0}, false},
		{"a queue that blocks", strings.Replace(computes, "overflow: reject", "overflow: block", 1), record.CPUs{0}, false},
	} {
		p := planned(t, c.text, nil)
		p.cpus.Server = c.cpus
		p.Doubts = nil
		p.cannotMatter(p.arms[2].asked, p.Arms[2].Clients)
		if told := slices.ContainsFunc(p.Doubts, func(d record.Fact) bool { return d.Code == queueUnused }); told != c.told {
			t.Errorf("%s: got %q, want a doubt about the queue: %v", c.name, doubts(p.Plan), c.told)
		}
	}
}

func TestDifferentLoads(t *testing.T) {
	t.Parallel()
	p := planned(t, demo.Arm("{name: fast, mode: nethttp, rate: 600/s, arrivals: constant}"), nil)
	if !slices.ContainsFunc(doubts(p.Plan), func(d string) bool { return strings.HasPrefix(d, "the arms' clients differ (arrivals, rate)") }) {
		t.Errorf("got %q", doubts(p.Plan))
	}
	if _, err := newPlan(parsed(t, demo.Arm("{name: b, mode: nethttp, arrivals: 'burst(12,60ms,48)'}")), options()); err == nil || !strings.Contains(err.Error(), "lower the rate") {
		t.Errorf("bursts that overlap: got %v", err)
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
	}
	ages := &plan{modes: map[string]mode.Mode{"ages": {Station: "pool", Adaptive: true}}}
	if got := ages.stationOf(scenario.Arm{Mode: "ages"}); !got.Adaptive || got.Target != .005 {
		t.Errorf("a queue that ages anyway: got %+v", got)
	}
}
