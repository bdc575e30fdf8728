package judge

import (
	"cmp"
	"slices"

	"schedlab/internal/doubt"
	"schedlab/internal/outcome"
	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// A ranking has the rank of every arm of a comparison against every other. The baseline is the first arm, and its copy is
// left out. It alone names the winner. Arms are ranked pairwise and not by one
// number, because each pair has verdicts of its own and some pairs have none. The relation need not be transitive, so a
// winner has to beat every other arm itself (docs/decisions, 23).
type ranking struct {
	arms      []record.Arm
	ranks     [][]record.Place  // ranks[i][k] is the place of arm i against arm k; zero if i == k
	standings []record.Standing // of each challenger against its reference
	judged    []bool            // by challenger: at least one verdict that was asked for is not refused
	excused   []bool            // by arm: it cannot win, and a winner need not beat it
	duels     []record.Duel     // of challengers that both beat their reference
}

// newRanking ranks the arms by the verdicts for which asked returns true: on the primary metrics for the winner of a run, or
// on those of a gate. byLoad says that closed loops with different loads are not compared by their response times. Two
// challengers are ranked by the verdicts of their duel (record.Result.Duels), unless it follows from the baseline (implied).
func newRanking(r *record.Result, asked func(record.Verdict) bool, byLoad bool) ranking {
	var f ranking
	f.arms = slices.DeleteFunc(slices.Clone(r.Arms), func(a record.Arm) bool { return a.Role == record.Copy })
	f.ranks, f.excused = make([][]record.Place, len(f.arms)), make([]bool, len(f.arms))
	for i := range f.arms {
		f.ranks[i] = make([]record.Place, len(f.arms))
		f.excused[i] = f.arms[i].Starves()
	}
	// Arms in order: when arm i is ranked, all arms before it have their ranks against the
	// reference.
	for i, a := range f.arms {
		if i == 0 {
			continue
		}
		var on []record.Verdict
		against := &f.arms[0]
		for _, v := range r.Verdicts {
			if v.Arm == a.Name {
				on, against = append(on, v), armOf(f.arms, v.Baseline)
			}
		}
		var differs []string
		if byLoad {
			differs = incomparable(a.Clients, against.Clients)
		}
		s, judged := stand(a, *against, on, asked, differs)
		f.standings, f.judged = append(f.standings, s), append(f.judged, judged)
		// An arm without any verdict by its own fault cannot win, and cannot keep others from
		// winning.
		f.excused[i] = f.excused[i] || !judged && slices.ContainsFunc(on, atFault)
		f.ranks[i][0], f.ranks[0][i] = s.Place, inverse(s.Place)
		for k := 1; k < i; k++ {
			// Against an earlier challenger: by what follows from both verdicts, by load, or by
			// their duel.
			rank := implied(a.Name, f.arms[k].Name, s.Place, f.ranks[k][0], r.Verdicts, asked)
			if byLoad && len(incomparable(a.Clients, f.arms[k].Clients)) > 0 {
				rank = refused(record.OtherLoad)
			}
			if rank == (record.Place{}) {
				var on []record.Verdict
				for _, v := range r.Duels {
					if v.Arm == a.Name && v.Baseline == f.arms[k].Name {
						on = append(on, v)
					}
				}
				between, _ := stand(a, f.arms[k], on, asked, nil)
				// Only a duel of two possible winners is worth showing.
				if rank = between.Place; s.Place.Better() && f.ranks[k][0].Better() {
					f.duels = append(f.duels, record.Duel{Standing: between, Verdicts: on})
				}
			}
			f.ranks[i][k], f.ranks[k][i] = rank, inverse(rank)
		}
	}
	return f
}

// stand ranks an arm against another by the verdicts for which asked returns true, and by goodput if one of the two cannot
// keep up, because it is overloaded or fails requests. In a closed loop the mean response time of N clients is N/X, so
// shorter times with less goodput are a trade: other requests wait longer. differs names the settings that make their
// response times incomparable. judged reports whether there is a verdict that was not refused.
func stand(arm, against record.Arm, verdicts []record.Verdict, asked func(record.Verdict) bool, differs []string) (s record.Standing, judged bool) {
	s = record.Standing{Arm: arm.Name, Baseline: against.Name, Differs: differs}
	var faster, slower, same, open, refusals int // verdicts that were asked for
	var keeps record.Verdict                     // on goodput, if the arm with less of it cannot keep up
	var done record.Verdict                      // on goodput in a closed loop
	var starves record.Fact                      // why times are refused, if an arm starved clients
	// First collect what the verdicts say. The switch below then weighs it.
	for _, v := range verdicts {
		less := arm
		if v.Better() {
			less = against
		}
		if v.Metric == stats.Goodput && v.Verdict.Rank.Differs() && fallsShort(less, verdicts) {
			keeps, judged = v, true
		}
		if v.Metric == stats.Goodput && arm.Clients.Closed() && against.Clients.Closed() {
			done = v
		}
		if !asked(v) {
			judged = judged || len(differs) > 0 && v.Verdict.Outcome != outcome.Refused
			continue
		}
		faster, slower = faster+stats.Count(v.Better()), slower+stats.Count(v.Worse())
		same, open = same+stats.Count(v.Verdict.Rank == stats.Same), open+stats.Count(v.Verdict.Outcome == outcome.Open)
		refusals += stats.Count(v.Verdict.Outcome == outcome.Refused)
		judged = judged || v.Verdict.Outcome != outcome.Refused
		if v.Reason.RestsOn(doubt.Starvation.Code) {
			starves = v.Reason
		}
	}
	// silent: not one verdict that was asked for was given, because clients starved.
	silent := !starves.None() && faster+slower+same+open == 0
	switch {
	// The order matters: reasons that make times worthless come before times, goodput in overload
	// before times, and mixed verdicts before verdicts of one kind.
	case len(differs) > 0:
		s.Place = refused(record.OtherLoad)
	case silent && starves.Arm == arm.Name:
		s.Place = refused(record.StarvesClients)
	case silent:
		s.Place = refused(record.NoTimesBeside)
	case keeps.Better():
		s.Place = record.Placed(stats.Higher)
	case keeps.Worse():
		s.Place = record.Placed(stats.Lower)
	case faster > 0 && slower > 0, faster > 0 && done.Worse(), slower > 0 && done.Better():
		s.Place = record.Placed(stats.Trade)
	case faster > 0:
		s.Place = record.Placed(stats.Faster)
	case slower > 0:
		s.Place = record.Placed(stats.Slower)
	case same > 0 && open+refusals == 0:
		s.Place = record.Placed(stats.Same)
	case same > 0:
		s.Place = record.Place{Outcome: outcome.Open, Rank: stats.Same}
	default:
		s.Place = record.Place{Outcome: outcome.Open}
	}
	return s, judged
}

// fallsShort reports whether an arm that surely has less goodput than another cannot keep up, by the reasons for which times
// are refused: a backlog grows, the arm fails requests, or their statuses differ. The last tells nothing in a closed loop,
// where an arm with other replies may do other work.
func fallsShort(less record.Arm, verdicts []record.Verdict) bool {
	return slices.ContainsFunc(verdicts, func(v record.Verdict) bool {
		return v.Reason.RestsOn(causeOverload.Code) || failedBy(v.Reason, less.Name) || !less.Clients.Closed() && v.Reason.RestsOn(causeStatusMix.Code)
	})
}

// failedBy reports whether a fact, or one that it rests on, is that the arm failed too many requests.
func failedBy(f record.Fact, arm string) bool {
	return doubt.TooManyFailed.Is(f) && f.Arm == arm || slices.ContainsFunc(f.Because, func(of record.Fact) bool { return failedBy(of, arm) })
}

// refused returns the place of two arms that have no times to compare.
func refused(why record.NoTimes) record.Place {
	return record.Place{Outcome: outcome.Refused, Why: why}
}

// opposite has the ranks that are others as seen from the other arm.
var opposite = map[stats.Rank]stats.Rank{
	stats.Faster: stats.Slower, stats.Slower: stats.Faster, stats.Higher: stats.Lower, stats.Lower: stats.Higher,
}

// inverse returns the place as seen from the other arm.
func inverse(p record.Place) record.Place {
	p.Rank = cmp.Or(opposite[p.Rank], p.Rank)
	return p
}

// implied returns the place of two challengers that follows from their verdicts against the baseline, without a duel; zero if
// none follows. a and b are the places of arm and other against the baseline.
func implied(arm, other string, a, b record.Place, verdicts []record.Verdict, asked func(record.Verdict) bool) record.Place {
	// apart: the two surely differ, because they are on different sides of the same baseline.
	higher, lower := record.Placed(stats.Higher), record.Placed(stats.Lower)
	apart := a == higher || a == lower || b == higher || b == lower
	for _, v := range verdicts {
		for _, o := range verdicts {
			apart = apart || asked(v) && v.Arm == arm && o.Arm == other && v.Metric == o.Metric && v.Baseline == o.Baseline &&
				(v.Better() && o.Worse() || v.Worse() && o.Better())
		}
	}
	switch {
	case a.Worse() && b.Worse():
		return record.Place{Outcome: outcome.Open} // which of the two is worse changes nothing
	case !apart:
		return record.Place{}
	case a.Better() && b.Worse():
		return record.Placed(stats.Faster)
	case b.Better() && a.Worse():
		return record.Placed(stats.Slower)
	}
	return record.Place{}
}

// atFault reports whether a verdict is refused because of what the arm did, and not because of noise.
func atFault(v record.Verdict) bool {
	return v.Reason.RestsOn(causeErrors.Code, causeStatusMix.Code, doubt.Starvation.Code, causeUnsent.Code)
}

// decide names the winner, or the arms that share the first place. A winner starved no client and beats every other arm; it
// need not beat excused arms, except the baseline. An arm beats another if it is faster at one metric or more and slower at
// none, or if it keeps up and the other does not. best is empty unless the kind names arms;
// kind is empty if that is open.
func (f ranking) decide() (kind record.AnswerKind, best []string) {
	var leaders []int // arms that no arm beats
	for i := range f.arms {
		if f.beatsAll(i) {
			return record.OneWins, []string{f.arms[i].Name}
		}
		if !slices.ContainsFunc(f.ranks[i], record.Place.Worse) {
			leaders, best = append(leaders, i), append(best, f.arms[i].Name)
		}
	}
	// A tie needs every pair of the leaders to be surely the same: arms that are not told apart
	// are open.
	alike := f.pairs(leaders, stats.Same) == len(leaders)*(len(leaders)-1)
	switch {
	case alike && len(leaders) == len(f.arms):
		return record.ATie, best
	case alike && len(leaders) > 1:
		return record.TieForBest, best
	case f.pairs(leaders, stats.Trade) > 0:
		return record.ATrade, nil
	case len(f.faster()) > 1:
		return record.SeveralWin, nil
	}
	return "", nil
}

// beatsAll reports whether arm i wins: it beats the baseline and every arm that is not excused, and no arm beats it.
func (f ranking) beatsAll(i int) bool {
	beaten := 0
	for k, rank := range f.ranks[i] {
		if k != i && !rank.Better() && (k == 0 || !f.excused[k] || rank.Worse()) {
			return false
		}
		beaten += stats.Count(rank.Better())
	}
	return beaten > 0 && !f.excused[i]
}

// pairs returns the number of ordered pairs of the given arms that have the rank.
func (f ranking) pairs(arms []int, rank stats.Rank) (n int) {
	for _, i := range arms {
		for _, k := range arms {
			n += stats.Count(i != k && f.ranks[i][k] == record.Placed(rank))
		}
	}
	return n
}

// faster returns the challengers that beat their reference and can win.
func (f ranking) faster() (names []string) {
	for i, s := range f.standings {
		if s.Place.Better() && !f.excused[i+1] {
			names = append(names, s.Arm)
		}
	}
	return names
}

// conclude draws the answer of a comparison from its ranking. Both are zero if there are fewer than two arms.
func conclude(r *record.Result) (winner record.Winner, a record.Conclusion) {
	if len(r.Arms) < 2 {
		return winner, a
	}
	f := newRanking(r, func(v record.Verdict) bool { return v.Primary }, true)
	a.Standings, a.Faster, a.Duels = f.standings, f.faster(), f.duels
	var best []string
	a.Kind, best = f.decide()
	// Under different loads no arm wins, whatever the verdicts say.
	winner.Outcome = outcome.Open
	switch {
	case len(r.LoadsDiffer) > 0:
		a.Kind = record.OtherLoads
	case a.Kind == record.OneWins:
		winner = record.Winner{Outcome: outcome.Yes, Arm: best[0]}
	case a.Kind == record.ATrade:
		winner.Outcome = outcome.Yes
	}
	a.Outcome = a.Kind.Outcome()
	// Without a single verdict there are no standings to show, but the first reason against one.
	if !slices.Contains(f.judged, true) {
		a = record.Conclusion{Outcome: outcome.Refused, Reason: nothingCompared}
		if i := slices.IndexFunc(r.Verdicts, func(v record.Verdict) bool { return !v.Reason.None() }); i >= 0 {
			a.Reason = r.Verdicts[i].Reason
		}
	}
	a.Answer = outcome.Winner.Phrase(a.Outcome)
	// Arms that starved connections, unless a standing says so already; the copy only without its baseline.
	for _, arm := range r.Arms {
		told := arm.Role == record.Copy && r.Arms[0].Starves() ||
			slices.ContainsFunc(a.Standings, func(s record.Standing) bool { return s.Arm == arm.Name && s.Place.Why == record.StarvesClients })
		if arm.Starves() && !told {
			a.Starving = append(a.Starving, arm.Name)
		}
	}
	return winner, a
}
