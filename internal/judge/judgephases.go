package judge

import (
	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// armPhases is the mean of an arm's windows, phase by phase: means of equal
// windows add up like those of one.
func (j *Judge) armPhases(arm string) []record.Phase {
	var sum []record.Phase
	n := 0.0
	for _, block := range j.valid {
		w := j.windows[block][arm]
		if !w.Phases.Stamped || w.Phases.Good == 0 {
			return nil
		}
		n++
		for i, p := range w.Phases.List() {
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
func (j *Judge) joined(arm string) float64 {
	joined, good := 0, 0
	for _, block := range j.valid {
		p := j.windows[block][arm].Phases
		joined += p.Joined
		good += p.Good
	}
	return float64(joined) / float64(max(good, 1))
}

// doubtLost says whose servers had stamps that they could not keep. It refuses
// nothing: the newest requests are accounted for.
func (j *Judge) doubtLost() {
	for _, a := range j.run.Plan.Arms {
		windows := 0
		for _, block := range j.valid {
			p := j.windows[block][a.Name].Phases
			windows += stats.Count(p.Lost > 0 && p.Joined < p.Good)
		}
		if windows > 0 {
			j.doubt(record.Fact{Code: record.StampsLost, Arm: a.Name, Values: record.Values{
				"windows": float64(windows), "of": float64(len(j.valid)), "joined": j.joined(a.Name),
			}})
		}
	}
}
