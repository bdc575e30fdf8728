package report

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"schedlab/internal/measuring/report/document"
	"schedlab/internal/measuring/report/say"
	"schedlab/internal/shared/cmdline"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// Sizes of a brief report, so that it fits a screen of 24 lines, the height of a terminal by default.
const (
	briefLines = 24
	briefArms  = 8 // in the table
)

// Brief writes r for a first look in a terminal: the answer, the figures with their differences, the reasons, how sure the answer
// is, and where the full report is.
//
// It drops reasons and doubts until the report fits the screen. It never cuts the table, the evidence or an explanation that
// the user asked for, so a report may still be longer.
func Brief(w io.Writer, r record.Result, o TextOptions) error {
	if o.Width <= 0 {
		o.Width = 100
	}
	return say.Text(w, pageOf(r).brief(o.Width), o)
}

func (p comparisonPage) brief(width int) document.Document { return screenOf(p).fitting(width) }

// A screen is what one screen says about a comparison, in the order in which it says it. screenOf makes it from the
// result; its methods only arrange it.
type screen struct {
	name, state    string
	top            top
	context        []string
	figures        document.Part // the table, with its legend and notes
	reasons        []string
	asked          int    // number of reasons, from the first, that the user asked for: they are never cut
	means          string // how the means in the reasons differ from the figures in the answer; "" if the answer has none
	sure, expected []string
	doubts         []fact.Fact
	causes         []func(fact.Fact) bool // kinds of doubts that are never cut
	where          document.Facts         // the full report
}

// screenOf takes from the result what its screen says.
func screenOf(p comparisonPage) screen {
	r := p.Comparison
	s := screen{
		name: named(r), state: state(r), top: topOf(r), context: []string{askedBriefly(r)},
		sure: sure(r), expected: unmet(r), doubts: others(r), causes: alwaysShown(r), where: append(nextOf(r).facts(), whereReportIs(&r.Common)...),
	}
	if s.figures = (document.Lines)(nil); anyFigure(r) {
		s.figures = marked(r)
	}
	s.reasons, s.asked = whyReasons(r)
	if p.found() != ranking(r) { // a mean in the claims is not the mean in "Why"
		s.means = "(on average: the mean of good requests over all blocks; a figure in the answer is the median of the blocks' figures)"
	}
	return s
}

// anyFigure reports whether a figure of an arm is known: without a whole block none is.
func anyFigure(r *record.Comparison) bool {
	return slices.ContainsFunc(r.Arms, func(a record.Arm) bool {
		return slices.ContainsFunc(stats.Metrics(), func(m stats.Metric) bool { return a.Median(m.Figure) != nil })
	})
}

// fitting returns the screen as a document that fits the height of a terminal, if cutting can make it fit. Each step drops the
// least needed lines: the third reason; the second reason and the doubt; the last reason and the expectations that are not kept.
// Their counts stay. Sentences wrap, so only writing the document tells its height.
func (s screen) fitting(width int) document.Document {
	d := s.document(3)
	for most := 2; most >= 0 && strings.Count(d.Text(document.Options{Width: width}), "\n") > briefLines; most-- {
		d = s.document(most)
	}
	return d
}

// document arranges the screen. It keeps at most most "Why" lines, most+1 lines on expectations, and one doubt if most is 2 or
// more.
func (s screen) document(most int) document.Document {
	why := few(s.reasons, max(most, s.asked))
	if len(why) > 0 && s.means != "" {
		why = append(why, s.means)
	}
	place := "in the report"
	if len(why) == 0 && len(s.reasons) > 0 {
		place += ", and where the time went"
	}
	var facts document.Facts
	for _, part := range []struct {
		label string
		lines []string
	}{{"Why", why}, {"Sure", s.sure}, {"Expected", few(s.expected, most+1)}} {
		for _, line := range part.lines {
			facts = append(facts, document.Fact{Label: part.label, Text: line})
		}
	}
	facts = append(facts, doubtsOf(s.doubts, s.causes, min(most/2, 1), place)...)
	return document.Document{
		Name: s.name, State: s.state, Answer: cmp.Or(s.top.answer, "No answer."), Chips: s.top.chips, Axis: s.top.axis, Lead: s.top.lead, Context: s.context,
		Parts: []document.Part{s.figures, append(facts, s.where...)},
	}
}

// others returns the doubts of a run without those that the screen tells already: by its first line, or by the command to run next.
func others(r record.Result) []fact.Fact {
	all := r.Head().Doubts
	busy, next := !doubt.TooBusy(all).None(), nextOf(r).command != ""
	return slices.DeleteFunc(slices.Clone(all), func(d fact.Fact) bool {
		ended, _ := fact.In(doubt.BudgetEnded, d)
		return busy && d.Disturbs() || next && ended.Needed > 0
	})
}

// alwaysShown returns the kinds of doubts that may explain the differences in a report: causes and, if arms differ, different
// HTTP parsers. The first doubt of each kind is always shown.
func alwaysShown(r *record.Comparison) []func(fact.Fact) bool {
	if slices.ContainsFunc(r.Verdicts, differs) {
		return append(causes(), doubt.ParsersDiffer.Code.Is)
	}
	return causes()
}

// causes returns the kinds of doubts that may explain any report: a disturbance of the run, servers that were not warm, and a rate
// that the slowest arm lowered.
func causes() []func(fact.Fact) bool {
	lowered := func(d fact.Fact) bool { return doubt.RateFewWorkers.Code.Is(d) || doubt.RateLowered.Code.Is(d) }
	return []func(fact.Fact) bool{fact.Fact.Disturbs, doubt.ColdServer.Code.Is, lowered}
}

// doubtsOf returns the first most doubts, then the first doubt of each cause that is not among these, and a count of the others
// with the place where they are.
func doubtsOf(all []fact.Fact, causes []func(fact.Fact) bool, most int, place string) document.Facts {
	most = min(most, len(all))
	shown, left := slices.Clone(all[:most]), slices.Clone(all[most:])
	for _, cause := range causes {
		if slices.ContainsFunc(shown, cause) {
			continue
		}
		if i := slices.IndexFunc(left, cause); i >= 0 {
			shown, left = append(shown, left[i]), slices.Delete(left, i, i+1)
		}
	}
	var lines []string
	for _, d := range slices.Concat(shown, left) {
		lines = append(lines, Doubt(d))
	}
	return document.Doubts(lines, len(shown), place)
}

// runName returns what a command calls a run: its name in the usual directory, else its path.
func runName(r *record.Common) string {
	if filepath.Dir(r.Dir) == record.DefaultRoot {
		return filepath.Base(r.Dir)
	}
	return r.Dir
}

// whereReportIs tells how to read the full report, by its page or by a command. The facts of chapters for the first screen follow.
func whereReportIs(r *record.Common) document.Facts {
	where := "schedlab runs show " + cmdline.Quote(runName(r))
	if !r.NoPage {
		where = cmdline.Quote(r.Dir) + "/report.html, or: " + where
	}
	facts := document.Facts{{Label: "Report", Text: where}}
	for _, a := range r.Attached {
		if c, ok := a.(Chapter); ok {
			facts = append(facts, c.Below(r)...)
		}
	}
	return facts
}

// rest returns the end of a short report: the first of these doubts and the causes among the others, the command to run next, and
// where the full report is.
func rest(r record.Result, doubts []fact.Fact, causes []func(fact.Fact) bool) document.Facts {
	return slices.Concat(doubtsOf(doubts, causes, 1, "in the report"), nextOf(r).facts(), whereReportIs(r.Head()))
}

// askedBriefly describes the load on every arm, the requests, the windows, the sizes of the
// servers and the CPUs in one line.
func askedBriefly(r *record.Comparison) string {
	var text string
	switch arms := choices(r.Contestants()); {
	case len(loads(arms)) < 2:
		text = loadOnEach(r)
	case len(arms) == 2:
		text = arms[0].Name + ": " + Load(arms[0].Clients) + "; " + arms[1].Name + ": " + Load(arms[1].Clients)
	default:
		text = "each arm's own load" // they would not fit in two lines
	}
	if r.Asked != "" {
		text += ", " + asked(r.Asked)
	}
	// The words of a closed loop say this already, and arms with different loads may differ in it.
	if r.Rate > 0 && len(loads(r.Contestants())) == 1 && !r.Arms[0].Clients.KeepAlive {
		if len(r.Arms[0].Classes) > 0 {
			text += ", each"
		}
		text += " on a new connection"
	}
	text += ", windows of " + say.Seconds(r.Window.Seconds())
	if has := sizes(r.Contestants()); has != "" {
		text += "; " + has
	}
	return text + onCPUs(r.Env)
}

// onCPUs tells where servers and load ran: "; servers on CPU 0, load on CPU 1". It names the machines of another site, and is ""
// if the servers were not pinned.
func onCPUs(e record.Env) string {
	switch shared := e.SharedCPUs(); {
	case e.Site != nil:
		return "; " + elsewhere(e.Site)
	case e.ServerCPUs == "":
		return ""
	case len(shared) > 0:
		return "; servers on CPU" + say.NBSP + e.ServerCPUs + ", load shares " + shared.Words()
	}
	return "; servers on CPU" + say.NBSP + e.ServerCPUs + ", load on CPU" + say.NBSP + e.LoadCPUs
}

// shownBriefly returns the arms that a first screen has room for, and a line that counts the others. The copy of the baseline is
// none of them: it is no choice.
func shownBriefly(r *record.Comparison) (arms []record.Arm, others document.Lines) {
	arms = choices(r.Arms)
	if more := len(arms) - briefArms; more > 0 {
		return arms[:briefArms], document.Lines{say.Plural(more, "arm") + " more"}
	}
	return arms, nil
}

// marksOf returns the marks of the arms' figures of a metric, in the order of arms, and adds them to used.
func marksOf(r *record.Comparison, m stats.Metric, arms []record.Arm, used map[string]bool) (marks []string) {
	for _, a := range arms {
		sign := mark(r, verdictOn(r.Verdicts, a.Name, m.Figure))
		if sign == "" && isNotJudged(r, a, m) {
			sign = markRefused
		}
		marks = append(marks, sign)
		used[sign] = true
		used[say.None] = used[say.None] || sign == "" && m.Quantile > 0 && a.Median(m.Figure) == nil
	}
	return marks
}

// marked returns the table of the arms' figures. After each figure stands a mark for the arm's
// verdict on it, and below the table the legend of the marks in use.
func marked(r *record.Comparison) document.Part {
	shown, more := shownBriefly(r)
	names := []string{""}
	for _, a := range shown {
		names = append(names, a.Name)
	}
	table, used := [][]string{names}, map[string]bool{}
	for _, m := range stats.Metrics() {
		table = append(table, append([]string{m.Label}, cells(m, shown)...), append([]string{""}, marksOf(r, m, shown, used)...))
	}
	below := append(belowFigures(r, shown, used), more...)
	for _, a := range shown {
		if unanswered(a) {
			below = append(below, fmt.Sprintf("%s: %s of %s connections had no answer yet in a window, and its times leave them out.",
				a.Name, say.Count(a.Fairness.Asked-a.Fairness.Served), say.Count(a.Fairness.Asked)))
		}
	}
	return document.Section{Parts: []document.Part{document.Table{Rows: transposed(table)}, below}}
}

// belowFigures returns the lines below the table of these arms: the legend of the marks in use, an explanation of figures that
// look wrong, why figures are refused, and how many connections there were.
func belowFigures(r *record.Comparison, arms []record.Arm, used map[string]bool) (lines document.Lines) {
	if len(r.Verdicts) > 0 {
		lines = append(lines, markLegend(r.Verdicts, used))
	}
	var good []*float64
	for _, a := range arms {
		good = append(good, a.Median(stats.Goodput))
	}
	lines = append(lines, aboveRate(r, good...)...)
	lines = append(lines, refusedMarks(r, arms)...)
	for _, a := range arms {
		switch {
		case a.Behind:
			lines = append(lines, "The times of "+a.Name+" (in the answer, too) are no finding: they grow for as long as the load lasts, and tell how far behind it fell by a window's end.")
		case loadAtLimit(r, a):
			lines = append(lines, "The times of "+a.Name+" are no finding: they tell how far the load itself fell behind.")
		}
	}
	if crowds(counted(arms)) {
		var peaks []string
		for _, a := range counted(arms) {
			peaks = append(peaks, fmt.Sprintf("%s %s and %s/s", a.Name, rounded(a.Counters.OpenPeak), rounded(a.Counters.Accepted)))
		}
		lines = append(lines, "Most connections open at once, and accepted a second (by ten samples a second, to within some per cent), medians over the blocks: "+
			strings.Join(peaks, ", ")+". Accepted is not goodput: it counts connections, answered or not, and none that was open before.")
	}
	return lines
}

// aboveRate explains one of the goodputs shown that is more than half a per cent above the rate that was asked for, which a
// reader would otherwise take for a mistake; nil if there is none.
func aboveRate(r *record.Comparison, shown ...*float64) []string {
	if r.Rate <= 0 || !slices.ContainsFunc(shown, func(good *float64) bool { return good != nil && *good > 1.005*r.Rate }) {
		return nil
	}
	return []string{fmt.Sprintf("A goodput above %s is no mistake: that rate is an average, and a few more requests came in these windows.", say.Rate(r.Rate))}
}

// refusedMarks tells why figures of these arms have the mark of a refused verdict, a line for each reason that the answer does not give.
func refusedMarks(r *record.Comparison, arms []record.Arm) (lines []string) {
	gives := r.Answer.Outcome == outcome.Refused && r.Answer.Kind == "" && doNotKeepUp(r) == ""
	var refused []record.Verdict
	for _, v := range r.Verdicts {
		if gives && v.Reason.Alike(r.Answer.Reason) {
			continue
		}
		if v.Verdict.Outcome == outcome.Refused && slices.ContainsFunc(arms, func(a record.Arm) bool { return a.Name == v.Arm }) {
			refused = append(refused, v)
		}
	}
	for _, same := range alike(refused, func(a, b record.Verdict) bool { return a.Reason.Alike(b.Reason) }) {
		var names []string
		groups := byArm(same)
		for _, group := range groups {
			names = append(names, group[0].Arm)
		}
		lines = append(lines, markRefused+" "+strings.Join(names, ", ")+" at "+labels(groups[0])+": "+reason(same[0]))
	}
	return lines
}

// labels returns the labels of the verdicts' metrics, as the columns of a table have them, with commas between.
func labels(vs []record.Verdict) string {
	all := make([]string, len(vs))
	for i, v := range vs {
		all[i] = v.Metric.Row().Label
	}
	return strings.Join(all, ", ")
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
func mark(r *record.Comparison, v record.Verdict) string {
	switch {
	case differs(v):
		return changed(r, v)
	case v.Verdict == stats.Decided(stats.Same):
		return markSame
	case v.Verdict == stats.Open():
		return markOpen
	case v.Verdict == stats.Decision{Outcome: outcome.Refused}:
		return markRefused
	}
	return ""
}

// loadAtLimit reports whether an arm's backlog grew while the load's own CPUs were full, so that nothing is known of the arm.
func loadAtLimit(r *record.Comparison, a record.Arm) bool {
	return slices.ContainsFunc(r.Doubts, func(d fact.Fact) bool { return d.Code == doubt.GeneratorLimit.Code && d.Arm == a.Name })
}

// isNotJudged reports whether the baseline's own time is no finding: it fails requests or its backlog grows, and every verdict
// against it is refused.
func isNotJudged(r *record.Comparison, baseline record.Arm, m stats.Metric) bool {
	if m.Quantile == 0 || baseline.Median(m.Figure) == nil || !baseline.Behind && !loadAtLimit(r, baseline) && baseline.Errors == 0 {
		return false
	}
	refused := false
	for _, v := range r.Verdicts {
		if v.Baseline != baseline.Name || v.Metric != m.Figure {
			continue
		}
		if v.Verdict.Outcome != outcome.Refused {
			return false
		}
		refused = true
	}
	return refused
}

// baselineOf names the baseline of verdicts, in the words for all of them if they have several. vs must not be empty.
func baselineOf(vs []record.Verdict) string {
	if slices.ContainsFunc(vs, func(v record.Verdict) bool { return v.Baseline != vs[0].Baseline }) {
		return "the arm it is compared with"
	}
	return vs[0].Baseline
}

// markLegend explains the marks in use. It names the baseline of the verdicts if all have the same. vs must not be empty.
func markLegend(vs []record.Verdict, used map[string]bool) string {
	base := baselineOf(vs)
	var marks []string
	for _, m := range [][2]string{{markSame, "the same"}, {markOpen, "open"}, {markRefused, "refused"}, {say.None, "too few requests in a window"}} {
		if used[m[0]] {
			marks = append(marks, m[0]+" "+m[1])
		}
	}
	text := "Beside a figure: difference from " + base + ", if sure"
	if len(marks) > 0 {
		text += "; " + strings.Join(marks, ", ")
	}
	return text + "."
}

// whyReasons returns the lines of "Why", and how many of them were asked for. An explanation comes first, because it names a
// cause and the other reasons only tell where the time went. An explanation without a cause comes last.
func whyReasons(r *record.Comparison) (reasons []string, asked int) {
	others, x := briefReasons(r), reasonOf(&r.Common)
	if x == nil {
		return others, 0
	}
	answer, last := x.Why()
	if last {
		return append(others, answer), 1
	}
	return slices.Insert(others, 0, answer), 1
}

// briefReasons tells, for arms that surely differ, in which stretches the difference of time
// lies: on average or, if the averages hardly differ, in the slowest requests. It returns nil
// where a caveat makes the figures no finding.
func briefReasons(r *record.Comparison) (lines []string) {
	if caveat(r) != "" {
		return nil
	}
	for _, a := range r.Arms {
		sure := slices.DeleteFunc(slices.Clone(r.Verdicts), func(v record.Verdict) bool { return !v.Primary || v.Arm != a.Name || !differs(v) })
		// The first difference of an arm is the one on average, where it has one. The tail
		// counts only with enough slow requests.
		at := slices.IndexFunc(r.Differences, func(d record.Difference) bool {
			return d.Arm == a.Name && (!d.Tail || slowest(r) >= tailRequests)
		})
		if len(sure) == 0 || at < 0 { // medians can surely differ while the means do not
			continue
		}
		d := r.Differences[at]
		// One or two stalls can reverse the difference of means, but not the difference of medians.
		if slices.ContainsFunc(sure, func(v record.Verdict) bool { return v.Worse() && d.By > 0 || v.Better() && d.By < 0 }) {
			lines = append(lines, difference(d))
		} else {
			lines = append(lines, a.Name+": its mean points the other way, by a few long requests; the report has both")
		}
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

// sure describes the evidence for the verdicts: a line with the blocks, the confidence and the A/A control, and then lines on
// failures and on what would decide open verdicts.
func sure(r *record.Comparison) []string {
	text := blocks(r)
	// As long as every verdict on a time is open, there is nothing that could hold.
	decided := slices.ContainsFunc(r.Verdicts, func(v record.Verdict) bool { return v.Primary && v.Verdict.Rank != "" })
	if judged := judgedQuantiles(r.Verdicts); len(judged) > 0 && decided {
		text += "; verdicts on " + strings.Join(judged, ", ") + " hold together with 95" + say.NBSP + "%"
	}
	failed := append(silent(r), failings(r.Arms)...)
	text += "; " + aaBriefly(r.AA, r.Valid)
	if len(failed) == 0 && allGood(r) {
		text += "; every request got a good reply"
	}
	lines := append([]string{text}, failed...)
	if open := openVerdicts(r); open != "" {
		lines = append(lines, open)
	}
	return lines
}

// judgedQuantiles names the quantiles with a verdict that is not refused.
func judgedQuantiles(vs []record.Verdict) []string {
	return stats.Names(slices.DeleteFunc(stats.Quantiles(), func(m stats.Metric) bool {
		return !slices.ContainsFunc(vs, func(v record.Verdict) bool { return v.Metric == m.Figure && v.Verdict.Outcome != outcome.Refused })
	}))
}

// openVerdicts lists the open verdicts, each with what would decide it, in one line; ""
// for none.
func openVerdicts(r *record.Comparison) string {
	open, asked := openAsked(r), 0
	for _, v := range r.Verdicts {
		asked += stats.Count(v.Verdict.Outcome == outcome.Open && isAskedFor(r, v))
	}
	word := "open"
	if all := slices.DeleteFunc(slices.Clone(r.Verdicts), func(v record.Verdict) bool { return v.Verdict.Outcome != outcome.Open }); len(all) > asked {
		word += ", among others" // the table marks them all
	}
	best := func(arm string) bool { return slices.Contains(r.Answer.Faster, arm) }
	// Verdicts with the same remedy share it.
	var parts []string
	for _, group := range grouped(open, func(v record.Verdict) string { return remedy(r, v.Needed) }) {
		var names []string
		for _, v := range group {
			names = append(names, openName(v, best(v.Baseline)))
		}
		part := strings.Join(names, ", ")
		if what := remedy(r, group[0].Needed); what != "" {
			part += ": " + what
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return ""
	}
	return word + ": " + strings.Join(parts, "; ")
}

// openAsked returns the open verdicts of which a reader wants to know what would decide them.
func openAsked(r *record.Comparison) (open []record.Verdict) {
	for _, v := range r.Verdicts {
		if v.Verdict.Outcome == outcome.Open && isAskedFor(r, v) {
			open = append(open, v)
		}
	}
	// If several beat the baseline, the reader wants to know which is best.
	best := func(arm string) bool { return slices.Contains(r.Answer.Faster, arm) }
	if r.Answer.Kind == record.SeveralWin {
		for _, v := range r.Duels {
			if v.Verdict.Outcome == outcome.Open && v.Primary && best(v.Arm) && best(v.Baseline) {
				open = append(open, v)
			}
		}
	}
	return open
}

// openName names an open verdict: its arm, its baseline if against is set, its metric, and which way it leans.
func openName(v record.Verdict, against bool) string {
	text := v.Arm
	if against {
		text += " against " + v.Baseline
	}
	text += " " + v.Metric.Row().In
	if v.Lean != "" {
		text += " (leans " + lower(v.Lean) + ")"
	}
	return text
}

// isAskedFor reports whether a reader wants to know what would decide an open verdict. That is a verdict on a time, or on goodput
// if an arm is overloaded or has no times; otherwise every arm's goodput is the offered rate. If connections had no answer
// yet, more blocks do not help, and their doubt asks for longer windows.
func isAskedFor(r *record.Comparison, of record.Verdict) bool {
	if short := func(a record.Arm) bool { return a.Starves() && unanswered(a) }; short(armOf(r, of.Arm)) || short(armOf(r, of.Baseline)) {
		return false
	}
	if of.Primary || of.Metric != stats.Goodput {
		return of.Primary
	}
	overloaded := slices.ContainsFunc(r.Doubts, func(d fact.Fact) bool {
		return (d.Code == doubt.Overloaded.Code || d.Code == doubt.GeneratorLimit.Code) && (d.Arm == of.Arm || d.Arm == of.Baseline)
	})
	hasTimes := slices.ContainsFunc(r.Verdicts, func(v record.Verdict) bool {
		return v.Primary && v.Arm == of.Arm && v.Baseline == of.Baseline && v.Verdict.Outcome != outcome.Refused
	})
	return overloaded || !hasTimes
}

// aaBriefly tells in a few words whether the baseline and its copy differ, which they must not. If they do not, it names the
// metrics that are the same, or the widest interval of an open one. blocks is the number of valid blocks.
func aaBriefly(aa []record.Verdict, blocks int) string {
	if len(aa) == 0 {
		return "no copy of the baseline to check it by"
	}
	twice := aa[0].Baseline + ", run twice as a check,"
	var judged, same, open, bad []record.Verdict
	for _, v := range aa {
		if v.Verdict.Outcome == outcome.Refused {
			continue
		}
		judged = append(judged, v)
		if v.Verdict.Rank == stats.Same {
			same = append(same, v)
		} else if v.Primary {
			open = append(open, v)
		}
		if differs(v) {
			bad = append(bad, v)
		}
	}
	switch {
	// The number of blocks is tested before the result: with too few, nothing can differ yet.
	case len(judged) == 0 || blocks < stats.Looks()[0]:
		return twice + " is not judged against itself"
	case len(bad) > 0:
		return fmt.Sprintf("%s DIFFERS from itself in %s, and only a difference beyond that stands", twice, labels(bad))
	case slices.ContainsFunc(open, func(v record.Verdict) bool { return v.Low == 0 }):
		return twice + " cannot be compared with itself yet"
	case len(open) > 0:
		widest := slices.MaxFunc(open, func(a, b record.Verdict) int { return cmp.Compare(a.High/a.Low, b.High/b.Low) })
		return fmt.Sprintf("%s is open against itself at %s (%s)", twice, widest.Metric.Row().Label, between(widest))
	case len(same) == 0:
		return twice + " is not judged against itself in any time"
	}
	return fmt.Sprintf("%s does not differ from itself in %s", twice, labels(same))
}

// unmet returns the expectations that are not kept, after a line that counts the answers; nil
// without expectations.
func unmet(r *record.Comparison) []string {
	if len(r.Expectations) == 0 {
		return nil
	}
	var kept, open []string
	failed := false
	for _, e := range r.Expectations {
		if e.Outcome == outcome.Yes {
			kept = append(kept, e.Text)
			continue
		}
		open = append(open, fmt.Sprintf("%s %s: %s", outcome.Expectation.Phrase(e.Outcome), e.Text, e.Reason)) // not kept p99<10ms: …
		failed = failed || e.Outcome == outcome.No
	}
	count := tally(r.Expectations)
	switch {
	case failed || len(open) == 0 || r.Status == record.Interrupted || r.Status == record.Partial: // which have codes of their own
	case r.Judged():
		count += "; none is surely broken, so the exit code is 0 (with --strict 4)"
	default:
		count += "; none could be judged, so the exit code is 4"
	}
	// Expectations that are kept are named if that is short, such as an SLO.
	if passed := strings.Join(kept, ", "); passed != "" && !failed && len(passed) < 45 {
		count += "; kept: " + passed
	}
	return append([]string{count}, open...)
}
