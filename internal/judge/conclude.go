package judge

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"schedlab/internal/prose"
	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// A standing is what a challenger's primary verdicts come to.
type standing struct {
	arm, base                  string
	faster, slower, same, open []record.Verdict
	// goodput is its verdict when the queue of one of the two grows without end, so
	// that there are no times, and it is FASTER or SLOWER; nil otherwise.
	goodput *record.Verdict
	silent  string // why nothing can be said of it, a clause; "" when something can
	// differs names the settings for which the two's times follow their loads; work
	// are the verdicts that stand then: what is done, and its cost.
	differs []string
	work    []record.Verdict
}

func (s standing) better() bool {
	return len(s.faster) > 0 && len(s.slower) == 0 || s.goodput != nil && decisionOf(*s.goodput) == stats.Faster
}
func (s standing) worse() bool {
	return len(s.slower) > 0 && len(s.faster) == 0 || s.goodput != nil && decisionOf(*s.goodput) == stats.Slower
}
func (s standing) trade() bool { return len(s.slower) > 0 && len(s.faster) > 0 }
func (s standing) equal() bool {
	return len(s.same) > 0 && len(s.faster)+len(s.slower)+len(s.open) == 0
}

// phrase says it in a clause.
func (s standing) phrase() string {
	switch {
	case len(s.differs) > 0:
		return fmt.Sprintf("%s against %s: %s, and response times follow the load (%s)", s.arm, s.base, said(s.work), strings.Join(s.differs, ", "))
	case s.silent != "":
		return s.silent
	case s.goodput != nil && s.better():
		return fmt.Sprintf("%s keeps up better than %s (goodput %s)", s.arm, s.base, stats.Change(s.goodput.Ratio))
	case s.goodput != nil:
		return fmt.Sprintf("%s does not keep up with %s (goodput %s)", s.arm, s.base, stats.Change(s.goodput.Ratio))
	case s.better():
		return fmt.Sprintf("%s is faster than %s (%s)", s.arm, s.base, changes(s.faster))
	case s.worse():
		return fmt.Sprintf("%s is slower than %s (%s)", s.arm, s.base, changes(s.slower))
	case s.trade():
		return fmt.Sprintf("%s trades with %s: better at %s, worse at %s", s.arm, s.base, changes(s.faster), changes(s.slower))
	case s.equal():
		return fmt.Sprintf("%s is the same as %s", s.arm, s.base)
	case len(s.same) > 0:
		return fmt.Sprintf("%s is the same as %s at %s, undecided otherwise", s.arm, s.base, metricNames(s.same))
	}
	return s.undecided()
}

// undecided says how far a standing with nothing decided has come: to what it leans.
func (s standing) undecided() string {
	leans := map[stats.Decision][]record.Verdict{}
	blocks, needed := 0, 0
	for _, v := range s.open {
		blocks = max(blocks, v.Blocks)
		if v.Lean != "" {
			to := stats.MetricOf(v.Metric).Decision(v.Lean)
			leans[to] = append(leans[to], v)
			needed = max(needed, v.Needed)
		}
	}
	leaning := ""
	for to, vs := range leans {
		leaning = fmt.Sprintf(" and leans %s (%s)", strings.ToLower(string(to)), changes(vs))
		if needed <= stats.Looks()[len(stats.Looks())-1] {
			leaning += fmt.Sprintf(": about %d blocks would decide", needed)
		}
	}
	if len(leans) > 1 {
		leaning = ""
	}
	return fmt.Sprintf("%s against %s is undecided after %s%s", s.arm, s.base, prose.Plural(blocks, "block"), leaning)
}

// said lists verdicts in a word each.
func said(vs []record.Verdict) string {
	parts := make([]string, len(vs))
	for i, v := range vs {
		parts[i] = fmt.Sprintf("%s %s", strings.ReplaceAll(v.Metric, "_", " "), v.Verdict)
		if v.Verdict != string(stats.Refused) {
			parts[i] += fmt.Sprintf(" (%+.1f %%)", 100*(v.Ratio-1))
		}
	}
	return strings.Join(parts, ", ")
}

func changes(vs []record.Verdict) string {
	parts := make([]string, len(vs))
	for i, v := range vs {
		parts[i] = v.Metric + " " + stats.Change(v.Ratio)
	}
	return strings.Join(parts, ", ")
}

func metricNames(vs []record.Verdict) string {
	parts := make([]string, len(vs))
	for i, v := range vs {
		parts[i] = v.Metric
	}
	return strings.Join(parts, ", ")
}

// conclude names the winner, says so in a sentence, and adds the doubts that
// belong beside every verdict.
func (j *Judge) conclude() {
	r := j.result
	if len(r.Arms) < 2 {
		return
	}
	base := r.Arms[0]
	var all []standing
	refused := true
	for i, a := range r.Arms[2:] {
		against := rival(j.run.Plan.Arms, i+2)
		s := standing{arm: a.Name, base: r.Arms[against].Name}
		s.differs = incomparable(j.run.Plan.Arms[i+2].Clients, j.run.Plan.Arms[against].Clients)
		for _, v := range r.Verdicts {
			if v.Arm != a.Name {
				continue
			}
			decision := decisionOf(v)
			if v.Metric == goodput && (j.over[a.Name] || j.over[s.base]) && (decision == stats.Faster || decision == stats.Slower) {
				s.goodput, refused = &v, false
			}
			if !v.Primary {
				s.work = append(s.work, v)
				refused = refused && (len(s.differs) == 0 || decision == stats.Refused)
				continue
			}
			switch decision {
			case stats.Faster:
				s.faster = append(s.faster, v)
			case stats.Slower:
				s.slower = append(s.slower, v)
			case stats.Same:
				s.same = append(s.same, v)
			default:
				s.open = append(s.open, v)
			}
			refused = refused && decision == stats.Refused
		}
		if len(s.differs) == 0 {
			s.silent = j.silence(s)
		}
		all = append(all, s)
	}
	r.Winner, r.Headline = j.pick(base, all)
	r.Headline += j.unequal()
	if refused {
		r.Headline = j.noVerdict()
	}
	j.standingDoubts()
}

// pick applies the rule: a winner wins at least one primary metric and loses
// none, or keeps up where the other does not, starves nobody, and was asked for the
// same as the others.
func (j *Judge) pick(base record.Arm, all []standing) (winner, headline string) {
	var better []string
	worse, equal, trades := 0, 0, 0
	phrases := make([]string, len(all))
	for i, s := range all {
		phrases[i] = s.phrase()
		if s.better() && j.starved(s.arm) == 0 {
			better = append(better, s.arm)
		}
		worse += stats.Count(s.worse())
		equal += stats.Count(s.equal())
		trades += stats.Count(s.trade())
	}
	detail := strings.Join(append(phrases, j.starving(all)...), "; ") + "."
	switch {
	case len(j.result.LoadsDiffer) > 0:
		return "undecided", "No one winner, for the arms' loads differ: " + detail
	case len(better) == 1:
		return better[0], better[0] + " wins: " + detail
	case len(better) > 1:
		return "undecided", fmt.Sprintf("%s each beat %s; compare them with one another: %s", strings.Join(better, " and "), base.Name, detail)
	case trades > 0:
		return "trade", "A trade: " + detail
	case len(all) > 0 && worse == len(all) && base.StarvedConnections == 0:
		return base.Name, base.Name + " wins: " + detail
	}
	if equal == len(all) {
		return "undecided", "A tie: " + detail
	}
	if equal > 0 && equal+worse == len(all) {
		return "undecided", "A tie for the best: " + detail
	}
	return "undecided", "No single winner: " + detail
}

// unequal is a sentence about arms that may run elsewhere than the others: a winner may
// owe it to that. "" when there is none.
func (j *Judge) unequal() string {
	var where []string
	for _, a := range j.result.Arms {
		if a.CPUs != "" && a.Role != record.Copy {
			where = append(where, fmt.Sprintf("%s may run on CPUs %s", a.Name, a.CPUs))
		}
	}
	if len(where) == 0 || j.result.Env.ServerCPUs == "" {
		return ""
	}
	return fmt.Sprintf(" Not on equal CPUs: %s; servers started here have %s.", strings.Join(where, ", "), j.result.Env.ServerCPUs)
}

func (j *Judge) starved(arm string) int {
	for _, a := range j.result.Arms {
		if a.Name == arm {
			return a.StarvedConnections
		}
	}
	return 0
}

func refusalReason(vs []record.Verdict) string {
	for _, v := range vs {
		if v.Reason != "" {
			return v.Reason
		}
	}
	return "nothing could be compared"
}

func because(failure string) string {
	if failure == "" {
		return ""
	}
	return ": " + prose.FirstLine(failure)
}

// stateOf says in a clause what became of a run that is not complete.
func stateOf(s record.Status) string {
	if s == record.Running {
		return "was cut off or still goes on"
	}
	return "is " + string(s)
}

func (j *Judge) standingDoubts() {
	r := j.result
	var first []record.Doubt
	add := func(arm, format string, args ...any) {
		first = append(first, record.Doubt{Arm: arm, Text: fmt.Sprintf(format, args...)})
	}
	if r.Status != record.Complete {
		add("", "the run %s and is judged by the %s that it has%s", stateOf(r.Status), prose.Plural(r.Valid, "block"), because(j.run.Failure))
	}
	if n := r.Ran - r.Valid; n > 0 {
		add("", "%s of %d left out, for all arms: %s", prose.Plural(n, "block"), r.Ran, j.wrong())
	}
	for _, a := range r.Arms {
		if a.StarvedConnections > 0 {
			add(a.Name, "it %s: its times are those of the others, and it cannot win", starvedText(a))
		}
		switch {
		case j.over[a.Name] && j.outrun[a.Name]:
			add(a.Name, "its backlog grows through the window while the load's own CPUs are full: that is the generator's, and says nothing of the server; lower --rate, or give the load more with --load-cpus")
		case j.over[a.Name]:
			add(a.Name, "overloaded: its backlog grows through the window, so only goodput is judged")
		}
	}
	if j.oneCPU() {
		add("", "the server had one CPU and so one P: accept, poller and handlers share a run queue; with more CPUs repeat on two or more")
	}
	r.Doubts = append(append(first, j.run.Plan.Doubts...), r.Doubts...)
	if r.Env.Virtualised {
		j.doubt("", "a virtual machine: neighbours and the hypervisor are in the noise")
	}
	j.doubt("", "one host, loopback, synthetic demand")
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
