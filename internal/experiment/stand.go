package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"schedlab/internal/capacity"
	"schedlab/internal/host"
	"schedlab/internal/judge"
	"schedlab/internal/process"
	"schedlab/internal/prose"
	"schedlab/internal/record"
)

// search finds the capacity of every arm that can be searched, each window of which
// is a trial of the record. Its error is that of the first arm whose server failed,
// after the others are done. One that is too slow is no error among others.
func (r *runner) search(ctx context.Context) error {
	p := r.plan
	o := judge.SearchOptions(p.Plan, p.slo)
	bench := &stand{runner: r, measured: make([]int, len(p.Arms))}
	var xmax []float64
	var slow, failed error
	for i, a := range p.Arms {
		x, measured := r.run.XMax[a.Name]
		switch {
		case !measured:
			failed = cmp.Or(failed, fmt.Errorf("arm %q: %s", a.Name, r.run.Ends[a.Name].Why))
		case x < o.Floor:
			slow = cmp.Or(slow, impossible("arm %q %s", a.Name, judge.TooSlow(o, p.Window, x)))
		default:
			bench.arms, xmax = append(bench.arms, i), append(xmax, x)
		}
	}
	if len(xmax) == 0 {
		return cmp.Or(failed, slow)
	}
	r.run.Plan = p.Plan
	if err := r.dir.WriteRun(*r.run); err != nil {
		return err
	}
	_, err := capacity.Run(ctx, bench, xmax, o)
	return cmp.Or(err, failed)
}

// lose notes why the search of one arm ends here; what was measured of it is kept. The
// error ends that arm's search alone, unless it cannot be noted.
func (r *runner) lose(arm string, rate float64, err error) error {
	_, died := errors.AsType[*process.DiedError](err)
	why := strings.TrimPrefix(prose.FirstLine(err.Error()), fmt.Sprintf("arm %q: ", arm))
	if r.run.Ends == nil {
		r.run.Ends = map[string]record.SearchEnd{}
	}
	r.run.Ends[arm] = record.SearchEnd{Died: died, Rate: rate, Why: why}
	if werr := r.dir.WriteRun(*r.run); werr != nil {
		return errors.Join(err, werr)
	}
	return &capacity.Lost{Err: err}
}

// A stand is the bench of a search: real servers, one at a time.
type stand struct {
	*runner
	arms     []int // those that are searched, by their place in the plan
	measured []int // windows, by place
}

// Start implements capacity.Bench.
func (s *stand) Start(ctx context.Context, searched int) (capacity.Server, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	arm := s.arms[searched]
	a := s.plan.arms[arm]
	server, err := s.launcher.Start(ctx, s.plan.command(arm), s.plan.scenario.ReadyPath(a))
	if err != nil {
		if err = fmt.Errorf("arm %q: %w", a.Name, err); ctx.Err() != nil {
			return nil, err
		}
		return nil, s.lose(a.Name, 0, err)
	}
	s.others.Guest(server.Found)
	server.ShowsMetrics(a.Metrics)
	return &underTest{stand: s, arm: arm, process: server}, nil
}

// underTest is a server that windows are measured of.
type underTest struct {
	*stand
	arm     int
	process *process.Process
	told    bool // that it died
}

// Stop implements capacity.Server. How long a server takes to end after its windows
// is not asked here.
func (s *underTest) Stop() error {
	defer s.process.Kill()
	err := s.process.Stop()
	if _, slow := errors.AsType[*process.LingeredError](err); err == nil || slow || s.told {
		return nil
	}
	name := s.plan.Arms[s.arm].Name
	return s.lose(name, 0, fmt.Errorf("arm %q: %w", name, err))
}

// Offer implements capacity.Server: one trial, recorded.
func (s *underTest) Offer(ctx context.Context, step capacity.Step) (capacity.Window, error) {
	p, name := s.plan, s.plan.Arms[s.arm].Name
	s.tell(fmt.Sprintf("%s at %.0f/s: %s", name, step.Rate, step.Purpose), s.trials, len(p.Arms)*p.Windows)
	p.Arms[s.arm].Clients.Rate = step.Rate
	defer func() { p.Arms[s.arm].Clients.Rate = 0 }()
	t := record.Trial{
		Number: s.trials + 1, Block: s.measured[s.arm] + 1, Arm: name, Seed: blockSeed(p.Seed, s.measured[s.arm]),
		Warmup: p.Warmup, Window: p.Window, Rate: step.Rate, Purpose: string(step.Purpose), Server: unknownServer(),
	}
	s.measured[s.arm]++
	t.Server.PID, t.Server.Doubts = s.process.Pid(), s.process.Doubts

	quiet := quietCollector()
	clocks := host.Watch(ctx, s.process.Pid(), p.cpus, record.Duration(p.Warmup), record.Duration(p.Window))
	got, err := s.drive(ctx, s.process.Addr, t.Block-1, s.arm, clocks)
	quiet()
	switch {
	case err != nil && ctx.Err() != nil:
		clocks.Abandon()
		return capacity.Window{}, fmt.Errorf("arm %q: %w", name, err)
	case err != nil:
		clocks.Abandon()
		return capacity.Window{}, s.lose(name, step.Rate, fmt.Errorf("arm %q: %w", name, err))
	case !got.ran:
		clocks.Abandon()
		return capacity.Window{}, s.lose(name, step.Rate,
			fmt.Errorf("arm %q: the load ran out of local ports or descriptors at %.0f/s; keep connections or raise the limits", name, step.Rate))
	}
	used := clocks.End()
	t.Server.CPU, t.Server.RunWait, t.Server.Foreign = used.Server, used.RunWait, p.cpus.Foreign(used, p.Window)
	t.Server.Footprint = clocks.Footprint
	s.process.Place(p.cpus, &t.Server)
	t.Client = got.client
	t.Client.CPU, t.Client.Steal, t.Client.Throttled = used.Load, used.Steal, used.Throttled
	if brokeOff(got.requests) {
		s.process.AwaitDeath()
	}
	metrics := s.settle(ctx, s.process, p.arms[s.arm], &t.Server)
	files := record.Files{Metrics: metrics, Log: s.process.Output()}
	if !s.process.Alive() {
		died := s.process.Died(fmt.Sprintf("at %.0f/s", step.Rate))
		t.Failure, s.told = died.Error(), true
		if err := s.dir.WriteTrial(t, got.requests, files); err != nil {
			return capacity.Window{}, errors.Join(died, err)
		}
		s.trials++
		return capacity.Window{}, s.lose(name, step.Rate, fmt.Errorf("arm %q: %w", name, died))
	}
	if err := s.dir.WriteTrial(t, got.requests, files); err != nil {
		return capacity.Window{}, err
	}
	s.trials++
	w, _ := judge.Reduced(record.TrialRecord{Trial: t, Requests: got.requests}, s.run.Env, p.Arms[s.arm].Clients, p.slo)
	return w, nil
}
