package experiment

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/mode"
	"schedlab/internal/scenario"
	"schedlab/internal/workload"
)

func pooledDemo(t *testing.T) scenario.Scenario {
	t.Helper()
	s, err := scenario.Parse("demo", []byte(`name: demo
question: Who wins?
workload: {cpu: 100us, sleep: 0.9*0s+0.1*20ms}
load: {rate: 500/s, keepalive: false}
arms: [nethttp, {name: pool, mode: pool, workers: 4, rate: 300/s}]
expect: [p50("pool") < 1s]
`))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestShortIsLittlesLaw(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(s *scenario.Scenario)
		want   []string
		known  bool
	}{
		{"500/s x 2.1 ms in 4 workers", func(*scenario.Scenario) {}, nil, true},
		{"500/s x 8.1 ms in 4 workers", func(s *scenario.Scenario) { s.Workload.Sleep = dist("8ms") }, []string{"pool"}, true},
		{"exactly as many as are busy", func(s *scenario.Scenario) { s.Workload.CPU, s.Workload.Sleep = workload.Dist{}, dist("8ms") }, []string{"pool"}, true},
		{"a share of an unknown throughput", func(s *scenario.Scenario) { s.Load.Rate = scenario.Rate{OfSlowest: 0.7} }, nil, false},
		{"a path", func(s *scenario.Scenario) { s.Workload = scenario.Workload{Path: "/json", Method: "GET"} }, nil, false},
		{"workers held by connections", func(s *scenario.Scenario) { s.Load.KeepAlive, s.Load.Connections = true, 4 }, nil, false},
		{"more CPU time than there is", func(s *scenario.Scenario) { s.Workload.CPU = dist("200ms") }, nil, false},
	} {
		s := pooledDemo(t)
		s.Arms[1].Clients = nil
		c.change(&s)
		p, err := Plan(s, Options{Self: "schedlab", Modes: pooledModes})
		if err != nil {
			t.Fatal(err)
		}
		got, known := p.Short()
		if diff := cmp.Diff(c.want, got); diff != "" || known != c.known {
			t.Errorf("%s: got %q, %v, want %q, %v", c.name, got, known, c.want, c.known)
		}
	}
}

func dist(s string) workload.Dist {
	d, err := workload.ParseDist(s)
	if err != nil {
		panic(err)
	}
	return d
}

var pooledModes = map[string]mode.Mode{
	"nethttp": {Station: "goroutines", Check: func(flags map[string]string) error {
		if flags["workers"] != "" {
			return errors.New("--workers means nothing to nethttp")
		}
		return nil
	}},
	"pool": {Flags: []string{"workers"}, Station: "pool", Sticky: true, Check: func(flags map[string]string) error {
		if flags["workers"] == "0" {
			return errors.New("--workers 0 must be 1 to 100")
		}
		return nil
	}},
}
