package window

import (
	"cmp"
	"math"
	"slices"
	"time"

	"schedlab/internal/record"
	"schedlab/internal/stats"
	"schedlab/internal/timeline"
)

// slowest is the ratio of requests that make up the tail: the slowest 1 %. Their mean time shows
// where the tail's time went, because it is the sum of the means of its parts. A quantile is no
// such sum.
const slowest = .01

// Phases tells where the time of a window's good requests went. Service is split by what the
// request asked for: CPU time, sleep and the rest.
//
// This file joins the client's stamps of a request with the server's, and divides its response
// time into parts that follow each other without a gap. So the parts add up to the response time,
// and a difference between two arms can be traced to the parts.
type Phases struct {
	Stamped  bool // the record has the stamps of the client
	Joined   int  // good requests with stamps of the server
	Good     int
	Negative int // requests with a part below 0
	Lost     int // stamps that the server took and could not keep
	// Overtaken is the share of joined requests that the server read after one that was
	// written later.
	Overtaken float64

	Mean, Tail         [timeline.NumParts]float64 // seconds per request, over all and over the slowest
	meanCPU, tailCPU   float64                    // of Service: calibrated demand
	meanWait, tailWait float64                    // of Service: sleep asked for
}

// timed is one good request of a window with its parts.
type timed struct {
	request record.Request
	parts   timeline.Parts
}

// PhasesOf divides the time of a trial's window. perIter is the calibrated time of one iteration
// of CPU demand, in seconds. It is the zero value for a trial without stamps.
func PhasesOf(t record.TrialRecord, perIter float64) (p Phases) {
	if len(t.Stamps) == 0 {
		return p
	}
	p.Stamped = true
	p.Lost = int(min(t.Server.StampsLost, math.MaxInt32))
	var all []timed
	var passed []record.Stamps
	for i, r := range t.Requests {
		if !t.InWindow(r) || !r.Good() {
			continue
		}
		parts := PartsOf(r, t.Stamps[i])
		p.Good++
		if t.Stamps[i].Joined() {
			p.Joined++
			passed = append(passed, t.Stamps[i])
		} else if p.Lost > 0 {
			continue // its time cannot be divided without the lost stamps
		}
		if _, negative := parts.Negative(); negative {
			p.Negative++
		}
		all = append(all, timed{r, parts})
	}
	p.Overtaken = overtaken(passed)
	// The slowest come first, so that the tail is the front of the slice.
	slices.SortFunc(all, func(a, b timed) int {
		return cmp.Compare(b.request.Done-b.request.Scheduled, a.request.Done-a.request.Scheduled)
	})
	p.Mean, p.meanCPU, p.meanWait = average(all, perIter)
	p.Tail, p.tailCPU, p.tailWait = average(all[:int(math.Ceil(slowest*float64(len(all))))], perIter)
	return p
}

// overtaken returns the ratio of requests that the server read after one that was written later.
func overtaken(all []record.Stamps) float64 {
	slices.SortFunc(all, func(a, b record.Stamps) int { return cmp.Compare(b.Wrote, a.Wrote) })
	// A request was overtaken if one written after it was read before it, so one pass with the
	// earliest reading so far is enough.
	n, earliest := 0, int64(math.MaxInt64)
	for _, s := range all { // from the last that was written
		n += stats.Count(s.Read > earliest)
		earliest = min(earliest, s.Read)
	}
	return float64(n) / float64(max(len(all), 1))
}

// average returns the mean of each part, of the CPU demand and of the sleep asked for, all in
// seconds per request. An empty slice gives zeros.
func average(all []timed, perIter float64) (mean [timeline.NumParts]float64, cpu, wait float64) {
	n := float64(max(len(all), 1))
	for _, t := range all {
		for i, d := range t.parts {
			mean[i] += time.Duration(d).Seconds() / n
		}
		cpu += float64(t.request.Iters) * perIter / n
		wait += time.Duration(t.request.Sleep).Seconds() / n
	}
	return mean, cpu, wait
}

// Unjoined returns the ratio of good requests that the server did not account for. Lost stamps do
// not count. It is in 0..1. Above unjoinedLimit the window breaks a rule.
func (p *Phases) Unjoined() float64 {
	return float64(max(0, p.Good-p.Joined-p.Lost)) / float64(max(p.Good, 1))
}

// Handled is the handler's time as the server stamps it, before it is divided.
var Handled = record.Stretch{Name: timeline.Service.String(), Phases: []string{record.PhaseCPU, record.PhaseSleep, record.PhaseRest, record.PhaseHandler}}

// List returns p in the form of the record, in the order in which time passes.
func (p *Phases) List() (list []record.Phase) {
	for part := range timeline.NumParts {
		if part != timeline.Service {
			list = append(list, record.Phase{Name: part.String(), Mean: p.Mean[part], Tail: p.Tail[part]})
			continue
		}
		// The rest of Service is everything beyond the demand: waiting for a CPU, preemption, the
		// server's own work. It is below 0 if demands ran faster than when they were calibrated.
		rest := record.Phase{Name: record.PhaseRest, Mean: p.Mean[part] - p.meanCPU - p.meanWait, Tail: p.Tail[part] - p.tailCPU - p.tailWait}
		handler := record.Phase{Name: record.PhaseHandler}
		// No request stated a demand, so there is nothing to take off: Service is the handler's
		// time as a whole.
		if p.meanCPU+p.meanWait == 0 {
			rest.Mean, rest.Tail, handler.Mean, handler.Tail = 0, 0, rest.Mean, rest.Tail
		}
		list = append(list,
			record.Phase{Name: record.PhaseCPU, Mean: p.meanCPU, Tail: p.tailCPU},
			record.Phase{Name: record.PhaseSleep, Mean: p.meanWait, Tail: p.tailWait}, rest, handler)
	}
	return list
}

// PartsOf divides the response time of a good request by its stamps. Without stamps of the server,
// only the client's parts are known.
func PartsOf(r record.Request, s record.Stamps) timeline.Parts {
	c := timeline.Client{Scheduled: r.Scheduled, Sent: r.Sent, Ready: s.Ready, Wrote: s.Wrote, First: s.First, Done: r.Done}
	if !s.Joined() {
		return timeline.Unjoined(c)
	}
	return timeline.Split(c, timeline.Server{
		Accept: s.Accept, Received: s.Received, Read: s.Read,
		Enqueue: s.Enqueue, Dequeue: s.Dequeue, Begin: s.Begin, End: s.End, Write: s.Write,
	})
}
