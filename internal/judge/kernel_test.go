package judge

import (
	"testing"

	"schedlab/internal/record"
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
	for i, want := range []record.Answer{record.Passed, record.Passed, record.Undecided, record.Passed, record.Undecided, record.Undecided} {
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
