package record

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"
)

// whyFile is an explanation beside the run that it is of.
const whyFile = "why.json"

// WriteExplanation keeps an explanation of the run; one that was there before is replaced.
func (d *Dir) WriteExplanation(x *Explanation) error {
	return d.WriteFile(whyFile, func(w io.Writer) error { return WriteJSON(w, x) })
}

// Explanation is the one that is kept; nil for none.
func (d *Dir) Explanation() (*Explanation, error) {
	var x Explanation
	switch err := readJSON(filepath.Join(d.path, whyFile), &x); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &x, nil
}

// An Explanation is where the time between two arms of a run went, and why: what `schedlab
// explain --output json` prints. Times are seconds of a good request.
type Explanation struct {
	Schema   int    `json:"schema"`
	Run      string `json:"run"`
	Dir      string `json:"dir"`
	Scenario string `json:"scenario"`
	From     string `json:"from"`             // the arm that is compared with
	To       string `json:"to"`               // the arm whose difference from it is explained
	Slower   string `json:"slower,omitempty"` // of the two, the one whose extra time or losses are explained; "" where they hardly differ
	Blocks   int    `json:"blocks"`           // valid ones; the intervals are over them

	Mean Waterfall `json:"mean"`
	Tail Waterfall `json:"tail"` // of the slowest 1 % of each window
	Lost Step      `json:"lost"` // requests without a good reply, as a ratio of all
	// Ideal is how far the ideal twins of the two are apart, so what of the difference is
	// theory; nil where one of them has no twin.
	Ideal *Step `json:"ideal,omitempty"`

	Witnesses []Witness `json:"witnesses"`
	Causes    []Suspect `json:"causes"` // suspected, the largest share first
	Outcome   Finding   `json:"outcome"`
	Reason    Fact      `json:"reason,omitzero"` // of NoDifference and NoCause; or why a cause was not tested
	Tests     *TestRun  `json:"tests,omitempty"` // the extra blocks; nil where none ran
	// Profiles were captured in windows of their own; nil where none were asked for.
	Profiles *Profiles `json:"profiles,omitempty"`
}

// Faster is the arm that is not the slower one.
func (x *Explanation) Faster() string {
	if x.Slower == x.From {
		return x.To
	}
	return x.From
}

// A Finding is what an explanation comes to.
type Finding string

// The findings.
const (
	Because      Finding = "because"       // a cause was confirmed
	Shown        Finding = "shown"         // a cause was measured directly, and needs no test
	Correlated   Finding = "correlated"    // causes are suspected, none confirmed
	NoCause      Finding = "no-cause"      // the arms differ, and no rule says why
	NoDifference Finding = "no-difference" // there is nothing to explain
)

// A Step is a figure of two arms and what it differs by, with its 95 % interval over the
// blocks.
type Step struct {
	From float64 `json:"from"`
	To   float64 `json:"to"`
	By   float64 `json:"by"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Sure reports whether the interval excludes 0.
func (s Step) Sure() bool { return s.Low > 0 || s.High < 0 }

// A Waterfall leads from one arm's mean to another's: By is the sum of the pieces'.
type Waterfall struct {
	Step
	Pieces []Piece `json:"pieces"` // in the order in which a request meets them
}

// A Difference is a waterfall from the arm that an arm is compared with, with the pieces of which
// the intervals exclude 0.
type Difference struct {
	Arm      string `json:"arm"`
	Baseline string `json:"baseline"`
	Tail     bool   `json:"tail,omitempty"` // of the slowest 1 % of requests, not of all
	Waterfall
}

// A Piece is one stretch's share of a waterfall.
type Piece struct {
	Stretch string `json:"stretch"`
	Step
	Phases []PhaseStep `json:"phases,omitempty"` // that it adds up of, where there are several
}

// A PhaseStep is one phase's share of a piece.
type PhaseStep struct {
	Phase string `json:"phase"`
	Step
}

// A Witness is a figure beside the stamps that says what a stretch was spent on: medians
// over the blocks, nil where an arm does not have it.
type Witness struct {
	Name string   `json:"name"`
	Unit string   `json:"unit"` // s, ratio, count
	From *float64 `json:"from"`
	To   *float64 `json:"to"`
}

// A Suspect is why an arm may be the slower one.
type Suspect struct {
	Code    Code    `json:"code"`
	Fact    Fact    `json:"fact"` // in figures
	Stretch string  `json:"stretch"`
	Share   float64 `json:"share"` // of the difference that lies in the stretch
	Tail    bool    `json:"tail"`  // the difference of the slowest 1 %, not of the mean
	// Witnesses are the rule's, with whether each agrees; one that is not known is absent.
	Witnesses []Testimony  `json:"witnesses"`
	State     SuspectState `json:"state"`
	// Knob is the slower arm with the cause taken away, Control with something that must
	// not matter, as `compare --arm` takes them; "" where the rule has none.
	Knob    string `json:"knob,omitempty"`
	Control string `json:"control,omitempty"`
	// Moved and Still are the stretch in the arm as it is, and with the knob turned or the
	// control changed; nil where that did not run.
	Moved *Step `json:"moved,omitempty"`
	Still *Step `json:"still,omitempty"`
}

// A SuspectState says what is known of a cause.
type SuspectState string

// The states.
const (
	Untested     SuspectState = "untested"      // its test did not run
	Untestable   SuspectState = "untestable"    // there is no knob for it
	ShownBy      SuspectState = "shown"         // stamped as such
	Confirmed    SuspectState = "confirmed"     // the knob took the time away, the control did not
	NotConfirmed SuspectState = "not-confirmed" // or not
)

// A Testimony is what one witness says of a cause.
type Testimony struct {
	Witness string   `json:"witness"`
	Unit    string   `json:"unit"`
	Faster  *float64 `json:"faster"` // in the arm that is not the slower; nil where it is not known
	Slower  float64  `json:"slower"`
	Agrees  bool     `json:"agrees"`
}

// A TestRun is the record of an explanation's extra blocks.
type TestRun struct {
	Dir    string `json:"dir"`
	Blocks int    `json:"blocks"` // valid ones
}
