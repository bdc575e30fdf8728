package main

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"schedlab/docs/experiments"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/prose"
	"schedlab/internal/shared/stats"
)

// A page is a page of docs/experiments with its tables written anew, and its chart, an SVG.
type page struct{ Text, Chart string }

// figuresPart is a part of a page that is written from the file: the figures of one scenario, group 2. Group 3 are the
// columns of its table and its arms, if the page chooses them.
var figuresPart = regexp.MustCompile(`(?s)(<!-- figures ([a-z0-9-]+)([^\n]*) -->\n).*?(<!-- end -->)`)

// newPage returns the page of this text with its figures from the rows, and its chart as specified. again are the rows of the runs with
// a second seed. It names a machine where it is another than that of the scenario before it on the page.
func newPage(text, chart string, rows, again []experiments.Row) (p page, err error) {
	machine := ""
	p.Text = figuresPart.ReplaceAllStringFunc(text, func(part string) string {
		m := figuresPart.FindStringSubmatch(part)
		own := of(rows, m[2])
		if len(own) == 0 {
			err = cmp.Or(err, fmt.Errorf("the file has no answers of %s", m[2]))
		}
		shown, wrong := shownOf(own, strings.Fields(m[3]))
		if wrong != nil {
			err = cmp.Or(err, fmt.Errorf("the figures of %s: %w", m[2], wrong))
		}
		was := machine
		machine = machineOf(own)
		return m[1] + figures(own, of(again, m[2]), shown, machine != was) + m[4]
	})
	if err == nil {
		p.Chart, err = chartOf(text, chart, rows)
	}
	return p, err
}

// textsOf returns the texts of the rows of this kind, for Markdown.
func textsOf(rows []experiments.Row, kind string) (texts []string) {
	for _, r := range rows {
		if r.Metric == kind {
			texts = append(texts, escaped(r.Text))
		}
	}
	return texts
}

// textOf returns the text of the first row of this kind, for Markdown.
func textOf(rows []experiments.Row, kind string) string {
	return append(textsOf(rows, kind), "not recorded")[0]
}

// figures returns the figures of one scenario in Markdown: when and how it was measured, on which machine if that is
// asked for, how far a second run agrees, its claims, its table, and the notes on doubts.
func figures(rows, again []experiments.Row, shown shown, machine bool) string {
	var b strings.Builder
	if len(rows) > 0 {
		fmt.Fprintf(&b, "%s, commit `%s`, %d blocks: %s", rows[0].Day, rows[0].Commit, rows[0].Blocks, loadOf(rows))
		if machine {
			b.WriteString("; " + machineOf(rows))
		}
		b.WriteString("." + agreement(rows, again) + "\n\n")
	}
	if slices.ContainsFunc(rows, func(r experiments.Row) bool { return r.Metric == "outdated" }) {
		fmt.Fprintf(&b, "The scenario has changed since: %s.\n\n", textOf(rows, "outdated"))
	}
	b.WriteString(claims(rows, again, shown))
	b.WriteString(table(rows, shown))
	for _, note := range textsOf(rows, "note") {
		fmt.Fprintf(&b, "\nDoubt: %s.\n", note)
	}
	return b.String()
}

// agreement tells how many verdicts and claims that a second run decided as well it decided alike; "" without a second run.
func agreement(rows, again []experiments.Row) string {
	if len(again) == 0 {
		return ""
	}
	alike := map[bool][2]int{} // of claims and of verdicts: how many agree, and how many both decided
	for _, r := range rows {
		claim := r.Metric == "claim"
		if second, ok := secondOf(r, again); ok && (claim || r.Baseline != "") && decided(r.Verdict) && decided(second.Verdict) {
			n := alike[claim]
			n[1]++
			if r.Verdict == second.Verdict {
				n[0]++
			}
			alike[claim] = n
		}
	}
	var parts []string
	if n := alike[false]; n[1] > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s", n[0], prose.Plural(n[1], "verdict")))
	}
	if n := alike[true]; n[1] > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s", n[0], prose.Plural(n[1], "claim")))
	}
	said := fmt.Sprintf(" With a second seed (%s, %d blocks) ", again[0].Day, again[0].Blocks)
	if parts == nil {
		return said + "nothing is decided in both."
	}
	return said + strings.Join(parts, " and ") + " that both decided are the same."
}

// decided reports whether a verdict or a claim's answer is one.
func decided(verdict string) bool {
	return verdict != "" && verdict != string(outcome.Open) && verdict != string(outcome.Refused)
}

// secondOf returns the row of a second run that answers the same: of the same metric and arms, or of the same claim.
func secondOf(r experiments.Row, again []experiments.Row) (second experiments.Row, ok bool) {
	at := slices.IndexFunc(again, func(s experiments.Row) bool {
		return s.Metric == r.Metric && s.Arm == r.Arm && s.Baseline == r.Baseline && s.Asks == r.Asks
	})
	if at < 0 {
		return second, false
	}
	return again[at], true
}

// usual is what README.md says of all machines, by the kind of row. A page leaves it out.
var usual = map[string]string{"server_cpus": "0", "load_cpus": "1", "go": "go1.26.8"}

// machineOf returns the machine of a scenario, with the CPUs of both sides and the version of Go only where they are not the usual.
func machineOf(rows []experiments.Row) string {
	var parts []string
	for _, of := range []struct{ kind, words string }{{"server_cpus", "server on CPU "}, {"load_cpus", "load on CPU "}, {"cpu", ""}, {"go", ""}} {
		if text := textOf(rows, of.kind); text != usual[of.kind] {
			parts = append(parts, of.words+text)
		}
	}
	return strings.Join(parts, "; ")
}

// loadOf returns the load of a scenario, and how many blocks its verdicts leave out. Of three loads or more it
// has the first, since then the arms' names tell the others.
func loadOf(rows []experiments.Row) string {
	loads := textsOf(rows, "load")
	load := strings.Join(loads, "; ")
	switch asked := textsOf(rows, "asked"); {
	case len(loads) > 2:
		load = loads[0] + " and others, as the arms are named"
	case asked != nil:
		load += " (" + asked[0] + ")"
	}
	if out, ok := cellOf(rows, "", "left_out"); ok {
		load += fmt.Sprintf(", %.0f left out", out.Figure)
	}
	return load
}

// claims returns the claims of a scenario: those that every block kept, then those that some did not. Left to the file
// are claims that were kept and have no sentence, or ask only for figures that the table shows. Where a second run has another answer
// to one, that stands beside it.
func claims(rows, again []experiments.Row, shown shown) string {
	var all, some []string
	for _, r := range rows {
		if r.Metric != "claim" {
			continue
		}
		second := ""
		if s, ok := secondOf(r, again); ok && s.Verdict != r.Verdict {
			second = fmt.Sprintf("; second seed: **%s**, %s", outcome.Expectation.Phrase(outcome.Outcome(s.Verdict)), escaped(votes(s)))
		}
		switch {
		case second != "":
			some = append(some, said(r, second))
		case r.Verdict == string(outcome.Yes) && (r.Text == "" || shown.has(r.Asks)):
		case r.Verdict == string(outcome.Yes) && r.Low+r.High == 0 && int(r.Figure) == r.Blocks:
			all = append(all, "- "+escaped(r.Text)+"\n")
		default:
			some = append(some, said(r, ""))
		}
	}
	var b strings.Builder
	if len(all) > 0 {
		b.WriteString("Kept in every block:\n\n" + strings.Join(all, "") + "\n")
	}
	if len(some) > 0 {
		b.WriteString(strings.Join(some, "") + "\n")
	}
	return b.String()
}

// said returns the line of a claim, with what a second run adds to its votes.
func said(r experiments.Row, second string) string {
	claim := "`" + r.Asks + "`"
	if r.Text != "" {
		claim = escaped(r.Text)
	}
	return fmt.Sprintf("- **%s** %s (%s%s)\n", outcome.Expectation.Phrase(outcome.Outcome(r.Verdict)), claim, escaped(votes(r)), second)
}

// votes tells in how many blocks a claim was true, or was not of a band; or why there are no votes.
func votes(r experiments.Row) string {
	switch {
	case r.Low+r.High > 0:
		return fmt.Sprintf("%.0f of %d blocks outside", r.Low+r.High, r.Blocks)
	case r.Figure > 0:
		return fmt.Sprintf("%.0f of %d blocks", r.Figure, r.Blocks)
	}
	return r.Reason
}

// escaped returns a text that Markdown shows as it is.
func escaped(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "<", "&lt;", ">", "&gt;", "|", `\|`).Replace(text)
}

// A column is a figure of the tables, which charts call by its head.
type column struct{ head, metric string }

var columns = []column{
	{"p50", "p50"}, {"p90", "p90"}, {"p99", "p99"}, {"goodput", "goodput"}, {"CPU/request", "cpu_per_request"},
	{"memory", "memory"}, {"loops' CPU", "loop_share"},
}

// shown is what a table shows of a scenario.
type shown struct {
	columns []column
	arms    []string
}

// shownOf returns what a page's part asks for: columns, separated by commas, and arms. Without columns the table has p50 and
// those in which an arm differs, but no memory; without arms it has all.
func shownOf(rows []experiments.Row, asked []string) (shown, error) {
	s := shown{arms: armsOf(rows)}
	if len(asked) == 0 {
		s.columns = slices.DeleteFunc(slices.Clone(columns), func(c column) bool {
			return c.metric == "memory" || c.metric != "p50" && !slices.ContainsFunc(rows, func(r experiments.Row) bool { return r.Metric == c.metric && differs(r) })
		})
		return s, nil
	}
	for head := range strings.SplitSeq(asked[0], ",") {
		at := slices.IndexFunc(columns, func(c column) bool { return c.head == strings.ReplaceAll(head, "_", " ") })
		if at < 0 {
			return s, fmt.Errorf("no table has a column %s", head)
		}
		s.columns = append(s.columns, columns[at])
	}
	if len(asked) > 1 {
		s.arms = asked[1:]
	}
	for _, arm := range s.arms {
		if !slices.Contains(armsOf(rows), arm) {
			return s, fmt.Errorf("no arm %s", arm)
		}
	}
	return s, nil
}

// figureAsked finds a figure in a claim's expression: its function, and its arm.
var figureAsked = regexp.MustCompile(`([a-z_0-9]+)\("([^"]+)"`)

// columnAsked are the metrics of the columns that have another name in a claim's expression.
var columnAsked = map[string]string{"throughput": "goodput", "cpu": "cpu_per_request", "loops": "loop_share"}

// has reports whether the table shows every figure that a claim's expression asks for.
func (s shown) has(asks string) bool {
	figures := figureAsked.FindAllStringSubmatch(asks, -1)
	return len(figures) > 0 && !slices.ContainsFunc(figures, func(m []string) bool {
		metric := cmp.Or(columnAsked[m[1]], m[1])
		return !slices.Contains(s.arms, m[2]) || !slices.ContainsFunc(s.columns, func(c column) bool { return c.metric == metric })
	})
}

// table returns a table of a scenario: a row for each arm, in each cell the figure and the change against
// the arm's baseline. The first arm is the baseline of those that name no other.
func table(rows []experiments.Row, of shown) string {
	arms := armsOf(rows)
	var b strings.Builder
	b.WriteString("| arm |")
	for _, c := range of.columns {
		b.WriteString(" " + c.head + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---:|", len(of.columns)) + "\n")
	for _, arm := range of.arms {
		name := arm
		if base := baselineOf(rows, arm); base != "" && base != arms[0] {
			name += " (against " + base + ")"
		}
		b.WriteString("| " + escaped(name) + " |")
		for _, c := range of.columns {
			cell := "-"
			if r, ok := cellOf(rows, arm, c.metric); ok && r.Figure != 0 {
				cell = figure(c.metric, r.Figure)
				if shown := change(r); shown != "" && c.metric != "memory" {
					cell += " " + shown
				}
			}
			b.WriteString(" " + cell + " |")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// armsOf returns the arms of a scenario's rows, in their order.
func armsOf(rows []experiments.Row) (arms []string) {
	for _, r := range rows {
		if r.Arm != "" && !slices.Contains(arms, r.Arm) {
			arms = append(arms, r.Arm)
		}
	}
	return arms
}

// baselineOf returns the arm that an arm's figures are compared with; "" for the first arm.
func baselineOf(rows []experiments.Row, arm string) string {
	r, _ := cellOf(rows, arm, "goodput") // every arm but the first has a verdict on it, if only a refusal
	return r.Baseline
}

// cellOf returns the row with an arm's figure. Rows without one, verdicts on other pairs of arms, come later.
func cellOf(rows []experiments.Row, arm, metric string) (experiments.Row, bool) {
	at := slices.IndexFunc(rows, func(r experiments.Row) bool { return r.Arm == arm && r.Metric == metric })
	if at < 0 {
		return experiments.Row{}, false
	}
	return rows[at], true
}

// differs reports whether a row's verdict is a difference.
func differs(r experiments.Row) bool { return stats.Rank(r.Verdict).Differs() }

// change returns a verdict as it stands after its figure: the change with its interval, = for the same, or ~ for open. The
// file has the intervals of all. It is "" without an interval.
func change(r experiments.Row) string {
	switch {
	case r.Low == 0:
		return ""
	case r.Verdict == string(stats.Same):
		return "="
	case !differs(r):
		return "~"
	}
	low, high := bound(r.Low, true), bound(r.High, true)
	if strings.HasSuffix(high, " %") {
		low = strings.TrimSuffix(low, " %") // the unit stands once
	}
	return fmt.Sprintf("%s (%s to %s)", stats.Change(r.Ratio), low, high)
}

// bound formats an end of an interval. Where the interval excludes no difference, an end that reads ±0 % would
// deny that, so it gets more digits.
func bound(ratio float64, decided bool) string {
	text := stats.Change(ratio)
	for digits := 2; decided && strings.HasPrefix(text, "±") && digits <= 6; digits++ {
		text = stats.Percent(ratio, digits)
	}
	return text
}

// figure formats a figure of a metric with its unit.
func figure(metric string, v float64) string {
	switch metric {
	case "goodput":
		return prose.Grouped(digits(v, 1)) + "/s"
	case "memory":
		return strconv.FormatFloat(v/(1<<20), 'f', stats.Count(v < 100<<20), 64) + " MiB"
	case "loop_share":
		return digits(100*v, 1) + " %"
	}
	for _, unit := range []struct {
		name   string
		factor float64
	}{{"s", 1}, {"ms", 1e-3}, {"µs", 1e-6}} {
		if v >= unit.factor*(1-1e-9) || unit.name == "µs" {
			three, _ := strconv.ParseFloat(strconv.FormatFloat(v/unit.factor, 'g', 3, 64), 64)
			return digits(three, 3) + " " + unit.name
		}
	}
	return ""
}

// digits formats a number with all of its digits, six at most and at least this many.
func digits(v float64, least int) string {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	text := strconv.FormatFloat(v, 'f', -1, 64)
	whole, decimals, _ := strings.Cut(text, ".")
	return strconv.FormatFloat(v, 'f', max(len(decimals), least-len(strings.TrimLeft(whole, "0")), 0), 64)
}
