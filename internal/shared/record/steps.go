package record

import "schedlab/internal/shared/stats"

// A Waterfall divides the difference of two arms' means into pieces. By is the sum of the pieces' By.
type Waterfall struct {
	stats.Step
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
	stats.Step
	Phases []PhaseStep `json:"phases,omitempty"` // the phases of the stretch, if it has several
}

// A PhaseStep is one phase's share of a piece.
type PhaseStep struct {
	Phase string `json:"phase"`
	stats.Step
}
