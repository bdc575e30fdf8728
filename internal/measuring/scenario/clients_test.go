package scenario

import (
	"fmt"
	"strings"
	"testing"

	"schedlab/internal/measuring/scenario/demo"
	"schedlab/internal/shared/mode"

	"github.com/google/go-cmp/cmp"
)

// parsed is a scenario's text, parsed.
func parsed(t *testing.T, text string) Scenario {
	t.Helper()
	s, err := Parse("f.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestVaryFromTheCommandLine(t *testing.T) {
	t.Parallel()
	names := func(s Scenario) (all []string) {
		for _, a := range s.Contestants() {
			all = append(all, a.Name)
		}
		return all
	}
	modes := map[string]mode.Mode{"pool": {}, "nethttp": {Station: "goroutines", Check: func(flags map[string]string) error {
		if flags["workers"] != "" {
			return fmt.Errorf("nethttp has no workers")
		}
		return nil
	}}}
	s := parsed(t, demo.Arm("{mode: pool, workers: 3}"))
	if err := s.Vary("workers", []string{"1", "4"}, modes); err != nil {
		t.Fatal(err)
	}
	if err := s.Vary("rate", []string{"100/s", "200/s"}, modes); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"nethttp,rate=100", "nethttp,rate=200",
		"pool,workers=3,rate=100,workers=1", "pool,workers=3,rate=100,workers=4", "pool,workers=3,rate=200,workers=1", "pool,workers=3,rate=200,workers=4",
	}
	if diff := cmp.Diff(want, names(s)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for factor, want := range map[string]string{"colour": "unknown factor", "queue-depth": ""} {
		if err := s.Vary(factor, []string{"1"}, modes); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", factor, err, want)
		}
	}
	alone := parsed(t, demo.Text)
	if err := alone.Vary("workers", []string{"1"}, map[string]mode.Mode{"nethttp": modes["nethttp"]}); err == nil || !strings.Contains(err.Error(), "no arm takes workers: nethttp has no workers") {
		t.Errorf("no arm takes it: got %v", err)
	}
	others := parsed(t, demo.Swap("cpu: 100us", "path: /"))
	others.Arms = []Arm{{Name: "one", Command: []string{"./one", "{addr}"}}, {Name: "two", URL: "http://127.0.0.1:1"}}
	if err := others.Vary("workers", []string{"1", "2"}, modes); err == nil || err.Error() != "no arm takes workers: two is another program, whose flags are its own; write an arm for each value" {
		t.Errorf("arms that are none of ours: got %v", err)
	}
}

// Varied values are checked like those that an arm sets, before anything runs.
func TestVaryChecksVariablesAndLimits(t *testing.T) {
	t.Parallel()
	for factor, want := range map[string]string{
		"env.SCHEDLAB_WORKERS": "behind the plan's back",
		"env.1X":               "no name of an environment variable",
		"env.limit":            "leave out env",
		"limit":                `limit "foo" is not a number of CPUs`,
	} {
		s := parsed(t, demo.Text)
		if err := s.Vary(factor, []string{"0.5", "foo"}, map[string]mode.Mode{"nethttp": {}, "fasthttp": {}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", factor, err, want)
		}
	}
}

// A sticky pool starves kept connections that are more than its workers: what helps is to keep none.
func TestVaryKeepAlive(t *testing.T) {
	t.Parallel()
	kept := func() Scenario { return parsed(t, demo.Swap("rate: 300/s", "rate: 300/s\n  keepalive: true")) }
	both, closed := kept(), kept()
	if err := both.Vary("keepalive", []string{"true", "false"}, map[string]mode.Mode{"nethttp": {}, "fasthttp": {}}); err != nil {
		t.Fatal(err)
	}
	closed.Keep(false)
	for s, want := range map[*Scenario]map[string]int{
		&both:   {"nethttp,keepalive=true": 64, "nethttp,keepalive=false": 0, "fasthttp,keepalive=true": 64, "fasthttp,keepalive=false": 0},
		&closed: {"nethttp": 0, "fasthttp": 0},
	} {
		got := map[string]int{}
		for _, a := range s.Contestants() {
			l, err := s.Clients(a)
			if bad := l.Check(); err != nil || bad != nil || l.KeepAlive != (l.Connections > 0) {
				t.Errorf("%s: %+v, %v, %v", a.Name, l, err, bad)
			}
			got[a.Name] = l.Connections
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
