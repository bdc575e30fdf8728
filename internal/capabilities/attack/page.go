package attack

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"schedlab/internal/measuring/report"
	"schedlab/internal/measuring/report/document"
	"schedlab/internal/measuring/report/say"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
	"schedlab/internal/shared/responses"
	"schedlab/internal/shared/stats"
)

// Write writes the result of an attack as json or, for any other format, as text for a terminal: the answer in a sentence,
// the figures of its one arm, where the time went, and the most important facts or, if verbose, all of them.
func Write(w io.Writer, format string, r *record.Comparison, verbose bool, o document.Options) error {
	if format == "json" {
		return report.JSONAs(w, r, answer(r))
	}
	a := r.Arms[0]
	var facts document.Facts
	add := func(label, text string) {
		if text != "" {
			facts = append(facts, document.Fact{Label: label, Text: text})
		}
	}
	target := a.Name
	if r.Scenario != "" {
		target += " (" + r.Scenario + ")"
	}
	add("target", target)
	add("load", fmt.Sprintf("%s, for %s, seed %d", report.Load(a.Clients), say.Seconds(r.Window.Seconds()), r.Seed))
	var doubts []string
	for _, d := range r.Doubts {
		switch { // facts about the log and the sender are no doubts about the load: each has a row of its own
		case doubt.LogLinesLeftOut.Code.Is(d):
			add("log", d.String())
		case attackSender.Code.Is(d):
			add("sent by", d.String())
		default:
			doubts = append(doubts, d.String())
		}
	}
	add("requests", requests(a))
	add("failures", say.Endings(a.Failures))
	if f := a.Fairness; f != nil {
		clients := fmt.Sprintf("%s asked, %d starved", say.Count(f.Asked), a.StarvedConnections)
		if verbose {
			clients += fmt.Sprintf(", slowest first reply %s, Jain's index %s", say.Seconds(f.FirstReply), say.OrNone(a.Jain, say.Jain))
		}
		add("connections", clients)
	}
	if s := a.Sessions; s != nil {
		add("sessions", fmt.Sprintf("%s complete, %s broken, p50 %s, p90 %s", say.Count(s.Complete), say.Count(s.Broken), say.OrNone(s.P50, say.Seconds), say.OrNone(s.P90, say.Seconds)))
	}
	if a.Generator != nil && verbose {
		add("generator", generated(a.Generator))
	}
	if !verbose {
		facts, doubts = append(facts, document.Below(doubts)...), nil
	}
	state := ""
	if r.Status != record.Complete {
		state = "INTERRUPTED"
	}
	return say.Text(w, document.Document{
		State: state, Answer: answer(r), Parts: []document.Part{figures(r), histogram(a), report.TimeParts(a), facts, document.Numbered(doubts)},
	}, o)
}

// scheduled reports whether an arm's requests had a schedule. A closed loop has one only with a rate.
func scheduled(a record.Arm) bool { return !a.Clients.Closed() || a.Clients.Rate > 0 }

// lateShare is the lag of the load, as a ratio of the response time, above which the answer says so. It never
// does below a millisecond, where attack has no doubt either.
const lateShare = .1

// answer returns the answer in a few sentences: how many requests got a good reply, the highest quantile up to p99 that
// the number of requests can show, starved connections, and a load that was late.
func answer(r *record.Comparison) string {
	a := r.Arms[0]
	good, lost := a.Requests-a.Errors, 0
	for _, n := range request.Lost(a.Failures) {
		lost += n
	}
	switch {
	// Not even a bad reply came, so nothing listens there, or it never answers.
	case good == 0 && lost == a.Requests && lost > 0:
		answer := "Nothing answered at "
		if a.Failures[request.Short.String()]+a.Failures[request.Malformed.String()] > 0 { // a part of a reply is more than nothing
			answer = "No whole reply came from "
		}
		return answer + a.Name + ": " + request.Mostly(a.Failures) + "."
	case good == 0 && len(a.Failures) > 0:
		return "No request got a good reply: " + request.Mostly(a.Failures) + "."
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
		text += " The others: " + say.Endings(a.Failures) + "."
	}
	if i := slices.IndexFunc(r.Doubts, doubt.Redirects.Code.Is); i >= 0 {
		text += " " + say.UpperFirst(r.Doubts[i].String()) + "."
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

// figures returns the table of an arm's response times, and of how late the load sent. A quantile with too few
// requests behind it is a dash.
func figures(r *record.Comparison) document.Part {
	a := r.Arms[0]
	head, times, late := []string{""}, []string{"response (" + since(a) + ")"}, []string{"late by (the load)"}
	for _, m := range stats.Quantiles() {
		head, times = append(head, m.Label), append(times, say.OrNone(a.Median(m.Figure), say.Seconds))
		late = append(late, say.OrNone(a.Disturbed.Late[m.Figure].Pointer(), say.Seconds))
	}
	beyond := say.None
	if i := slices.IndexFunc(a.Curve, func(p responses.Point) bool { return p.Quantile == .999 }); i >= 0 {
		beyond = say.Seconds(a.Curve[i].Seconds)
	}
	rows := [][]string{append(head, "p99.9", "mean"), append(times, beyond, say.OrNone(a.Mean, say.Seconds))}
	if scheduled(a) && a.Requests > 0 {
		rows = append(rows, append(late, "", ""))
	}
	return document.Table{Rows: rows}
}

// histogram draws how the response times spread: a bar for each of a few spans of time, which are equally wide by logarithm. It is
// empty if too few requests were counted to tell. The slowest requests, of which the curve knows no time, are in the last line.
func histogram(a record.Arm) document.Part {
	const spans, longest = 8, 40 // lines, and columns of the longest bar
	if len(a.Curve) < spans || a.Curve[0].Seconds <= 0 {
		return document.Table{}
	}
	low, last := a.Curve[0].Seconds, a.Curve[len(a.Curve)-1]
	var shares []float64
	var ends []string
	before, at := 0., 0
	for i := range spans {
		end := low * math.Pow(last.Seconds/low, float64(i+1)/spans)
		if i == spans-1 {
			end = last.Seconds
		}
		for at < len(a.Curve) && a.Curve[at].Seconds <= end {
			at++
		}
		upTo := a.Curve[max(at-1, 0)].Quantile
		shares, ends, before = append(shares, upTo-before), append(ends, "to "+say.Seconds(end)), upTo
	}
	if before < 1 {
		shares, ends = append(shares, 1-before), append(ends, "above")
	}
	rows := [][]string{{"response", "requests", ""}}
	for i, share := range shares {
		columns := int(math.Round(longest * share / slices.Max(shares)))
		rows = append(rows, []string{ends[i], say.Percent(fmt.Sprintf("%%.%df", stats.Decimals(100*share, 2)), share), strings.Repeat("█", columns)})
	}
	return document.Table{Rows: rows, Words: true}
}

// requests describes the counts of requests and the rate of good replies.
func requests(a record.Arm) string {
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

// readLate tells how long replies waited in the kernel before the load read them, which is part of
// each measured time but not the server's; "" when that was not audited.
func readLate(l *record.ReadLate) string {
	if l == nil {
		return ""
	}
	return fmt.Sprintf(", replies read %s after they came at p50 and %s at p99 (%s replies, by the kernel's stamps)", say.Seconds(l.P50), say.Seconds(l.P99), say.Count(int(l.Replies)))
}
