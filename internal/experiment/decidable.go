package experiment

import (
	"maps"
	"math"
	"slices"
	"time"

	"schedlab/internal/judge"
	"schedlab/internal/record"
	"schedlab/internal/window"
)

// A decision is what a plan must know to tell what it can decide.
type decision struct {
	rate   float64 // of the arm that is asked least, per second; 0 not known yet, +Inf in closed loops
	floor  float64 // the lowest that rate may become, where it is not known yet
	window time.Duration
	budget time.Duration
	blocks int // the most that may run; 0: any number
	first  int // blocks of the first look
	// cost is how long a run of so many blocks of such a window takes.
	cost  func(window time.Duration, blocks int) time.Duration
	asked []string      // metrics that must be decided if they can
	fixed bool          // the window is the user's
	most  time.Duration // the longest that a window may be: as long as what is replayed
	// step is by what a window grows: a period of the arrivals, or 0 for windowStep.
	step time.Duration
}

// windowStep is what windows are rounded up to.
const windowStep = 50 * time.Millisecond

// needs is the shortest window with enough requests for quantile q, rounded up.
func (d decision) needs(q float64) time.Duration {
	exact := time.Duration(judge.RequestsFor(q) / d.rate * float64(time.Second))
	if exact <= d.window {
		return d.window
	}
	step := max(d.step, windowStep)
	return d.window + (exact-d.window+step-1)/step*step
}

// decide says what can be decided, and by which window: the shortest with enough
// requests for every quantile asked for, or of as many as the budget has room for.
func (d decision) decide() (record.Feasibility, time.Duration) {
	f := record.Feasibility{First: d.first}
	known := d.rate > 0 && !math.IsInf(d.rate, 1)
	length, all := d.window, d.window
	names := slices.Sorted(maps.Keys(window.Quantiles)) // p50 first, which needs least
	for _, name := range names {
		if !known || !slices.Contains(d.asked, name) {
			continue
		}
		need := d.needs(window.Quantiles[name])
		all = max(all, need)
		if !d.fixed && need <= d.most && d.cost(need, d.first) <= d.budget {
			length = max(length, need)
		}
	}
	if length > d.window {
		f.Planned = d.window.Seconds()
	}
	for _, name := range names {
		u := record.Undecidable{Metric: name, Asked: slices.Contains(d.asked, name)}
		switch q := window.Quantiles[name]; {
		case d.blocks > 0 && d.blocks < d.first:
			u.Code, u.Value, u.Limit = record.ShortBlocks, float64(d.blocks), float64(d.first)
		case d.cost(length, d.first) > d.budget:
			u.Code, u.Value, u.Limit = record.ShortBudget, d.budget.Seconds(), d.cost(length, d.first).Seconds()
		case known && d.rate*length.Seconds() < judge.RequestsFor(q):
			u.Code, u.Value, u.Limit = record.ShortRequests, math.Floor(d.rate*length.Seconds()), math.Ceil(judge.RequestsFor(q))
		default:
			continue
		}
		f.Cannot = append(f.Cannot, u)
	}
	for _, name := range d.asked {
		if need := judge.RequestsFor(window.Quantiles[name]) / length.Seconds(); d.rate == 0 && need > d.floor {
			f.NeedsRate = max(f.NeedsRate, math.Ceil(need))
		}
	}
	if lacking(f) && all <= d.most {
		f.Would = &record.WouldDo{}
		if all > length {
			f.Would.Window = all.Seconds()
		}
		if cost := d.cost(all, d.first); cost > d.budget {
			f.Would.Budget = roundUp(cost).Seconds()
		}
		if d.blocks > 0 && d.blocks < d.first {
			f.Would.Blocks = d.first
		}
	}
	return f, length
}

func roundUp(d time.Duration) time.Duration { return (d + time.Second - 1).Truncate(time.Second) }

// lacking reports whether something that is asked for cannot be decided.
func lacking(f record.Feasibility) bool {
	return slices.ContainsFunc(f.Cannot, func(u record.Undecidable) bool { return u.Asked })
}
