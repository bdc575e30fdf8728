// Package capacity searches for the highest rate of requests at which a server keeps a service
// level objective, and says how sure the answer is. It decides which rate to offer next and what
// the windows so far show. The caller's [Bench] starts the servers and measures. The package reads
// no clock; with the same answers of the bench it does the same again.
//
// The search follows measurement.md §6. It begins with a look over the whole range in random
// order. Then it fits a robust line of 1/quantile on rate, which is straight for M/M/1 and nearly
// straight for most servers near their limit, and measures more windows where the line meets the
// limit. The verdict does not depend on the line: windows just below the estimate must keep the
// objective, and windows just above must break it. The answer is an interval, never a point.
package capacity

import (
	"context"
	"math"

	"schedlab/internal/stats"
)

// A Purpose is why a window was measured.
type Purpose string

// The purposes, in the order in which a search has them.
const (
	Curve    Purpose = "curve"    // the first look over the range
	Reach    Purpose = "reach"    // beyond the range, while every window in it keeps the objective, or none does
	Near     Purpose = "near"     // around the estimate
	Verify   Purpose = "verify"   // below the estimate, where the objective should be kept
	Refute   Purpose = "refute"   // above it, where it should be broken
	Overload Purpose = "overload" // beyond what the server can do, to see whether it recovers
	Again    Purpose = "again"    // at the verified rate on the server that was overloaded
)

// A Window holds what one window of open-loop load showed of a server.
type Window struct {
	Purpose Purpose
	Rate    float64   // rate asked for, requests per second
	Sent    float64   // requests sent in it, per second; 0 counts as Rate
	Values  []float64 // one per term of the objective, in its order and unit; NaN if the window cannot tell
	Errors  float64   // ratio of requests without a good reply
	Refused bool      // the window is not evidence about the server
}

// A Step is the next window of a search.
type Step struct {
	Rate    float64 // requests per second
	Purpose Purpose
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

// A Server is a running server of one arm.
type Server interface {
	// Offer measures one window. [Run] sets the Purpose and Rate of the Window to those of the
	// step.
	Offer(ctx context.Context, s Step) (Window, error)
	// Stop ends the server; nothing is offered to it afterwards. Its error is returned if Offer
	// had none.
	Stop() error
}

// sent returns the rate that reached the server.
func (w Window) sent() float64 {
	if w.Sent > 0 {
		return w.Sent
	}
	return w.Rate
}

// evidence reports whether the window tells something about a fresh server.
func (w Window) evidence() bool {
	return !w.Refused && w.Purpose != Overload && w.Purpose != Again
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

// Keeps reports whether every term of the objective holds in the window.
func (w Window) Keeps(slo stats.SLO) bool {
	for i, t := range slo {
		if promised(t, w.Rate) && !t.Holds(w.Values[i]) {
			return false
		}
	}
	return true
}

// known reports whether the window has a value for every term.
func (w Window) known(slo stats.SLO) bool {
	for i := range slo {
		if i >= len(w.Values) || math.IsNaN(w.Values[i]) {
			return false
		}
	}
	return true
}
