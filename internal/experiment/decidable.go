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

// A decision holds the inputs from which decide finds what a plan can decide.
type decision struct {
	rate   float64 // lowest rate of an arm, requests per second; 0: not known yet, +Inf: closed loops only
	floor  float64 // lower limit of rate, if rate is not known yet
	window time.Duration
	budget time.Duration
	blocks int // most blocks that may run; 0: any number
	first  int // blocks of the first look
	// cost returns the duration of a run with a number of blocks and a length of window.
	cost  func(window time.Duration, blocks int) time.Duration
	asked []string      // metrics to decide, if possible
	fixed bool          // the user gave the window
	most  time.Duration // longest possible window: the length of a trace or log that is replayed
	// step is the unit by which a window grows: a period of the arrivals, or 0 for windowStep.
	step time.Duration
}

// windowStep is the unit to which windows are rounded up.
const windowStep = 50 * time.Millisecond

// needs returns the shortest window with enough requests for quantile q, rounded up.
func (d decision) needs(q float64) time.Duration {
	exact := time.Duration(judge.RequestsFor(q) / d.rate * float64(time.Second))
	if exact <= d.window {
		return d.window
	}
	step := max(d.step, windowStep)
	return d.window + (exact-d.window+step-1)/step*step
}

// decide returns what can be decided, and the window for it. The window is the shortest with enough
// requests for every quantile asked for. If the budget has no room for that, it is the shortest for
// those quantiles that fit.
func (d decision) decide() (record.Feasibility, time.Duration) {
	f := record.Feasibility{First: d.first}
	known := d.rate > 0 && !math.IsInf(d.rate, 1)
	length, all := d.window, d.window
	names := slices.Sorted(maps.Keys(window.Quantiles)) // p50 first: it needs the fewest requests
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

// roundUp rounds a duration up to whole seconds.
func roundUp(d time.Duration) time.Duration { return (d + time.Second - 1).Truncate(time.Second) }

// lacking reports whether a metric that was asked for cannot be decided.
func lacking(f record.Feasibility) bool {
	return slices.ContainsFunc(f.Cannot, func(u record.Undecidable) bool { return u.Asked })
}
