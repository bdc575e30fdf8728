package report

import (
	"fmt"
	"strings"

	"schedlab/internal/record"
	"schedlab/internal/report/document"
)

// theory sets queueing models beside the measurement.
func theory(r *record.Result) document.Part {
	return document.Section{
		ID: "theory", Title: "Theory against measurement", About: overBlocks("medians", ""), Parts: []document.Part{document.Lines(predictions(r))},
		Lead: warned(r, "Queueing models fed with the measured arrivals, demands and CPU time; nothing is fitted to response times. "+
			"What is measured above them is overhead and interference."),
	}
}

// predictions set theory beside the measurement, one line for each arm and model
// that has a figure.
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

func formula(p record.Prediction) string {
	if p.Formula == "" || p.Formula == "replay" {
		return ""
	}
	return " (" + p.Formula + ")"
}

// leastLoss is the smallest loss worth a figure: a request in a million.
const leastLoss = 1e-6

func lossText(v float64) string {
	if v > 0 && v < leastLoss {
		return "~0" + nbsp + "%"
	}
	return fmt.Sprintf("%.2g%s%%", 100*v, nbsp)
}

// compared lists a prediction's figures with those measured.
func compared(a record.Arm, p record.Prediction) (parts []string) {
	measured := map[string]*float64{"mean": a.Mean, "p50": a.P50, "p90": a.P90, "p99": a.P99, "goodput": a.Goodput}
	lossy := a.GoodMean != nil
	if lossy { // theory speaks of those that were served
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
