package judge

import (
	"math"
	"testing"

	"schedlab/internal/record"
	"schedlab/internal/stats"
	"schedlab/internal/window"
)

// Each figure is known or not on its own, and an arm's only if every window's is.
func TestKernelFigures(t *testing.T) {
	t.Parallel()
	texts := []string{
		`switches("nethttp") > 1.99 && switches("nethttp") < 2.01`, `overflows("nethttp") == 0`,
		`switches("pool") > 0`, `overflows("pool") == 7`, `switches("fasthttp") > 0`, `overflows("fasthttp") == 0`,
	}
	s := synthetic{edit: func(t *record.Trial, requests []record.Request) []record.Request {
		switch k := (&record.Kernel{Voluntary: 2000, Involuntary: 400}); {
		case t.Arm == "fasthttp":
		case t.Arm == "pool":
			k.Involuntary, k.ListenOverflows = -1, 7
			t.Server.Kernel = k
		default:
			t.Server.Kernel = k
		}
		return requests
	}}
	got := asserted(t, s, texts...)
	for i, want := range []record.Answer{record.Passed, record.Passed, record.NoAnswer, record.Passed, record.NoAnswer, record.NoAnswer} {
		if e := got[texts[i]]; e.Outcome != want {
			t.Errorf("%s: got %+v, want %s", texts[i], e, want)
		}
	}
	r := s.judged(t)
	base, fasthttp, pool := r.Arms[0], r.Arms[2], r.Arms[3]
	if base.Switches == nil || *base.Overflows != 0 || fasthttp.Switches != nil || fasthttp.Overflows != nil || pool.Switches != nil || *pool.Overflows != 7*12 {
		t.Errorf("got %v %v, %v %v, %v %v; want about 2 and 0, nothing, and 84 overflows", base.Switches, base.Overflows, fasthttp.Switches, fasthttp.Overflows, pool.Switches, pool.Overflows)
	}
}

// A quantile of an arm's sessions is the windows' median, and needs enough in each.
func TestArmSessions(t *testing.T) {
	t.Parallel()
	r := synthetic{edit: func(t *record.Trial, requests []record.Request) []record.Request {
		complete := map[string]int{"nethttp": 120, "fasthttp": 50, "pool": 3}[t.Arm]
		if complete > 0 {
			t.Client.Sessions = &record.Sessions{Complete: complete + t.Block%2, Broken: 1, Duration: record.Quantiles{P50: .01 * float64(t.Block), P90: .02 * float64(t.Block)}}
		}
		return requests
	}}.judged(t)
	near := func(name string, got *float64, want float64) {
		t.Helper()
		if (got == nil) != (want == 0) || got != nil && math.Abs(*got-want) > 1e-9 {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	base, fasthttp, pool := r.Arms[0].Sessions, r.Arms[2].Sessions, r.Arms[3].Sessions
	near("p50", base.P50, .065)
	near("p90", base.P90, .13)
	near("p50 of 50", fasthttp.P50, .065)
	near("p90 of 50", fasthttp.P90, 0)
	near("p50 of 3", pool.P50, 0)
	if base.Complete != 12*120+6 || base.Broken != 12 || base.PerWindow != 120 {
		t.Errorf("got %+v", base)
	}
	if r.Arms[1].Sessions != nil {
		t.Errorf("without sessions: got %+v", r.Arms[1].Sessions)
	}
}

// What is known of a run without a block that counts, or of arms that fail, and what is not.
func TestArmsKnowWhatTheyMeasured(t *testing.T) {
	t.Parallel()
	fails := func(every int) func(*record.Trial, []record.Request) []record.Request {
		return some(every, func(r *record.Request) { r.Status = 500 })
	}
	r := synthetic{edit: func(t *record.Trial, requests []record.Request) []record.Request {
		proof := &record.Proof{Planned: len(requests) + 2, Sent: len(requests)}
		switch t.Arm {
		case "fasthttp":
			requests = fails(7)(t, requests)
			proof.ReadLate = &record.ReadLate{Replies: 5, P50: .001, P99: .002}
		case "pool":
			requests = fails(2000)(t, requests) // none: a window has 1,200
			proof.ReadLate = &record.ReadLate{}
		}
		t.Client.Proof = proof
		return requests
	}}.judged(t)
	base, fasthttp, pool := r.Arms[0], r.Arms[2], r.Arms[3]
	if base.GoodMean != nil || pool.GoodMean != nil || fasthttp.GoodMean == nil {
		t.Errorf("the mean of good replies is that of an arm that fails: got %v, %v, %v", base.GoodMean, pool.GoodMean, fasthttp.GoodMean)
	}
	if g := base.Generator; g.Missing != 2*12 || g.ReadLate != nil {
		t.Errorf("a load that sent two too few in a window, and measured no lateness: %+v", g)
	}
	if g := fasthttp.Generator.ReadLate; g == nil || g.Replies != 5*12 || g.P50 != .001 || g.P99 != .002 {
		t.Errorf("replies read late: %+v", g)
	}
	if g := pool.Generator.ReadLate; g != nil {
		t.Errorf("no reply was read late: %+v", g)
	}

	without := synthetic{edit: each("pool", func(t *record.Trial) { t.Window = 0 })}.judged(t)
	if a := without.Arms[0]; without.Valid != 0 || len(a.Curve) > 0 || a.Overflows != nil || a.Switches != nil || a.Generator != nil {
		t.Errorf("a run of no block that counts knows %+v", a)
	}
}

// The quantiles of sessions begin with the number of them that a quantile needs.
func TestSessionsAtTheirLimits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ complete, known int }{
		{stats.MinRequests(.5) - 1, 0}, {stats.MinRequests(.5), 1}, {stats.MinRequests(.9) - 1, 1}, {stats.MinRequests(.9), 2},
	} {
		b := blocks{valid: []int{1}, windows: windows{1: {"pool": {Window: window.Window{Trial: record.Trial{
			Client: record.ClientSide{Sessions: &record.Sessions{Complete: c.complete}},
		}}}}}}
		s := b.sessions("pool")
		if known := stats.Count(s.P50 != nil) + stats.Count(s.P90 != nil); known != c.known {
			t.Errorf("%d sessions: %d quantiles, want %d", c.complete, known, c.known)
		}
	}
}
