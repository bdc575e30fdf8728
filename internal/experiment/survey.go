package experiment

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"schedlab/internal/host"
	"schedlab/internal/load"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
)

// A Survey measures the machine in the way in which a comparison with the same options would use
// it. It compares nothing. It is not safe for concurrent use.
//
// It serves the command doctor, which tells whether a machine is fit for measuring. Each method
// starts what it needs and stops it again.
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
	err = withLab(s.CPUs, lab{}, func(l lab) error {
		// One connection and a reply that costs next to nothing: a long gap is most likely a pause
		// of the machine.
		arm := scenario.Arm{Mode: mode}
		asked := scenario.Scenario{Workload: scenario.Workload{Method: http.MethodGet, Path: "/plaintext"}}
		server, err := l.launcher.Start(ctx, arm.Argv(s.self, 1, record.StampsOff), asked.ReadyPath(arm))
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

// longestGap returns the longest time between two good replies of one client, or between a reply
// and an end of the span. The ends of the span count as replies, so a silence at an end is seen,
// too.
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

// Floor measures, in half a second, the time that the load itself adds to every response time. It
// uses a server that does next to nothing. The result tells at which rate.
func (s *Survey) Floor(ctx context.Context) (f *record.Floor, err error) {
	err = withLab(s.CPUs, lab{}, func(l lab) error {
		f, err = l.floor(ctx, s.self, load.DefaultEngine, s.CPUs.Shared)
		return err
	})
	return f, err
}
