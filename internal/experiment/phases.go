package experiment

import (
	"cmp"
	"math"
	"slices"
	"time"

	"schedlab/internal/record"
	"schedlab/internal/timeline"
)

// slowest is the share of requests whose mean says where the tail went. Unlike
// a quantile such a mean is the sum of the means of its parts.
const slowest = .01

// phases are where the time of a window's good requests went. Service is split
// by what was asked of it.
type phases struct {
	stamped  bool // the client's stamps are there
	joined   int  // requests with the server's
	good     int
	negative int // requests with a part below 0
	lost     int // requests whose stamps the server had and could not keep

	mean, tail         [timeline.NumParts]float64 // seconds a request
	meanCPU, tailCPU   float64                    // of Service: calibrated demand
	meanWait, tailWait float64                    // of Service: sleep asked for
}

// timed is one good request of a window.
type timed struct {
	request record.Request
	parts   timeline.Parts
}

// phasesOf divides the window's time. perIter is the calibrated time of one
// iteration of CPU demand, in seconds.
func phasesOf(t record.TrialRecord, perIter float64) (p phases) {
	if len(t.Stamps) == 0 {
		return p
	}
	p.stamped = true
	p.lost = int(min(t.Server.StampsLost, math.MaxInt32))
	var all []timed
	for i, r := range t.Requests {
		if !t.InWindow(r) || !r.Good() {
			continue
		}
		parts := partsOf(r, t.Stamps[i])
		p.good++
		if t.Stamps[i].Joined() {
			p.joined++
		} else if p.lost > 0 {
			continue // its time is no part's more than another's
		}
		if _, negative := parts.Negative(); negative {
			p.negative++
		}
		all = append(all, timed{r, parts})
	}
	slices.SortFunc(all, func(a, b timed) int {
		return cmp.Compare(b.request.Done-b.request.Scheduled, a.request.Done-a.request.Scheduled)
	})
	p.mean, p.meanCPU, p.meanWait = average(all, perIter)
	p.tail, p.tailCPU, p.tailWait = average(all[:int(math.Ceil(slowest*float64(len(all))))], perIter)
	return p
}

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

// unjoined is the share of good requests that the server did not account for, those
// aside whose stamps it had and lost.
func (p *phases) unjoined() float64 {
	return float64(max(0, p.good-p.joined-p.lost)) / float64(max(p.good, 1))
}

// handled is the handler's time as the server stamps it, before it is divided.
var handled = record.Stretch{Name: timeline.Service.String(), Phases: []string{record.PhaseCPU, record.PhaseSleep, record.PhaseRest}}

// list is p as the record has it, in the order in which time passes.
func (p *phases) list() (list []record.Phase) {
	for part := range timeline.NumParts {
		if part != timeline.Service {
			list = append(list, record.Phase{Name: part.String(), Mean: p.mean[part], Tail: p.tail[part]})
			continue
		}
		list = append(list,
			record.Phase{Name: record.PhaseCPU, Mean: p.meanCPU, Tail: p.tailCPU},
			record.Phase{Name: record.PhaseSleep, Mean: p.meanWait, Tail: p.tailWait},
			record.Phase{Name: record.PhaseRest, Mean: p.mean[part] - p.meanCPU - p.meanWait, Tail: p.tail[part] - p.tailCPU - p.tailWait})
	}
	return list
}

// partsOf divides the response time of a good request by its stamps.
func partsOf(r record.Request, s record.Stamps) timeline.Parts {
	c := timeline.Client{Scheduled: r.Scheduled, Sent: r.Sent, Ready: s.Ready, Wrote: s.Wrote, First: s.First, Done: r.Done}
	if !s.Joined() {
		return timeline.Unjoined(c)
	}
	return timeline.Split(c, timeline.Server{
		Accept: s.Accept, Received: s.Received, Read: s.Read,
		Enqueue: s.Enqueue, Dequeue: s.Dequeue, Begin: s.Begin, End: s.End, Write: s.Write,
	})
}
