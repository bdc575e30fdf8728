package report

import (
	"fmt"
	"math"
	"strconv"

	"schedlab/internal/record"
	"schedlab/internal/report/document"
)

// scaleTitle heads what the law says of each family.
const scaleTitle = "Throughput over clients, by the Universal Scalability Law"

// scaleLegend says what the letters are.
const scaleLegend = "X(N) = lambda N / (1 + sigma (N-1) + kappa N (N-1)), fitted to the goodput of N clients in a closed loop; " +
	"in brackets 95 % intervals, from the scatter about the curve (docs/queueing.md)"

// scales are what the law says of each family, and the figures it was fitted to.
func scales(r *record.Result) document.Part {
	s := document.Section{ID: "scales", Title: scaleTitle, Lead: warned(r, "")}
	if len(r.Scales) == 0 {
		return s
	}
	for i := range r.Scales {
		s.Parts = append(s.Parts, document.Lines{scaleSentence(&r.Scales[i])}, document.Table{Rows: scaleRows(&r.Scales[i])})
	}
	s.Parts = append(s.Parts, document.Note(scaleLegend))
	return s
}

// scaleRows are a head and a line for each number of clients; nil without any.
func scaleRows(s *record.Scale) (rows [][]string) {
	if len(s.Points) == 0 {
		return nil
	}
	rows = [][]string{{"clients", "goodput", "CPU/request"}}
	if s.Why.None() {
		rows[0] = append(rows[0], "fitted", "off")
	}
	for _, p := range s.Points {
		row := []string{"N = " + clients(p.N), rate(p.Goodput), none}
		if p.CPU > 0 {
			row[2] = seconds(p.CPU)
		}
		if s.Why.None() {
			row = append(row, rate(p.Fitted), change(p.Goodput/p.Fitted))
		}
		rows = append(rows, row)
	}
	return rows
}

// clients writes a number of them, which a median over blocks need not make whole.
func clients(n float64) string {
	if n == float64(int(n)) {
		return count(int(n))
	}
	return group(strconv.FormatFloat(n, 'f', 1, 64))
}

func scaleSentence(s *record.Scale) string {
	if !s.Why.None() {
		return fmt.Sprintf("%s: unidentified: %s", s.Line, s.Why.String())
	}
	between := func(e *record.Estimate, write func(float64) string) string {
		return fmt.Sprintf("%s (%s to %s)", write(e.Value), write(e.Low), write(e.High))
	}
	return fmt.Sprintf("%s: highest at N* = %s, %s; lambda %s, sigma %s, kappa %s; the points scatter %.1f%s%% about the curve",
		s.Line, count(int(math.Round(s.PeakAt))), rate(s.Peak), between(s.Gain, rate), between(s.Contention, plain), between(s.Coherence, plain), 100*s.Off, nbsp)
}
