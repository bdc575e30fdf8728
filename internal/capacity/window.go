// Package capacity searches for the highest rate of requests at which a server keeps a service
// level objective, and says how sure the answer is. It decides which rate to offer next and what
// the windows so far show. The caller's [Bench] starts the servers and measures. The package reads
// no clock; with the same answers of the bench it does the same again.
//
// The search (docs/guide/capacity.md) begins with a look over the whole range in random
// order. Then it fits a robust line of 1/quantile on rate, which is straight for M/M/1 and nearly
// straight for most servers near their limit, and measures more windows where the line meets the
// limit. The verdict does not depend on the line: windows just below the estimate must keep the
// objective, and windows just above must break it. The answer is an interval, never a point.
package capacity

import (
	"context"

	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// The purposes of windows, in the order in which a search has them.
const (
	Curve    = "curve"    // the first look over the range
	Reach    = "reach"    // beyond the range, while every window in it keeps the objective, or none does
	Near     = "near"     // around the estimate
	Verify   = "verify"   // below the estimate, where the objective should be kept
	Refute   = "refute"   // above it, where it should be broken
	Overload = "overload" // beyond what the server can do, to see whether it recovers
	Again    = "again"    // at the verified rate on the server that was overloaded
)

// A Step is the next window of a search. Purpose is one of the constants above. The bench measures
// every purpose alike, except that a window of Overload may lack values.
type Step struct {
	Rate    float64 // requests per second
	Purpose string
}

// A Lost is the error of a [Bench] for an arm that cannot be measured any more, for example
// because its server died. It ends the search of this arm only.
type Lost struct{ Err error }

// Error returns the text of Err.
func (l *Lost) Error() string { return l.Err.Error() }

// Unwrap returns Err.
func (l *Lost) Unwrap() error { return l.Err }

// A Bench measures servers. Its methods are called one at a time. An error from them ends the
// search of all arms, unless it is a [*Lost].
type Bench interface {
	// Start starts a fresh server of an arm; arm is its index in the xmax of [Run].
	Start(ctx context.Context, arm int) (Server, error)
}

// A Server is a running server of one arm. [Run] offers it one window, or an overload with the
// windows after it.
type Server interface {
	// Offer measures one window. It refuses the window if it has no value for a term of the
	// objective, unless its purpose is Overload. A Sent of 0 counts as the rate. [Run] sets
	// Purpose and Rate from the step.
	Offer(ctx context.Context, s Step) (record.RateWindow, error)
	// Stop ends the server; nothing is offered to it afterwards. Its error is returned if Offer
	// had none.
	Stop() error
}

// evidence reports whether the window tells something about a fresh server. An overload leaves
// queues and perhaps damage behind, so the windows from then on say nothing about a server that
// was never overloaded.
func evidence(w record.RateWindow) bool {
	return w.Refused.None() && w.Purpose != Overload && w.Purpose != Again
}

// promised reports whether a window at this rate can be held to a term. Below the promised goodput
// it cannot: fewer requests are offered than are to be answered.
func promised(t stats.Term, rate float64) bool { return !t.AtLeast || rate >= t.Limit }

// promise returns the lowest rate that can have the goodput that the objective promises; 0 if it
// promises none.
func promise(slo stats.SLO) (rate float64) {
	for _, t := range slo {
		if t.AtLeast {
			rate = max(rate, t.Limit)
		}
	}
	return rate
}

// Keeps reports whether every term of the objective holds in the window. A term without a value
// does not. A goodput term that the rate cannot fulfil is left out.
func Keeps(w record.RateWindow, slo stats.SLO) bool {
	for _, t := range slo {
		if v, known := w.Values[t.Metric]; promised(t, w.Rate) && !(known && t.Holds(v)) {
			return false
		}
	}
	return true
}
