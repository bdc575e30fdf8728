// Package outcome has the one type of every answer that schedlab gives, and its words. A question is asked
// so that Yes is what one hopes for, and each has one phrase for each outcome: a gate is fine, worse, open or
// refused. Ranks, such as FASTER and SAME, tell which of two figures is better; they are no outcomes.
package outcome

import "fmt"

// An Outcome is the answer to a question. The zero value stands for no answer: the question was not asked.
type Outcome string

// The outcomes.
const (
	Yes     Outcome = "yes"
	No      Outcome = "no"
	Open    Outcome = "open"    // the data say neither; more data may
	Refused Outcome = "refused" // the data cannot carry an answer; the reason says why
)

// All returns the outcomes, in the order of tables.
func All() []Outcome { return []Outcome{Yes, No, Open, Refused} }

// Decided reports whether o is Yes or No. More data change nothing then.
func (o Outcome) Decided() bool { return o == Yes || o == No }

// Not returns the outcome of the contrary question: Yes and No change places.
func (o Outcome) Not() Outcome {
	switch o {
	case Yes:
		return No
	case No:
		return Yes
	}
	return o
}

// older has the words for outcomes in the records of an older schedlab.
var older = map[string]Outcome{
	"pass": Yes, "fail": No, "REFUSED": Refused, "fine": Yes, "worse": No,
	"because": Yes, "shown": Yes, "no-difference": No, "correlated": Open, "no-cause": Open, "not-known": Open,
	"between": Yes, "beyond": Yes, "below": No, "never": No, "slow": Refused, "died": Refused,
	"one-wins": Yes, "trade": Yes, "tie": Yes, "tie-for-best": Yes, "several-win": Open, "undecided": Open, "other-loads": Refused, "no-verdict": Refused,
}

// UnmarshalText reads an outcome's word, also one that an older schedlab wrote.
func (o *Outcome) UnmarshalText(text []byte) error {
	switch word := Outcome(text); word {
	case "", Yes, No, Open, Refused:
		*o = word
		return nil
	}
	old, is := older[string(text)]
	if !is {
		return fmt.Errorf("unknown outcome %q: it is yes, no, open or refused", text)
	}
	*o = old
	return nil
}

// A Question has a phrase for each outcome, in the order of [All]; "" for an outcome that it never has.
type Question [4]string

// The questions. The glossary has each in words (TestGlossary).
var (
	Winner      = Question{"decided", "", "open", "refused"}
	Gate        = Question{"fine", "worse", "open", "refused"}
	Expectation = Question{"kept", "not kept", "open", "refused"} // of an SLO, too
	Capacity    = Question{"known", "none", "open", "refused"}
	Workers     = Question{"found", "none", "", ""}
	Machine     = Question{"fit", "unfit", "open", ""}
	Figures     = Question{"possible", "impossible", "open", "not read"}
	Difference  = Question{"explained", "no difference", "open", "refused"}
	Cause       = Question{"confirmed", "refuted", "open", "refused"}
)

// Phrase returns the question's phrase for an outcome; "" for none.
func (q Question) Phrase(o Outcome) string {
	for i, is := range All() {
		if o == is {
			return q[i]
		}
	}
	return ""
}
