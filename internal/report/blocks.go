package report

import (
	"fmt"
	"strings"

	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// A panel shows one metric of every arm, block by block: a row of dots per
// arm, and a thin line through the rows for each block, since the verdict
// compares within blocks. Parallel lines are a steady difference.
type panel struct {
	plot
	Label string
	Rows  []panelRow
	Pairs []string // SVG path data, one per block
	Log   bool
}

type panelRow struct {
	series
	Y, LabelY px
	Dots      []px
	Median    px
	Values    string // for readers of the title
}

// BarTop is the upper end of the bar at the median.
func (r panelRow) BarTop() px { return r.Y - 8 }

// BarEnd is the lower end of the bar at the median.
func (r panelRow) BarEnd() px { return r.Y + 8 }

const (
	panelTop  = 6
	panelRow1 = 30 // from the top of a row to its dots: the name stands above
	panelRowH = 44
)

// panels draws p99, p90 and p50 by block, the tail first; metrics without two
// blocks are left out.
func panels(arms []record.Arm) []panel {
	var all []panel
	for _, name := range []string{"p99", "p90", "p50"} {
		if p := blockPanel(find(name), arms); p != nil {
			all = append(all, *p)
		}
	}
	return all
}

func blockPanel(m metric, arms []record.Arm) *panel {
	var values []float64
	blocks := 0
	for _, a := range arms {
		values = append(values, a.Blocks[m.name]...)
		blocks = max(blocks, len(a.Blocks[m.name]))
	}
	if blocks < 2 {
		return nil
	}
	p := &panel{Label: m.label, plot: plot{Width: 340, Left: 14, Right: 326, Top: panelTop}}
	x := closeAxis(values, p.Left, p.Right)
	p.Log, p.X = x.log, x.timeTicks(4)
	scale := timeScale(values...)
	for i, s := range seriesOf(arms) {
		blocks := arms[i].Blocks[m.name]
		if len(blocks) == 0 {
			continue
		}
		top := px(panelTop + panelRowH*len(p.Rows))
		row := panelRow{series: s, Y: top + panelRow1, LabelY: top + 15, Median: x.at(stats.Median(blocks))}
		var numbers []string
		for _, v := range blocks {
			row.Dots = append(row.Dots, x.at(v))
			numbers = append(numbers, scale.number(v))
		}
		row.Values = strings.Join(numbers, ", ") + nbsp + scale.unit
		p.Rows = append(p.Rows, row)
	}
	p.Bottom = px(panelTop + panelRowH*len(p.Rows))
	p.Height = p.Bottom + 26
	for block := range blocks {
		var path strings.Builder
		for _, row := range p.Rows {
			if block < len(row.Dots) {
				fmt.Fprintf(&path, "%c%s %s", "ML"[min(path.Len(), 1)], row.Dots[block], row.Y)
			}
		}
		p.Pairs = append(p.Pairs, path.String())
	}
	return p
}
