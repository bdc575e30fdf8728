package experiment

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// predictedMetrics are the figures that theory gives of an arm.
var predictedMetrics = []string{"mean", "p50", "p90", "p99", "goodput", "loss"}

func comparedMetrics() (names []string) {
	for _, m := range stats.Metrics() {
		names = append(names, m.Name)
	}
	return names
}

// timeWords are the words whose value is in seconds.
var timeWords = []string{"p50", "p90", "p99", "mean", "tail", "good_mean", "cpu", "first_reply", "phase", "twin_mean", "overhead", "ms", "us", "ns", "s", "window"}

// rateWords are those whose value is per second.
var rateWords = []string{"rate", "goodput", "throughput", "x_max"}

// overloadProof are the figures of a window that hold for an arm whose queue
// grows without end, and whatever its requests came to.
var overloadProof = []string{"goodput", "throughput", "errors", "loss", "starved", "served", "accepted", "done", "open", "first_reply", "busy", "switches", "overflows"}

// A scope is what the words of an expectation see: one block of a judged run.
type scope struct {
	j     *judge
	block int                // index of a valid block
	why   string             // set by a word that cannot answer
	off   map[string]float64 // how far probes are taken to be off, by arm; see settled
}

// words are the functions and constants of expectations. Those that read a
// figure give the block's; those about verdicts the run's.
func (s *scope) words() map[string]any {
	w := map[string]any{
		"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0,
		"rate": 0.0, "window": 0.0,
		"x_max": s.xmax, "within": within,
		"verdict": s.verdict, "same": s.same, "faster": s.faster, "slower": s.slower, "ratio": s.ratio, "interval": s.interval,
		"explained": s.explained, "phase": s.phase, "predicted": s.predicted,
	}
	if s.j != nil {
		w["rate"], w["window"] = s.j.run.Plan.Rate, s.j.run.Plan.Window
	}
	for word, metric := range map[string]string{
		"p50": "p50", "p90": "p90", "p99": "p99", "mean": "mean", "tail": "tail", "good_mean": "good_mean",
		"goodput": "goodput", "throughput": "throughput", "cpu": "cpu_per_request", "errors": "errors", "loss": "loss",
		"starved": "starved", "served": "served", "first_reply": "first_reply", "busy": "busy", "accepted": "accepted", "done": "done", "open": "open",
		"switches": "switches", "overflows": "overflows",
	} {
		w[word] = func(arm string) (float64, error) { return s.figure(metric, arm) }
	}
	for _, word := range []string{twinMean, twinOverhead} {
		w[word] = func(arm string) (float64, error) { return s.twin(word, arm) }
	}
	return w
}

// within reports whether value is at most share (0.05 is 5 %) away from target.
func within(value, target, share float64) bool {
	return math.Abs(value-target) <= share*math.Abs(target)
}

// unanswerable stops a word; the reason is in the scope.
var errUnanswerable = errors.New("cannot be answered")

func (s *scope) cannot(format string, args ...any) error {
	s.why = fmt.Sprintf(format, args...)
	return errUnanswerable
}

// figure is one arm's value in the block.
func (s *scope) figure(metric, arm string) (float64, error) {
	w, ok := s.j.windows[s.j.valid[s.block]][arm]
	if !ok {
		return 0, s.cannot("this run has no arm %q", arm)
	}
	if why := s.j.refuseFigure(metric, arm); why != "" {
		return 0, s.cannot("%s of %s: %s", metric, arm, why)
	}
	v, ok := w.values[metric]
	if !ok || math.IsNaN(v) {
		return 0, s.cannot("%s of %s was not measured", metric, arm)
	}
	return v, nil
}

// twin is one of the figures of an arm's ideal twin in the block.
func (s *scope) twin(metric, arm string) (float64, error) {
	if w, ok := s.j.windows[s.j.valid[s.block]][arm]; ok && w.noTwin != "" {
		return 0, s.cannot("%s has no ideal twin: %s", arm, w.noTwin)
	}
	return s.figure(metric, arm)
}

// refuseFigure is a reason against one arm's figure on its own, whatever it is
// compared with; "" for none.
func (j *judge) refuseFigure(metric, arm string) string {
	a := j.arm(arm)
	if slices.Contains(overloadProof, metric) {
		return ""
	}
	if why := j.refuseMetric(stats.Metric{Name: metric}, *a); why != nil {
		return why.text
	}
	ratio := float64(a.Errors) / float64(max(a.Requests, 1))
	if metric != "good_mean" && j.fails(arm) {
		return fmt.Sprintf("%.2f %% of its requests got no good reply, and their times are among the others", 100*ratio)
	}
	return ""
}

func (j *judge) arm(name string) *record.Arm {
	for i := range j.result.Arms {
		if j.result.Arms[i].Name == name {
			return &j.result.Arms[i]
		}
	}
	return nil
}

func (s *scope) xmax(arm string) (float64, error) {
	if x := s.j.run.XMax[arm]; x > 0 {
		return x * (1 + s.off[arm]), nil
	}
	return 0, s.cannot("the closed-loop throughput of %q was not measured", arm)
}

// judged finds a verdict that was not refused.
func (s *scope) judged(metric, arm string) (record.Verdict, error) {
	for _, v := range s.j.result.Verdicts {
		if v.Metric != metric || v.Arm != arm {
			continue
		}
		if v.Verdict == string(stats.Refused) {
			return v, s.cannot("%s of %s is refused: %s", metric, arm, v.Reason)
		}
		return v, nil
	}
	return record.Verdict{}, s.cannot("there is no verdict on %s of %q: it is no challenger of this run", metric, arm)
}

// verdict is a challenger's verdict in a word; one still open cannot be asked.
func (s *scope) verdict(metric, arm string) (string, error) {
	v, err := s.judged(metric, arm)
	if err == nil && v.Verdict == string(stats.Inconclusive) {
		err = s.cannot("%s of %s is inconclusive, %s", metric, arm, bounds(v))
	}
	return v.Verdict, err
}

// same reports whether every challenger's interval lies within the band that
// counts as equal; it is false when one lies outside altogether.
func (s *scope) same(metric string) (bool, error) {
	m := metricOf(metric)
	band := math.Log1p(m.Same) * (1 + 1e-9)
	var open error
	for _, a := range s.j.result.Arms {
		if a.Role != record.Challenger {
			continue
		}
		v, err := s.judged(metric, a.Name)
		if err != nil {
			open = err
			continue
		}
		switch low, high := math.Log(v.Low), math.Log(v.High); {
		case v.Low == 0:
			open = s.cannot("%s of %s has %s", metric, a.Name, bounds(v))
		case low > band || high < -band:
			return false, nil
		case low < -band || high > band:
			open = s.cannot("%s of %s is between %s and %s, neither within %.0f %% nor outside", metric, a.Name, stats.Change(v.Low), stats.Change(v.High), 100*m.Same)
		}
	}
	return open == nil, open
}

func (s *scope) faster(metric, arm string) (bool, error) { return s.moved(metric, arm, stats.Faster) }
func (s *scope) slower(metric, arm string) (bool, error) { return s.moved(metric, arm, stats.Slower) }

// moved reports whether an arm's verdict is want; it is false when the whole
// interval falls short of the smallest effect in that direction.
func (s *scope) moved(metric, arm string, want stats.Decision) (bool, error) {
	v, err := s.judged(metric, arm)
	if err != nil || decisionOf(v) == want {
		return err == nil, err
	}
	if v.Low == 0 {
		return false, s.cannot("%s of %s has %s", metric, arm, bounds(v))
	}
	m := metricOf(metric)
	low, high, effect := math.Log(v.Low), math.Log(v.High), math.Log1p(m.Effect)
	short := high < effect // more is wanted, and not had
	if (want == stats.Faster) != m.HigherIsBetter {
		short = low > -effect
	}
	if short {
		return false, nil
	}
	return false, s.cannot("%s of %s is between %s and %s", metric, arm, stats.Change(v.Low), stats.Change(v.High))
}

func metricOf(name string) stats.Metric {
	for _, m := range stats.Metrics() {
		if m.Name == name {
			return m
		}
	}
	return stats.Metric{Name: name}
}

// decisionOf is what a verdict's word means.
func decisionOf(v record.Verdict) stats.Decision { return metricOf(v.Metric).Decision(v.Verdict) }

// ratio is a challenger's figure over the baseline's, in the block.
func (s *scope) ratio(metric, arm string) (float64, error) {
	v, err := s.judged(metric, arm)
	if err != nil {
		return 0, err
	}
	windows := s.j.windows[s.j.valid[s.block]]
	return windows[arm].values[metric] / windows[v.Baseline].values[metric], nil
}

// interval is the verdict's, low and high.
func (s *scope) interval(metric, arm string) ([]float64, error) {
	v, err := s.judged(metric, arm)
	if err == nil && v.Low == 0 {
		err = s.cannot("%s of %s has %s", metric, arm, bounds(v))
	}
	return []float64{v.Low, v.High}, err
}

// bounds is a verdict's interval in words.
func bounds(v record.Verdict) string {
	if v.Low == 0 {
		return "no interval after " + plural(v.Blocks, "block")
	}
	return fmt.Sprintf("%s to %s", stats.Change(v.Low), stats.Change(v.High))
}

// leastDifference is the smallest difference of means that can be explained:
// below it the parts are noise over noise.
const leastDifference = 20 * time.Microsecond

// explained is the share of the difference of mean response time between a
// challenger and what it is compared with that one phase makes up: the least over
// the given arms, or over all challengers.
func (s *scope) explained(phase string, arms ...string) (float64, error) {
	least := math.Inf(1)
	for i, a := range s.j.result.Arms {
		if a.Role != record.Challenger || len(arms) > 0 && !slices.Contains(arms, a.Name) {
			continue
		}
		base := s.j.result.Arms[rival(s.j.run.Plan.Arms, i)]
		part, err := s.phase(a.Name, phase)
		if err != nil {
			return 0, err
		}
		own, err := s.phase(base.Name, phase)
		if err != nil {
			return 0, err
		}
		whole := s.spent(a.Name) - s.spent(base.Name)
		if math.Abs(whole) < leastDifference.Seconds() {
			return 0, s.cannot("%s and %s differ by less than %v in the mean: nothing to explain", a.Name, base.Name, leastDifference)
		}
		least = min(least, (part-own)/whole)
	}
	if math.IsInf(least, 1) {
		return 0, s.cannot("none of %q is a challenger of this run", arms)
	}
	return least, nil
}

// phases are where an arm's time went in the block.
func (s *scope) phases(arm string) ([]record.Phase, error) {
	w, ok := s.j.windows[s.j.valid[s.block]][arm]
	switch {
	case !ok:
		return nil, s.cannot("this run has no arm %q", arm)
	case !w.phases.stamped || w.phases.good == 0:
		return nil, s.cannot("timeline not recorded")
	}
	return w.phases.list(), nil
}

func meanOf(p record.Phase) float64 { return p.Mean }

// spent is the mean time of an arm's requests in the block, of one that has phases.
func (s *scope) spent(arm string) (sum float64) {
	phases, _ := s.phases(arm)
	for _, p := range phases {
		sum += p.Mean
	}
	return sum
}

// phase is the mean time an arm's requests spent in one of phaseNames, in seconds.
func (s *scope) phase(arm, name string) (float64, error) {
	phases, err := s.phases(arm)
	if err != nil {
		return 0, err
	}
	client := record.Stretches()[0]
	if w := s.j.windows[s.j.valid[s.block]][arm]; w.phases.joined == 0 && name != client.Name && !slices.Contains(client.Phases, name) {
		return 0, s.cannot("%s of %s is not known: its server stamps nothing", name, arm)
	}
	for _, p := range phases {
		if p.Name == name {
			return p.Mean, nil
		}
	}
	for _, st := range append(record.Stretches(), handled) {
		if st.Name == name {
			return st.In(phases, meanOf), nil
		}
	}
	return 0, s.cannot("the timeline has no phase %q", name)
}

// predicted is what theory gives for an arm in the block: the first model of the
// scenario that has the figure.
func (s *scope) predicted(arm, metric string) (float64, error) {
	w, ok := s.j.windows[s.j.valid[s.block]][arm]
	if !ok {
		return 0, s.cannot("this run has no arm %q", arm)
	}
	for _, name := range s.j.run.Plan.Predict {
		if v := foreseenFigure(w.foreseen[name], metric); v != nil && !math.IsInf(*v, 0) && !math.IsNaN(*v) {
			return *v, nil
		}
	}
	return 0, s.cannot("no prediction of %s for %s: name a model under predict", metric, arm)
}
