package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"schedlab/internal/capacity"
	"schedlab/internal/judge"
	"schedlab/internal/process"
	"schedlab/internal/prose"
	"schedlab/internal/record"
)

// search finds the capacity of every arm that can be searched. Each window is a trial of the record. If
// the server of an arm fails, search goes on with the other arms, and returns the first such error at
// the end. An arm that is too slow is an error only if no arm is left.
func (r *runner) search(ctx context.Context) error {
	p := r.plan
	o := judge.SearchOptions(p.Plan, p.slo)
	b := &bench{runner: r}
	var xmax []float64
	var slow, failed error
	for _, a := range p.arms {
		x, measured := r.run.XMax[a.Name]
		switch {
		case !measured:
			failed = cmp.Or(failed, fmt.Errorf("arm %q: %s", a.Name, r.run.Ends[a.Name].Why))
		case x < o.Floor:
			slow = cmp.Or(slow, impossible("arm %q %s", a.Name, judge.TooSlow(o, p.Window, x)))
		default:
			b.arms, xmax = append(b.arms, a), append(xmax, x)
		}
	}
	if len(xmax) == 0 {
		return cmp.Or(failed, slow)
	}
	b.windows = make([]int, len(xmax))
	r.run.Plan = p.Plan
	if err := r.dir.WriteRun(*r.run); err != nil {
		return err
	}
	_, err := capacity.Run(ctx, b, xmax, o)
	return cmp.Or(err, failed)
}

// endSearch records why the search of one arm ends early. The arm's windows so far are kept. The error
// that it returns, a *[capacity.Lost], ends the search of this arm only. If recording fails, the error
// ends the whole search.
func (r *runner) endSearch(arm string, rate float64, err error) error {
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

// A bench starts the servers of a search, one at a time.
type bench struct {
	*runner
	arms    []arm // the arms that are searched
	windows []int // number of windows measured, per arm
}

// Start implements capacity.Bench.
func (b *bench) Start(ctx context.Context, searched int) (capacity.Server, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	a := b.arms[searched]
	server, err := b.start(ctx, a)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, err
	case err != nil:
		return nil, b.endSearch(a.Name, 0, err)
	}
	return &benchServer{bench: b, arm: a, windows: &b.windows[searched], process: server}, nil
}

// A benchServer is a running server on which windows are measured.
type benchServer struct {
	*bench
	arm     arm
	windows *int // number of windows measured of the arm
	process *process.Process
	died    bool // the record of the last window says that the server died
}

// Stop implements capacity.Server. A server that has to be killed is no error here.
func (s *benchServer) Stop() error {
	defer s.process.Kill()
	err := s.process.Stop()
	if _, slow := errors.AsType[*process.LingeredError](err); err == nil || slow || s.died {
		return nil
	}
	return s.endSearch(s.arm.Name, 0, fmt.Errorf("arm %q: %w", s.arm.Name, err))
}

// Offer implements capacity.Server. It runs and records one trial.
func (s *benchServer) Offer(ctx context.Context, step capacity.Step) (record.RateWindow, error) {
	p, name := s.plan, s.arm.Name
	s.tell(fmt.Sprintf("%s at %.0f/s: %s", name, step.Rate, step.Purpose), s.trials, len(p.arms)*p.Windows)
	t := s.newTrial(s.trials+1, *s.windows, s.arm, s.process)
	t.Rate, t.Purpose, t.clients.Rate = step.Rate, step.Purpose, step.Rate
	*s.windows++
	switch err := t.measure(ctx); {
	case errors.Is(err, errOutOfPorts):
		return record.RateWindow{}, s.endSearch(name, step.Rate, fmt.Errorf("arm %q: %w at %.0f/s; keep connections or raise the limits", name, err, step.Rate))
	case err != nil && ctx.Err() != nil:
		return record.RateWindow{}, fmt.Errorf("arm %q: %w", name, err)
	case err != nil:
		return record.RateWindow{}, s.endSearch(name, step.Rate, fmt.Errorf("arm %q: %w", name, err))
	}
	t.readCounters(ctx)
	var died error
	if !s.process.Alive() {
		died = s.process.Died(fmt.Sprintf("at %.0f/s", step.Rate))
		t.Failure, s.died = died.Error(), true
	}
	if err := t.write(); err != nil {
		return record.RateWindow{}, errors.Join(died, err)
	}
	s.trials++
	if died != nil {
		return record.RateWindow{}, s.endSearch(name, step.Rate, fmt.Errorf("arm %q: %w", name, died))
	}
	return judge.Reduced(record.TrialRecord{Trial: t.Trial, Requests: t.seen.requests}, s.run.Env, t.clients, p.slo), nil
}
