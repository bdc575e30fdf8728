package judge

import (
	"slices"

	"schedlab/internal/record"
)

// fairness is how an arm's answers fell to its connections over its valid windows;
// nil when that is not known.
func (j *Judge) fairness(arm string) *record.Fairness {
	var f *record.Fairness
	for _, block := range j.valid {
		w := j.windows[block][arm]
		if w.Asked == 0 {
			continue
		}
		if f == nil {
			f = &record.Fairness{Asked: w.Asked, Served: w.Asked}
		}
		if w.Starved > f.Asked-f.Served {
			f.Asked, f.Served = w.Asked, w.Asked-w.Starved
		}
		f.FirstReply = max(f.FirstReply, w.Trial.Client.FirstReply)
	}
	return f
}

// starved says how many connections an arm starved.
func starved(a record.Arm) record.Fact {
	f := record.Fact{Code: record.StarvedConnections, Arm: a.Name, Values: record.Values{"starved": float64(a.StarvedConnections)}}
	if a.Fairness != nil {
		f.Values["asked"] = float64(a.Fairness.Asked)
	}
	return f
}

// starvesTooMany reports whether an arm starved so many clients that the times of the others
// say nothing.
func (j *Judge) starvesTooMany(arm string) bool { return j.starvedShare(arm) > starvedLimit }

// starving names the arms that starved connections: those of which their standing does
// not say it, and of a baseline and its copy the first.
func (j *Judge) starving() (names []string) {
	arms := j.result.Arms
	for _, a := range arms {
		told := a.Role == record.Copy && arms[0].StarvedConnections > 0 ||
			slices.ContainsFunc(j.result.Answer.Standings, func(s record.Standing) bool { return s.Arm == a.Name && s.Rank == record.StarvesClients })
		if a.StarvedConnections > 0 && !told {
			names = append(names, a.Name)
		}
	}
	return names
}
