package judge

import (
	"reflect"
	"slices"

	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// mostNotes bounds the different doubts that an arm's trials may raise.
const mostNotes = 4

// note takes what a trial found out about its server: where it may run, and doubts.
func (j *Judge) note(t record.Trial) {
	if t.Server.CPUs != "" {
		j.elsewhere[t.Arm] = t.Server.CPUs
	}
	if a := j.planned(t.Arm); a == nil || a.Role == record.Copy { // the copy is its baseline again
		return
	}
	if j.noted == nil {
		j.noted = map[string][]record.Fact{}
	}
	for _, f := range t.Server.Doubts {
		f.Arm = t.Arm
		same := func(other record.Fact) bool { return reflect.DeepEqual(f, other) }
		if !slices.ContainsFunc(j.noted[t.Arm], same) && len(j.noted[t.Arm]) < mostNotes {
			j.noted[t.Arm] = append(j.noted[t.Arm], f)
		}
	}
}

// tellNotes puts them among the result's doubts, arm by arm.
func (j *Judge) tellNotes() {
	for _, a := range j.run.Plan.Arms {
		j.result.Doubts = append(j.result.Doubts, j.noted[a.Name]...)
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
