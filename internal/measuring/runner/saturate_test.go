package runner

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"schedlab/internal/measuring/host"
	"schedlab/internal/measuring/judge"
	"schedlab/internal/measuring/process"
	"schedlab/internal/shared/cpuset"
	"schedlab/internal/shared/stats"
)

// Only a gate that judges capacity saturates servers; a slow service for longer, and never for longer than a window.
func TestTurn(t *testing.T) {
	t.Parallel()
	asks := func(f stats.Figure) judge.Gate { return judge.Gate{f: {Share: f.Row().Allow}} }
	for _, c := range []struct {
		aim    judge.Aim
		rate   string
		window time.Duration
		want   time.Duration
	}{
		{judge.Winner{}, "2000/s", 0, 0},
		{asks(stats.P50), "2000/s", 0, 0},
		{asks(stats.Capacity), "2000/s", 0, 100 * time.Millisecond},
		{asks(stats.Capacity), "100/s", time.Second, time.Second},
		{asks(stats.Capacity), "400/s", time.Second, 500 * time.Millisecond},
		{asks(stats.Capacity), "400/s", 100 * time.Millisecond, 100 * time.Millisecond},
		{asks(stats.Capacity), "2000/s", 300 * time.Millisecond, 300 * time.Millisecond},
		{asks(stats.Capacity), "2000/s", 5 * time.Second, longestTurn},
	} {
		p := planned(t, "name: x\nquestion: Which is faster?\nload: {rate: "+c.rate+"}\narms: [{mode: nethttp}, {mode: pool}]\n", func(o *Options) { o.Aim, o.Window = c.aim, c.window })
		if got := p.turn(p.Window.Duration); got != c.want {
			t.Errorf("%T at %s, windows of %v: %v, want %v", c.aim, c.rate, c.window, got, c.want)
		}
		// What longer windows cost has their own turns in it.
		if c.want == longestTurn {
			if shorter := p.blockCost(ShortestWindow); p.blockCost(longestTurn)-shorter < time.Duration(2*len(p.Arms))*(longestTurn-ShortestWindow) {
				t.Errorf("blocks of windows of %v cost %v, and of %v %v", ShortestWindow, shorter, longestTurn, p.blockCost(longestTurn))
			}
		}
	}
}

// A long warm-up of a command is spent saturated but for its end, and a budget reckons with all of it; that of a mode, of a server that
// runs already and of a scenario is not.
func TestHeating(t *testing.T) {
	t.Parallel()
	const open = "name: x\nquestion: Which is faster?\nload: {rate: 100/s}\n"
	command := "arms: [{name: a, command: 'true {addr}'}, {name: b, command: 'true {addr}'}]\n"
	for _, c := range []struct {
		text       string
		asked      time.Duration
		heat, rest time.Duration
	}{
		{open + command, 3 * time.Second, 2800 * time.Millisecond, 200 * time.Millisecond},
		{open + command, 400 * time.Millisecond, 0, 400 * time.Millisecond},
		{open + command + "protocol: {warmup: 3s}\n", 0, 0, 3 * time.Second},
		{open + "arms: [{mode: nethttp}, {mode: pool}]\n", 3 * time.Second, 0, 3 * time.Second},
		{open + "arms: [{name: a, url: 'http://127.0.0.1:1'}, {name: b, command: 'true {addr}'}]\n", 3 * time.Second, 0, 3 * time.Second},
		{"name: x\nquestion: Which is faster?\nload: {loop: closed, connections: 8}\n" + command, 3 * time.Second, 0, 3 * time.Second},
	} {
		p := planned(t, c.text, func(o *Options) { o.Warmup, o.Budget = c.asked, 10*time.Minute })
		if p.Heating.Duration != c.heat || p.Warmup.Duration != c.rest {
			t.Errorf("%s\nwith --warmup %v: %v saturated and %v at the rate, want %v and %v", c.text, c.asked, p.Heating, p.Warmup, c.heat, c.rest)
		}
		if got, least := p.blockCost(p.Window.Duration), time.Duration(len(p.Arms))*(c.heat+c.rest+p.Window.Duration); got < least {
			t.Errorf("a block costs %v, less than its %v of load", got, least)
		}
	}
}

// Heating asks a server as often as it can answer, for as long as the plan says, and not at all where the plan says nothing.
func TestHeat(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	served := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(served.Close)
	for _, warmup := range []time.Duration{400 * time.Millisecond, 500 * time.Millisecond} {
		p := planned(t, "name: x\nquestion: Which is faster?\nload: {rate: 100/s}\narms: [{name: a, command: 'true {addr}'}, {name: b, command: 'true {addr}'}]\n", func(o *Options) { o.Warmup, o.Budget = warmup, 10*time.Minute })
		before := asked.Load()
		p.heat(t.Context(), p.Arms[0], &process.Process{Addr: served.Listener.Addr().String()}, 1)
		// At the rate it would be 30 requests.
		if n := asked.Load() - before; (n > 2*probeClients) != (p.Heating.Duration > 0) {
			t.Errorf("heated for %v it was asked %d times", p.Heating, n)
		}
	}
}

// The clocks of CPUs tell nothing of a server that may run elsewhere, or beside the load.
func TestOwnCPUs(t *testing.T) {
	t.Parallel()
	const text = "name: x\nquestion: Which is faster?\nload: {rate: 100/s}\narms: [{mode: nethttp}, {mode: pool}]\n"
	p := planned(t, text, nil)
	own := arm{}
	running := arm{}
	running.URL = "http://127.0.0.1:1"
	for _, c := range []struct {
		pinned, shared bool
		arm            arm
		want           int
	}{{true, false, own, 1}, {true, false, running, 0}, {true, true, own, 0}, {false, false, own, 0}} {
		p.cpus = host.Sides{Server: cpuset.Set{0}, Load: cpuset.Set{1}, Pin: c.pinned, Shared: c.shared}
		if got := p.ownCPUs(c.arm); len(got) != c.want {
			t.Errorf("pinned %v, shared %v, running %v: %d CPUs, want %d", c.pinned, c.shared, c.arm.URL != "", len(got), c.want)
		}
	}
}
