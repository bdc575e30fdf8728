package explain

import (
	"encoding/json"
	"io"

	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// whyFile is the explanation in a run's directory.
const whyFile = "why.json"

// Keep writes the explanation into the run's record, in place of an earlier one.
func Keep(d *record.Dir, x *Explanation) error {
	return d.WriteFile(whyFile, func(w io.Writer) error { return record.WriteJSON(w, x) })
}

// Kept reads the explanation in a run's record; nil if there is none.
func Kept(d *record.Dir) (*Explanation, error) {
	var x Explanation
	if there, err := d.ReadJSON(whyFile, &x); !there || err != nil {
		return nil, err
	}
	return &x, nil
}

// Key is the explanation's key in the JSON of its run's result.
func (x *Explanation) Key() string { return "explained" }

// An Explanation is the output of `schedlab explain --output json`: where the time between two
// arms of a run went, and why. Times are seconds of a good request.
type Explanation struct {
	Schema    int    `json:"schema"`
	Run       string `json:"run"`
	Dir       string `json:"dir"`
	Scenario  string `json:"scenario"`
	From      string `json:"from"`                // the arm compared with
	To        string `json:"to"`                  // the arm whose difference from From is explained
	Slower    string `json:"slower,omitempty"`    // the arm with the extra time or losses that the causes explain; "" if the arms hardly differ
	Undecided bool   `json:"undecided,omitempty"` // the run decided none of its own verdicts on the two, which are on quantiles
	Blocks    int    `json:"blocks"`              // valid blocks; the intervals are over them

	Mean record.Waterfall `json:"mean"`
	Tail record.Waterfall `json:"tail"` // of the slowest 1 % of each window
	Lost stats.Step       `json:"lost"` // requests without a good reply, as a ratio of all
	// Ideal is the difference of the arms' ideal twins: the part of the difference that theory
	// predicts. nil if an arm has no twin.
	Ideal *stats.Step `json:"ideal,omitempty"`

	Witnesses []Witness `json:"witnesses"`
	Causes    []Suspect `json:"causes"` // suspected causes, the largest share first
	// Outcome is Yes if the first cause was confirmed or measured directly, No if what the arms surely differ by is too
	// little to explain, Refused if no times can be explained, and Open with suspected causes, without any though one arm is
	// Slower, or where it is not known whether they differ.
	Outcome outcome.Outcome `json:"outcome"`
	Answer  string          `json:"answer"`          // Outcome in words: explained, no difference, open, refused
	Reason  fact.Fact       `json:"reason,omitzero"` // why there are no causes, or why one was not tested
	Tests   *TestRun        `json:"tests,omitempty"` // the extra blocks; nil if none ran
	// Busy is the doubt that others took much of the CPUs in the run or its tests; zero if they did not. Its value open is
	// 1 if that is why no cause is known.
	Busy fact.Fact `json:"busy,omitzero"`
}

// faster returns the arm that is not the slower one.
func (x *Explanation) faster() string {
	if x.Slower == x.From {
		return x.To
	}
	return x.From
}

// settle sets the outcome, and its words.
func (x *Explanation) settle(o outcome.Outcome) {
	x.Outcome, x.Answer = o, outcome.Difference.Phrase(o)
}

// UnmarshalJSON reads an explanation, also one of an older record, which has other words.
func (x *Explanation) UnmarshalJSON(data []byte) error {
	type plain Explanation
	if err := json.Unmarshal(data, (*plain)(x)); err != nil {
		return err
	}
	if x.Reason.Code == doubt.Starvation.Code {
		x.Outcome = outcome.Refused
	}
	x.settle(x.Outcome)
	return nil
}

// A Witness is a further figure that tells what the time of a stretch was spent on. From and To
// are medians over the blocks, nil if the arm does not have the figure.
type Witness struct {
	Name string   `json:"name"`
	Unit string   `json:"unit"` // s, ratio, count
	From *float64 `json:"from"`
	To   *float64 `json:"to"`
}

// A Suspect is a possible cause why an arm is slower.
// Code names the rule that suspects it, Stretch the part of a request's way in which the time was lost.
type Suspect struct {
	Code    fact.Code `json:"code"`
	Fact    fact.Fact `json:"fact"` // the cause with its figures
	Stretch string    `json:"stretch"`
	Share   float64   `json:"share"` // share of the difference that lies in the stretch, as a ratio
	Tail    bool      `json:"tail"`  // the difference is of the slowest 1 %, not of the mean
	// Witnesses are the witnesses of the cause's rule and whether each agrees; unknown ones are absent.
	Witnesses []Testimony `json:"witnesses"`
	// Outcome is Yes if the knob removed the time and the control did not, or if the stamps measure the cause directly (Shown),
	// No if its test refuted it, Open if that did not run, and Refused if no setting removes the cause.
	Outcome outcome.Outcome `json:"outcome"`
	Answer  string          `json:"answer"` // Outcome in words: confirmed, refuted, open, refused
	Shown   bool            `json:"shown,omitempty"`
	// Knob is the slower arm without the cause. Control is the slower arm with a change that must
	// not matter. Both are written as `compare --arm` takes them; "" if the rule has none.
	Knob    string `json:"knob,omitempty"`
	Control string `json:"control,omitempty"`
	// Moved and Still are the steps of the stretch's time from the slower arm to the knob and to
	// the control; nil if the test did not run.
	Moved *stats.Step `json:"moved,omitempty"`
	Still *stats.Step `json:"still,omitempty"`
	Why   fact.Fact   `json:"why,omitzero"` // why the test did not confirm it
}

// UnmarshalJSON reads a cause, also from a record with a state in place of the outcome.
func (s *Suspect) UnmarshalJSON(data []byte) error {
	type plain Suspect
	older := struct {
		*plain
		State string `json:"state"`
	}{plain: (*plain)(s)}
	if err := json.Unmarshal(data, &older); err != nil || s.Outcome != "" {
		return err
	}
	s.Outcome = map[string]outcome.Outcome{
		"confirmed": outcome.Yes, "shown": outcome.Yes, "not-confirmed": outcome.No, "untested": outcome.Open, "untestable": outcome.Refused,
	}[older.State]
	s.Shown, s.Answer = older.State == "shown", outcome.Cause.Phrase(s.Outcome)
	return nil
}

// A Testimony is a witness's figure in both arms, and whether it agrees with a cause.
type Testimony struct {
	Witness string   `json:"witness"`
	Unit    string   `json:"unit"`
	Faster  *float64 `json:"faster"` // in the faster arm; nil if unknown
	Slower  float64  `json:"slower"`
	Agrees  bool     `json:"agrees"`
}

// A TestRun is the record of an explanation's extra blocks.
type TestRun struct {
	Dir    string `json:"dir"`
	Blocks int    `json:"blocks"` // valid ones
}
