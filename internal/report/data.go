package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"schedlab/internal/record"
	"schedlab/internal/report/document"
	"schedlab/internal/stats"
)

// JSON writes the whole result, indented, with lists of numbers and points of
// curves on one line each. Lists are never null. A figure that is no number is
// an error.
func JSON(w io.Writer, r *record.Result) error {
	full := *InWords(r)
	full.Refused, full.NotChecked = list(r.Refused), list(r.NotChecked)
	for i, a := range full.Arms {
		full.Arms[i].Curve = list(a.Curve)
	}
	return writeJSON(w, full)
}

func writeJSON(w io.Writer, of any) error {
	var raw bytes.Buffer
	if err := record.WriteJSON(&raw, of); err != nil {
		return fmt.Errorf("writing json report: %w", err)
	}
	return emit(w, "json", func(b *bytes.Buffer) { b.Write(compact(raw.Bytes())) })
}

// list is a copy of s that is not nil.
func list[T any](s []T) []T { return append([]T{}, s...) }

// compact joins the lines of every list that holds no other, and of points and spreads. A raw
// line break is never part of a JSON string, so strings stay as they are.
func compact(indented []byte) []byte {
	leaf := regexp.MustCompile(`\[\n[^\[\]{}]*\n\s*\]|\{\n\s*"q": [^\n]*\n\s*"s": [^\n]*\n\s*\}|\{\n\s*"median": [^\n]*\n[^\n]*\n[^\n]*\n\s*\}`)
	space := regexp.MustCompile(`\n\s*`)
	return leaf.ReplaceAllFunc(indented, func(m []byte) []byte {
		inner := space.ReplaceAll(m[1:len(m)-1], []byte(" "))
		return append(append([]byte{m[0]}, bytes.TrimSpace(inner)...), m[len(m)-1])
	})
}

// CSV writes one row per arm and metric in base units (seconds, 1/s), the
// verdict beside the value. The baseline has no verdict, its copy the A/A one.
func CSV(w io.Writer, r *record.Result) error {
	r = InWords(r)
	if r.Capacity != nil {
		return capacityCSV(w, r)
	}
	return writeCSV(w, func(put func(cells ...string)) {
		put("run", "scenario", "arm", "mode", "role", "metric", "primary", "unit", "value",
			"verdict", "ratio", "low", "high", "blocks", "won", "needed", "reason")
		for i := range r.Arms {
			a := &r.Arms[i]
			for _, m := range metrics() {
				value := ""
				if v := m.value(a); v != nil {
					value = float(*v)
				}
				row := []string{r.Run, r.Scenario, a.Name, a.Mode, string(a.Role), m.name, strconv.FormatBool(m.Primary), m.unit, value}
				put(append(row, judged(r, a, m.name)...)...)
			}
		}
	})
}

// writeCSV writes the rows that are put, in one Write.
func writeCSV(w io.Writer, rows func(put func(cells ...string))) error {
	return emit(w, "csv", func(b *bytes.Buffer) {
		out := csv.NewWriter(b)
		rows(func(cells ...string) {
			for i := range cells {
				cells[i] = document.Harmless(cells[i])
			}
			_ = out.Write(cells) // into memory: no error
		})
		out.Flush()
	})
}

// judged are the verdict columns of one arm and metric, empty without one.
func judged(r *record.Result, a *record.Arm, metric string) []string {
	verdicts := r.Verdicts
	if a.Role == record.Copy {
		verdicts = r.AA
	}
	for _, v := range verdicts {
		if v.Arm == a.Name && v.Metric == metric {
			won := strconv.Itoa(v.Won)
			if v.Verdict == string(stats.Refused) {
				won = ""
			}
			return []string{find(metric).word(v.Verdict), quotient(v.Ratio), quotient(v.Low), quotient(v.High),
				strconv.Itoa(v.Blocks), won, strconv.Itoa(v.Needed), v.Reason.Text}
		}
	}
	return make([]string, 8)
}

// quotient writes a ratio of figures above 0: nothing when there is none.
func quotient(v float64) string {
	if v == 0 {
		return ""
	}
	return float(v)
}

func float(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
