package runner

import (
	"testing"

	"schedlab/internal/measuring/host"
	"schedlab/internal/measuring/load"
	"schedlab/internal/shared/record"
)

// A turn over TLS in which the load was busy and the server was not tells nothing about the server.
func TestLoadLimitsATurn(t *testing.T) {
	t.Parallel()
	p := plan{cpus: host.Sides{Load: []int{1}}}
	secure := record.Clients{Speaks: record.Speaks{TLS: record.TrustAny}}
	busy, calm := load.Proof{Elapsed: 1, CPU: .9}, load.Proof{Elapsed: 1, CPU: .2}
	for name, c := range map[string]struct {
		clients record.Clients
		did     load.Proof
		s       record.Saturation
		want    bool
	}{
		"the server idles":                  {secure, busy, record.Saturation{CPUs: 1, CPU: .3, Idle: .7}, true},
		"its clocks are not known":          {secure, busy, record.Saturation{}, true},
		"the server is busy":                {secure, busy, record.Saturation{CPUs: 1, CPU: .95, Idle: .05}, false},
		"both wait, as handlers that sleep": {secure, calm, record.Saturation{CPUs: 1, CPU: .1, Idle: .9}, false},
		"the engine spin":                   {record.Clients{}, busy, record.Saturation{CPUs: 1, CPU: .3, Idle: .7}, false},
	} {
		if got := p.loadLimits(c.clients, c.did, c.s); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}
