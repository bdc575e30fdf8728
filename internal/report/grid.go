package report

import (
	"io"
	"maps"
	"slices"

	"schedlab/internal/record"
	"schedlab/internal/report/document"
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

// cellWords are the words of cells without a winner, with what they mean, in the order of the legend.
var cellWords = [][2]string{
	{cellSame, "the best arms are the same"},
	{cellTrade, "better at one metric, worse at another"},
	{cellOpen, "no arm is surely better"},
	{cellRefused, "nothing could be compared; its record says why"},
	{cellNotRun, "not run"},
}

// cellWord returns what a cell of a grid shows: the arm that the comparison's answer names first, or
// why there is none.
func cellWord(e PackEntry) string {
	if e.Result == nil {
		return cellNotRun
	}
	switch a := e.Result.Answer; a.Outcome {
	case record.OneWins:
		return e.Result.Winner
	case record.SeveralWin:
		return a.Faster[0]
	case record.ATie, record.TieForBest:
		return cellSame
	case record.ATrade:
		return cellTrade
	case record.NoVerdict, record.OtherLoads:
		return cellRefused
	}
	return cellOpen
}

// writeGrid writes the table of a grid: the first factor along the columns, the second, if there is one,
// along the rows, its first value at the bottom. Below are the words that it uses.
func writeGrid(w io.Writer, entries []PackEntry, o TextOptions) error {
	value := func(e PackEntry, factor int) string {
		if factor < len(e.Cell) {
			return e.Cell[factor].Value
		}
		return ""
	}
	columns := unique(each(entries, func(e PackEntry) string { return value(e, 0) }))
	rows := unique(each(entries, func(e PackEntry) string { return value(e, 1) }))
	corner := entries[0].Cell[0].Factor
	if len(entries[0].Cell) > 1 {
		corner = entries[0].Cell[1].Factor + " \\ " + corner
	}
	table, words := [][]string{append([]string{corner}, columns...)}, []string{}
	for _, y := range slices.Backward(rows) {
		row := []string{y}
		for _, x := range columns {
			word := cellNotRun // an interrupted grid has no entry of the cells after
			if i := slices.IndexFunc(entries, func(e PackEntry) bool { return value(e, 0) == x && value(e, 1) == y }); i >= 0 {
				word = cellWord(entries[i])
			}
			row, words = append(row, word), append(words, word)
		}
		table = append(table, row)
	}
	var legend []string
	for _, k := range cellWords {
		if slices.Contains(words, k[0]) {
			legend = append(legend, k[0]+": "+k[1])
		}
	}
	if o.Colour != nil {
		o.Colour = maps.Clone(o.Colour)
		o.Colour[cellOpen], o.Colour[cellRefused] = "1;33", "1;35"
		for i, arm := range armsOf(entries) {
			o.Colour[arm] = armColours[i%len(armColours)]
		}
	}
	return writeText(w, document.Document{Parts: []document.Part{document.Section{
		Title: "Who wins where", Parts: []document.Part{document.Table{Rows: table, Words: true}, document.Lines(legend)},
	}}}, o)
}

// armsOf returns the names of the arms of a grid, without the baseline's copy.
func armsOf(entries []PackEntry) (names []string) {
	for _, e := range entries {
		if e.Result == nil {
			continue
		}
		for _, a := range e.Result.Arms {
			if a.Role != record.Copy && !slices.Contains(names, a.Name) {
				names = append(names, a.Name)
			}
		}
	}
	return names
}

// named returns the name of a result's scenario, with its cell if it lies on a grid.
func named(r *record.Result) string {
	return r.Scenario + when(r.Cell != nil, " (%s)", record.CellName(r.Cell))
}
