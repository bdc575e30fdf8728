package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"schedlab/internal/record"
	"schedlab/internal/report/document"
	"schedlab/internal/stats"
)

// Attack writes the summary of one attack for a terminal: the most important facts or, if
// verbose, all of them. First comes the answer in a sentence, then the table of times, then the
// facts with their labels. An attack that did not complete is marked as interrupted, because
// its figures are of the part that ran.
//
// This file also writes audits, from Audit on. Both are short reports of one command, without
// arms or verdicts.
func Attack(w io.Writer, a *record.Attack, verbose bool, o TextOptions) error {
	d := document.Document{Answer: attacked(a), Parts: []document.Part{attackTimes(a)}}
	if a.Status != record.Complete {
		d.State = "INTERRUPTED"
	}
	var facts document.Facts
	row := func(label, format string, args ...any) {
		facts = append(facts, document.Fact{Label: label, Text: fmt.Sprintf(format, args...)})
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
	row("requests", "%s", requests(a))
	if statuses := tallied(a.Statuses); len(statuses) > 0 {
		row("status codes", "%s", strings.Join(statuses, ", "))
	}
	// One kind of end is the count of requests again, so it is worth a line only where it is
	// asked for.
	if ends := tallied(a.Outcomes); len(ends) > 1 || verbose && len(ends) > 0 {
		row("outcomes", "%s", strings.Join(ends, ", "))
	}
	if a.FirstError >= 0 && verbose {
		row("first error", "after %s", seconds(a.FirstError))
	}
	switch {
	// How many connections got no reply is known only where requests are counted for each
	// connection.
	case a.Connections == 0 || a.Asked == 0 && a.Dialled > 0: // the engine vegeta does not count requests per connection
		row("connections", "%d opened", a.Dialled)
	case verbose:
		row("connections", "%s kept, %s asked, %d opened, %d starved, slowest first reply %s, Jain's index %.3f", count(a.Connections), count(a.Asked), a.Dialled, a.Starved, seconds(a.FirstReply), a.Jain)
	default:
		row("connections", "%s kept, %s asked, %d opened, %d starved", count(a.Connections), count(a.Asked), a.Dialled, a.Starved)
	}
	if s := a.Sessions; s != nil {
		row("sessions", "%s complete, %s broken, of %s good and %s failed requests: %s", count(s.Complete), count(s.Broken), count(s.Good), count(s.Failed), quantiles(s.Duration))
	}
	if i := a.Idle; i != nil {
		row("idle", "%s of %s opened, %s answered, %s lost", count(i.Opened), count(i.Asked), count(i.Answered), count(i.Lost))
	}
	doubts := document.Numbered(each(a.Doubts, record.Fact.String))
	if g := a.Generator; g != nil && verbose {
		row("generator", "%s", generated(g))
	}
	if verbose {
		d.Parts = append(d.Parts, facts, doubts)
	} else {
		d.Parts = append(d.Parts, append(facts, document.Below(doubts)...))
	}
	return o.write(w, d)
}

// tallied lists the counts in the order of their keys, as "200: 1,204".
func tallied[K cmp.Ordered](counts map[K]int) []string {
	return each(slices.Sorted(maps.Keys(counts)), func(k K) string { return fmt.Sprintf("%v: %s", k, count(counts[k])) })
}

// attacked returns the answer in one or two sentences: how many requests got a good reply, the
// highest quantile up to p99 that the number of requests can show, and starved connections.
func attacked(a *record.Attack) string {
	ended := a.Sent - a.CutOff
	switch {
	// Without any status not even a bad reply came, so nothing listens there, or it never
	// answers.
	case a.Good == 0 && ended > 0 && len(a.Statuses) == 0:
		return "Nothing answered at " + a.Target + "."
	case a.Good == 0:
		return "No request got a good reply."
	}
	text := fmt.Sprintf("All %s got a good reply", plural(a.Good, "request"))
	// A request that was cut off at the end has neither failed nor succeeded.
	if a.Good < ended {
		text = fmt.Sprintf("%s of %s got a good reply", count(a.Good), plural(ended, "request"))
	}
	// A time from the sending hides the wait of requests that were sent late (coordinated
	// omission), so the answer says where times begin.
	from := since(a)
	if !a.Paced() {
		from += ", as there is no schedule"
	}
	at, took := "mean", a.Response.Mean
	// They are in ascending order, so the last one that is known stays.
	for _, q := range quantilesOf(a.Response) {
		if q.known && q.name != "p99.9" {
			at, took = q.name, q.value
		}
	}
	answer := fmt.Sprintf("%s: %s %s, %s.", text, at, seconds(took), from)
	if a.Starved > 0 {
		answer += fmt.Sprintf(" %d of %s got no reply at all.", a.Starved, plural(a.Asked, "connection"))
	}
	return answer
}

// attackTimes returns the table of times, with a row for each kind: response, good replies
// alone, lag, connection and service. It leaves out rows that would be empty or would repeat
// the first. A quantile with too few requests behind it is a dash.
func attackTimes(a *record.Attack) document.Part {
	rows := [][]string{{"", "p50", "p90", "p99", "p99.9", "max", "mean"}}
	row := func(what string, q record.Quantiles, shown bool) {
		if q.Count == 0 || !shown {
			return
		}
		cells := []string{what}
		for _, at := range quantilesOf(q) {
			cells = append(cells, map[bool]string{true: seconds(at.value), false: none}[at.known])
		}
		rows = append(rows, append(cells, seconds(q.Max), seconds(q.Mean)))
	}
	row("response ("+since(a)+")", a.Response, true)
	row("good replies alone", a.GoodResponse, a.Good > 0 && a.Good < a.Sent-a.CutOff)
	row("lag (of the sending)", a.Lag, a.Paced())
	// Below 1 µs nobody waited for a connection.
	row("connection (waiting, opening)", a.Connect, a.Connect.Max >= 1e-6)
	row("service (from the writing)", a.Service, true)
	if len(rows) == 1 {
		return document.Table{}
	}
	return document.Table{Rows: rows}
}

// since tells from when response times count: the scheduled time, or the sending where there is
// no schedule.
func since(a *record.Attack) string {
	if a.Paced() {
		return "from the scheduled time"
	}
	return "from the sending"
}

// generated describes the work and the delays of the load generator, for the facts of an
// attack: how busy it was, how late it sent, how it rested, how late it read, and how long
// garbage collection stopped it.
func generated(g *record.Generator) string {
	text := fmt.Sprintf("%.0f %% busy, longest lag %s", 100*g.Busy, seconds(g.LongestLag))
	switch g.Rest {
	case "":
	// A generator that never sleeps needs CPUs for itself, and the longest gap between two
	// looks bounds how late it reads a reply.
	case "spins":
		text += fmt.Sprintf(", never slept, looked for replies every %s at least", seconds(g.LongestGap))
	default:
		text += ", slept between requests: it shares the server's CPU"
		if g.Rest != record.RestWaits {
			text += " (as SCHED_RR, so that it goes first when it wakes)"
		}
	}
	text += readLate(g.ReadLate)
	if g.GCs > 0 {
		text += fmt.Sprintf(", %s paused it for %s at most", plural(int(g.GCs), "garbage collection"), seconds(g.LongestPause))
	}
	return text
}

// requests describes the counts of requests. They add up: scheduled = sent + never sent, and
// sent = answered + without a reply + cut off. Counts of 0 are left out, except for sent and
// good.
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

// A quantileOf is one quantile of a time, in seconds. known reports whether there are enough
// requests above it for it to mean something; see stats.MinRequests.
type quantileOf struct {
	name  string
	value float64
	known bool
}

// quantilesOf returns p50, p90, p99 and p99.9 of q, in this order.
func quantilesOf(q record.Quantiles) (all []quantileOf) {
	for _, at := range []struct {
		name         string
		share, value float64
	}{{"p50", .5, q.P50}, {"p90", .9, q.P90}, {"p99", .99, q.P99}, {"p99.9", .999, q.P999}} {
		all = append(all, quantileOf{at.name, at.value, q.Count >= int64(stats.MinRequests(at.share))})
	}
	return all
}

// quantiles lists the known quantiles of q, its maximum and its mean in one line; "none"
// without any times.
func quantiles(q record.Quantiles) string {
	if q.Count == 0 {
		return "none"
	}
	known := each(only(quantilesOf(q), func(at quantileOf) bool { return at.known }), func(at quantileOf) string { return at.name + " " + seconds(at.value) })
	return strings.Join(append(known, "max "+seconds(q.Max), "mean "+seconds(q.Mean)), ", ")
}

// judgements are the classes of an audit's findings in the order of the report: the heading of
// each, and its word in the answer.
var judgements = []struct {
	kind  record.Judgement
	title string
	short string
}{
	{record.Impossible, "Impossible", "impossible"},
	{record.Suspicious, "Suspicious", "suspicious"},
	{record.CannotTell, "Cannot be told", "cannot be told"},
}

// Audit writes an audit for a terminal: each kind of finding once or, if verbose, every finding
// and every line that was read or not read.
func Audit(w io.Writer, a *record.Audit, verbose bool, o TextOptions) error {
	return o.write(w, auditDocument(a, verbose))
}

// AuditMarkdown writes every finding as Markdown, for an issue or a page.
func AuditMarkdown(w io.Writer, a *record.Audit) error {
	return writeMarkdown(w, auditDocument(a, true))
}

// AuditJSON writes the whole audit as JSON. Each finding gets its message, the sentence that
// the other formats print. a stays unchanged.
func AuditJSON(w io.Writer, a *record.Audit) error {
	full := *a
	full.Findings = slices.Clone(a.Findings)
	if full.Findings == nil {
		full.Findings = []record.AuditFinding{}
	}
	for i := range full.Findings {
		full.Findings[i].Message = full.Findings[i].Fact().String()
	}
	return record.WriteJSON(w, full)
}

// auditDocument returns an audit as a document, with a section for each class of findings.
// Unless verbose is set a code is printed once, with the lines of its other findings, because
// one cause in many runs is one thing to read.
func auditDocument(a *record.Audit, verbose bool) document.Document {
	d := document.Document{Name: a.File, Answer: auditAnswer(a)}
	for _, j := range judgements {
		var items document.Facts
		said := map[record.Code]bool{}
		for _, f := range a.Findings {
			// The findings are in the order of the audit's rules already, so only classes and
			// repetitions are left to sort out.
			if f.Kind != j.kind || said[f.Code] && !verbose {
				continue
			}
			said[f.Code] = true
			text := where(a, f) + f.Fact().String()
			if !verbose {
				text += likewise(a, f)
			}
			items = append(items, document.Fact{Label: f.Law, Text: text})
		}
		d.Parts = append(d.Parts, document.Section{Title: j.title, Parts: []document.Part{items}})
	}
	if verbose {
		read := each(a.Runs, func(run record.AuditRun) string {
			return fmt.Sprintf("%s: %s, %s loop, %s", lineSpan(run.Line, run.End), run.Tool, run.Loop, plural(len(run.Figures), "figure"))
		})
		not := each(a.NotRead, func(l record.AuditLines) string { return lineSpan(l.Line, l.End) + ": " + l.Text })
		d.Parts = append(d.Parts, append(labelled("Read", read...), labelled("Not read", not...)...))
		return d
	}
	// The text of unread lines would fill the screen, so their number has to do.
	lines, left := 0, ""
	for _, l := range a.NotRead {
		lines += l.End - l.Line + 1
		left = plural(lines, "line") + " that are no run's"
	}
	d.Parts = append(d.Parts, append(labelled("Not read", left), document.Below(nil)...))
	return d
}

// auditAnswer says what to do about the gravest finding, and counts the findings of each class, and
// the runs that were read.
func auditAnswer(a *record.Audit) string {
	var parts []string
	for _, j := range judgements {
		n := 0
		for _, f := range a.Findings {
			n += stats.Count(f.Kind == j.kind)
		}
		parts = append(parts, fmt.Sprintf("%d %s", n, j.short))
	}
	return fmt.Sprintf("%s. %s, in %s of %s.", auditAdvice(a), strings.Join(parts, ", "), plural(len(a.Runs), "run"), a.Format)
}

// auditAdvice returns what to do about the first finding that is impossible or suspicious: findings
// are in the order of their weight. It has no full stop.
func auditAdvice(a *record.Audit) string {
	for _, f := range a.Findings {
		if f.Kind != record.CannotTell {
			return where(a, f) + f.Fact().Part("do")
		}
	}
	if len(a.Findings) > 0 {
		return "Nothing speaks against these figures, but see what they cannot tell"
	}
	return "Nothing speaks against these figures"
}

// where returns the line and name of the run that a finding is about, to put in front of its
// text; "" if it is about several runs or if there is only one without a name.
func where(a *record.Audit, f record.AuditFinding) string {
	if f.Run < 0 || len(a.Runs) == 1 && a.Runs[0].Name == "" {
		return ""
	}
	name := a.Runs[f.Run].Name
	if name != "" {
		name = " (" + name + ")"
	}
	return fmt.Sprintf("line %d%s: ", f.Line, name)
}

// likewise returns "; likewise line 3, 9" with the lines of the other findings with the same
// code; "" for none.
func likewise(a *record.Audit, than record.AuditFinding) string {
	others := only(a.Findings, func(f record.AuditFinding) bool {
		return f.Code == than.Code && f.Kind == than.Kind && (f.Run != than.Run || f.Line != than.Line)
	})
	if len(others) == 0 {
		return ""
	}
	return "; likewise line " + strings.Join(each(others, func(f record.AuditFinding) string { return fmt.Sprint(f.Line) }), ", ")
}

// lineSpan returns "line 3" or "lines 3-5".
func lineSpan(line, end int) string {
	if line == end {
		return fmt.Sprintf("line %d", line)
	}
	return fmt.Sprintf("lines %d-%d", line, end)
}
