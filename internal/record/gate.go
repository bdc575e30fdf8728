package record

// An Allowance is what a gate asks of a metric.
type Allowance struct {
	Share   float64 `json:"share"`             // the largest worsening that is allowed, as a ratio: 0.1 is 10 %
	Watched bool    `json:"watched,omitempty"` // the gate passes also while this metric is open
}

// A Gated is a gate's answer for one metric: is the new build worse than the old one by more than a
// margin? Ratios are new / old.
// Metric is one of the compared metrics, such as p99.
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

// GateOutcome returns the answer of a whole gate: worse if one metric is, fine if all are that are not
// only watched, else open. It is "" without answers.
// A refused metric leaves the gate open: it may hide a worsening.
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
