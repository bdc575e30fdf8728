package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"schedlab/internal/record"
)

// A mapChart is a map as coloured cells. Hatched are those at a border and those
// that are not decided.
type mapChart struct {
	Title, Headline string
	plot
	XName, YName     string
	XMiddle, YMiddle px // of the axes' names
	Cells            []mapCell
	Border, Law      string // SVG path data
	LawName          string
	Legend           []mapKey
}

type mapCell struct {
	X, Y, Width, Height px
	MiddleX, MiddleY    px
	Class               string
	Hatched             bool
	Mark, Figure        string
	Sentence            string
}

// A mapKey is one entry of the legend, with a swatch of Class.
type mapKey struct {
	X, Y, TextX, TextY px
	Class, Text        string
	Hatched            bool
}

// Sizes of a map's chart.
const (
	cellWidth, cellHeight px = 96, 52
	mapLeft, mapTop       px = 96, 44
	keyHeight             px = 22
)

func chartMap(m *record.Map) mapChart {
	columns, rows := len(m.Plan.X.Values), len(m.Plan.Y.Values)
	c := mapChart{
		Title: mapTitle(m), Headline: m.Headline, XName: m.Plan.X.Name, YName: m.Plan.Y.Name,
		plot: plot{Left: mapLeft, Top: mapTop, Right: mapLeft + px(columns)*cellWidth, Bottom: mapTop + px(rows)*cellHeight},
	}
	c.XMiddle, c.YMiddle = (c.Left+c.Right)/2, (c.Top+c.Bottom)/2
	left := func(x int) px { return c.Left + px(x)*cellWidth }
	top := func(y int) px { return c.Bottom - px(y+1)*cellHeight } // y rises upwards
	for x, v := range m.Plan.X.Values {
		c.X = append(c.X, tick{At: left(x) + cellWidth/2, Label: v})
	}
	for y, v := range m.Plan.Y.Values {
		c.Y = append(c.Y, tick{At: top(y) + cellHeight/2, Label: v})
	}
	for i := range m.Cells {
		cell := &m.Cells[i]
		at := mapCell{
			X: left(cell.X), Y: top(cell.Y), Width: cellWidth, Height: cellHeight, Class: cellClass(m, cell), Mark: mark(m, cell),
			Hatched: cell.Border && cell.State != record.Unreached || cell.Decision == record.InDoubt, Sentence: cellSentence(m, cell),
		}
		at.MiddleX, at.MiddleY = at.X+cellWidth/2, at.Y+cellHeight/2
		if cell.State == record.Inferred {
			at.Mark = "(" + at.Mark + ")"
		}
		if cell.Ratio > 0 {
			at.Figure = figure(m, cell)
		}
		c.Cells = append(c.Cells, at)
	}
	c.Border = edges(m, left, top, func(a, b *record.Cell) bool {
		return a.Decided() && b.Decided() && mark(m, a)+strings.Join(a.Among, ",") != mark(m, b)+strings.Join(b.Among, ",")
	})
	if m.Theory != nil {
		c.LawName = m.Theory.Law
		c.Law = edges(m, left, top, func(a, b *record.Cell) bool { return !slices.Equal(a.Short, b.Short) })
	}
	c.legend(m)
	return c
}

// edges draws the sides between cells that differ.
func edges(m *record.Map, left, top func(int) px, differ func(a, b *record.Cell) bool) string {
	var path strings.Builder
	for i := range m.Cells {
		a := &m.Cells[i]
		if a.X+1 < len(m.Plan.X.Values) && differ(a, m.At(a.X+1, a.Y)) {
			fmt.Fprintf(&path, "M%s %sV%s", left(a.X+1), top(a.Y), top(a.Y)+cellHeight)
		}
		if a.Y+1 < len(m.Plan.Y.Values) && differ(a, m.At(a.X, a.Y+1)) {
			fmt.Fprintf(&path, "M%s %sH%s", left(a.X), top(a.Y), left(a.X)+cellWidth)
		}
	}
	return path.String()
}

// cellClass colours a cell by its verdict, paler where it is inferred.
func cellClass(m *record.Map, c *record.Cell) string {
	class := map[record.CellDecision]string{
		record.Ties: "m-same", record.Trades: "m-trade", record.InDoubt: "m-open", record.Rejected: "m-void", "": "m-none",
	}[c.Decision]
	if c.Decision == record.Wins {
		class = fmt.Sprintf("m-%d", max(0, slices.Index(m.Arms, c.Winner))%7)
	}
	if c.State == record.Inferred {
		class += " m-inferred"
	}
	return class
}

// legend lists what is on the map below it, as many in a line as fit.
func (c *mapChart) legend(m *record.Map) {
	at, line := c.Left, c.Bottom+58
	add := func(class, text string, hatched bool) {
		width := px(34 + 7*len([]rune(text)))
		if at > c.Left && at+width > max(c.Right, c.Left+4*cellWidth) {
			at, line = c.Left, line+keyHeight
		}
		c.Legend = append(c.Legend, mapKey{X: at, Y: line, TextX: at + 24, TextY: line + 11, Class: class, Text: text, Hatched: hatched})
		at += width
	}
	on := func(f func(c record.Cell) bool) bool { return slices.ContainsFunc(m.Cells, f) }
	for _, k := range marksOn(m) {
		add(k.Class, k.Text, k.Hatched)
	}
	if on(func(c record.Cell) bool { return c.State == record.Inferred }) {
		add("m-same m-inferred", "( ) inferred", false)
	}
	if on(func(c record.Cell) bool { return c.Border }) {
		add("m-none", "at a border", true)
	}
	if c.LawName != "" {
		add("m-lawkey", c.LawName, false)
	}
	line += keyHeight
	figures := "Figures: " + figuresOf(m)
	c.Legend = append(c.Legend, mapKey{X: c.Left, TextX: c.Left, TextY: line + 11, Text: figures})
	c.Width = max(c.Right, c.Left+4*cellWidth, c.Left+px(8*len([]rune(c.Title))), c.Left+px(7*len([]rune(figures)))) + 16
	c.Height = line + 28
}

// marksOn are the marks that cells of the map have, with what they mean.
func marksOn(m *record.Map) (all []mapKey) {
	for i, arm := range m.Arms {
		all = append(all, mapKey{Class: fmt.Sprintf("m-%d", i%7), Text: letter(m, arm) + " " + arm + " wins"})
	}
	for _, k := range []struct {
		decision record.CellDecision
		mapKey
	}{
		{record.Ties, mapKey{Class: "m-same", Text: markSame + " the same"}},
		{record.Trades, mapKey{Class: "m-trade", Text: markTrade + " a trade"}},
		{record.InDoubt, mapKey{Class: "m-open", Text: markOpen + " undecided", Hatched: true}},
		{record.Rejected, mapKey{Class: "m-void", Text: markRefused + " refused"}},
		{"", mapKey{Class: "m-none", Text: markUnreached + " not reached"}},
	} {
		if slices.ContainsFunc(m.Cells, func(c record.Cell) bool { return c.Decision == k.decision }) {
			all = append(all, k.mapKey)
		}
	}
	return all
}

// MapSVG writes the chart alone, as an image that follows a light or dark scheme.
func MapSVG(w io.Writer, m *record.Map) error {
	return emit(w, "svg", func(b *bytes.Buffer) { b.WriteString(string(draw("map", chartMap(m)))) })
}
