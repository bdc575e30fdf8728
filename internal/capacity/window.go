// Package capacity searches for the highest rate of requests at which a server
// keeps a service level objective, and says how sure that is. It decides what to
// offer next and what the windows so far come to; the caller's [Bench] starts
// the servers and measures. It reads no clock, and with the same answers of the bench it
// does the same again.
//
// The search is that of measurement.md §6: a look over the whole range in random
// order; a robust line of 1/quantile on rate, which is straight for M/M/1 and nearly
// so for most servers near their limit; more windows about where the line meets the
// limit; and then a verdict that no line has a part in, by windows just below and
// just above. The answer is an interval, never a point.
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
	Reach    Purpose = "reach"    // beyond it, while every window there keeps the objective, or none
	Near     Purpose = "near"     // about the estimate
	Verify   Purpose = "verify"   // below the estimate, where the objective should be kept
	Refute   Purpose = "refute"   // above it, where it should be broken
	Overload Purpose = "overload" // beyond what the server can do, to see what that leaves behind
	Again    Purpose = "again"    // at the verified rate in the server that was overloaded
)

// A Window is what one window of open-loop load showed of a server.
type Window struct {
	Purpose Purpose
	Rate    float64   // asked for, requests per second
	Sent    float64   // requests sent in it, per second; 0 counts as Rate
	Values  []float64 // of the objective's terms, in their order and units; NaN where it cannot tell
	Errors  float64   // ratio of its requests without a good reply
	Refused bool      // it is no evidence about the server
}

// A Step is the next window of a search.
type Step struct {
	Rate    float64 // requests per second
	Purpose Purpose
}

// A Lost error of a [Bench] says that an arm cannot be measured any more: its server
// died, say. It ends the search of that arm alone.
type Lost struct{ Err error }

// Error is that of Err.
func (l *Lost) Error() string { return l.Err.Error() }

// Unwrap returns Err.
func (l *Lost) Unwrap() error { return l.Err }

// A Bench measures servers. Its methods are called one at a time, and an error of
// theirs ends the search of all arms, unless it is a [*Lost].
type Bench interface {
	// Start starts a fresh server of an arm.
	Start(ctx context.Context, arm int) (Server, error)
}

// A Server is a running one.
type Server interface {
	// Offer measures one window. Purpose and Rate of the Window are the step's.
	Offer(ctx context.Context, s Step) (Window, error)
	// Stop ends the server; nothing is offered afterwards. Its error counts when Offer
	// had none.
	Stop() error
}

// sent is the rate that reached the server.
func (w Window) sent() float64 {
	if w.Sent > 0 {
		return w.Sent
	}
	return w.Rate
}

// evidence reports whether the window says something of a fresh server.
func (w Window) evidence() bool {
	return !w.Refused && w.Purpose != Overload && w.Purpose != Again
}

// promised reports whether a window at this rate can be held to a term: one below
// the goodput that is promised cannot have it.
func promised(t stats.Term, rate float64) bool { return !t.AtLeast || rate >= t.Limit }

// promise is the least rate that can have the goodput an objective promises; 0 when
// it promises none.
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
