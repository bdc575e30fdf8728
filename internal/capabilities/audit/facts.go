package audit

import (
	"slices"
	"strings"
	"unicode"

	"schedlab/internal/shared/fact"
)

// The values of findings of checks in Go. Figures have the units of tools/figures.txt.
type (
	// about names the times or sizes that the figures of a finding describe.
	about struct {
		Of   string // a part of a request, "" for whole requests
		Unit string // "s" for times
	}
	// twoValues are a figure here and in another place, or by an expression.
	twoValues struct {
		about
		Is         string  // how the two should compare: "at least", "at most", or "" for equal
		Left       string  // the figure
		LeftValue  float64 `json:"left"`
		Right      string  // the other place or the expression
		RightValue float64 `json:"right"`
	}
	// ordered has two figures in the wrong order: Less should be the smaller one.
	ordered struct {
		about
		Less      string
		LessValue float64 `json:"less"`
		More      string
		MoreValue float64 `json:"more"`
	}
	bounded struct {
		about
		Mean, Low float64
		*Bound
	}
	// Bound is there if there is an upper bound.
	Bound     struct{ High float64 }
	deviation struct {
		about
		Stdev, Mean, Max float64
		Limit            float64 // for Stdev
	}
	// likeness has the figures that a run shares with the run that begins at a line.
	likeness struct{ Figures, Line int }
	// lines is in the values of findings about several runs: where these begin.
	lines struct {
		Lines string `json:"lines,omitempty"` // which addGroup adds
	}
	rows struct {
		lines
		Rows int
	}
	backlog struct {
		lines
		First, Last float64 // in the server
		Times       int
	}
	growth struct {
		lines
		From, To    float64 // connections
		Mean, Cycle float64 // how many times longer
		Rate        float64 // by how much it rose, a ratio
	}
	alike struct {
		lines
		Runs      int
		Low, High float64
	}
	alikeAt struct {
		alike
		Offered float64
	}
	trials struct {
		lines
		Runs int
	}
	noisy struct {
		lines
		Noise, Difference float64 // ratios
		Runs              int
	}
)

// The kinds of findings of checks in Go, in the order of findings.txt, which has their sentences.
var (
	twoOf        = of[twoValues]("audit-twice")
	notAdded     = of[twoValues]("audit-not-added")
	rateTime     = of[twoValues]("audit-rate-time")
	bytesTime    = of[twoValues]("audit-bytes-time")
	doneAccepted = of[twoValues]("audit-done-accepted")
	wrongOrder   = of[ordered]("audit-order")
	outOfBounds  = of[bounded]("audit-mean-bounds")
	tooSpread    = of[deviation]("audit-spread")
	wrongSum     = of[twoValues]("audit-sum")
	saidTwice    = of[twoValues]("audit-said-twice")
	backlogGrows = of[backlog]("audit-backlog-grows")
	unsteadyRate = of[twoValues]("audit-unsteady")
	identical    = of[likeness]("audit-identical")
	timesGrow    = of[growth]("audit-growth")
	sameRate     = of[alikeAt]("audit-same-rate")
	oneInFlight  = of[alike]("audit-one-in-flight")
	interpolated = of[bounded]("audit-interpolated")
	withinNoise  = of[noisy]("audit-within-noise")
	oneTrial     = of[trials]("audit-one-trial")
	approximate  = of[rows]("audit-approximate")
)

// contradictions are the findings that the tables of tools name with their laws.
var contradictions = func() map[fact.Code]*fact.Kind[twoValues] {
	all := map[fact.Code]*fact.Kind[twoValues]{}
	for _, kind := range []*fact.Kind[twoValues]{twoOf, notAdded, rateTime, bytesTime, doneAccepted, wrongSum, saidTwice, unsteadyRate} {
		all[kind.Code] = kind
	}
	return all
}()

// of registers a kind of findings of a check in Go.
func of[T any](code fact.Code) *fact.Kind[T] {
	text, others := sentencesOf(code)
	return fact.New[T](code, 0, text, others...)
}

// sentencesOf returns the sentences that findings.txt has for a code.
func sentencesOf(code fact.Code) (text string, others []fact.Sentence) {
	k := checks[checkOf(code)]
	for _, name := range []string{"do", "but"} {
		if text, has := k.sentences[name]; has {
			others = append(others, fact.Also(name, text))
		}
	}
	return k.sentences[""], others
}

// The values of the other checks are named by findings.txt.
func init() {
	for _, k := range checks {
		if k.holds != nil {
			k.register()
		}
	}
}

// namesIn returns the names of figures in an expression, and its numbers, which name no figure. It runs whenever the
// program starts, so it is no regular expression.
func namesIn(expression string) []string {
	return strings.FieldsFunc(expression, func(r rune) bool { return r != '.' && !inWord(r) })
}

// valuesIn returns the values that a sentence uses, without their dots.
func valuesIn(sentence string) (all []string) {
	for _, behind := range strings.Split(sentence, ".")[1:] {
		end := strings.IndexFunc(behind, func(r rune) bool { return !inWord(r) })
		if end < 0 {
			end = len(behind)
		}
		if end > 0 && 'A' <= behind[0] && behind[0] <= 'Z' {
			all = append(all, behind[:end])
		}
	}
	return all
}

func inWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// register registers the kind of a check's findings. Its sentences can use the numbers that its equations and its uses
// name, and the names of tool and loop.
func (k *check) register() {
	known := slices.Clone(k.uses)
	for _, e := range slices.Concat(k.with, k.holds) {
		known = append(known, namesIn(e.text)...)
	}
	slices.Sort(known)
	known = slices.Compact(known)
	var values []string
	for _, text := range k.sentences {
		values = append(values, valuesIn(text)...)
	}
	for _, name := range known {
		if slices.Contains(values, fact.Field(name)) {
			k.numbers = append(k.numbers, name)
		}
	}
	fact.Named(k.Code, k.sentences, k.numbers, []string{"tool", "loop"})
}
