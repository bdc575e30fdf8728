package capacity

import (
	"bytes"
	"encoding/json"
	"math"

	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// Kind is the kind of a [Search]. A result of schema 1 is one if it has the key "capacity".
var Kind = record.Declare("search", "capacity", func() record.Result { return new(Search) })

// A Search is the result of `schedlab capacity`: for every arm the highest rate at which it
// keeps a service level objective. Rates are requests per second, ratios 0..1. A
// rate of 0 is unknown and left out of the JSON.
type Search struct {
	record.Common
	SLO    string        `json:"slo"`    // "p99<=10ms,errors<=0.1%"
	Terms  []SLOTerm     `json:"terms"`  // its parts, in order
	Budget record.Span   `json:"budget"` // planned for each arm
	Arms   []ArmCapacity `json:"arms"`   // in plan order
	// Lines tell which arm has more capacity, for arms with intervals that do not overlap.
	Lines []fact.Fact `json:"lines"`
}

// Contestants returns the arms without their capacities.
func (s *Search) Contestants() []record.Contestant {
	all := make([]record.Contestant, len(s.Arms))
	for i, a := range s.Arms {
		all[i] = a.Contestant
	}
	return all
}

// MarshalJSON writes the search with its attachments.
func (s Search) MarshalJSON() ([]byte, error) {
	type plain Search // without this method
	return s.AsJSON(plain(s))
}

// UnmarshalJSON reads a search of schema 1 or 2. Schema 1 keeps the arms' capacities in a separate object.
func (s *Search) UnmarshalJSON(data []byte) error {
	type plain Search
	if err := json.Unmarshal(data, (*plain)(s)); err != nil || s.Schema > 1 {
		return err
	}
	cast := s.Arms
	s.Arms = nil
	if err := json.Unmarshal(data, &struct{ Capacity *plain }{(*plain)(s)}); err != nil {
		return err
	}
	for i := range min(len(cast), len(s.Arms)) {
		s.Arms[i].Contestant = cast[i].Contestant
	}
	return nil
}

// An SLOTerm is one limit of the objective, in words and as a value.
type SLOTerm struct {
	Text string `json:"text"` // "p99<=10ms"
	stats.Term
}

// An ArmCapacity is one arm's capacity and the evidence for it.
type ArmCapacity struct {
	record.Contestant
	// Outcome is Yes if the arm keeps the objective at Low, and No if it breaks it at High and keeps it at no rate that was
	// offered. Refused means that the server died under load (End), or that X_max is too low for a window to judge.
	Outcome outcome.Outcome `json:"outcome"`
	Never   bool            `json:"never,omitempty"` // of a No: at rates below High it cannot have the goodput that is asked for
	// Stopped tells why a search without a High tried no higher rate, or one without a Low no lower one:
	// "floor", "ceiling", "refused" or "budget"; "" when the search was cut short.
	Stopped string `json:"stopped,omitempty"`
	// End tells why this arm's search ended early; nil when it did not.
	End    *record.ArmEnd `json:"end,omitempty"`
	Answer string         `json:"answer"` // Outcome in words: known, none, open, refused
	Fact   fact.Fact      `json:"fact"`   // the answer with its figures
	// Starves tells how many of its clients the arm serves at all, so that its capacity and XMax
	// compare with no other arm's; none for an arm that serves all.
	Starves fact.Fact `json:"starves,omitzero"`

	// LowKept of LowOf windows at Low kept the objective, and HighBroken of HighOf at High broke
	// it. Without a Low or High they count the windows at the last rate tried.
	Low        float64 `json:"low,omitempty"` // highest verified rate
	LowKept    int     `json:"low_kept"`
	LowOf      int     `json:"low_of"`
	High       float64 `json:"high,omitempty"` // lowest refuted rate
	HighBroken int     `json:"high_broken"`
	HighOf     int     `json:"high_of"`

	// Estimate is the rate at which the binding term breaks its limit, by the line or in the
	// middle of its bracket. HalfWidth is half the relative range of the estimates that leave out
	// one window each; 0 unknown. It tells when to stop, and not how sure the estimate is.
	Estimate   float64   `json:"estimate,omitempty"`
	HalfWidth  float64   `json:"half_width,omitempty"`
	Term       string    `json:"term"`                 // the binding term: the first to break; "" without an Estimate
	Line       *RateLine `json:"line,omitempty"`       // of the binding term; nil for errors and goodput, and with too few points
	Saturation float64   `json:"saturation,omitempty"` // rate at which the response time of the line goes to infinity
	XMax       float64   `json:"x_max,omitempty"`      // closed-loop throughput

	// Recovers tells whether the server keeps the objective at Low again after the overload: Open if noise near the
	// capacity may be the reason that it did not; "" if this was not tried.
	Recovers  outcome.Outcome `json:"recovers"`
	AgainKept int             `json:"again_kept"` // windows after the overload that kept the objective, of AgainOf
	AgainOf   int             `json:"again_of"`

	CPUPerRequest float64      `json:"cpu_per_request,omitempty"` // server CPU seconds, median over windows; 0 unknown
	CPURates      []float64    `json:"cpu_rates,omitempty"`       // lowest and highest rate of the windows behind CPUPerRequest
	Windows       []RateWindow `json:"windows"`                   // in the order they were measured
}

// LastRate returns the rate of the last window with this purpose that is evidence; 0 if there is none.
func (a ArmCapacity) LastRate(purpose string) (rate float64) {
	for _, w := range a.Windows {
		if w.Purpose == purpose && w.Refused.None() {
			rate = w.Rate
		}
	}
	return rate
}

// Bounds returns the interval of an arm's capacity, in requests per second, if its outcome is decided; high is +Inf
// if there is no upper bound.
func (a ArmCapacity) Bounds() (low, high float64) {
	switch {
	case a.Outcome == outcome.No:
		return 0, a.High
	case a.High == 0:
		return a.Low, math.Inf(1)
	}
	return a.Low, a.High
}

// UnmarshalJSON reads an arm, also one of an older record, which has a word for each kind of outcome, and the fact as its
// answer.
func (a *ArmCapacity) UnmarshalJSON(data []byte) error {
	type plain ArmCapacity
	read := struct {
		*plain
		Answer json.RawMessage `json:"answer"`
	}{plain: (*plain)(a)}
	if err := json.Unmarshal(data, &read); err != nil {
		return err
	}
	a.Answer = outcome.Capacity.Phrase(a.Outcome)
	var older struct {
		Outcome string `json:"outcome"`
	}
	a.Never = a.Never || json.Unmarshal(data, &older) == nil && older.Outcome == "never"
	if bytes.HasPrefix(read.Answer, []byte("{")) {
		return json.Unmarshal(read.Answer, &a.Fact)
	}
	return nil
}

// A RateLine is the line fitted to the reciprocal of the binding term's response time: 1/seconds = Intercept +
// Slope·rate. Slope is negative. For the 99th percentile of M/M/1 it is (mu - lambda)/ln 100. Near saturation
// the response time of a queue grows like 1/(mu - lambda), so its reciprocal is close to a straight line in the
// rate.
type RateLine struct {
	Intercept float64 `json:"intercept"`
	Slope     float64 `json:"slope"`
}

// A RateWindow is one window of load on a server, with its figures.
type RateWindow struct {
	Trial   int                       `json:"trial"`   // number of its trial
	Purpose string                    `json:"purpose"` // curve, reach, near, verify, refute, overload, again
	Rate    float64                   `json:"rate"`    // asked for, per second
	Sent    float64                   `json:"sent"`    // requests sent in it, per second
	Goodput float64                   `json:"goodput"`
	Errors  float64                   `json:"errors"`           // ratio of requests without a good reply
	Values  map[stats.Measure]float64 `json:"values"`           // of the terms; a measure with too few requests is absent
	Kept    bool                      `json:"kept"`             // whether every term held
	Refused fact.Fact                 `json:"refused,omitzero"` // why the window is no evidence about the server
	CPU     float64                   `json:"-"`                // server CPU seconds per request; NaN or below 0 if unknown
	Busy    float64                   `json:"-"`                // ratio of time that the load's CPUs were busy with its process
}
