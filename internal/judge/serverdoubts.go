package judge

import (
	"reflect"
	"slices"

	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// mostServerDoubts bounds the different doubts that an arm's trials may raise.
const mostServerDoubts = 4

// noteServer takes what a trial found out about its server: where it may run, and doubts.
func (j *Judge) noteServer(t record.Trial) {
	if t.Server.CPUs != "" {
		j.otherCPUs[t.Arm] = t.Server.CPUs
	}
	if a := j.planned(t.Arm); a == nil || a.Role == record.Copy { // the copy is its baseline again
		return
	}
	if j.serverDoubts == nil {
		j.serverDoubts = map[string][]record.Fact{}
	}
	for _, f := range t.Server.Doubts {
		f.Arm = t.Arm
		same := func(other record.Fact) bool { return reflect.DeepEqual(f, other) }
		if !slices.ContainsFunc(j.serverDoubts[t.Arm], same) && len(j.serverDoubts[t.Arm]) < mostServerDoubts {
			j.serverDoubts[t.Arm] = append(j.serverDoubts[t.Arm], f)
		}
	}
}

// addServerDoubts puts them among the result's doubts, arm by arm.
func (j *Judge) addServerDoubts() {
	for _, a := range j.run.Plan.Arms {
		j.result.Doubts = append(j.result.Doubts, j.serverDoubts[a.Name]...)
	}
}

// footprint is the median of an arm's over its valid windows; nil when one is not
// known.
func (j *Judge) footprint(arm string) *record.Footprint {
	var memory, peak, threads, processes []float64
	var sum record.Footprint
	for _, block := range j.valid {
		f := j.windows[block][arm].Trial.Server.Footprint
		if f == nil {
			return nil
		}
		memory, peak = append(memory, float64(f.Memory)), append(peak, float64(f.Peak))
		threads, processes = append(threads, float64(f.Threads)), append(processes, float64(f.Processes))
		sum.Resident = sum.Resident || f.Resident
	}
	if len(memory) == 0 {
		return nil
	}
	sum.Memory, sum.Peak = int64(stats.Median(memory)), int64(stats.Median(peak))
	sum.Threads, sum.Processes = int(stats.Median(threads)), int(stats.Median(processes))
	return &sum
}
