package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"schedlab/internal/command"
	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// sentence describes one primary verdict in full: who against whom, the decision, the change
// with its interval, and the evidence for it.
//
// This file puts verdicts, and the state of a run, in words. The full report uses sentence for
// primary metrics and aside for secondary ones; the brief report and pages take the smaller
// pieces (between, lean, needed, reason). The words of decisions stay in capitals, as in
// stats.Decision, so that a reader can search for them.
func sentence(v record.Verdict) string {
	m := stats.MetricOf(v.Metric)
	if v.Verdict == stats.Inconclusive && (v.Lean != "" || v.Low == 0) {
		return leaning(v)
	}
	interval := fmt.Sprintf("95%s%% interval %s", nbsp, between(v))
	switch {
	case v.Verdict.Differs():
		n := v.Won
		if v.Worse() {
			n = v.Lost
		}
		return fmt.Sprintf("%s is %s than %s %s: %s (%s), %s in %d of %s", v.Arm, v.Verdict, v.Baseline, m.In, change(v.Ratio), interval,
			lower(v.Verdict), n, plural(v.Blocks, "block"))
	case v.Verdict == stats.Same:
		return fmt.Sprintf("%s is the SAME as %s %s: %s (%s)%s", v.Arm, v.Baseline, m.In, change(v.Ratio), interval, within(m))
	case v.Verdict == stats.Inconclusive:
		return fmt.Sprintf("%s against %s %s is INCONCLUSIVE: %s (%s)%s", v.Arm, v.Baseline, m.In, change(v.Ratio), interval, needed(v))
	}
	return fmt.Sprintf("%s against %s %s is REFUSED: %s", v.Arm, v.Baseline, m.In, reason(v))
}

// lower returns a decision in lower case, as a word of a sentence.
func lower(d stats.Decision) string { return strings.ToLower(string(d)) }

// withLuck returns the figures without the correction for each block's lucky arrivals: the
// plain ratios of the blocks; "" if there is no correction.
func withLuck(v record.Verdict) string {
	if v.Plain == nil {
		return ""
	}
	return fmt.Sprintf("; as measured, with the luck of each block's arrivals: %s (%s to %s)", change(v.Plain.Median), change(v.Plain.Low), change(v.Plain.High))
}

// aside describes one secondary verdict in a few words, to be joined with others in one line.
func aside(v record.Verdict) string {
	m := stats.MetricOf(v.Metric)
	if v.Verdict == stats.Refused {
		return fmt.Sprintf("%s REFUSED: %s", m.Label, reason(v))
	}
	by := change(v.Ratio)
	if v.Verdict.Differs() {
		if more, ok := strings.CutPrefix(by, "+"); ok {
			by = more + " more"
		} else if less, ok := strings.CutPrefix(by, "-"); ok {
			by = less + " less"
		}
	}
	if v.Low == 0 {
		return fmt.Sprintf("%s %s, %s%s", m.Label, v.Verdict, by, needed(v))
	}
	return fmt.Sprintf("%s %s, %s (%s)", m.Label, v.Verdict, by, between(v))
}

// leaning describes an undecided verdict that leans, or that has no interval yet. A lean is no
// decision: all or most blocks so far point one way, but they are too few.
func leaning(v record.Verdict) string {
	m := stats.MetricOf(v.Metric)
	text := fmt.Sprintf("%s against %s %s is INCONCLUSIVE after %s: %s", v.Arm, v.Baseline, m.In, plural(v.Blocks, "block"), change(v.Ratio))
	if v.Low > 0 {
		text += fmt.Sprintf(" (95%s%% interval %s)", nbsp, between(v))
	}
	if v.Lean == "" {
		return text + needed(v)
	}
	return text + ", it leans " + lean(v)
}

// lean tells which way an undecided verdict leans, in how many blocks, and how many would decide:
// "slower: 9 of 9 blocks, about 10 blocks would decide".
func lean(v record.Verdict) string {
	n := v.Won
	if stats.MetricOf(v.Metric).Worse(v.Lean) {
		n = v.Lost
	}
	return fmt.Sprintf("%s: %d of %s%s", lower(v.Lean), n, plural(v.Blocks, "block"), needed(v))
}

// between formats the interval of a verdict's ratio as changes: "+5 % to +9 %". v must have an
// interval.
func between(v record.Verdict) string {
	return bound(v.Low, v.Verdict.Differs()) + " to " + bound(v.High, v.Verdict.Differs())
}

// within describes the tolerance of SAME, the largest difference that counts as none; "" for a
// metric without one.
func within(m stats.Metric) string {
	if m.Same == 0 {
		return ""
	}
	return fmt.Sprintf(", within ±%g%s%%", math.Round(m.Same*1000)/10, nbsp)
}

// mostBlocks is the largest number of blocks of a run: the last look at which verdicts are
// made.
var mostBlocks = slices.Max(stats.Looks())

// mostTimes is the largest factor by which longer windows are recommended. A longer run is no
// advice that anyone would follow.
const mostTimes = 100

// hopelessly describes a verdict that needs more blocks than a run can have: how much longer
// the windows would have to be. Twice the measured time is worth twice the blocks, however it
// is cut.
func hopelessly(needed int) string {
	text := fmt.Sprintf("%d blocks, the most, would not decide", mostBlocks)
	if times := float64(needed) / float64(mostBlocks); times <= mostTimes {
		return fmt.Sprintf("%s; windows %.2g times as long would", text, math.Ceil(10*times)/10)
	}
	return text + ", nor windows a hundred times as long: it is too noisy here"
}

// longer returns the flags that would decide a verdict that needs the given number of blocks,
// or tells that no setting would.
func longer(r *record.Result, needed int) string {
	const around = .5 // seconds: what a trial takes apart from its window
	// A run can have no more blocks than mostBlocks, so longer windows have to replace them.
	window := stats.Widened(r.Window, needed)
	if window == 0 {
		return "no --window up to a minute would decide: it is too noisy here"
	}
	// The budget counts whole minutes, and every arm has a window in each block.
	budget := math.Ceil(float64(mostBlocks*len(r.Arms)) * (window + around) / 60)
	if budget > stats.LongestBudget.Minutes() {
		return fmt.Sprintf("no --budget up to %.0fm would decide: it is too noisy here", stats.LongestBudget.Minutes())
	}
	return fmt.Sprintf("--window %v --budget %.0fm would decide", record.Duration(window), budget)
}

// needed describes how many blocks would decide an undecided verdict, after a comma; "" if that
// is unknown.
func needed(v record.Verdict) string {
	switch {
	case v.Needed == 0:
		return ""
	case v.Needed > mostBlocks:
		return ", " + hopelessly(v.Needed)
	}
	return fmt.Sprintf(", about %s would decide", plural(v.Needed, "block"))
}

// reason returns the words for why a verdict was refused, also for a record that has none.
func reason(v record.Verdict) string {
	return cmp.Or(v.Reason.String(), "no reason recorded")
}

// oneReason returns the reason for which all of vs were refused; "" if the reasons differ, a
// verdict was not refused, or vs is empty.
func oneReason(vs []record.Verdict) string {
	for _, v := range vs {
		if v.Verdict != stats.Refused || reason(v) != reason(vs[0]) {
			return ""
		}
	}
	if len(vs) == 0 {
		return ""
	}
	return reason(vs[0])
}

// sentences describes the verdicts on one arm: a sentence for each primary metric, and one for
// all secondary metrics. If all are refused for the same reason, it says so once.
func sentences(group []record.Verdict) (lines []string) {
	if why := oneReason(group); why != "" && len(group) > 1 {
		return []string{fmt.Sprintf("%s against %s is REFUSED: %s", group[0].Arm, group[0].Baseline, why)}
	}
	var asides []string
	for _, v := range group {
		if v.Primary {
			lines = append(lines, sentence(v)+withLuck(v))
		} else {
			asides = append(asides, aside(v))
		}
	}
	if len(asides) > 0 {
		lines = append(lines, group[0].Arm+", also: "+strings.Join(asides, "; "))
	}
	return lines
}

// blocks tells how many blocks count, and how many ran but were left out: "9 blocks, 1 left
// out".
func blocks(r *record.Result) string {
	switch out := r.Ran - r.Valid; {
	case r.Ran == 0 && r.Valid == 0:
		return "no block"
	// Blocks that were left out are counted, since they may be the slow ones.
	case out > 0:
		return fmt.Sprintf("%s, %d left out", plural(r.Valid, "block"), out)
	}
	return plural(r.Valid, "block") + ", none left out"
}

// caveat tells why the figures of a run without a verdict are no finding; "" if there is a
// verdict, or nothing was measured. It continues a sentence such as "These figures are".
func caveat(r *record.Result) string {
	switch {
	case r.Valid == 0 || len(r.Verdicts) == 0:
		return ""
	// The first look is the smallest number of blocks with which any verdict is made.
	case r.Valid < stats.Looks()[0]:
		return "of " + plural(r.Valid, "block") + ", too few for a finding"
	case oneReason(r.Verdicts) != "":
		return "of a run without a verdict: no finding"
	}
	return ""
}

// allRefused returns a sentence if every verdict was refused for the same reason; else "".
func allRefused(r *record.Result) string {
	why := oneReason(r.Verdicts)
	if why == "" {
		return ""
	}
	return fmt.Sprintf("All %s are REFUSED: %s", plural(len(r.Verdicts), "verdict"), why)
}

// measuredBlocks tells how many blocks a run measured before it ended early, and why verdicts do without
// some of them.
func measuredBlocks(r *record.Result) string {
	out := r.Ran - r.Valid
	if out <= 0 {
		return blocks(r)
	}
	return fmt.Sprintf("%s measured; %d left out of the verdicts, because of %s", plural(r.Ran, "block"), out, strings.Join(r.LeftOutFor(), ", "))
}

// state tells how much of its plan the run completed, after a word in capitals; "" when it
// completed all.
func state(r *record.Result) string {
	had := measuredBlocks(r)
	switch r.Status {
	case record.Complete:
		return ""
	case record.Interrupted:
		return "INTERRUPTED: " + had
	case record.Running:
		return "INCOMPLETE: the run was cut off or still goes on, " + had
	case record.Partial:
		return "PARTIAL: the plan could not be done in full, " + had
	}
	return fmt.Sprintf("STATUS %q: unknown to this version, %s", string(r.Status), had)
}

// offered describes the load on every arm, the blocks, the windows and the seed, in one line.
// Closed loops have no rate, so they are described instead.
func offered(r *record.Result) string {
	parts := []string{strings.TrimSuffix(rate(r.Rate), "/s") + nbsp + "requests/s offered to each arm" + share(r)}
	if loads := loads(r.Arms); len(loads) > 1 || r.Rate == 0 && len(loads) == 1 {
		parts[0] = strings.Join(loads, "; ")
	} else if r.Rate == 0 {
		parts[0] = "no rate chosen yet"
	}
	if r.Asked != "" {
		parts[0] += " (" + r.Asked + ")"
	}
	return strings.Join(append(parts, blocks(r), seconds(r.Window)+" windows", fmt.Sprintf("seed %d", r.Seed)), ", ")
}

// loads describes the loads of the arms, each different load once, in the order of the arms. An
// old record without loads gives nil.
func loads(arms []record.Arm) (all []string) {
	for _, a := range arms {
		if load := Load(a.Clients); a.Clients.Loop != "" && !slices.Contains(all, load) {
			all = append(all, load)
		}
	}
	return all
}

// share compares the offered rate with the slowest arm's closed-loop throughput, which is about
// the rate that would overload it; "" where either is unknown.
func share(r *record.Result) string {
	slowest, x := slowestMost(r)
	if x == 0 || r.Rate == 0 {
		return ""
	}
	most := ""
	if r.Sendable > 0 {
		most = ", what the load's " + cpus(r.Env.LoadCPUs) + " can send"
	}
	return fmt.Sprintf(" (%.2f of X_max of the slowest, %s%s)", r.Rate/x, slowest, most)
}

// slowestMost returns the arm with the lowest closed-loop throughput (X_max), in requests per
// second; "" and 0 when none was measured.
func slowestMost(r *record.Result) (arm string, most float64) {
	for _, a := range r.Arms {
		if a.XMax != nil && (most == 0 || *a.XMax < most) {
			arm, most = a.Name, *a.XMax
		}
	}
	return arm, most
}

// cpus returns "CPU" if list names one CPU, else "CPUs". An empty list means a load that is not
// pinned, which may use all CPUs.
func cpus(list string) string {
	if record.CountCPUs(list, 2) == 1 {
		return "CPU"
	}
	return "CPUs"
}

// xmax formats an arm's closed-loop throughput, and how far apart the halves of its probe were:
// halves far apart mean that the figure is rough. a.XMax must not be nil.
func xmax(a record.Arm) string {
	if a.Apart == 0 {
		return rate(*a.XMax)
	}
	return fmt.Sprintf("%s, halves of the probe %.0f%s%% apart", rate(*a.XMax), 100*a.Apart, nbsp)
}

// conditions describes the circumstances under which all verdicts hold: the CPUs of the
// servers, and the confidence of all intervals together.
func conditions(r *record.Result) string {
	server := "server: " + servers(r.Env, r.Arms, func(procs string) string {
		if set, err := record.ParseCPUs(r.Env.ServerCPUs); err == nil {
			return plural(len(set), "CPU") + ", " + procs
		}
		return fmt.Sprintf("%s shared with the load, %s", plural(r.Env.CPUs, "CPU"), procs)
	})
	primary := 0
	for _, v := range r.Verdicts {
		if v.Primary {
			primary++
		}
	}
	together := ""
	if primary > 0 && oneReason(r.Verdicts) == "" {
		together = fmt.Sprintf("; %s of times, 95%s%% together", plural(primary, "comparison"), nbsp)
		if rest := len(r.Verdicts) - primary; rest > 0 { // same interval width, but not counted in the correction
			together += fmt.Sprintf("; %d of goodput and CPU time, %.1f%s%% each", rest, 100*(1-stats.Alpha/float64(primary)), nbsp)
		}
	}
	return server + together
}

// allGood reports whether every request was sent and got a good reply in time, no arm is
// overloaded, and no arm has surely less goodput than the arm it is compared with. Then no
// failure needs to be mentioned.
func allGood(r *record.Result) bool {
	for _, a := range r.Arms {
		if a.Errors > 0 || a.StarvedConnections > 0 || a.Generator != nil && a.Generator.Missing > 0 {
			return false
		}
	}
	return r.Valid > 0 && !slices.ContainsFunc(r.Doubts, func(f record.Fact) bool {
		return f.Code == record.AnsweredNone || f.Code == record.Overloaded || f.Code == record.GeneratorLimit
	}) &&
		!slices.ContainsFunc(r.Verdicts, func(v record.Verdict) bool { return v.Metric == "goodput" && v.Worse() })
}

// complaints lists the failures of requests, per arm, or one reassuring line if there were
// none, and how many independent requests a window is worth.
func complaints(r *record.Result) []string {
	lines := append(silent(r), failings(r.Arms)...)
	requests := 0
	for _, a := range r.Arms {
		requests += a.Requests
	}
	if a := leastWorth(r.Arms); a != nil {
		lines = append(lines, fmt.Sprintf("a window is worth %s independent requests at the least (n_eff of %s), since neighbours share their queue", count(int(a.NEff)), a.Name))
	}
	if requests > 0 && allGood(r) {
		lines = append(lines, fmt.Sprintf("every one of %s got a good reply", plural(requests, "request")))
	}
	return lines
}

// silent lists the arms that gave no good reply in the window of a block, as their doubts say
// it.
func silent(r *record.Result) (lines []string) {
	for _, d := range r.Doubts {
		if d.Code == record.AnsweredNone {
			lines = append(lines, Doubt(d))
		}
	}
	return lines
}

// failings lists the arms that failed requests, starved connections or overflowed an accept
// queue, a line for each failing.
func failings(arms []record.Arm) (lines []string) {
	for _, a := range arms {
		if a.Errors > 0 {
			lines = append(lines, fmt.Sprintf("%s: %s of %s without a good reply", a.Name, plural(a.Errors, "request"), count(a.Requests))+ends(a.Failures))
		}
		if a.StarvedConnections > 0 {
			lines = append(lines, fmt.Sprintf("%s STARVED %s that waited for an answer in vain; its figures leave them out and flatter it (Jain's index %s)", a.Name, plural(a.StarvedConnections, "connection"), evenness(a, 2)))
		}
		if o := a.Overflows; o != nil && *o > 0 {
			lines = append(lines, fmt.Sprintf("%s: the host counted %s that found an accept queue full (ListenOverflows)", a.Name, plural(int(*o), "connection")))
		}
	}
	return lines
}

// ends lists how failed requests ended, the most frequent first: " (status 500: 12)"; "" if
// that is unknown.
func ends(failures map[string]int) string {
	if len(failures) == 0 {
		return ""
	}
	names := slices.SortedFunc(maps.Keys(failures), func(a, b string) int { return cmp.Or(cmp.Compare(failures[b], failures[a]), cmp.Compare(a, b)) })
	for i, name := range names {
		names[i] = name + ": " + count(failures[name])
	}
	return " (" + strings.Join(names, ", ") + ")"
}

// leastWorth returns the arm with the fewest independent requests per window; nil if that is
// unknown.
func leastWorth(arms []record.Arm) (least *record.Arm) {
	for i := range arms {
		if a := &arms[i]; a.NEff > 0 && (least == nil || a.NEff < least.NEff) {
			least = a
		}
	}
	return least
}

// notes returns the numbers, from 1, of the doubts about an arm; nil for none. They are the
// numbers in the document's list of doubts.
func notes(r *record.Result, arm string) []int {
	var numbers []int
	for i, d := range r.Doubts {
		if d.Arm == arm {
			numbers = append(numbers, i+1)
		}
	}
	return numbers
}

// again returns the command that renders a record again, quoted for a shell.
func again(dir string) string { return "schedlab report " + command.Quote(dir) + " --output html" }

// byArm groups verdicts by arm, in order of first appearance.
func byArm(verdicts []record.Verdict) [][]record.Verdict {
	return grouped(verdicts, func(v record.Verdict) string { return v.Arm })
}

// grouped groups values by key, in order of first appearance. Values of one key need not follow
// each other.
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
