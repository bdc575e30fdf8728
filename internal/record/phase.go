package record

import "slices"

// A Phase is a part of the response time: Name is one of package timeline's
// parts, or cpu, sleep and unexplained in place of its service.
type Phase struct {
	Name string  `json:"name"`
	Mean float64 `json:"mean"` // seconds of a request, on average
	Tail float64 `json:"tail"` // the same over each window's slowest 1 %
}

// The shares of a request's service.
const (
	PhaseCPU   = "cpu"   // calibrated demand
	PhaseSleep = "sleep" // demanded
	// PhaseRest is Service without both: others had the CPU, the sleep ended late, the
	// core was slower than calibrated. It can be below 0, where it was faster
	// (docs/decisions/0014-one-interference.md).
	PhaseRest = "unexplained"
	// PhaseHandler is all of Service where the plan knows no demand: the path asks for it, or
	// another program decides. The three above are 0 then.
	PhaseHandler = "handler"
)

// A Stretch is phases that have one cause, under the name that people read.
type Stretch struct {
	Name   string
	What   string // in a few words
	Phases []string
}

// Stretches are all there are, in the order in which a request meets them, but
// for the kernel's, which it meets on both its ways. Every phase is in one.
func Stretches() []Stretch {
	return []Stretch{
		{"client", "the load's own lateness, waiting for a connection, opening one", []string{"lag", "connect", "build"}},
		{"kernel", "in accept queues, sockets and the loopback, both ways", []string{"accept", "ingress", "egress", "receive"}},
		{"run queue", "ready, and waiting for the scheduler to run it", []string{"wakeup", "handover"}},
		{"http", "parsing, and from the handler's end to the write", []string{"parse", "finish"}},
		{"queue", "in the model's own queue", []string{"queue"}},
		{"cpu", "the handler's demand, as calibrated", []string{PhaseCPU}},
		{"sleep", "the handler's demand", []string{PhaseSleep}},
		{"interference", "the handler's time beyond its demand: others had the CPU, or its sleep ended late", []string{PhaseRest}},
		{"handler", "the handler's time, of which the plan knows no demand", []string{PhaseHandler}},
	}
}

// In sums a figure over those of phases that belong to s.
func (s Stretch) In(phases []Phase, of func(Phase) float64) (sum float64) {
	for _, p := range phases {
		if slices.Contains(s.Phases, p.Name) {
			sum += of(p)
		}
	}
	return sum
}
