package session

import (
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// A Progress is one line of --progress json: a step that begins, or a Note, or the end of a run, which
// has a Record. Lines are written between windows only. Times are seconds.
//
// Done of Total steps are behind, and Left is the time that the rest takes. Answer is the answer after
// the last look; the first look comes after FirstLook blocks. Arms are empty until the blocks begin. Verdicts are those of the
// newest look, or of the end, and AA those on the copy of the baseline.
type Progress struct {
	Step      string           `json:"step,omitempty"`
	Done      int              `json:"done"`
	Total     int              `json:"total"`
	Left      float64          `json:"left"`
	FirstLook int              `json:"first_look,omitempty"`
	Answer    string           `json:"answer,omitempty"`
	Arms      []ArmProgress    `json:"arms,omitempty"`
	Verdicts  []record.Verdict `json:"verdicts,omitempty"`
	AA        []record.Verdict `json:"aa,omitempty"`
	Note      string           `json:"note,omitempty"`   // a sentence about the run, each once
	Record    string           `json:"record,omitempty"` // the directory, when a run has ended
}

// An ArmProgress has the figures of an arm's windows so far. Connections are the server's counters at the
// end of the newest window; nil if the server does not tell them.
type ArmProgress struct {
	Name        string          `json:"name"`
	Role        record.Role     `json:"role"`
	Against     string          `json:"against,omitempty"` // the arm that it is compared with; "" for the baseline
	P50         BlockFigures    `json:"p50"`
	P90         BlockFigures    `json:"p90"`
	P99         BlockFigures    `json:"p99"`
	Goodput     BlockFigures    `json:"goodput"` // per second
	Connections *record.Reading `json:"connections,omitempty"`
	Out         string          `json:"out,omitempty"` // since when and why it takes no more windows, in a race
}

// BlockFigures is a figure in each block so far, nil where it is not known, with the median over the
// blocks and its interval; SoFar is nil if no block has the figure.
type BlockFigures struct {
	SoFar  *stats.Spread `json:"so_far,omitempty"`
	Blocks []*float64    `json:"blocks"`
}
