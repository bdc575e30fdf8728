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

// A Survey looks at the machine as a comparison with the same options would use
// it, without comparing anything. It is not safe for concurrent use.
type Survey struct {
	CPUs host.Sides // those of the servers and of the load
	self string
}

// NewSurvey chooses the CPUs as [Plan] does. An [*Impossible] error says what to
// change. Of the options it reads Self, ServerCPUs, LoadCPUs and Pin.
func NewSurvey(o Options) (*Survey, error) {
	cpus, err := chooseCPUs(o, scenario.Needs{})
	if err != nil {
		return nil, err
	}
	return &Survey{cpus, o.Self}, nil
}

// Pause is how long the platform takes a busy thread off the first CPU of either
// side, as a comparison measures it, in 0.6 s; negative where threads cannot be
// bound.
func (s *Survey) Pause() time.Duration { return host.Pause(s.CPUs) }

// OnLoadCPUs runs f while all threads of this process are bound as the load would
// be.
func (s *Survey) OnLoadCPUs(f func()) error {
	undo, err := s.CPUs.BindLoad()
	if err != nil {
		return err
	}
	defer undo()
	f()
	return nil
}

// Gap asks a server in that mode for one fixed short reply over one connection, again as soon as
// it is answered, for the given time. longest is the longest time between two
// replies, or from the last to the end.
func (s *Survey) Gap(ctx context.Context, mode string, span time.Duration) (longest time.Duration, replies int, err error) {
	err = withLauncher(s.CPUs, func(launcher *process.Launcher) error {
		arm := scenario.Arm{Mode: mode}
		asked := scenario.Scenario{Workload: scenario.Workload{Method: http.MethodGet, Path: "/plaintext"}}
		server, err := launcher.Start(ctx, arm.Argv(s.self, 1, record.StampsOff), asked.ReadyPath(arm))
		if err != nil {
			return err
		}
		defer server.Kill()
		result, err := load.Closed(ctx, load.ClosedOptions{
			Targets: asked.Targets(server.Addr), Connections: 1, KeepAlive: true, Warmup: probeWarmup, Duration: span, Shared: s.CPUs.Shared,
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

// longestGap looks at one client's replies.
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

// Offered measures the arms' throughput as Run does, where a rate is relative to the
// slowest, and returns what the first arm would be offered, requests per second. 0: no
// rate is relative, so nothing was measured. It records nothing. An [*Impossible]
// error says why the arms could not serve the rate.
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

// Shorten plans so many blocks at most: too few for a verdict, enough to see how the
// blocks of one arm scatter.
func (c *Comparison) Shorten(blocks int) {
	p := c.plan
	blocks = min(blocks, p.Blocks)
	p.Blocks, p.Order = blocks, p.Order[:blocks]
	p.Estimate = p.cost(blocks).Seconds()
}
