package record

// A Step is a figure in two arms and its difference, By = To - From. Low and High are the 95 %
// interval of By over the blocks.
type Step struct {
	From float64 `json:"from"`
	To   float64 `json:"to"`
	By   float64 `json:"by"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Middle is the median of the blocks' differences, where By is their mean; 0 if it is not known.
	Middle float64 `json:"middle,omitempty"`
}

// Sure reports whether the interval excludes 0.
func (s Step) Sure() bool { return s.Low > 0 || s.High < 0 }

// A Waterfall divides the difference of two arms' means into pieces. By is the sum of the pieces' By.
type Waterfall struct {
	Step
	Pieces []Piece `json:"pieces"` // in the order in which a request meets them
}

// A Difference is the waterfall between an arm and the arm it is compared with. It keeps only
// pieces with an interval that excludes 0.
type Difference struct {
	Arm      string `json:"arm"`
	Baseline string `json:"baseline"`
	Tail     bool   `json:"tail,omitempty"` // over the slowest 1 % of requests instead of all
	Waterfall
}

// A Piece is one stretch's share of a waterfall.
type Piece struct {
	Stretch string `json:"stretch"`
	Step
	Phases []PhaseStep `json:"phases,omitempty"` // the phases of the stretch, if it has several
}

// A PhaseStep is one phase's share of a piece.
type PhaseStep struct {
	Phase string `json:"phase"`
	Step
}
