package record

// A Scale is how the goodput of a family of arms goes with the clients N of its
// closed loop, and the Universal Scalability Law that was fitted to it:
//
//	X(N) = Gain·N / (1 + Contention·(N-1) + Coherence·N·(N-1))
//
// (docs/queueing.md).
type Scale struct {
	Line   string       `json:"line"`   // the family, with its values of other factors
	Points []ScalePoint `json:"points"` // by N, one for each arm; none without a valid block
	// Why says that the law's parameters are not identified, or not to be had; nothing
	// below is set then, nor is a point's Fitted.
	Why Fact `json:"why,omitzero"`

	Gain       *Estimate `json:"gain,omitempty"`       // lambda: throughput of one client, per second
	Contention *Estimate `json:"contention,omitempty"` // sigma: ratio of the work that is serial
	Coherence  *Estimate `json:"coherence,omitempty"`  // kappa: cost of each pair that has to agree
	Off        float64   `json:"off,omitempty"`        // standard deviation of the points about the curve, a ratio
	PeakAt     float64   `json:"peak_at,omitempty"`    // N* of the highest throughput
	Peak       float64   `json:"peak,omitempty"`       // X(N*), per second
}

// At returns the fitted throughput with n clients, per second. It needs a Scale without
// a Why.
func (s *Scale) At(n float64) float64 {
	return s.Gain.Value * n / (1 + s.Contention.Value*(n-1) + s.Coherence.Value*n*(n-1))
}

// A ScalePoint is one arm's medians over the valid blocks.
type ScalePoint struct {
	N       float64 `json:"n"`       // clients, those left out that never got an answer
	Goodput float64 `json:"goodput"` // per second
	Fitted  float64 `json:"fitted,omitempty"`
	CPU     float64 `json:"cpu_per_request,omitempty"` // seconds; 0 where it is not known
}

// An Estimate is a fitted value with its 95 % interval.
type Estimate struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}
