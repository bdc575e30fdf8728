package judge

import (
	"slices"

	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// A ranking has the rank of every arm of a comparison against every other, and names the winner. The baseline is the first arm, and
// its copy is left out. Arms are ranked in pairs, because each pair has its own verdicts, or none. If A beats B and B beats C, A
// need not beat C, so a winner has to beat every other arm itself (docs/decisions, 23).
type ranking struct {
	arms      []record.Arm
	ranks     [][]record.Place  // ranks[i][k] is the place of arm i against arm k; zero if i == k
	standings []record.Standing // of each challenger against its reference
	judged    []bool            // by challenger: at least one verdict on a primary metric is not refused
	excused   []bool            // by arm: it cannot win, and a winner need not beat it
	duels     []record.Duel     // of challengers that both beat their reference
}

// newRanking ranks the arms by the verdicts on primary metrics. Two challengers are ranked by the verdicts of their duel
// (record.Comparison.Duels), unless it follows from the baseline (implied).
func newRanking(r *record.Comparison) ranking {
	var f ranking
	f.arms = slices.DeleteFunc(slices.Clone(r.Arms), func(a record.Arm) bool { return a.Role == record.Copy })
	f.ranks, f.excused = make([][]record.Place, len(f.arms)), make([]bool, len(f.arms))
	for i := range f.arms {
		f.ranks[i] = make([]record.Place, len(f.arms))
		f.excused[i] = f.arms[i].Starves()
	}
	// Arms in order: when arm i is ranked, all arms before it have their ranks against the
	// reference.
	for i := 1; i < len(f.arms); i++ {
		f.rankAgainstReference(i, r.Verdicts)
		for k := 1; k < i; k++ {
			rank := f.rankChallengers(i, k, r)
			f.ranks[i][k], f.ranks[k][i] = rank, inverse(rank)
		}
	}
	return f
}

// rankAgainstReference ranks challenger i against the arm that its verdicts compare it with.
func (f *ranking) rankAgainstReference(i int, verdicts []record.Verdict) {
	p := pair{arm: f.arms[i], against: f.arms[0]}
	for _, v := range verdicts {
		if v.Arm == p.arm.Name {
			p.verdicts, p.against = append(p.verdicts, v), *armOf(f.arms, v.Baseline)
		}
	}
	p.load = incomparable(p.arm.Clients, p.against.Clients)
	s, judged := p.stand()
	f.standings, f.judged = append(f.standings, s), append(f.judged, judged)
	// An arm without any verdict by its own fault cannot win, and cannot keep others from
	// winning.
	f.excused[i] = f.excused[i] || !judged && slices.ContainsFunc(p.verdicts, atFault)
	f.ranks[i][0], f.ranks[0][i] = s.Place, inverse(s.Place)
}

// rankChallengers returns the place of challenger i against an earlier one, k: by what follows from the verdicts of both, by
// load, or by their duel.
func (f *ranking) rankChallengers(i, k int, r *record.Comparison) record.Place {
	p := pair{arm: f.arms[i], against: f.arms[k]}
	first, second := f.ranks[i][0], f.ranks[k][0]
	if len(incomparable(p.arm.Clients, p.against.Clients)) > 0 {
		return refused(record.OtherLoad)
	}
	if rank := implied(p.arm.Name, p.against.Name, first, second, r.Verdicts); rank != (record.Place{}) {
		return rank
	}
	for _, v := range r.Duels {
		if v.Arm == p.arm.Name && v.Baseline == p.against.Name {
			p.verdicts = append(p.verdicts, v)
		}
	}
	between, _ := p.stand()
	// Only a duel of two possible winners is worth showing.
	if first.Better() && second.Better() {
		f.duels = append(f.duels, record.Duel{Standing: between, Verdicts: p.verdicts})
	}
	return between.Place
}

// A pair is two arms to be ranked by the verdicts of the one against the other.
type pair struct {
	arm, against record.Arm
	verdicts     []record.Verdict // of arm against the other, on all metrics
	load         []string         // settings that make their response times incomparable
}

// stand returns the place of the arm: the first of places that holds. judged reports whether there is a verdict that was not
// refused.
func (p pair) stand() (s record.Standing, judged bool) {
	e := p.evidence()
	i := slices.IndexFunc(places, func(at placing) bool { return at.when(e) })
	return record.Standing{Arm: p.arm.Name, Baseline: p.against.Name, Differs: p.load, Place: places[i].place}, e.judged
}

// pairEvidence is what the verdicts of a pair say.
type pairEvidence struct {
	arm                                  string
	otherLoad                            bool           // their response times cannot be compared
	faster, slower, same, open, refusals int            // verdicts on primary metrics
	keeps                                record.Verdict // on goodput, if the arm with less of it cannot keep up
	done                                 record.Verdict // on goodput in a closed loop
	within                               record.Verdict // on goodput, if requests have a deadline
	starves                              fact.Fact      // why times are refused, if an arm starved clients
	judged                               bool           // some verdict was not refused
}

// silent reports whether all verdicts on primary metrics are refused because clients starved.
func (e pairEvidence) silent() bool { return !e.starves.None() && e.faster+e.slower+e.same+e.open == 0 }

// evidence collects what the verdicts of a pair say.
func (p pair) evidence() pairEvidence {
	e := pairEvidence{arm: p.arm.Name, otherLoad: len(p.load) > 0}
	for _, v := range p.verdicts {
		if v.Metric == stats.Goodput {
			e.addGoodput(p, v)
		}
		given := v.Verdict.Outcome != outcome.Refused
		if !v.Primary {
			e.judged = e.judged || e.otherLoad && given
			continue
		}
		e.faster, e.slower = e.faster+stats.Count(v.Better()), e.slower+stats.Count(v.Worse())
		e.same, e.open = e.same+stats.Count(v.Verdict.Rank == stats.Same), e.open+stats.Count(v.Verdict.Outcome == outcome.Open)
		e.refusals += stats.Count(!given)
		e.judged = e.judged || given
		if v.Reason.RestsOn(doubt.Starvation.Code) {
			e.starves = v.Reason
		}
	}
	return e
}

// addGoodput adds a verdict on goodput, which is no primary metric but ranks the arms in two cases: the arm with less goodput
// cannot keep up, because it is overloaded or fails requests, or both arms have closed loops. Where requests have a deadline, it
// ranks them in any case.
func (e *pairEvidence) addGoodput(p pair, v record.Verdict) {
	less := p.arm
	if v.Better() {
		less = p.against
	}
	impatient := p.arm.Clients.Impatient() && p.against.Clients.Impatient()
	if v.Verdict.Rank.Differs() && (impatient || fallsShort(less, p.verdicts)) {
		e.keeps, e.judged = v, true
	}
	if impatient && v.Verdict.Outcome != outcome.Refused {
		e.within, e.judged = v, true
	}
	if p.arm.Clients.Closed() && p.against.Clients.Closed() {
		e.done = v
	}
}

// A placing is a place of an arm against another, and what the verdicts say then.
type placing struct {
	place record.Place
	when  func(e pairEvidence) bool
}

// places are the places in the order in which they are tried: reasons that make times worthless before times, goodput in overload
// before times, and mixed verdicts before verdicts of one kind. In a closed loop the mean response time of N clients is N/X, so
// shorter times with less goodput are a trade: other requests wait longer.
var places = []placing{
	{refused(record.OtherLoad), func(e pairEvidence) bool { return e.otherLoad }},
	{refused(record.StarvesClients), func(e pairEvidence) bool { return e.silent() && e.starves.Arm == e.arm }},
	{refused(record.NoTimesBeside), pairEvidence.silent},
	{record.Placed(stats.Higher), func(e pairEvidence) bool { return e.keeps.Better() }},
	{record.Placed(stats.Lower), func(e pairEvidence) bool { return e.keeps.Worse() }},
	{record.Placed(stats.Trade), func(e pairEvidence) bool { return e.faster > 0 && (e.slower > 0 || e.done.Worse()) }},
	{record.Placed(stats.Trade), func(e pairEvidence) bool { return e.slower > 0 && e.done.Better() }},
	{record.Placed(stats.Faster), func(e pairEvidence) bool { return e.faster > 0 }},
	{record.Placed(stats.Slower), func(e pairEvidence) bool { return e.slower > 0 }},
	{record.Placed(stats.Same), func(e pairEvidence) bool { return e.same > 0 && e.open+e.refusals == 0 }},
	{record.Placed(stats.Same), func(e pairEvidence) bool { return e.within.Verdict.Rank == stats.Same && e.same+e.open == 0 }},
	{record.Place{Outcome: outcome.Open, Rank: stats.Same}, func(e pairEvidence) bool { return e.same > 0 }},
	{record.Place{Outcome: outcome.Open}, func(pairEvidence) bool { return true }},
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
func failedBy(f fact.Fact, arm string) bool {
	return doubt.TooManyFailed.Code.Is(f) && f.Arm == arm || slices.ContainsFunc(f.Because, func(of fact.Fact) bool { return failedBy(of, arm) })
}

// refused returns the place of two arms that have no times to compare.
func refused(why record.NoTimes) record.Place {
	return record.Place{Outcome: outcome.Refused, Why: why}
}

// inverse returns the place as seen from the other arm.
func inverse(p record.Place) record.Place {
	p.Rank = p.Rank.Reversed()
	return p
}

// implied returns the place of two challengers that follows from their verdicts against the baseline, without a duel; zero if
// none follows. a and b are the places of arm and other against the baseline.
func implied(arm, other string, a, b record.Place, verdicts []record.Verdict) record.Place {
	// apart: the two surely differ, because they are on different sides of the same baseline.
	higher, lower := record.Placed(stats.Higher), record.Placed(stats.Lower)
	apart := a == higher || a == lower || b == higher || b == lower
	for _, v := range verdicts {
		for _, o := range verdicts {
			apart = apart || v.Primary && v.Arm == arm && o.Arm == other && v.Metric == o.Metric && v.Baseline == o.Baseline &&
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
func conclude(r *record.Comparison) (winner record.Winner, a record.Conclusion) {
	if len(r.Arms) < 2 {
		return winner, a
	}
	f := newRanking(r)
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
