package report

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"schedlab/internal/command"
	"schedlab/internal/doubt"
	"schedlab/internal/outcome"
	"schedlab/internal/record"
	"schedlab/internal/report/document"
	"schedlab/internal/report/say"
	"schedlab/internal/stats"
)

// Sizes of a brief report, so that it fits a screen of 24 lines, the height of a terminal by default.
const (
	briefLines  = 24
	answerLines = 4
	searchLines = 8 // of the answer of a search for capacity, which ends with what would decide it
	briefArms   = 8 // in the table
)

// Brief writes r for a first look in a terminal: the answer, the figures with their
// differences, the reasons, how sure the answer is, and where the full report is.
//
// It gives up reasons and doubts until the report fits the screen. The table and the evidence are never
// cut to fit, nor is an explanation that was asked for, so a report may still be longer.
func Brief(w io.Writer, r *record.Result, o TextOptions) error {
	o.Width = either(o.Width <= 0, 100, o.Width)
	return say.Text(w, pageOf(r).brief(o.Width), o)
}

func (p comparisonPage) brief(width int) document.Document {
	d := briefly(p.Result, width, 3)
	// Each step gives up the line that is needed least: the third reason, the second with the doubt, and the
	// last with the expectations that are not kept. Their counts stay. Writing the document is the
	// only way to know its height, as sentences wrap.
	for most := 2; most >= 0 && strings.Count(d.Text(document.Options{Width: width}), "\n") > briefLines; most-- {
		d = briefly(p.Result, width, most)
	}
	return d
}

// briefly builds the one-screen report. It keeps at most most "Why" lines, as many expectations that did not
// pass, and one doubt if most is 2 or more.
func briefly(r *record.Result, width, most int) document.Document {
	// The explanation comes first: it names a cause, while the other reasons only tell where the time went.
	explained := explanationOf(r)
	reasons := append(explained, briefReasons(r)...)
	if x := r.Explained; x != nil && len(x.Causes) == 0 && (x.Slower != "" || x.Outcome == outcome.Refused) { // where the time went says more then
		reasons = append(briefReasons(r), explained...)
	}
	why := few(reasons, max(most, len(explained))) // who asked why gets an answer
	// A mean in the claims is not the mean in "Why".
	if len(why) > 0 && pageOf(r).below() != nil {
		why = append(why, "(on average: the mean of good requests over all blocks; a figure in the answer is the median of the blocks' figures)")
	}
	return document.Document{
		Name: named(r), State: state(r), Answer: briefAnswer(r, width, answerLines), Context: append(context(r), askedBriefly(r)),
		Parts: []document.Part{marked(r), slices.Concat(
			labelled("Why", why...), labelled("Sure", sure(r)...), labelled("Expected", few(unmet(r), most+1)...),
			rest(others(r), min(most/2, 1), when(len(why) == 0 && len(reasons) > 0, ", and where the time went")),
		)},
	}
}

// rest returns the first doubts, at most most of them, a count of the others with what else the report
// has, and the path of the full report. Some doubts are always among them, as extra ones if need be,
// because they may be the cause of what the report shows: a disturbance of the run, a rate that the slowest arm
// lowered, and different HTTP parsers where arms differ.
func rest(r *record.Result, most int, also string) document.Facts {
	all := slices.Clone(r.Doubts)
	for _, cause := range []func(record.Fact) bool{
		record.Fact.Disturbs, func(d record.Fact) bool {
			return doubt.RateFewWorkers.Is(d) || doubt.RateLowered.Is(d)
		}, func(d record.Fact) bool {
			return doubt.ParsersDiffer.Is(d) && slices.ContainsFunc(r.Verdicts, differs)
		},
	} {
		if i := slices.IndexFunc(all, cause); i >= most {
			// It moves to the end of the doubts that are printed, whatever its place in the list.
			doubt := all[i]
			all, most = slices.Insert(slices.Delete(all, i, i+1), most, doubt), most+1
		}
	}
	// A record in the usual directory is known by its name.
	run := r.Dir
	if filepath.Dir(run) == record.DefaultRoot {
		run = filepath.Base(run)
	}
	show := "schedlab runs show " + command.Quote(run)
	if !r.NoPage {
		show = command.Quote(r.Dir) + "/report.html, or: " + show
	}
	facts := append(document.Doubts(each(all, Doubt), most, "in the report"+also), document.Fact{Label: "Report", Text: show})
	if r.Profiles != nil {
		facts = append(facts, document.Fact{Label: "Profiles", Text: command.Quote(r.Dir) + "/profiles, with flame graphs; the report compares them"})
	}
	return facts
}

// capacityBriefly builds the one-screen report of a search for capacity: the answer, the table
// without the estimate, which lies in the interval, and the saturation, which lies beyond it, how the
// arms compare, and one doubt.
func capacityBriefly(r *record.Result, width int) document.Document {
	rows := each(capacityTable(r), func(row []string) []string { return slices.Concat(row[:2], row[3:5], row[6:len(row)-1]) })
	untold := *others(r) // what the plan says of starving clients stands in the answer and below the table
	untold.Doubts = only(untold.Doubts, func(d record.Fact) bool { return !doubt.StickyPool.Is(d) })
	return document.Document{
		Name: named(r), State: state(r), Answer: briefAnswer(r, width, searchLines), Context: append(context(r), searched(r)+onCPUs(r.Env)),
		Parts: []document.Part{document.Table{Rows: rows}, append(labelled("That is", append(capacityOpen(r), capacityCompared(r)...)...), rest(&untold, 1, "")...)},
	}
}

// briefAnswer returns the headline, cut to this number of lines of text. It allows ten columns a
// line for words that do not fit at its end.
func briefAnswer(r *record.Result, width, lines int) string {
	return document.Cut(cmp.Or(Headline(r), "No answer."), lines*max(width-10, 30)-len(r.Scenario))
}

// askedBriefly describes the load on every arm, the requests, the windows, the sizes of the
// servers and the CPUs in one line.
func askedBriefly(r *record.Result) string {
	text := loadOnEach(r)
	// Arms with loads of their own would not fit in a line.
	if len(loads(r.Arms)) > 1 {
		text = "each arm's own load"
	}
	// The words of a closed loop say this already, and arms with different loads may differ in it.
	reconnects := r.Rate > 0 && len(loads(r.Arms)) == 1 && !r.Arms[0].Clients.KeepAlive
	has := sizes(r.Arms)
	return text + when(r.Asked != "", ", %s", r.Asked) + when(reconnects, " on a new connection") + ", windows of " + say.Seconds(r.Window) +
		when(has != "", "; %s", has) + onCPUs(r.Env)
}

// onCPUs tells where servers and load ran: "; servers on CPU 0, load on CPU 1". "" if they were free.
// Of a cluster it names the nodes.
func onCPUs(e record.Env) string {
	if e.Cluster != nil {
		return "; " + inPods(e.Cluster)
	}
	shared := e.SharedCPUs()
	load := either(len(shared) > 0, "load shares "+shared.Words(), "load on CPU"+say.NBSP+e.LoadCPUs)
	return when(e.ServerCPUs != "", "; servers on CPU%s%s, %s", say.NBSP, e.ServerCPUs, load)
}

// marked returns the table of the arms' figures. After each figure stands a mark for the arm's
// verdict on it, and below the table the legend of the marks in use.
func marked(r *record.Result) document.Part {
	arms := choices(r.Arms) // the copy of the baseline is no choice
	shown := arms[:min(len(arms), briefArms)]
	table := columns(shown, armField{"", nil, name})
	var used []string
	for _, m := range stats.Metrics() {
		marks := each(shown, func(a record.Arm) string {
			return cmp.Or(mark(r, verdictOn(r.Verdicts, a.Name, m.Figure)), unjudged(r, a, m))
		})
		used = append(used, marks...)
		table = append(table, append([]string{m.Label}, cells(m, shown)...), append([]string{""}, marks...))
	}
	more := len(arms) - len(shown)
	leftOut := each(only(shown, unanswered), func(a record.Arm) string {
		return fmt.Sprintf("%s: %s of %s connections had no answer yet in a window, and its times leave them out.",
			a.Name, say.Count(a.Fairness.Asked-a.Fairness.Served), say.Count(a.Fairness.Asked))
	})
	below := nonEmpty(slices.Concat([]string{
		markLegend(r, used),
		when(aboveRate(r, shown), "A goodput above %s is no mistake: the rate is a mean, and these windows held more requests than it says.", say.Rate(r.Rate)),
	}, refusedMarks(r, shown), []string{
		when(crowds(counted(shown)), "Most connections open at once, and accepted (read ten times a second), medians over the blocks: %s.",
			listed(counted(shown), func(a record.Arm) string {
				return fmt.Sprintf("%s %s and %s/s", a.Name, rounded(a.Counters.OpenPeak), rounded(a.Counters.Accepted))
			})),
		when(more > 0, "%s more", say.Plural(more, "arm")),
	}, leftOut)...)
	return document.Section{Parts: []document.Part{document.Table{Rows: transposed(table)}, document.Lines(below)}}
}

// aboveRate reports whether one of these arms has a goodput more than half a per cent above the rate that
// was asked for, which a reader would otherwise take for a mistake.
func aboveRate(r *record.Result, arms []record.Arm) bool {
	return r.Rate > 0 && slices.ContainsFunc(arms, func(a record.Arm) bool {
		good := a.Median(stats.Goodput)
		return good != nil && *good > 1.005*r.Rate
	})
}

// refusedMarks tells why the figures of these arms have the mark of a refused verdict, a line for each reason; nil where the
// answer tells the reason against all verdicts.
func refusedMarks(r *record.Result, arms []record.Arm) []string {
	if oneReason(r.Verdicts) != "" && r.Answer.Outcome == outcome.Refused && r.Answer.Kind == "" && doNotKeepUp(r) == "" {
		return nil
	}
	marked := only(r.Verdicts, func(v record.Verdict) bool {
		return v.Verdict.Outcome == outcome.Refused && slices.ContainsFunc(arms, func(a record.Arm) bool { return a.Name == v.Arm })
	})
	return each(grouped(marked, reason), func(same []record.Verdict) string {
		of := grouped(same, func(v record.Verdict) string { return v.Arm })
		at := listed(of[0], func(v record.Verdict) string { return v.Metric.Row().Label })
		return markRefused + " " + listed(of, func(v []record.Verdict) string { return v[0].Arm }) + " at " + at + ": " + reason(same[0])
	})
}

// unanswered reports whether windows were too short to tell an arm's connections without an answer from
// starved ones.
func unanswered(a record.Arm) bool { return a.Fairness != nil && a.Fairness.Short }

// Marks of figures without a difference. Tables of summaries use the same ones.
const (
	markSame    = "="
	markOpen    = "~"
	markRefused = "*"
)

// mark returns a verdict in one word, to stand after its figure: the change if it is sure, else
// a mark. It is "" without a verdict, as for the baseline.
func mark(r *record.Result, v record.Verdict) string {
	if v.Verdict.Rank.Differs() {
		return changed(r, v)
	}
	return map[stats.Decision]string{stats.Decided(stats.Same): markSame, {Outcome: outcome.Open}: markOpen, {Outcome: outcome.Refused}: markRefused}[v.Verdict]
}

// unjudged returns the mark of the baseline's own time where every verdict against it is refused for what the
// baseline itself does: its backlog grows, or it fails requests; "" otherwise.
func unjudged(r *record.Result, baseline record.Arm, m stats.Metric) string {
	against := only(r.Verdicts, func(v record.Verdict) bool { return v.Baseline == baseline.Name && v.Metric == m.Figure })
	judged := slices.ContainsFunc(against, func(v record.Verdict) bool { return v.Verdict.Outcome != outcome.Refused })
	if len(against) == 0 || judged || m.Quantile == 0 || baseline.Median(m.Figure) == nil || !baseline.Behind && baseline.Errors == 0 {
		return ""
	}
	return markRefused
}

// markLegend explains the marks in use, by the verdicts' baseline; "" without verdicts.
func markLegend(r *record.Result, used []string) string {
	if len(r.Verdicts) == 0 {
		return ""
	}
	base := r.Verdicts[0].Baseline
	if slices.ContainsFunc(r.Verdicts, func(v record.Verdict) bool { return v.Baseline != base }) {
		base = "the arm it is compared with"
	}
	meaning := func(mark, words string) string { return when(slices.Contains(used, mark), "%s %s", mark, words) }
	marks := nonEmpty(meaning(markSame, "the same"), meaning(markOpen, "open"), meaning(markRefused, "refused"))
	return "Beside a figure: difference from " + base + ", if sure" + when(marks != nil, "; %s", strings.Join(marks, ", ")) + "."
}

// briefReasons tells, for arms that surely differ, in which stretches the difference of time
// lies: on average or, if the averages hardly differ, in the slowest requests. It returns nil
// where a caveat makes the figures no finding.
func briefReasons(r *record.Result) (lines []string) {
	if caveat(r) != "" {
		return nil
	}
	for _, a := range r.Arms {
		sure := only(r.Verdicts, func(v record.Verdict) bool { return v.Primary && v.Arm == a.Name && differs(v) })
		// The first difference of an arm is the one on average, where it has one. The tail
		// counts only with enough slow requests.
		d := first(r.Differences, func(d record.Difference) bool {
			return d.Arm == a.Name && (!d.Tail || slowest(r) >= tailRequests)
		})
		switch {
		// An arm can surely differ in a median without a sure difference of means.
		case sure == nil || d.Arm == "":
		// One or two stalls can outweigh all other requests in a mean, but not in a median.
		case !slices.ContainsFunc(sure, func(v record.Verdict) bool { return v.Worse() && d.By > 0 || v.Better() && d.By < 0 }):
			lines = append(lines, a.Name+": its mean points the other way, by a few long requests; the report has both")
		default:
			lines = append(lines, difference(d))
		}
	}
	return lines
}

// explanationOf returns the answer of `schedlab explain`, if it ran; else nil. Only that command
// looks for causes, so no other line of a report may say because.
func explanationOf(r *record.Result) (lines []string) {
	if r.Explained != nil {
		lines = []string{strings.TrimSuffix(explained(r.Explained), ".")}
	}
	return lines
}

// differs reports whether a verdict is a sure difference.
func differs(v record.Verdict) bool { return v.Verdict.Rank.Differs() }

// few returns the first most lines and, if there are more, a line that counts them. With most 0
// it returns none, and no count. lines stays unchanged.
func few(lines []string, most int) []string {
	if len(lines) <= most || most == 0 {
		return lines[:min(len(lines), most)]
	}
	return append(slices.Clone(lines[:most]), fmt.Sprintf("and %d more in the report", len(lines)-most))
}

// sure describes the evidence for the verdicts, and what would change them: the first line has
// the blocks, the confidence and the A/A control, and lines on failures and open verdicts
// follow. The last line may be empty. Why a verdict was refused stands below the table, at its mark.
func sure(r *record.Result) []string {
	text := blocks(r)
	// The intervals of the quantiles that were judged are corrected for several comparisons.
	judged := stats.Names(only(stats.Quantiles(), func(m stats.Metric) bool {
		return slices.ContainsFunc(r.Verdicts, func(v record.Verdict) bool { return v.Metric == m.Figure && v.Verdict.Outcome != outcome.Refused })
	}))
	// Where all of them are open, there is nothing yet that could hold.
	decided := slices.ContainsFunc(r.Verdicts, func(v record.Verdict) bool {
		return v.Primary && (v.Verdict.Rank.Differs() || v.Verdict.Rank == stats.Same)
	})
	text += when(len(judged) > 0 && decided, "; verdicts on %s hold together with 95%s%%", strings.Join(judged, ", "), say.NBSP)
	failed := append(silent(r), failings(r.Arms)...)
	text += "; " + aaBriefly(r.AA, r.Valid) + when(len(failed) == 0 && allGood(r), "; every request got a good reply")
	return slices.Concat([]string{text}, failed, []string{openVerdicts(r)})
}

// openVerdicts lists the undecided verdicts, each with what would decide it, in one line; ""
// for none. Goodput counts only where an arm is overloaded or has no times: below that it is the
// offered rate for every arm.
func openVerdicts(r *record.Result) string {
	// Connections without an answer yet need longer windows, as their doubt says.
	waits := func(arm string) bool { return unanswered(armOf(r, arm)) }
	counts := func(of record.Verdict) bool {
		overloaded := slices.ContainsFunc(r.Doubts, func(d record.Fact) bool {
			return (d.Code == doubt.Overloaded.Code || d.Code == doubt.GeneratorLimit.Code) && (d.Arm == of.Arm || d.Arm == of.Baseline)
		})
		hasTimes := slices.ContainsFunc(r.Verdicts, func(v record.Verdict) bool {
			return v.Primary && v.Arm == of.Arm && v.Baseline == of.Baseline && v.Verdict.Outcome != outcome.Refused
		})
		return of.Primary || of.Metric == stats.Goodput && (overloaded || !hasTimes)
	}
	open := only(r.Verdicts, func(v record.Verdict) bool {
		return v.Verdict.Outcome == outcome.Open && !waits(v.Arm) && !waits(v.Baseline) && counts(v)
	})
	best := func(arm string) bool { return slices.Contains(r.Answer.Faster, arm) }
	// Of several that beat the baseline, the best is asked for.
	if r.Answer.Kind == record.SeveralWin {
		open = append(open, only(r.Duels, func(v record.Verdict) bool {
			return v.Verdict.Outcome == outcome.Open && v.Primary && best(v.Arm) && best(v.Baseline)
		})...)
	}
	name := func(v record.Verdict) string {
		against := when(best(v.Baseline), " against %s", v.Baseline)
		return v.Arm + against + " " + v.Metric.Row().In + when(v.Lean != "", " (leans %s)", lower(v.Lean))
	}
	// Verdicts with the same remedy share it.
	parts := each(grouped(open, func(v record.Verdict) string { return remedy(r, v.Needed) }), func(group []record.Verdict) string {
		return strings.TrimSuffix(listed(group, name)+": "+remedy(r, group[0].Needed), ": ")
	})
	return when(parts != nil, "open: %s", strings.Join(parts, "; "))
}

// aaBriefly tells in a few words whether the baseline and its copy differ, as they must not. If they do not,
// it names the metrics that are the same, or the widest interval, which is how much the control can miss.
// blocks is the number of valid blocks.
func aaBriefly(aa []record.Verdict, blocks int) string {
	if len(aa) == 0 {
		return "no copy of the baseline to check it by"
	}
	baseline := aa[0].Baseline
	label := func(v record.Verdict) string { return v.Metric.Row().Label }
	judged := only(aa, func(v record.Verdict) bool { return v.Verdict.Outcome != outcome.Refused })
	same := only(judged, func(v record.Verdict) bool { return v.Verdict.Rank == stats.Same })
	open := only(judged, func(v record.Verdict) bool { return v.Primary && v.Verdict.Rank != stats.Same })
	bad := only(judged, differs)
	switch {
	// The number of blocks is tested before the result: with too few, nothing can differ yet.
	case len(judged) == 0 || blocks < stats.Looks()[0]:
		return baseline + " against its own copy is not judged"
	case len(bad) > 0:
		return fmt.Sprintf("%s DIFFERS from its own copy in %s, and only a difference beyond that stands", baseline, listed(bad, label))
	case slices.ContainsFunc(open, func(v record.Verdict) bool { return v.Low == 0 }):
		return baseline + " and its own copy cannot be told apart yet"
	case len(open) > 0:
		widest := slices.MaxFunc(open, func(a, b record.Verdict) int { return cmp.Compare(a.High/a.Low, b.High/b.Low) })
		return fmt.Sprintf("%s against its own copy is open at %s (%s)", baseline, label(widest), between(widest))
	case len(same) == 0:
		return baseline + " against its own copy is not judged in any time"
	}
	return fmt.Sprintf("%s and its own copy do not differ in %s", baseline, listed(same, label))
}

// unmet returns the expectations that are not kept, after a line that counts the answers; nil
// without expectations.
func unmet(r *record.Result) []string {
	if len(r.Expectations) == 0 {
		return nil
	}
	open := only(r.Expectations, func(e record.Expectation) bool { return e.Outcome != outcome.Yes })
	failed := slices.ContainsFunc(open, func(e record.Expectation) bool { return e.Outcome == outcome.No })
	note := when(open != nil && !failed, "%s", either(r.Judged(), "; none is surely broken, so the exit code is 0 (with --strict 4)", "; none could be judged, so the exit code is 4"))
	passed := listed(only(r.Expectations, func(e record.Expectation) bool { return e.Outcome == outcome.Yes }), func(e record.Expectation) string { return e.Text })
	// What passed is named where it is short, as an SLO is.
	return append([]string{tally(r.Expectations) + note + when(passed != "" && !failed && len(passed) < 45, "; kept: %s", passed)}, each(open, answered)...)
}

// answered formats an expectation with its answer and the reason, as "not kept p99<10ms: …".
func answered(e record.Expectation) string {
	return fmt.Sprintf("%s %s: %s", outcome.Expectation.Phrase(e.Outcome), e.Text, e.Reason)
}
