// Package race tells which of many arms is best, in a short time: it runs blocks as a comparison does, but an arm that is surely
// worse than another takes no more windows. What is left at the end is the best arm, or the best arms that are not told apart.
//
// A [Question] is the [runner.Race] of a run. Its referee (referee.go) takes the trials, compares every two arms that still race
// after each look, and tells which arms are out; it reads no clock. The result is a [Race] (result.go), which has its own page
// (page.go). The judging of the record takes the same trials through the same referee, and so gives the same answer again.
package race

import (
	"math"
	"slices"
	"time"

	"schedlab/internal/measuring/expect"
	"schedlab/internal/measuring/judge"
	"schedlab/internal/measuring/runner"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// Budget is the longest time of a race for which none is given.
const Budget = 2 * time.Minute

// question is the name of the question in a plan.
const question = "race"

// A Question asks which arm is best.
type Question struct {
	judge.Winner `json:"-"`
}

// Asked reports whether a plan is one of a race.
func Asked(p record.Plan) bool { return p.Ask[question] != nil }

// Record notes the question.
func (Question) Record(p *record.Plan) { p.Ask = map[string]record.Note{question: {}} }

// Needs returns what the plan has to make decidable: the quantiles of [metrics], for every pair of arms.
func (Question) Needs(_ []expect.Expectation, arms int) judge.Needs {
	n := judge.Needs{Comparisons: mostMetrics * pairs(arms), Pairs: pairs(arms), Bases: 1, Stretch: 1, Tail: true}
	for _, m := range stats.Quantiles() {
		n.Quantiles = append(n.Quantiles, m.Figure)
	}
	return n
}

// Start returns the referee of a run that has no trials yet.
func (q Question) Start(run record.Run) (runner.Referee, error) {
	return newReferee(run.Name, "", run)
}

// pairs returns the number of pairs of arms.
func pairs(arms int) int { return arms * (arms - 1) / 2 }

// mostMetrics is the number of metrics by which a race ranks, if its windows have enough requests for a tail.
const mostMetrics = 2

// metrics returns what arms are ranked by: the median, and the highest quantile for which a window has enough requests. Every
// metric more would share the probability of error, and take longer.
func metrics(run record.Run) []stats.Figure {
	rate := judge.QuantileRate(run.Plan)
	if math.IsInf(rate, 1) {
		for _, x := range run.XMax { // of closed loops only these tell how many requests a window will have
			rate = min(rate, x)
		}
	}
	all := []stats.Figure{stats.P50}
	for _, m := range slices.Backward(stats.Quantiles()) {
		if m.Figure != stats.P50 && rate*run.Plan.Window.Seconds() >= judge.RequestsFor(m.Quantile) {
			return append(all, m.Figure)
		}
	}
	return all
}
