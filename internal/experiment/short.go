package experiment

import (
	"schedlab/internal/queueing"
	"schedlab/internal/record"
)

// Short names the arms that have too few workers by Little's law: no more than
// are busy on average, rate × time a request takes. The copy of the baseline is left out.
// Known is false where the law does not tell: a rate that is not known
// beforehand, a closed loop, a server that is not ours or whose workers keep their
// connections, or more CPU time asked for than there are cores.
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
		case queueing.Goroutines.String():
		case queueing.Pool.String(), queueing.PerWorker.String():
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
