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

// A Question has a phrase for each of its outcomes; "" for one that it never has.
type Question struct {
	Name    string // "gate"
	Asks    string // the question, asked so that Yes is the good answer
	phrases [4]string
}

// The questions.
var (
	Winner      = Question{"compare", "is it decided which arm is best?", [4]string{"decided", "", "open", "refused"}}
	Gate        = Question{"gate", "is the new build good enough?", [4]string{"fine", "worse", "open", "refused"}}
	Expectation = Question{"expectation, SLO", "does it hold?", [4]string{"kept", "not kept", "open", "refused"}}
	Capacity    = Question{"capacity", "is a rate known that keeps the SLO?", [4]string{"known", "none", "open", "refused"}}
	Workers     = Question{"size", "is there a number of workers that will do?", [4]string{"found", "none", "", ""}}
	Machine     = Question{"doctor", "is the machine fit?", [4]string{"fit", "unfit", "open", ""}}
	Figures     = Question{"audit", "are the figures possible?", [4]string{"possible", "impossible", "open", "not read"}}
	Difference  = Question{"explain", "is it known why the arms differ?", [4]string{"explained", "no difference", "open", "refused"}}
	Cause       = Question{"cause", "does it explain the difference?", [4]string{"confirmed", "refuted", "open", "refused"}}
)

// Questions returns all questions, in the order of the glossary.
func Questions() []Question {
	return []Question{Winner, Gate, Expectation, Capacity, Workers, Machine, Figures, Difference, Cause}
}

// Phrase returns the question's phrase for an outcome; "" for none.
func (q Question) Phrase(o Outcome) string {
	for i, is := range All() {
		if o == is {
			return q.phrases[i]
		}
	}
	return ""
}
