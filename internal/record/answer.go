package record

import "time"

// An Answer tells whether a run meets an assertion.
type Answer string

// The four answers.
const (
	Passed    Answer = "pass"
	Failed    Answer = "fail"    // the blocks surely contradict it
	Undecided Answer = "open"    // the blocks decide neither way; more blocks may
	NoAnswer  Answer = "REFUSED" // the figures it is about were disturbed or are missing
)

// Decided reports whether a is Passed or Failed. More blocks change nothing then.
func (a Answer) Decided() bool { return a == Passed || a == Failed }

// An Expectation is one assertion of a scenario and its answer.
type Expectation struct {
	Text    string `json:"text"`            // as the scenario writes it
	Claim   string `json:"claim,omitempty"` // the sentence that it decides, with the run's figures; "" without one
	Outcome Answer `json:"outcome"`         // pass, fail, open or REFUSED
	Reason  Fact   `json:"reason"`          // the evidence, or why there is none
}

// A Prediction is what one queueing model predicts for an arm from measured inputs. Values are by
// metric: mean, p50, p90, p99 in seconds, goodput per second, loss as a ratio. A metric that the
// model does not predict is absent.
type Prediction struct {
	Model   string             `json:"model"`             // as the scenario names it
	Formula string             `json:"formula,omitempty"` // the model with this arm's parameters
	Values  map[string]float64 `json:"values"`
	Why     Fact               `json:"why,omitzero"` // why the model does not apply to the arm; zero if it does
}

// A Level is the value that a varied factor has in an arm.
// Factor is a setting such as workers; Value is written as in the scenario.
type Level struct {
	Factor string `json:"factor"`
	Value  string `json:"value"`
}

// A Station is an arm as queueing theory sees it: an ideal server. Switching between requests costs
// it nothing, and all its cores are equal. Times are seconds.
//
// It is what package queueing simulates: requests come in, wait in one or more queues, and share cores.
type Station struct {
	Kind    string `json:"kind"`              // pool, per-worker, loops or goroutines, see package queueing; "" is pool
	Workers int    `json:"workers,omitempty"` // 1 or more; 0 with goroutines
	Cores   int    `json:"cores"`             // 1 or more, shared by all workers
	// Places is the most requests that may be present, those in service included; 0: no bound. If
	// each worker has a queue, it applies to each worker.
	Places int `json:"places,omitempty"`
	// Overflow is what happens to an arrival that finds no place, if that can matter. With block
	// it waits outside for a place, and all later arrivals behind it, as behind an acceptor. With
	// drop-oldest it replaces the request that has waited longest, and that one is lost. With
	// anything else, such as reject or drop, it is lost itself.
	Overflow string  `json:"overflow,omitempty"`
	Pick     string  `json:"pick,omitempty"`     // how the queue of an arrival is chosen, if each worker has one: rr, least or p2c; "" is rr
	Steal    bool    `json:"steal,omitempty"`    // a worker with nothing in its queue takes from the others' queues
	Patience float64 `json:"patience,omitempty"` // time that a request waits in a queue before it leaves and is lost; 0: for ever
	// Target and Interval are CoDel's parameters, both above 0 if CoDel manages the queue. With
	// Adaptive the queue serves the newest request first while it is congested.
	Target   float64 `json:"target,omitempty"`
	Interval float64 `json:"interval,omitempty"`
	Adaptive bool    `json:"adaptive,omitempty"`
	Sticky   bool    `json:"sticky,omitempty"`  // a worker keeps its connection
	Unknown  string  `json:"unknown,omitempty"` // why no ideal scheduler can represent it
	// Turn is the time that a request may keep a core while others are ready. Then it goes to the
	// end of their line. It is not recorded: theory chooses it.
	Turn time.Duration `json:"-"`
}

// A Twin is the result of an ideal scheduler of the arm's kind that serves the very requests the arm was sent,
// block by block, without any cost of switching, kernel or network. Times are seconds of a good reply. The
// measured time beyond Ideal is split into Overhead and Interference.
//
// The parts add up: Measured = Ideal + Overhead + Interference, block by block; their medians add up
// only roughly.
type Twin struct {
	Why  Fact   `json:"why,omitzero"`   // why there is no twin; if set, no other field is
	Note string `json:"note,omitempty"` // its assumptions

	Measured *Spread `json:"measured,omitempty"` // mean response time of good replies
	Ideal    *Spread `json:"ideal,omitempty"`    // the twin's, if a request costs its demand alone
	Mean     *Spread `json:"mean,omitempty"`     // the twin's, if a request costs its measured CPU time
	// Overhead is Mean - Ideal: the time that CPU cost beyond the demand adds, with the longer queue that it
	// causes. Interference is Measured - Mean: kernel, run queue, network, load generator, platform.
	Overhead     *Spread `json:"overhead,omitempty"`
	Interference *Spread `json:"interference,omitempty"`
	Beyond       *Spread `json:"cpu_beyond_demand,omitempty"` // CPU seconds of a good reply beyond its demand

	P99         *Spread `json:"p99,omitempty"` // the twin's, with the measured CPU time; nil where p99 is not judged
	MeasuredP99 *Spread `json:"measured_p99,omitempty"`

	Loss         *Spread `json:"loss,omitempty"` // ratio of requests that the twin refused; nil if neither lost any
	MeasuredLoss *Spread `json:"measured_loss,omitempty"`
}

// A Spread is a figure over the valid blocks: the median and its 95 % interval. With fewer than
// six blocks, Low and High are the smallest and the largest value.
type Spread struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// An Allowance is what a gate asks of a metric.
type Allowance struct {
	Share   float64 `json:"share"`             // the largest worsening that is allowed, as a ratio: 0.1 is 10 %
	Watched bool    `json:"watched,omitempty"` // the gate passes also while this metric is open
}

// A Gated is a gate's answer for one metric: is the new build worse than the old one by more than a margin?
// Ratios are new / old. Metric is one of the compared metrics, such as p99.
type Gated struct {
	Metric string     `json:"metric"`
	Allow  float64    `json:"allow"`           // largest worsening that is allowed, as a ratio: 0.1 is 10 %
	Answer GateAnswer `json:"answer"`          //
	Ratio  float64    `json:"ratio"`           // median over the blocks; 0 when refused
	Low    float64    `json:"low"`             // interval of Ratio; 0 while no look has one
	High   float64    `json:"high"`            //
	Needed int        `json:"needed"`          // open: blocks that would decide it, an estimate; else 0
	Reason Fact       `json:"reason,omitzero"` // why it was refused
	Final  bool       `json:"final,omitempty"` // refused, and more blocks would not help
	// Watched metrics make a build worse, but need not be fine for it to pass.
	Watched bool `json:"watched,omitempty"`
}

// A GateAnswer is one of the answers below.
type GateAnswer string

// The answers of a gate.
const (
	GateWorse   GateAnswer = "worse"   // surely worse, and more than half of what is allowed in the median
	GateFine    GateAnswer = "fine"    // surely not worse by more than is allowed
	GateOpen    GateAnswer = "open"    // the blocks do not tell
	GateRefused GateAnswer = "refused" // the data cannot carry an answer
)

// GateOutcome returns the answer of a whole gate: worse if one metric is, fine if all are that are not only
// watched, else open. It is "" without answers. A refused metric leaves the gate open: it may hide a worsening.
func (r *Result) GateOutcome() GateAnswer {
	outcome := GateFine
	for _, g := range r.Gate {
		switch g.Answer {
		case GateWorse:
			return GateWorse
		case GateOpen, GateRefused:
			if !g.Watched {
				outcome = GateOpen
			}
		}
	}
	if len(r.Gate) == 0 {
		return ""
	}
	return outcome
}
