package record

// A Feasibility is what a plan's rate, window and budget can decide, known before the
// blocks start.
type Feasibility struct {
	// First is how many blocks the first look takes that can decide anything.
	First int `json:"first"`
	// Planned is the window before it was lengthened for the quantiles that are asked for,
	// seconds; 0: it was not.
	Planned float64 `json:"planned_window,omitempty"`
	// NeedsRate is what the rate that the probes are to choose must come to, per second, for
	// all that is asked to be decided in this window; 0: the rate is known, or high enough.
	NeedsRate float64       `json:"needs_rate,omitempty"`
	Cannot    []Undecidable `json:"cannot,omitempty"`
	// Would are the flags with which all that is asked for could be decided; nil when it
	// can be, or when none would do.
	Would *WouldDo `json:"would,omitempty"`
}

// Undecidable is one metric that cannot be decided.
type Undecidable struct {
	Metric string   `json:"metric"` // p50, p90 or p99
	Code   Shortage `json:"code"`
	Value  float64  `json:"value"` // what there is, in the unit of the code
	Limit  float64  `json:"limit"` // what it takes
	Asked  bool     `json:"asked"` // an expectation, an SLO or --metric asks for it, or nothing does and it is a primary one
}

// A Shortage says what a metric has too little of.
type Shortage string

// The shortages.
const (
	ShortRequests Shortage = "requests" // in a window
	ShortBudget   Shortage = "budget"   // seconds, to the first look
	ShortBlocks   Shortage = "blocks"   // allowed by --blocks, to the first look
)

// WouldDo are flags of a command; 0 leaves one as it is.
type WouldDo struct {
	Window float64 `json:"window,omitempty"` // seconds
	Budget float64 `json:"budget,omitempty"` // seconds
	Blocks int     `json:"blocks,omitempty"`
}
