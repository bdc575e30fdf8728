package report

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"schedlab/internal/stats"
)

// A topicChart is the chart of a page of docs/experiments.
//
// The page is the only source: the figures are read from its tables as people see them, with
// their rounding, so the chart and the text below it cannot disagree. measuredArms reads a
// table, topicPanel.add turns cells into rows, and place lays the rows out.
type topicChart struct {
	Title         string
	Width, Height px
	Panels        []topicPanel
}

// A topicPanel is rows with one axis below them. A new panel begins where the kind changes.
type topicPanel struct {
	kind, Name  string // changes or figures; the axis's name
	head        string // the last row's heading
	X           axis
	Top, Bottom px
	Rows        []topicRow
}

// A topicRow draws one verdict, or the figures of one arm. A row with a Head only has the heading
// of the rows below it.
type topicRow struct {
	Head, Arm, Metric, Note string
	Class                   string    // better, worse, same, undecided or plain
	Points                  []float64 // a decided change, or the figures
	Low, High               float64   // ends of the line; High is 0 if nothing was measured
	unit                    string    // of the figures
	Y                       px
}

// A measuredArm is a row of a table in a page. Cells are found by their column's heading.
type measuredArm struct {
	name, baseline string
	cells          map[string]string
}

// chartComment finds the comment with the chart's lines, group 1, and the alternative text of
// the image, group 2. tableCell splits a cell of a table.
var (
	chartComment = regexp.MustCompile(`(?s)\n<!-- chart\n(.*?)\n-->\n!\[(.*?)\]`)
	// Its groups: the figure, its number and unit, the change, and the ends of its interval.
	tableCell = regexp.MustCompile(`^(([\d.,]+)( ?[^\s\d]*).*?)(?: (=|~|[-+×]\S+(?: %)?) \((\S+(?: %)?) to (\S+(?: %)?)\))?$`)
)

// TopicSVG draws the chart of a page of docs/experiments, from the tables that [Summary] wrote
// into the page. page is the page's Markdown. The lines of a comment above the image are
//
//	changes|figures SECTION METRIC[,METRIC] [ARM...] [# words about the section]
//
// "changes" draws verdicts, "figures" draws medians, all in one unit. A METRIC is the heading
// of a column. Without an ARM all arms of the section are drawn. The image's alternative text
// is the title. The error quotes the line that asks for something the page does not have.
func TopicSVG(w io.Writer, page string) error {
	comment := chartComment.FindStringSubmatch(page)
	if comment == nil {
		return errors.New("the page has no image below a comment '<!-- chart'")
	}
	c := topicChart{Title: comment[2], Width: 784}
	for line := range strings.SplitSeq(comment[1], "\n") {
		asked, words, _ := strings.Cut(line, " # ")
		f := strings.Fields(asked)
		if len(f) < 3 || f[0] != "changes" && f[0] != "figures" {
			return fmt.Errorf("line %q of the chart: give changes or figures, a section, and metrics", line)
		}
		// Lines of one kind that follow each other share a panel and its axis.
		if n := len(c.Panels); n == 0 || c.Panels[n-1].kind != f[0] {
			c.Panels = append(c.Panels, topicPanel{kind: f[0]})
		}
		p := &c.Panels[len(c.Panels)-1]
		p.Name = either(p.kind == "figures", strings.ReplaceAll(f[2], ",", " – "), "change against the baseline with its interval")
		if err := p.add(measuredArms(page, f[1]), strings.TrimSuffix(f[1]+": "+words, ": "), strings.Split(f[2], ","), f[3:]); err != nil {
			return fmt.Errorf("line %q of the chart: %w", line, err)
		}
	}
	c.place()
	return emit(w, "svg", string(draw("topic", c)))
}

// measuredArms reads the table in a section of the page, between the comments that the section
// begins and ends with. It returns nil if there is none. An arm without a named baseline is
// compared with the first arm, which itself has none.
func measuredArms(page, section string) (arms []measuredArm) {
	_, page, _ = strings.Cut(page, "\n<!-- measured "+section+":")
	page, _, _ = strings.Cut(page, "\n<!-- end -->")
	lines := only(strings.Split(strings.ReplaceAll(page, `\`, ""), "\n"), func(line string) bool { return strings.HasPrefix(line, "| ") }) // without Markdown's escapes
	rows := each(lines, func(line string) []string { return strings.Split(strings.Trim(line, "| "), " | ") })
	for _, cells := range rows[min(1, len(rows)):] {
		a := measuredArm{cells: map[string]string{}}
		a.name, a.baseline, _ = strings.Cut(strings.TrimSuffix(cells[0], ")"), " (against ")
		for i := range min(len(rows[0]), len(cells)) {
			a.cells[rows[0][i]] = cells[i]
		}
		if a.baseline == "" && len(arms) > 0 {
			a.baseline = arms[0].name
		}
		arms = append(arms, a)
	}
	return arms
}

// add appends the rows of the arms with these names; of all arms if there are no names. head is
// the heading above them, which is added once for rows that share it. It returns an error for
// an arm or a column that the table lacks.
func (p *topicPanel) add(arms []measuredArm, head string, metrics, names []string) error {
	if len(arms) == 0 {
		return errors.New("the page has no table in this section")
	}
	if len(names) == 0 {
		// A baseline has figures but no verdict.
		shown := only(arms, func(a measuredArm) bool { return p.kind == "figures" || a.baseline != "" })
		names = each(shown, func(a measuredArm) string { return a.name })
	}
	for _, name := range names {
		arm := first(arms, func(a measuredArm) bool { return a.name == name })
		if arm.name == "" {
			return fmt.Errorf("the section's table has no arm %s", name)
		}
		rows := []topicRow{{Arm: name, Class: "plain"}}
		title := head
		if p.kind == "changes" {
			rows, title = nil, head+", against "+arm.baseline
		}
		for _, metric := range metrics {
			cell := tableCell.FindStringSubmatch(arm.cells[metric])
			switch {
			case arm.cells[metric] == "":
				return fmt.Errorf("the section's table has no column %s", metric)
			case p.kind == "changes":
				rows = append(rows, verdictRow(metric, cell))
			case cell != nil:
				rows[0].addFigure(cell)
			}
		}
		// Several metrics of an arm are rows below each other, and only the first has the arm's
		// name.
		rows[0].Arm = name
		if p.head != title {
			p.head, rows = title, append([]topicRow{{Head: title}}, rows...)
		}
		p.Rows = append(p.Rows, rows...)
	}
	return nil
}

// addFigure adds a cell's figure. A time becomes seconds, so that cells in µs and ms share an
// axis. The row's line joins two figures, or begins at the axis.
func (r *topicRow) addFigure(cell []string) {
	v, _ := strconv.ParseFloat(strings.ReplaceAll(cell[2], ",", ""), 64)
	r.unit = cell[3]
	if factor := map[string]float64{" ns": 1e-9, " µs": 1e-6, " ms": 1e-3, " s": 1}[r.unit]; factor > 0 {
		v, r.unit = v*factor, "s"
	}
	if r.Points = append(r.Points, v); len(r.Points) == 2 {
		r.Low = r.Points[0]
	}
	r.High, r.Note = v, strings.TrimPrefix(r.Note+", "+cell[1], ", ")
}

// verdictRow returns the row of a verdict from the groups of tableCell. A cell without a
// verdict gives a row without a line.
func verdictRow(label string, cell []string) topicRow {
	r := topicRow{Metric: label, Note: "no verdict"}
	if cell == nil || cell[4] == "" {
		return r
	}
	r.Low, r.High = ratioOf(cell[5]), ratioOf(cell[6])
	if class, ok := map[string]string{markSame: "same", markOpen: "undecided"}[cell[4]]; ok {
		r.Class, r.Note = class, class
		return r
	}
	ratio := ratioOf(cell[4])
	better := ratio > 1 == stats.MetricOf(label).HigherIsBetter // CPU/request is no name: lower is better then
	r.Points, r.Class = []float64{ratio}, either(better, "better", "worse")
	r.Note = cell[4] + ", " + r.Class
	return r
}

// ratioOf reads a change that [stats.Change] wrote, such as "+12 %" or "×12", as a ratio. It
// undoes the words, but not the rounding.
func ratioOf(change string) float64 {
	percent, isPercent := strings.CutSuffix(strings.Trim(change, "×±"), " %")
	v, _ := strconv.ParseFloat(percent, 64)
	return either(isPercent, 1+v/100, v)
}

// place gives every panel its axis and every row its place, from the top down.
func (c *topicChart) place() {
	// The names of the rows stand left of left, their notes right of right, in px.
	const left, right, step = 340, 604, 20
	c.Height = 40
	for i := range c.Panels {
		p := &c.Panels[i]
		values, unit := []float64{}, ""
		p.Top = c.Height
		for j := range p.Rows {
			r := &p.Rows[j]
			c.Height += step
			r.Y = c.Height - step/2
			// An axis covers the ends of the intervals too, but for those that are 0.
			values, unit = append(append(values, r.Points...), r.Low, r.High), max(unit, r.unit)
		}
		p.Bottom, c.Height = c.Height, c.Height+48
		label := func(v float64) string { return countLabel(v) + unit }
		p.X = newAxis(values, left, right).marked(4, either(unit == "s", timeLabel, label))
		switch {
		// Changes get a logarithmic axis around 1, so that twice and half are equally far from
		// it. It covers ±25 % at least.
		case p.kind == "changes":
			low, high := span(append(values, 1/1.25, 1.25))
			p.X = axis{low: low / 1.05, high: high * 1.05, From: left, To: right, log: true}
			p.X.Ticks = ratioTicks(p.X)
		case p.X.log && len(p.X.Ticks) > 5:
			p.X.Ticks = slices.DeleteFunc(p.X.Ticks, func(t tick) bool { return t.Minor })
		}
		thin(p.X.Ticks)
		p.Name += when(p.X.log, ", logarithmic")
	}
}
