package record

// A Feasibility tells what a plan can decide with its rate, window and budget. It is known before
// the blocks start.
type Feasibility struct {
	// First is the number of blocks at the first look that can decide anything.
	First int `json:"first"`
	// Planned is the window, in seconds, before it was lengthened for the quantiles asked for; 0
	// if it was not lengthened.
	Planned float64 `json:"planned_window,omitempty"`
	// NeedsRate is the rate, in requests per second, that the probes must find for this window to
	// decide everything asked for; 0 if the rate is known or high enough.
	NeedsRate float64       `json:"needs_rate,omitempty"`
	Cannot    []Undecidable `json:"cannot,omitempty"`
	// Would are flags that make everything asked for decidable; nil if it is decidable already,
	// or if no flags would do.
	Would *WouldDo `json:"would,omitempty"`
}

// Undecidable is one metric that the plan cannot decide.
type Undecidable struct {
	Metric string   `json:"metric"` // p50, p90 or p99
	Code   Shortage `json:"code"`
	Value  float64  `json:"value"` // the amount there is, in the unit of the code
	Limit  float64  `json:"limit"` // the amount needed
	Asked  bool     `json:"asked"` // an expectation, an SLO or --metric asks for it; or none does for any metric, and this one is primary
}

// A Shortage names the resource that a metric has too little of.
type Shortage string

// The shortages.
const (
	ShortRequests Shortage = "requests" // in a window
	ShortBudget   Shortage = "budget"   // seconds, to the first look
	ShortBlocks   Shortage = "blocks"   // allowed by --blocks, to the first look
)

// WouldDo are values for flags; 0 leaves a flag unchanged.
type WouldDo struct {
	Window float64 `json:"window,omitempty"` // seconds
	Budget float64 `json:"budget,omitempty"` // seconds
	Blocks int     `json:"blocks,omitempty"`
}
