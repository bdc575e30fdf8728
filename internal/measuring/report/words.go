package report

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"schedlab/internal/measuring/report/say"
	"schedlab/internal/shared/cpuset"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/prose"
	"schedlab/internal/shared/queueing"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// sentence describes one verdict in full: the two arms, the decision, the change with its interval, and the evidence. Ranks stay
// in capitals, as in package stats, so that a reader can search for them.
//
// This file puts verdicts, the state of a run, its loads and its machine in words.
func sentence(r *record.Comparison, v record.Verdict) string {
	m, rank, change := v.Metric.Row(), v.Verdict.Rank, changeBetween(r, v)
	switch {
	case differs(v):
		return fmt.Sprintf("%s is %s than %s %s: %s, %s in %s", v.Arm, rank, v.Baseline, m.In, change, lower(rank), agreeing(v, rank))
	case rank == stats.Same:
		text := fmt.Sprintf("%s is the SAME as %s %s: %s", v.Arm, v.Baseline, m.In, change)
		if m.Same > 0 {
			text += fmt.Sprintf(", within ±%g%s%%", math.Round(m.Same*1000)/10, say.NBSP)
		}
		return text
	case v.Verdict.Outcome == outcome.Open:
		text := fmt.Sprintf("%s against %s %s is open after %s: %s", v.Arm, v.Baseline, m.In, say.Plural(v.Blocks, "block"), change)
		if hint := hint(r, v); hint != "" {
			text += ", " + hint
		}
		return text
	}
	return fmt.Sprintf("%s against %s %s is refused: %s", v.Arm, v.Baseline, m.In, reason(v))
}

// changeBetween returns the change of a verdict and its interval, in one clause.
func changeBetween(r *record.Comparison, v record.Verdict) string {
	text := changed(r, v)
	switch {
	case !within(quotient(r, v), v.Low, v.High):
		return text + " (95" + say.NBSP + "% interval, which the quotient of the two figures lies outside)"
	case v.Low > 0:
		return text + " (95" + say.NBSP + "% interval " + between(v) + ")"
	}
	return text
}

// agreeing tells how many blocks point the way of a rank: "9 of 10 blocks".
func agreeing(v record.Verdict, way stats.Rank) string {
	n := v.Won
	if v.Metric.Row().Worse(way) {
		n = v.Lost
	}
	return fmt.Sprintf("%d of %s", n, say.Plural(v.Blocks, "block"))
}

// lower returns a rank in lower case, as a word of a sentence.
func lower(r stats.Rank) string { return strings.ToLower(string(r)) }

// hint tells which way an open verdict leans, in how many blocks, and what would decide it: "leans
// slower: 9 of 9 blocks, about 10 blocks would decide". It is "" if neither is known.
func hint(r *record.Comparison, v record.Verdict) string {
	needs := remedy(r, v.Needed)
	if v.Lean == "" {
		return needs
	}
	leans := fmt.Sprintf("leans %s: %s", lower(v.Lean), agreeing(v, v.Lean))
	if needs == "" {
		return leans
	}
	return leans + ", " + needs
}

// between formats the interval of a verdict's ratio as changes: "+5 % to +9 %". v must have an interval.
func between(v record.Verdict) string {
	return bound(v.Low, v.Verdict.Rank.Differs()) + " to " + bound(v.High, v.Verdict.Rank.Differs())
}

// mostBlocks is the largest number of blocks of a run: the last look at which verdicts are made.
var mostBlocks = slices.Max(stats.Looks())

// remedy returns what would decide a verdict that needs the given number of blocks: more blocks, or longer windows
// if no run can have enough blocks. It is "" for 0, which means that the number is not known. It is "" also if other
// programs took much CPU time: then they, and not the number of blocks, are the reason. The flags are in it, unless the report
// has them in the command to run next.
func remedy(r *record.Comparison, needed int) string {
	text, flags := needs(r, needed)
	switch {
	case len(flags) == 0:
		return text
	case r.Command == "" && text == longerWindows:
		return fmt.Sprintf("--%s should decide", strings.Join(flags, " --"))
	case r.Command == "":
		return fmt.Sprintf("%s (--%s)", text, flags[0])
	case text == longerWindows:
		return text + " would decide"
	}
	return text
}

// longerWindows is the remedy where no run can have enough blocks.
const longerWindows = "longer windows"

// needs returns the remedy, and the flags that it takes, such as "budget 2m".
func needs(r *record.Comparison, needed int) (text string, flags []string) {
	const trial = .1 // seconds to start and end the server of a trial
	// ended returns the plan's own estimate, from its doubt about an ended budget, if it is about the same remedy.
	ended := func(is func(doubt.Ended) bool) doubt.Ended {
		for _, d := range r.Doubts {
			if of, ended := fact.In(doubt.BudgetEnded, d); ended && is(of) {
				return of
			}
		}
		return doubt.Ended{}
	}
	if busy, _ := doubt.Busy(r.Doubts); needed == 0 || !busy.None() {
		return "", nil
	}
	if needed <= mostBlocks {
		text = fmt.Sprintf("about %s would decide", say.Plural(needed, "block"))
		if ended(func(e doubt.Ended) bool { return e.Moot }).Moot {
			text += ", but the answer does not depend on it"
		}
		if of := ended(func(e doubt.Ended) bool { return e.Room >= needed }); of.Room > of.Blocks { // this verdict needs a part of that budget
			more := (of.Needed - of.Budget) * float64(max(needed-of.Blocks, 0)) / float64(of.Room-of.Blocks)
			if budget := record.Duration(math.Ceil(of.Budget + more)); budget > 0 {
				flags = []string{"budget " + typed(budget.Seconds())}
			}
		}
		return text, flags
	}
	window := stats.Widened(r.Window.Seconds(), needed)
	if window == 0 {
		return "as noisy as here, no --window up to a minute would decide", nil
	}
	// Every arm has a trial in each block. A budget of our own is in whole minutes.
	budget := time.Duration(math.Ceil(float64(mostBlocks*len(r.Arms))*(r.Warmup.Seconds()+window+trial)/60)) * time.Minute
	if of := ended(func(e doubt.Ended) bool { return e.Window >= window }); of.Window > 0 { // the plan may have reckoned with longer windows
		budget = record.Duration(math.Ceil(of.Needed - float64(mostBlocks*len(r.Arms))*(of.Window-window)))
	}
	if budget > stats.LongestBudget {
		return fmt.Sprintf("as noisy as here, no --budget up to %.0fm would decide", stats.LongestBudget.Minutes()), nil
	}
	return longerWindows, []string{"window " + typed(window), "budget " + typed(budget.Seconds())}
}

// reason returns the words for why a verdict was refused, also for a record that has none.
func reason(v record.Verdict) string { return cmp.Or(v.Reason.String(), "no reason recorded") }

// oneReason returns the reason for which all of vs were refused; "" if the reasons differ, a
// verdict was not refused, or vs is empty.
func oneReason(vs []record.Verdict) string {
	other := func(v record.Verdict) bool {
		return v.Verdict.Outcome != outcome.Refused || !v.Reason.Alike(vs[0].Reason)
	}
	if len(vs) == 0 || slices.ContainsFunc(vs, other) {
		return ""
	}
	return reason(vs[0])
}

// sentences describes the verdicts on one arm, each in a sentence. It gives a reason for which several are refused
// once.
func sentences(r *record.Comparison, group []record.Verdict) (lines []string) {
	if why := oneReason(group); why != "" && len(group) > 1 {
		return []string{fmt.Sprintf("%s against %s is refused: %s", group[0].Arm, group[0].Baseline, why)}
	}
	for _, same := range alike(group, refusedAlike) {
		if len(same) > 1 {
			lines = append(lines, fmt.Sprintf("%s against %s is refused at %s: %s", same[0].Arm, same[0].Baseline, labels(same), reason(same[0])))
			continue
		}
		lines = append(lines, sentence(r, same[0]))
	}
	return lines
}

// refusedAlike reports whether two verdicts were refused for the same reason.
func refusedAlike(a, b record.Verdict) bool {
	refused := stats.Decision{Outcome: outcome.Refused}
	return a.Verdict == refused && b.Verdict == refused && a.Arm == b.Arm && a.Baseline == b.Baseline && a.Reason.Alike(b.Reason)
}

// blocks tells how many blocks count, and how many ran but were left out: "9 blocks, 1 left out".
func blocks(r *record.Comparison) string {
	if r.Ran == 0 && r.Valid == 0 {
		return "no block"
	}
	out := "none"
	if r.Ran > r.Valid {
		out = strconv.Itoa(r.Ran - r.Valid)
	}
	text := say.Plural(r.Valid, "block") + ", " + out + " left out"
	if b := r.Before; b != nil {
		text += fmt.Sprintf(" (before them %s with windows of %s, which do not count)", say.Plural(b.Blocks, "block"), say.Seconds(b.Window.Seconds()))
	}
	return text
}

// caveat tells why the figures of a run without a verdict are no finding; "" if there is a
// verdict, or nothing was measured. It continues a sentence such as "These figures are".
func caveat(r *record.Comparison) string {
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

func (p comparisonPage) Measured() (plan, had string) {
	if out := p.Ran - p.Valid; out > 0 {
		return "the plan", fmt.Sprintf("%s measured; %d left out of the verdicts, because of %s", say.Plural(p.Ran, "block"), out, strings.Join(p.LeftOutFor(), ", "))
	}
	return "the plan", blocks(p.Comparison)
}

// state tells how much of its plan the run completed, after a word in
// capitals; "" when it completed all.
func state(r record.Result) string {
	plan, had := pageOf(r).Measured()
	status := r.Head().Status
	switch status {
	case record.Complete:
		return ""
	case record.Interrupted:
		return "INTERRUPTED: " + had
	case record.Running:
		return "INCOMPLETE: the run was cut off or still goes on, " + had
	case record.Partial:
		return "PARTIAL: " + plan + " could not be done in full, " + had
	}
	return fmt.Sprintf("STATUS %q: unknown to this version, %s", string(status), had)
}

// offered describes the load on every arm, the blocks, the windows and the seed, in one line.
func offered(r *record.Comparison) string {
	load := loadOnEach(r)
	if r.Asked != "" {
		load += ", " + asked(r.Asked)
	}
	return strings.Join([]string{load, blocks(r), say.Seconds(r.Window.Seconds()) + " windows", fmt.Sprintf("seed %d", r.Seed)}, ", ")
}

// typedTime is a time as a scenario has it, such as 20us, alone, in parentheses or after a factor.
var typedTime = regexp.MustCompile(`([ (*])(\d+(?:\.\d+)?)(ns|us|µs|ms|s)\b`)

// asked returns what a request does, with times as all other figures have them: 20 µs for 20us. A path, or the name of a file, stays
// as it was typed.
func asked(text string) string {
	if strings.Contains(text, "/") {
		return text
	}
	return strings.ReplaceAll(typedTime.ReplaceAllString(text, "$1$2"+say.NBSP+"$3"), say.NBSP+"us", say.NBSP+"µs")
}

// loadOnEach describes the load on every arm: the rate, or the clients where there is no one rate, as in
// closed loops. It compares the rate with the slowest arm's closed-loop throughput (X_max), which is about
// the rate that would overload it; "or less" means that the probe of that arm was disturbed.
func loadOnEach(r *record.Comparison) string {
	loads := loads(r.Contestants())
	switch {
	case len(loads) > 1 || r.Rate == 0 && len(loads) == 1:
		return strings.Join(loads, "; ")
	case r.Rate == 0:
		return "no rate chosen yet"
	}
	each, slowestOf := "arm", "the slowest arm's"
	if len(r.Gate) > 0 {
		each, slowestOf = "build", "the slower build's"
	}
	text := strings.TrimSuffix(say.Rate(r.Rate), "/s") + say.NBSP + "requests/s to each " + each
	probed := slices.DeleteFunc(slices.Clone(r.Arms), func(a record.Arm) bool { return a.XMax == nil })
	if len(probed) == 0 {
		return text
	}
	slowest := slices.MinFunc(probed, func(a, b record.Arm) int { return cmp.Compare(highest(r, a), highest(r, b)) })
	text += " (about " + say.Percent("%.0f", r.Rate/highest(r, slowest))
	if slices.ContainsFunc(r.Doubts, func(d fact.Fact) bool { return doubt.DisturbedProbe.Code.Is(d) && d.Arm == slowest.Name }) {
		text += " or less"
	}
	text += " of " + slowestOf + " highest rate"
	if r.Sendable > 0 {
		text += ", what the load's CPUs can send"
	}
	return text + ")"
}

// highest returns the highest rate that a probed arm can serve: its throughput in a closed loop. If each request holds a worker
// for a known time, the rate is limited to what Little's law allows the workers: a short probe may count one turn of the
// workers too many.
func highest(r *record.Comparison, a record.Arm) float64 {
	x := *a.XMax
	workers, _ := strconv.Atoi(flagIn(a.Words(), "workers")) // 0 if the arm's command does not say
	if workers > 0 && a.Busy > 0 {
		x = min(x, r.Rate*float64(workers)/a.Busy)
	}
	return x
}

// flagIn returns the value that a command gives to a flag; "" for none.
func flagIn(words []string, name string) string {
	if i := slices.Index(words, "--"+name); i >= 0 && i+1 < len(words) {
		return words[i+1]
	}
	return ""
}

// loads describes the loads of the arms, each different load once, in the order of the arms. An
// old record without loads gives nil.
func loads(arms []record.Contestant) (all []string) {
	for _, a := range arms {
		if a.Clients.Loop == "" {
			continue
		}
		if load := Load(a.Clients); !slices.Contains(all, load) {
			all = append(all, load)
		}
	}
	return all
}

// conditions describes the confidence of all intervals together; "" without verdicts.
func conditions(r *record.Comparison) string {
	primary := 0
	of := "times"
	impatient := len(r.Arms) > 0 && r.Arms[0].Clients.Impatient()
	if impatient {
		of += " and goodput"
	}
	for _, v := range r.Verdicts {
		if v.Primary || impatient && v.Metric == stats.Goodput {
			primary++
		}
	}
	if primary == 0 || oneReason(r.Verdicts) != "" {
		return ""
	}
	text := fmt.Sprintf("%s of %s, 95%s%% together", say.Plural(primary, "comparison"), of, say.NBSP)
	// The others have the same width, but are not counted in the correction.
	if others := len(r.Verdicts) - primary; others > 0 {
		text += fmt.Sprintf("; %d others, %s each", others, say.Percent("%.1f", 1-stats.Alpha/float64(primary)))
	}
	return text
}

// allGood reports whether every request was sent and got a good reply in time, no arm is
// overloaded, and no arm has surely less goodput than the arm it is compared with.
func allGood(r *record.Comparison) bool {
	failed := func(a record.Arm) bool {
		return a.Errors > 0 || a.StarvedConnections > 0 || a.Generator != nil && a.Generator.Missing > 0
	}
	behind := func(d fact.Fact) bool {
		return doubt.AnsweredNone.Code.Is(d) || doubt.Redirects.Code.Is(d) || d.Code == doubt.Overloaded.Code || d.Code == doubt.GeneratorLimit.Code
	}
	less := func(v record.Verdict) bool { return v.Metric == stats.Goodput && v.Worse() }
	return r.Valid > 0 && !slices.ContainsFunc(r.Arms, failed) && !slices.ContainsFunc(r.Doubts, behind) &&
		!slices.ContainsFunc(r.Verdicts, less)
}

// complaints lists the failures of requests, per arm, or one reassuring line if there were none, and then the overflows of
// accept queues.
func complaints(r *record.Comparison) []string {
	lines := append(silent(r), failings(r.Arms)...)
	requests := 0
	for _, a := range r.Arms {
		requests += a.Requests
	}
	if requests > 0 && allGood(r) {
		lines = append(lines, "every one of "+say.Plural(requests, "request")+" got a good reply")
	}
	return append(lines, overflowed(r.Arms)...)
}

// silent lists the doubts about arms that gave no good reply in the window of a block, or that only sent their
// clients elsewhere.
func silent(r *record.Comparison) (lines []string) {
	for _, d := range r.Doubts {
		if doubt.AnsweredNone.Code.Is(d) || doubt.Redirects.Code.Is(d) {
			lines = append(lines, Doubt(d))
		}
	}
	return lines
}

// overflowed lists the arms with windows in which an accept queue of the network namespace was full. The kernel counts attempts to
// connect, and a waiting client repeats its SYN about once a second. So an overflow does not mean that a request failed.
func overflowed(arms []record.Arm) (lines []string) {
	for _, a := range arms {
		if a.Overflows != nil && *a.Overflows > 0 {
			lines = append(lines, fmt.Sprintf("%s: in its windows the kernel counted %s to connect (repeats included) that found an accept queue full (ListenOverflows of the network namespace)",
				a.Name, say.Plural(int(*a.Overflows), "attempt")))
		}
	}
	return lines
}

// failings lists the arms that failed requests or starved connections, a line for each failing.
func failings(arms []record.Arm) (lines []string) {
	for _, a := range arms {
		if a.Errors > 0 {
			lines = append(lines, failed(a))
		}
		switch {
		case a.StarvedConnections == 0 || a.Starves() && unanswered(a):
		case a.Starves():
			lines = append(lines, fmt.Sprintf("%s STARVED %s%s that waited for an answer in vain; its figures leave them out and flatter it (Jain's index %s)",
				a.Name, say.Plural(a.StarvedConnections, "connection"), inBlocks(a, a.StarvedBlocks), say.OrNone(a.Jain, say.Jain)))
		default:
			lines = append(lines, fmt.Sprintf("%s: %s got no answer%s, too few blocks to call it starving",
				a.Name, say.Plural(a.StarvedConnections, "connection"), inBlocks(a, a.StarvedBlocks)))
		}
	}
	return lines
}

// failed tells how many requests of an arm failed, and how, with the most frequent end first.
func failed(a record.Arm) string {
	text := fmt.Sprintf("%s: %s of %s without a good reply", a.Name, say.Plural(a.Errors, "request"), say.Count(a.Requests))
	if in := inBlocks(a, a.ErrorBlocks); in != "" {
		text += ", all" + in
	}
	if ends := say.Endings(a.Failures); ends != "" {
		text += " (" + ends + ")"
	}
	return text
}

// inBlocks tells in how many of an arm's blocks something was: " in 2 of 9 blocks". It is "" for all of them, and for 0.
func inBlocks(a record.Arm, some int) string {
	blocks := len(a.Blocks[stats.Goodput])
	if some <= 0 || some >= blocks {
		return ""
	}
	return fmt.Sprintf(" in %d of %s", some, say.Plural(blocks, "block"))
}

// byArm groups verdicts by arm, in order of first appearance.
func byArm(verdicts []record.Verdict) [][]record.Verdict {
	return grouped(verdicts, func(v record.Verdict) string { return v.Arm })
}

// grouped groups values by key, in order of first appearance. Values of one key need not follow each other.
func grouped[T any, K comparable](all []T, key func(T) K) (groups [][]T) {
	return alike(all, func(a, b T) bool { return key(a) == key(b) })
}

// alike groups values that are the same in some way, in order of first appearance.
func alike[T any](all []T, same func(a, b T) bool) (groups [][]T) {
	for _, x := range all {
		i := slices.IndexFunc(groups, func(g []T) bool { return same(g[0], x) })
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
func machine(r record.Result) string {
	e := r.Head().Env
	if e.CPUs == 0 {
		return "the machine was not recorded"
	}
	var parts []string
	if e.Site != nil {
		parts = []string{elsewhere(e.Site)}
	} else {
		parts = []string{"server " + servers(e, r.Contestants()), "load " + side(e.LoadCPUs, e.CPUs, e.LoadProcs)}
		if e.CPU != "" {
			parts = append(parts, e.CPU)
		}
		if e.Virtualised {
			parts = append(parts, "virtual machine")
		}
	}
	if e.Go != "" {
		parts = append(parts, e.Go)
	}
	return strings.Join(parts, "; ")
}

// elsewhere tells where servers and load were, if not on this machine.
func elsewhere(c *record.Site) string {
	return fmt.Sprintf("each server with %s%s, load from %s%s", say.Plural(c.ServerCPUs, "CPU"), onMachines(c.ServerMachines), say.Plural(c.Senders, "sender"), onMachines(c.LoadMachines))
}

// onMachines names the machines, or counts them if they are many: " on a, b".
func onMachines(names []string) string {
	switch {
	case len(names) == 0:
		return ""
	case len(names) > 3:
		return " on " + say.Plural(len(names), "machine")
	}
	return " on " + strings.Join(names, ", ")
}

// side describes the CPUs and the GOMAXPROCS of one side, servers or load. list is a set of CPUs such as
// "0-3"; a list that is none means that the side is not pinned and may use all cpus CPUs.
func side(list string, cpus, procs int) string {
	where, count := "not pinned", cpus
	if pinned, err := cpuset.Parse(list); err == nil {
		where, count = "on CPU"+say.NBSP+list, len(pinned)
	}
	return fmt.Sprintf("%s (%s, GOMAXPROCS%s%d)", where, say.Plural(count, "CPU"), say.NBSP, procs)
}

// servers describes where the arms' servers ran, with the arms' names where they differ, since arms on other
// CPUs do not compare equally. A server may run elsewhere than planned because it ran before schedlab did, or
// because its command pins it.
func servers(e record.Env, arms []record.Contestant) string {
	where := func(a record.Contestant) string {
		switch {
		case a.CPUs != "":
			if a.Attached {
				return "CPU" + say.NBSP + a.CPUs + ", not pinned"
			}
			return "CPU" + say.NBSP + a.CPUs + " by its own choice"
		case a.Attached:
			return "ran already, not pinned"
		}
		return side(e.ServerCPUs, e.CPUs, cmp.Or(a.Procs, e.ServerProcs))
	}
	groups := grouped(choices(arms), where)
	if len(groups) == 0 {
		return where(record.Contestant{})
	}
	if len(groups) == 1 {
		return where(groups[0][0])
	}
	var parts []string
	for _, of := range groups {
		var names []string
		for _, a := range of {
			names = append(names, a.Name)
		}
		parts = append(parts, strings.Join(names, ", ")+": "+where(of[0]))
	}
	return strings.Join(parts, "; ")
}

// Load describes a load in a few words, for the plan and the reports: the kind of loop, and then each setting
// that is not the usual one. A closed loop sends when it is answered; an open loop keeps to arrivals.
func Load(c record.Clients) string {
	if c.Closed() {
		return closedLoop(c)
	}
	text := "open loop, " + c.Arrivals
	if c.Rate > 0 {
		text += fmt.Sprintf(" at %.0f/s", c.Rate)
	}
	if c.KeepAlive {
		text += " over " + prose.Plural(c.Connections, "connection")
	} else {
		text += ", a connection for each request"
	}
	if c.Idle > 0 {
		text += fmt.Sprintf(", %d idle ones beside them", c.Idle)
	}
	if c.Patience.Deadline.Duration > 0 {
		text += fmt.Sprintf(", each given up after %s", prose.RoundTime(c.Patience.Deadline.Seconds()))
	}
	if n := c.Patience.Retries; n > 0 {
		text += fmt.Sprintf(", sent again up to %s, %s after each failure", prose.Plural(n, "time"), prose.RoundTime(c.Patience.Backoff.Seconds()))
	}
	if c.Engine != "" {
		text += ", sent by the engine " + c.Engine
	}
	return text
}

// closedLoop describes the load of a closed loop: each client waits for an answer before it sends again.
func closedLoop(c record.Clients) string {
	text := "closed loop of " + prose.Plural(c.Connections, "client")
	if c.Rate > 0 {
		text += fmt.Sprintf(", paced at %.0f/s together", c.Rate)
	}
	if c.Think.Duration > 0 {
		text += fmt.Sprintf(", that think %s", prose.RoundTime(c.Think.Seconds()))
	}
	if c.Session > 0 {
		text += fmt.Sprintf(", sessions of %d", c.Session)
	}
	if c.Pipeline > 1 {
		text += fmt.Sprintf(", %d requests under way each", c.Pipeline)
	}
	if c.Ramp.Duration > 0 {
		text += fmt.Sprintf(", started over %s", prose.RoundTime(c.Ramp.Seconds()))
	}
	if !c.KeepAlive {
		text += ", a connection for each request"
	}
	return text
}

// busy tells how many of an arm's workers are busy on average, or how many it would need, by Little's law; "" if the law does
// not apply.
func busy(a record.Contestant, workers string) string {
	has, err := strconv.Atoi(workers)
	switch {
	case a.Busy <= 0 || err != nil:
		return ""
	case a.Busy > float64(has):
		return fmt.Sprintf(" (%.0f needed)", math.Floor(a.Busy)+1)
	}
	text := strconv.FormatFloat(a.Busy, 'f', min(stats.Decimals(a.Busy, 2), 2*stats.Count(a.Busy < .95)), 64) + " busy on average"
	// The formula is for requests that come at random.
	if a.Clients.Arrivals == "poisson" && queueing.MMcWait(a.Busy, 1, has, 0) > oftenWaits {
		text += fmt.Sprintf(", by plan; with %d, 99 %% of requests would find one free, as without a pool", enough(a.Busy))
	}
	return " (" + text + ")"
}

// oftenWaits is the ratio of requests that wait for a worker above which a report tells how many workers would be enough.
const oftenWaits = .1

// enough returns the smallest number of workers with which 99 % of the requests find one free, by Erlang's formula for waiting
// (M/M/c). busy is how many are busy on average.
func enough(busy float64) int {
	workers := queueing.Workers(busy, 1)
	for queueing.MMcWait(busy, 1, workers, 0) > .01 {
		workers++
	}
	return workers
}

// sizes tells what the arms' names leave out: the mode behind another name, and how many workers,
// listeners or processes an arm has: "mine is pool-request with 4 workers". "" if the names say it
// all, or if the line would name too many arms to be read.
func sizes(arms []record.Contestant) string {
	const most = 3
	var all []string
	for _, a := range choices(arms) {
		words := a.Words()
		if words == nil {
			continue
		}
		// The name of an arm begins with its mode unless the user chose another name.
		first, _, _ := strings.Cut(a.Name, ",")
		switch has := sizesOf(a, words); {
		case first != a.Mode && has != "":
			all = append(all, a.Name+" is "+a.Mode+" with "+has)
		case first != a.Mode:
			all = append(all, a.Name+" is "+a.Mode)
		case has != "":
			all = append(all, a.Name+" has "+has)
		}
	}
	if len(all) > most {
		return ""
	}
	return strings.Join(all, "; ")
}

// sizeFlags are the flags of `schedlab serve` that bound how much a server does at a time, with the words for what one and
// several bound.
var sizeFlags = []struct{ name, one, many string }{
	{"workers", "worker", "workers"}, {"listeners", "listener", "listeners"}, {"processes", "process", "processes"},
	{"threads", "thread", "threads"}, {"kv-locks", "lock", "locks"},
}

// sizesOf tells the sizes in the words of an arm's command that its name does not tell: "4 workers and 2 listeners".
func sizesOf(a record.Contestant, words []string) string {
	var has []string
	for _, s := range sizeFlags {
		n := flagIn(words, s.name)
		if n == "" || strings.Contains(a.Name, s.name+"=") {
			continue
		}
		text := n + say.NBSP + s.many
		if n == "1" {
			text = n + say.NBSP + s.one
		}
		if s.name == "workers" {
			text += busy(a, n)
		}
		has = append(has, text)
	}
	return strings.Join(has, " and ")
}
