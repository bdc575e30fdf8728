package experiment

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"schedlab/internal/host"
	"schedlab/internal/load"
	"schedlab/internal/process"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
)

// A Survey measures the machine in the way in which a comparison with the same options would use it. It
// compares nothing. It is not safe for concurrent use.
type Survey struct {
	CPUs host.Sides // CPUs of the servers and of the load
	self string
}

// NewSurvey returns a Survey. It chooses the CPUs as [Plan] does, and reads only the options Self,
// ServerCPUs, LoadCPUs, Pin and Engine. An [*Impossible] error tells how to change them.
func NewSurvey(o Options) (*Survey, error) {
	cpus, err := chooseCPUs(o, scenario.Needs{})
	if err != nil {
		return nil, err
	}
	return &Survey{cpus, o.Self}, nil
}

// Pause measures, in 0.6 s, how long the platform takes a busy thread off the first CPU of each side. It
// returns a negative value where threads cannot be bound to CPUs.
func (s *Survey) Pause() time.Duration { return host.Pause(s.CPUs) }

// OnLoadCPUs runs f while all threads of this process are bound to the load's CPUs.
func (s *Survey) OnLoadCPUs(f func()) error {
	undo, err := s.CPUs.BindLoad()
	if err != nil {
		return err
	}
	defer undo()
	f()
	return nil
}

// Gap starts a server of the given mode and requests a short fixed reply over one connection, each time
// as soon as the last reply has come, for the time span. longest is the longest time between two
// replies, or from the last reply to the end.
func (s *Survey) Gap(ctx context.Context, mode string, span time.Duration) (longest time.Duration, replies int, err error) {
	err = withLauncher(s.CPUs, func(launcher *process.Launcher) error {
		arm := scenario.Arm{Mode: mode}
		asked := scenario.Scenario{Workload: scenario.Workload{Method: http.MethodGet, Path: "/plaintext"}}
		server, err := launcher.Start(ctx, arm.Argv(s.self, 1, record.StampsOff), asked.ReadyPath(arm))
		if err != nil {
			return err
		}
		defer server.Kill()
		result, err := load.Closed(ctx, load.Options{
			Clients: record.Clients{Connections: 1, KeepAlive: true},
			Targets: asked.Targets(server.Addr), Warmup: probeWarmup, Duration: span, Shared: s.CPUs.Shared,
		})
		if err != nil {
			return err
		}
		if result.Answered == 0 {
			return fmt.Errorf("a %s server gave no good reply in %v", mode, span)
		}
		longest, replies = longestGap(result, span), result.Answered
		return nil
	})
	return longest, replies, err
}

// longestGap returns the longest time between two good replies of one client, or between a reply and an
// end of the span.
func longestGap(r load.ClosedResult, span time.Duration) time.Duration {
	ends := make([]int64, 0, len(r.Requests)+2)
	ends = append(ends, int64(probeWarmup), int64(probeWarmup+span))
	for _, q := range r.Requests {
		if q.Good() {
			ends = append(ends, q.Done)
		}
	}
	slices.Sort(ends)
	longest := int64(0)
	for i := range ends[1:] {
		longest = max(longest, ends[i+1]-ends[i])
	}
	return time.Duration(longest)
}

// Offered returns the rate, in requests per second, that Run would offer the first arm, if a rate is
// relative to the slowest arm. For that it measures the arms' throughput as Run does. If no rate is
// relative, it measures nothing and returns 0. It records nothing. An [*Impossible] error tells why the
// arms could not serve the rate.
func (c *Comparison) Offered(ctx context.Context, tell Progress) (float64, error) {
	p := c.plan
	if !p.relative() {
		return 0, nil
	}
	r := &runner{plan: p, iters: c.opts.Iters, run: &record.Run{Env: c.Env(), XMax: map[string]float64{}}, progress: tell, began: time.Now()}
	if err := r.onItsCPUs(ctx, r.probeAll); err != nil {
		return 0, err
	}
	if err := p.chooseRate(r.run.XMax, r.sendable); err != nil {
		return 0, err
	}
	return p.Arms[0].Clients.Rate, nil
}

// Shorten limits the plan to blocks blocks. They may be too few for a verdict, but enough to see the
// spread of one arm's blocks.
func (c *Comparison) Shorten(blocks int) {
	p := c.plan
	blocks = min(blocks, p.Blocks)
	p.Blocks, p.Order = blocks, p.Order[:blocks]
	p.Estimate = p.cost(blocks).Seconds()
}
