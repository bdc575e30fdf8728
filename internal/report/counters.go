package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"schedlab/internal/record"
	"schedlab/internal/report/document"
)

// connections are the arms' connections over time: a table, and a chart of each arm in one
// block. A kept connection has little to tell: unless all is wanted, there is a part only
// where connections come and go, or arms differ in how many are open.
func connections(r *record.Result, all bool) document.Part {
	known := counted(r.Arms)
	flow := comeAndGo(known, r.Window)
	if len(known) == 0 || !all && !flow && !crowds(known) {
		return document.Section{}
	}
	rows := [][]string{{"arm", "open at most", "accepted/s", "at most", "done/s", "at most"}}
	for _, a := range known {
		c, row := a.Counters, []string{a.Name}
		for _, v := range []float64{c.OpenPeak, c.Accepted, c.AcceptedPeak, c.Done, c.DonePeak} {
			row = append(row, rounded(v))
		}
		rows = append(rows, row)
	}
	if !flow {
		for i := range rows {
			rows[i] = rows[i][:2]
		}
	}
	charts := document.Page{countersCharts(r, known)}
	if len(known) > briefArms {
		charts = document.Page{document.Details{Summary: "A chart of each arm", Parts: charts}}
	}
	return document.Section{
		ID: "connections", Title: "Connections over time", About: overBlocks("medians", caveat(r)),
		Lead: warned(r, fmt.Sprintf("As the servers counted them, ten times a second; accepted = done + rejected + dropped + open. "+
			"The charts are of block %d, the middle one by connections open, and have the same axes.", known[0].Counters.Block)),
		Parts: []document.Part{document.Table{Rows: rows}, charts},
	}
}

// rounded writes a number of connections.
func rounded(v float64) string { return count(int(math.Round(v))) }

// counted are the arms whose servers told their connections.
func counted(arms []record.Arm) (known []record.Arm) {
	for _, a := range arms {
		if a.Counters != nil {
			known = append(known, a)
		}
	}
	return known
}

// fewOpen is a difference of connections that is not worth a line.
const fewOpen = 10

// crowds reports whether arms differ in the connections they had open: by more than a tenth,
// and not by a few.
func crowds(known []record.Arm) bool {
	least, most := math.Inf(1), 0.
	for _, a := range known {
		least, most = min(least, a.Counters.OpenPeak), max(most, a.Counters.OpenPeak)
	}
	return most > 1.1*least && most-least >= fewOpen
}

// comeAndGo reports whether an arm accepted more than a tenth of the connections it had open.
func comeAndGo(known []record.Arm, window float64) bool {
	return slices.ContainsFunc(known, func(a record.Arm) bool { return a.Counters.Accepted*window > a.Counters.OpenPeak/10 })
}

// openColumns are how many connections each arm had open at most and accepted per second, where
// arms differ in how many were open.
func openColumns(arms []record.Arm) [][]string {
	if !crowds(counted(arms)) {
		return nil
	}
	open, accepted := []string{"most open"}, []string{"accepted/s"}
	for _, a := range arms {
		o, per := none, none
		if c := a.Counters; c != nil {
			o, per = rounded(c.OpenPeak), rounded(c.Accepted)
		}
		open, accepted = append(open, o), append(accepted, per)
	}
	return [][]string{open, accepted}
}

// A countersChart is one arm's connections over the window: those open, and below how many
// were accepted and done per second.
type countersChart struct {
	Name          string
	Width, Height px
	Panels        []countersPanel
}

type countersPanel struct {
	plot
	Of    string
	Lines []curveLine
}

// A track is a figure over the time of a window.
type track []struct{ at, value float64 }

// tracks are the connections open at every reading, and those accepted and done per second
// between one reading and the next.
func tracks(all []record.Reading) (open, accepted, done track) {
	for i, r := range all {
		open = append(open, struct{ at, value float64 }{r.At, float64(r.Open)})
		if i == 0 {
			continue
		}
		last := all[i-1]
		middle, took := (last.At+r.At)/2, r.At-last.At
		accepted = append(accepted, struct{ at, value float64 }{middle, float64(r.Accepted-last.Accepted) / took})
		done = append(done, struct{ at, value float64 }{middle, float64(r.Done-last.Done) / took})
	}
	return open, accepted, done
}

// line draws t.
func (t track) line(s series, x, y axis) curveLine {
	var path strings.Builder
	for i, p := range t {
		fmt.Fprintf(&path, "%c%s %s", "ML"[min(i, 1)], x.at(p.at), y.at(p.value))
	}
	return curveLine{series: s, Path: path.String()}
}

// countersCharts draws the arms with the same axes.
func countersCharts(r *record.Result, known []record.Arm) (charts document.Charts) {
	lines := []series{{"open", "base"}, {"accepted", "c0"}, {"done", "c1 dash"}}
	var open, rates []float64
	for _, a := range known {
		o, accepted, done := tracks(a.Counters.Readings)
		for _, p := range o {
			open = append(open, p.value)
		}
		for _, p := range slices.Concat(accepted, done) {
			rates = append(rates, p.value)
		}
	}
	top := countersPanel{Of: "open", plot: plot{Left: 60, Right: 404, Top: 22, Bottom: 112}}
	low := countersPanel{Of: "per second", plot: plot{Left: 60, Right: 404, Top: 146, Bottom: 236}}
	x := axis{low: 0, high: r.Window, from: top.Left, to: top.Right}
	number, rate := fromZero(open, top.Bottom, top.Top), fromZero(rates, low.Bottom, low.Top)
	top.Y, low.Y, low.X = number.rateTicks(5), rate.rateTicks(5), x.timeTicks(4)
	for _, a := range known {
		o, accepted, done := tracks(a.Counters.Readings)
		top.Lines = []curveLine{o.line(lines[0], x, number)}
		low.Lines = []curveLine{accepted.line(lines[1], x, rate), done.line(lines[2], x, rate)}
		charts = append(charts, document.Chart{
			Caption: a.Name, Keys: keys(lines),
			Picture: draw("counters", countersChart{Name: a.Name, Width: 420, Height: 262, Panels: []countersPanel{top, low}}),
		})
	}
	return charts
}

// fromZero fits counts and rates, of which 1 is the least that is worth an axis.
func fromZero(values []float64, from, to px) axis {
	return axis{low: 0, high: max(1, slices.Max(values)) * 1.06, from: from, to: to}
}
