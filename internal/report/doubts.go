package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"schedlab/internal/record"
)

// floor describes the response time that the load itself adds, measured with a server that does
// nothing; "" when it was not measured.
//
// This file holds the lines of the section of reservations, one function for each label: the
// load generator, fairness to connections, disturbances of the machine, the audit's laws,
// refused windows, and sessions. Each returns "" or nil where the record has nothing to tell,
// so that the label disappears.
func floor(f *record.Floor) string {
	if f == nil {
		return ""
	}
	return fmt.Sprintf("; of a server that does nothing it measures p50 %s and p99 %s at %s: that much of every time is the load's and the kernel's",
		seconds(f.P50), seconds(f.P99), rate(f.Rate))
}

// generator describes the work and the delays of the load, at their worst over the arms; ""
// when they were not recorded. A load that is busy or late measures itself, so a reader must
// see that it was neither.
func generator(r *record.Result) string {
	var worst record.Proofs
	known := false
	var late *record.ReadLate
	for _, a := range r.Arms {
		g := a.Generator
		if g == nil {
			continue
		}
		known = true
		// Counts add up over the arms; shares and delays do not.
		worst.Busy, worst.GCs = max(worst.Busy, g.Busy), worst.GCs+g.GCs
		worst.LongestPause, worst.LongestLag = max(worst.LongestPause, g.LongestPause), max(worst.LongestLag, g.LongestLag)
		worst.Missing += g.Missing
		if l := g.ReadLate; l != nil && (late == nil || l.P99 > late.P99) {
			late = l
		}
	}
	if !known {
		return ""
	}
	text := fmt.Sprintf("busy %.0f%s%% at most, latest send %s after its time", 100*worst.Busy, nbsp, seconds(worst.LongestLag))
	if worst.GCs > 0 {
		text += fmt.Sprintf(", %s of garbage that stopped it for %s at most", plural(int(worst.GCs), "collection"), seconds(worst.LongestPause))
	} else {
		text += ", no garbage collected"
	}
	if worst.Missing > 0 {
		text += fmt.Sprintf(", %s planned and never sent", plural(worst.Missing, "request"))
	}
	return text + readLate(late) + floor(r.Env.Floor) + visiting(r)
}

// visiting tells how much CPU time the load took on CPUs that it shares with the servers, and
// whether it had priority there; "" where the load has its own CPUs.
func visiting(r *record.Result) string {
	shared := r.Env.SharedCPUs()
	var took []string
	rest := ""
	for _, a := range r.Arms {
		if d := a.Disturbed; d != nil && a.Role != record.Copy {
			took = append(took, fmt.Sprintf("%.1f%s%% in %s", 100*d.Load, nbsp, a.Name))
		}
		if a.Generator != nil {
			rest = a.Generator.Rest
		}
	}
	if len(shared) == 0 || len(took) == 0 {
		return ""
	}
	text := "; it shares " + shared.Words() + " with the servers"
	switch rest {
	case record.RestFirst:
		text += ", asleep while nothing is due, with real-time priority (SCHED_RR)"
	case record.RestWaits:
		text += ", asleep while nothing is due, without real-time priority, which is not permitted here"
	}
	return text + "; in the median it took of that CPU " + strings.Join(took, ", ")
}

// readLate tells how long replies waited in the kernel before the load read them, by the
// kernel's time stamps; "" when that was not audited. This wait is part of each measured time,
// but not the server's.
func readLate(l *record.ReadLate) string {
	if l == nil {
		return ""
	}
	return fmt.Sprintf(", replies read %s after they came at p50 and %s at p99 (%s replies, by the kernel's stamps)", seconds(l.P50), seconds(l.P99), count(int(l.Replies)))
}

// uneven is the value of Jain's index below which an arm gets a separate line. The index (Jain,
// Chiu and Hawe 1984) is 1 if all connections get the same number of replies, and 1/n if one of
// n gets all.
const uneven = .9

// fairness tells how replies are spread over connections: one line for each arm that starved
// connections or served them unevenly, and one for all others at their worst. It returns nil if
// that is unknown, for example where each request opens a connection.
func fairness(arms []record.Arm) (lines []string) {
	var even []record.Arm
	for _, a := range arms {
		switch f := a.Fairness; {
		case f == nil:
		// Without an index no connection got a reply at all.
		case f.Served < f.Asked || a.Jain == nil || *a.Jain < uneven:
			lines = append(lines, fmt.Sprintf("%s: %s of %s got answers, Jain's index %s, slowest first reply %s",
				a.Name, count(f.Served), plural(f.Asked, "connection"), evenness(a, 2), firstReply(a)))
		default:
			even = append(even, a)
		}
	}
	if len(even) == 0 {
		return lines
	}
	of := ""
	if len(lines) > 0 {
		of = " of the others"
	}
	least := slices.MinFunc(even, func(a, b record.Arm) int { return cmp.Compare(*a.Jain, *b.Jain) })
	slowest := slices.MaxFunc(even, func(a, b record.Arm) int { return cmp.Compare(a.Fairness.FirstReply, b.Fairness.FirstReply) })
	return append(lines, fmt.Sprintf("every connection%s got answers; Jain's index %s at worst (%s), slowest first reply %s (%s)",
		of, evenness(least, 2), least.Name, firstReply(slowest), slowest.Name))
}

// evenness formats an arm's Jain's index with this number of decimals.
func evenness(a record.Arm, decimals int) string {
	if a.Jain == nil {
		return none
	}
	return strconv.FormatFloat(*a.Jain, 'f', decimals, 64)
}

// firstReply formats the slowest first reply of an arm's connections.
func firstReply(a record.Arm) string {
	if a.Fairness == nil || a.Fairness.Served == 0 {
		return none
	}
	return seconds(a.Fairness.FirstReply)
}

// served formats how many of an arm's connections got a reply: "15 of 16".
func served(a record.Arm) string {
	f := a.Fairness
	if f == nil {
		return none
	}
	return count(f.Served) + " of " + count(f.Asked)
}

// disturbed describes in a line the disturbances of the windows, as the lowest and highest
// median over all arms: late sends, the CPU time that other programs and the hypervisor (steal)
// took, and the time in which a CPU limit stopped processes (throttled). The intervals of
// verdicts include them. It returns "" when nothing is known.
func disturbed(arms []record.Arm) string {
	var parts []string
	say := func(name string, of func(d *record.Disturbed) (float64, bool), write func(float64) string) {
		// Where no arm has the figure low stays above high, and nothing is said.
		low, high := math.Inf(1), math.Inf(-1)
		for _, a := range arms {
			if a.Disturbed == nil {
				continue
			}
			if v, ok := of(a.Disturbed); ok {
				low, high = min(low, v), max(high, v)
			}
		}
		switch {
		case low > high:
		case write(low) == write(high):
			parts = append(parts, name+" "+write(low))
		default:
			parts = append(parts, name+" "+write(low)+" to "+write(high))
		}
	}
	for _, q := range []string{"p50", "p99"} {
		say("load late at "+q, func(d *record.Disturbed) (float64, bool) { v, ok := d.Late[q]; return v, ok }, seconds)
	}
	share := func(v float64) string { return fmt.Sprintf("%.1f%s%%", 100*v, nbsp) }
	// A negative share means that the machine could not tell.
	known := func(v float64) (float64, bool) { return v, v >= 0 }
	say("other programs on the server's CPUs", func(d *record.Disturbed) (float64, bool) { return known(d.Foreign) }, share)
	say("steal", func(d *record.Disturbed) (float64, bool) { return known(d.Steal) }, share)
	say("throttled", func(d *record.Disturbed) (float64, bool) { return known(d.Throttled) }, share)
	if len(parts) == 0 {
		return ""
	}
	// Most machines throttle nothing, so 0 is not worth reading.
	quiet := slices.Index(parts, "throttled 0.0"+nbsp+"%")
	if quiet >= 0 {
		parts = slices.Delete(parts, quiet, quiet+1)
	}
	return "medians of the arms, in the intervals: " + strings.Join(parts, ", ")
}

// wide is the tolerance of a law, as a ratio, above which keeping the law means little.
const wide = .25

// laws tells how near the valid windows came to breaking each law of the audit: the worst value
// and the tolerance. Such a law holds for any server, so a broken one means a fault in the
// measurement. It returns "" when none was checked.
func laws(all []record.Law) string {
	most := 0
	for _, l := range all {
		most = max(most, l.Windows)
	}
	if most == 0 {
		return ""
	}
	parts := make([]string, len(all))
	for i, l := range all {
		// A limit of 0 allows no violation, as for counts that must agree.
		allowed := "none"
		if l.Limit > 0 {
			allowed = lawFigure(l.Limit, l.Unit)
		}
		if allowed += " allowed"; l.Unit == "ratio" && l.Limit > wide {
			allowed += ", which checks little"
		}
		// A law that fewer windows could check is weaker, so the line tells their number.
		if l.Windows < most {
			allowed += ", " + plural(l.Windows, "window")
		}
		_, of, _ := strings.Cut(l.Unit, "ratio")
		parts[i] = fmt.Sprintf("%s %s%s (%s)", l.Name, lawFigure(l.Value, l.Unit), of, allowed)
	}
	return fmt.Sprintf("worst of %s: %s", plural(most, "window"), strings.Join(parts, "; "))
}

// lawFigure formats a value or a limit. For a ratio it leaves out the words that say of what.
func lawFigure(v float64, unit string) string {
	if strings.HasPrefix(unit, "ratio") {
		return fmt.Sprintf("%.*f%s%%", decimals(100*v, 2), 100*v, nbsp)
	}
	return plural(int(v), strings.TrimSuffix(unit, "s"))
}

// refusals tells why blocks were left out, in one line per rule with its worst window, since a
// rule that broke in many windows is one cause. The record has every window.
func refusals(all []record.Refusal) (lines []string) {
	for _, windows := range grouped(all, func(x record.Refusal) string { return x.Rule }) {
		worst := slices.MaxFunc(windows, func(a, b record.Refusal) int {
			return cmp.Or(cmp.Compare(past(a), past(b)), cmp.Compare(a.Value, b.Value))
		})
		side := "limit"
		// A value below its limit is refused only by a lower limit.
		if worst.Value < worst.Limit {
			side = "below"
		}
		var blocks []string
		for _, x := range windows {
			if n := strconv.Itoa(x.Block); !slices.Contains(blocks, n) {
				blocks = append(blocks, n)
			}
		}
		in := "block"
		if len(blocks) > 1 {
			in += "s"
		}
		lines = append(lines, fmt.Sprintf("%s: %s in %s%s%s; worst %s (%s, block %d), %s %s", worst.Rule, plural(len(windows), "window"),
			in, nbsp, strings.Join(blocks, ", "), plain(worst.Value), worst.Arm, worst.Block, side, plain(worst.Limit)))
	}
	return lines
}

// past returns how far a window is beyond its limit, as a ratio above 1, so that windows of
// upper and lower limits can be ranked. Most limits are upper limits; the limits on the number
// of requests are lower ones.
func past(x record.Refusal) float64 {
	if x.Value < x.Limit {
		return x.Limit / x.Value
	}
	return x.Value / x.Limit
}

// sessions tells how many sessions completed and how long they took, with a line for each arm
// that had any. A session is a series of requests on one connection.
func sessions(arms []record.Arm) (lines []string) {
	for _, a := range arms {
		s := a.Sessions
		if s == nil {
			continue
		}
		parts := []string{fmt.Sprintf("%s: %s complete, %s broken", a.Name, count(s.Complete), count(s.Broken))}
		few := "p50"
		if s.P50 != nil {
			took := "first request to last answer p50 " + seconds(*s.P50)
			if few = "p90"; s.P90 != nil {
				took += ", p90 " + seconds(*s.P90)
			}
			parts = append(parts, took)
		}
		if s.P90 == nil {
			parts = append(parts, fmt.Sprintf("too few for %s (%s in a window)", few, count(s.PerWindow)))
		}
		lines = append(lines, strings.Join(parts, "; "))
	}
	return lines
}
