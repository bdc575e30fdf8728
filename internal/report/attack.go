package report

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"schedlab/internal/record"
)

// Attack renders the summary of one attack for a terminal.
func Attack(w io.Writer, a *record.Attack) error {
	return emit(w, "attack", func(b *bytes.Buffer) {
		tw := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
		row := func(label, format string, args ...any) {
			fmt.Fprintf(tw, "%s\t%s\n", label, strings.ReplaceAll(fmt.Sprintf(format, args...), nbsp, " "))
		}
		target := a.Target
		if a.Scenario != "" {
			target += " (" + a.Scenario + ")"
		}
		row("target", "%s", target)
		offered := a.Arrivals
		if a.Offered > 0 {
			offered = rate(a.Offered) + " " + offered
		}
		row("load", "%s for %s, seed %d", offered, seconds(a.Duration), a.Seed)
		if a.Status != record.Complete {
			row("status", "INTERRUPTED")
		}
		row("requests", "%s scheduled, %s sent (%s), %s good (%s)", count(a.Scheduled), count(a.Sent), rate(a.SentRate), count(a.Good), rate(a.Goodput))
		row("response", "%s", quantiles(a.Response)+", from the scheduled time")
		if a.Good > 0 && a.Good < a.Sent {
			row("good replies", "%s", quantiles(a.GoodResponse))
		}
		row("service", "%s", quantiles(a.Service)+", from the sending")
		if a.Loop != "closed" {
			row("lag", "%s", quantiles(a.Lag)+", of the sending")
		}
		var statuses []string
		for _, code := range slices.Sorted(maps.Keys(a.Statuses)) {
			statuses = append(statuses, fmt.Sprintf("%d: %s", code, count(a.Statuses[code])))
		}
		if len(statuses) > 0 {
			row("status codes", "%s", strings.Join(statuses, ", "))
		}
		var ends []string
		for _, name := range slices.Sorted(maps.Keys(a.Outcomes)) {
			ends = append(ends, fmt.Sprintf("%s: %s", name, count(a.Outcomes[name])))
		}
		row("outcomes", "%s", strings.Join(ends, ", "))
		if a.FirstError >= 0 {
			row("first error", "after %s", seconds(a.FirstError))
		}
		if a.Connections > 0 {
			row("connections", "%s kept, %d opened, %d starved, slowest first reply %s, Jain's index %.3f", count(a.Connections), a.Dialled, a.Starved, seconds(a.FirstReply), a.Jain)
		} else {
			row("connections", "%d opened", a.Dialled)
		}
		if s := a.Sessions; s != nil {
			row("sessions", "%s complete, %s broken: %s", count(s.Complete), count(s.Broken), quantiles(s.Duration))
		}
		if i := a.Idle; i != nil {
			row("idle", "%s of %s opened, %s answered, %s lost", count(i.Opened), count(i.Asked), count(i.Answered), count(i.Lost))
		}
		if g := a.Generator; g != nil {
			lag := ""
			if a.Loop != "closed" {
				lag = ", longest lag " + seconds(g.LongestLag)
			}
			row("generator", "%.0f %% busy, %s CPU, %d collections paused it for %s at most%s", 100*g.Busy, seconds(g.CPU), g.GCs, seconds(g.LongestPause), lag)
		}
		for i, d := range a.Doubts {
			row(fmt.Sprintf("[%d]", i+1), "%s", d.Text)
		}
		_ = tw.Flush() // into a buffer
	})
}

func quantiles(q record.Quantiles) string {
	return fmt.Sprintf("p50 %s, p90 %s, p99 %s, p99.9 %s, max %s, mean %s",
		seconds(q.P50), seconds(q.P90), seconds(q.P99), seconds(q.P999), seconds(q.Max), seconds(q.Mean))
}
