package report

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"schedlab/internal/record"
	"schedlab/internal/report/document"
	"schedlab/internal/report/say"
	"schedlab/internal/stats"
)

// Attack writes the result of an attack as json or, for any other format, as text for a terminal: the answer in a sentence,
// the figures of its one arm, where the time went, and the most important facts or, if verbose, all of them.
func Attack(w io.Writer, format string, r *record.Result, verbose bool, o TextOptions) error {
	if format == "json" {
		full := complete(r)
		full.Headline = attacked(r)
		return say.JSON(w, full)
	}
	a := r.Arms[0]
	var clients, sessions, generator string
	if f := a.Fairness; f != nil {
		clients = fmt.Sprintf("%s asked, %d starved", say.Count(f.Asked), a.StarvedConnections)
		if verbose {
			clients += fmt.Sprintf(", slowest first reply %s, Jain's index %s", say.Seconds(f.FirstReply), say.OrNone(a.Jain, jain))
		}
	}
	if s := a.Sessions; s != nil {
		sessions = fmt.Sprintf("%s complete, %s broken, p50 %s, p90 %s", say.Count(s.Complete), say.Count(s.Broken), say.OrNone(s.P50, say.Seconds), say.OrNone(s.P90, say.Seconds))
	}
	if a.Generator != nil && verbose {
		generator = generated(a.Generator)
	}
	target := a.Name
	if r.Scenario != "" {
		target += " (" + r.Scenario + ")"
	}
	leftOut := first(r.Doubts, isLeftOut)
	facts := slices.Concat(
		labelled("target", target),
		labelled("load", fmt.Sprintf("%s, for %s, seed %d", Load(a.Clients), say.Seconds(r.Window), r.Seed)),
		labelled("log", leftOut.String()), // what a log lacks has a line of its own
		labelled("requests", attackRequests(a)), labelled("failures", endings(a.Failures)),
		labelled("connections", clients), labelled("sessions", sessions), labelled("generator", generator),
	)
	doubts := each(only(r.Doubts, func(d record.Fact) bool { return !isLeftOut(d) }), record.Fact.String)
	if !verbose {
		facts, doubts = append(facts, document.Below(doubts)...), nil
	}
	state := ""
	if r.Status != record.Complete {
		state = "INTERRUPTED"
	}
	parts := []document.Part{attackFigures(r)}
	if stamped(a) {
		parts = append(parts, attackParts(a))
	}
	return say.Text(w, document.Document{State: state, Answer: attacked(r), Parts: append(parts, facts, document.Numbered(doubts))}, o)
}

// isLeftOut reports whether a doubt tells what of a log was not sent.
func isLeftOut(d record.Fact) bool { return d.Code == record.LogLinesLeftOut }

// scheduled reports whether an arm's requests had a schedule. A closed loop has one only with a rate.
func scheduled(a record.Arm) bool { return !a.Clients.Closed() || a.Clients.Rate > 0 }

// lateShare is the lag of the load, as a ratio of the response time, above which the answer says so. It never
// does below a millisecond, where attack has no doubt either.
const lateShare = .1

// attacked returns the answer in a few sentences: how many requests got a good reply, the highest quantile up to p99 that
// the number of requests can show, starved connections, and a load that was late.
func attacked(r *record.Result) string {
	a := r.Arms[0]
	good, lost := a.Requests-a.Errors, total(slices.Collect(maps.Values(record.Lost(a.Failures))), func(n int) int { return n })
	switch {
	// Not even a bad reply came, so nothing listens there, or it never answers.
	case good == 0 && lost == a.Requests && lost > 0:
		answer := "Nothing answered at "
		if a.Failures[record.Short.String()]+a.Failures[record.Malformed.String()] > 0 { // a part of a reply is more than nothing
			answer = "No whole reply came from "
		}
		return answer + a.Name + ": " + record.Mostly(a.Failures) + "."
	case good == 0 && len(a.Failures) > 0:
		return "No request got a good reply: " + record.Mostly(a.Failures) + "."
	case good == 0:
		return "No request got a good reply."
	}
	text := fmt.Sprintf("All %s got a good reply", say.Plural(good, "request"))
	switch {
	case a.Errors > 0:
		text = fmt.Sprintf("%s of %s got a good reply", say.Count(good), say.Plural(a.Requests, "request"))
	case a.Clients.Closed() || r.Status != record.Complete:
		text = fmt.Sprintf("All %s that ended got a good reply", say.Plural(good, "request"))
	}
	shown, name := a.Mean, "mean"
	for _, q := range []struct {
		name  string
		value *float64
	}{{"p50", a.P50}, {"p90", a.P90}, {"p99", a.P99}} {
		if q.value != nil {
			shown, name = q.value, q.name
		}
	}
	text += fmt.Sprintf(": %s %s", name, say.OrNone(shown, say.Seconds))
	// A refusal is over at once, so the times of all requests may flatter the server.
	if a.GoodMean != nil {
		text += fmt.Sprintf(" of all, and a mean of %s of the good ones", say.Seconds(*a.GoodMean))
	}
	text += ", " + since(a)
	// A time from the sending hides the wait of requests that were sent late (coordinated omission).
	if !scheduled(a) {
		text += ", as there is no schedule"
	}
	text += "."
	// Where most connections get no answer, nearly all requests go over the others.
	if f := a.Fairness; f != nil && a.StarvedConnections > 0 {
		text = fmt.Sprintf("%d of %s got no reply at all, and the times of good replies are those of the others: ", a.StarvedConnections, say.Plural(f.Asked, "connection")) + text
	}
	if late := a.Disturbed.Late[stats.P99].Or(0); scheduled(a) && a.P99 != nil && late > max(lateShare**a.P99, 1e-3) {
		text += fmt.Sprintf(" The load itself was late by %s at p99: do not take that for the server's.", say.Seconds(late))
	}
	if len(a.Failures) > 0 {
		text += " The others: " + endings(a.Failures) + "."
	}
	for _, d := range only(r.Doubts, func(d record.Fact) bool { return d.Code == record.Redirects }) {
		text += " " + say.UpperFirst(d.String()) + "."
	}
	return text
}

// since tells from when response times count: the scheduled time, or the sending where there is no schedule.
func since(a record.Arm) string {
	if scheduled(a) {
		return "from the scheduled time"
	}
	return "from the sending"
}

// attackFigures returns the table of an arm's times, with those of its load: how late it sent. A quantile with too few
// requests behind it is a dash.
func attackFigures(r *record.Result) document.Part {
	a := r.Arms[0]
	head, times, late := []string{""}, []string{"response (" + since(a) + ")"}, []string{"late by (the load)"}
	for _, m := range stats.Quantiles() {
		head, times = append(head, m.Label), append(times, say.OrNone(a.Median(m.Name), say.Seconds))
		late = append(late, say.OrNone(a.Disturbed.Late[m.Figure].Pointer(), say.Seconds))
	}
	beyond := func(q float64) string {
		at := first(a.Curve, func(p record.Point) bool { return p.Quantile == q })
		return either(at.Quantile == q, say.Seconds(at.Seconds), say.None)
	}
	rows := [][]string{append(head, "p99.9", "mean"), append(times, beyond(.999), say.OrNone(a.Mean, say.Seconds))}
	if scheduled(a) && a.Requests > 0 {
		rows = append(rows, append(late, "", ""))
	}
	return document.Table{Rows: rows}
}

// attackParts returns the table of the parts of good requests' time, on average and in the slowest 1 %. Without stamps of
// the server only the client's own part is known.
func attackParts(a record.Arm) document.Part {
	b := breakDown([]record.Arm{a}, func(p record.Phase) float64 { return p.Mean })
	tail := breakDown([]record.Arm{a}, func(p record.Phase) float64 { return p.Tail })
	b.Rows[0].Name, tail.Rows[0].Name = "on average", "in the slowest 1"+say.NBSP+"%"
	b.Rows = append(b.Rows, tail.Rows[0])
	table := b.cells()
	table[0][0] = ""
	return document.Table{Rows: table}
}

// attackRequests describes the counts of requests and the rate of good replies.
func attackRequests(a record.Arm) string {
	text := fmt.Sprintf("%s sent, %s good (goodput %s)", say.Count(a.Requests), say.Count(a.Requests-a.Errors), say.OrNone(a.Goodput, say.Rate))
	if a.Generator != nil && a.Generator.Missing > 0 {
		text += fmt.Sprintf(", %s never sent", say.Count(a.Generator.Missing))
	}
	return text
}

// generated describes the work and the delays of the load generator: how busy it was, how late it sent, how it rested, how
// late it read, and how long garbage collection stopped it.
func generated(g *record.Proofs) string {
	text := fmt.Sprintf("%s busy, longest lag %s", say.Percent("%.0f", g.Busy), say.Seconds(g.LongestLag))
	switch g.Rest {
	case record.RestSpins:
		text += ", never slept"
	case record.RestWaits:
		text += ", slept between requests: it shares the server's CPU"
	case record.RestFirst:
		text += ", slept between requests: it shares the server's CPU (as SCHED_RR, so that it goes first when it wakes)"
	}
	text += readLate(g.ReadLate)
	if g.GCs > 0 {
		text += fmt.Sprintf(", %s paused it for %s at most", say.Plural(int(g.GCs), "garbage collection"), say.Seconds(g.LongestPause))
	}
	return text
}
