package judge

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"schedlab/internal/prose"
	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// rank is what a challenger's verdicts come to beside the arm that it is compared with. It
// reports whether any of them is a verdict.
func (j *Judge) rank(i, against int) (s record.Standing, judged bool) {
	r := j.result
	s = record.Standing{Arm: r.Arms[i].Name, Baseline: r.Arms[against].Name}
	s.Differs = incomparable(j.run.Plan.Arms[i].Clients, j.run.Plan.Arms[against].Clients)
	count := map[stats.Decision]int{} // of the primary ones
	var keeps stats.Decision          // the verdict on goodput, where the queue of one of the two grows without end
	starved := false                  // a time is refused for it
	for _, v := range r.Verdicts {
		if v.Arm != s.Arm {
			continue
		}
		decision := decisionOf(v)
		if v.Metric == goodput && (j.over[s.Arm] || j.over[s.Baseline]) && (decision == stats.Faster || decision == stats.Slower) {
			keeps, judged = decision, true
		}
		if !v.Primary {
			judged = judged || len(s.Differs) > 0 && decision != stats.Refused
			continue
		}
		count[decision]++
		judged = judged || decision != stats.Refused
		starved = starved || restsOn(v.Reason, record.CauseStarvation)
	}
	faster, slower, same, open := count[stats.Faster], count[stats.Slower], count[stats.Same], count[stats.Inconclusive]
	silent := starved && faster+slower+same+open == 0
	switch {
	case len(s.Differs) > 0:
		s.Rank = record.OtherLoad
	case silent && j.starvesTooMany(s.Arm):
		s.Rank = record.StarvesClients
	case silent:
		s.Rank = record.NoTimesBeside
	case keeps == stats.Faster:
		s.Rank = record.KeepsUp
	case keeps == stats.Slower:
		s.Rank = record.FallsBehind
	case faster > 0 && slower > 0:
		s.Rank = record.RankTrade
	case faster > 0:
		s.Rank = record.RankFaster
	case slower > 0:
		s.Rank = record.RankSlower
	case same > 0 && open+count[stats.Refused] == 0:
		s.Rank = record.RankSame
	case same > 0:
		s.Rank = record.RankPartlySame
	default:
		s.Rank = record.RankOpen
	}
	return s, judged
}

// conclude names the winner, and adds the doubts that belong beside every verdict.
func (j *Judge) conclude() {
	r := j.result
	if len(r.Arms) < 2 {
		return
	}
	judged := false
	for i := 2; i < len(r.Arms); i++ {
		s, any := j.rank(i, reference(j.run.Plan.Arms, i))
		r.Answer.Standings, judged = append(r.Answer.Standings, s), judged || any
	}
	j.pick()
	if !judged {
		r.Answer = record.Conclusion{Outcome: record.NoVerdict, Reason: refusalReason(r.Verdicts)}
	}
	r.Answer.Starving = j.starving()
	j.standingDoubts()
}

// pick applies the rule: a winner wins at least one primary metric and loses
// none, or keeps up where the other does not, starves nobody, and was asked for the
// same as the others.
func (j *Judge) pick() {
	r := j.result
	rank := map[record.Rank]int{}
	for _, s := range r.Answer.Standings {
		rank[s.Rank]++
		if (s.Rank == record.RankFaster || s.Rank == record.KeepsUp) && j.starved(s.Arm) == 0 {
			r.Answer.Faster = append(r.Answer.Faster, s.Arm)
		}
	}
	all, equal, worse := len(r.Answer.Standings), rank[record.RankSame], rank[record.RankSlower]+rank[record.FallsBehind]
	r.Winner, r.Answer.Outcome = "undecided", record.OpenOutcome
	switch {
	case len(r.LoadsDiffer) > 0:
		r.Answer.Outcome = record.OtherLoads
	case len(r.Answer.Faster) == 1:
		r.Winner, r.Answer.Outcome = r.Answer.Faster[0], record.OneWins
	case len(r.Answer.Faster) > 1:
		r.Answer.Outcome = record.SeveralWin
	case rank[record.RankTrade] > 0:
		r.Winner, r.Answer.Outcome = "trade", record.ATrade
	case all > 0 && worse == all && r.Arms[0].StarvedConnections == 0:
		r.Winner, r.Answer.Outcome = r.Arms[0].Name, record.OneWins
	case equal == all:
		r.Answer.Outcome = record.ATie
	case equal > 0 && equal+worse == all:
		r.Answer.Outcome = record.TieForBest
	}
}

// restsOn reports whether a fact, or one that it rests on, has the code.
func restsOn(f record.Fact, code record.Code) bool {
	return f.Code == code || slices.ContainsFunc(f.Because, func(of record.Fact) bool { return restsOn(of, code) })
}

func (j *Judge) starved(arm string) int { return j.arm(arm).StarvedConnections }

func refusalReason(vs []record.Verdict) record.Fact {
	for _, v := range vs {
		if !v.Reason.None() {
			return v.Reason
		}
	}
	return record.Fact{Code: record.NothingCompared}
}

// notComplete says what became of a run that is not.
func (j *Judge) notComplete() record.Fact {
	f := record.Fact{Code: record.RunNotComplete, Names: record.Names{"status": string(j.result.Status)}}
	if j.run.Failure != "" {
		f.Names["error"] = prose.FirstLine(j.run.Failure)
	}
	return f
}

func (j *Judge) standingDoubts() {
	r := j.result
	var first []record.Fact
	add := func(f record.Fact) { first = append(first, f) }
	if r.Status != record.Complete {
		f := j.notComplete()
		f.Values = record.Values{"valid": float64(r.Valid)}
		add(f)
	}
	if n := r.Ran - r.Valid; n > 0 {
		add(record.Fact{Code: record.BlocksLeftOut, Values: record.Values{"blocks": float64(n), "ran": float64(r.Ran)}, Names: record.Names{"rules": j.wrong()}})
	}
	for _, a := range r.Arms {
		if a.StarvedConnections > 0 {
			add(starved(a))
		}
		switch {
		case j.over[a.Name] && j.generatorBound[a.Name]:
			add(record.Fact{Code: record.GeneratorLimit, Arm: a.Name})
		case j.over[a.Name]:
			add(record.Fact{Code: record.Overloaded, Arm: a.Name})
		}
	}
	if j.oneCPU() {
		add(record.Fact{Code: record.OneCPU})
	}
	r.Doubts = append(append(first, j.run.Plan.Doubts...), r.Doubts...)
	if r.Env.Virtualised {
		j.doubt(record.Fact{Code: record.Virtualised})
	}
	j.doubt(record.Fact{Code: record.OneHost})
}

// wrong says what is wrong with the blocks that are left out.
func (j *Judge) wrong() string {
	broken := map[int]bool{}
	var rules []string
	for _, x := range j.result.Refused {
		broken[x.Block] = true
		if !slices.Contains(rules, x.Rule) {
			rules = append(rules, x.Rule)
		}
	}
	if j.result.Ran-j.result.Valid > len(broken) {
		rules = append(rules, "trials that are missing, failed or cannot be read")
	}
	return strings.Join(rules, ", ")
}

// oneCPU reports whether no arm had more than one CPU.
func (j *Judge) oneCPU() bool {
	return serverCPUs(j.result.Env) == 1 && !slices.ContainsFunc(j.result.Arms, func(a record.Arm) bool { return record.CountCPUs(a.CPUs, 1) > 1 })
}

func unionKeys[K comparable, V any](a, b map[K]V) iter.Seq[K] {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return maps.Keys(all)
}
