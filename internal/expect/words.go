package expect

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// PredictedMetrics names the figures that theory predicts for an arm. Times are in seconds,
// goodput is per second, loss is a ratio. Do not change it.
var PredictedMetrics = []string{"mean", "p50", "p90", "p99", "goodput", "loss"}

// unitOf returns the unit of a word's value: s, 1/s, or another for any other unit. It is "" for a
// word that is not known.
func unitOf(word string) string {
	switch word {
	case "phase", "window", "s", "ms", "us", "ns":
		return "s"
	case "rate", "x_max":
		return "1/s"
	}
	for _, m := range stats.Figures() {
		if m.Word == word {
			return m.Unit
		}
	}
	return ""
}

// A Run is a judged run as an expectation sees it. Blocks are numbered from 0 and are valid ones
// only. An error is a [record.Fact] that says why the run cannot tell something; it refuses the
// statement.
//
// Times are in seconds. Package judge implements it.
type Run interface {
	Rate() float64   // planned, requests per second
	Window() float64 // measured seconds of a trial
	Blocks() int     // number of valid blocks
	// Figure returns a figure of an arm in a block: of its window, or of its ideal twin.
	Figure(block int, metric, arm string) (float64, error)
	// Ratio returns, for a verdict, the challenger's figure divided by its reference's in a block.
	Ratio(block int, v record.Verdict) float64
	// Phase returns the mean time, in seconds, that an arm's requests spent in one of [PhaseNames]
	// in a block. Spent returns the mean time that they spent in all phases.
	Phase(block int, arm, name string) (float64, error)
	Spent(block int, arm string) float64
	// Predicted returns what theory predicts for an arm in a block.
	Predicted(block int, arm, metric string) (float64, error)
	// XMax returns an arm's closed-loop throughput, in requests per second.
	XMax(arm string) (float64, error)
	// Verdict returns the verdict on a challenger at a metric; an error if it was refused.
	Verdict(metric, arm string) (record.Verdict, error)
	// Challengers returns pairs of a challenger and the arm that it is compared with.
	Challengers() [][2]string
}

// A scope gives the words of an expectation their values in one block of a run.
//
// Each statement is compiled once, with the methods of one scope as its functions. Then the scope
// is moved from block to block, and the same program asks for other figures.
type scope struct {
	run   Run
	block int                // index among the valid blocks
	why   record.Fact        // set by a word that cannot answer
	off   map[string]float64 // by arm: the ratio by which its X_max is taken to be off; see settled
}

// words returns the functions and constants of the language. Words for figures have the value of
// the block, words for verdicts the value of the run.
//
//	x_max(arm)                    closed-loop throughput, 1/s
//	within(value, target, share)  whether value is within ±share of target
//	verdict(metric, arm)          word of the verdict, such as FASTER
//	same(metric)                  whether all challengers count as equal
//	faster(metric, arm)           whether the verdict is that it is better; slower: worse
//	ratio(metric, arm)            challenger divided by its reference, in the block
//	interval(metric, arm)         the two ends of the verdict's interval, as ratios
//	explained(phase, arm...)      share of the difference of means that lies in a phase
//	phase(arm, name)              mean time in a phase, s
//	predicted(arm, metric)        figure of theory
//	p99(arm), goodput(arm), ...   each word of stats.Figures
//	rate, window                  of the plan, 1/s and s
//	ns, us, ms, s                 units, in seconds
func (s *scope) words() map[string]any {
	w := map[string]any{
		"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0,
		"rate": 0.0, "window": 0.0,
		"x_max": s.xmax, "within": within,
		"verdict": s.verdict, "same": s.same, "faster": s.faster, "slower": s.slower, "ratio": s.ratio, "interval": s.interval,
		"explained": s.explained, "phase": s.phase, "predicted": s.predicted,
	}
	// There is no run while an expectation is only parsed.
	if s.run != nil {
		w["rate"], w["window"] = s.run.Rate(), s.run.Window()
	}
	for _, m := range stats.Figures() {
		if m.Word == "" {
			continue
		}
		w[m.Word] = func(arm string) (float64, error) { return s.figure(m.Name, arm) }
	}
	return w
}

// within reports whether value is at most share (0.05 is 5 %) away from target. It is also true at
// the very edge of the band. Around a target of 0 only 0 is within.
func within(value, target, share float64) bool {
	return math.Abs(value-target) <= share*math.Abs(target)
}

// errUnanswerable stops a word that cannot answer; the reason is in the scope.
var errUnanswerable = errors.New("cannot be answered")

// cannot notes the reason why a word cannot answer, and returns the error that stops it.
func (s *scope) cannot(f record.Fact) error {
	s.why = f
	return errUnanswerable
}

// noteError does the same for an error of the run; nil stays nil. An error that is no fact becomes
// the fact that the statement cannot be read.
func (s *scope) noteError(err error) error {
	if err == nil {
		return nil
	}
	if why, ok := errors.AsType[record.Fact](err); ok {
		s.why = why
	} else {
		s.why = unreadable(err)
	}
	return errUnanswerable
}

// figure returns a figure of an arm in the block.
func (s *scope) figure(metric, arm string) (float64, error) {
	v, err := s.run.Figure(s.block, metric, arm)
	return v, s.noteError(err)
}

// predicted returns the prediction for an arm in the block.
func (s *scope) predicted(arm, metric string) (float64, error) {
	v, err := s.run.Predicted(s.block, arm, metric)
	return v, s.noteError(err)
}

// phase returns the mean time in seconds that an arm spent in a phase, in the block.
func (s *scope) phase(arm, name string) (float64, error) {
	v, err := s.run.Phase(s.block, arm, name)
	return v, s.noteError(err)
}

// judged returns the verdict on a challenger.
func (s *scope) judged(metric, arm string) (record.Verdict, error) {
	v, err := s.run.Verdict(metric, arm)
	return v, s.noteError(err)
}

// xmax returns an arm's X_max in requests per second, moved by what settled tries.
func (s *scope) xmax(arm string) (float64, error) {
	x, err := s.run.XMax(arm)
	return x * (1 + s.off[arm]), s.noteError(err)
}

// verdict returns the word of a challenger's verdict. An inconclusive verdict has no word to
// compare, so it cannot answer.
func (s *scope) verdict(metric, arm string) (string, error) {
	v, err := s.judged(metric, arm)
	if err == nil && v.Verdict == stats.Inconclusive {
		err = s.cannot(bounds(verdictOpen, v))
	}
	return string(v.Verdict), err
}

// same reports whether the intervals of all challengers lie within the band that counts as equal.
// It is false if one interval lies completely outside.
func (s *scope) same(metric string) (bool, error) {
	m := stats.MetricOf(metric)
	// The band is symmetric in the logarithm: half is as far from equal as double. The factor
	// forgives rounding at the edge.
	band := math.Log1p(m.Same) * (1 + 1e-9)
	var open error
	for _, pair := range s.run.Challengers() {
		arm := pair[0]
		v, err := s.judged(metric, arm)
		if err != nil {
			// Go on: another challenger outside the band settles the answer.
			open = err
			continue
		}
		switch low, high := math.Log(v.Low), math.Log(v.High); {
		case v.Low == 0:
			open = s.cannot(bounds(noInterval, v))
		case low > band || high < -band:
			return false, nil
		// The interval crosses an edge of the band, so more blocks may settle it.
		case low < -band || high > band:
			neither := bounds(neitherSide, v)
			neither.Values["same"] = m.Same
			open = s.cannot(neither)
		}
	}
	return open == nil, open
}

// faster and slower are the words for a sure difference in one direction; see moved.
func (s *scope) faster(metric, arm string) (bool, error) { return s.moved(metric, arm, true) }
func (s *scope) slower(metric, arm string) (bool, error) { return s.moved(metric, arm, false) }

// moved reports whether an arm's verdict is that it is better, or that it is worse. It is false if
// the whole interval falls short of the smallest effect in that direction. An interval that
// reaches the effect leaves it open, and more blocks may settle it.
func (s *scope) moved(metric, arm string, better bool) (bool, error) {
	m := stats.MetricOf(metric)
	v, err := s.judged(metric, arm)
	if err != nil || better && m.Better(v.Verdict) || !better && m.Worse(v.Verdict) {
		return err == nil, err
	}
	if v.Low == 0 {
		return false, s.cannot(bounds(noInterval, v))
	}
	low, high, effect := math.Log(v.Low), math.Log(v.High), math.Log1p(m.Effect)
	short := high < effect // whether all of it is below the effect
	if better != m.HigherIsBetter {
		short = low > -effect
	}
	if short {
		return false, nil
	}
	return false, s.cannot(bounds(intervalOpen, v))
}

// ratio returns a challenger's figure divided by the baseline's, in the block. An inconclusive
// verdict has ratios, too: the blocks decide the statement anew.
func (s *scope) ratio(metric, arm string) (float64, error) {
	v, err := s.judged(metric, arm)
	if err != nil {
		return 0, err
	}
	return s.run.Ratio(s.block, v), nil
}

// interval returns the low and the high end of a verdict's interval.
func (s *scope) interval(metric, arm string) ([]float64, error) {
	v, err := s.judged(metric, arm)
	if err == nil && v.Low == 0 {
		err = s.cannot(bounds(noInterval, v))
	}
	return []float64{v.Low, v.High}, err
}

// bounds returns a fact about a verdict's interval. low is 0 if the verdict has no interval.
func bounds(code record.Code, v record.Verdict) record.Fact {
	return record.Fact{Code: code, Arm: v.Arm, Metric: v.Metric, Values: record.Values{"low": v.Low, "high": v.High, "blocks": float64(v.Blocks)}}
}

// leastDifference is the smallest difference of means that can be explained. Below it the parts
// are noise.
const leastDifference = 20 * time.Microsecond

// explained returns the share that one phase has in the difference of mean response time between a
// challenger and its reference: the smallest share over the given arms, or over all challengers. A
// share may be below 0 or above 1, because other phases may make up for it.
func (s *scope) explained(phase string, arms ...string) (float64, error) {
	least := math.Inf(1)
	for _, pair := range s.run.Challengers() {
		arm, base := pair[0], pair[1]
		if len(arms) > 0 && !slices.Contains(arms, arm) {
			continue
		}
		part, err := s.phase(arm, phase)
		if err != nil {
			return 0, err
		}
		own, err := s.phase(base, phase)
		if err != nil {
			return 0, err
		}
		// All phases add up to the response time, so the shares of all of them add up to 1.
		whole := s.run.Spent(s.block, arm) - s.run.Spent(s.block, base)
		if math.Abs(whole) < leastDifference.Seconds() {
			return 0, s.cannot(record.Fact{Code: nothingExplain, Arm: arm, Baseline: base, Values: record.Values{"least": leastDifference.Seconds()}})
		}
		least = min(least, (part-own)/whole)
	}
	if math.IsInf(least, 1) {
		return 0, s.cannot(record.Fact{Code: noChallenger, Names: record.Names{"arms": fmt.Sprintf("%q", arms)}})
	}
	return least, nil
}
