package capacity

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"math/rand/v2"

	"schedlab/internal/record"
)

// Run searches every arm's capacity. xmax is each arm's X_max: closed-loop throughput, requests
// per second. A round measures one window of every arm that is not done, in random order, so that
// changes on the machine meet all arms. Run returns each arm's windows in the order they were
// measured; with an error, the windows until then. A lost arm does not end the search of the
// others: its error, the [*Lost] of the first lost arm, is returned after they are done.
func Run(ctx context.Context, b Bench, xmax []float64, o Options) ([][]record.RateWindow, error) {
	arms := make([]*arm, len(xmax))
	open := make([]*arm, len(xmax))
	for i, x := range xmax {
		a := &arm{search: newSearch(o, i, x), index: i}
		a.next, a.stop = iter.Pull(a.search.steps)
		defer a.stop()
		a.step, a.more = a.next()
		arms[i], open[i] = a, a
	}
	order := rand.New(rand.NewPCG(o.Seed, 0))
	var err, lost error
	for len(open) > 0 && err == nil {
		order.Shuffle(len(open), func(i, j int) { open[i], open[j] = open[j], open[i] })
		var still []*arm
		for _, a := range open {
			if a.more && err == nil {
				err = a.round(ctx, b)
			}
			if gone, ok := errors.AsType[*Lost](err); ok {
				a.more, err, lost = false, nil, cmp.Or(lost, error(gone))
			}
			if a.more {
				still = append(still, a)
			}
		}
		open = still
	}
	windows := make([][]record.RateWindow, len(arms))
	for i, a := range arms {
		windows[i] = a.search.windows
	}
	return windows, cmp.Or(err, lost)
}

// An arm is a search under way.
type arm struct {
	index  int
	search *search
	next   func() (Step, bool)
	stop   func()
	step   Step
	more   bool // step is valid
}

// round measures the arm's next window on a fresh server, and then the windows that want the same
// server.
func (a *arm) round(ctx context.Context, b Bench) (err error) {
	server, err := b.Start(ctx, a.index)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, server.Stop()) }()
	for {
		w, err := server.Offer(ctx, a.step)
		if err != nil {
			return err
		}
		w.Purpose, w.Rate = a.step.Purpose, a.step.Rate
		a.search.windows = append(a.search.windows, w)
		if a.step, a.more = a.next(); !a.more || a.step.Purpose != Again {
			return nil
		}
	}
}
