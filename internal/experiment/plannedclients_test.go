package experiment

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/load"
	"schedlab/internal/record"
	"schedlab/internal/report"
	"schedlab/internal/scenario/demo"
)

// describe lists a plan's arms with their loads.
func (p *plan) described() (lines []string) {
	for _, a := range p.Arms {
		lines = append(lines, fmt.Sprintf("%s %s: %s", a.Role, a.Name, report.Load(a.Clients)))
	}
	return lines
}

func TestVariedLoad(t *testing.T) {
	t.Parallel()
	p := planned(t, demo.Swap("rate: 300/s", "rate: 300/s\n  keepalive: true\n  vary: {connections: [16, 64]}"), nil)
	want := []string{
		"baseline nethttp,connections=16: open loop, poisson at 300/s over 16 connections",
		"copy nethttp,connections=16': open loop, poisson at 300/s over 16 connections",
		"challenger nethttp,connections=64: open loop, poisson at 300/s over 64 connections",
		"challenger fasthttp,connections=16: open loop, poisson at 300/s over 16 connections",
		"challenger fasthttp,connections=64: open loop, poisson at 300/s over 64 connections",
	}
	if diff := cmp.Diff(want, p.described()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if a := p.Arms[2]; a.Family != "nethttp" || !cmp.Equal(a.Levels, []record.Level{{Factor: "connections", Value: "64"}}) {
		t.Errorf("got family %q, levels %v", a.Family, a.Levels)
	}
}

func TestArmsOwnLoad(t *testing.T) {
	t.Parallel()
	p := planned(t, demo.Arm("{name: waves, mode: nethttp, rate: 900/s, arrivals: 'sine(0.5,100ms)', keepalive: true}\n  - {name: loop, mode: nethttp, loop: closed, connections: 8, keepalive: true, think: 5ms}"), nil)
	want := []string{
		"baseline nethttp: open loop, poisson at 300/s, a connection for each request",
		"copy nethttp': open loop, poisson at 300/s, a connection for each request",
		"challenger waves: open loop, sine(0.5,100ms) at 900/s over 64 connections",
		"challenger loop: closed loop of 8 clients, that think 5ms",
	}
	if diff := cmp.Diff(want, p.described()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	arrivals := func(arm int) int {
		trace, err := p.trace(p.Arms[arm].Clients, 0, p.span(), 2)
		if err != nil {
			t.Fatal(err)
		}
		return len(trace.At)
	}
	if base, twin, waves := arrivals(0), arrivals(1), arrivals(2); base != twin || waves < 2*base {
		t.Errorf("%d arrivals for the baseline, %d for its copy, %d at three times the rate", base, twin, waves)
	}
}

// What a plan takes, the load behind it takes, too: one limit, and clients that are
// all there when the window begins.
func TestMostConnections(t *testing.T) {
	t.Parallel()
	closed := "loop: closed\n  keepalive: true\n  connections: 16384\n  ramp: 3s"
	p := planned(t, demo.Swap("rate: 300/s", closed), func(o *Options) { o.Warmup, o.Budget = 3*time.Second, time.Hour })
	if got, want := report.Load(p.Arms[0].Clients), "closed loop of 16384 clients, started over 3s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if p.Arms[0].Clients.Connections != load.MaxConnections {
		t.Errorf("got %d connections, want %d", p.Arms[0].Clients.Connections, load.MaxConnections)
	}
	_, err := newPlan(parsed(t, demo.Swap("rate: 300/s", closed)), options())
	want := `arm "nethttp": load.ramp 3s is longer than the warm-up of 200ms; lengthen protocol.warmup (--warmup), or shorten the ramp`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %q", err, want)
	}
}
