package report

import (
	"fmt"

	"schedlab/internal/measuring/report/document"
	"schedlab/internal/measuring/report/say"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// Forming draws how the verdicts of a run form while it goes on: the forest of a report, with the ratio of each block as a dot.
// r has the arms with their medians so far and the verdicts of the newest look, or open ones before the first. dots returns the
// ratio in each block that knows both figures of a verdict. Only times are drawn, and other figures that surely differ and have medians
// in r. Before the first block there is nothing.
func Forming(r *record.Comparison, firstLook int, dots func(record.Verdict) []float64) []document.Part {
	judged := *r
	judged.Verdicts, judged.AA = drawnWhileForming(r, r.Verdicts), drawnWhileForming(r, r.AA)
	f := forestOf(&judged)
	var reach []record.Verdict // intervals that the axis shows
	for _, g := range f.Groups {
		for i := range g.Rows {
			row := &g.Rows[i]
			if row.Dots = dots(row.Verdict); row.Drawn {
				// A far end would press the band together, so it is cut, unless the arm itself is there.
				reach = append(reach, record.Verdict{Low: max(row.Low, min(1./3, row.Ratio)), High: min(row.High, max(3, row.Ratio))})
				continue
			}
			if len(row.Dots) == 0 || row.Verdict.Verdict.Outcome != outcome.Open {
				continue
			}
			middle := stats.Median(row.Dots)
			reach = append(reach, record.Verdict{Low: middle, High: middle})
			if row.Blocks < firstLook {
				row.Note = "first look after " + say.Plural(firstLook, "block")
			}
		}
	}
	if len(f.Groups) == 0 {
		return nil
	}
	f.X = forestAxis(reach)
	m, base := stats.P99.Row(), r.Arms[0].Name
	if len(judged.Verdicts) > 0 {
		base = baselineOf(judged.Verdicts)
	}
	return []document.Part{
		document.Charts{{Caption: "Where the verdicts form: each arm's ratio to " + base, Picture: draw("forest", f)}},
		document.Note(fmt.Sprintf("A small dot is the ratio in one block, the line the 95"+say.NBSP+"%% interval at the newest look, the large dot its median. %s where the whole line lies in the band (±%g"+say.NBSP+"%%), "+
			"%s or %s where it lies on one side of “same” and its median is %g"+say.NBSP+"%% or more away.", stats.Same, 100*m.Same, stats.Faster, stats.Slower, 100*m.Effect)),
	}
}

// drawnWhileForming returns the verdicts that [Forming] draws.
func drawnWhileForming(r *record.Comparison, all []record.Verdict) (drawn []record.Verdict) {
	for _, v := range all {
		if v.Needed > mostBlocks {
			v.Needed = 0 // longer windows would decide it, and the report tells which
		}
		if v.Primary || differs(v) && r.Quotient(v) > 0 {
			drawn = append(drawn, v)
		}
	}
	return drawn
}
