package report

import (
	"fmt"
	"math"
	"strconv"

	"schedlab/internal/record"
)

// scaleTitle heads what the law says of each family.
const scaleTitle = "Throughput over clients, by the Universal Scalability Law"

// scaleLegend says what the letters are.
const scaleLegend = "X(N) = lambda N / (1 + sigma (N-1) + kappa N (N-1)), fitted to the goodput of N clients in a closed loop; " +
	"in brackets 95 % intervals, from the scatter about the curve (docs/queueing.md)"

// A scaleTable is one family's.
type scaleTable struct {
	Sentence string
	Rows     [][]string // a head, then a line for each N; nil without any
}

func scaleTables(r *record.Result) (all []scaleTable) {
	for i := range r.Scales {
		s := &r.Scales[i]
		t := scaleTable{Sentence: scaleSentence(s)}
		if len(s.Points) > 0 {
			t.Rows = [][]string{{"clients", "goodput", "CPU/request"}}
		}
		if s.Why.None() {
			t.Rows[0] = append(t.Rows[0], "fitted", "off")
		}
		for _, p := range s.Points {
			row := []string{"N = " + clients(p.N), rate(p.Goodput), none}
			if p.CPU > 0 {
				row[2] = seconds(p.CPU)
			}
			if s.Why.None() {
				row = append(row, rate(p.Fitted), change(p.Goodput/p.Fitted))
			}
			t.Rows = append(t.Rows, row)
		}
		all = append(all, t)
	}
	return all
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
		return fmt.Sprintf("%s: unidentified: %s", s.Line, s.Why.Text)
	}
	between := func(e *record.Estimate, write func(float64) string) string {
		return fmt.Sprintf("%s (%s to %s)", write(e.Value), write(e.Low), write(e.High))
	}
	return fmt.Sprintf("%s: highest at N* = %s, %s; lambda %s, sigma %s, kappa %s; the points scatter %.1f%s%% about the curve",
		s.Line, count(int(math.Round(s.PeakAt))), rate(s.Peak), between(s.Gain, rate), between(s.Contention, plain), between(s.Coherence, plain), 100*s.Off, nbsp)
}

// scales prints the law and the figures it was fitted to.
func (p printer) scales(r *record.Result) {
	tables := scaleTables(r)
	for i, t := range tables {
		p.line("")
		if i == 0 {
			p.prose("", scaleTitle)
		}
		p.prose("  ", t.Sentence)
		if t.Rows != nil {
			p.rows(t.Rows)
		}
	}
	if tables != nil {
		p.prose("  ", scaleLegend)
	}
}

func markdownScales(line func(string, ...any), r *record.Result) {
	tables := scaleTables(r)
	for i, t := range tables {
		if i == 0 {
			line("\n### %s", scaleTitle)
		}
		line("\n%s\n", md(t.Sentence))
		markdownRows(line, t.Rows)
	}
	if tables != nil {
		line("\n%s.", md(scaleLegend))
	}
}
