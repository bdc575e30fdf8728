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
	for _, a := range choices(r.Arms) {
		for _, p := range a.Predictions {
			name, says := a.Name+", "+p.Model, p.Why.String()
			if p.Why.None() {
				says = strings.Join(compared(a, p), "; ")
				if p.Formula != "" && p.Formula != "replay" {
					name += " (" + p.Formula + ")"
				}
			}
			lines = append(lines, name+": "+says)
		}
	}
	return lines
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
	type figure struct {
		name     string
		measured *float64
		format   func(float64) string
	}
	figures := []figure{{"mean", a.Mean, seconds}, {"p50", a.P50, seconds}, {"p90", a.P90, seconds}, {"p99", a.P99, seconds}, {"goodput", a.Goodput, rate}}
	lossy := a.GoodMean != nil
	if lossy { // theory predicts the times of served requests
		figures = []figure{{"mean", a.GoodMean, seconds}, {"goodput", a.Goodput, rate}}
	}
	for _, f := range figures {
		v, ok := p.Values[f.name]
		switch m := f.measured; {
		case !ok || lossy && m == nil:
		case m == nil || *m == 0 || v == 0:
			parts = append(parts, fmt.Sprintf("%s %s, not measured", f.name, f.format(v)))
		default:
			parts = append(parts, fmt.Sprintf("%s %s, measured %s (%s)", f.name, f.format(v), f.format(*m), change(*m/v)))
		}
	}
	if v, ok := p.Values["loss"]; ok && (v > 0 || lossy) {
		failed := float64(a.Errors) / float64(max(a.Requests, 1))
		parts = append(parts, fmt.Sprintf("loss %s, measured %s", lossText(v), lossText(failed)))
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
	var means, tails, beyond []float64
	for _, a := range choices(r.Arms) {
		switch w := a.Twin; {
		case w == nil:
		case w.Mean == nil:
			lines = append(lines, fmt.Sprintf("%s: no twin: %s", a.Name, w.Why.String()))
		default:
			with, means, beyond = append(with, a), append(means, w.Ideal.Median, w.Measured.Median), append(beyond, w.Beyond.Median)
			if w.P99 != nil {
				tails = append(tails, w.P99.Median, w.MeasuredP99.Median)
			}
			lines = append(lines, remarked(a)...)
		}
	}
	if len(with) == 0 {
		s.Parts = []document.Part{lines}
		return s
	}
	unit, cpu, tail := timeScale(means...), timeScale(beyond...), timeScale(tails...)
	of := func(head string, figure func(w *record.Twin) string) armField {
		return armField{head, nil, func(a record.Arm) string { return figure(a.Twin) }}
	}
	inTail := func(s record.Spread) string { return tail.format(s.Median) }
	table := rows(with, armField{"arm", nil, name},
		of("ideal", func(w *record.Twin) string { return unit.number(w.Ideal.Median) }),
		of("overhead", func(w *record.Twin) string { return unit.plus(w.Overhead.Median) }),
		of("the rest", func(w *record.Twin) string { return unit.plus(w.Interference.Median) }),
		of("95"+nbsp+"% interval", func(w *record.Twin) string {
			return unit.plus(w.Interference.Low) + " to " + unit.plus(w.Interference.High)
		}),
		of("measured ("+unit.unit+")", func(w *record.Twin) string { return unit.number(w.Measured.Median) }),
		of("CPU beyond", func(w *record.Twin) string { return cpu.format(w.Beyond.Median) }),
		optional("twin's p99", func(a record.Arm) *record.Spread { return a.Twin.P99 }, inTail),
		optional("measured", func(a record.Arm) *record.Spread { return a.Twin.MeasuredP99 }, inTail),
	)
	legend := "ideal: mean response time with the demands alone; overhead: what the server's CPU time beyond them adds, the longer queue included; " +
		"the rest, with its interval: what was measured beyond both, interference of kernel, run queue, network, load and platform; " +
		"each block's figures add up, their medians, column by column, only nearly (docs/queueing.md)"
	s.Parts = []document.Part{document.Table{Rows: table}, lines, document.Note(legend)}
	return s
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
