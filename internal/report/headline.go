package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"schedlab/internal/prose"
	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// Doubt returns a fact in one line, with the name of its arm and a colon in front if it is
// about one arm.
func Doubt(f record.Fact) string {
	if f.Arm == "" {
		return f.String()
	}
	return f.Arm + ": " + f.String()
}

// Headline returns the answer of a run in one or a few sentences: the answer of a gate, else
// the claims of the scenario if the run decided one, else the ranking of its arms. Claims that
// hold come first, then those that do not, then open ones.
//
// This file builds that answer. record.Conclusion has the ranking as values: an outcome for the
// whole, and a Standing for each challenger. answer picks the beginning of the sentence by the
// outcome, and standing writes a clause for each challenger by its rank. No function here
// compares figures to find a winner.
func Headline(r *record.Result) string {
	if len(r.Gate) > 0 {
		return gateAnswer(r)
	}
	if !slices.ContainsFunc(r.Expectations, func(e record.Expectation) bool { return e.Claim != "" && e.Outcome.Decided() }) {
		return ranking(r)
	}
	var sentences []string
	// The claims that hold lead, without a word in front, since most readers look for these.
	for _, outcome := range []record.Answer{record.Passed, record.Failed, record.Undecided, record.NoAnswer} {
		for _, e := range r.Expectations {
			if e.Claim != "" && e.Outcome == outcome {
				sentences = append(sentences, strings.TrimPrefix(claimed(e)+".", "Holds: "))
			}
		}
	}
	return strings.Join(sentences, " ")
}

// claimed returns a claim's sentence after a word for its answer, without a full stop.
func claimed(e record.Expectation) string {
	return answerWord(e.Outcome) + ": " + e.Claim
}

// answerWord returns the word for a claim's answer: Holds, Not so, or Open for an undecided and
// a refused claim.
func answerWord(a record.Answer) string {
	return cmp.Or(map[record.Answer]string{record.Passed: "Holds", record.Failed: "Not so"}[a], "Open")
}

// rankingBelow returns the ranking as a line of its own below claims, without its full stop;
// nil if the ranking is the headline already.
func rankingBelow(r *record.Result) []string {
	if ranked := ranking(r); Headline(r) != ranked {
		return []string{strings.TrimSuffix(ranked, ".")}
	}
	return nil
}

// ranking returns the verdicts on all arms in one sentence. A doubt that undermines the answer
// comes before it: a load generator at its limit measures itself, and a pool that keeps its
// connections serves only some of its clients.
func ranking(r *record.Result) string {
	for _, d := range r.Doubts {
		if d.Code == record.GeneratorLimit || d.Code == record.StickyPool && !slices.ContainsFunc(r.Arms, func(a record.Arm) bool { return a.Name == d.Arm && a.StarvedConnections > 0 }) {
			return d.Arm + " " + d.String() + ". " + answer(r)
		}
	}
	return answer(r)
}

// answer returns the ranking without a doubt in front. It mentions starved connections itself.
func answer(r *record.Result) string {
	switch a := r.Answer; a.Outcome {
	case "": // a search for capacity, or a run that compared nothing
		if r.Capacity != nil {
			return capacityHeadline(r.Capacity)
		}
		return r.Headline
	case record.NoVerdict:
		return noVerdict(r)
	case record.OtherLoads:
		return "No one winner, for the arms' loads differ: " + standings(r)
	case record.OneWins:
		return r.Winner + " wins: " + standings(r)
	case record.SeveralWin:
		return fmt.Sprintf("%s each beat %s, and which of them is best is open: %s", strings.Join(a.Faster, " and "), r.Arms[0].Name, standings(r))
	case record.ATrade:
		return "A trade: " + standings(r)
	case record.ATie:
		return "A tie: " + standings(r)
	case record.TieForBest:
		return "A tie for the best: " + standings(r)
	}
	return "No single winner: " + standings(r)
}

// noVerdict returns the headline of a run in which no verdict was reached. Starved connections
// are named in any case, because they show a difference that no figure has.
func noVerdict(r *record.Result) string {
	if behind := behindSoFar(r); len(behind) > 0 {
		return "No verdict yet: " + strings.Join(append(behind, starving(r)...), "; ") + "."
	}
	reason, starving := r.Answer.Reason.String(), strings.Join(starving(r), "; ")
	switch {
	case starving == "":
	// The reason is the starvation itself, so the sentence need not give it twice.
	case r.Answer.Reason.RestsOn(record.CauseStarvation):
		reason = starving + ", and the times lack the waits of those"
	default:
		reason += "; " + starving
	}
	return "No verdict: " + reason + "."
}

// behindSoFar returns a clause for each arm that falls behind in every block of too few. It is
// no verdict, but a reader who waits for more blocks wants to know it.
func behindSoFar(r *record.Result) (clauses []string) {
	for _, v := range r.Verdicts {
		if clause := behindInAll(r, v); clause != "" {
			clauses = append(clauses, clause)
		}
	}
	return clauses
}

// behindInAll returns a clause about an arm that does not keep up in every block of a run with
// too few blocks to decide it; "" for any other verdict. In a closed loop nobody can fall
// behind, because clients wait.
func behindInAll(r *record.Result, v record.Verdict) string {
	if v.Metric != "goodput" || v.Verdict != stats.Inconclusive || !stats.MetricOf(v.Metric).Worse(v.Lean) || v.Lost != v.Blocks || !openLoops(r, v.Arm, v.Baseline) {
		return ""
	}
	return fmt.Sprintf("%s does not keep up with %s (%s): %s", v.Arm, v.Baseline, shortfall(r, v), shownBy([]record.Verdict{v}))
}

// shortfall returns the change of goodput, with the share of requests that got no good reply or,
// without such a share, the p50 of both arms if the arm is slower. These times are no finding where
// the backlog grows, as they grow with the length of the window, but they show how far behind the
// arm is.
func shortfall(r *record.Result, v record.Verdict) string {
	text := "goodput " + stats.Change(v.Ratio)
	base, arm := armOf(r, v.Baseline), armOf(r, v.Arm)
	if failed := float64(arm.Errors) / float64(max(arm.Requests, 1)); failed >= leastFailed {
		return fmt.Sprintf("%s, no good reply to %.0f %% of its requests", text, 100*failed)
	}
	if base.P50 == nil || arm.P50 == nil || *arm.P50 <= *base.P50 {
		return text
	}
	return fmt.Sprintf("%s, p50 %s against %s", text, prose.Seconds(*arm.P50), prose.Seconds(*base.P50))
}

// leastFailed is the ratio of requests without a good reply from which the headline tells it.
const leastFailed = .01

// armOf returns the arm with a name, or an arm without figures if there is none.
func armOf(r *record.Result, name string) record.Arm {
	for _, a := range r.Arms {
		if a.Name == name {
			return a
		}
	}
	return record.Arm{}
}

// openLoops reports whether none of the arms with these names has a closed loop.
func openLoops(r *record.Result, arms ...string) bool {
	return !slices.ContainsFunc(arms, func(name string) bool { return armOf(r, name).Clients.Closed() })
}

// shownBy tells how many blocks agree and how many would decide. It returns "9 of 9 blocks show
// it; 1 more would decide" for verdicts that are the same in every block, and otherwise "about
// 12 blocks would decide p50"; "" if no number of blocks would. vs must not be empty.
func shownBy(vs []record.Verdict) string {
	first := vs[0]
	differ := func(v record.Verdict) bool { return max(v.Won, v.Lost) < v.Blocks || v.Needed != first.Needed }
	// Verdicts that agree in every block need the same number of blocks, so one clause is
	// enough.
	if !slices.ContainsFunc(vs, differ) && first.Needed > first.Blocks && first.Needed <= mostBlocks {
		return fmt.Sprintf("%d of %s show it; %d more would decide", first.Blocks, prose.Plural(first.Blocks, "block"), first.Needed-first.Blocks)
	}
	var parts []string
	for _, group := range grouped(vs, func(v record.Verdict) int { return v.Needed }) {
		if needed := group[0].Needed; needed > 0 && needed <= mostBlocks {
			parts = append(parts, fmt.Sprintf("about %s would decide %s", prose.Plural(needed, "block"), metricNames(group)))
		}
	}
	return strings.Join(parts, ", ")
}

// standings returns a clause for each challenger against the baseline, then for each duel of
// two challengers, then for each arm that starved connections, and a sentence about unequal
// CPUs.
func standings(r *record.Result) string {
	var clauses []string
	for _, s := range r.Answer.Standings {
		clauses = append(clauses, standing(r, s, r.Verdicts))
	}
	for _, d := range r.Answer.Duels {
		clauses = append(clauses, standing(r, d.Standing, d.Verdicts))
	}
	return strings.Join(append(clauses, starving(r)...), "; ") + "." + unequal(r)
}

// unequal returns a sentence about arms that may run on other CPUs than the rest, since a win may
// be due to that; "" when there are none.
func unequal(r *record.Result) string {
	var where []string
	for _, a := range r.Arms {
		if a.CPUs != "" && a.Role != record.Copy {
			where = append(where, fmt.Sprintf("%s may run on CPUs %s", a.Name, a.CPUs))
		}
	}
	if len(where) == 0 || r.Env.ServerCPUs == "" {
		return ""
	}
	return fmt.Sprintf(" Not on equal CPUs: %s; servers started here have %s.", strings.Join(where, ", "), r.Env.ServerCPUs)
}

// starving returns a clause for each arm that starved connections and has no standing that
// mentions it.
func starving(r *record.Result) (clauses []string) {
	for _, name := range r.Answer.Starving {
		clauses = append(clauses, name+" "+starvedBy(r, name))
	}
	return clauses
}

// starvedBy returns how many connections an arm starved, and of how many if that is known:
// "starved 3 of 16 connections". It returns "" for an unknown arm.
func starvedBy(r *record.Result, name string) string {
	for _, a := range r.Arms {
		if a.Name != name {
			continue
		}
		if f := a.Fairness; f != nil {
			return fmt.Sprintf("starved %d of %s", a.StarvedConnections, prose.Plural(f.Asked, "connection"))
		}
		return "starved " + prose.Plural(a.StarvedConnections, "connection")
	}
	return ""
}

// standing returns a clause about a challenger by its rank, with the verdicts that decided.
// verdicts must include this arm's against s.Baseline, and none of it against another arm.
func standing(r *record.Result, s record.Standing, verdicts []record.Verdict) string {
	of := func(want ...stats.Decision) (all []record.Verdict) { // on primary metrics, which are times
		for _, v := range verdicts {
			if v.Arm == s.Arm && v.Primary && slices.Contains(want, v.Verdict) {
				all = append(all, v)
			}
		}
		return all
	}
	switch s.Rank {
	case record.OtherLoad:
		return fmt.Sprintf("%s against %s: %s, and response times follow the load (%s)", s.Arm, s.Baseline, workDone(r, s.Arm), strings.Join(s.Differs, ", "))
	case record.StarvesClients:
		return fmt.Sprintf("%s %s, so that it has no times to set against %s", s.Arm, starvedBy(r, s.Arm), s.Baseline)
	case record.NoTimesBeside:
		return fmt.Sprintf("%s has no times of %s to be set against", s.Arm, s.Baseline)
	case record.KeepsUp:
		return fmt.Sprintf("%s keeps up better than %s (%s)", s.Arm, s.Baseline, goodputChange(verdicts, s.Arm))
	case record.FallsBehind:
		return fallsBehind(r, s, verdicts)
	case record.RankFaster:
		return fmt.Sprintf("%s is faster than %s (%s)", s.Arm, s.Baseline, changes(of(stats.Faster)))
	case record.RankSlower:
		if goodputOf(verdicts, s.Arm).Worse() && openLoops(r, s.Arm, s.Baseline) {
			return fallsBehind(r, s, verdicts)
		}
		return fmt.Sprintf("%s is slower than %s (%s)", s.Arm, s.Baseline, changes(of(stats.Slower)))
	// Goodput stands for a gain or a cost only where no time does.
	case record.RankTrade:
		gains, costs := of(stats.Faster), of(stats.Slower)
		for _, v := range verdicts {
			switch {
			case v.Arm != s.Arm || v.Metric != "goodput":
			case v.Better() && len(gains) == 0:
				gains = append(gains, v)
			case v.Worse() && len(costs) == 0:
				costs = append(costs, v)
			}
		}
		return fmt.Sprintf("%s trades with %s: better at %s, worse at %s", s.Arm, s.Baseline, changes(gains), changes(costs))
	case record.RankSame:
		return fmt.Sprintf("%s is the same as %s", s.Arm, s.Baseline)
	case record.RankPartlySame:
		return fmt.Sprintf("%s is the same as %s at %s, undecided otherwise", s.Arm, s.Baseline, metricNames(of(stats.Same)))
	}
	if behind := behindInAll(r, goodputOf(verdicts, s.Arm)); behind != "" {
		return behind
	}
	return undecided(s, of(stats.Inconclusive, stats.Refused))
}

// fallsBehind returns a clause about an arm that surely has less goodput than another.
func fallsBehind(r *record.Result, s record.Standing, verdicts []record.Verdict) string {
	return fmt.Sprintf("%s does not keep up with %s (%s)", s.Arm, s.Baseline, shortfall(r, goodputOf(verdicts, s.Arm)))
}

// undecided describes a challenger without a decision: the blocks so far, and which way they
// lean. If metrics lean both ways it names none.
func undecided(s record.Standing, open []record.Verdict) string {
	leans := map[stats.Decision][]record.Verdict{}
	blocks := 0
	for _, v := range open {
		blocks = max(blocks, v.Blocks)
		if v.Lean != "" {
			leans[v.Lean] = append(leans[v.Lean], v)
		}
	}
	leaning := ""
	for to, vs := range leans {
		leaning = fmt.Sprintf(" and leans %s (%s)", lower(to), changes(vs))
		if shown := shownBy(vs); shown != "" {
			leaning += ": " + shown
		}
	}
	if len(leans) > 1 {
		leaning = ""
	}
	return fmt.Sprintf("%s against %s is undecided after %s%s", s.Arm, s.Baseline, prose.Plural(blocks, "block"), leaning)
}

// workDone lists the verdicts on work done and its cost, with a word for each. Only these can
// be compared when loads differ, because response times follow the load.
func workDone(r *record.Result, arm string) string {
	var parts []string
	for _, v := range r.Verdicts {
		if v.Arm != arm || v.Primary {
			continue
		}
		text := fmt.Sprintf("%s %s", strings.ReplaceAll(v.Metric, "_", " "), v.Verdict)
		if v.Verdict != stats.Refused {
			text += fmt.Sprintf(" (%+.1f %%)", 100*(v.Ratio-1))
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// goodputChange returns the change of an arm's goodput, "goodput +5 %".
func goodputChange(verdicts []record.Verdict, arm string) string {
	return "goodput " + stats.Change(goodputOf(verdicts, arm).Ratio)
}

// goodputOf returns the verdict on an arm's goodput; the zero Verdict if there is none.
func goodputOf(verdicts []record.Verdict, arm string) record.Verdict {
	for _, v := range verdicts {
		if v.Arm == arm && v.Metric == "goodput" {
			return v
		}
	}
	return record.Verdict{}
}

// changes lists verdicts as "p50 +12 %, p99 +30 %"; "" for none.
func changes(vs []record.Verdict) string {
	parts := make([]string, len(vs))
	for i, v := range vs {
		parts[i] = v.Metric + " " + stats.Change(v.Ratio)
	}
	return strings.Join(parts, ", ")
}

// metricNames lists the metrics of verdicts, "p50, p99".
func metricNames(vs []record.Verdict) string {
	parts := make([]string, len(vs))
	for i, v := range vs {
		parts[i] = v.Metric
	}
	return strings.Join(parts, ", ")
}

// capacityHeadline returns the answer of a search in one sentence: the capacity of the only
// arm, or the arm with the most capacity. An arm has the most only if the low end of its
// interval is above the high ends of all others, and all are decided. Arms that starve clients are
// left out where another arm is left.
func capacityHeadline(c *record.Capacity) string {
	arms := only(c.Arms, func(a record.ArmCapacity) bool { return a.Starves.None() })
	if len(arms) == 0 {
		arms = c.Arms
	}
	// open counts the arms without a decision.
	open := 0
	for _, a := range arms {
		open += stats.Count(!a.Decided())
	}
	switch {
	case len(arms) == 1:
		return arms[0].Answer.String() + "."
	case open == len(arms) && arms[0].Outcome == "undecided":
		return "Undecided: " + arms[0].Answer.String() + "."
	case open == len(arms):
		return arms[0].Answer.String() + "."
	}
	// While one arm is open, its capacity may be the highest, so no arm has the most.
	for i, a := range arms {
		low, _ := a.Bounds()
		most := a.Decided() && open == 0
		// next is the highest capacity that any other arm may still have.
		next := 0.0
		for k, b := range arms {
			_, high := b.Bounds()
			if k != i {
				most, next = most && low > high, max(next, high)
			}
		}
		if most {
			return fmt.Sprintf("%s has the most capacity for %s: at least %s, the others at most %s.", a.Name, c.SLO, prose.PerSecond(low), prose.PerSecond(next))
		}
	}
	var spans []string
	for _, a := range arms[:min(len(arms), mostSpans)] {
		spans = append(spans, a.Name+" "+capacitySpan(a))
	}
	if more := len(arms) - len(spans); more > 0 {
		spans = append(spans, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("No arm is sure to have the most capacity for %s: %s.", c.SLO, strings.Join(spans, ", "))
}

// mostSpans is the number of arms that a headline can name.
const mostSpans = 4

// capacitySpan returns an arm's capacity in a few words, by its outcome. See record.ArmCapacity
// for the outcomes.
func capacitySpan(a record.ArmCapacity) string {
	switch a.Outcome {
	case "between":
		return prose.PerSecond(a.Low) + " to " + prose.PerSecond(a.High)
	case "beyond":
		return "above " + prose.PerSecond(a.Low)
	case "below":
		return "below " + prose.PerSecond(a.High)
	case "never":
		return "none"
	case "slow":
		return "too slow to judge"
	case "died":
		return "died"
	}
	return "undecided"
}
