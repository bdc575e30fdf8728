package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"schedlab/internal/record"
)

// capacityText is Text for a search for capacity.
func capacityText(w io.Writer, r *record.Result, o TextOptions) error {
	return emit(w, "text", func(b *bytes.Buffer) {
		p := printer{b, o}
		title := r.Scenario
		if r.Question != "" {
			title += ": " + r.Question
		}
		p.prose("", title)
		if s := searchState(r); s != "" {
			p.prose("", s)
		}
		p.prose("", searched(r))
		p.prose("", machine(r.Env, r.Arms))
		p.line("")
		p.table(capacityTable(r))
		p.line("")
		p.bold(wrap(r.Headline, o.Width, 0))
		p.line("")
		for _, l := range capacityLines(r) {
			p.prose("  ", l)
		}
		for i, l := range capacityTheory(r) {
			if i == 0 {
				p.line("")
				p.prose("", "Theory, from measured CPU time and the demands asked for")
			}
			p.prose("  ", l)
		}
		p.line("")
		for i, d := range r.Doubts {
			p.item(fmt.Sprintf("[%d]", i+1), Doubt(d))
		}
		if r.Note != "" {
			p.item("Note", r.Note)
		}
		p.line("")
		p.item("Record", r.Dir)
		p.item("Again", again(r))
	})
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
		recovers := a.Recovers
		if recovers == "" {
			recovers = of(a.AgainKept, a.AgainOf)
		}
		name := a.Name
		if n := notes(r, a.Name); len(n) > 0 {
			name += " " + strings.ReplaceAll(fmt.Sprint(n), " ", ",")
		}
		rows = append(rows, []string{
			name, interval(a), known(a.Estimate, rate), of(a.LowKept, a.LowOf), of(a.HighBroken, a.HighOf),
			known(a.Saturation, rate), known(a.XMax, rate), recovers, known(a.CPUPerRequest, seconds),
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
			lines = append(lines, a.Text)
		}
	}
	lines = append(lines, capacityCompared(r)...)
	return append(lines, capacityCost(r)...)
}

// capacityCompared says how the arms' answers compare, and what gives way first.
func capacityCompared(r *record.Result) (lines []string) {
	lines = append(lines, r.Capacity.Lines...)
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
			lines = append(lines, a.Name+": no prediction: "+a.NoTheory.Text)
		}
		for _, t := range a.Theories {
			name := a.Name + ", " + t.Model
			if t.Formula != "" {
				name += " (" + t.Formula + ")"
			}
			switch {
			case !t.Why.None():
				lines = append(lines, fmt.Sprintf("%s: no rate for %s: %s", name, t.Metric, t.Why.Text))
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

// capacityMarkdown is Markdown for a search for capacity. The chart is the file
// capacity.svg of the record.
func capacityMarkdown(w io.Writer, r *record.Result) error {
	return emit(w, "markdown", func(b *bytes.Buffer) {
		line := func(format string, args ...any) { fmt.Fprintf(b, format+"\n", args...) }
		line("## %s", md(r.Scenario))
		if r.Question != "" {
			line("\n*%s*", md(r.Question))
		}
		if s := searchState(r); s != "" {
			line("\n**%s**", md(s))
		}
		line("\n**%s**\n\n%s; %s.\n", md(r.Headline), md(searched(r)), md(machine(r.Env, r.Arms)))
		for i, row := range capacityTable(r) {
			for k := range row {
				row[k] = md(row[k])
			}
			line("| %s |", strings.Join(row, " | "))
			if i == 0 {
				line("|---|%s", strings.Repeat("---:|", len(row)-1))
			}
		}
		line("")
		for _, l := range slices.Concat(capacityLines(r), capacityTheory(r)) {
			line("- %s", md(l))
		}
		line("\n![Response time over the rate, with the objective, the windows and theory](%s)", capacityChartFile)
		line("\n### Reservations\n")
		for i, d := range r.Doubts {
			line("- [%d] %s", i+1, md(Doubt(d)))
		}
		if r.Note != "" {
			line("- note: %s", md(r.Note))
		}
		line("\nRecord `%s`; render again with `%s`.", code(r.Dir), code(again(r)))
	})
}

// capacityCSV is CSV for a search for capacity: one row for each window, with the
// answer of its arm.
func capacityCSV(w io.Writer, r *record.Result) error {
	return emit(w, "csv", func(b *bytes.Buffer) {
		out := csv.NewWriter(b)
		head := []string{"run", "scenario", "arm", "mode", "outcome", "low", "high", "trial", "purpose", "rate", "sent", "goodput", "error_ratio"}
		var metrics []string
		for _, t := range r.Capacity.Terms {
			if t.Metric != "goodput" && t.Metric != "errors" {
				metrics = append(metrics, t.Metric)
			}
		}
		_ = out.Write(slices.Concat(head, metrics, []string{"kept", "refused"})) // into memory: no error
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
				_ = out.Write(append(row, strconv.FormatBool(x.Kept), x.Refused))
			}
		}
		out.Flush()
	})
}
