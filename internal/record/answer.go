package record

// An Answer is what a run says of an assertion.
type Answer string

// The four answers.
const (
	Passed    Answer = "pass"
	Failed    Answer = "fail"    // it is false with confidence
	Undecided Answer = "open"    // the blocks say neither; more of them may
	NoAnswer  Answer = "REFUSED" // what it speaks of was disturbed, or is not there
)

// Decided reports whether it is one of the first two.
func (a Answer) Decided() bool { return a == Passed || a == Failed }

// An Expectation is one assertion of a scenario and what became of it.
type Expectation struct {
	Text    string `json:"text"`    // as the scenario has it
	Outcome Answer `json:"outcome"` // pass, fail, open or REFUSED
	Reason  Fact   `json:"reason"`  // the evidence, or why there is none
}

// A Prediction is what one queueing model gives for an arm from measured inputs.
// Values are by metric (mean, p50, p90, p99 in seconds, goodput per second, loss
// as a ratio); one that the model does not give is absent.
type Prediction struct {
	Model   string             `json:"model"`             // as the scenario names it
	Formula string             `json:"formula,omitempty"` // what it came to for this arm
	Values  map[string]float64 `json:"values"`
	Why     Fact               `json:"why,omitzero"` // it does not apply to the arm: why
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
	Places  int    `json:"places,omitempty"` // requests present at most, of each worker where it has a queue; 0 for no bound
	// Overflow is what the full queue does, where that can matter: block, reject,
	// drop or drop-oldest.
	Overflow string  `json:"overflow,omitempty"`
	Pick     string  `json:"pick,omitempty"`     // which worker's queue: rr, least or p2c
	Steal    bool    `json:"steal,omitempty"`    // workers take from the others' queues
	Patience float64 `json:"patience,omitempty"` // seconds a request waits before it is refused; 0: for ever
	// Target and Interval are CoDel's, in seconds, where the queue ages by it; Adaptive
	// serves the newest first meanwhile.
	Target   float64 `json:"target,omitempty"`
	Interval float64 `json:"interval,omitempty"`
	Adaptive bool    `json:"adaptive,omitempty"`
	Sticky   bool    `json:"sticky,omitempty"`  // a worker keeps its connection
	Unknown  string  `json:"unknown,omitempty"` // why no ideal scheduler stands for it
}

// A Twin is what an ideal scheduler of an arm's kind makes of the very requests the
// arm was sent, block by block: no cost of switching, kernel or network. Times are
// seconds of a good reply; what was measured beyond Ideal is Overhead and
// Interference.
type Twin struct {
	Why  Fact   `json:"why,omitzero"`   // there is none: why; nothing else is set then
	Note string `json:"note,omitempty"` // what it takes for granted

	Measured *Spread `json:"measured,omitempty"` // mean response time of good replies
	Ideal    *Spread `json:"ideal,omitempty"`    // the twin's, when requests cost their demand alone
	Mean     *Spread `json:"mean,omitempty"`     // the twin's, when they cost the CPU time that was measured
	// Overhead is Mean - Ideal: what CPU time beyond the demand adds, the longer
	// queue included. Interference is Measured - Mean: kernel, run queue, network,
	// load generator, platform.
	Overhead     *Spread `json:"overhead,omitempty"`
	Interference *Spread `json:"interference,omitempty"`
	Beyond       *Spread `json:"cpu_beyond_demand,omitempty"` // CPU seconds of a good reply that are not its demand

	P99         *Spread `json:"p99,omitempty"` // the twin's with the measured CPU time; nil where the quantile is not judged
	MeasuredP99 *Spread `json:"measured_p99,omitempty"`

	Loss         *Spread `json:"loss,omitempty"` // ratio of requests the twin turned away; nil when neither lost any
	MeasuredLoss *Spread `json:"measured_loss,omitempty"`
}

// A Spread is a figure over the valid blocks: the median with its 95 % interval, or
// with the least and the largest of fewer than six blocks.
type Spread struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}
