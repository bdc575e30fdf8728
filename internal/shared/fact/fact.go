// Package fact holds statements about a run as data: doubts, reasons, parts of an answer. A package that finds a fact
// registers its kind with New: a code, a weight, a sentence and the type of its values. It makes one with Kind.Of and
// reads one with In; a report prints it with Fact.String; JSON has the data and the words. A sentence is checked
// when the program starts: whatever one of its branches names must be there, and be of a fitting type.
//
// The package knows no kind itself.
package fact

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// A Fact is a statement about a run as data. Its [Kind] puts it into words. Programs must compare codes and values, never
// words.
//
// Arm, Baseline and Metric are set where the fact is about a comparison of two arms at a metric.
type Fact struct {
	Code             Code
	Arm              string // the arm it is about, "" for the run
	Baseline, Metric string
	Because          []Fact // the facts that this one rests on
	Text             string // its words in the record that it was read from, printed only for a code that this program does not know

	// The values as JSON has them: only [In] reads them, and only by the fields of its struct. So a fact that was read is
	// written with every value that it had, also of another version's.
	values map[string]float64
	names  map[string]string
}

// A Code identifies a kind of fact. It is recorded, so it keeps its meaning; its words may change.
type Code string

// On returns f about an arm.
func (f Fact) On(arm string) Fact {
	f.Arm = arm
	return f
}

// Against returns f about a comparison with the baseline.
func (f Fact) Against(baseline string) Fact {
	f.Baseline = baseline
	return f
}

// At returns f about a metric.
func (f Fact) At(metric string) Fact {
	f.Metric = metric
	return f
}

// Since returns f resting on other facts.
func (f Fact) Since(because ...Fact) Fact {
	f.Because = because
	return f
}

// None reports whether f has no code, as the zero Fact.
func (f Fact) None() bool { return f.Code == "" }

// RestsOn reports whether f, or a fact that it rests on, has one of the codes.
func (f Fact) RestsOn(codes ...Code) bool {
	return !f.Find(func(of Fact) bool { return slices.Contains(codes, of.Code) }).None()
}

// Find returns the first fact for which is returns true: f, or a fact that it rests on, depth first. It returns no fact if
// there is none.
func (f Fact) Find(is func(Fact) bool) Fact {
	if is(f) {
		return f
	}
	for _, of := range f.Because {
		if found := of.Find(is); !found.None() {
			return found
		}
	}
	return Fact{}
}

// Disturbs reports whether f is a doubt that something outside the comparison took much CPU time, or that the
// machine is unfit. [Disturbing] marks the kinds of such facts; a fact that rests directly on one disturbs, too.
func (f Fact) Disturbs() bool {
	return f.disturbs() || slices.ContainsFunc(f.Because, Fact.disturbs)
}

func (f Fact) disturbs() bool {
	k := kinds[f.Code]
	return k != nil && k.disturbs != nil && k.disturbs(f)
}

// Error returns the fact in words. It makes a Fact an error.
func (f Fact) Error() string { return f.String() }

// String returns the fact in words. For a code that this program does not know it returns the
// fact's Text or, without one, the code.
func (f Fact) String() string { return f.Part("") }

// Part returns the fact in the words of another sentence of its kind: Part("fix") uses what [Also] gave [New] as
// "fix".
func (f Fact) Part(name string) string {
	if k := kinds[f.Code]; k != nil {
		if t := sentences.Lookup(k.template(name)); t != nil {
			var b bytes.Buffer
			if err := t.Execute(&b, k.dot(f)); err != nil { // recorded by another version, with other values
				return fmt.Sprintf("%s (%v %v)", f.Code, f.values, f.names)
			}
			return b.String()
		}
	}
	return cmp.Or(f.Text, string(f.Code)) // an unknown code comes from a record of another version, which has its own words
}

// Has reports whether the fact's kind has another sentence of this name.
func (f Fact) Has(name string) bool {
	k := kinds[f.Code]
	return k != nil && sentences.Lookup(k.template(name)) != nil
}

// Equal reports whether two facts are the same, but for the words they were recorded with.
func (f Fact) Equal(g Fact) bool {
	return f.Code == g.Code && f.Arm == g.Arm && f.Baseline == g.Baseline && f.Metric == g.Metric &&
		maps.Equal(f.values, g.values) && maps.Equal(f.names, g.names) && slices.EqualFunc(f.Because, g.Because, Fact.Equal)
}

// Alike reports whether two facts have the same words. Arm, baseline and metric may differ if the sentence does not name
// them. Facts with a code of another version are alike if their texts are.
func (f Fact) Alike(g Fact) bool {
	k := kinds[f.Code]
	if k == nil {
		return f.Code == g.Code && f.Text == g.Text
	}
	return f.Code == g.Code && maps.Equal(f.values, g.values) && maps.Equal(f.names, g.names) &&
		(!k.names["Arm"] || f.Arm == g.Arm) && (!k.names["Baseline"] || f.Baseline == g.Baseline) && (!k.names["Metric"] || f.Metric == g.Metric) &&
		slices.EqualFunc(f.Because, g.Because, Fact.Alike)
}

// recorded is a fact in JSON. Values are seconds, bytes, ratios 0..1, counts, and rates per second; names are texts such
// as CPUs, settings, files and errors of system calls.
type recorded struct {
	Code     Code               `json:"code"`
	Arm      string             `json:"arm,omitempty"`
	Baseline string             `json:"baseline,omitempty"`
	Metric   string             `json:"metric,omitempty"`
	Values   map[string]float64 `json:"values,omitempty"`
	Names    map[string]string  `json:"names,omitempty"`
	Because  []Fact             `json:"because,omitempty"`
	Text     string             `json:"text,omitempty"`
}

// MarshalJSON writes the fact with its words. It escapes no HTML: the encoder of the whole document does if it wants to.
func (f Fact) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(recorded{f.Code, f.Arm, f.Baseline, f.Metric, f.values, f.names, f.Because, f.String()})
	return b.Bytes(), err
}

// UnmarshalJSON reads a fact, also one of a kind that this program does not know.
func (f *Fact) UnmarshalJSON(data []byte) error {
	var r recorded
	err := json.Unmarshal(data, &r)
	*f = Fact{Code: r.Code, Arm: r.Arm, Baseline: r.Baseline, Metric: r.Metric, Because: r.Because, Text: r.Text, values: r.Values, names: r.Names}
	return err
}
