package judge

import (
	"slices"

	"schedlab/internal/record"
)

// conclude says what the verdicts of a comparison come to: the winner's name, "trade" or
// "undecided", and the whole answer.
func conclude(r *record.Result) (winner string, a record.Conclusion) {
	if len(r.Arms) < 2 {
		return "", a
	}
	f := newField(r, func(v record.Verdict) bool { return v.Primary }, true)
	a.Standings, a.Faster, a.Duels = f.standings, f.faster(), f.duels
	var best []string
	a.Outcome, best = f.decide()
	winner = "undecided"
	switch {
	case len(r.LoadsDiffer) > 0:
		a.Outcome = record.OtherLoads
	case a.Outcome == record.OneWins:
		winner = best[0]
	case a.Outcome == record.ATrade:
		winner = "trade"
	}
	if !slices.Contains(f.judged, true) {
		a = record.Conclusion{Outcome: record.NoVerdict, Reason: refusalReason(r.Verdicts)}
	}
	a.Starving = starving(r.Arms, a.Standings)
	return winner, a
}

func refusalReason(vs []record.Verdict) record.Fact {
	for _, v := range vs {
		if !v.Reason.None() {
			return v.Reason
		}
	}
	return record.Fact{Code: nothingCompared}
}

// starving names the arms that starved connections: those of which their standing does
// not say it, and of a baseline and its copy the first.
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

// restsOn reports whether a fact, or one that it rests on, has the code.
func restsOn(f record.Fact, code record.Code) bool {
	return f.Code == code || slices.ContainsFunc(f.Because, func(of record.Fact) bool { return restsOn(of, code) })
}
