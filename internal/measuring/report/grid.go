package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"schedlab/internal/measuring/report/chart"
	"schedlab/internal/measuring/report/document"
	"schedlab/internal/measuring/report/say"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/prose"
	"schedlab/internal/shared/record"
)

// armColours are the colours of the arms that win cells of a grid, on a terminal, in the arms' order.
var armColours = []string{"1;34", "1;32", "1;36", "1;31"}

// Words of the cells of a grid without a winner.
const (
	cellOpen    = "open"
	cellRefused = "refused"
	cellSame    = "same"
	cellTrade   = "trade"
	cellNotRun  = "."
)

// tied stands before the first of the arms that share the first place.
const tied = "="

// cellWords are the words of cells without a winner and their meanings, in the order of the legend.
var cellWords = [][2]string{
	{cellSame, "all arms are the same"},
	{cellTrade, "better at one metric, worse at another"},
	{cellOpen, "no arm is surely the best"},
	{cellRefused, "nothing could be compared; its record says why"},
	{cellNotRun, "not run"},
}

// cellWord returns what a cell of a grid shows: the winner, the first of the arms that share the first place, or the word for a
// cell without a winner.
func cellWord(e PackEntry) string {
	if e.Result == nil {
		return cellNotRun
	}
	switch a := e.Result.Answer; a.Kind {
	case record.OneWins:
		return e.Result.Winner.Arm
	case record.TieForBest:
		return tied + firstOfBest(e.Result)
	case record.ATie:
		return cellSame
	case record.ATrade:
		return cellTrade
	}
	if e.Result.Answer.Outcome == outcome.Refused {
		return cellRefused
	}
	return cellOpen
}

// firstOfBest returns the first of the arms that share the first place: the baseline if no arm beats it, or else the first arm
// that beats it and loses no duel.
func firstOfBest(r *record.Comparison) string {
	if len(r.Answer.Faster) == 0 {
		return r.Arms[0].Name
	}
	beaten := func(arm string) bool {
		return slices.ContainsFunc(r.Answer.Duels, func(d record.Duel) bool {
			return d.Arm == arm && d.Place.Worse() || d.Baseline == arm && d.Place.Better()
		})
	}
	for _, arm := range r.Answer.Faster {
		if !beaten(arm) {
			return arm
		}
	}
	return r.Answer.Faster[0]
}

// A grid holds the cells of a pack by their values of one or two factors. The last value of the second factor is the first row.
// Without a second factor there is one row, with the value "".
type grid struct {
	factors       []string
	columns, rows []string
	arms          []string     // names, without the baseline's copy
	cells         [][]gridCell // by row, then by column
}

// A gridCell is one place of a grid: the word that it shows, and its entry. A cell that the pack did not reach has the zero
// PackEntry.
type gridCell struct {
	word  string
	entry PackEntry
}

// gridOf puts the entries of a grid in their places. There must be one entry or more.
func gridOf(entries []PackEntry) grid {
	value := func(e PackEntry, factor int) string {
		if factor < len(e.Cell) {
			return e.Cell[factor].Value
		}
		return ""
	}
	var g grid
	for _, l := range entries[0].Cell {
		g.factors = append(g.factors, l.Factor)
	}
	for _, e := range entries {
		if v := value(e, 0); !slices.Contains(g.columns, v) {
			g.columns = append(g.columns, v)
		}
		if v := value(e, 1); !slices.Contains(g.rows, v) {
			g.rows = append(g.rows, v)
		}
		if e.Result != nil {
			for _, a := range choices(e.Result.Arms) {
				g.arms = append(g.arms, a.Name)
			}
		}
	}
	g.arms = unique(g.arms)
	slices.Reverse(g.rows)
	for _, y := range g.rows {
		var row []gridCell
		for _, x := range g.columns {
			c := gridCell{word: cellNotRun}
			if i := slices.IndexFunc(entries, func(e PackEntry) bool { return value(e, 0) == x && value(e, 1) == y }); i >= 0 {
				c = gridCell{cellWord(entries[i]), entries[i]}
			}
			row = append(row, c)
		}
		g.cells = append(g.cells, row)
	}
	return g
}

// count returns the number of cells that show a word.
func (g grid) count(word string) (n int) {
	for _, row := range g.cells {
		for _, c := range row {
			if c.word == word {
				n++
			}
		}
	}
	return n
}

// table returns the grid as a table of words.
func (g grid) table() document.Table {
	corner := g.factors[0]
	if len(g.factors) > 1 {
		corner = g.factors[1] + " \\ " + corner
	}
	rows := [][]string{append([]string{corner}, g.columns...)}
	for y, value := range g.rows {
		row := []string{value}
		for _, c := range g.cells[y] {
			row = append(row, c.word)
		}
		rows = append(rows, row)
	}
	return document.Table{Rows: rows, Words: true}
}

// legend explains the words in the grid that are not names of arms.
func (g grid) legend() (lines document.Lines) {
	if slices.ContainsFunc(g.arms, func(arm string) bool { return g.count(tied+arm) > 0 }) {
		lines = append(lines, tied+"NAME: NAME and others share the first place, and are the same")
	}
	for _, k := range cellWords {
		if g.count(k[0]) > 0 {
			lines = append(lines, k[0]+": "+k[1])
		}
	}
	return lines
}

// says tells in a sentence how many cells each arm wins, and what the others show.
func (g grid) says() string {
	var parts []string
	for _, arm := range g.arms {
		if n := g.count(arm); n > 0 {
			parts = append(parts, fmt.Sprintf("%s wins %d", arm, n))
		}
		if n := g.count(tied + arm); n > 0 {
			parts = append(parts, fmt.Sprintf("%s is among the best in %d", arm, n))
		}
	}
	for _, k := range cellWords {
		if n := g.count(k[0]); n > 0 {
			word := k[0]
			if word == cellNotRun {
				word = "not run"
			}
			parts = append(parts, fmt.Sprintf("%d %s", n, word))
		}
	}
	return fmt.Sprintf("Of %s: %s.", prose.Plural(len(g.columns)*len(g.rows), "cell"), strings.Join(parts, ", "))
}

// writeGrid writes the table of a grid, with the words that it uses below.
func writeGrid(w io.Writer, entries []PackEntry, o TextOptions) error {
	g := gridOf(entries)
	if o.Colour != nil {
		o.Colour = maps.Clone(o.Colour)
		o.Colour[cellOpen], o.Colour[cellRefused] = "1;33", "1;35"
		for i, arm := range g.arms {
			o.Colour[arm] = armColours[i%len(armColours)]
			o.Colour[tied+arm] = o.Colour[arm]
		}
	}
	return say.Text(w, document.Document{Parts: []document.Part{document.Section{
		Title: "Who wins where", Parts: []document.Part{g.table(), g.legend()},
	}}}, o)
}

// entriesOf returns the cells of a grid as entries of a pack.
func entriesOf(results []*record.Comparison) (entries []PackEntry) {
	for _, r := range results {
		entries = append(entries, PackEntry{Scenario: r.Scenario, Cell: r.Cell, Question: r.Question, Result: r})
	}
	return entries
}

// gridSection shows the grid that a run is a cell of: a drawing, and a table with the words explained. It is empty for
// any other run.
func gridSection(r *record.Comparison) document.Part {
	if r.Grid == nil {
		return document.Section{}
	}
	return gridOf(entriesOf(r.Grid)).section(r.Scenario)
}

// section shows a grid of a scenario as a drawing, and as a table with the words explained.
func (g grid) section(scenario string) document.Section {
	name := scenario + " over " + strings.Join(g.factors, " and ")
	return document.Section{ID: "grid", Title: "Who wins where", Parts: []document.Part{
		document.Charts{{Picture: draw("grid", chartGrid(g, name))}}, g.table(), g.legend(),
	}}
}

// GridPage writes a page about the cells of a grid: who wins where, as a drawing and as a table, and the answer of each
// cell with a link to its report, which is below the page's own directory.
func GridPage(w io.Writer, entries []PackEntry) error {
	g := gridOf(entries)
	var answers document.Linked
	for _, e := range entries {
		answer := document.Link{Text: e.answer()}
		if e.Result != nil {
			answer.Files = []string{e.Result.Run + "/report.html"}
		}
		answers = append(answers, answer)
	}
	name := entries[0].Scenario + " over " + strings.Join(g.factors, " and ")
	return say.HTML(w, document.Document{Name: name, Question: entries[0].Question, Answer: g.says(), Parts: []document.Part{
		g.section(entries[0].Scenario),
		document.Section{ID: "cells", Title: "Each cell's answer", Parts: []document.Part{answers}},
	}})
}

// A gridChart is a grid drawn as coloured cells of width Wide. Left and Bottom are the lower left corner of the cells. XMiddle
// and YMiddle are the places of the factors' names.
type gridChart struct {
	Title, Says                    string
	Width, Height, Wide            chart.Px
	Left, Bottom, XMiddle, YMiddle chart.Px
	X, Y                           []chart.Tick
	XName, YName                   string
	Cells                          []gridBox
}

// A gridBox is one cell as drawn: its upper left corner, and the middle of its width. Sentence is shown under the pointer.
type gridBox struct {
	X, Y, Middle          chart.Px
	Class, Word, Sentence string
}

// Sizes of a grid's chart, in px. The template has the same height of a cell. A cell is as wide as the longest word.
const (
	cellHeight, letter chart.Px = 40, 8
	gridLeft, gridTop  chart.Px = 96, 44
)

// chartGrid returns the drawing of a grid.
func chartGrid(g grid, name string) gridChart {
	wide := 12 * letter
	for _, word := range slices.Concat(g.arms, g.columns) { // a tie has one letter more
		wide = max(wide, letter*chart.Px(len([]rune(word))+1))
	}
	right, bottom := gridLeft+chart.Px(len(g.columns))*wide, gridTop+chart.Px(len(g.rows))*cellHeight
	c := gridChart{
		Title: name, Says: g.says(), Left: gridLeft, Bottom: bottom, XMiddle: (gridLeft + right) / 2, YMiddle: (gridTop + bottom) / 2,
		Width: max(right, gridLeft+letter*chart.Px(len([]rune(name)))) + 16, Height: bottom + 52, XName: g.factors[0], Wide: wide,
	}
	if len(g.factors) > 1 {
		c.YName = g.factors[1]
	}
	for x, v := range g.columns {
		c.X = append(c.X, chart.Tick{At: gridLeft + chart.Px(x)*wide + wide/2, Label: v})
	}
	for y, v := range g.rows {
		c.Y = append(c.Y, chart.Tick{At: gridTop + chart.Px(y)*cellHeight + cellHeight/2, Label: v})
		for x, cell := range g.cells[y] {
			box := gridBox{X: gridLeft + chart.Px(x)*wide, Middle: c.X[x].At, Y: gridTop + chart.Px(y)*cellHeight, Word: cell.word, Class: g.class(cell.word)}
			box.Sentence = "not run"
			if cell.entry.Result != nil || cell.entry.NotRun != "" {
				box.Sentence = cell.entry.answer()
			}
			c.Cells = append(c.Cells, box)
		}
	}
	return c
}

// class returns the CSS class of a cell that shows a word. Each arm has one colour, also for its ties.
func (g grid) class(word string) string {
	if i := slices.Index(g.arms, strings.TrimPrefix(word, tied)); i >= 0 {
		return fmt.Sprintf("g-%d", i%7)
	}
	if word == cellNotRun {
		return "g-none"
	}
	return "g-" + word
}

// named returns the name of a result's scenario, with its cell if it lies on a grid.
func named(r *record.Comparison) string {
	if r.Cell == nil {
		return r.Scenario
	}
	return r.Scenario + " (" + record.CellName(r.Cell) + ")"
}
