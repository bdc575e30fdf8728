package experiment

import (
	"cmp"
	"math"
	"slices"
	"time"

	"schedlab/internal/prose"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
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

// armPhases is the mean of an arm's windows, phase by phase: means of equal
// windows add up like those of one.
func (j *judge) armPhases(arm string) []record.Phase {
	var sum []record.Phase
	n := 0.0
	for _, block := range j.valid {
		w := j.windows[block][arm]
		if !w.phases.stamped || w.phases.good == 0 {
			return nil
		}
		n++
		for i, p := range w.phases.list() {
			if len(sum) <= i {
				sum = append(sum, record.Phase{Name: p.Name})
			}
			sum[i].Mean += p.Mean
			sum[i].Tail += p.Tail
		}
	}
	for i := range sum {
		sum[i].Mean /= n
		sum[i].Tail /= n
	}
	return sum
}

// joined is the share of an arm's good requests that its server accounted for.
func (j *judge) joined(arm string) float64 {
	joined, good := 0, 0
	for _, block := range j.valid {
		p := j.windows[block][arm].phases
		joined += p.joined
		good += p.good
	}
	return float64(joined) / float64(max(good, 1))
}

// doubtLost says whose servers had stamps that they could not keep. It refuses
// nothing: the newest requests are accounted for.
func (j *judge) doubtLost() {
	for _, a := range j.run.Plan.Arms {
		windows := 0
		for _, block := range j.valid {
			p := j.windows[block][a.Name].phases
			windows += count(p.lost > 0 && p.joined < p.good)
		}
		if windows > 0 {
			j.doubt(a.Name, "its server had no room for the stamps of all requests in %d of %s: where the time went is that of the newest, %.0f %% of them; give the arm a larger timeline",
				windows, prose.Plural(len(j.valid), "window"), 100*j.joined(a.Name))
		}
	}
}

// accounts reports whether an arm's server stamps the requests of its clients.
func accounts(p record.Plan, arm string) bool {
	i := slices.IndexFunc(p.Arms, func(a record.PlanArm) bool { return a.Name == arm })
	if i < 0 || p.Arms[i].Mode == "" || p.Arms[i].Clients.Pipeline > timeline.MaxPending {
		return false
	}
	stamps := cmp.Or(p.Arms[i].Stamps, p.Stamps)
	return stamps != "" && stamps != scenario.StampsOff
}

func (p *plan) accounts(arm int) bool { return accounts(p.Plan, p.Arms[arm].Name) }
