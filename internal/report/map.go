package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"schedlab/internal/command"
	"schedlab/internal/prose"
	"schedlab/internal/record"
	"schedlab/internal/report/document"
	"schedlab/internal/stats"
)

// Marks of cells, and of figures, without a difference. Tables of summaries use the same ones.
const (
	markSame    = "="
	markOpen    = "~"
	markRefused = "*"
)

// A cellKind is how all cells with one decision are shown: their mark in a text, their CSS
// class in a drawing, and their words.
type cellKind struct {
	Decision           record.CellDecision
	Mark, Class, Words string
}

// unwon are the kinds of cells that no arm wins, in the order of the legend. The last has no
// decision: cells that the budget did not reach.
var unwon = []cellKind{
	{record.Ties, markSame, "m-same", "the same"},
	{record.Trades, "x", "m-trade", "a trade"},
	{record.InDoubt, markOpen, "m-open", "undecided"},
	{record.Rejected, markRefused, "m-void", "refused"},
	{"", ".", "m-none", "not reached"},
}

// wonBy returns the kind of the cells that an arm wins. Its mark is a letter, A for the baseline,
// or ? from the 27th arm on.
func wonBy(m *record.Map, arm string) cellKind {
	i := slices.Index(m.Arms, arm)
	k := cellKind{record.Wins, "?", fmt.Sprintf("m-%d", max(0, i)%7), arm + " wins"}
	if i >= 0 && i < 26 {
		k.Mark = string(rune('A' + i))
	}
	return k
}

// kindOf returns the kind of a cell. A decision of another version of schedlab counts as not reached.
func kindOf(m *record.Map, c record.Cell) cellKind {
	if c.Decision == record.Wins {
		return wonBy(m, c.Winner)
	}
	kind := first(unwon, func(k cellKind) bool { return k.Decision == c.Decision })
	return cmp.Or(kind, unwon[len(unwon)-1])
}

// kindsOn returns the kinds for a legend: all arms, then the kinds of cells that no arm wins
// and that the map has.
func kindsOn(m *record.Map) []cellKind {
	// An arm is in the legend even if it wins nothing: its letter is missing on the map for a reader to see.
	arms := each(m.Arms, func(arm string) cellKind { return wonBy(m, arm) })
	return append(arms, only(unwon, func(k cellKind) bool {
		return slices.ContainsFunc(m.Cells, func(c record.Cell) bool { return c.Decision == k.Decision })
	})...)
}

// markOf returns the mark of a cell, in parentheses if it is inferred.
func markOf(m *record.Map, c record.Cell) string {
	mark := kindOf(m, c).Mark
	return either(inferred(c), "("+mark+")", mark)
}

// inferred reports whether a cell was not measured, because measured cells on both sides of it
// agree. figured reports whether it has a difference to print. atBorder reports whether a
// measured or inferred cell lies at a border between verdicts.
func inferred(c record.Cell) bool { return c.State == record.Inferred }
func figured(c record.Cell) bool  { return c.Ratio > 0 }
func atBorder(c record.Cell) bool { return c.Border && c.State != record.Unreached }

// mapGrid returns the map as a table: the head with the values of X, then the rows from the
// last value of Y to the first, so that Y rises upwards as in the drawing.
func mapGrid(m *record.Map) [][]string {
	rows := [][]string{append([]string{m.Plan.Y.Name + " \\ " + m.Plan.X.Name}, m.Plan.X.Values...)}
	for y, value := range slices.Backward(m.Plan.Y.Values) {
		row := []string{value}
		for x := range m.Plan.X.Values {
			c := *m.At(x, y)
			// Then / at a border, ! where theory says that an arm is short of workers, and the difference:
			// "(A)/!" has all three signs.
			row = append(row, markOf(m, c)+when(atBorder(c), "/")+when(m.Theory != nil && len(c.Short) > 0, "!")+when(figured(c), " %s", figure(m, c)))
		}
		rows = append(rows, row)
	}
	return rows
}

// MapFormats returns every format of a map. A map is a grid over two
// factors of a scenario, with the winner in each cell. Markdown links to map.svg in the same
// directory; the cells of a page link to the reports of their runs.
func MapFormats() FormatsOf[*record.Map] {
	return append(documentFormats(mapDocument, writeJSON[*record.Map]),
		Format[*record.Map]{"csv", mapCSV},
		Format[*record.Map]{"svg", func(w io.Writer, m *record.Map) error { return writeSVG(w, draw("map", chartMap(m))) }},
	)
}

// mapDocument returns a map as a document: the grid, theory, the measured cells in the order they ran, and
// the doubts. The grid is a drawing in a page, a link in Markdown, and a table in a text.
func mapDocument(m *record.Map) document.Document {
	theory := document.Section{ID: "theory", Parts: []document.Part{document.Lines(theoryLines(m))}}
	// Without a law there is no dashed line, so the lead does not mention one.
	dashed := ""
	if m.Theory != nil {
		theory.Title, dashed = m.Theory.Law, ", a dashed one is theory's border"
	}
	sentence := func(c record.Cell) string { return cellSentence(m, c) }
	measured := only(m.Cells, func(c record.Cell) bool { return c.Visits > 0 })
	slices.SortFunc(measured, func(a, b record.Cell) int { return cmp.Compare(a.Order, b.Order) })
	cells := document.Linked(each(measured, func(c record.Cell) document.Link {
		return document.Link{Text: sentence(c), Files: each(c.Runs, func(run string) string { return run + "/report.html" })}
	}))
	// A refused cell is a hole in the map, so its reason stands with the doubts.
	refused := only(m.Cells, func(c record.Cell) bool { return c.Decision == record.Rejected })
	note := nonEmpty(when(m.Plan.Note != "", "note: %s", m.Plan.Note))
	doubts := document.Lines(slices.Concat(each(refused, sentence), each(m.Doubts, Doubt), note))
	return document.Document{
		Name: mapTitle(m), Question: m.Question, State: mapState(m), Answer: m.Headline, Context: append(belowTooBusy(m.TooBusy(), mapFinding(m)), mapPlan(m), machine(m.Env, nil)), Data: m,
		Parts: []document.Part{
			document.Section{
				ID: "map", Title: "Who wins where", Parts: []document.Part{document.Charts{{
					Alt: mapTitle(m), File: "map.svg", Picture: draw("map", chartMap(m)), Instead: []document.Part{document.Table{Rows: mapGrid(m), Words: true}, document.Lines(mapLegend(m))},
				}}},
				Lead: "Pale cells are inferred: measured ones on both sides of them agree. Hatched cells lie at a border, or are undecided; " +
					"a solid line parts different verdicts" + dashed + ".",
			},
			theory,
			document.Page{document.Section{ID: "cells", Title: "Measured cells, in the order they ran", Parts: []document.Part{cells}}},
			document.Section{ID: "doubts", Title: "Reservations", Parts: []document.Part{doubts}},
			document.Section{ID: "record", Title: "Record", Parts: []document.Part{dataAt(m.Dir)}},
		},
	}
}

// mapCSV writes one row per cell, starting with the first row of the map. run is the last run
// that measured the cell, "" for none; a ratio is empty where the cell has none.
func mapCSV(w io.Writer, m *record.Map) error {
	rows := [][]string{{m.Plan.X.Name, m.Plan.Y.Name, "state", "decision", "winner", "metric", "arm", "ratio", "low", "high", "border", "short", "visits", "seconds", "run", "reason"}}
	for _, c := range m.Cells {
		run := strings.Join(c.Runs[max(len(c.Runs)-1, 0):], "")
		rows = append(rows, []string{m.Plan.X.Values[c.X], m.Plan.Y.Values[c.Y], string(c.State), string(c.Decision), c.Winner, c.Metric, c.Arm,
			ratio(c.Ratio), ratio(c.Low), ratio(c.High), strconv.FormatBool(c.Border), strings.Join(c.Short, " "),
			strconv.Itoa(c.Visits), float(c.Seconds), run, c.Reason.String()})
	}
	return writeCSV(w, rows)
}

// A mapChart is a map drawn as coloured cells, with a legend below. Undecided cells, and cells
// at a border, are hatched. Border and Law are lines between cells: where measured verdicts
// part, and where theory expects it.
type mapChart struct {
	*record.Map
	Title               string
	Width, Height       px
	Left, Right, Bottom px // of the cells
	X, Y                []tick
	XMiddle, YMiddle    px // of the axes' names
	Cells, Legend       []mapCell
	Border, Law         string // SVG path data
}

// A mapCell is one cell as drawn, at its upper left corner, or one entry of the legend, with a swatch of Class;
// "" for none. Sentence is shown under the pointer.
type mapCell struct {
	X, Y                          px
	Class, Mark, Figure, Sentence string
	Hatched                       bool
}

// Sizes of a map's chart.
const (
	cellWidth, cellHeight px = 96, 52 // as in the template
	mapLeft, mapTop       px = 96, 44
	keyHeight             px = 22
)

// chartMap returns the drawing of a map. The first value of Y is at the bottom. It is as wide
// as the widest of map, title and legend.
func chartMap(m *record.Map) mapChart {
	c := mapChart{
		Map: m, Title: mapTitle(m),
		Left: mapLeft, Right: mapLeft + px(len(m.Plan.X.Values))*cellWidth, Bottom: mapTop + px(len(m.Plan.Y.Values))*cellHeight,
	}
	c.XMiddle, c.YMiddle = (c.Left+c.Right)/2, (mapTop+c.Bottom)/2
	left := func(x int) px { return c.Left + px(x)*cellWidth }
	top := func(y int) px { return c.Bottom - px(y+1)*cellHeight } // y rises upwards
	for x, v := range m.Plan.X.Values {
		c.X = append(c.X, tick{At: left(x) + cellWidth/2, Label: v})
	}
	for y, v := range m.Plan.Y.Values {
		c.Y = append(c.Y, tick{At: top(y) + cellHeight/2, Label: v})
	}
	c.Cells = each(m.Cells, func(cell record.Cell) mapCell {
		return mapCell{
			X: left(cell.X), Y: top(cell.Y), Class: kindOf(m, cell).Class + when(inferred(cell), " m-inferred"), Mark: markOf(m, cell), Sentence: cellSentence(m, cell),
			Hatched: atBorder(cell) || cell.Decision == record.InDoubt, Figure: when(figured(cell), "%s", figure(m, cell)),
		}
	})
	// Cells that tie are alike only if the same arms tie in them.
	c.Border = edges(m, left, top, func(a, b record.Cell) bool {
		return a.Decided() && b.Decided() && kindOf(m, a).Mark+strings.Join(a.Among, ",") != kindOf(m, b).Mark+strings.Join(b.Among, ",")
	})
	if m.Theory != nil {
		c.Law = edges(m, left, top, func(a, b record.Cell) bool { return !slices.Equal(a.Short, b.Short) })
	}
	c.legend()
	return c
}

// edges returns the path of the sides between neighbouring cells that differ, as SVG path data.
// Each cell looks to its right and upwards only, so that no side comes twice. left and top give
// the corner of a column and a row.
func edges(m *record.Map, left, top func(int) px, differ func(a, b record.Cell) bool) string {
	var path strings.Builder
	for _, a := range m.Cells {
		if a.X+1 < len(m.Plan.X.Values) && differ(a, *m.At(a.X+1, a.Y)) {
			fmt.Fprintf(&path, "M%s %sV%s", left(a.X+1), top(a.Y), top(a.Y)+cellHeight)
		}
		if a.Y+1 < len(m.Plan.Y.Values) && differ(a, *m.At(a.X, a.Y+1)) {
			fmt.Fprintf(&path, "M%s %sH%s", left(a.X), top(a.Y), left(a.X)+cellWidth)
		}
	}
	return path.String()
}

// legend adds the legend below the map and sets the size of the drawing. It starts a new line
// when an entry does not fit. 7 px are the width of a letter.
func (c *mapChart) legend() {
	at, line, wide := c.Left, c.Bottom+58, max(c.Right, c.Left+4*cellWidth)
	add := func(class, text string, hatched bool) {
		width := px(34 + 7*len([]rune(text)))
		if at > c.Left && at+width > wide {
			at, line = c.Left, line+keyHeight
		}
		c.Legend = append(c.Legend, mapCell{X: at, Y: line, Class: class, Mark: text, Hatched: hatched})
		at += width
	}
	for _, k := range kindsOn(c.Map) {
		add(k.Class, k.Mark+" "+k.Words, k.Decision == record.InDoubt)
	}
	if slices.ContainsFunc(c.Map.Cells, inferred) {
		add("m-same m-inferred", "( ) inferred", false)
	}
	if slices.ContainsFunc(c.Map.Cells, func(c record.Cell) bool { return c.Border }) {
		add("m-none", "at a border", true)
	}
	if c.Theory != nil {
		add("m-lawkey", c.Theory.Law, false)
	}
	// The line about the figures has no swatch and may be longer than the map, so the drawing grows with it.
	figures := "Figures: " + figuresOf(c.Map)
	line += keyHeight
	c.Legend = append(c.Legend, mapCell{X: c.Left, Y: line, Mark: figures})
	c.Width = max(wide, c.Left+px(8*len([]rune(c.Title))), c.Left+px(7*len([]rune(figures)))) + 16
	c.Height = line + 28
}

// figure formats a cell's difference, and names its metric if it is not the map's.
func figure(m *record.Map, c record.Cell) string {
	return when(c.Metric != mapMetric(m), "%s ", stats.MetricOf(c.Metric).Label) + changeWithin(c.Ratio, c.Low, c.High, c.Decision == record.Wins)
}

// mapMetric returns the metric of the figures on a map: the metric asked for, or the one that
// all cells with a difference share; "" if their metrics differ, and each figure then names its own.
func mapMetric(m *record.Map) string {
	of := unique(each(only(m.Cells, figured), func(c record.Cell) string { return c.Metric }))
	if m.Plan.Metric != "" || len(of) != 1 {
		return m.Plan.Metric
	}
	return of[0]
}

// cellSentence describes a cell in full, with both factors, the decision, and the difference
// with its interval or the reason against it.
func cellSentence(m *record.Map, c record.Cell) string {
	p := m.Plan
	kind := kindOf(m, c)
	s := fmt.Sprintf("%s=%s, %s=%s: ", p.X.Name, p.X.Values[c.X], p.Y.Name, p.Y.Values[c.Y]) +
		when(c.Decision == record.Ties, "%s are ", strings.Join(c.Among, " and ")) + kind.Words
	switch {
	case c.Decision == record.Rejected:
		return s + ": " + c.Reason.String()
	case kind.Decision == "":
		return s
	case inferred(c):
		return s + ", inferred"
	}
	sure := c.Decision == record.Wins
	between := when(within(c.Ratio, c.Low, c.High), " (%s to %s)", bound(c.Low, sure), bound(c.High, sure))
	return s + when(figured(c), "; %s %s %s%s", c.Arm, changeWithin(c.Ratio, c.Low, c.High, sure), stats.MetricOf(c.Metric).In, between)
}

// mapLegend explains the marks on the map, for a text. It explains only marks that the map has.
func mapLegend(m *record.Map) []string {
	has := func(is func(record.Cell) bool) bool { return slices.ContainsFunc(m.Cells, is) }
	theory := cmp.Or(m.Theory, &record.Border{})
	short := func(c record.Cell) bool { return m.Theory != nil && len(c.Short) > 0 }
	signs := nonEmpty(
		when(has(inferred), "( ) inferred: measured cells on both sides agree"),
		when(has(atBorder), "/ at a border"),
		when(has(short), "! %s is short of workers by Little's law", theory.Arm),
	)
	kinds := each(kindsOn(m), func(k cellKind) string { return k.Mark + " " + k.Words })
	return nonEmpty(strings.Join(kinds, "; "), strings.Join(signs, "; "), when(has(figured), "figures: %s", figuresOf(m)))
}

// figuresOf explains the numbers in the cells: which arm against which, and at which metric.
func figuresOf(m *record.Map) string {
	whose := "the challenger"
	if len(m.Arms) == 2 {
		whose = m.Arms[1]
	}
	of := mapMetric(m)
	metric := stats.MetricOf(of).Label
	if of == "" {
		metric = "the metric named: the widest that decided, or of all if none did"
	} else if slices.ContainsFunc(m.Cells, func(c record.Cell) bool { return figured(c) && c.Metric != of }) {
		metric += ", or what is named where an arm is overloaded"
	}
	return fmt.Sprintf("%s against %s, %s", whose, m.Arms[0], metric)
}

// mapTitle returns the title of a map: the scenario, the metric or "winner", the arms and both factors.
func mapTitle(m *record.Map) string {
	metric := either(m.Plan.Metric != "", stats.MetricOf(m.Plan.Metric).Label, "winner")
	return fmt.Sprintf("%s: %s of %s over %s × %s", m.Plan.Scenario, metric, strings.Join(m.Arms, " and "), m.Plan.X.Name, m.Plan.Y.Name)
}

// mapPlan describes in one line how the map was measured: rate, blocks, windows, seed, time and budget.
func mapPlan(m *record.Map) string {
	p := m.Plan
	windows := either(p.Window > 0, seconds(p.Window)+" windows", "windows as long as each needs")
	budget := either(m.Sessions > 1, fmt.Sprintf(" in %d sessions, the last with a budget of ", m.Sessions), ", budget ")
	return fmt.Sprintf("%s offered, cells of %s at most, %s, seed %d; took %s%s%s",
		m.Rate, plural(p.Blocks, "block"), windows, p.Seed, seconds(m.Spent), budget, seconds(p.Budget))
}

// mapState tells why the map is incomplete and how to go on; "" when it is complete.
func mapState(m *record.Map) string {
	resume := "'schedlab map --resume " + command.Quote(m.Dir) + "' goes on"
	return map[record.Status]string{
		record.Interrupted: "INTERRUPTED: " + resume,
		record.Partial:     "PARTIAL: " + cmp.Or(m.Failure, "the budget ended before every cell was known") + "; " + resume,
		record.Running:     "INCOMPLETE: the map is being measured, or was cut off",
	}[m.Status]
}

// theoryLines compares the border that Little's law predicts with the measured one, one line of
// text for each row or column of the map; nil without a prediction.
func theoryLines(m *record.Map) []string {
	b := cmp.Or(m.Theory, &record.Border{})
	// The border is told along one factor, line by line of the other one.
	across, along := m.Plan.X, m.Plan.Y
	if b.Along == m.Plan.X.Name {
		across, along = along, across
	}
	// A border lies before the value with its index, so the first is below all values and the last above.
	between := func(i int) string {
		switch i {
		case 0:
			return "below " + along.Values[0]
		case len(along.Values):
			return "above " + along.Values[i-1]
		}
		return "between " + along.Values[i-1] + " and " + along.Values[i]
	}
	return each(b.Lines, func(l record.BorderLine) string {
		measured := "no one border measured"
		if l.Known {
			measured = "measured " + between(l.From) + when(l.From != l.To, " or up to %s", between(l.To)) +
				when(!l.Within1, ": more than a cell apart")
		}
		return fmt.Sprintf("%s=%s: by law %s, %s", across.Name, l.Value, between(l.Law), measured)
	})
}

// MapHeadline returns the result of a map in one or two sentences: that others kept it from one, if they did; else whether one arm overtakes
// another, how many cells each wins, and how well theory predicts the border. It reads the
// cells alone, so it also fits a map that is not complete.
func MapHeadline(m *record.Map) string { return cmp.Or(tooBusy(m.TooBusy()), mapFinding(m)) }

// mapFinding returns what the cells show, whatever disturbed them.
func mapFinding(m *record.Map) string {
	cells := map[string]int{} // by the words of their kind, which name the arm too
	for _, c := range m.Cells {
		cells[kindOf(m, c).Words]++
	}
	// A refused cell was measured as well.
	sampled := only(m.Cells, func(c record.Cell) bool { return c.State == record.Sampled || c.State == record.Voided })
	winners := only(m.Arms, func(arm string) bool { return cells[wonBy(m, arm).Words] > 0 })
	parts := each(winners, func(arm string) string { return fmt.Sprintf("%d won by %s", cells[wonBy(m, arm).Words], arm) })
	for _, k := range unwon {
		if n := cells[k.Words]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, k.Words))
		}
	}
	text := ""
	switch ties := cells[unwon[0].Words]; {
	case len(winners) > 1:
		text = strings.Join(winners, " and ") + " overtake one another here. "
	case len(winners) == 1:
		text = winners[0] + " wins where any of them does. "
	case ties > 0:
		text = "None of them wins anywhere here. "
	}
	text += fmt.Sprintf("Of %s, %d of them measured: %s.", prose.Plural(len(m.Cells), "cell"), len(sampled), strings.Join(parts, ", "))
	if m.Theory == nil {
		return text
	}
	unknown := len(only(m.Theory.Lines, func(l record.BorderLine) bool { return !l.Known }))
	within := len(only(m.Theory.Lines, func(l record.BorderLine) bool { return l.Within1 }))
	return text + fmt.Sprintf(" Where %s loses lies within one cell of Little's law in %d of %s",
		m.Theory.Arm, within, prose.Plural(len(m.Theory.Lines), either(m.Theory.Along == m.Plan.X.Name, "row", "column"))) +
		when(unknown > 0, " (in %d no border can be told)", unknown) + "."
}
