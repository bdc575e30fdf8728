package experiment

import (
	"slices"
	"strings"
	"testing"
)

func TestIdentifiability(t *testing.T) {
	t.Parallel()
	kept := func(n string) string { return "rate: 300/s\n  keepalive: true\n  connections: " + n }
	for _, c := range []struct {
		name, load, arm string
		want            string // part of a doubt; "" for none of this kind
	}{
		{"one in flight", kept("1"), "{name: two, mode: pool-request, workers: 2}", "1 requests at most are in flight, so 1 of 2 workers never work"},
		{"queue holds all", "loop: closed\n  keepalive: true\n  connections: 64", "{name: q, mode: pool-request, workers: 8, queue-depth: 64, overflow: reject}", "holds all 64 requests that can be in flight"},
		{"queue may overflow", "loop: closed\n  keepalive: true\n  connections: 64", "{name: q, mode: pool-request, workers: 8, queue-depth: 16, overflow: reject}", ""},
		{"a blocking queue", "loop: closed\n  keepalive: true\n  connections: 64", "{name: q, mode: pool-request, workers: 8, queue-depth: 64, overflow: block}", ""},
		{"a connection each", "rate: 300/s", "{name: p, mode: pool, workers: 2}", ""},
	} {
		p := planned(t, strings.Replace(armed(c.arm), "rate: 300/s", c.load, 1), nil)
		found := slices.IndexFunc(doubts(p.Plan), func(d string) bool {
			return strings.Contains(d, "not identifiable") && (c.want == "" || strings.Contains(d, c.want))
		})
		if (found >= 0) != (c.want != "") {
			t.Errorf("%s: doubts %q, want %q", c.name, doubts(p.Plan), c.want)
		}
	}
	one := planned(t, armed("{name: two, mode: pool, listeners: 2}"), func(o *Options) { o.Pin, o.ServerCPUs, o.LoadCPUs = "auto", "0", "0" })
	if !slices.ContainsFunc(doubts(one.Plan), func(d string) bool { return strings.Contains(d, "one CPU, so 2 listeners share it") }) {
		t.Errorf("one CPU: doubts %q", doubts(one.Plan))
	}
}

func TestDifferentLoads(t *testing.T) {
	t.Parallel()
	p := planned(t, armed("{name: fast, mode: nethttp, rate: 600/s, arrivals: constant}"), nil)
	if !slices.ContainsFunc(doubts(p.Plan), func(d string) bool { return strings.HasPrefix(d, "the arms' clients differ (arrivals, rate)") }) {
		t.Errorf("got %q", doubts(p.Plan))
	}
	if _, err := newPlan(scenario(t, armed("{name: b, mode: nethttp, arrivals: 'burst(12,60ms,48)'}")), options()); err == nil || !strings.Contains(err.Error(), "lower the rate") {
		t.Errorf("bursts that overlap: got %v", err)
	}
}
