package experiment

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"schedlab/internal/capacity"
	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// search finds the capacity of every arm, each window of which is a trial of the
// record.
func (r *runner) search(ctx context.Context) error {
	p := r.plan
	floor, ceiling := p.floor(), mostRequests/(p.Warmup+p.Window)
	xmax := make([]float64, len(p.Arms))
	for i, a := range p.Arms {
		xmax[i] = r.run.XMax[a.Name]
		if xmax[i] < floor {
			return impossible("arm %q does %.0f/s at most, and a window of %g s needs %.0f/s to judge %s; lengthen --window to %.0fs or ask for a lower quantile",
				a.Name, xmax[i], p.Window, floor, p.SLO, p.Window*2*floor/xmax[i]+1)
		}
	}
	r.run.Plan = p.Plan
	if err := r.dir.WriteRun(*r.run); err != nil {
		return err
	}
	bench := &stand{runner: r, measured: make([]int, len(p.Arms))}
	_, err := capacity.Run(ctx, bench, xmax, capacity.Options{SLO: p.slo, Seed: p.Seed, Windows: p.Windows, Floor: floor, Ceiling: ceiling})
	return err
}

// A stand is the bench of a search: real servers, one at a time.
type stand struct {
	*runner
	measured []int // windows, by arm
}

// Start implements capacity.Bench.
func (s *stand) Start(ctx context.Context, arm int) (capacity.Server, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	a := s.plan.arms[arm]
	server, err := s.launcher.start(ctx, s.plan.command(arm), s.plan.scenario.readyPath(a))
	if err != nil {
		return nil, fmt.Errorf("arm %q: %w", a.Name, err)
	}
	server.showsMetrics(a.Metrics)
	return &underTest{stand: s, arm: arm, process: server}, nil
}

// underTest is a server that windows are measured of.
type underTest struct {
	*stand
	arm     int
	process *process
	told    bool // that it died
}

// Stop implements capacity.Server. How long a server takes to end after its windows
// is not asked here.
func (s *underTest) Stop() error {
	defer s.process.kill()
	err := s.process.stop()
	if _, slow := errors.AsType[*lingered](err); err == nil || slow || s.told {
		return nil
	}
	return fmt.Errorf("arm %q: %w", s.plan.Arms[s.arm].Name, err)
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
	t.Server.PID, t.Server.Doubts = s.process.pid(), s.process.doubts

	quiet := quietCollector()
	clocks := watch(ctx, s.process.pid(), p.cpus, seconds(p.Warmup), seconds(p.Window))
	got, err := s.drive(ctx, s.process.addr, t.Block-1, s.arm, clocks)
	quiet()
	switch {
	case err != nil:
		clocks.abandon()
		return capacity.Window{}, fmt.Errorf("arm %q: %w", name, err)
	case !got.ran:
		clocks.abandon()
		return capacity.Window{}, fmt.Errorf("arm %q: the load ran out of local ports or descriptors at %.0f/s; keep connections or raise the limits", name, step.Rate)
	}
	used := clocks.end()
	t.Server.CPU, t.Server.RunWait, t.Server.Foreign = used.server, used.runWait, p.cpus.foreign(used, p.Window)
	t.Server.Footprint = clocks.footprint
	p.cpus.place(s.process, &t.Server)
	t.Client = got.client
	t.Client.CPU, t.Client.Steal, t.Client.Throttled = used.load, used.steal, used.throttled
	if brokeOff(got.requests) {
		s.process.awaitDeath()
	}
	metrics := s.settle(ctx, s.process, p.arms[s.arm], &t.Server)
	files := record.Files{Metrics: metrics, Log: s.process.log.Bytes()}
	if !s.process.alive() {
		died := s.process.died(fmt.Sprintf("at %.0f/s", step.Rate))
		t.Failure, s.told = died.Error(), true
		return capacity.Window{}, errors.Join(fmt.Errorf("arm %q: %w", name, died), s.dir.WriteTrial(t, got.requests, files))
	}
	if err := s.dir.WriteTrial(t, got.requests, files); err != nil {
		return capacity.Window{}, err
	}
	s.trials++
	w, _ := reduced(record.TrialRecord{Trial: t, Requests: got.requests}, s.run.Env, p.Arms[s.arm].Clients, p.slo)
	return w, nil
}

// unfit says why a window is no evidence about its server: a rule about the
// instrument or the machine that it broke, "" for none. That a server falls behind
// is what a search looks for.
func (w *window) unfit(e record.Env, slo stats.SLO) string {
	judged := map[string]bool{}
	for _, t := range slo {
		for name, q := range quantiles {
			judged[name] = judged[name] || q <= t.Quantile && w.requests >= stats.MinRequests(q)
		}
	}
	for _, b := range w.breaches(serverCPUs(e), judged, false) {
		if b.rule != ruleBacklog && !strings.HasPrefix(b.rule, "Little") {
			return fmt.Sprintf("%s: %.3g, limit %.3g", b.rule, b.value, b.limit)
		}
	}
	steal := max(0, w.trial.Client.Steal) / (w.trial.Window * float64(max(e.CPUs, 1)))
	switch {
	case steal > stealLimit:
		return fmt.Sprintf("steal (ratio): %.3g, limit %.3g", steal, stealLimit)
	case w.trial.Client.Throttled > 0:
		return fmt.Sprintf("the cgroup's CPU limit held processes back (s): %.3g", w.trial.Client.Throttled)
	}
	return ""
}
