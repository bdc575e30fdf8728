package doctor

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEngine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		engine Engine
		fit    string
		found  string
	}{
		{"quiet", Engine{Rate: 10_000, P50: 25.31e-6, P99: 90.4e-6}, "yes", "the load engine adds 25.3µs at p50 and 90.4µs at p99 (null server, 10,000/s)"},
		{"slow as a rule", Engine{Rate: 2000, P50: 325e-6, P99: 900e-6}, "doubt", "the load engine adds 325µs at p50 and 900µs at p99 (null server, 2,000/s)"},
		{"slow at times", Engine{Rate: 500, P50: 40e-6, P99: 3.59e-3}, "doubt", "the load engine adds 40µs at p50 and 3.59ms at p99 (null server, 500/s)"},
		{"not told", Engine{Err: errors.New("no server")}, "open", "no server"},
	} {
		m := healthy(t)
		m.Engine = c.engine
		f := finding(t, Examine(m), "engine")
		if fit(f) != c.fit || f.Found != c.found || (f.Fix != "") != (c.fit == "doubt") {
			t.Errorf("%s: got %+v, want %s and %q", c.name, f, c.fit, c.found)
		}
	}
}

// Where one CPU serves and asks, that is what is to be mended.
func TestEngineOnOneCPU(t *testing.T) {
	t.Parallel()
	m := healthy(t)
	m.ServerCPUs, m.LoadCPUs = []int{0}, []int{0}
	m.Engine.P50 = 400e-6
	if f := finding(t, Examine(m), "engine"); fit(f) != "doubt" || f.Fix != finding(t, Examine(m), "cpus").Fix {
		t.Errorf("got %+v, want the fix of the CPUs", f)
	}
}

// A report has the engine's times as numbers, and nothing of one that was not measured.
func TestEngineInReport(t *testing.T) {
	t.Parallel()
	m := healthy(t)
	if diff := cmp.Diff(&Engine{Rate: 10_000, P50: 25e-6, P99: 90e-6}, Examine(m).Engine); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	m.Engine = Engine{}
	if r := Examine(m); r.Engine != nil || len(r.Findings) != len(checks())-1 {
		t.Errorf("not measured: got %+v and %d findings", r.Engine, len(r.Findings))
	}
}
