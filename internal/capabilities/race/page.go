package race

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"schedlab/internal/measuring/report/chart"
	"schedlab/internal/measuring/report/document"
	"schedlab/internal/measuring/report/say"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// This file is the page of a race: the parts that package report frames. See [report.Content].

// Called names the kind of the run in a sentence.
func (r *Race) Called() string { return "a race" }

// Measured tells how many blocks ended.
func (r *Race) Measured() (plan, had string) {
	return "the race", say.Plural(r.Blocks, "block") + " measured"
}

// Conditions are the windows, the budget and what arms are ranked by.
func (r *Race) Conditions() []string {
	return []string{say.Seconds(r.Window.Seconds()) + " windows", "up to " + say.Seconds(r.Budget.Seconds()), "ranked by " + strings.Join(r.names(), " and ")}
}

// names returns the labels of the metrics.
func (r *Race) names() (names []string) {
	for _, f := range r.Metrics {
		names = append(names, f.Row().Label)
	}
	return names
}

// Found returns the answer, and which arms are out since which block.
func (r *Race) Found() string {
	return strings.Join(append([]string{r.Fact.String()}, r.outs()...), ". ") + "."
}

// InShort is the answer, and a chip for each arm, the best first. The table has what the chips tell.
func (r *Race) InShort() (answer string, chips []document.Chip) {
	lines := chart.SeriesOf(r.Contestants())
	for _, i := range r.inOrder() {
		a := r.Arms[i]
		chip := document.Chip{Line: lines[i].Class, Name: a.Name, Told: true}
		chip.Mark, chip.Class = r.mark(a)
		if a.Out != nil {
			chip.Text = a.Out.Short()
		}
		chips = append(chips, chip)
	}
	return r.Fact.String() + ".", chips
}

// mark returns the word for how an arm ended, and its CSS class.
func (r *Race) mark(a Arm) (word, class string) {
	switch {
	case a.Out != nil && a.Out.Verdict != nil && a.Out.Verdict.Verdict.Rank == stats.Lower: // by goodput, whatever its times are
		return string(stats.Lower), string(stats.Slower)
	case a.Out != nil && a.Out.Verdict != nil:
		return string(stats.Slower), string(stats.Slower)
	case a.Out != nil:
		return "out", "refused"
	case r.Outcome == outcome.Refused:
		return "not known", "refused"
	case r.Outcome == outcome.Open:
		return "open", "open"
	case tradeLeft.Code.Is(r.Fact):
		return "trade", "open"
	}
	return "BEST", string(stats.Faster)
}

// Longer is twice the budget, if that may tell the best apart.
func (r *Race) Longer() float64 {
	of, _ := fact.In(openLeft, r.Fact)
	return of.Twice
}

// outs tells which arms went out after which block, and by how much.
func (r *Race) outs() (sentences []string) {
	after := map[int][]string{}
	for _, a := range r.Arms {
		if a.Out != nil {
			after[a.Out.After] = append(after[a.Out.After], fmt.Sprintf("%s (%s)", a.Name, a.Out.Short()))
		}
	}
	for _, block := range slices.Sorted(maps.Keys(after)) {
		sentences = append(sentences, fmt.Sprintf("Out after %s: %s", say.Plural(block, "block"), strings.Join(after[block], ", ")))
	}
	return sentences
}

// Short tells in a few words why an arm is out, as "p99 +31 %".
func (o Out) Short() string {
	switch {
	case o.Verdict != nil:
		return o.Verdict.Metric.Row().Label + " " + say.Change(o.Verdict.Ratio)
	case !o.Fault.None():
		return "by its own fault"
	}
	return "it ended"
}

// inOrder returns the indices of the arms as the table shows them: the best first, then those that are out, the last first.
func (r *Race) inOrder() []int {
	at := func(a Arm) int {
		if i := slices.Index(r.Best, a.Name); i >= 0 {
			return i - len(r.Best)
		}
		return 0
	}
	order := make([]int, len(r.Arms))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, k int) int {
		a, b := r.Arms[i], r.Arms[k]
		if c := cmp.Compare(at(a), at(b)); c != 0 || a.Out == nil || b.Out == nil {
			return c
		}
		return cmp.Compare(b.Out.After, a.Out.After)
	})
	return order
}

// table returns the arms' figures, with the head first: medians, and against the first of the best the ratio where that is sure.
func (r *Race) table() [][]string {
	head := []string{"arm"}
	for _, f := range r.Metrics {
		head = append(head, f.Row().Label, "")
	}
	rows := [][]string{append(head, "goodput", "CPU/request", "blocks", "place")}
	for _, i := range r.inOrder() {
		a := r.Arms[i]
		row := []string{a.Name}
		for _, f := range r.Metrics {
			row = append(row, known(a.Medians[f], say.Seconds), sign(a.against(f)))
		}
		row = append(row, known(a.Medians[stats.Goodput], say.Rate), known(a.Medians[stats.CPUPerRequest], say.Seconds), say.Count(a.Blocks), r.place(a))
		rows = append(rows, row)
	}
	return rows
}

// known formats a figure; a dash if it is not known.
func known(v stats.Opt, format func(float64) string) string { return say.OrNone(v.Pointer(), format) }

// against returns the arm's verdict on a metric against the first of the best; nil without one.
func (a Arm) against(f stats.Figure) *record.Verdict {
	for i, v := range a.Against {
		if v.Metric == f {
			return &a.Against[i]
		}
	}
	return nil
}

// sign is the difference of a verdict, if it is sure: "=" if there is none, "~" if it is open.
func sign(v *record.Verdict) string {
	switch {
	case v == nil || v.Verdict.Outcome == outcome.Refused:
		return ""
	case v.Verdict.Rank == stats.Same:
		return "="
	case v.Verdict.Rank.Differs():
		return say.Change(v.Ratio)
	}
	return "~"
}

// place tells whether an arm is best or may be, that nothing is known of it, or after which block it went out.
func (r *Race) place(a Arm) string {
	switch {
	case a.Out != nil:
		return fmt.Sprintf("out after %s: %s", say.Count(a.Out.After), a.Out.Short())
	case r.Outcome == outcome.Refused:
		return "not known"
	case r.Outcome == outcome.Open:
		return "may be the best"
	case len(r.Best) == 1:
		return "best"
	}
	return "among the best"
}

// Screen is the table, and which arms did not race. Why each arm is out is in the whole report.
func (r *Race) Screen() (figures document.Table, means []string) {
	means = r.legend()
	if left := r.leftOut(); len(left) > 0 {
		means = append(means, "not in the race, since they do not fit the load: "+list(left))
	}
	return document.Table{Rows: r.table()}, means
}

// leftOut returns the names of the arms that did not race.
func (r *Race) leftOut() (names []string) {
	for _, f := range r.LeftOut {
		names = append(names, f.Arm)
	}
	return names
}

// legend explains the marks and the order of the table.
func (r *Race) legend() []string {
	if len(r.Best) == 0 {
		return nil
	}
	lines := []string{"beside a figure: the difference from " + r.Best[0] + ", if it is sure; = the same, ~ open"}
	if r.Outcome == outcome.Open {
		lines = append(lines, "arms that may be the best are in the order of their median times, which by itself tells no better one")
	}
	return lines
}

// lines tell why each arm is out, and which arms did not race.
func (r *Race) lines() (lines []string) {
	for _, i := range r.inOrder() {
		if a := r.Arms[i]; a.Out != nil {
			lines = append(lines, a.Name+": "+a.Out.Why.String())
		}
	}
	for _, f := range r.LeftOut {
		lines = append(lines, f.Arm+": "+f.String())
	}
	return lines
}

// Sections are the table with its explanation.
func (r *Race) Sections(marks []document.Mark) []document.Part {
	var own []document.Mark
	for _, i := range r.inOrder() {
		if i < len(marks) {
			own = append(own, marks[i])
		}
	}
	return []document.Part{document.Section{
		ID: "race", Title: "Race", Parts: []document.Part{document.Table{Rows: r.table(), Marks: own}, document.Lines(append(r.legend(), r.lines()...))},
		Lead: "An arm is out as soon as another arm that still races is surely better. It takes no more windows, so figures of arms with fewer blocks are of an earlier time.",
	}}
}

// Rows returns one row for each arm: medians in seconds and per second, and its ratio to the first of the best.
func (r *Race) Rows() [][]string {
	head := []string{"run", "scenario", "arm", "mode", "blocks", "out_after", "out_by", "goodput", "cpu_per_request"}
	for _, f := range r.Metrics {
		head = append(head, f.String(), f.String()+"_ratio", f.String()+"_low", f.String()+"_high")
	}
	rows := [][]string{head}
	for _, a := range r.Arms {
		after, by := "", ""
		if a.Out != nil {
			after, by = strconv.Itoa(a.Out.After), a.Out.By
		}
		row := []string{r.Run, r.Scenario, a.Name, a.Mode, strconv.Itoa(a.Blocks), after, by, exact(a.Medians[stats.Goodput]), exact(a.Medians[stats.CPUPerRequest])}
		for _, f := range r.Metrics {
			v := a.against(f)
			if v == nil {
				v = &record.Verdict{}
			}
			row = append(row, exact(a.Medians[f]), positive(v.Ratio), positive(v.Low), positive(v.High))
		}
		rows = append(rows, row)
	}
	return rows
}

// exact formats a figure with all its digits; "" if it is not known.
func exact(v stats.Opt) string {
	if x, ok := v.Get(); ok {
		return say.Exact(x)
	}
	return ""
}

// positive formats a ratio; "" for 0, which means that there is none.
func positive(v float64) string {
	if v > 0 {
		return say.Exact(v)
	}
	return ""
}

// Beside returns the file of the figures, which lies next to the report, and the function that writes it.
func (r *Race) Beside() (file string, write func(io.Writer) error) {
	return "race.csv", func(w io.Writer) error { return csv.NewWriter(w).WriteAll(r.Rows()) }
}

// Copy returns a copy of the race that shares its lists.
func (r *Race) Copy() record.Result { return new(*r) }
