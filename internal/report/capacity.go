package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"schedlab/internal/record"
	"schedlab/internal/report/document"
)

// capacityDocument is a search for capacity.
func capacityDocument(r *record.Result) document.Document {
	table := document.Table{Rows: capacityTable(r)}
	for i, a := range r.Capacity.Arms {
		table.Marks = append(table.Marks, document.Mark{Class: seriesOf(r.Arms)[i].Class, Notes: notes(r, a.Name)})
	}
	var known document.Facts
	if r.Note != "" {
		known = document.Facts{{Label: "Note", Text: r.Note}}
	}
	return document.Document{
		Name: r.Scenario, Question: r.Question, State: searchState(r), Answer: Headline(r), Context: []string{searched(r), machine(r.Env, r.Arms)}, Data: complete(r),
		Parts: []document.Part{
			document.Section{
				ID: "capacity", Title: "Capacity", Parts: []document.Part{table, document.Lines(capacityLines(r))},
				Lead: "The capacity lies between the highest rate at which three windows of three kept " + r.Capacity.SLO + " and the lowest at which most broke it. " +
					"The estimate is where a robust line through the windows meets the limit; it is no answer by itself.",
			},
			rateSection(r),
			document.Section{
				ID: "theory", Title: "Theory against measurement", About: "from measured CPU time and the demands asked for",
				Lead: "Nothing is fitted to response times.", Parts: []document.Part{document.Lines(capacityTheory(r))},
			},
			document.Page{document.Section{ID: "windows", Title: "Every window", Parts: details(r)}},
			document.Section{ID: "doubts", Title: "Reservations", Parts: []document.Part{doubts(r), known}},
			recordSection(r),
		},
	}
}

// rateSection draws the response time over the rate.
func rateSection(r *record.Result) document.Part {
	all := rateCharts(r)
	if all == nil {
		return document.Section{}
	}
	var charts []document.Part
	for i, c := range all {
		chart := document.Chart{Caption: c.Name + logarithmic(c.Log), Picture: draw("rates", c)}
		if i == 0 {
			chart.Alt, chart.File = "Response time over the rate, with the objective, the windows and theory", capacityChartFile // of all arms
		}
		charts = append(charts, document.Charts{chart})
	}
	return document.Section{
		ID: "curves", Title: "Response time over the rate", Parts: charts,
		Lead: plotted(r.Capacity).Metric + " of every window: filled where the objective was kept, open where it was broken, grey where the window was refused. " +
			"The thick line across is the promise, the band the interval, the drawn line the fit, the dashed one theory.",
	}
}

// searchState says how much of its search the run holds; "" when all of it.
func searchState(r *record.Result) string {
	n := 0
	for _, a := range r.Capacity.Arms {
		n += len(a.Windows)
	}
	had := plural(n, "window") + " measured"
	switch r.Status {
	case record.Complete:
		return ""
	case record.Interrupted:
		return "INTERRUPTED: stopped before the search was done, " + had
	case record.Running:
		return "INCOMPLETE: the run was cut off or still goes on, " + had
	}
	return "PARTIAL: the search could not be done in full, " + had
}

// searched says what was promised and how it was looked for.
func searched(r *record.Result) string {
	c := r.Capacity
	parts := []string{"objective " + c.SLO, seconds(r.Window) + " windows", "up to " + seconds(c.Budget) + " for each arm", fmt.Sprintf("seed %d", r.Seed)}
	if r.Asked != "" {
		parts = append(parts, r.Asked)
	}
	return strings.Join(append(loads(r.Arms), parts...), ", ")
}

// capacityTable are the arms' answers, the head first.
func capacityTable(r *record.Result) [][]string {
	rows := [][]string{{"arm", "capacity", "estimate", "verified", "refuted", "saturation", "X_max", "recovers", "CPU a request"}}
	known := func(v float64, write func(float64) string) string {
		if v <= 0 {
			return none
		}
		return write(v)
	}
	of := func(n, of int) string {
		if of == 0 {
			return none
		}
		return fmt.Sprintf("%d of %d", n, of)
	}
	for _, a := range r.Capacity.Arms {
		rows = append(rows, []string{
			a.Name, interval(a), known(a.Estimate, rate), of(a.LowKept, a.LowOf), of(a.HighBroken, a.HighOf),
			known(a.Saturation, rate), known(a.XMax, rate), cmp.Or(a.Recovers, of(a.AgainKept, a.AgainOf)), known(a.CPUPerRequest, seconds),
		})
	}
	return rows
}

// interval is an arm's capacity in a cell.
func interval(a record.ArmCapacity) string {
	switch {
	case a.Outcome == "between":
		return strings.TrimSuffix(rate(a.Low), "/s") + " to " + rate(a.High)
	case a.Outcome == "beyond":
		return "above " + rate(a.Low)
	case a.Outcome == "below":
		return "below " + rate(a.High)
	case a.Outcome == "never":
		return "none"
	case a.Outcome == "slow":
		return "too slow to judge"
	case a.Outcome == "died" && a.End != nil && a.End.Rate > 0:
		return "died at " + rate(a.End.Rate)
	case a.Outcome == "died":
		return "died"
	case a.Low > 0:
		return "undecided: above " + rate(a.Low)
	case a.High > 0:
		return "undecided: below " + rate(a.High)
	}
	return "undecided"
}

// capacityLines are the arms' answers and how they compare; one arm's is the
// headline already.
func capacityLines(r *record.Result) (lines []string) {
	if len(r.Capacity.Arms) > 1 {
		for _, a := range r.Capacity.Arms {
			lines = append(lines, a.Answer.String())
		}
	}
	lines = append(lines, capacityCompared(r)...)
	return append(lines, capacityCost(r)...)
}

// capacityCompared says how the arms' answers compare, and what gives way first.
func capacityCompared(r *record.Result) (lines []string) {
	for _, l := range r.Capacity.Lines {
		lines = append(lines, l.String())
	}
	for _, a := range r.Capacity.Arms {
		if a.Term != "" && len(r.Capacity.Terms) > 1 {
			lines = append(lines, fmt.Sprintf("%s: %s gives way first", a.Name, a.Term))
		}
	}
	return lines
}

// capacityCost says at which rates the CPU time of a request was measured, and why
// X_max may be more than it allows; nothing when no window was measured.
func capacityCost(r *record.Result) []string {
	var rates []float64
	for _, a := range r.Capacity.Arms {
		rates = append(rates, a.CPURates...)
	}
	if len(rates) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("CPU a request is the median of windows at %s to %s, where a server sleeps and wakes between requests; X_max is a closed loop, in which it may never: a request costs less there, so X_max may be above what that CPU time allows",
		strings.TrimSuffix(rate(slices.Min(rates)), "/s"), rate(slices.Max(rates)))}
}

// capacityTheory sets where theory says that the objective gives way beside where
// it does.
func capacityTheory(r *record.Result) (lines []string) {
	for _, a := range r.Capacity.Arms {
		if !a.NoTheory.None() && len(a.Windows) > 0 {
			lines = append(lines, a.Name+": no prediction: "+a.NoTheory.String())
		}
		for _, t := range a.Theories {
			name := a.Name + ", " + t.Model
			if t.Formula != "" {
				name += " (" + t.Formula + ")"
			}
			switch {
			case !t.Why.None():
				lines = append(lines, fmt.Sprintf("%s: no rate for %s: %s", name, t.Metric, t.Why.String()))
			case !strings.HasPrefix(a.Term, t.Metric+"<"):
				lines = append(lines, fmt.Sprintf("%s: %s by %s, which is not what gives way first", name, rate(t.Rate), t.Metric))
			case a.Outcome != "between":
				lines = append(lines, fmt.Sprintf("%s: %s", name, rate(t.Rate)))
			default:
				where := "inside the interval"
				if t.Rate < a.Low || t.Rate > a.High {
					where = fmt.Sprintf("outside %s", interval(a))
				}
				lines = append(lines, fmt.Sprintf("%s: %s, %s; the estimate is %s off it", name, rate(t.Rate), where, change(a.Estimate/t.Rate)))
			}
		}
	}
	return lines
}

// capacityCSV is CSV for a search for capacity: one row for each window, with the
// answer of its arm.
func capacityCSV(w io.Writer, r *record.Result) error {
	return writeCSV(w, func(put func(cells ...string)) {
		head := []string{"run", "scenario", "arm", "mode", "outcome", "low", "high", "trial", "purpose", "rate", "sent", "goodput", "error_ratio"}
		var metrics []string
		for _, t := range r.Capacity.Terms {
			if t.Metric != "goodput" && t.Metric != "errors" {
				metrics = append(metrics, t.Metric)
			}
		}
		put(slices.Concat(head, metrics, []string{"kept", "refused"})...)
		for _, a := range r.Capacity.Arms {
			for _, x := range a.Windows {
				row := []string{r.Run, r.Scenario, a.Name, a.Mode, a.Outcome, float(a.Low), float(a.High),
					strconv.Itoa(x.Trial), x.Purpose, float(x.Rate), float(x.Sent), float(x.Goodput), float(x.Errors)}
				for _, m := range metrics {
					cell := ""
					if v, ok := x.Values[m]; ok {
						cell = float(v)
					}
					row = append(row, cell)
				}
				put(append(row, strconv.FormatBool(x.Kept), x.Refused.String())...)
			}
		}
	})
}
