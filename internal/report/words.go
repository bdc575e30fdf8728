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

// sentence says one primary verdict in full.
func sentence(v record.Verdict) string {
	m := find(v.Metric)
	if stats.Decision(v.Verdict) == stats.Inconclusive && (v.Lean != "" || v.Low == 0) {
		return leaning(v)
	}
	interval := fmt.Sprintf("95%s%% interval %s", nbsp, between(v))
	switch d := m.Decision(v.Verdict); d {
	case stats.Faster, stats.Slower:
		n := v.Won
		if d == stats.Slower {
			n = v.Lost
		}
		return fmt.Sprintf("%s is %s than %s %s: %s (%s), %s in %d of %s", v.Arm, m.word(v.Verdict), v.Baseline, m.in, change(v.Ratio), interval,
			strings.ToLower(m.word(v.Verdict)), n, plural(v.Blocks, "block"))
	case stats.Same:
		return fmt.Sprintf("%s is the SAME as %s %s: %s (%s)%s", v.Arm, v.Baseline, m.in, change(v.Ratio), interval, within(m))
	case stats.Inconclusive:
		return fmt.Sprintf("%s against %s %s is INCONCLUSIVE: %s (%s)%s", v.Arm, v.Baseline, m.in, change(v.Ratio), interval, needed(v))
	}
	return fmt.Sprintf("%s against %s %s is REFUSED: %s", v.Arm, v.Baseline, m.in, reason(v))
}

// withLuck gives the figures before the luck of each block's arrivals was taken out.
func withLuck(v record.Verdict) string {
	if v.Plain == nil {
		return ""
	}
	return fmt.Sprintf("; as measured, with the luck of each block's arrivals: %s (%s to %s)", change(v.Plain.Median), change(v.Plain.Low), change(v.Plain.High))
}

// aside says one secondary verdict in a few words.
func aside(v record.Verdict) string {
	m := find(v.Metric)
	if stats.Decision(v.Verdict) == stats.Refused {
		return fmt.Sprintf("%s REFUSED: %s", m.label, reason(v))
	}
	by := change(v.Ratio)
	if d := m.Decision(v.Verdict); d == stats.Faster || d == stats.Slower {
		if more, ok := strings.CutPrefix(by, "+"); ok {
			by = more + " more"
		} else if less, ok := strings.CutPrefix(by, "-"); ok {
			by = less + " less"
		}
	}
	if v.Low == 0 {
		return fmt.Sprintf("%s %s, %s%s", m.label, m.word(v.Verdict), by, needed(v))
	}
	return fmt.Sprintf("%s %s, %s (%s)", m.label, m.word(v.Verdict), by, between(v))
}

// leaning says an undecided verdict that points somewhere, or is before its first look.
func leaning(v record.Verdict) string {
	m := find(v.Metric)
	text := fmt.Sprintf("%s against %s %s is INCONCLUSIVE after %s: %s", v.Arm, v.Baseline, m.in, plural(v.Blocks, "block"), change(v.Ratio))
	if v.Low > 0 {
		text += fmt.Sprintf(" (95%s%% interval %s)", nbsp, between(v))
	}
	if v.Lean == "" {
		return text + needed(v)
	}
	return text + ", it leans " + lean(v)
}

// lean says where an undecided verdict points, by how many blocks, and how many would
// decide it: "slower: 9 of 9 blocks, about 10 blocks would decide".
func lean(v record.Verdict) string {
	m := find(v.Metric)
	n := v.Won
	if m.Decision(v.Lean) == stats.Slower {
		n = v.Lost
	}
	return fmt.Sprintf("%s: %d of %s%s", strings.ToLower(m.word(v.Lean)), n, plural(v.Blocks, "block"), needed(v))
}

func between(v record.Verdict) string {
	d := find(v.Metric).Decision(v.Verdict)
	decided := d == stats.Faster || d == stats.Slower
	return bound(v.Low, decided) + " to " + bound(v.High, decided)
}

func within(m metric) string {
	if m.Same == 0 {
		return ""
	}
	return fmt.Sprintf(", within ±%g%s%%", math.Round(m.Same*1000)/10, nbsp)
}

// mostBlocks is what a run may have.
var mostBlocks = slices.Max(stats.Looks())

// mostTimes is how much longer windows may be to be worth advising.
const mostTimes = 100

// hopelessly describes a verdict that needs more blocks than a run may have: how much longer the
// windows would have to be.
func hopelessly(needed int) string {
	text := fmt.Sprintf("%d blocks, the most, would not decide", mostBlocks)
	if times := float64(needed) / float64(mostBlocks); times <= mostTimes {
		return fmt.Sprintf("%s; windows %.2g times as long would", text, math.Ceil(10*times)/10)
	}
	return text + ", nor windows a hundred times as long: it is too noisy here"
}

// longer gives the flags that would decide a verdict that needs the given number of blocks.
func longer(r *record.Result, needed int) string {
	const around = .5 // seconds, of a trial besides its window
	window := stats.Widened(r.Window, needed)
	if window == 0 {
		return "no --window up to a minute would decide: it is too noisy here"
	}
	budget := math.Ceil(float64(mostBlocks*len(r.Arms)) * (window + around) / 60)
	return fmt.Sprintf("--window %v --budget %.0fm would decide", record.Duration(window), budget)
}

func needed(v record.Verdict) string {
	switch {
	case v.Needed == 0:
		return ""
	case v.Needed > mostBlocks:
		return ", " + hopelessly(v.Needed)
	}
	return fmt.Sprintf(", about %s would decide", plural(v.Needed, "block"))
}

func reason(v record.Verdict) string {
	return cmp.Or(v.Reason.String(), "no reason recorded")
}

// oneReason is the reason that all of vs were refused for, "" when they differ
// or some were judged.
func oneReason(vs []record.Verdict) string {
	for _, v := range vs {
		if stats.Decision(v.Verdict) != stats.Refused || reason(v) != reason(vs[0]) {
			return ""
		}
	}
	if len(vs) == 0 {
		return ""
	}
	return reason(vs[0])
}

// sentences says the verdicts of one arm, a sentence each, the secondary
// metrics together; one refusal that covers all of them is said once.
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

// blocks says how many blocks count, and how many that ran do not.
func blocks(r *record.Result) string {
	switch out := r.Ran - r.Valid; {
	case r.Ran == 0 && r.Valid == 0:
		return "no block"
	case out > 0:
		return fmt.Sprintf("%s, %d left out", plural(r.Valid, "block"), out)
	}
	return plural(r.Valid, "block") + ", none left out"
}

// caveat says why the figures of a run with no verdict are no finding; "" for one
// that has a verdict.
func caveat(r *record.Result) string {
	switch {
	case r.Valid == 0 || len(r.Verdicts) == 0:
		return ""
	case r.Valid < stats.Looks()[0]:
		return "of " + plural(r.Valid, "block") + ", too few for a finding"
	case oneReason(r.Verdicts) != "":
		return "of a run without a verdict: no finding"
	}
	return ""
}

// allRefused says so when every verdict was refused for one reason; "" otherwise.
func allRefused(r *record.Result) string {
	why := oneReason(r.Verdicts)
	if why == "" {
		return ""
	}
	return fmt.Sprintf("All %s are REFUSED: %s", plural(len(r.Verdicts), "verdict"), why)
}

// state says how much of its plan the run holds; "" when all of it.
func state(r *record.Result) string {
	had := blocks(r)
	switch r.Status {
	case record.Complete:
		return ""
	case record.Interrupted:
		return "INTERRUPTED: stopped before the plan was done, " + had
	case record.Running:
		return "INCOMPLETE: the run was cut off or still goes on, " + had
	case record.Partial:
		return "PARTIAL: the plan could not be done in full, " + had
	}
	return fmt.Sprintf("STATUS %q: unknown to this version, %s", string(r.Status), had)
}

// offered says what every arm was asked, and how often.
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

// loads lists what the arms' clients did, each once.
func loads(arms []record.Arm) (all []string) {
	for _, a := range arms {
		if load := Load(a.Clients); a.Clients.Loop != "" && !slices.Contains(all, load) {
			all = append(all, load)
		}
	}
	return all
}

// share relates the offered rate to the slowest arm's closed-loop throughput.
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

// slowestMost is the least closed-loop throughput of an arm, 0 when none was measured.
func slowestMost(r *record.Result) (arm string, most float64) {
	for _, a := range r.Arms {
		if a.XMax != nil && (most == 0 || *a.XMax < most) {
			arm, most = a.Name, *a.XMax
		}
	}
	return arm, most
}

// cpus is CPU or CPUs, for so many as a list has; those of a load that is not pinned
// are all.
func cpus(list string) string {
	if record.CountCPUs(list, 2) == 1 {
		return "CPU"
	}
	return "CPUs"
}

// xmax says an arm's closed-loop throughput, and how far apart its probe's halves were.
func xmax(a record.Arm) string {
	if a.Apart == 0 {
		return rate(*a.XMax)
	}
	return fmt.Sprintf("%s, halves of the probe %.0f%s%% apart", rate(*a.XMax), 100*a.Apart, nbsp)
}

// conditions is what every verdict holds under.
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
		if rest := len(r.Verdicts) - primary; rest > 0 { // of the same width, but not counted
			together += fmt.Sprintf("; %d of goodput and CPU time, %.1f%s%% each", rest, 100*(1-stats.Alpha/float64(primary)), nbsp)
		}
	}
	return server + together
}

// allGood reports whether every request was sent and got a good reply, no arm is overloaded, and
// none has surely less goodput.
func allGood(r *record.Result) bool {
	for _, a := range r.Arms {
		if a.Errors > 0 || a.StarvedConnections > 0 || a.Generator != nil && a.Generator.Missing > 0 {
			return false
		}
	}
	return r.Valid > 0 && !slices.ContainsFunc(r.Doubts, func(f record.Fact) bool { return f.Code == record.Overloaded || f.Code == record.GeneratorLimit }) &&
		!slices.ContainsFunc(r.Verdicts, func(v record.Verdict) bool {
			return v.Metric == "goodput" && find("goodput").Decision(v.Verdict) == stats.Slower
		})
}

// complaints says what went wrong with requests, per arm; one reassuring line
// when nothing did.
func complaints(r *record.Result) []string {
	lines := failings(r.Arms)
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

// failings says which arms failed requests or starved connections.
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

// ends says how requests that failed ended, the commonest first, as " (status 500: 12)".
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

// leastWorth is the arm whose windows hold the fewest independent requests; nil
// when that is not known.
func leastWorth(arms []record.Arm) (least *record.Arm) {
	for i := range arms {
		if a := &arms[i]; a.NEff > 0 && (least == nil || a.NEff < least.NEff) {
			least = a
		}
	}
	return least
}

// notes numbers the doubts that concern an arm, from 1.
func notes(r *record.Result, arm string) []int {
	var numbers []int
	for i, d := range r.Doubts {
		if d.Arm == arm {
			numbers = append(numbers, i+1)
		}
	}
	return numbers
}

// again is the command that renders a record once more.
func again(dir string) string { return "schedlab report " + command.Quote(dir) + " --output html" }

// byArm groups verdicts by arm, in their order.
func byArm(verdicts []record.Verdict) [][]record.Verdict {
	return grouped(verdicts, func(v record.Verdict) string { return v.Arm })
}

// grouped puts together what has the same key, in the order of all.
func grouped[T any](all []T, key func(T) string) (groups [][]T) {
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
