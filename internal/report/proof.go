package report

import (
	"fmt"
	"strings"

	"schedlab/internal/record"
)

// floor says what the load itself adds to every response time; "" when that was not
// measured.
func floor(f *record.Floor) string {
	if f == nil {
		return ""
	}
	return fmt.Sprintf("; of a server that does nothing it measures p50 %s and p99 %s at %s: that much of every time is the load's and the kernel's",
		seconds(f.P50), seconds(f.P99), rate(f.Rate))
}

// generator says what the load side did, at its worst over the arms; "" when
// that was not recorded.
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

// visiting says what the load took of CPUs that it shares with the servers, and whether it
// went first there; "" where it has its own.
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

// readLate says how long replies waited to be read; "" when that was not audited.
func readLate(l *record.ReadLate) string {
	if l == nil {
		return ""
	}
	return fmt.Sprintf(", replies read %s after they came at p50 and %s at p99 (%s replies, by the kernel's stamps)", seconds(l.P50), seconds(l.P99), count(int(l.Replies)))
}
