package judge

import (
	"fmt"
	"slices"
	"strings"

	"schedlab/internal/prose"
	"schedlab/internal/record"
	"schedlab/internal/stats"
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

// starvation is in the reason of a verdict that is refused because clients were
// not answered.
const starvation = "starvation: "

// starvedText says how many connections an arm starved, for the end of a clause.
func starvedText(a record.Arm) string {
	if f := a.Fairness; f != nil {
		return fmt.Sprintf("starved %d of %s", a.StarvedConnections, prose.Plural(f.Asked, "connection"))
	}
	return "starved " + prose.Plural(a.StarvedConnections, "connection")
}

// mutes reports whether an arm starved so many clients that the times of the others
// say nothing.
func (j *Judge) mutes(arm string) bool { return j.starvedShare(arm) > starvedLimit }

// silence is a clause on an arm that has no primary verdict, because it or its rival
// starved clients; "" for any other.
func (j *Judge) silence(s standing) string {
	refused := func(v record.Verdict) bool { return v.Verdict == string(stats.Refused) }
	starved := func(v record.Verdict) bool { return strings.Contains(v.Reason, starvation) }
	switch {
	case len(s.faster)+len(s.slower)+len(s.same) > 0 || !slices.ContainsFunc(s.open, starved):
		return ""
	case slices.ContainsFunc(s.open, func(v record.Verdict) bool { return !refused(v) }):
		return ""
	case j.mutes(s.arm):
		return fmt.Sprintf("%s %s, so that it has no times to set against %s", s.arm, starvedText(*j.arm(s.arm)), s.base)
	}
	return fmt.Sprintf("%s has no times of %s to be set against", s.arm, s.base)
}

// starving names the arms that starved connections, a clause each: those of which
// their standing does not say it, and of a baseline and its copy the first.
func (j *Judge) starving(said []standing) (clauses []string) {
	arms := j.result.Arms
	for _, a := range arms {
		twice := a.Role == record.Copy && arms[0].StarvedConnections > 0 ||
			slices.ContainsFunc(said, func(s standing) bool { return s.arm == a.Name && s.silent != "" && j.mutes(a.Name) })
		if a.StarvedConnections > 0 && !twice {
			clauses = append(clauses, a.Name+" "+starvedText(a))
		}
	}
	return clauses
}

// noVerdict is the headline of a run whose primary verdicts are all refused.
func (j *Judge) noVerdict() string {
	reason, starving := refusalReason(j.result.Verdicts), strings.Join(j.starving(nil), "; ")
	switch {
	case starving == "":
	case strings.Contains(reason, starvation):
		reason = starving + ", and a closed loop has no times of those"
	default:
		reason += "; " + starving
	}
	return "No verdict: " + reason + "."
}
