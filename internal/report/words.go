package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"schedlab/internal/command"
	"schedlab/internal/doubt"
	"schedlab/internal/outcome"
	"schedlab/internal/prose"
	"schedlab/internal/record"
	"schedlab/internal/report/say"
	"schedlab/internal/stats"
)

// sentence describes one verdict in full: who against whom, the decision, the change with its interval, and
// the evidence for it. Ranks stay in capitals, as in package stats, so that a reader can
// search for them.
//
// This file puts verdicts, the state of a run, its loads and its machine in words.
func sentence(r *record.Result, v record.Verdict) string {
	m := v.Metric.Row()
	by := changed(r, v) + either(within(quotient(r, v), v.Low, v.High),
		when(v.Low > 0, " (95%s%% interval %s)", say.NBSP, between(v)), " (95"+say.NBSP+"% interval, which the quotient of the two figures lies outside)")
	switch {
	case v.Verdict.Rank.Differs():
		return fmt.Sprintf("%s is %s than %s %s: %s, %s in %s",
			v.Arm, v.Verdict, v.Baseline, m.In, by, lower(v.Verdict.Rank), agreeing(v, v.Verdict.Rank))
	case v.Verdict.Rank == stats.Same:
		within := when(m.Same > 0, ", within ±%g%s%%", math.Round(m.Same*1000)/10, say.NBSP)
		return fmt.Sprintf("%s is the SAME as %s %s: %s%s", v.Arm, v.Baseline, m.In, by, within)
	case v.Verdict.Outcome == outcome.Open:
		hint := hint(r, v)
		return fmt.Sprintf("%s against %s %s is open after %s: %s", v.Arm, v.Baseline, m.In, say.Plural(v.Blocks, "block"), by) +
			when(hint != "", ", %s", hint)
	}
	return fmt.Sprintf("%s against %s %s is refused: %s", v.Arm, v.Baseline, m.In, reason(v))
}

// agreeing tells how many blocks point the way of a rank: "9 of 10 blocks".
func agreeing(v record.Verdict, way stats.Rank) string {
	n := either(v.Metric.Row().Worse(way), v.Lost, v.Won)
	return fmt.Sprintf("%d of %s", n, say.Plural(v.Blocks, "block"))
}

// lower returns a rank in lower case, as a word of a sentence.
func lower(r stats.Rank) string { return strings.ToLower(string(r)) }

// hint tells which way an open verdict leans, in how many blocks, and what would decide it: "leans
// slower: 9 of 9 blocks, about 10 blocks would decide". It is "" if neither is known.
func hint(r *record.Result, v record.Verdict) string {
	return strings.Join(nonEmpty(when(v.Lean != "", "leans %s: %s", lower(v.Lean), agreeing(v, v.Lean)), remedy(r, v.Needed)), ", ")
}

// between formats the interval of a verdict's ratio as changes: "+5 % to +9 %". v must have an interval.
func between(v record.Verdict) string {
	return bound(v.Low, v.Verdict.Rank.Differs()) + " to " + bound(v.High, v.Verdict.Rank.Differs())
}

// mostBlocks is the largest number of blocks of a run: the last look at which verdicts are made.
var mostBlocks = slices.Max(stats.Looks())

// remedy returns what would decide a verdict that needs the given number of blocks: more blocks, or the flags
// for longer windows where a run cannot have enough blocks. It is "" for 0, an unknown number, and where others
// took much CPU time: these, and not the number of blocks, are the reason then.
func remedy(r *record.Result, needed int) string {
	const trial = .1 // seconds to start and end the server of a trial
	// The doubt about an ended budget has the plan's own estimate for the verdict with the same remedy that needs the most.
	ended := func(is func(doubt.Ended) bool) doubt.Ended {
		for _, d := range r.Doubts {
			if of, ended := doubt.BudgetEnded.In(d); ended && is(of) {
				return of
			}
		}
		return doubt.Ended{}
	}
	if busy, _ := doubt.Busy(r.Doubts); needed == 0 || !busy.None() {
		return ""
	}
	if needed <= mostBlocks {
		budget := time.Duration(0)
		if of := ended(func(e doubt.Ended) bool { return e.Room >= needed }); of.Room > of.Blocks { // of which this verdict needs a part
			more := (of.Needed - of.Budget) * float64(max(needed-of.Blocks, 0)) / float64(of.Room-of.Blocks)
			budget = record.Duration(math.Ceil(of.Budget + more))
		}
		return fmt.Sprintf("about %s would decide", say.Plural(needed, "block")) + when(budget > 0, " (--budget %v)", budget)
	}
	window := stats.Widened(r.Window, needed)
	if window == 0 {
		return "as noisy as here, no --window up to a minute would decide"
	}
	// Every arm has a trial in each block. A budget of our own is in whole minutes.
	budget := time.Duration(math.Ceil(float64(mostBlocks*len(r.Arms))*(r.Warmup+window+trial)/60)) * time.Minute
	if of := ended(func(e doubt.Ended) bool { return e.Window >= window }); of.Window > 0 { // the plan's, less what longer windows cost it
		budget = record.Duration(math.Ceil(of.Needed - float64(mostBlocks*len(r.Arms))*(of.Window-window)))
	}
	if budget > stats.LongestBudget {
		return fmt.Sprintf("as noisy as here, no --budget up to %.0fm would decide", stats.LongestBudget.Minutes())
	}
	return fmt.Sprintf("--window %v --budget %s should decide", record.Duration(window), strings.Replace(budget.String(), "m0s", "m", 1))
}

// reason returns the words for why a verdict was refused, also for a record that has none.
func reason(v record.Verdict) string { return cmp.Or(v.Reason.String(), "no reason recorded") }

// oneReason returns the reason for which all of vs were refused; "" if the reasons differ, a
// verdict was not refused, or vs is empty.
func oneReason(vs []record.Verdict) string {
	other := func(v record.Verdict) bool { return v.Verdict.Outcome != outcome.Refused || reason(v) != reason(vs[0]) }
	if len(vs) == 0 || slices.ContainsFunc(vs, other) {
		return ""
	}
	return reason(vs[0])
}

// sentences describes the verdicts on one arm, each in a sentence. If all are refused for the same reason, it
// says so once.
func sentences(r *record.Result, group []record.Verdict) []string {
	if why := oneReason(group); why != "" && len(group) > 1 {
		return []string{fmt.Sprintf("%s against %s is refused: %s", group[0].Arm, group[0].Baseline, why)}
	}
	return each(group, func(v record.Verdict) string { return sentence(r, v) })
}

// blocks tells how many blocks count, and how many ran but were left out: "9 blocks, 1 left out".
func blocks(r *record.Result) string {
	if r.Ran == 0 && r.Valid == 0 {
		return "no block"
	}
	out := r.Ran - r.Valid
	return say.Plural(r.Valid, "block") + ", " + either(out > 0, strconv.Itoa(out), "none") + " left out"
}

// caveat tells why the figures of a run without a verdict are no finding; "" if there is a
// verdict, or nothing was measured. It continues a sentence such as "These figures are".
func caveat(r *record.Result) string {
	switch {
	case r.Valid == 0 || len(r.Verdicts) == 0:
		return ""
	// The first look is the smallest number of blocks with which any verdict is made.
	case r.Valid < stats.Looks()[0]:
		return "of " + say.Plural(r.Valid, "block") + ", too few for a finding"
	case oneReason(r.Verdicts) != "":
		return "of a run without a verdict: no finding"
	}
	return ""
}

func (p comparisonPage) measured() (plan, had string) {
	if out := p.Ran - p.Valid; out > 0 {
		return "the plan", fmt.Sprintf("%s measured; %d left out of the verdicts, because of %s", say.Plural(p.Ran, "block"), out, strings.Join(p.LeftOutFor(), ", "))
	}
	return "the plan", blocks(p.Result)
}

func (p comparisonPage) inBlocks() bool { return true }

// state tells how much of its plan the run or the search for capacity completed, after a word in
// capitals; "" when it completed all.
func state(r *record.Result) string {
	plan, had := pageOf(r).measured()
	text, known := map[record.Status]string{
		record.Complete: "", record.Interrupted: "INTERRUPTED: " + had,
		record.Running: "INCOMPLETE: the run was cut off or still goes on, " + had,
		record.Partial: "PARTIAL: " + plan + " could not be done in full, " + had,
	}[r.Status]
	return either(known, text, fmt.Sprintf("STATUS %q: unknown to this version, %s", string(r.Status), had))
}

// offered describes the load on every arm, the blocks, the windows and the seed, in one line.
func offered(r *record.Result) string {
	load := loadOnEach(r) + when(r.Asked != "", " (%s)", r.Asked)
	return strings.Join([]string{load, blocks(r), say.Seconds(r.Window) + " windows", fmt.Sprintf("seed %d", r.Seed)}, ", ")
}

// loadOnEach describes the load on every arm: the rate, or the clients where there is no one rate, as in
// closed loops. It compares the rate with the slowest arm's closed-loop throughput (X_max), which is about
// the rate that would overload it; "or less" means that the probe of that arm was disturbed.
func loadOnEach(r *record.Result) string {
	loads := loads(r.Arms)
	switch {
	case len(loads) > 1 || r.Rate == 0 && len(loads) == 1:
		return strings.Join(loads, "; ")
	case r.Rate == 0:
		return "no rate chosen yet"
	}
	text := strings.TrimSuffix(say.Rate(r.Rate), "/s") + say.NBSP + "requests/s to each arm"
	probed := only(r.Arms, func(a record.Arm) bool { return a.XMax != nil })
	if len(probed) == 0 {
		return text
	}
	slowest := slices.MinFunc(probed, func(a, b record.Arm) int { return cmp.Compare(highest(r, a), highest(r, b)) })
	disturbed := slices.ContainsFunc(r.Doubts, func(d record.Fact) bool { return doubt.DisturbedProbe.Is(d) && d.Arm == slowest.Name })
	return fmt.Sprintf("%s (about %s%s of the slowest arm's highest rate%s)", text, say.Percent("%.0f", r.Rate/highest(r, slowest)),
		when(disturbed, " or less"), when(r.Sendable > 0, ", what the load's CPUs can send"))
}

// highest returns the highest rate of an arm that was probed: what it did in a closed loop and, where each request holds one of
// its workers for a known time, at most what Little's law allows them. A short probe may end with one turn of the workers more
// than its time holds.
func highest(r *record.Result, a record.Arm) float64 {
	x := *a.XMax
	if workers := workersOf(a); workers > 0 && a.Busy > 0 {
		x = min(x, r.Rate*float64(workers)/a.Busy)
	}
	return x
}

// workersOf returns how many workers an arm's command gives it; 0 if it does not say.
func workersOf(a record.Arm) int {
	words, err := command.Split(a.Command)
	i := slices.Index(words, "--workers")
	if a.Mode == "" || err != nil || i < 0 || i+1 >= len(words) {
		return 0
	}
	n, _ := strconv.Atoi(words[i+1])
	return n
}

// loads describes the loads of the arms, each different load once, in the order of the arms. An
// old record without loads gives nil.
func loads(arms []record.Arm) []string {
	return unique(nonEmpty(each(arms, func(a record.Arm) string { return when(a.Clients.Loop != "", "%s", Load(a.Clients)) })...))
}

// conditions describes the confidence of all intervals together; "" without verdicts.
func conditions(r *record.Result) string {
	primary := len(only(r.Verdicts, func(v record.Verdict) bool { return v.Primary }))
	if primary == 0 || oneReason(r.Verdicts) != "" {
		return ""
	}
	// The others have the same width, but are not counted in the correction.
	rest := only(r.Verdicts, func(v record.Verdict) bool { return !v.Primary })
	return fmt.Sprintf("%s of times, 95%s%% together", say.Plural(primary, "comparison"), say.NBSP) +
		when(rest != nil, "; %d others, %s each", len(rest), say.Percent("%.1f", 1-stats.Alpha/float64(primary)))
}

// allGood reports whether every request was sent and got a good reply in time, no arm is
// overloaded, and no arm has surely less goodput than the arm it is compared with.
func allGood(r *record.Result) bool {
	failed := func(a record.Arm) bool {
		return a.Errors > 0 || a.StarvedConnections > 0 || a.Generator != nil && a.Generator.Missing > 0
	}
	behind := func(d record.Fact) bool {
		return doubt.AnsweredNone.Is(d) || doubt.Redirects.Is(d) || d.Code == doubt.Overloaded.Code || d.Code == doubt.GeneratorLimit.Code
	}
	less := func(v record.Verdict) bool { return v.Metric == stats.Goodput && v.Worse() }
	return r.Valid > 0 && !slices.ContainsFunc(r.Arms, failed) && !slices.ContainsFunc(r.Doubts, behind) &&
		!slices.ContainsFunc(r.Verdicts, less)
}

// complaints lists the failures of requests, per arm, or one reassuring line if there were none, and then the overflows of
// accept queues.
func complaints(r *record.Result) []string {
	lines := append(silent(r), failings(r.Arms)...)
	requests := total(r.Arms, func(a record.Arm) int { return a.Requests })
	lines = append(lines, nonEmpty(when(requests > 0 && allGood(r), "every one of %s got a good reply", say.Plural(requests, "request")))...)
	return append(lines, overflowed(r.Arms)...)
}

// silent lists the doubts about arms that gave no good reply in the window of a block, or that only sent their
// clients elsewhere.
func silent(r *record.Result) []string {
	return each(only(r.Doubts, func(d record.Fact) bool { return doubt.AnsweredNone.Is(d) || doubt.Redirects.Is(d) }), Doubt)
}

// overflowed lists the arms in whose windows an accept queue of the network namespace was full. The kernel counts attempts, and
// not connections: a client that waits repeats its SYN about once a second. So this is no failing of the arm.
func overflowed(arms []record.Arm) []string {
	some := only(arms, func(a record.Arm) bool { return *cmp.Or(a.Overflows, new(float64)) > 0 })
	return each(some, func(a record.Arm) string {
		return fmt.Sprintf("%s: in its windows the kernel counted %s to connect (repeats included) that found an accept queue full (ListenOverflows of the network namespace)",
			a.Name, say.Plural(int(*a.Overflows), "attempt"))
	})
}

// failings lists the arms that failed requests or starved connections, a line for each failing. How requests failed is told with the most frequent end first.
func failings(arms []record.Arm) (lines []string) {
	for _, a := range arms {
		counts := say.Endings(a.Failures)
		blocks := len(a.Blocks[stats.Goodput])
		// in names the blocks in which something was, after lead, if these are not all.
		in := func(lead string, some int) string {
			return when(some > 0 && some < blocks, "%s in %d of %s", lead, some, say.Plural(blocks, "block"))
		}
		lines = append(lines, nonEmpty(
			when(a.Errors > 0, "%s: %s of %s without a good reply%s", a.Name, say.Plural(a.Errors, "request"), say.Count(a.Requests), in(", all", a.ErrorBlocks))+
				when(a.Errors > 0 && counts != "", " (%s)", counts),
			when(a.Starves() && !unanswered(a), "%s STARVED %s%s that waited for an answer in vain; its figures leave them out and flatter it (Jain's index %s)",
				a.Name, say.Plural(a.StarvedConnections, "connection"), in("", a.StarvedBlocks), say.OrNone(a.Jain, say.Jain)),
			when(a.StarvedConnections > 0 && !a.Starves(), "%s: %s got no answer%s, too few blocks to call it starving",
				a.Name, say.Plural(a.StarvedConnections, "connection"), in("", a.StarvedBlocks)),
		)...)
	}
	return lines
}

// byArm groups verdicts by arm, in order of first appearance.
func byArm(verdicts []record.Verdict) [][]record.Verdict {
	return grouped(verdicts, func(v record.Verdict) string { return v.Arm })
}

// grouped groups values by key, in order of first appearance. Values of one key need not follow each other.
func grouped[T any, K comparable](all []T, key func(T) K) (groups [][]T) {
	for _, x := range all {
		i := slices.IndexFunc(groups, func(g []T) bool { return key(g[0]) == key(x) })
		if i < 0 {
			groups = append(groups, nil)
			i = len(groups) - 1
		}
		groups[i] = append(groups[i], x)
	}
	return groups
}

// machine describes the CPUs, the machine and the Go version that servers and load had, in one
// line. A result holds for the machine that it was measured on.
func machine(e record.Env, arms []record.Arm) string {
	if e.CPUs == 0 {
		return "the machine was not recorded"
	}
	if e.Cluster != nil {
		return strings.Join(nonEmpty(inPods(e.Cluster), e.Go), "; ")
	}
	load := side(e.LoadCPUs, e.CPUs, e.LoadProcs)
	return strings.Join(nonEmpty("server "+servers(e, arms), "load "+load, e.CPU, when(e.Virtualised, "virtual machine"), e.Go), "; ")
}

// inPods tells where servers and load of a run on a cluster were.
func inPods(c *record.Cluster) string {
	on := func(nodes []string) string {
		if len(nodes) > 3 {
			return " on " + say.Plural(len(nodes), "node")
		}
		return when(len(nodes) > 0, " on %s", strings.Join(nodes, ", "))
	}
	return fmt.Sprintf("each server in a Pod with %s%s, load from %s%s", say.Plural(c.ServerCPUs, "CPU"), on(c.ServerNodes), say.Plural(c.Shards, "Pod"), on(c.LoadNodes))
}

// side describes the CPUs and the GOMAXPROCS of one side, servers or load. list is a set of CPUs such as
// "0-3"; a list that is none means that the side is not pinned and may use all cpus CPUs.
func side(list string, cpus, procs int) string {
	where, count := "not pinned", cpus
	if pinned, err := record.ParseCPUs(list); err == nil {
		where, count = "on CPU"+say.NBSP+list, len(pinned)
	}
	return fmt.Sprintf("%s (%s, GOMAXPROCS%s%d)", where, say.Plural(count, "CPU"), say.NBSP, procs)
}

// servers describes where the arms' servers ran, with the arms' names where they differ, since arms on other
// CPUs do not compare equally. A server may run elsewhere than planned because it ran before schedlab did, or
// because its command pins it.
func servers(e record.Env, arms []record.Arm) string {
	where := func(a record.Arm) string {
		switch {
		case a.CPUs != "":
			return "CPU" + say.NBSP + a.CPUs + either(a.Attached, ", not pinned", " by its own choice")
		case a.Attached:
			return "ran already, not pinned"
		}
		return side(e.ServerCPUs, e.CPUs, cmp.Or(a.Procs, e.ServerProcs))
	}
	groups := grouped(choices(arms), where)
	if len(groups) == 0 {
		return where(record.Arm{})
	}
	return strings.Join(each(groups, func(of []record.Arm) string {
		return when(len(groups) > 1, "%s: ", listed(of, name)) + where(of[0])
	}), "; ")
}

// Load describes a load in a few words, for the plan and the reports: the kind of loop, and then each setting
// that is not the usual one. A closed loop sends when it is answered; an open loop keeps to arrivals.
func Load(c record.Clients) string {
	if c.Closed() {
		return strings.Join(nonEmpty(
			"closed loop of "+prose.Plural(c.Connections, "client"),
			when(c.Rate > 0, "paced at %.0f/s together", c.Rate),
			when(c.Think > 0, "that think %v", record.Duration(c.Think)),
			when(c.Session > 0, "sessions of %d", c.Session),
			when(c.Pipeline > 1, "%d requests under way each", c.Pipeline),
			when(c.Ramp > 0, "started over %v", record.Duration(c.Ramp)),
			when(!c.KeepAlive, "a connection for each request"),
		), ", ")
	}
	return "open loop, " + c.Arrivals + when(c.Rate > 0, " at %.0f/s", c.Rate) +
		either(c.KeepAlive, " over "+prose.Plural(c.Connections, "connection"), ", a connection for each request") +
		when(c.Idle > 0, ", %d idle ones beside them", c.Idle) +
		when(c.Engine != "", ", sent by the engine %s", c.Engine)
}

// busy tells how many of an arm's workers are busy on average, or how many it would need, by Little's law; "" if the law does
// not apply.
func busy(a record.Arm, workers string) string {
	has, err := strconv.Atoi(workers)
	switch {
	case a.Busy <= 0 || err != nil:
		return ""
	case a.Busy > float64(has):
		return fmt.Sprintf(" (%.0f needed)", math.Floor(a.Busy)+1)
	}
	return fmt.Sprintf(" (%.0f busy on average)", a.Busy)
}

// sizes tells what the arms' names leave out: the mode behind another name, and how many workers,
// listeners or processes an arm has: "mine is pool-request with 4 workers". "" if the names say it
// all, or if the line would name too many arms to be read.
func sizes(arms []record.Arm) string {
	const most = 3
	// The flags of `schedlab serve` that bound how much a server does at a time.
	flags := []struct{ name, one, many string }{
		{"workers", "worker", "workers"}, {"listeners", "listener", "listeners"}, {"processes", "process", "processes"},
		{"threads", "thread", "threads"}, {"kv-locks", "lock", "locks"},
	}
	var all []string
	for _, a := range choices(arms) {
		// The sizes are only in the command. A command of another program, without a mode, has
		// flags of its own.
		words, err := command.Split(a.Command)
		if a.Mode == "" || err != nil {
			continue
		}
		var has []string
		for _, s := range flags {
			i := slices.Index(words, "--"+s.name)
			if i >= 0 && i+1 < len(words) && !strings.Contains(a.Name, s.name+"=") {
				has = append(has, words[i+1]+say.NBSP+either(words[i+1] == "1", s.one, s.many)+when(s.name == "workers", "%s", busy(a, words[i+1])))
			}
		}
		// The name of an arm begins with its mode unless the user chose another name.
		first, _, _ := strings.Cut(a.Name, ",")
		limits := strings.Join(has, " and ")
		switch {
		case first != a.Mode:
			all = append(all, a.Name+" is "+a.Mode+when(limits != "", " with %s", limits))
		case limits != "":
			all = append(all, a.Name+" has "+limits)
		}
	}
	return either(len(all) <= most, strings.Join(all, "; "), "")
}
