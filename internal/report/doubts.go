package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"schedlab/internal/record"
)

// floor describes the response time that the load itself adds, measured with a server that does
// nothing; "" when it was not measured. It has no figures where that load was late itself: they would
// be the disturbance's.
//
// This file holds the lines of the section of reservations, one function for each label: the
// load generator, fairness to connections, disturbances of the machine, the audit's laws,
// refused windows, and sessions. Each returns "" or nil where the record has nothing to tell,
// so that the label disappears.
func floor(f *record.Floor) string {
	const late = 1e-3 // seconds; an undisturbed load is late by microseconds
	switch {
	case f == nil:
		return ""
	case f.LagP99 > late:
		return fmt.Sprintf("; how much of every time is the load's and the kernel's is not known: their measurement, with a server that does nothing, was disturbed (sends %s late at p99)", seconds(f.LagP99))
	}
	return fmt.Sprintf("; of a server that does nothing it measures p50 %s and p99 %s at %s: that much of every time is the load's and the kernel's",
		seconds(f.P50), seconds(f.P99), rate(f.Rate))
}

// generator describes the work and the delays of the load, at their worst over the arms; ""
// when they were not recorded. A load that is busy or late measures itself, so a reader must
// see that it was neither.
func generator(r *record.Result) string {
	var worst *record.Proofs
	for _, a := range r.Arms {
		g := a.Generator
		if g == nil {
			continue
		}
		worst = cmp.Or(worst, &record.Proofs{})
		// Counts add up over the arms; shares and delays do not.
		worst.GCs, worst.Missing = worst.GCs+g.GCs, worst.Missing+g.Missing
		worst.Busy = max(worst.Busy, g.Busy)
		worst.LongestPause, worst.LongestLag = max(worst.LongestPause, g.LongestPause), max(worst.LongestLag, g.LongestLag)
		if l := g.ReadLate; l != nil && (worst.ReadLate == nil || l.P99 > worst.ReadLate.P99) {
			worst.ReadLate = l
		}
	}
	if worst == nil {
		return ""
	}
	return fmt.Sprintf("busy %s at most, latest send %s after its time", percent("%.0f", worst.Busy), seconds(worst.LongestLag)) +
		either(worst.GCs > 0, fmt.Sprintf(", %s of garbage that stopped it for %s at most", plural(int(worst.GCs), "collection"), seconds(worst.LongestPause)), ", no garbage collected") +
		when(worst.Missing > 0, ", %s planned and never sent", plural(worst.Missing, "request")) +
		readLate(worst.ReadLate) + floor(r.Env.Floor) + visiting(r)
}

// visiting tells how much CPU time the load took on CPUs that it shares with the servers, and
// whether it had priority there; "" where the load has its own CPUs.
func visiting(r *record.Result) string {
	shared := r.Env.SharedCPUs()
	known := only(choices(r.Arms), func(a record.Arm) bool { return a.Disturbed != nil })
	if len(shared) == 0 || len(known) == 0 {
		return ""
	}
	rests := only(r.Arms, func(a record.Arm) bool { return a.Generator != nil })
	rest := first(rests, func(record.Arm) bool { return true }).Generator
	priority := map[string]string{
		record.RestFirst: ", asleep while nothing is due, with real-time priority (SCHED_RR)",
		record.RestWaits: ", asleep while nothing is due, without real-time priority, which is not permitted here",
	}[cmp.Or(rest, &record.Proofs{}).Rest]
	return "; it shares " + shared.Words() + " with the servers" + priority + "; in the median it took of that CPU " +
		listed(known, func(a record.Arm) string { return percent("%.1f", a.Disturbed.Load) + " in " + a.Name })
}

// readLate tells how long replies waited in the kernel before the load read them, which is part of
// each measured time but not the server's; "" when that was not audited.
func readLate(l *record.ReadLate) string {
	if l == nil {
		return ""
	}
	return fmt.Sprintf(", replies read %s after they came at p50 and %s at p99 (%s replies, by the kernel's stamps)", seconds(l.P50), seconds(l.P99), count(int(l.Replies)))
}

// fairness tells how replies are spread over connections: one line for each arm that starved
// connections or served them unevenly, and one for all others at their worst. It returns nil if
// that is unknown, for example where each request opens a connection. Jain's index (Jain, Chiu and
// Hawe 1984) is 1 if all connections get the same number of replies, and 1/n if one of n gets all.
func fairness(arms []record.Arm) []string {
	const uneven = .9 // Jain's index
	known := only(arms, func(a record.Arm) bool { return a.Fairness != nil })
	// Without an index no connection got a reply at all.
	unfair := func(a record.Arm) bool {
		return a.Fairness.Served < a.Fairness.Asked || a.Jain == nil || *a.Jain < uneven
	}
	lines := each(only(known, unfair), func(a record.Arm) string {
		return fmt.Sprintf("%s: %s of %s got answers, Jain's index %s, slowest first reply %s",
			a.Name, count(a.Fairness.Served), plural(a.Fairness.Asked, "connection"), evenness(a, 2), firstReply(a))
	})
	if even := slices.DeleteFunc(known, unfair); len(even) > 0 {
		least := slices.MinFunc(even, func(a, b record.Arm) int { return cmp.Compare(*a.Jain, *b.Jain) })
		slowest := slices.MaxFunc(even, func(a, b record.Arm) int { return cmp.Compare(a.Fairness.FirstReply, b.Fairness.FirstReply) })
		lines = append(lines, fmt.Sprintf("every connection%s got answers; Jain's index %s at worst (%s), slowest first reply %s (%s)",
			when(len(lines) > 0, " of the others"), evenness(least, 2), least.Name, firstReply(slowest), slowest.Name))
	}
	return lines
}

// evenness formats an arm's Jain's index with this number of decimals.
func evenness(a record.Arm, decimals int) string {
	return orNone(a.Jain, func(v float64) string { return strconv.FormatFloat(v, 'f', decimals, 64) })
}

// firstReply formats the slowest first reply of an arm's connections.
func firstReply(a record.Arm) string {
	return orNone(a.Fairness, func(f record.Fairness) string { return either(f.Served > 0, seconds(f.FirstReply), none) })
}

// disturbed describes in a line the disturbances of the windows, as the lowest and highest
// median over all arms: late sends, the CPU time that other programs and the hypervisor (steal)
// took, and the time in which a CPU limit stopped processes (throttled). The intervals of
// verdicts include them. It returns "" when nothing is known.
func disturbed(arms []record.Arm) string {
	known := only(arms, func(a record.Arm) bool { return a.Disturbed != nil })
	share := func(v float64) string { return percent("%.1f", v) }
	late := func(q string) func(*record.Disturbed) float64 {
		return func(d *record.Disturbed) float64 {
			if v, ok := d.Late[q]; ok {
				return v
			}
			return -1
		}
	}
	var parts []string
	for _, f := range []struct {
		name  string
		of    func(*record.Disturbed) float64 // below 0 where the machine could not tell
		write func(float64) string
	}{
		{"load late at p50", late("p50"), seconds}, {"load late at p99", late("p99"), seconds},
		{"other programs on the server's CPUs", func(d *record.Disturbed) float64 { return d.Foreign }, share},
		{"steal", func(d *record.Disturbed) float64 { return d.Steal }, share},
		{"throttled", func(d *record.Disturbed) float64 { return d.Throttled }, share},
	} {
		values := only(each(known, func(a record.Arm) float64 { return f.of(a.Disturbed) }), func(v float64) bool { return v >= 0 })
		if len(values) == 0 {
			continue
		}
		low, high := f.write(slices.Min(values)), f.write(slices.Max(values))
		// Most machines throttle nothing, which is not worth reading.
		if f.name != "throttled" || high != share(0) {
			parts = append(parts, f.name+" "+low+when(low != high, " to %s", high))
		}
	}
	return when(parts != nil, "medians of the arms, in the intervals: %s", strings.Join(parts, ", "))
}

// laws tells how near the valid windows came to breaking each law of the audit: the worst value
// and the tolerance. Such a law holds for any server, so a broken one means a fault in the
// measurement. It returns "" when none was checked.
func laws(all []record.Law) string {
	const wide = .25 // tolerance, as a ratio, above which keeping a law means little
	most := 0
	for _, l := range all {
		most = max(most, l.Windows)
	}
	parts := strings.Join(each(all, func(l record.Law) string {
		// A limit of 0 allows no violation, as for counts that must agree.
		allowed := either(l.Limit > 0, lawFigure(l.Limit, l.Unit), "none") + " allowed" +
			when(l.Unit == "ratio" && l.Limit > wide, ", which checks little") +
			// A law that fewer windows could check is weaker, so the line tells their number.
			when(l.Windows < most, ", %s", plural(l.Windows, "window"))
		_, of, _ := strings.Cut(l.Unit, "ratio")
		return fmt.Sprintf("%s %s%s (%s)", l.Name, lawFigure(l.Value, l.Unit), of, allowed)
	}), "; ")
	return when(most > 0, "worst of %s: %s", plural(most, "window"), parts)
}

// lawFigure formats a value or a limit. For a ratio it leaves out the words that say of what.
func lawFigure(v float64, unit string) string {
	if strings.HasPrefix(unit, "ratio") {
		return percent(fmt.Sprintf("%%.%df", decimals(100*v, 2)), v)
	}
	return plural(int(v), strings.TrimSuffix(unit, "s"))
}

// refusals tells why blocks were left out, in one line per rule with its worst window, since a
// rule that broke in many windows is one cause. The record has every window.
func refusals(all []record.Refusal) []string {
	// past returns how far a window is beyond its limit, as a ratio above 1. The limits on the number of
	// requests are lower ones.
	past := func(x record.Refusal) float64 { return either(x.Value < x.Limit, x.Limit/x.Value, x.Value/x.Limit) }
	return each(grouped(all, func(x record.Refusal) string { return x.Rule }), func(windows []record.Refusal) string {
		worst := slices.MaxFunc(windows, func(a, b record.Refusal) int {
			return cmp.Or(cmp.Compare(past(a), past(b)), cmp.Compare(a.Value, b.Value))
		})
		blocks := slices.Compact(each(windows, func(x record.Refusal) string { return strconv.Itoa(x.Block) }))
		return fmt.Sprintf("%s: %s in block%s%s%s; worst %s (%s, block %d), %s %s", worst.Rule, plural(len(windows), "window"), when(len(blocks) > 1, "s"),
			nbsp, strings.Join(blocks, ", "), plain(worst.Value), worst.Arm, worst.Block, either(worst.Value < worst.Limit, "below", "limit"), plain(worst.Limit))
	})
}

// sessions tells how many sessions completed and how long they took, with a line for each arm
// that had any. A session is a series of requests on one connection.
func sessions(arms []record.Arm) []string {
	return each(only(arms, func(a record.Arm) bool { return a.Sessions != nil }), func(a record.Arm) string {
		s := a.Sessions
		return fmt.Sprintf("%s: %s complete, %s broken", a.Name, count(s.Complete), count(s.Broken)) +
			when(s.P50 != nil, "; first request to last answer p50 %s", orNone(s.P50, seconds)) +
			when(s.P90 != nil, ", p90 %s", orNone(s.P90, seconds)) +
			when(s.P90 == nil, "; too few for %s (%s in a window)", either(s.P50 == nil, "p50", "p90"), count(s.PerWindow))
	})
}
