package experiment

import (
	"cmp"
	"math"
	"slices"
	"time"

	"schedlab/internal/queueing"
	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// Bounds of the work of a prediction.
const (
	replayed    = 20_000 // requests of the trace
	curvePoints = 16
	halvings    = 14 // of the range, to find where the limit is met
)

// theories say where an arm's term should give way, from the CPU time that its
// requests were measured to take.
func (a *searched) theories(run record.Run, term stats.Term, found record.ArmCapacity) (all []record.RateTheory) {
	predictable := slices.Contains(predictedMetrics, term.Metric) && term.Metric != "goodput"
	if !predictable || a.plan.Station == nil || found.CPUPerRequest <= 0 {
		return nil
	}
	names := run.Plan.Predict
	if len(names) == 0 {
		names = []string{"fit"}
	}
	trace := a.trace(found.CPUPerRequest)
	if len(trace) < 2 {
		return nil
	}
	ideal, _, why := twinOf(a.plan)
	for _, th := range theories() {
		replays := th.name == "twin" || th.name == "fit" // where no formula reaches
		if !slices.Contains(names, th.name) || th.name == "bounds" || replays && why != "" {
			continue
		}
		st := station(*a.plan.Station)
		if replays {
			st = ideal
		}
		c := curve{theory: th, station: st, load: queueing.Measure(trace), clients: a.plan.Clients, metric: term.Metric}
		all = append(all, c.over(found, term))
	}
	return all
}

// take adds a window's requests to the arm's trace, one after the other at the pace
// of the first window: each has the demand it asked for.
func (a *searched) take(t record.TrialRecord, e record.Env) {
	room := replayed - len(a.jobs)
	if room <= 0 || e.ItersPerUsec <= 0 {
		return
	}
	own := jobs(t, perIter(e), 0, a.plan.Clients)
	if len(own) == 0 {
		return
	}
	pace, offset := t.Rate/a.windows[0].Rate, time.Duration(0)
	if n := len(a.jobs); n > 0 {
		offset = a.jobs[n-1].At + seconds(1/a.windows[0].Rate)
	}
	start := own[0].At
	for _, job := range own[:min(len(own), room)] {
		job.At = offset + time.Duration(float64(job.At-start)*pace)
		if a.plan.Clients.KeepAlive {
			job.Conn = len(a.jobs) % max(a.plan.Clients.Connections, 1)
		}
		a.jobs = append(a.jobs, job)
	}
}

// trace is that of the requests' demands with what the server spends beside, the
// same for each, so that they add up to the CPU time that was measured.
func (a *searched) trace(cpu float64) []queueing.Job {
	asked := 0.0
	for _, j := range a.jobs {
		asked += j.CPU.Seconds()
	}
	all := slices.Clone(a.jobs)
	overhead := seconds(max(0, cpu-asked/float64(max(len(all), 1))))
	for i := range all {
		all[i].CPU += overhead
	}
	return all
}

// A curve is a theory's response time over the rate.
type curve struct {
	theory
	station queueing.Station
	load    queueing.Load
	clients record.Clients
	metric  string
}

// at is the response time at a rate, +Inf beyond saturation, NaN where the theory
// has none. formula names what gave it.
func (c curve) at(rate float64) (seconds float64, formula string) {
	l := c.load
	scale := l.Rate / rate
	l.Rate = rate
	l.Trace = slices.Clone(c.load.Trace)
	for i := range l.Trace {
		l.Trace[i].At = time.Duration(float64(l.Trace[i].At) * scale)
	}
	p := c.predict(c.station, l, c.clients)
	v := foreseenFigure(p, c.metric)
	switch {
	case v != nil:
		return *v, p.Formula
	case p.Formula != "" && p.Utilization >= 1:
		return math.Inf(1), p.Formula
	case c.name != "fit":
		return math.NaN(), p.Formula
	}
	// The formula that fits has no such figure: an ideal scheduler has.
	p = queueing.Twin(c.station, l.Trace)
	if v = foreseenFigure(p, c.metric); v == nil {
		return math.NaN(), ""
	}
	return *v, p.Formula
}

// over draws the curve over the rates that were measured, and finds where it meets
// the limit.
func (c curve) over(found record.ArmCapacity, term stats.Term) record.RateTheory {
	r := record.RateTheory{Model: c.name, Metric: c.metric, Curve: []record.RatePoint{}}
	least, most := math.Inf(1), 0.
	for _, w := range found.Windows {
		least, most = min(least, w.Rate), max(most, w.Rate)
	}
	for i := range curvePoints {
		rate := least + (most-least)*float64(i)/(curvePoints-1)
		v, formula := c.at(rate)
		if math.IsNaN(v) || math.IsInf(v, 0) || rate <= 0 {
			continue
		}
		r.Formula = cmp.Or(r.Formula, formula)
		r.Curve = append(r.Curve, record.RatePoint{Rate: rate, Seconds: v})
	}
	low, high := least/4, most
	atLow, _ := c.at(low)
	atHigh, _ := c.at(high)
	if !(atLow <= term.Limit) || !(atHigh > term.Limit) {
		return r
	}
	for range halvings {
		mid := (low + high) / 2
		if v, _ := c.at(mid); v <= term.Limit {
			low = mid
		} else {
			high = mid
		}
	}
	r.Rate = (low + high) / 2
	return r
}
