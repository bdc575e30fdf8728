package experiment

import (
	"context"
	"os"
	"testing"

	"schedlab/internal/host"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
)

// A share of a throughput that no generator can offer becomes a rate that it has
// offered, or one computed from what its requests cost; where the closed loop tells
// that there is room, and where no rate is a share, nothing is sent.
func TestRehearse(t *testing.T) {
	if host.ProcessCPU(os.Getpid()) < 0 {
		t.Skip("NOT RUN: the CPU time of the generator is not known here")
	}
	const x = 300_000.
	for _, c := range []struct {
		name   string
		rate   scenario.Rate
		cost   float64
		capped bool
	}{
		{"too much", scenario.Rate{OfSlowest: .7}, 1e-5, true},
		{"room for four times the closed loop's cost", scenario.Rate{OfSlowest: .7}, 1e-7, false},
		{"an absolute rate", scenario.Rate{PerSecond: .7 * x}, 1e-5, false},
	} {
		comp := comparison(t, "good", "good", func(s *scenario.Scenario, o *Options) {
			o.Pin = "auto"
			s.Load.Rate, s.Load.KeepAlive, s.Load.MinRate = c.rate, true, scenario.Rate{}
		})
		r := &runner{plan: comp.plan, run: &record.Run{Env: comp.Env()}}
		err := r.onItsCPUs(t.Context(), func(ctx context.Context) error {
			server, err := r.launcher.Start(ctx, comp.plan.Arms[0].Command, "/")
			if err != nil {
				return err
			}
			defer server.Kill()
			return r.rehearse(ctx, server, comp.plan.arms[0], x, c.cost)
		})
		got := r.sendable
		if err != nil || c.capped != (got > 0) || got >= .7*x {
			t.Errorf("%s: got %v/s, error %v", c.name, got, err)
		}
	}
}
