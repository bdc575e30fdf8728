package record

import (
	"bytes"
	"encoding/json"
	"math"
)

// A Capacity is what `schedlab capacity` found: for every arm the highest rate at
// which it keeps a service level objective. Rates are requests per second, times
// seconds, ratios 0..1. A rate of 0 is one that is not known, and not in the JSON.
type Capacity struct {
	SLO    string        `json:"slo"`    // "p99<=10ms,errors<=0.1%"
	Terms  []SLOTerm     `json:"terms"`  // its parts, in order
	Budget float64       `json:"budget"` // planned for each arm
	Arms   []ArmCapacity `json:"arms"`   // in plan order
	// Lines say which arm has more capacity, as far as their intervals lie apart.
	Lines []Fact `json:"lines"`
}

// An SLOTerm is one promise.
type SLOTerm struct {
	Text    string  `json:"text"`   // "p99<=10ms"
	Metric  string  `json:"metric"` // p99, mean, errors, goodput
	Limit   float64 `json:"limit"`  // seconds; a ratio for errors; per second for goodput
	AtLeast bool    `json:"at_least,omitempty"`
}

// An ArmCapacity is one arm's answer and all that it rests on.
type ArmCapacity struct {
	Name string `json:"name"`
	Mode string `json:"mode"` // "" for a foreign command
	// Outcome is "between" Low and High, "beyond" Low, "below" High, "never" where no
	// rate at all can keep it, "slow" where X_max is too low for a window to judge,
	// "died" of its load, or "undecided".
	Outcome string `json:"outcome"`
	// Stopped is why a search "beyond" tried nothing higher, or one "below" nothing
	// lower: "floor", "ceiling", "refused" or "budget"; "" when it was cut short.
	Stopped string `json:"stopped,omitempty"`
	// End is why the search of this arm ended before its time, nil when it did not.
	End    *SearchEnd `json:"end,omitempty"`
	Answer Fact       `json:"answer"`

	Low        float64 `json:"low,omitempty"` // highest rate that was verified
	LowKept    int     `json:"low_kept"`      // windows at Low that kept the objective, of LowOf
	LowOf      int     `json:"low_of"`
	High       float64 `json:"high,omitempty"` // lowest rate that was refuted
	HighBroken int     `json:"high_broken"`    // windows at High that broke it, of HighOf
	HighOf     int     `json:"high_of"`

	Estimate   float64   `json:"estimate,omitempty"`   // where the binding term gives way, by the line
	HalfWidth  float64   `json:"half_width,omitempty"` // half the relative range of the estimates without one window: no error bound; 0 not known
	Term       string    `json:"term"`                 // the term that gives way first
	Line       *RateLine `json:"line,omitempty"`
	Saturation float64   `json:"saturation,omitempty"` // rate at which the line says the response time has no end
	XMax       float64   `json:"x_max,omitempty"`      // closed-loop throughput

	// Recovers is "yes" or "no", and "" when it was not tried or not settled: whether
	// the server that was overloaded keeps the objective at Low again.
	Recovers  string `json:"recovers"`
	AgainKept int    `json:"again_kept"` // windows after the overload that kept it, of AgainOf
	AgainOf   int    `json:"again_of"`

	CPUPerRequest float64      `json:"cpu_per_request,omitempty"` // server CPU seconds, median over windows; 0 not known
	CPURates      []float64    `json:"cpu_rates,omitempty"`       // lowest and highest rate of those windows
	Windows       []RateWindow `json:"windows"`                   // in the order they were measured
	Theories      []RateTheory `json:"theories,omitempty"`
	NoTheory      Fact         `json:"no_theory,omitzero"` // why there are none
}

// Decided reports whether the arm's capacity has a bound.
func (a ArmCapacity) Decided() bool {
	switch a.Outcome {
	case "between", "beyond", "below", "never":
		return true
	}
	return false
}

// Bounds are what a decided arm's capacity lies between.
func (a ArmCapacity) Bounds() (low, high float64) {
	switch a.Outcome {
	case "beyond":
		return a.Low, math.Inf(1)
	case "below", "never":
		return 0, a.High
	}
	return a.Low, a.High
}

// A SearchEnd is why the search of one arm ended before its time.
type SearchEnd struct {
	Died bool    `json:"died,omitempty"` // its server did
	Rate float64 `json:"rate,omitempty"` // that was offered then, requests per second; 0 none, or the closed loop of X_max
	Why  string  `json:"why"`
}

// A RateLine is 1/seconds = Intercept + Slope·rate of the binding term's response
// time; its slope is negative.
type RateLine struct {
	Intercept float64 `json:"intercept"`
	Slope     float64 `json:"slope"`
}

// A RateWindow is one window of load.
type RateWindow struct {
	Trial   int                `json:"trial"`   // its record
	Purpose string             `json:"purpose"` // curve, reach, near, verify, refute, overload, again
	Rate    float64            `json:"rate"`    // asked for
	Sent    float64            `json:"sent"`    // requests sent in it, per second
	Goodput float64            `json:"goodput"`
	Errors  float64            `json:"errors"`           // ratio of its requests without a good reply
	Values  map[string]float64 `json:"values"`           // by the terms' metrics; without those it cannot tell
	Kept    bool               `json:"kept"`             // every term held
	Refused Fact               `json:"refused,omitzero"` // why it is no evidence about the server
}

// A RateTheory is what a queueing model says of an arm: where a term gives way, and
// its response time over the rate.
type RateTheory struct {
	Model   string      `json:"model"`
	Formula string      `json:"formula,omitempty"`
	Metric  string      `json:"metric"`         // of Curve and Rate
	Rate    float64     `json:"rate,omitempty"` // 0: the model has no figure, or no such rate
	Curve   []RatePoint `json:"curve"`
	Why     Fact        `json:"why,omitzero"` // Rate is 0
}

// A RatePoint is a response time at a rate.
type RatePoint struct {
	Rate    float64 `json:"rate"`
	Seconds float64 `json:"s"`
}

// searchedArm is an arm of a search as JSON: its figures are in the Capacity.
type searchedArm struct {
	Name    string   `json:"name"`
	Mode    string   `json:"mode"`
	Command string   `json:"command"`
	Role    Role     `json:"role"`
	Clients Clients  `json:"clients,omitzero"`
	Procs   int      `json:"procs,omitempty"`
	XMax    *float64 `json:"x_max,omitempty"`
}

// MarshalJSON leaves out of a search's arms what only a comparison measures.
func (r Result) MarshalJSON() ([]byte, error) {
	type plain Result // without this method
	var v any = plain(r)
	if r.Capacity != nil {
		arms := []searchedArm{}
		for _, a := range r.Arms {
			arms = append(arms, searchedArm{a.Name, a.Mode, a.Command, a.Role, a.Clients, a.Procs, a.XMax})
		}
		v = struct {
			plain
			Arms []searchedArm `json:"arms"`
		}{plain(r), arms}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // who encodes the whole decides
	err := e.Encode(v)
	return b.Bytes(), err
}
