package report

import (
	"fmt"
	"strings"

	"schedlab/internal/record"
	"schedlab/internal/report/document"
)

// theory compares queueing models with the measurement.
func theory(r *record.Result) document.Part {
	return document.Section{
		ID: "theory", Title: "Theory against measurement", About: overBlocks("medians", ""), Parts: []document.Part{document.Lines(predictions(r))},
		Lead: warned(r, "Queueing models fed with the measured arrivals, demands and CPU time; nothing is fitted to response times. "+
			"What is measured above them is overhead and interference."),
	}
}

// predictions compares theory with the measurement, one line for each arm and model.
func predictions(r *record.Result) (lines []string) {
	for _, a := range r.Arms {
		if a.Role == record.Copy {
			continue
		}
		for _, p := range a.Predictions {
			if !p.Why.None() {
				lines = append(lines, fmt.Sprintf("%s, %s: %s", a.Name, p.Model, p.Why.String()))
				continue
			}
			lines = append(lines, fmt.Sprintf("%s, %s%s: %s", a.Name, p.Model, formula(p), strings.Join(compared(a, p), "; ")))
		}
	}
	return lines
}

// formula returns the model's formula in brackets; "" if there is none to show.
func formula(p record.Prediction) string {
	if p.Formula == "" || p.Formula == "replay" {
		return ""
	}
	return " (" + p.Formula + ")"
}

// leastLoss is the smallest loss that is printed as a number: one request in a million.
const leastLoss = 1e-6

// lossText formats a loss, a ratio, in per cent.
func lossText(v float64) string {
	if v > 0 && v < leastLoss {
		return "~0" + nbsp + "%"
	}
	return fmt.Sprintf("%.2g%s%%", 100*v, nbsp)
}

// compared lists a prediction's figures with the measured ones.
func compared(a record.Arm, p record.Prediction) (parts []string) {
	measured := map[string]*float64{"mean": a.Mean, "p50": a.P50, "p90": a.P90, "p99": a.P99, "goodput": a.Goodput}
	lossy := a.GoodMean != nil
	if lossy { // theory predicts the times of served requests
		measured = map[string]*float64{"mean": a.GoodMean, "goodput": a.Goodput}
	}
	for _, name := range []string{"mean", "p50", "p90", "p99", "goodput", "loss"} {
		v, ok := p.Values[name]
		if !ok {
			continue
		}
		write := seconds
		switch name {
		case "goodput":
			write = rate
		case "loss":
			if v > 0 || lossy {
				failed := float64(a.Errors) / float64(max(a.Requests, 1))
				parts = append(parts, fmt.Sprintf("loss %s, measured %s", lossText(v), lossText(failed)))
			}
			continue
		}
		if lossy && measured[name] == nil {
			continue
		}
		m := measured[name]
		if m == nil || *m == 0 || v == 0 {
			parts = append(parts, fmt.Sprintf("%s %s, not measured", name, write(v)))
			continue
		}
		parts = append(parts, fmt.Sprintf("%s %s, measured %s (%s)", name, write(v), write(*m), change(*m/v)))
	}
	return parts
}

// twins compares every arm with an ideal scheduler of its kind that serves the same requests.
func twins(r *record.Result) document.Part {
	s := document.Section{
		ID: "twin", Title: "Against the ideal twin", About: overBlocks("medians", caveat(r)),
		Lead: "Each arm beside its own requests in an ideal scheduler of its kind, block by block.",
	}
	var lines document.Lines
	var with []record.Arm
	var tails, beyond []float64
	for _, a := range r.Arms {
		switch {
		case a.Role == record.Copy || a.Twin == nil:
		case a.Twin.Mean == nil:
			lines = append(lines, fmt.Sprintf("%s: no twin: %s", a.Name, a.Twin.Why.String()))
		default:
			with = append(with, a)
			if w := a.Twin; w.P99 != nil {
				tails = append(tails, w.P99.Median, w.MeasuredP99.Median)
			}
			beyond = append(beyond, a.Twin.Beyond.Median)
			lines = append(lines, remarked(a)...)
		}
	}
	if len(with) == 0 {
		s.Parts = []document.Part{lines}
		return s
	}
	unit, cpu, tail := twinScale(with), timeScale(beyond...), timeScale(tails...)
	head := []string{"arm", "ideal", "overhead", "the rest", "95" + nbsp + "% interval", "measured (" + unit.unit + ")", "CPU beyond"}
	if tails != nil {
		head = append(head, "twin's p99", "measured")
	}
	rows := [][]string{head}
	for _, a := range with {
		w := a.Twin
		row := []string{a.Name, unit.number(w.Ideal.Median), unit.plus(w.Overhead.Median), unit.plus(w.Interference.Median),
			unit.plus(w.Interference.Low) + " to " + unit.plus(w.Interference.High), unit.number(w.Measured.Median), cpu.format(w.Beyond.Median)}
		switch {
		case w.P99 != nil:
			row = append(row, tail.format(w.P99.Median), tail.format(w.MeasuredP99.Median))
		case tails != nil:
			row = append(row, none, none)
		}
		rows = append(rows, row)
	}
	legend := "ideal: mean response time with the demands alone; overhead: what the server's CPU time beyond them adds, the longer queue included; " +
		"the rest, with its interval: what was measured beyond both, interference of kernel, run queue, network, load and platform; " +
		"each block's figures add up, their medians, column by column, only nearly (docs/reference/queueing.md)"
	s.Parts = []document.Part{document.Table{Rows: rows}, lines, document.Note(legend)}
	return s
}

// twinScale returns the scale for the means in the table of twins.
func twinScale(arms []record.Arm) scale {
	var means []float64
	for _, a := range arms {
		means = append(means, a.Twin.Ideal.Median, a.Twin.Measured.Median)
	}
	return timeScale(means...)
}

// plus is number with a sign. A value that rounds to zero gets ±.
func (s scale) plus(v float64) string {
	return strings.TrimSuffix(s.signed(v), nbsp+s.unit)
}

// remarked returns the notes about an arm's twin: its assumptions, and the losses.
func remarked(a record.Arm) (lines []string) {
	if a.Twin.Note != "" {
		lines = append(lines, a.Name+": "+a.Twin.Note)
	}
	if l := a.Twin.Loss; l != nil && l.Median+a.Twin.MeasuredLoss.Median > 0 {
		lines = append(lines, fmt.Sprintf("%s: the twin turned away %.3g%s%%, measured %.3g%s%%; the times are those of the others",
			a.Name, 100*l.Median, nbsp, 100*a.Twin.MeasuredLoss.Median, nbsp))
	}
	return lines
}
