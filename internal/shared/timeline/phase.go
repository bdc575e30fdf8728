package timeline

import "slices"

// A Phase is a part of the response time. Name is the name of a Part, except that the part service is
// divided into cpu, sleep and unexplained, or replaced by handler.
type Phase struct {
	Name string  `json:"name"`
	Mean float64 `json:"mean"` // seconds per request, on average
	Tail float64 `json:"tail"` // the same over the slowest 1 % of each window
}

// The parts of a request's service time.
const (
	PhaseCPU   = "cpu"   // calibrated CPU demand
	PhaseSleep = "sleep" // demanded blocking time
	// PhaseRest is the service time beyond both demands: other threads had the CPU, the sleep
	// ended late, or the core was slower than calibrated. It is below 0 where the core was faster
	// (docs/decisions/0014-one-interference.md).
	PhaseRest = "unexplained"
	// PhaseHandler is the whole service time if the plan does not know the demand, because the
	// path or another program determines it. The other three are 0 then.
	PhaseHandler = "handler"
)

// A Stretch is a group of phases with one cause, under a name for people.
type Stretch struct {
	Name   string
	What   string // a short description
	Phases []string
}

// Stretches returns all stretches, in the order in which a request passes them; the kernel's,
// which it passes on both ways, comes second. Every phase is in exactly one stretch.
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

// In returns the sum of a figure over the phases that belong to s. of picks the figure, such as Mean or Tail.
func (s Stretch) In(phases []Phase, of func(Phase) float64) (sum float64) {
	for _, p := range phases {
		if slices.Contains(s.Phases, p.Name) {
			sum += of(p)
		}
	}
	return sum
}
