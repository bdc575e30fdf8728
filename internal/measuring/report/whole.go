package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"schedlab/internal/measuring/report/chart"
	"schedlab/internal/measuring/report/document"
	"schedlab/internal/measuring/report/say"
	"schedlab/internal/shared/cmdline"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/prose"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// Text writes the whole report of r for a terminal. Brief is the report of one screen.
// The grid that the run is a cell of comes last.
func Text(w io.Writer, r record.Result, o TextOptions) error {
	err := say.Text(w, whole(r, true), o)
	c, is := r.(*record.Comparison)
	if err != nil || !is || c.Grid == nil {
		return err
	}
	if err := say.Emit(w, "text", "\n"); err != nil {
		return err
	}
	return writeGrid(w, entriesOf(c.Grid), o)
}

// Markdown writes r for an issue, a commit or a README. Everything that came from outside is
// escaped. It leaves out parts that show nothing unusual; the format summary is shorter still.
func Markdown(w io.Writer, r record.Result) error { return say.Markdown(w, whole(r, false)) }

// HTML writes r as one page that needs no script and loads no other file. Everything from outside
// is escaped. The page contains the result as JSON in the element with id "result".
func HTML(w io.Writer, r record.Result) error { return say.HTML(w, Page(r)) }

// Page returns the page that HTML writes.
func Page(r record.Result) document.Document { return whole(r, true) }

// whole returns the full report of r. Unless all is set, it leaves out the parts that show nothing unusual. The parts that
// interest most readers come first, and what speaks against the result and where the data are come last.
//
// Each function below builds one part. A part without data is an empty Section, which no writer prints.
func whole(r record.Result, all bool) document.Document { return pageOf(r).whole(all) }

func (p comparisonPage) whole(all bool) document.Document {
	d := fully(p.Comparison, []document.Part{figures(p.Comparison), verdicts(p.Comparison)}, all)
	d.First = append([]document.Part{overview(p.Comparison)}, d.First...)
	return d
}

// fully returns the full report of a comparison, with these sections as the first.
func fully(r *record.Comparison, sections []document.Part, all bool) document.Document {
	t := topOf(r)
	return document.Document{
		Name: named(r), Question: r.Question, State: state(r), Answer: t.answer, Chips: t.chips, Axis: t.axis, Lead: t.lead, First: nextOf(r).parts(),
		Context: setting(r), Data: complete(r, Headline(r)),
		Parts: slices.Concat(sections, []document.Part{why(&r.Common), expectations(r)}, breakdownParts(r), chapters(&r.Common), []document.Part{
			connections(r, all), twins(r), document.Page{curveSection(r), heatSection(r), sweepSection(r), panelSection(r)}, doubtSection(r), recordSection(r, fingerprint(r, ranAt(r)...), r.Order), document.Page{gridSection(r)},
		}),
	}
}

// setting tells the load, the sizes of the servers and the machine.
func setting(r *record.Comparison) []string {
	if has := sizes(r.Contestants()); has != "" {
		return []string{offered(r), has, machine(r)}
	}
	return []string{offered(r), machine(r)}
}

// warned returns lead, the sentence on how to read figures, with the caveat about them added.
func warned(r *record.Comparison, lead string) string {
	if c := caveat(r); c != "" {
		lead += " These figures are " + c + "."
	}
	return lead
}

// figures returns the arms' medians as a table, and below it sentences on failed requests.
func figures(r *record.Comparison) document.Part {
	says := complaints(r)
	if r.Valid > 0 { // else there are no medians to explain, but there may be failures
		legend := "Medians over the blocks; a change is the quotient of two of them, its interval that of the blocks' own ratios"
		if c := caveat(r); c != "" {
			legend = "Medians over the blocks. These figures are " + c
		}
		says = slices.Insert(says, 0, legend)
	}
	return document.Section{
		ID: "figures", Title: "Figures",
		Lead: "Response time counts from the scheduled time, so waiting caused by the server is never left out.",
		Parts: []document.Part{
			medians(r.Arms, marks(r)),
			document.Lines(says),
			byClass(r.Arms),
			document.Details{Summary: "More figures", Parts: []document.Part{moreFigures(r)}},
		},
	}
}

// byClass returns the table of the figures by class of requests; an empty part without classes.
func byClass(arms []record.Arm) document.Part {
	type row struct {
		arm string
		record.ClassFigures
	}
	var all []row
	for _, a := range arms {
		for _, c := range a.Classes {
			all = append(all, row{a.Name, c})
		}
	}
	if all == nil {
		return document.Table{}
	}
	time := func(head string, of func(row) *float64) field[row] {
		return field[row]{head, nil, func(r row) string { return say.OrNone(of(r), say.Seconds) }}
	}
	return document.Table{Rows: rows(all,
		field[row]{"arm", nil, func(r row) string { return r.arm }},
		field[row]{"requests", nil, func(r row) string { return ofClass(r.Class) }},
		time("p50", func(r row) *float64 { return r.P50 }),
		time("p90", func(r row) *float64 { return r.P90 }),
		time("p99", func(r row) *float64 { return r.P99 }),
		field[row]{"errors", nil, func(r row) string { return say.Count(r.Errors) + " of " + say.Count(r.Requests) }},
	)}
}

// marks returns, for each arm in its order, its class in charts and the numbers of
// its doubts in the document's list, from 1.
func marks(r record.Result) []document.Mark {
	arms := r.Contestants()
	all := classes(chart.SeriesOf(arms))
	for k, a := range arms {
		for i, d := range r.Head().Doubts {
			if d.Arm == a.Name {
				all[k].Notes = append(all[k].Notes, i+1)
			}
		}
	}
	return all
}

// verdictLines returns the sentences on each challenger's verdicts, a part for each.
func verdictLines(r *record.Comparison) (all []document.Part) {
	for _, group := range byArm(r.Verdicts) {
		all = append(all, document.Lines(sentences(r, group)))
	}
	return all
}

// verdicts describes how the arms differ: a forest plot in a page, sentences elsewhere.
func verdicts(r *record.Comparison) document.Part {
	if len(r.Verdicts) == 0 && len(r.AA) == 0 {
		return document.Section{}
	}
	base := r.Arms[0].Name
	if len(r.Verdicts) > 0 {
		base = baselineOf(r.Verdicts)
	}
	lead := "Each arm against " + base + ", block by block. The line is the 95" + say.NBSP + "% interval of the ratio, the dot its median, " +
		"the band where arms count as the same. For times and CPU left is better, for goodput right."
	says := verdictLines(r)
	// One sentence is enough where every verdict has the same reason.
	if why := oneReason(r.Verdicts); why != "" {
		refused := fmt.Sprintf("All %s are refused: %s", say.Plural(len(r.Verdicts), "verdict"), why)
		lead, says = lead+" "+refused+".", []document.Part{document.Lines{refused}}
	}
	return document.Section{
		ID: "verdicts", Title: "Verdicts", About: conditions(r), Lead: lead,
		// A page draws the verdicts, and shows the same sentences below the drawing, folded away.
		Parts: []document.Part{document.Charts{{Picture: draw("forest", forestOf(r)), Instead: says}}},
	}
}

// doubtSection returns everything that speaks, or might speak, against the result: the doubts, numbered for the marks of the
// figures, then the evidence, the laws of queues and the disturbances.
func doubtSection(r *record.Comparison) document.Part {
	return document.Section{ID: "doubts", Title: "Doubts", Parts: []document.Part{
		numbered(r.Doubts), evidence(r),
		document.Details{
			Summary: "How near the windows came to breaking laws of queues, which hold for any server",
			Parts:   []document.Part{laws(r.Laws)},
		},
		document.Details{
			Summary: "What disturbed the windows: medians, which the intervals include, and the load at its worst",
			Parts:   []document.Part{disturbed(r.Arms)},
		},
	}}
}

// evidence returns the facts about the A/A control, the load generator, the blocks left out, and the rules that were not
// checked. It has no label without a fact.
func evidence(r *record.Comparison) (known document.Facts) {
	add := func(label, text string) {
		if text != "" {
			known = append(known, document.Fact{Label: label, Text: text})
		}
	}
	add("A/A", aaBriefly(r.AA, r.Valid))
	control := slices.Clone(r.AA)
	for i := range control {
		control[i].Lean, control[i].Needed = "", 0 // no run goes on to decide the control
	}
	for _, sentence := range sentences(r, control) {
		add("A/A", sentence)
	}
	add("Generator", visiting(r))
	add("Generator", floor(r.Env.Floor))
	for _, line := range refusals(r.Refused) {
		add("Left out", line)
	}
	if len(r.NotChecked) > 0 {
		add("Unchecked", "rules that were not checked: "+strings.Join(r.NotChecked, "; "))
	}
	add("Note", r.Note)
	return known
}

// numbered returns doubts to be numbered.
func numbered(doubts []fact.Fact) (all document.Numbered) {
	for _, d := range doubts {
		all = append(all, Doubt(d))
	}
	return all
}

// recordSection tells where the data are and how to render them again. A page also has the
// machine, the order of the blocks and the arms' commands.
func recordSection(r record.Result, machine document.Part, blocks [][]string) document.Part {
	var commands document.Commands
	for _, a := range r.Contestants() {
		if a.Command != "" {
			commands = append(commands, document.Fact{Label: a.Name, Text: a.Command})
		}
	}
	var order document.Lines
	for _, arms := range blocks {
		order = append(order, strings.Join(arms, ", "))
	}
	dir := r.Head().Dir
	data := document.Commands{{Label: "data", Text: dir}, {Label: "again", Text: "schedlab runs show " + cmdline.Quote(dir) + " --output html"}}
	return document.Section{ID: "record", Title: "Record", Parts: []document.Part{
		data, document.Page{
			machine, document.Details{Summary: "Each block in the order it ran", Parts: []document.Part{order}},
			document.Details{Summary: "The arms' commands", Parts: []document.Part{commands}},
		},
	}}
}

// fingerprint lists the machine and the programs, in short facts. It says "not known" instead of leaving a fact out, because a
// reader compares the list with that of another run. ran holds more facts about the run, to be shown after its window.
func fingerprint(of record.Result, ran ...[2]string) document.Part {
	r := of.Head()
	e := r.Env
	known := func(s string) string { return cmp.Or(s, "not known") }
	started, virtualised, pause := "not known", "no", "not measured"
	if !r.Started.IsZero() {
		started = r.Started.Format("2006-01-02 15:04:05 -0700")
	}
	if e.Virtualised {
		virtualised = "yes"
	}
	if e.Pause > 0 {
		pause = say.Seconds(e.Pause)
	}
	rows := [][2]string{
		{"started", started},
		{"run", r.Run}, {"seed", strconv.FormatUint(r.Seed, 10)}, {"window", say.Seconds(r.Window.Seconds())},
	}
	rows = append(append(rows, ran...), [][2]string{
		{"schedlab", known(e.Version)}, {"Go", known(e.Go)}, {"GOGC", known(e.GOGC)},
		{"CPU", known(e.CPU)}, {"CPUs", say.Count(e.CPUs)}, {"virtualised", virtualised},
		{"servers", servers(e, of.Contestants())}, {"load", side(e.LoadCPUs, e.CPUs, e.LoadProcs)},
		{"kernel", known(e.Kernel)}, {"clock source", known(e.Clocksource)}, {"governor", known(e.Governor)},
		{"cgroup CPU limit", cmp.Or(e.CPUMax, "none")}, {"load average at start", say.Plain(e.Load1)}, {"CPU pressure at start", known(e.PSI)},
		{"CPU time stolen", say.Plain(e.StealRatio*100) + say.NBSP + "%"}, {"somaxconn", say.Count(e.Somaxconn)}, {"port range", known(e.PortRange)},
		{"longest regular pause", pause},
		{"descriptors", prose.Grouped(strconv.FormatUint(e.NoFile, 10))}, {"CPU demand", say.Plain(e.ItersPerUsec) + " iterations/µs"},
	}...)
	var grid document.Grid
	for _, row := range rows {
		grid = append(grid, document.Fact{Label: row[0], Text: row[1]})
	}
	return grid
}

// ranAt returns the offered rate and the blocks of a comparison, for its fingerprint. Closed loops have no rate.
func ranAt(r *record.Comparison) [][2]string {
	rate := say.None
	if r.Rate > 0 {
		rate = say.Rate(r.Rate)
	}
	return [][2]string{{"offered rate", rate}, {"blocks", blocks(r)}}
}

// Sizes of the forest plot, in px: of the drawing, and of the free space at both of its ends.
const (
	forestWidth  = 320
	forestMargin = 22
)

// A forest is the verdicts with their intervals on one axis of ratios to the baseline. The axis
// is logarithmic, so twice and half are equally far from 1.
type forest struct {
	X      chart.Axis
	Groups []forestGroup
}

// A forestGroup is the verdicts on one arm, or the A/A control.
type forestGroup struct {
	chart.Series
	Control bool
	Rows    []forestRow
}

// A forestRow is one verdict. If it was refused or has no interval yet, it is not drawn and its note tells why.
type forestRow struct {
	record.Verdict
	Label    string    // of the metric
	Dots     []float64 // the ratio in each block, drawn also where the verdict is not; nil for none
	Class    string    // tells whether the arm is better
	Change   string    // of the arm's figure; "" if only the interval is shown
	Same     float64   // the ratio up to which two arms count as the same
	Drawn    bool
	Note     string // how many blocks agree, what would decide it, or why it is not drawn
	Sentence string // the verdict in full
}

// forestOf returns the forest of all verdicts: a group for each arm in the order of the run, and the A/A control as the last
// group. Intervals of the control show how wide an interval is between equal servers.
func forestOf(r *record.Comparison) forest {
	f := forest{X: forestAxis(slices.Concat(r.Verdicts, r.AA))}
	add := func(group []record.Verdict, control bool) {
		g := forestGroup{Series: chart.Series{Name: group[0].Arm, Class: classOf(r, group[0].Arm)}, Control: control}
		for i, v := range group {
			row := forestRowOf(r, v)
			if first := slices.IndexFunc(group[:i], func(before record.Verdict) bool { return refusedAlike(before, v) }); first >= 0 {
				row.Note = "as " + g.Rows[first].Label
			}
			g.Rows = append(g.Rows, row)
		}
		f.Groups = append(f.Groups, g)
	}
	for _, group := range byArm(r.Verdicts) {
		add(group, false)
	}
	for _, group := range byArm(r.AA) {
		add(group, true)
	}
	return f
}

// hasInterval reports whether a verdict has an interval to show. That of a refused one is no finding.
func hasInterval(v record.Verdict) bool {
	return v.Verdict.Outcome != outcome.Refused && v.Low > 0 && v.Ratio > 0 && v.High > 0
}

// forestAxis returns the axis of a forest with these verdicts.
func forestAxis(verdicts []record.Verdict) chart.Axis {
	return ratioAxis(verdicts, forestWidth, forestMargin)
}

// forestRowOf returns the row of a verdict.
func forestRowOf(r *record.Comparison, v record.Verdict) forestRow {
	row := forestRow{
		Verdict: v, Label: v.Metric.Row().Label, Class: v.Verdict.String(), Sentence: sentence(r, v),
		Same: 1 + v.Metric.Row().Same, Drawn: hasInterval(v),
	}
	// For times lower is better, for goodput higher: better has the same colour for every metric.
	switch {
	case v.Better():
		row.Class = string(stats.Faster)
	case v.Worse():
		row.Class = string(stats.Slower)
	}
	if ratio := quotient(r, v); row.Drawn && within(ratio, v.Low, v.High) {
		row.Change = say.Change(ratio)
	}
	if v.Verdict.Outcome != outcome.Refused {
		row.Note = hint(r, v)
	}
	switch {
	case row.Note != "":
	case !row.Drawn && v.Verdict.Outcome == outcome.Open:
		row.Note = say.Plural(v.Blocks, "block") + ", too few for an interval"
	case !row.Drawn:
		row.Note = reason(v)
	case differs(v):
		row.Note = lower(v.Verdict.Rank) + " in " + agreeing(v, v.Verdict.Rank)
	default:
		row.Note = say.Plural(v.Blocks, "block")
	}
	return row
}

// ratioAxis returns a logarithmic axis that covers every interval. It covers at least ±25 %, so
// that small differences look small, and at most a thousandfold, and it ends at round ratios.
// An interval beyond that is cut at the end of the axis.
func ratioAxis(verdicts []record.Verdict, width, margin chart.Px) chart.Axis {
	low, high := 0.8, 1.25
	for _, v := range verdicts {
		if hasInterval(v) {
			low, high = min(low, v.Low), max(high, v.High)
		}
	}
	// .1 % of tolerance keeps an interval that ends at a round ratio from taking the next larger one.
	round := func(ratio float64) float64 {
		for _, end := range []float64{1.25, 1.5, 2, 3, 5, 10, 100} {
			if ratio <= end*1.001 {
				return end
			}
		}
		return 1000
	}
	x := chart.Axis{Low: 1 / round(1/low) / 1.02, High: round(high) * 1.02, From: margin, To: width - margin, Log: true}
	x.Ticks = ratioTicks(x)
	return x
}

// ratioTicks returns ticks at ratio 1 and at round ratios, the most important ones first. A tick without room for its label is
// left out.
func ratioTicks(x chart.Axis) []chart.Tick {
	const room = 46 // px, the width of a label such as "+100 %"
	ticks := []chart.Tick{{At: x.At(1), Label: "same", Minor: false}}
	for _, v := range []float64{2, 0.5, 1.5, 1.25, 0.8, 10, 0.1, 5, 0.2, 3, 100, 0.01, 1.1, 0.9} {
		near := func(t chart.Tick) bool { return math.Abs(float64(t.At-x.At(v))) < room }
		if v >= x.Low && v <= x.High && !slices.ContainsFunc(ticks, near) {
			ticks = append(ticks, chart.Tick{At: x.At(v), Label: say.Change(v), Minor: true})
		}
	}
	return ticks
}

// expectations returns the scenario's assertions and their answers.
func expectations(r *record.Comparison) document.Part {
	return document.Section{
		ID: "expectations", Title: "Expectations", About: tally(r.Expectations), Parts: []document.Part{answers(r)},
		Lead: "One is not kept only when the blocks are sure of it. It is open when they say neither, and refused when what it speaks of was disturbed or is not there. A figure in a claim is the median of the blocks' figures, and not their mean.",
	}
}

// tally counts the expectations by answer in a sentence; "" when nothing was expected.
func tally(all []record.Expectation) string {
	if len(all) == 0 {
		return ""
	}
	answered := map[outcome.Outcome]int{}
	for _, e := range all {
		answered[e.Outcome]++
	}
	var counts []string
	for _, of := range outcome.All() {
		counts = append(counts, fmt.Sprintf("%d %s", answered[of], outcome.Expectation.Phrase(of)))
	}
	return say.Plural(len(all), "expectation") + ": " + strings.Join(counts, ", ")
}

// floor describes the response time that the load itself adds, measured with a server that does nothing; "" if it was not
// measured. It gives no figures if the load was late in that measurement, because they would show the disturbance.
//
// Each function below makes the lines of one label in the section of doubts, or "" or nil for no line.
func floor(f *record.Floor) string {
	const late = 1e-3 // seconds; an undisturbed load is late by microseconds
	switch {
	case f == nil:
		return ""
	case f.LagP99 > late:
		return fmt.Sprintf("how much of every time is the load's and the kernel's is not known: their measurement, "+
			"with a server that does nothing, was disturbed (sends %s late at p99)", say.Seconds(f.LagP99))
	}
	over := ""
	if f.Speaks.HTTP2 {
		over = ", over HTTP/2"
	}
	if f.Speaks.TLS != "" {
		over = cmp.Or(over, ",") + " over TLS"
	}
	return fmt.Sprintf("with a server that does nothing it measures p50 %s and p99 %s at %s%s: that much of every time is the load's and the kernel's",
		say.Seconds(f.P50), say.Seconds(f.P99), say.Rate(f.Rate), over)
}

// visiting tells that the load shares CPUs with the servers, and whether it has priority there; "" if the load has its own CPUs.
func visiting(r *record.Comparison) string {
	shared := r.Env.SharedCPUs()
	if len(shared) == 0 {
		return ""
	}
	text := "the load shares " + shared.Words() + " with the servers"
	i := slices.IndexFunc(r.Arms, func(a record.Arm) bool { return a.Generator != nil })
	if i < 0 {
		return text
	}
	switch r.Arms[i].Generator.Rest {
	case record.RestFirst:
		text += ", asleep while nothing is due, with real-time priority (SCHED_RR)"
	case record.RestWaits:
		text += ", asleep while nothing is due, without real-time priority, which is not permitted here"
	}
	return text
}

// laws returns the table of queueing laws: the value of the window that came nearest to breaking each law, the tolerance, and
// the number of windows checked. The laws hold for any server, so a broken one means a fault in the measurement.
func laws(all []record.Law) document.Part {
	return document.Table{Rows: rows(all,
		field[record.Law]{"law", nil, func(l record.Law) string { return strings.TrimSuffix(l.Name+", "+l.Unit, ", ratio") }},
		field[record.Law]{"worst", nil, func(l record.Law) string { return lawFigure(l.Value, l.Unit) }},
		field[record.Law]{"allowed", nil, func(l record.Law) string {
			if l.Limit > 0 {
				return lawFigure(l.Limit, l.Unit)
			}
			return "none" // no violation is allowed, as for counts that must agree
		}},
		field[record.Law]{"windows", nil, func(l record.Law) string { return say.Count(l.Windows) }},
	)}
}

// lawFigure formats a value or a limit of a law: a ratio in per cent, or a count.
func lawFigure(v float64, unit string) string {
	if strings.HasPrefix(unit, "ratio") {
		return say.Percent(fmt.Sprintf("%%.%df", stats.Decimals(100*v, 2)), v)
	}
	return say.Count(int(v))
}

// refusals tells why blocks were left out: a line for each rule, with the window that broke it most.
func refusals(all []record.Refusal) (lines []string) {
	for _, windows := range grouped(all, func(x record.Refusal) string { return x.Rule }) {
		lines = append(lines, refusedBy(windows))
	}
	return lines
}

// refusedBy describes the windows that were refused by one rule.
func refusedBy(windows []record.Refusal) string {
	worst := slices.MaxFunc(windows, func(a, b record.Refusal) int {
		return cmp.Or(cmp.Compare(beyondLimit(a), beyondLimit(b)), cmp.Compare(a.Value, b.Value))
	})
	var blocks []string
	for _, x := range windows {
		blocks = append(blocks, strconv.Itoa(x.Block))
	}
	blocks = slices.Compact(blocks)
	in, side := "block", "limit"
	if len(blocks) > 1 {
		in = "blocks"
	}
	if worst.Value < worst.Limit {
		side = "below"
	}
	return fmt.Sprintf("%s: %s in %s%s%s; worst %s (%s, block %d), %s %s", worst.Rule, say.Plural(len(windows), "window"), in, say.NBSP, strings.Join(blocks, ", "),
		say.Plain(worst.Value), worst.Arm, worst.Block, side, say.Plain(worst.Limit))
}

// beyondLimit returns how far a window is beyond its limit, as a ratio above 1. Limits on the number of requests are lower limits.
func beyondLimit(x record.Refusal) float64 {
	if x.Value < x.Limit {
		return x.Limit / x.Value
	}
	return x.Value / x.Limit
}
