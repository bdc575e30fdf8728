package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"schedlab/internal/record"
	"schedlab/internal/report/document"
)

// Bounds of a heat map, so that a page stays small however long the run was.
const (
	heatColumns = 144 // most columns
	heatRows    = 40  // most rows of response times
	heatSteps   = 6   // most colours
)

// A heat is the cells of a heat map, in columns of width Wide from the left end of the X axis and
// rows of height High upwards from the lower end of the Y axis.
type heat struct {
	Wide, High string
	Steps      []heatStep
}

// A heatStep is all cells of one colour as one path, whose stroke is as wide as a row.
type heatStep struct{ Class, Title, Path string }

// A heatGrid tells how the windows of all arms become cells. It is the same for all arms, so that
// their panels can be compared.
type heatGrid struct {
	blocks         []int        // that ran, ascending
	left           map[int]bool // blocks that were left out
	slices         int          // columns for each block, a divisor of record.HeatSlices
	perColumn      int          // blocks in a column, more than 1 in long runs
	low, rows, per int          // lowest row of the record, number of rows, rows of the record in a row
	lost           bool         // whether requests are without a reply
	cells          [][][]int    // by arm, column and row; the row after the last is that of requests without a reply
	bounds         []int        // the smallest number of requests for each colour, ascending
	total          [][]int      // by arm, requests in each row of the record
}

// newHeatGrid counts the requests of all arms in cells. It returns nil if nothing is known.
func newHeatGrid(arms []record.Arm) *heatGrid {
	g := &heatGrid{low: record.NoReply, left: map[int]bool{}, slices: 1}
	high := -1
	for _, a := range arms {
		total := make([]int, record.NoReply+1)
		for _, h := range a.Heat {
			g.blocks, g.left[h.Block] = append(g.blocks, h.Block), !h.Valid
			for _, slice := range h.Counts {
				for row, n := range slice {
					total[row] += int(n)
				}
			}
		}
		for row, n := range total[:record.NoReply] {
			if n > 0 {
				g.low, high = min(g.low, row), max(high, row)
			}
		}
		g.lost = g.lost || total[record.NoReply] > 0
		g.total = append(g.total, total)
	}
	if high < 0 {
		return nil
	}
	slices.Sort(g.blocks)
	g.blocks = slices.Compact(g.blocks)
	for n := 1; n <= record.HeatSlices; n++ {
		if record.HeatSlices%n == 0 && n*len(g.blocks) <= heatColumns {
			g.slices = n
		}
	}
	g.perColumn = (len(g.blocks) + heatColumns - 1) / heatColumns
	g.per = (high-g.low)/heatRows + 1
	g.rows = (high-g.low)/g.per + 1
	most := 0
	for _, a := range arms {
		cells := make([][]int, g.columns())
		for i := range cells {
			cells[i] = make([]int, g.rows+1)
		}
		for _, h := range a.Heat {
			block, _ := slices.BinarySearch(g.blocks, h.Block)
			for s, slice := range h.Counts {
				column := cells[(block*g.slices+s*g.slices/record.HeatSlices)/g.perColumn]
				for row, n := range slice {
					if n > 0 { // rows below the lowest have none
						at := either(row < record.NoReply, (row-g.low)/g.per, g.rows)
						column[at] += int(n)
						most = max(most, column[at])
					}
				}
			}
		}
		g.cells = append(g.cells, cells)
	}
	// Equal ratios from one colour to the next.
	for i := range heatSteps {
		g.bounds = append(g.bounds, int(math.Ceil(math.Pow(float64(most), float64(i)/heatSteps)-1e-9)))
	}
	g.bounds = slices.Compact(g.bounds)
	return g
}

// columns returns the number of columns.
func (g *heatGrid) columns() int { return (len(g.blocks)*g.slices + g.perColumn - 1) / g.perColumn }

// span names the numbers of requests of a colour.
func (g *heatGrid) span(step int) string {
	from := count(g.bounds[step])
	if step == len(g.bounds)-1 {
		return from + " or more"
	}
	to := count(g.bounds[step+1] - 1)
	return from + when(to != from, " to %s", to)
}

// class returns the CSS class of a colour. With few colours they are the strong ones.
func (g *heatGrid) class(step int) string {
	return "heat h" + strconv.Itoa(step+heatSteps-len(g.bounds))
}

// strip is the height of the part for requests without a reply, in rows: a row of twice the height
// and an empty one below it.
const strip = 3

// steps returns the cells of an arm, a path for each colour. Neighbours of one colour in a row are
// one stroke.
func (g *heatGrid) steps(arm int) []heatStep {
	paths := make([][2]strings.Builder, len(g.bounds)) // with a reply, and without
	columns := g.cells[arm]
	for row := range g.rows + 1 {
		// The middle of the row. SVG counts downwards.
		y, of := strconv.FormatFloat(-float64(row)-.5, 'f', -1, 64), 0
		if row == g.rows {
			y, of = strconv.Itoa(-g.rows-strip+1), 1
		}
		step := func(column int) int {
			i, found := slices.BinarySearch(g.bounds, columns[column][row])
			return either(found, i, i-1) // -1 for no request
		}
		for from, to := 0, 0; from < len(columns); from = to {
			s := step(from)
			for to = from + 1; to < len(columns) && step(to) == s; to++ {
			}
			if s >= 0 {
				fmt.Fprintf(&paths[s][of], "M%d %sh%d", from, y, to-from)
			}
		}
	}
	var all []heatStep
	for i := range paths {
		all = append(all, heatStep{g.class(i), g.span(i) + " requests", paths[i][0].String()},
			heatStep{g.class(i) + " lost", g.span(i) + " requests without a reply", paths[i][1].String()})
	}
	return all
}

// ticks marks where each block begins. In a run of many blocks only some are marked until a reader zooms in.
func (g *heatGrid) ticks(x axis) axis {
	every := len(g.blocks)/60 + 1
	for i, block := range g.blocks {
		t := tick{At: x.At(float64(i*g.slices) / float64(g.perColumn)), Label: either(g.left[block], "("+count(block)+")", count(block))}
		x.fine = append(x.fine, t)
		if i%every == 0 {
			x.Ticks = append(x.Ticks, t)
		}
	}
	thin(x.Ticks)
	return x
}

// heatSection draws the response time over the run as a heat map, with a panel for each arm.
func heatSection(r *record.Result) document.Part {
	g := newHeatGrid(r.Arms)
	if g == nil {
		return document.Section{}
	}
	const height, room = 120, 146 // of a panel's axes, and of the panel with its title
	c := chart{Label: "Response time over the run, one panel per arm: the windows from left to right, longer times further up, colour for the number of requests", Width: 640}
	x := g.ticks(axis{high: float64(g.columns()), From: 74, To: 622})
	high := px(height) / px(g.rows+either(g.lost, strip, 0))
	digits := func(v px) string { return strconv.FormatFloat(float64(v), 'g', 6, 64) }
	for i, s := range seriesOf(r.Arms) {
		if len(r.Arms[i].Heat) == 0 {
			continue
		}
		top := px(room*len(c.Panels) + 18)
		y := axis{low: record.HeatTime(g.low), high: record.HeatTime(g.low + g.rows*g.per), From: top + height, To: top + height - high*px(g.rows), log: true}.marked(0, timeLabel)
		if len(y.Ticks) > 6 { // too close for their labels
			y.Ticks = slices.DeleteFunc(y.Ticks, func(t tick) bool { return t.Minor })
		}
		if y.To = top; g.lost {
			y.Ticks = append(y.Ticks, tick{At: top + high, Label: "no reply"})
		}
		c.Panels = append(c.Panels, panel{Arm: s.Name, Title: s.Name, X: x, Y: y, Heat: &heat{digits((x.To - x.From) / px(g.columns())), digits(high), g.steps(i)}})
	}
	// Labels of the blocks stand below the last panel only.
	for i := range c.Panels[:len(c.Panels)-1] {
		p := &c.Panels[i]
		p.X.fine, p.X.Ticks = nil, each(x.Ticks, func(t tick) tick { return tick{At: t.At} })
	}
	c.Height = px(room*len(c.Panels) + 18)
	figure := document.Chart{Picture: draw("chart", c), Wide: true, Keys: []document.Key{{Name: "requests in a cell"}}, Instead: []document.Part{document.Table{Rows: g.table(r.Arms)}}}
	for i := range g.bounds {
		figure.Keys = append(figure.Keys, document.Key{Class: g.class(i), Name: g.span(i)})
	}
	wide := either(g.perColumn > 1, strconv.Itoa(g.perColumn)+" windows", seconds(r.Window/float64(g.slices)))
	return document.Section{ID: "heat", Title: "Response time over the run", Parts: []document.Part{document.Charts{figure}},
		Lead: "From left to right the windows in the order they ran, further up longer response times (logarithmic): the more requests a cell has, the more its colour stands out from the page. " +
			"A cell is " + wide + " wide; a line marks where each block begins" + when(slices.ContainsFunc(g.blocks, func(b int) bool { return g.left[b] }), ", and brackets one that was left out") + "." +
			when(g.lost, " The top row has the requests without a reply, such as timeouts.")}
}

// table returns the arms' requests by decade of the response time: the heat map in figures.
func (g *heatGrid) table(arms []record.Arm) [][]string {
	const decade = 10 // rows of the record
	columns := columns(arms, armField{"arm", nil, name})
	add := func(head string, from, to int) {
		column := []string{head}
		for i := range arms {
			n := 0
			for _, v := range g.total[i][from:to] {
				n += v
			}
			column = append(column, either(len(arms[i].Heat) > 0, count(n), none))
		}
		columns = append(columns, column)
	}
	for from := g.low / decade * decade; from < g.low+g.rows*g.per && from < record.NoReply; from += decade {
		add(timeLabel(record.HeatTime(from))+" to "+timeLabel(record.HeatTime(from+decade)), from, from+decade)
	}
	if g.lost {
		add("no reply", record.NoReply, record.NoReply+1)
	}
	return transposed(columns)
}
