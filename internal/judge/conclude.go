package judge

import (
	"slices"

	"schedlab/internal/record"
)

// conclude draws the answer of a comparison from its verdicts. winner is the name of the winning
// arm, "trade" or "undecided"; "" if there are fewer than two arms. It only arranges what the
// field decides; see field.go.
func conclude(r *record.Result) (winner string, a record.Conclusion) {
	if len(r.Arms) < 2 {
		return "", a
	}
	f := newField(r, func(v record.Verdict) bool { return v.Primary }, true)
	a.Standings, a.Faster, a.Duels = f.standings, f.faster(), f.duels
	var best []string
	a.Outcome, best = f.decide()
	// Under different loads no arm wins, whatever the verdicts say.
	winner = "undecided"
	switch {
	case len(r.LoadsDiffer) > 0:
		a.Outcome = record.OtherLoads
	case a.Outcome == record.OneWins:
		winner = best[0]
	case a.Outcome == record.ATrade:
		winner = "trade"
	}
	// Without a single verdict there are no standings to show, but a reason.
	if !slices.Contains(f.judged, true) {
		a = record.Conclusion{Outcome: record.NoVerdict, Reason: refusalReason(r.Verdicts)}
	}
	a.Starving = starving(r.Arms, a.Standings)
	return winner, a
}

// refusalReason returns the first reason for which a verdict was refused. If there is none, it is
// the fact that nothing was compared.
func refusalReason(vs []record.Verdict) record.Fact {
	for _, v := range vs {
		if !v.Reason.None() {
			return v.Reason
		}
	}
	return record.Fact{Code: nothingCompared}
}

// starving returns the names of the arms that starved connections, unless an arm's standing says
// so already. If the baseline and its copy both did, it names the baseline only.
func starving(arms []record.Arm, standings []record.Standing) (names []string) {
	for _, a := range arms {
		told := a.Role == record.Copy && arms[0].StarvedConnections > 0 ||
			slices.ContainsFunc(standings, func(s record.Standing) bool { return s.Arm == a.Name && s.Rank == record.StarvesClients })
		if a.StarvedConnections > 0 && !told {
			names = append(names, a.Name)
		}
	}
	return names
}
