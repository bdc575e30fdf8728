package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"schedlab/internal/prose"
	"schedlab/internal/record"
	"schedlab/internal/report/document"
	"schedlab/internal/stats"
)

// Attack writes the summary of one attack for a terminal: the answer in a sentence, the table of
// times, and the most important facts or, if verbose, all of them. An attack that did not complete is
// marked as interrupted, because its figures are of the part that ran.
//
// This file also writes audits, from Audit on, and choices, from WriteChoice on. All are short
// reports of one command, without a run of their own.
func Attack(w io.Writer, a *record.Attack, verbose bool, o TextOptions) error {
	connections := fmt.Sprintf("%s kept, %s asked, %d opened, %d starved", count(a.Connections), count(a.Asked), a.Dialled, a.Starved)
	switch {
	// How many connections got no reply is known only where requests are counted for each
	// connection, which the engine vegeta does not.
	case a.Connections == 0 || a.Asked == 0 && a.Dialled > 0:
		connections = fmt.Sprintf("%d opened", a.Dialled)
	case verbose:
		connections += fmt.Sprintf(", slowest first reply %s, Jain's index %.3f", seconds(a.FirstReply), a.Jain)
	}
	// A fact stays "" where there is nothing to tell, and is left out then.
	var sessions, idle, generator string
	if s := a.Sessions; s != nil {
		sessions = fmt.Sprintf("%s complete, %s broken, of %s good and %s failed requests: %s", count(s.Complete), count(s.Broken), count(s.Good), count(s.Failed), quantiles(s.Duration))
	}
	if i := a.Idle; i != nil {
		idle = fmt.Sprintf("%s of %s opened, %s answered, %s lost", count(i.Opened), count(i.Asked), count(i.Answered), count(i.Lost))
	}
	if a.Generator != nil && verbose {
		generator = generated(a.Generator)
	}
	offered := when(a.Offered > 0, "%s ", rate(a.Offered)) + a.Arrivals
	facts := slices.Concat(
		labelled("target", a.Target+when(a.Scenario != "", " (%s)", a.Scenario)),
		labelled("load", fmt.Sprintf("%s for %s, seed %d", offered, seconds(a.Duration), a.Seed)),
		labelled("engine", a.Engine),
		labelled("requests", requests(a)),
		labelled("status codes", tallied(a.Statuses)),
		// One kind of end is the count of requests again, so it is worth a line only where it is asked for.
		labelled("outcomes", either(len(a.Outcomes) > 1 || verbose, tallied(a.Outcomes), "")),
		labelled("first error", when(a.FirstError >= 0 && verbose, "after %s", seconds(a.FirstError))),
		labelled("connections", connections), labelled("sessions", sessions), labelled("idle", idle), labelled("generator", generator),
	)
	state := when(a.Status != record.Complete, "INTERRUPTED")
	// What a log lacks has a line of its own.
	isLeftOut := func(d record.Fact) bool { return d.Code == record.LogLinesLeftOut }
	leftOut := first(a.Doubts, isLeftOut)
	doubts := each(only(a.Doubts, func(d record.Fact) bool { return !isLeftOut(d) }), record.Fact.String)
	if !leftOut.None() {
		facts = slices.Insert(facts, 2, document.Fact{Label: "log", Text: leftOut.String()})
	}
	if !verbose {
		facts, doubts = append(facts, document.Below(doubts)...), nil
	}
	parts := []document.Part{attackTimes(a), facts, document.Numbered(doubts)}
	return writeText(w, document.Document{State: state, Answer: attacked(a), Parts: parts}, o)
}

// tallied lists the counts in the order of their keys, as "200: 1,204".
func tallied[K cmp.Ordered](counts map[K]int) string {
	return listed(slices.Sorted(maps.Keys(counts)), func(k K) string { return fmt.Sprintf("%v: %s", k, count(counts[k])) })
}

// lateShare is the lag of the load, as a ratio of the response time, above which the answer says so. It never
// does below a millisecond, where attack has no doubt either.
const lateShare = .1

// attacked returns the answer in one or two sentences: how many requests got a good reply, the
// highest quantile up to p99 that the number of requests can show, starved connections, and a load that was late.
func attacked(a *record.Attack) string {
	ended := a.Sent - a.CutOff // a request that was cut off at the end has neither failed nor succeeded
	switch {
	// Without any status not even a bad reply came, so nothing listens there, or it never answers.
	case a.Good == 0 && ended > 0 && len(a.Statuses) == 0:
		// A part of a reply is more than nothing.
		partly := a.Outcomes[record.Short.String()]+a.Outcomes[record.Malformed.String()] > 0
		return either(partly, "No whole reply came from ", "Nothing answered at ") + a.Target + when(len(a.Ends()) > 0, ": %s", record.Mostly(a.Ends())) + "."
	case a.Good == 0:
		return "No request got a good reply" + when(len(a.Ends()) > 0, ": %s", record.Mostly(a.Ends())) + "."
	}
	text := either(a.Good < ended, count(a.Good)+" of "+plural(ended, "request"), "All "+plural(a.Good, "request")+when(a.CutOff > 0, " that ended")) + " got a good reply"
	// A time from the sending hides the wait of requests that were sent late (coordinated
	// omission), so the answer says where times begin.
	from := since(a) + when(!a.Paced(), ", as there is no schedule")
	shown := quantileOf{name: "mean", value: a.Response.Mean}
	for _, q := range quantilesOf(a.Response)[:3] { // ascending
		shown = either(q.known, q, shown)
	}
	// Where most connections get no answer, nearly all requests go over the others.
	return when(a.Starved > 0, "%d of %s got no reply at all, and the times of good replies are those of the others: ", a.Starved, plural(a.Asked, "connection")) +
		fmt.Sprintf("%s: %s %s, %s.", text, shown.name, seconds(shown.value), from) +
		when(a.Paced() && a.Lag.P99 > max(lateShare*a.Response.P99, 1e-3), " The load itself was late by %s at p99: do not take that for the server's.", seconds(a.Lag.P99)) +
		when(len(a.Ends()) > 0, " The others: %s.", endings(a.Ends())) + redirected(a)
}

// redirected returns a sentence about replies that only name another page; "" if there are none.
func redirected(a *record.Attack) string {
	n, statuses := a.Redirects()
	which := listed(statuses, func(status uint16) string { return fmt.Sprint(status) })
	return when(n > 0, " %s of the replies are redirects (%s), and none was followed: ask for the page that they name.", count(n), which)
}

// attackTimes returns the table of times, with a row for each kind: response, good replies
// alone, lag, connection and service. It leaves out rows that would be empty or would repeat
// the first. A quantile with too few requests behind it is a dash.
func attackTimes(a *record.Attack) document.Part {
	rows := [][]string{{"", "p50", "p90", "p99", "p99.9", "max", "mean"}}
	for _, row := range []struct {
		what  string
		times record.Quantiles
		shown bool
	}{
		{"response (" + since(a) + ")", a.Response, true},
		{"good replies alone", a.GoodResponse, a.Good > 0 && a.Good < a.Sent-a.CutOff},
		{"lag (of the sending)", a.Lag, a.Paced()},
		{"connection (waiting, opening)", a.Connect, a.Connect.Max >= 1e-6}, // below 1 µs nobody waited for one
		{"service (from the writing)", a.Service, true},
	} {
		if row.times.Count > 0 && row.shown {
			cells := each(quantilesOf(row.times), func(at quantileOf) string { return either(at.known, seconds(at.value), none) })
			rows = append(rows, slices.Concat([]string{row.what}, cells, []string{seconds(row.times.Max), seconds(row.times.Mean)}))
		}
	}
	return document.Table{Rows: rows}
}

// since tells from when response times count: the scheduled time, or the sending where there is no schedule.
func since(a *record.Attack) string {
	return either(a.Paced(), "from the scheduled time", "from the sending")
}

// generated describes the work and the delays of the load generator, for the facts of an attack: how busy it
// was, how late it sent, how it rested, how late it read, and how long garbage collection stopped it.
func generated(g *record.Generator) string {
	rest := when(g.Rest != "", ", slept between requests: it shares the server's CPU") +
		when(g.Rest != "" && g.Rest != record.RestWaits, " (as SCHED_RR, so that it goes first when it wakes)")
	// A generator that never sleeps needs CPUs for itself, and the longest gap between two
	// looks bounds how late it reads a reply.
	if g.Rest == record.RestSpins {
		rest = fmt.Sprintf(", never slept, looked for replies every %s at least", seconds(g.LongestGap))
	}
	return fmt.Sprintf("%.0f %% busy, longest lag %s", 100*g.Busy, seconds(g.LongestLag)) + rest + readLate(g.ReadLate) +
		when(g.GCs > 0, ", %s paused it for %s at most", plural(int(g.GCs), "garbage collection"), seconds(g.LongestPause))
}

// requests describes the counts of requests. They add up: scheduled = sent + never sent, and sent = answered
// + without a reply + cut off. Counts of 0 are left out, except for sent and good.
func requests(a *record.Attack) string {
	unsent := a.Scheduled - a.Sent
	return when(a.Paced(), "%s scheduled, ", count(a.Scheduled)) +
		fmt.Sprintf("%s sent (%s), %s good (%s)", count(a.Sent), rate(a.SentRate), count(a.Good), rate(a.Goodput)) +
		when(a.Failed > 0, ", %s without a reply", count(a.Failed)) +
		when(a.CutOff > 0, ", %s cut off at the end", count(a.CutOff)) +
		when(unsent > 0, ", %s never sent", count(unsent))
}

// A quantileOf is one quantile of a time, in seconds. known reports whether there are enough
// requests above it for it to mean something; see stats.MinRequests.
type quantileOf struct {
	name  string
	value float64
	known bool
}

// quantilesOf returns p50, p90, p99 and p99.9 of q, in this order.
func quantilesOf(q record.Quantiles) []quantileOf {
	known := func(share float64) bool { return q.Count >= int64(stats.MinRequests(share)) }
	return []quantileOf{{"p50", q.P50, known(.5)}, {"p90", q.P90, known(.9)}, {"p99", q.P99, known(.99)}, {"p99.9", q.P999, known(.999)}}
}

// quantiles lists the known quantiles of q, its maximum and its mean in one line; "none" without any times.
func quantiles(q record.Quantiles) string {
	known := only(quantilesOf(q), func(at quantileOf) bool { return at.known })
	known = append(known, quantileOf{"max", q.Max, true}, quantileOf{"mean", q.Mean, true})
	return either(q.Count > 0, listed(known, func(at quantileOf) string { return at.name + " " + seconds(at.value) }), "none")
}

// judgements are the classes of an audit's findings, in the order of the report.
var judgements = []record.Judgement{record.Impossible, record.Suspicious, record.CannotTell}

// judgedAs returns a class of findings in words: "cannot be told".
func judgedAs(kind record.Judgement) string {
	return either(kind == record.CannotTell, "cannot be told", string(kind))
}

// Audit writes an audit as json, markdown or, for any other format, text for a terminal. A text has each kind
// of finding once or, if verbose, every finding and every line that was read or not read; the other formats
// have all. In JSON each finding gets its message, the sentence that the other formats print.
func Audit(w io.Writer, format string, a *record.Audit, verbose bool, o TextOptions) error {
	switch format {
	case "json":
		full := *a
		full.Findings = list(a.Findings)
		for i := range full.Findings {
			full.Findings[i].Message = full.Findings[i].Fact().String()
		}
		return record.WriteJSON(w, full)
	case "markdown":
		return writeMarkdown(w, auditDocument(a, true))
	}
	return writeText(w, auditDocument(a, verbose), o)
}

// auditDocument returns an audit as a document, with a section for each class of findings.
// Unless verbose is set a code is printed once, with the lines of its other findings, because
// one cause in many runs is one thing to read.
func auditDocument(a *record.Audit, verbose bool) document.Document {
	d := document.Document{Name: a.File, Answer: auditAnswer(a)}
	for _, kind := range judgements {
		var items document.Facts
		said := map[record.Code]bool{}
		for _, f := range a.Findings {
			if f.Kind == kind && (verbose || !said[f.Code]) {
				said[f.Code] = true
				items = append(items, document.Fact{Label: f.Law, Text: where(a, f) + f.Fact().String() + when(!verbose, "%s", likewise(a, f))})
			}
		}
		d.Parts = append(d.Parts, document.Section{Title: upperFirst(judgedAs(kind)), Parts: []document.Part{items}})
	}
	if verbose {
		read := each(a.Runs, func(run record.AuditRun) string {
			return fmt.Sprintf("%s: %s, %s loop, %s", lineSpan(run.Line, run.End), run.Tool, run.Loop, plural(len(run.Figures), "figure"))
		})
		not := each(a.NotRead, func(l record.AuditLines) string {
			return lineSpan(l.Line, l.End) + ": " + l.Text + when(l.Reason != "", " (%s)", l.Reason)
		})
		d.Parts = append(d.Parts, append(labelled("Read", read...), labelled("Not read", not...)...))
		return d
	}
	// The text of unread lines would fill the screen, so their number has to do.
	lines := linesNotRead(a)
	reason := first(a.NotRead, func(l record.AuditLines) bool { return l.Reason != "" })
	d.Parts = append(d.Parts, append(labelled("Not read", when(lines > 0, "%s%s", plural(lines, "line"),
		when(reason.Line > 0, "; line %d: %s", reason.Line, reason.Reason))), document.Below(nil)...))
	return d
}

// linesNotRead returns how many lines an audit did not read.
func linesNotRead(a *record.Audit) int {
	return total(a.NotRead, func(l record.AuditLines) int { return l.End - l.Line + 1 })
}

// auditAnswer tells how to treat the first finding that is impossible or suspicious, as findings are in the
// order of their weight, and counts the findings of each class and the runs that were read. Without such a
// finding it tells what the first of the others means for all figures, where its code has such words.
func auditAnswer(a *record.Audit) string {
	grave := first(a.Findings, func(f record.AuditFinding) bool { return f.Kind != record.CannotTell })
	limits := first(a.Findings, func(f record.AuditFinding) bool {
		but := f.Fact().Part("but")
		return but != "" && but != string(f.Code)
	})
	advice := "Nothing speaks against these figures"
	switch {
	case grave.Code != "":
		advice = where(a, grave) + grave.Fact().Part("do")
	case limits.Code != "":
		advice += ", but " + limits.Fact().Part("but")
	case len(a.Findings) > 0:
		advice += ", but see what they cannot tell"
	}
	counts := listed(judgements, func(kind record.Judgement) string {
		return fmt.Sprintf("%d %s", len(only(a.Findings, func(f record.AuditFinding) bool { return f.Kind == kind })), judgedAs(kind))
	})
	unread := linesNotRead(a)
	// What was not read may be what matters, so it comes before the counts.
	return fmt.Sprintf("%s%s. %s, in %s of %s.", advice, when(unread > 0, "; %s not read", plural(unread, "line")),
		counts, plural(len(a.Runs), "run"), a.Format)
}

// where returns the line and name of the run that a finding is about, to put in front of its
// text; "" if it is about several runs or if there is only one without a name.
func where(a *record.Audit, f record.AuditFinding) string {
	if f.Run < 0 || len(a.Runs) == 1 && a.Runs[0].Name == "" {
		return ""
	}
	name := a.Runs[f.Run].Name
	return fmt.Sprintf("line %d%s: ", f.Line, when(name != "", " (%s)", name))
}

// likewise returns "; likewise line 3, 9" with the lines of the other findings with the same
// code; "" for none.
func likewise(a *record.Audit, than record.AuditFinding) string {
	others := only(a.Findings, func(f record.AuditFinding) bool {
		return f.Code == than.Code && f.Kind == than.Kind && (f.Run != than.Run || f.Line != than.Line)
	})
	return when(others != nil, "; likewise line %s", listed(others, func(f record.AuditFinding) string { return strconv.Itoa(f.Line) }))
}

// lineSpan returns "line 3" or "lines 3-5".
func lineSpan(line, end int) string {
	return either(line == end, fmt.Sprintf("line %d", line), fmt.Sprintf("lines %d-%d", line, end))
}

// WriteChoice writes the recommendation of `schedlab choose` as text, json or markdown. It adds the headline.
func WriteChoice(w io.Writer, format string, c record.Choice) error {
	c.Headline = c.Answer.String() + "."
	return documentFormats(choiceDocument, func(w io.Writer, c record.Choice) error { return record.WriteJSON(w, c) }).Render(w, format, c)
}

// choiceDocument returns a recommendation as a document: the answer, the reasons, when the
// choice does not matter, and how to test it, or the result of the test if it ran.
func choiceDocument(c record.Choice) document.Document {
	facts := slices.Concat(labelled("For", c.Asked.String()), labelled("Why", c.Why.String()), labelled("Size", c.Size.String()),
		labelled("Handlers", c.Parser.String()), labelled("Note", "the choice does not matter "+c.Unless.String()))
	facts = append(facts, labelled("SLO", when(c.Verified == nil && c.Asked.Names["slo"] != "", "%s is not judged yet: the test does that for each model (--verify)", c.Asked.Names["slo"]))...)
	test := labelled("Test it:", c.Test)
	if v := c.Verified; v != nil {
		facts = slices.Concat(facts, labelled("Tested", v.Why.String()), labelled("SLO", each(v.SLO, answered)...), labelled("Kept", each(v.Keeps, record.Fact.String)...))
		test = labelled("Record:", v.Dir)
	}
	return document.Document{Answer: c.Headline, Parts: []document.Part{
		facts, document.Lines(nonEmpty(when(c.Unverified != "", "Not tested: %s.", c.Unverified))), document.Commands(test),
		labelled("Doubts", each(c.Doubts, record.Fact.String)...), document.Commands(labelled("Code:", c.Recipe)),
	}}
}

// WriteChoices writes the Markdown table of all recommendations: a section for each kind of
// requests, and in it a line for each goal. size returns the reason for the size of a mode.
func WriteChoices(w io.Writer, cells []record.ChoiceCell, size func(mode string) string) error {
	sections := each(grouped(cells, func(c record.ChoiceCell) string { return c.Does }), func(group []record.ChoiceCell) string {
		does := group[0].Does
		kind, unless := record.KindsOfRequests[does], record.Fact{Code: record.Code("choose-unless-" + does)}
		lines := each(group, func(c record.ChoiceCell) string {
			if len(c.Best) == 0 {
				return fmt.Sprintf("| %s | not measured here yet: run %s | | |\n", c.Matters, c.Scenario)
			}
			return fmt.Sprintf("| %s | `%s` | %s | %s |\n", c.Matters, c.Best[0].Mode, size(c.Best[0].Mode), measuredDifference(c))
		})
		return fmt.Sprintf("### %s\n\n%s It does not matter %s.\n\n", upperFirst(kind.Name), kind.About, unless.String()) +
			"| what matters | choose | size | measured difference |\n|---|---|---|---|\n" + strings.Join(lines, "")
	})
	return emit(w, "markdown", strings.Join(sections, "\n"))
}

// upperFirst returns s with its first letter in upper case. s must begin with an ASCII letter.
func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// measuredDifference returns what an experiment measured for a cell, in one table cell: the
// answer, the verdicts with the best arm in them, and a link to the experiment.
func measuredDifference(c record.ChoiceCell) string {
	// A verdict between two losers does not help to choose.
	ofBest := only(c.Verdicts, func(v record.Verdict) bool {
		return v.Verdict != stats.Refused && (v.Arm == c.Best[0].Name || v.Baseline == c.Best[0].Name)
	})
	told := each(ofBest, func(v record.Verdict) string {
		return fmt.Sprintf("%s against %s at %s: %s", v.Arm, v.Baseline, stats.MetricOf(v.Metric).Label, v.Verdict) +
			when(v.Low != 0, ", %s (%s to %s)", stats.Change(v.Ratio), stats.Change(v.Low), stats.Change(v.High))
	})
	lead := c.Outcome.Words() + when(len(c.Best) > 1, ": %s", listed(c.Best, func(arm record.ChoiceArm) string { return arm.Name }))
	lead = strings.Join(append([]string{lead}, each(c.Lacks, record.Fact.String)...), ". But ")
	blocks := prose.Plural(c.Verdicts[0].Blocks, "block")
	return fmt.Sprintf("%s. %s; [%s](../experiments/README.md), `%s`, %s", upperFirst(lead), strings.Join(told, "; "), c.Scenario, c.Commit, blocks)
}
