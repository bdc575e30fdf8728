package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"schedlab/internal/record"
	"schedlab/internal/stats"
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
		if a.Engine != "" {
			row("engine", "%s", a.Engine)
		}
		if a.Status != record.Complete {
			row("status", "INTERRUPTED")
		}
		row("requests", "%s", requests(a))
		from := "the scheduled time"
		if !a.Paced() {
			from = "the sending, as there is no schedule"
		}
		nobody := a.Good == 0 && a.Sent > a.CutOff && len(a.Statuses) == 0
		if nobody {
			row("response", "none: nothing answered at %s", a.Target)
		} else {
			row("response", "%s", quantiles(a.Response)+", from "+from)
		}
		if a.Good > 0 && a.Good < a.Sent-a.CutOff {
			row("good replies", "%s", quantiles(a.GoodResponse))
		}
		if a.Paced() {
			row("lag", "%s", quantiles(a.Lag)+", of the sending")
		}
		if a.Connect.Max >= 1e-6 {
			row("connection", "%s", quantiles(a.Connect)+", waiting for a free one or opening one")
		}
		if !nobody {
			row("service", "%s", quantiles(a.Service)+", from the writing")
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
			row("connections", "%s kept, %s asked, %d opened, %d starved, slowest first reply %s, Jain's index %.3f", count(a.Connections), count(a.Asked), a.Dialled, a.Starved, seconds(a.FirstReply), a.Jain)
		} else {
			row("connections", "%d opened", a.Dialled)
		}
		if s := a.Sessions; s != nil {
			row("sessions", "%s complete, %s broken, of %s good and %s failed requests: %s", count(s.Complete), count(s.Broken), count(s.Good), count(s.Failed), quantiles(s.Duration))
		}
		if i := a.Idle; i != nil {
			row("idle", "%s of %s opened, %s answered, %s lost", count(i.Opened), count(i.Asked), count(i.Answered), count(i.Lost))
		}
		if g := a.Generator; g != nil {
			row("generator", "%s", generated(g))
		}
		for i, d := range a.Doubts {
			row(fmt.Sprintf("[%d]", i+1), "%s", Say(d))
		}
		_ = tw.Flush() // into a buffer
	})
}

// AttackJSON writes the whole summary, its doubts with their text.
func AttackJSON(w io.Writer, a *record.Attack) error {
	full := *a
	full.Doubts = texts(a.Doubts)
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(full)
}

// generated says what the load side did.
func generated(g *record.Generator) string {
	text := fmt.Sprintf("%.0f %% busy, longest lag %s", 100*g.Busy, seconds(g.LongestLag))
	switch g.Rest {
	case "":
	case "spins":
		text += fmt.Sprintf(", never slept, looked for replies every %s at least", seconds(g.LongestGap))
	default:
		text += ", slept between requests: it shares the server's CPU"
		if g.Rest != "waits" {
			text += " (as SCHED_RR, so that it goes first when it wakes)"
		}
	}
	text += readLate(g.ReadLate)
	if g.GCs > 0 {
		text += fmt.Sprintf(", %s paused it for %s at most", plural(int(g.GCs), "garbage collection"), seconds(g.LongestPause))
	}
	return text
}

// requests are the counts, which add up.
func requests(a *record.Attack) string {
	text := fmt.Sprintf("%s sent (%s), %s good (%s)", count(a.Sent), rate(a.SentRate), count(a.Good), rate(a.Goodput))
	if a.Paced() {
		text = count(a.Scheduled) + " scheduled, " + text
	}
	for _, more := range []struct {
		n    int
		text string
	}{{a.Failed, "without a reply"}, {a.CutOff, "cut off at the end"}, {a.Scheduled - a.Sent, "never sent"}} {
		if more.n > 0 {
			text += ", " + count(more.n) + " " + more.text
		}
	}
	return text
}

// quantiles writes those that there are enough requests for.
func quantiles(q record.Quantiles) string {
	if q.Count == 0 {
		return "none"
	}
	var known []string
	for _, at := range []struct {
		name         string
		share, value float64
	}{{"p50", .5, q.P50}, {"p90", .9, q.P90}, {"p99", .99, q.P99}, {"p99.9", .999, q.P999}} {
		if q.Count >= int64(stats.MinRequests(at.share)) {
			known = append(known, at.name+" "+seconds(at.value))
		}
	}
	return strings.Join(append(known, "max "+seconds(q.Max), "mean "+seconds(q.Mean)), ", ")
}
