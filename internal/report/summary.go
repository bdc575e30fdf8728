package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"schedlab/internal/record"
	"schedlab/internal/report/document"
	"schedlab/internal/stats"
)

// Summary writes r as short Markdown, for a pull request or a page: the claims, the ranking, one table
// of figures with the changes that the verdicts decided, and the doubts that not every run has. A
// search for capacity is short already, and is written as [Markdown].
func Summary(w io.Writer, r *record.Result) error {
	if r.Capacity != nil {
		return Markdown(w, r)
	}
	d := document.Document{Question: r.Question, State: state(r), Context: []string{offered(r), machine(r.Env, r.Arms)}}
	notes := document.Lines{}
	if ranked := ranking(r); Headline(r) == ranked {
		d.Answer = ranked
	} else {
		notes = append(notes, "Ranking: "+ranked)
	}
	notes = append(notes, refusedBecause(r)...)
	for _, f := range r.Doubts {
		if !f.Code.General() {
			notes = append(notes, "Doubt: "+Doubt(f))
		}
	}
	d.Parts = []document.Part{answers(r), summaryTable(r), notes}
	return writeMarkdown(w, d)
}

// summaryTable returns the figures of every arm but the copy. After a figure stands the change from the
// arm's baseline with its interval, = for the same, or ~ for undecided.
func summaryTable(r *record.Result) document.Part {
	arms := choices(r.Arms)
	if len(arms) == 0 {
		return document.Table{}
	}
	named := func(a record.Arm) string { return a.Name + against(r, a.Name) }
	return document.Table{Rows: transposed(armColumns(arms, named, func(a record.Arm, m stats.Metric) (text string) {
		for _, v := range r.Verdicts {
			if v.Arm == a.Name && v.Metric == m.Name {
				text += found(v)
			}
		}
		return text
	}))}
}

// found returns a verdict as it stands after its figure; "" if it was refused.
func found(v record.Verdict) string {
	if v.Verdict == stats.Refused || v.Low == 0 {
		return ""
	}
	mark := change(v.Ratio)
	switch v.Verdict {
	case stats.Same:
		mark = markSame
	case stats.Inconclusive:
		mark = markOpen
	}
	return fmt.Sprintf("%s%s (%s)", nbsp, mark, between(v))
}

// against names an arm's baseline if that is not the first arm.
func against(r *record.Result, arm string) string {
	for _, v := range r.Verdicts {
		if v.Arm == arm && v.Baseline != r.Arms[0].Name {
			return " (against " + v.Baseline + ")"
		}
	}
	return ""
}

// refusedBecause returns a line for each reason against verdicts, with how many it refuses.
func refusedBecause(r *record.Result) (lines []string) {
	refused := slices.DeleteFunc(slices.Clone(r.Verdicts), func(v record.Verdict) bool { return v.Verdict != stats.Refused })
	for _, vs := range grouped(refused, func(v record.Verdict) string { return string(v.Reason.Code) }) {
		what := vs[0].Arm + " at " + stats.MetricOf(vs[0].Metric).Label
		if n := len(vs) - 1; n > 0 {
			what += " and " + plural(n, "verdict") + " more"
		}
		lines = append(lines, "Refused: "+what+": "+reason(vs[0]))
	}
	return lines
}

// answers returns the scenario's claims and then its other assertions, with their answers.
func answers(r *record.Result) document.Findings {
	class := map[record.Answer]string{record.Passed: "FASTER", record.Failed: "SLOWER", record.Undecided: "INCONCLUSIVE", record.NoAnswer: "REFUSED"} // classes of verdicts' badges
	claims, others := document.Findings{}, document.Findings{}
	for _, e := range r.Expectations {
		f := document.Finding{Mark: string(e.Outcome), Class: class[e.Outcome], Said: e.Claim, Text: e.Text, Reason: e.Reason.String()}
		if e.Claim == "" {
			others = append(others, f)
			continue
		}
		f.Mark = strings.ToLower(answerWord(e.Outcome))
		claims = append(claims, f)
	}
	return append(claims, others...)
}
