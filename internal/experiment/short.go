package experiment

import (
	"schedlab/internal/queueing"
	"schedlab/internal/record"
)

// Short returns the names of the arms with too few workers by Little's law: no more than are busy on
// average, which is rate × time per request. The baseline's copy is left out. known is false if the law
// does not apply to some arm. That is so for a rate that is not known yet, for a closed loop, for a
// server that is not ours, for workers that keep their connections, and for requests that need more
// CPU time than the cores have.
func (c *Comparison) Short() (arms []string, known bool) {
	w := c.plan.scenario.Workload
	if !c.plan.scenario.AsksWork() {
		return nil, false
	}
	for _, a := range c.plan.Arms {
		rate := a.Clients.Rate
		if a.Role == record.Copy {
			continue
		}
		if a.Station == nil || a.Clients.Closed() || rate == 0 || rate*w.CPU.Mean().Seconds() >= float64(max(a.Station.Cores, 1)) {
			return nil, false
		}
		switch a.Station.Kind {
		case queueing.Goroutines:
		case queueing.Pool, queueing.PerWorker:
			if a.KeepAlive && a.Station.Sticky {
				return nil, false
			}
			if a.Station.Workers < queueing.Workers(rate, (w.CPU.Mean()+w.Sleep.Mean()).Seconds()) {
				arms = append(arms, a.Name)
			}
		default:
			return nil, false
		}
	}
	return arms, true
}
