package record

// An Answer is what a run says of an assertion. A failed one is false with
// confidence; what the run, or the machine, cannot decide is Undecided.
type Answer string

// The three answers.
const (
	Passed    Answer = "pass"
	Failed    Answer = "fail"
	Undecided Answer = "REFUSED"
)

// An Expectation is one assertion of a scenario and what became of it.
type Expectation struct {
	Text    string `json:"text"`    // as the scenario has it
	Outcome Answer `json:"outcome"` // pass, fail or REFUSED
	Reason  string `json:"reason"`  // the evidence, or why it was refused
}

// A Prediction is what one queueing model gives for an arm from measured inputs.
// Values are by metric (mean, p50, p90, p99 in seconds, goodput per second, loss
// as a ratio); one that the model does not give is absent.
type Prediction struct {
	Model   string             `json:"model"`             // as the scenario names it
	Formula string             `json:"formula,omitempty"` // what it came to for this arm
	Values  map[string]float64 `json:"values"`
	Why     string             `json:"why,omitempty"` // it does not apply to the arm: why
}

// A Level is one value of a varied factor that makes an arm what it is.
type Level struct {
	Factor string `json:"factor"`
	Value  string `json:"value"`
}

// A Station is what queueing theory sees of an arm.
type Station struct {
	Kind    string `json:"kind"`              // pool, per-worker, loops or goroutines
	Workers int    `json:"workers,omitempty"` // none with goroutines
	Cores   int    `json:"cores"`
	Places  int    `json:"places,omitempty"` // requests present at most; 0 for no bound
	// Target and Interval are CoDel's, in seconds, where the queue ages by it; Adaptive
	// serves the newest first meanwhile.
	Target   float64 `json:"target,omitempty"`
	Interval float64 `json:"interval,omitempty"`
	Adaptive bool    `json:"adaptive,omitempty"`
}
