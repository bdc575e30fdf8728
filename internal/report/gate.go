package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"schedlab/internal/record"
	"schedlab/internal/report/document"
	"schedlab/internal/stats"
)

// gateBriefly builds the answer of a gate for a terminal: a sentence, a table, how sure it is,
// and the first doubt.
//
// A gate answers one question, whether a new build is worse than the old one. The old build is
// the first arm and the new one the last.
func gateBriefly(r *record.Result) document.Document {
	return document.Document{
		Name: "gate", State: state(r), Answer: gateAnswer(r), Context: []string{askedBriefly(r)},
		Parts: []document.Part{gateFigures(r), append(gateEvidence(r), rest(r, 1)...)},
	}
}

// gateComment writes the answer of a gate as a comment on a pull request: the sentence and the
// table, and folded away the evidence, the doubts and the commands.
func gateComment(w io.Writer, r *record.Result) error {
	evidence := slices.Concat(gateEvidence(r), labelled("Doubt", doubts(r)...),
		document.Facts{{Label: "Machine", Text: machine(r.Env, r.Arms)}, {Label: "Command", Text: r.Note}})
	return writeMarkdown(w, document.Document{Name: "gate", State: state(r), Answer: gateAnswer(r), Parts: []document.Part{
		gateFigures(r), document.Details{Summary: "How it was measured", Parts: []document.Part{document.Lines{askedBriefly(r)}, evidence}},
	}})
}

// gateEvidence tells how sure the answer of a gate is, and what may close an open one.
func gateEvidence(r *record.Result) document.Facts {
	sure := labelled("Sure", append([]string{blocks(r) + "; of a hundred gates of equal builds one at most says worse"}, failings(r.Arms)...)...)
	if r.GateOutcome() != record.GateOpen {
		return sure
	}
	needed := 0
	for _, g := range r.Gate {
		if g.Answer == record.GateOpen {
			needed = max(needed, g.Needed)
		}
	}
	more := remedy(r, needed) + when(needed > 0 && needed <= mostBlocks, "; raise --budget")
	return append(sure, labelled("Open", more, remedies(r))...)
}

// gateFigures returns the table of a gate with the rule for its answers.
func gateFigures(r *record.Result) document.Part {
	const rule = "worse: surely above no change, and in the median by more than half of what is allowed; fine: surely within what is allowed"
	return document.Section{Parts: []document.Part{gateTable(r), document.Lines{rule}}}
}

// remedies returns what may close an open gate, apart from more blocks: it asks for less, or loads less.
func remedies(r *record.Result) string {
	text := "a lower --rate has less noise of queueing, and --allow can allow more"
	fine := only(r.Gate, func(g record.Gated) bool { return g.Answer == record.GateFine })
	if len(fine) > 0 {
		words := each(fine, func(g record.Gated) string { return cmp.Or(stats.MetricOf(g.Metric).Word, g.Metric) })
		text += "; --metric " + strings.Join(words, ",") + " leaves out what this machine cannot tell"
	}
	return text
}

// gateAnswer returns the answer of a gate in one or two sentences, with the metrics that
// decided it.
func gateAnswer(r *record.Result) string {
	// said holds the metrics by their answers, in the order of the gate.
	said := map[record.GateAnswer]string{}
	for _, g := range r.Gate {
		// A metric that is fine needs no figure in the sentence; the table has it.
		text := stats.MetricOf(g.Metric).Label + when(g.Low > 0 && g.Answer != record.GateFine, " %s (%s)", change(g.Ratio), allowed(g)) +
			when(g.Answer == record.GateRefused, " (%s)", g.Reason.String())
		said[g.Answer] = strings.TrimPrefix(said[g.Answer]+", "+text, ", ")
	}
	before, after := r.Arms[0].Name, r.Arms[len(r.Arms)-1].Name
	open := when(said[record.GateOpen] != "", " Open: %s.", said[record.GateOpen]) +
		when(said[record.GateRefused] != "", " Refused: %s.", said[record.GateRefused])
	switch r.GateOutcome() {
	case record.GateWorse:
		return fmt.Sprintf("%s is worse than %s: %s.", after, before, said[record.GateWorse])
	case record.GateFine:
		text := fmt.Sprintf("%s is not worse than %s: %s within what is allowed.", after, before, said[record.GateFine])
		return text + strings.ReplaceAll(open, " Open: ", " Open, and only watched: ")
	}
	return fmt.Sprintf("Cannot tell whether %s is worse than %s.%s", after, before, open)
}

// allowed returns how much worse a metric may be: "+10 % allowed", or "-3 % allowed" for goodput.
func allowed(g record.Gated) string {
	return change(either(stats.MetricOf(g.Metric).HigherIsBetter, 1/(1+g.Allow), 1+g.Allow)) + " allowed"
}

// gateTable returns a row for each metric of the gate: both figures, the change with its
// interval, the change that is allowed, and the answer. Cells without a figure are empty.
func gateTable(r *record.Result) document.Table {
	before, after := r.Arms[0], r.Arms[len(r.Arms)-1]
	rows := [][]string{{"", before.Name, after.Name, "change", "surely between", "allowed", "answer"}}
	for _, g := range r.Gate {
		m := stats.MetricOf(g.Metric)
		rows = append(rows, []string{
			m.Label, gateFigure(m, before), gateFigure(m, after), when(g.Ratio > 0, "%s", change(g.Ratio)),
			when(g.Low > 0, "%s to %s", bound(g.Low, false), bound(g.High, false)), strings.TrimSuffix(allowed(g), " allowed"), string(g.Answer),
		})
	}
	return document.Table{Rows: rows}
}

// gateFigure returns an arm's median of a metric as text; "" if there is none. Memory is no
// metric of blocks, so it comes from the arm's footprint.
func gateFigure(m stats.Metric, a record.Arm) string {
	if m.Name == "memory" {
		if a.Footprint == nil {
			return ""
		}
		return bytesText(a.Footprint.Memory)
	}
	return cells(m, []record.Arm{a})[0]
}
