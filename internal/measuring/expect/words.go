package expect

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
	"schedlab/internal/shared/timeline"
)

// phaseNames returns the phases that an expectation may ask the mean time of, each once: the parts of a response time, the
// shares of service, and the stretches of both that the report shows.
func phaseNames() (names []string) {
	for part := range timeline.NumParts {
		names = append(names, part.String())
	}
	names = append(names, timeline.PhaseCPU, timeline.PhaseSleep, timeline.PhaseRest, timeline.PhaseHandler)
	for _, st := range timeline.Stretches() {
		if !slices.Contains(names, st.Name) {
			names = append(names, st.Name)
		}
	}
	return names
}

// A Run is a judged run as an expectation sees it. Blocks are numbered from 0 and are valid ones only. An error is a
// [fact.Fact] that says why the run cannot tell something; it refuses the statement. Times are in seconds. Package judge
// implements it.
type Run interface {
	Rate() float64   // planned, requests per second
	Window() float64 // measured seconds of a trial
	Blocks() int     // number of valid blocks
	// Figure returns a figure of an arm in a block: of its window, or of its ideal twin. class is "" for the figure that the run
	// has; else it is of the requests of a class, which have quantiles, mean and errors.
	Figure(block int, f stats.Figure, arm, class string) (float64, error)
	// Ratio returns, for a verdict, the challenger's figure divided by its reference's in a block.
	Ratio(block int, v record.Verdict) float64
	// Phase returns the mean time that an arm's requests spent in one of [phaseNames] in a block, Spent in all phases.
	Phase(block int, arm, name string) (float64, error)
	Spent(block int, arm string) float64
	// XMax returns an arm's closed-loop throughput, in requests per second.
	XMax(arm string) (float64, error)
	// Verdict returns the verdict on a challenger at a metric; an error if it was refused.
	Verdict(metric stats.Figure, arm string) (record.Verdict, error)
	// Challengers returns pairs of a challenger and the arm that it is compared with.
	Challengers() [][2]string
}

// The reasons why a word has no answer.
type (
	interval struct {
		Low, High float64 // of ratios; 0 if there is none
		Blocks    int
	}
	outside struct {
		interval
		Same float64 // what counts as equal
	}
	least struct{ Least float64 } // seconds
	named struct{ Arms string }
)

var (
	_ = fact.Part("bounds", `{{if .Low}}{{change .Low}} to {{change .High}}{{else}}no interval after {{plural .Blocks "block"}}{{end}}`)

	verdictOpen    = fact.New[interval]("verdict-open", 0, `{{metric .Metric}} of {{.Arm}} is open, {{template "bounds" .}}`)
	noInterval     = fact.New[interval]("no-interval", 0, `{{metric .Metric}} of {{.Arm}} has {{template "bounds" .}}`)
	neitherSide    = fact.New[outside]("neither-side", 0, `{{metric .Metric}} of {{.Arm}} is between {{change .Low}} and {{change .High}}, neither within {{percent .Same}} nor outside`)
	intervalOpen   = fact.New[interval]("interval-open", 0, `{{metric .Metric}} of {{.Arm}} is between {{change .Low}} and {{change .High}}`)
	nothingExplain = fact.New[least]("nothing-to-explain", 0, `{{.Arm}} and {{.Baseline}} differ by less than {{lasts .Least}} in the mean: nothing to explain`)
	oneClass       = fact.Plain("one-class", 0, `a figure is of one class; name one after the arm`)
	noPrediction   = fact.Plain("no-prediction", 0, `nothing predicts {{metric .Metric}} of {{.Arm}}, since predict: does nothing any more; twin_mean(arm) is the mean of an ideal scheduler`)
	noChallenger   = fact.New[named]("no-challenger", 0, `none of {{.Arms}} is a challenger of this run`)
)

// A kind is what a name in an expectation is of.
type kind string

// The kinds of names.
const (
	anArm   kind = "arm"
	aMetric kind = "metric"
	aPhase  kind = "phase"
	aClass  kind = "class"
	anyName kind = "any" // not checked
)

// known returns the names of a kind. nil allows any name. arms are the arms of the run.
func (k kind) known(arms []string) []string {
	switch k {
	case anArm:
		return arms
	case aMetric:
		return stats.Names(stats.Metrics())
	case aPhase:
		return phaseNames()
	}
	return nil
}

// A word of the language.
type word struct {
	value any // a number, or a function that returns an error for a figure that the run does not have
	// arguments are the kinds of names that a function takes. The last kind applies to all further arguments.
	arguments  []kind
	unit       string // of the value: s, 1/s, or another for any other unit
	ofVerdicts bool   // the value is about verdicts: it is the same in every block
}

// kind returns the kind of the i-th argument, from 0.
func (w word) kind(i int) kind {
	if len(w.arguments) == 0 {
		return anyName
	}
	return w.arguments[min(i, len(w.arguments)-1)]
}

// A scope gives the words of an expectation their values in one block of a run. Each statement is compiled once, with the
// methods of one scope as its functions; then the scope is moved from block to block.
type scope struct {
	run   Run
	block int                // index among the valid blocks
	off   map[string]float64 // by arm: the ratio by which its X_max is taken to be off; see settled
}

// vocabulary has the words without a run: their types, arguments and units.
var vocabulary = (&scope{}).words()

// words returns the language: all words by name. Figures have the value of the block, verdicts the value of the run.
func (s *scope) words() map[string]word {
	of := func(kinds ...kind) []kind { return kinds }
	rate, window := 0.0, 0.0 // unknown while an expectation is only parsed, because there is no run
	if s.run != nil {
		rate, window = s.run.Rate(), s.run.Window()
	}
	w := map[string]word{
		"ns": {value: 1e-9, unit: "s"}, "us": {value: 1e-6, unit: "s"}, "ms": {value: 1e-3, unit: "s"}, "s": {value: 1.0, unit: "s"},
		// Of the plan.
		"rate":   {value: rate, unit: "1/s"},
		"window": {value: window, unit: "s"},
		// Whether a value is within ±share of a target.
		"within": {value: within},
		// An arm's closed-loop throughput, moved by what settled tries.
		"x_max": {unit: "1/s", arguments: of(anArm), value: func(arm string) (float64, error) {
			x, err := s.run.XMax(arm)
			return x * (1 + s.off[arm]), err
		}},
		// The word of a verdict, such as FASTER; the two ends of its interval, as ratios.
		"verdict":  {value: s.verdict, arguments: of(aMetric, anArm), ofVerdicts: true},
		"interval": {value: s.interval, arguments: of(aMetric, anArm), ofVerdicts: true},
		// Whether all challengers count as equal; whether the verdict is that an arm is better, or worse.
		"same":   {value: s.same, arguments: of(aMetric), ofVerdicts: true},
		"faster": {value: s.moved(true), arguments: of(aMetric, anArm), ofVerdicts: true},
		"slower": {value: s.moved(false), arguments: of(aMetric, anArm), ofVerdicts: true},
		// A challenger's figure divided by its reference's. An open verdict has ratios, too: the
		// blocks decide the statement anew.
		"ratio": {arguments: of(aMetric, anArm), value: func(metric, arm string) (float64, error) {
			v, err := s.verdictOn(metric, arm)
			if err != nil {
				return 0, err
			}
			return s.run.Ratio(s.block, v), nil
		}},
		// The share of the difference of means that lies in a phase.
		"explained": {value: s.explained, arguments: of(aPhase, anArm)},
		// An arm's mean time in a phase.
		"phase": {unit: "s", arguments: of(anArm, aPhase), value: func(arm, name string) (float64, error) {
			return s.run.Phase(s.block, arm, name)
		}},
		// A figure of the models under predict, which were removed. Older scenarios and records are still read.
		"predicted": {arguments: of(anArm, anyName), value: func(arm, metric string) (float64, error) {
			return 0, noPrediction.On(arm).At(metric)
		}},
	}
	for _, m := range stats.All() {
		if m.Word == "" {
			continue
		}
		w[m.Word] = word{unit: m.Unit, arguments: of(anArm), value: func(arm string) (float64, error) {
			return s.run.Figure(s.block, m.Figure, arm, "")
		}}
		if !m.ByClass {
			continue
		}
		w[m.Word] = word{unit: m.Unit, arguments: of(anArm, aClass), value: func(arm string, class ...string) (float64, error) {
			if len(class) > 1 {
				return 0, oneClass
			}
			return s.run.Figure(s.block, m.Figure, arm, strings.Join(class, ""))
		}}
	}
	return w
}

// values returns the values of words by name, as the library takes them.
func values(words map[string]word) map[string]any {
	all := make(map[string]any, len(words))
	for name, w := range words {
		all[name] = w.value
	}
	return all
}

// within reports whether value is at most share (0.05 is 5 %) of target away from it.
func within(value, target, share float64) bool {
	return math.Abs(value-target) <= share*math.Abs(target)
}

// verdictOn returns the run's verdict on a challenger at a metric, which Parse has found in the table.
func (s *scope) verdictOn(metric, arm string) (record.Verdict, error) {
	f, _ := stats.FigureOf(metric)
	return s.run.Verdict(f, arm)
}

// verdict returns the word of a challenger's verdict; an open one cannot answer.
func (s *scope) verdict(metric, arm string) (string, error) {
	v, err := s.verdictOn(metric, arm)
	if err == nil && v.Verdict.Outcome == outcome.Open {
		err = bounds(verdictOpen, v)
	}
	return v.Verdict.String(), err
}

// same reports whether the intervals of all challengers lie within the band that counts as equal; false if one lies
// completely outside, and open if one crosses an edge.
func (s *scope) same(metric string) (bool, error) {
	f, _ := stats.FigureOf(metric)
	m := f.Row()
	// The band is symmetric in the logarithm. The factor forgives rounding at the edge.
	band := math.Log1p(m.Same) * (1 + 1e-9)
	var open error
	for _, pair := range s.run.Challengers() {
		arm := pair[0]
		v, err := s.verdictOn(metric, arm)
		if err != nil {
			open = err // another challenger outside the band may settle the answer
			continue
		}
		switch low, high := math.Log(v.Low), math.Log(v.High); {
		case v.Low == 0:
			open = bounds(noInterval, v)
		case low > band || high < -band:
			return false, nil
		case low < -band || high > band:
			open = neitherSide.Of(outside{intervalOf(v), m.Same}).On(v.Arm).At(v.Metric.String())
		}
	}
	return open == nil, open
}

// moved returns the function that reports whether an arm's verdict is that it is better, or that it is worse. It is false
// if the whole interval falls short of the smallest effect in that direction, and open if it reaches the effect.
func (s *scope) moved(better bool) func(metric, arm string) (bool, error) {
	return func(metric, arm string) (bool, error) {
		f, _ := stats.FigureOf(metric)
		m := f.Row()
		v, err := s.verdictOn(metric, arm)
		if err != nil || better && m.Better(v.Verdict.Rank) || !better && m.Worse(v.Verdict.Rank) {
			return err == nil, err
		}
		if v.Low == 0 {
			return false, bounds(noInterval, v)
		}
		low, high, effect := math.Log(v.Low), math.Log(v.High), math.Log1p(m.Effect)
		short := high < effect // whether all of it is below the effect
		if better != m.HigherIsBetter {
			short = low > -effect
		}
		if short {
			return false, nil
		}
		return false, bounds(intervalOpen, v)
	}
}

// interval returns the low and the high end of a verdict's interval.
func (s *scope) interval(metric, arm string) ([]float64, error) {
	v, err := s.verdictOn(metric, arm)
	if err == nil && v.Low == 0 {
		err = bounds(noInterval, v)
	}
	return []float64{v.Low, v.High}, err
}

// bounds returns a fact about a verdict's interval.
func bounds(kind *fact.Kind[interval], v record.Verdict) fact.Fact {
	return kind.Of(intervalOf(v)).On(v.Arm).At(v.Metric.String())
}

func intervalOf(v record.Verdict) interval { return interval{v.Low, v.High, v.Blocks} }

// leastDifference is the smallest difference of means that can be explained.
const leastDifference = 20 * time.Microsecond

// explained returns the share that one phase has in the difference of mean response time between a challenger and its
// reference: the smallest share over the given arms, or over all challengers. It may be below 0 or above 1, because other
// phases may make up for it.
func (s *scope) explained(phase string, arms ...string) (float64, error) {
	smallest := math.Inf(1)
	for _, pair := range s.run.Challengers() {
		arm, base := pair[0], pair[1]
		if len(arms) > 0 && !slices.Contains(arms, arm) {
			continue
		}
		part, err := s.run.Phase(s.block, arm, phase)
		if err != nil {
			return 0, err
		}
		own, err := s.run.Phase(s.block, base, phase)
		if err != nil {
			return 0, err
		}
		// All phases add up to the response time, so the shares of all of them add up to 1.
		whole := s.run.Spent(s.block, arm) - s.run.Spent(s.block, base)
		if math.Abs(whole) < leastDifference.Seconds() {
			return 0, nothingExplain.Of(least{leastDifference.Seconds()}).On(arm).Against(base)
		}
		smallest = min(smallest, (part-own)/whole)
	}
	if math.IsInf(smallest, 1) {
		return 0, noChallenger.Of(named{fmt.Sprintf("%q", arms)})
	}
	return smallest, nil
}
