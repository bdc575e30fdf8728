package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"schedlab/internal/measuring/report/chart"
	"schedlab/internal/measuring/report/document"
	"schedlab/internal/measuring/report/say"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// summary writes short Markdown, for a pull request or a page: the claims, the ranking, one table of figures with the changes
// that the verdicts decided, and the doubts that not every run has.
func (p comparisonPage) summary(w io.Writer) error {
	r := p.Comparison
	// The claims are a separate list, so the headline must not repeat them.
	answer, ranked := "", ranking(r)
	var notes document.Lines
	if p.found() == ranked {
		answer = ranked
	} else {
		notes = append(notes, "Ranking: "+ranked)
	}
	refused := slices.DeleteFunc(slices.Clone(r.Verdicts), func(v record.Verdict) bool { return v.Verdict.Outcome != outcome.Refused })
	for _, of := range byArm(refused) {
		notes = append(notes, sentences(r, of)...)
	}
	for _, d := range r.Doubts {
		if !d.Code.General() {
			notes = append(notes, "Doubt: "+Doubt(d))
		}
	}
	busy := doubt.TooBusy(r.Doubts)
	return say.Markdown(w, document.Document{
		Question: r.Question, State: state(r), Answer: cmp.Or(say.TooBusy(busy), answer),
		Context: append(say.BelowTooBusy(busy, answer, wayOut(&r.Common)), offered(r), machine(r)),
		Parts:   []document.Part{answers(r), summaryTable(r), notes},
	})
}

// Setup returns which loads the arms had, each different one once, and on which machine.
func Setup(r *record.Comparison) (all []string, where string) {
	if all = loads(r.Contestants()); len(all) < 2 && r.Rate > 0 {
		all = []string{loadOnEach(r)}
	}
	return all, machine(r)
}

// summaryTable returns the figures of every arm but the copy. Each figure with a verdict is followed by the change from the
// arm's baseline and its interval, such as "+12 % (+9 % to +15 %)". The change is = for the same and ~ for open, and is left
// out if it lies outside the interval. An arm's baseline is named unless it is the first arm.
func summaryTable(r *record.Comparison) document.Part {
	named := func(a record.Arm) string {
		for _, v := range r.Verdicts {
			if v.Arm == a.Name && v.Baseline != r.Arms[0].Name {
				return a.Name + " (against " + v.Baseline + ")"
			}
		}
		return a.Name
	}
	return document.Table{Rows: transposed(armColumns(choices(r.Arms), named, func(a record.Arm, m stats.Metric) string {
		v := verdictOn(r.Verdicts, a.Name, m.Figure)
		if v.Verdict.Outcome == outcome.Refused || v.Low == 0 {
			return ""
		}
		text := say.NBSP + "(" + between(v) + ")"
		if differs(v) && !within(quotient(r, v), v.Low, v.High) {
			return text // the interval alone
		}
		if sign := mark(r, v); sign != "" {
			text = say.NBSP + sign + text
		}
		return text
	}))}
}

// answers returns the scenario's claims and then its other assertions, each with its answer and
// the reason. A claim is an assertion that the scenario also has in words, and so has its answer.
func answers(r *record.Comparison) document.Findings {
	class := map[outcome.Outcome]string{outcome.Yes: "FASTER", outcome.No: "SLOWER", outcome.Open: "open", outcome.Refused: "refused"} // classes of verdicts' badges
	finding := func(e record.Expectation) document.Finding {
		return document.Finding{Mark: outcome.Expectation.Phrase(e.Outcome), Class: class[e.Outcome], Said: e.Claim, Text: e.Text, Reason: e.Reason.String()}
	}
	var claims, others document.Findings
	for _, e := range r.Expectations {
		if e.Claim != "" {
			claims = append(claims, finding(e))
		} else {
			others = append(others, finding(e))
		}
	}
	return append(claims, others...)
}

// A PackEntry is one scenario of a pack, a set of scenarios that run one after another. Expect
// is in the order of the scenario.
type PackEntry struct {
	Scenario string
	Cell     []record.Level // on a grid; nil in a pack of scenarios
	Question string
	Expect   []string           // its assertions
	Result   *record.Comparison // nil if it did not run
	NotRun   string             // why not
}

// name returns what tells the entry from the others: its cell on a grid, or its scenario.
func (e PackEntry) name() string { return cmp.Or(record.CellName(e.Cell), e.Scenario) }

// answer returns the entry's name with its answer, or with why it did not run.
func (e PackEntry) answer() string {
	if e.Result == nil {
		return e.name() + ": not run: " + e.NotRun
	}
	return e.name() + ": " + Headline(e.Result)
}

// Answers counts an entry's answers by outcome: see [record.Comparison.Outcomes]. All assertions of a scenario that did not run count as refused: otherwise a
// pack would look better without it.
func (e PackEntry) Answers() map[outcome.Outcome]int {
	if e.Result == nil {
		return map[outcome.Outcome]int{outcome.Refused: len(e.Expect)}
	}
	return e.Result.Outcomes()
}

// asks reports whether something is expected of the entry.
func (e PackEntry) asks() bool {
	for _, n := range e.Answers() {
		if n > 0 {
			return true
		}
	}
	return false
}

// PackScenario writes the result of one scenario of a pack as text: its answer, and every
// assertion with its evidence. An empty line ends it. It returns the errors of w.
func PackScenario(w io.Writer, e PackEntry, o TextOptions) error {
	d := document.Document{Name: e.name(), Question: e.Question}
	if r := e.Result; r != nil {
		d.Answer, d.Parts = Headline(r), []document.Part{expectations(r), document.Commands{{Label: "Record", Text: r.Dir}}}
	} else {
		var refused document.Lines
		for _, text := range e.Expect {
			refused = append(refused, outcome.Expectation.Phrase(outcome.Refused)+" "+text)
		}
		d.State, d.Parts = "NOT RUN: "+e.NotRun, []document.Part{refused}
	}
	return errors.Join(say.Text(w, d, o), say.Emit(w, "pack", "\n"))
}

// PackSummary writes the table of a pack as text: a line for each scenario in the order of entries, and the totals below. For a
// grid it writes the table of who wins where.
func PackSummary(w io.Writer, entries []PackEntry, o TextOptions) error {
	if len(entries) > 0 && entries[0].Cell != nil {
		return writeGrid(w, entries, o)
	}
	// Columns of the expectations' answers stand only where something is expected.
	var asked []outcome.Outcome
	if slices.ContainsFunc(entries, func(e PackEntry) bool { return e.asks() }) {
		asked = outcome.All()
	}
	head := []string{"scenario"}
	for _, a := range asked {
		head = append(head, outcome.Expectation.Phrase(a))
	}
	rows := [][]string{append(head, "blocks", "answer")}
	sum := map[outcome.Outcome]int{}
	row := func(name string, counts map[outcome.Outcome]int, blocks, answer string) {
		cells := []string{name}
		for _, a := range asked {
			cells = append(cells, strconv.Itoa(counts[a]))
		}
		rows = append(rows, append(cells, blocks, answer))
	}
	for _, e := range entries {
		counts, blocks, answer := e.Answers(), say.None, "not run"
		for a, n := range counts {
			sum[a] += n
		}
		if r := e.Result; r != nil {
			blocks, answer = fmt.Sprintf("%d/%d", r.Valid, cmp.Or(r.Ran, r.Planned)), r.Winner.String()
		}
		row(e.name(), counts, blocks, answer)
	}
	row(say.Plural(len(entries), "scenario"), sum, "", "")
	return say.Text(w, document.Document{Parts: []document.Part{document.Table{Rows: rows}}}, o)
}

// gateName is the title of a gate's pages.
const gateName = "gate"

// gateBriefly builds the answer of a gate for a terminal: a sentence, a table, how sure it is,
// and the first doubt.
//
// A gate answers one question, whether a new build is worse than the old one. The old build is
// the first arm and the new one the last.
func gateBriefly(r *record.Comparison) document.Document {
	t := topOf(r)
	return document.Document{
		Name: gateName, State: state(r), Answer: t.answer, Chips: t.chips, Lead: t.lead, Context: []string{askedBriefly(r)},
		Parts: []document.Part{gateFigures(r), append(gateEvidence(r), rest(r, others(r), alwaysShown(r))...)},
	}
}

// gateComment writes the answer of a gate as a comment on a pull request: the sentence and the
// table, and folded away the evidence, the doubts and the commands.
func gateComment(w io.Writer, r *record.Comparison) error {
	measured := gateEvidence(r)
	for _, d := range numbered(r.Doubts) {
		measured = append(measured, document.Fact{Label: "Doubt", Text: d})
	}
	measured = append(measured, document.Fact{Label: "Machine", Text: machine(r)}, document.Fact{Label: "Command", Text: cmp.Or(r.Command, r.Note)})
	return say.Markdown(w, document.Document{Name: gateName, State: state(r), Answer: Headline(r), Context: say.BelowTooBusy(doubt.TooBusy(r.Doubts), gateAnswer(r), wayOut(&r.Common)), Parts: []document.Part{
		gateFigures(r), document.Details{Summary: "How it was measured", Parts: []document.Part{document.Lines{askedBriefly(r)}, measured}},
	}})
}

// gateEvidence tells how sure the answer of a gate is, and what may close an open one.
func gateEvidence(r *record.Comparison) document.Facts {
	wrong := "of a hundred gates of equal builds one at most says worse"
	if r.GateOutcome() == outcome.Yes {
		wrong = "of twenty gates of a build that is worse than allowed one at most passes"
	}
	told := document.Facts{{Label: "Sure", Text: blocks(r) + "; " + wrong}}
	for _, line := range slices.Concat(silent(r), failings(r.Arms)) {
		told = append(told, document.Fact{Label: "Sure", Text: line})
	}
	if waits := otherWaits(r); waits != "" {
		told = append(told, document.Fact{Label: "Why", Text: waits})
	}
	// While other programs take the CPUs, no flag of the gate helps.
	if r.GateOutcome() != outcome.Open || !doubt.TooBusy(r.Doubts).None() {
		return told
	}
	needed := neededByGate(r)
	text, otherwise := remedy(r, needed), remedies(r)
	switch next := nextOf(r).command; {
	case next != "" && otherwise != "": // other flags than those of Next
		otherwise = "if Next stays open: " + otherwise
	case next == "" && text != "" && needed > 0 && needed <= mostBlocks:
		text += "; raise --budget"
	}
	for _, text := range []string{text, otherwise} {
		if text != "" {
			told = append(told, document.Fact{Label: "Open", Text: text})
		}
	}
	return told
}

// A gate that is worse tells of threads and context switches that changed by this factor, which no test judges, but not of fewer
// switches a request than fewSwitches.
const (
	muchMore    = 2
	fewSwitches = .1
)

// otherWaits tells of a new build that is worse, and not at memory alone, how its threads and context switches changed, if that is by
// much: its requests may then wait in another way, as for a pool of threads or a lock. "" if they did not.
func otherWaits(r *record.Comparison) string {
	if !slices.ContainsFunc(r.Gate, func(g record.Gated) bool { return g.Outcome == outcome.No && g.Metric != stats.Memory }) {
		return ""
	}
	var changed []string
	before, after := r.Arms[0], r.Arms[len(r.Arms)-1]
	tell := func(what string, old, now float64, text func(float64) string) {
		if old > 0 && now > 0 && max(old/now, now/old) >= muchMore {
			changed = append(changed, fmt.Sprintf("%s%s instead of %s", text(now), what, text(old)))
		}
	}
	if before.Footprint != nil && after.Footprint != nil {
		tell("", float64(before.Footprint.Threads), float64(after.Footprint.Threads), func(v float64) string { return say.Plural(int(v), "thread") })
	}
	if before.Switches != nil && after.Switches != nil && max(*before.Switches, *after.Switches) >= fewSwitches {
		tell(" context switches a request", *before.Switches, *after.Switches, func(v float64) string { return fmt.Sprintf("%.3g", v) })
	}
	if changed == nil {
		return ""
	}
	return after.Name + " has " + strings.Join(changed, ", and ") + " (not judged): its requests may wait in another way, as in a pool of threads or at a lock"
}

// neededByGate returns the number of blocks that would decide all that must be fine; 0 if that is not known, or nothing is open.
func neededByGate(r *record.Comparison) (needed int) {
	for _, g := range r.Gate {
		if g.Outcome == outcome.Open && !g.Watched {
			needed = max(needed, g.Needed)
		}
	}
	return needed
}

// remedies returns the flags that may close an open gate, apart from more blocks: a lower rate, a larger allowed worsening, or
// fewer metrics. It proposes fewer metrics only if these include a time or the CPU time, which a slower build makes worse.
func remedies(r *record.Comparison) string {
	const mostBusy = .4 // ratio of the servers' CPU time above which queueing makes much of the noise
	var ways, fine, allows []string
	slows, known := false, true
	for _, g := range r.Gate {
		word := cmp.Or(g.Metric.Row().Word, g.Metric.String())
		switch {
		case g.Outcome == outcome.Yes && !g.Watched:
			fine = append(fine, word)
			slows = slows || g.Metric.Row().Quantile > 0 || g.Metric == stats.CPUPerRequest
		case g.Outcome == outcome.Open && !g.Watched:
			allows = append(allows, fmt.Sprintf("%s=%.0f%%", word, math.Ceil(100*(mostWorse(g)-1))))
			known = known && g.Low > 0
		}
	}
	if c := r.Arms[0].CPUPerRequest; c != nil && *c*r.Rate/float64(max(r.Env.ServerProcs, 1)) > mostBusy {
		ways = append(ways, "a lower --rate has less noise of queueing")
	}
	// An open metric that got worse by more than a quarter of the allowed worsening must not be left out, nor allowed.
	worse := slices.ContainsFunc(r.Gate, func(g record.Gated) bool { return g.Outcome == outcome.Open && worsening(g, g.Ratio) > 1+g.Allow/4 })
	if known && len(allows) > 0 && !worse {
		ways = append(ways, "--allow "+strings.Join(allows, ",")+" is what this machine can tell")
	} else if len(allows) > 0 {
		ways = append(ways, "--allow can allow more")
	}
	if slows && !worse {
		ways = append(ways, "--metric "+strings.Join(fine, ",")+" leaves out what was not decided")
	}
	return strings.Join(ways, "; ")
}

// mostWorse returns how much worse a metric may be by its interval, as a worsening.
func mostWorse(g record.Gated) float64 {
	if g.Metric.Row().HigherIsBetter {
		return 1 / g.Low
	}
	return g.High
}

// worsening returns a ratio of a gate's metric as a worsening, which is above 1 if the new build is worse: the inverse ratio if
// higher is better. It also turns a worsening into a ratio.
func worsening(g record.Gated, ratio float64) float64 {
	if g.Metric.Row().HigherIsBetter {
		return 1 / ratio
	}
	return ratio
}

// gateAnswer returns the answer of a gate in one or two sentences, with the metrics that decided it.
func gateAnswer(r *record.Comparison) string {
	answer, detail, more := gateInParts(r)
	text := answer
	if detail != "" {
		text += ": " + detail
	}
	for _, sentence := range more {
		text += ". " + sentence
	}
	// An overload refuses times, but it is an answer itself.
	if behind := doNotKeepUp(r); behind != "" && !r.GateOutcome().Decided() {
		text = behind + ". " + text
	}
	return text + "."
}

// gateInParts returns the answer of a gate, the metrics that decided it, and what else is to say, each without a full stop.
func gateInParts(r *record.Comparison) (answer, detail string, more []string) {
	said := gateMetrics(r)
	before, after := r.Arms[0].Name, r.Arms[len(r.Arms)-1].Name
	// add lists the metrics that have an answer, after a label.
	add := func(label string, metrics []string) {
		if len(metrics) > 0 {
			more = append(more, label+": "+strings.Join(metrics, ", "))
		}
	}
	switch r.GateOutcome() {
	case outcome.No:
		answer, detail = fmt.Sprintf("%s is worse than %s", after, before), strings.Join(said[outcome.No], ", ")
	case outcome.Yes:
		answer, detail = fmt.Sprintf("%s is not worse than %s", after, before), strings.Join(said[outcome.Yes], ", ")+" within what is allowed"
		add("Surely better", surelyBetter(r))
		add("Open, and only watched", said[outcome.Open])
	default:
		answer = fmt.Sprintf("Whether %s is worse than %s is open", after, before)
		add("Open", said[outcome.Open])
	}
	add("Refused", said[outcome.Refused])
	return answer, detail, more
}

// gateMetrics returns the gate's metrics by their answers, with their figures; those refused for one reason are one text, with
// the reason and without figures. A metric that is fine has no figures here, and in
// an open gate an open metric that is only watched is left out; the table has both.
func gateMetrics(r *record.Comparison) map[outcome.Outcome][]string {
	said, gate := map[outcome.Outcome][]string{}, r.GateOutcome()
	var refused []record.Gated
	for _, g := range r.Gate {
		text := g.Metric.Row().Label
		switch {
		case g.Outcome == outcome.Open && g.Watched && gate == outcome.Open:
			continue
		case g.Outcome == outcome.Refused:
			refused = append(refused, g)
			continue
		case g.Low <= 0 || g.Outcome == outcome.Yes:
		case g.Outcome == outcome.Open:
			text += " " + gateChange(r, g, "; "+allowedChange(g)+" allowed")
		default:
			text += " " + gateChange(r, g, "")
		}
		said[g.Outcome] = append(said[g.Outcome], text)
	}
	for _, same := range alike(refused, func(a, b record.Gated) bool { return a.Reason.Alike(b.Reason) }) {
		var names []string
		for _, g := range same {
			names = append(names, g.Metric.Row().Label)
		}
		said[outcome.Refused] = append(said[outcome.Refused], strings.Join(names, ", ")+" ("+same[0].Reason.String()+")")
	}
	return said
}

// surelyBetter returns the metrics that are surely better, by at least half of the allowed worsening, with their changes.
func surelyBetter(r *record.Comparison) (gained []string) {
	for _, g := range r.Gate {
		if most := mostWorse(g); g.Outcome == outcome.Yes && 0 < most && most < 1 && worsening(g, g.Ratio) <= 1/(1+g.Allow/2) {
			gained = append(gained, g.Metric.Row().Label+" "+changeWithin(gateQuotient(r, g), g.Low, g.High, false))
		}
	}
	return gained
}

// allowedChange returns how much worse a metric may be, as a change: "+10 %", or "-3 %" for goodput.
func allowedChange(g record.Gated) string { return say.Change(worsening(g, 1+g.Allow)) }

// A gateRow is one metric of a gate: the figures of both builds, and its answer as a row of a forest, where the band is what is allowed.
type gateRow struct {
	Before, After, Interval, Allowed, Answer string
	forestRow
}

// gateRows returns the rows of a gate, one for each metric.
func gateRows(r *record.Comparison) (rows []gateRow) {
	for _, g := range r.Gate {
		m := g.Metric.Row()
		before, after := builds(r, m)
		figure := func(v float64) string {
			if m.Unit == "bytes" {
				return bytesText(int64(v))
			}
			return Figure(m, v)
		}
		row := gateRow{
			Before: say.OrNone(before, figure), After: say.OrNone(after, figure), Allowed: allowedChange(g), Answer: outcome.Gate.Phrase(g.Outcome),
			forestRow: forestRow{Verdict: g.Verdict(r.Arms[0].Name, r.Arms[len(r.Arms)-1].Name), Label: m.Label, Same: 1 + g.Allow, Class: string(g.Outcome)},
		}
		switch g.Outcome { // in the colours of a comparison
		case outcome.No:
			row.Class = string(stats.Slower)
		case outcome.Yes:
			row.Class = string(stats.Same)
		}
		if ratio := gateQuotient(r, g); ratio > 0 && within(ratio, g.Low, g.High) && g.Outcome != outcome.Refused {
			row.Change = say.Change(ratio)
		}
		if g.Low > 0 && g.Outcome != outcome.Refused {
			row.Interval = bound(g.Low, false) + " to " + bound(g.High, false)
		}
		if row.Drawn = hasInterval(row.Verdict); row.Drawn {
			row.Sentence = fmt.Sprintf("%s surely between %s, with %s allowed: %s", row.Label, row.Interval, row.Allowed, row.Answer)
		}
		rows = append(rows, row)
	}
	return rows
}

// gateFigures returns the table of a gate, a row for each metric, and below it the rule for its answers.
func gateFigures(r *record.Comparison) document.Section {
	const rule = "fine: surely within what is allowed; worse: not so, surely above no change, and in the median by more than half of what is allowed. Both by the changes within the blocks. The first build runs twice in each block: its figure is the median of both"
	table := [][]string{{"", r.Arms[0].Name, r.Arms[len(r.Arms)-1].Name, "change", "surely between", "allowed", "answer"}}
	for _, row := range gateRows(r) {
		table = append(table, []string{row.Label, row.Before, row.After, row.Change, row.Interval, row.Allowed, row.Answer})
	}
	lines := document.Lines{rule}
	if slices.ContainsFunc(r.Gate, func(g record.Gated) bool { return g.Metric == stats.Goodput }) {
		before, after := builds(r, stats.Goodput.Row())
		lines = append(lines, aboveRate(r, before, after)...)
	}
	return document.Section{Parts: []document.Part{document.Table{Rows: table}, lines}}
}

// gateDrawing returns the table of a gate for a page, which has the intervals of the changes drawn on one axis.
func gateDrawing(r *record.Comparison) document.Charts {
	t := struct {
		X               chart.Axis
		Class, Old, New string // Class is of the new build's line
		Rows            []gateRow
	}{Class: classOf(r, r.Arms[len(r.Arms)-1].Name), Old: r.Arms[0].Name, New: r.Arms[len(r.Arms)-1].Name, Rows: gateRows(r)}
	var drawn []record.Verdict
	for _, row := range t.Rows {
		if row.Drawn {
			drawn = append(drawn, row.Verdict)
		}
	}
	t.X = forestAxis(drawn)
	return document.Charts{{Picture: draw("gate", t)}}
}

// builds returns the figures of both builds at a metric; nil for a figure that is not known. The first build ran twice in each
// block, and its figure is the median over both runs.
func builds(r *record.Comparison, m stats.Metric) (before, after *float64) {
	old, copied, last := r.Arms[0], r.Arms[1], r.Arms[len(r.Arms)-1]
	if m.Figure == stats.Memory { // which is no metric of blocks
		return medianMemory(old, copied), medianMemory(last)
	}
	before, after = old.Median(m.Figure), last.Median(m.Figure)
	if both := slices.Concat(old.Blocks[m.Figure], copied.Blocks[m.Figure]); before != nil && len(both) > 0 {
		before = new(stats.Median(both))
	}
	return before, after
}

// medianMemory returns the median of the arms' memory in bytes; nil if none is known.
func medianMemory(arms ...record.Arm) *float64 {
	var known []float64
	for _, a := range arms {
		if a.Footprint != nil {
			known = append(known, float64(a.Footprint.Memory))
		}
	}
	if known == nil {
		return nil
	}
	return new(stats.Median(known))
}

// gateQuotient returns the ratio of the two builds' printed figures; if a figure is not known, the median of the blocks' ratios,
// which is 0 if there is none.
func gateQuotient(r *record.Comparison, g record.Gated) float64 {
	m := g.Metric.Row()
	before, after := builds(r, m)
	if g.Ratio == 0 || before == nil || after == nil || m.Printed(*before) == 0 {
		return g.Ratio
	}
	return m.Printed(*after) / m.Printed(*before)
}

// gateChange formats a gate's change, with its interval and more in parentheses. If the change lies outside its interval, it
// leaves the change out.
func gateChange(r *record.Comparison, g record.Gated, more string) string {
	ratio, between := gateQuotient(r, g), bound(g.Low, false)+" to "+bound(g.High, false)
	if !within(ratio, g.Low, g.High) {
		if more == "" {
			return between
		}
		return between + " (" + strings.TrimPrefix(more, "; ") + ")"
	}
	return say.Change(ratio) + " (" + between + more + ")"
}
