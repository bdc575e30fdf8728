package judge

import (
	"cmp"
	"math"
	"slices"
	"time"

	"schedlab/internal/queueing"
	"schedlab/internal/record"
	"schedlab/internal/stats"
	"schedlab/internal/window"
)

// Limits on the work of one prediction.
const (
	// curvePoints are drawn over the range of measured rates. 14 halvings find the rate to
	// 1/16,000 of the range. Each point of a curve may cost a replay of the whole trace.
	replayed    = 20_000 // requests in the trace
	curvePoints = 16
	halvings    = 14 // bisection steps to find the rate at which the limit is met
)

// timedTerms returns the terms for which theory predicts a time and which a reader looks at: the
// first such term, which is drawn, and the binding term, which gives way first. Other terms have
// no time, and theory no curve for them.
func timedTerms(slo stats.SLO, binding int) (terms []stats.Term) {
	for i, t := range slo {
		if t.Timed() && (len(terms) == 0 || i == binding) {
			terms = append(terms, t)
		}
	}
	return terms
}

// theories predicts, from the measured CPU time per request, at which rate terms of the objective
// give way. why is the reason if nothing can be predicted.
//
// Theory gets what was measured of a request (its demand and the server's CPU time) and the way
// the arm schedules, and nothing of its response times. If measured and predicted limits agree,
// the scheduling explains the capacity; if not, something else does.
func (a *searched) theories(terms []stats.Term) (all []record.RateTheory, why record.Fact) {
	trace := a.trace(a.CPUPerRequest)
	switch {
	case len(terms) == 0:
		return nil, record.Fact{Code: theoryNoTime}
	case a.plan.Mode == "":
		return nil, record.Fact{Code: theoryOfProgram}
	case a.plan.Station == nil:
		return nil, record.Fact{Code: theoryNoStation}
	case a.CPUPerRequest <= 0:
		return nil, record.Fact{Code: theoryNoCPU}
	case len(trace) < 2 || a.run.Env.ItersPerUsec <= 0:
		return nil, record.Fact{Code: twinCostUnknown}
	}
	names := a.run.Plan.Predict
	if len(names) == 0 {
		names = []string{"fit"}
	}
	load := queueing.Measure(trace)
	ideal, _, none := TwinOf(a.plan)
	for _, th := range theories() {
		if !slices.Contains(names, th.name) {
			continue
		}
		st, not := stationOf(*a.plan.Station), record.Fact{}
		switch th.name {
		case "bounds":
			not = record.Fact{Code: theoryOfClosed}
		case "twin", "fit": // they replay the trace, at least where no formula applies, as the twin can simulate it
			st, not = ideal, none
		}
		for _, term := range terms {
			r := record.RateTheory{Model: th.name, Metric: term.Metric, Curve: []record.RatePoint{}, Why: not}
			if not.None() {
				curve{th, st, load, a.plan.Clients, term}.over(a.Windows, &r)
			}
			all = append(all, r)
		}
	}
	return all, why
}

// take appends a window's requests to the arm's trace, at the pace of the first window. Each has
// the demand it asked for. The trace is of mixed rates, so at brings all of it to one rate. More
// than replayed requests are not taken.
func (a *searched) take(t record.TrialRecord, e record.Env) {
	room := replayed - len(a.jobs)
	if room <= 0 || e.ItersPerUsec <= 0 {
		return
	}
	own := jobs(t, window.PerIter(e), 0, a.plan.Clients)
	if len(own) == 0 {
		return
	}
	// Stretch the times of a window with a higher rate, and add it one mean gap after the last
	// request.
	pace, offset := t.Rate/a.Windows[0].Rate, time.Duration(0)
	if n := len(a.jobs); n > 0 {
		offset = a.jobs[n-1].At + record.Duration(1/a.Windows[0].Rate)
	}
	start := own[0].At
	for _, job := range own[:min(len(own), room)] {
		job.At = offset + time.Duration(float64(job.At-start)*pace)
		// Kept connections take turns.
		if a.plan.Clients.KeepAlive {
			job.Conn = len(a.jobs) % max(a.plan.Clients.Connections, 1)
		}
		a.jobs = append(a.jobs, job)
	}
}

// trace returns the arm's requests with the server's overhead added to each demand, the same for
// all. The overhead makes the mean CPU time of a request equal to cpu, the measured one in
// seconds. a.jobs stay as they are.
func (a *searched) trace(cpu float64) []queueing.Job {
	asked := 0.0
	for _, j := range a.jobs {
		asked += j.CPU.Seconds()
	}
	all := slices.Clone(a.jobs)
	overhead := record.Duration(max(0, cpu-asked/float64(max(len(all), 1))))
	for i := range all {
		all[i].CPU += overhead
	}
	return all
}

// A curve predicts response time as a function of the rate. It holds one theory for one term of
// the objective.
type curve struct {
	theory
	station record.Station
	load    queueing.Load
	clients record.Clients
	term    stats.Term
}

// figure returns the term's figure from a prediction, in seconds; NaN if the prediction does not have
// it. A term without a quantile is about the mean. A replay gives a quantile only if it has enough
// requests beyond it.
func (c curve) figure(p queueing.Prediction) float64 {
	q := c.term.Quantile
	short := p.Formula == "replay" && len(c.load.Trace) < stats.MinRequests(q)
	switch {
	case q == 0 && p.Mean != nil:
		return *p.Mean
	case q > 0 && p.Quantile != nil && !short:
		return p.Quantile(q)
	}
	return math.NaN()
}

// at returns the response time at a rate in requests per second: +Inf beyond saturation, NaN if
// the theory has none. formula names the formula used. It changes the rate by changing the gaps
// between the same requests, so that neighbouring points of the curve differ by the rate alone.
func (c curve) at(rate float64) (seconds float64, formula string) {
	l := c.load
	scale := l.Rate / rate
	l.Rate = rate
	l.Trace = slices.Clone(c.load.Trace)
	for i := range l.Trace {
		l.Trace[i].At = time.Duration(float64(l.Trace[i].At) * scale)
	}
	p := c.predict(c.station, l, c.clients)
	seconds = c.figure(p)
	switch {
	case !math.IsNaN(seconds):
	case p.Formula != "" && p.Utilization >= 1:
		seconds = math.Inf(1)
	// The formula that fits has no such figure, so replay the trace in an ideal scheduler.
	case c.name == "fit":
		p = queueing.Twin(c.station, l.Trace)
		seconds = c.figure(p)
	}
	return seconds, p.Formula
}

// over draws the curve over the range of the windows' rates, and finds the rate at which it meets the
// limit. Points without a finite time are left out.
func (c curve) over(windows []record.RateWindow, r *record.RateTheory) {
	least, most := math.Inf(1), 0.
	for _, w := range windows {
		least, most = min(least, w.Rate), max(most, w.Rate)
	}
	for i := range curvePoints {
		rate := least + (most-least)*float64(i)/(curvePoints-1)
		if v, formula := c.at(rate); rate > 0 && v < math.Inf(1) {
			r.Formula = cmp.Or(r.Formula, formula)
			r.Curve = append(r.Curve, record.RatePoint{Rate: rate, Seconds: v})
		}
	}
	// Look below the lowest rate offered as well, but not above the highest.
	low, high := least/4, most
	atLow, _ := c.at(low)
	atHigh, _ := c.at(high)
	switch {
	case math.IsNaN(atLow) || math.IsNaN(atHigh):
		r.Why = record.Fact{Code: theoryNoFigure, Metric: c.term.Metric}
		if c.term.Quantile > 0 && len(c.load.Trace) < stats.MinRequests(c.term.Quantile) {
			r.Why.Values = record.Values{"replayed": float64(len(c.load.Trace))}
		}
	case atLow > c.term.Limit:
		r.Why = record.Fact{Code: theoryAbove, Values: record.Values{"rate": low}}
	case atHigh <= c.term.Limit:
		r.Why = record.Fact{Code: theoryWithin, Values: record.Values{"rate": high}}
	default:
		// Response time grows with the rate, so bisection works: at low it is within the limit, at
		// high not.
		for range halvings {
			mid := (low + high) / 2
			if v, _ := c.at(mid); v <= c.term.Limit {
				low = mid
			} else {
				high = mid
			}
		}
		r.Rate = (low + high) / 2
	}
}
