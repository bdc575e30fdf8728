package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"schedlab/internal/record"
	"schedlab/internal/report/document"
	"schedlab/internal/stats"
)

// gateBriefly builds the answer of a gate for a terminal: a sentence, a table, how sure it is,
// and the first doubt.
//
// A gate answers one question, whether a new build is worse than the old one. The old build is
// the first arm and the new one the last. gatePage builds the parts that the terminal and the
// pull request share, and its second part is the list of facts, to which both add.
func gateBriefly(r *record.Result) document.Document {
	d := gatePage(r)
	d.Parts[1] = append(d.Parts[1].(document.Facts), rest(r, 1)...)
	return d
}

// gateComment writes the answer of a gate as a comment on a pull request: the sentence and the
// table, and folded away the evidence, the doubts and the commands.
func gateComment(w io.Writer, r *record.Result) error {
	d := gatePage(r)
	evidence := d.Parts[1].(document.Facts)
	for _, text := range doubts(r) {
		evidence = append(evidence, document.Fact{Label: "Doubt", Text: text})
	}
	evidence = append(evidence, document.Fact{Label: "Machine", Text: machine(r.Env, r.Arms)}, document.Fact{Label: "Command", Text: r.Note})
	d.Parts = []document.Part{d.Parts[0], document.Details{Summary: "How it was measured", Parts: []document.Part{document.Lines(d.Context), evidence}}}
	d.Context = nil
	return writeMarkdown(w, d)
}

// gatePage returns the answer and exactly two parts: the table, and the evidence as
// document.Facts. Its callers rely on this order.
func gatePage(r *record.Result) document.Document {
	sure := document.Facts{{Label: "Sure", Text: blocks(r) + "; of a hundred gates of equal builds one at most says worse"}}
	for _, line := range failings(r.Arms) {
		sure = append(sure, document.Fact{Label: "Sure", Text: line})
	}
	needed := 0
	for _, g := range r.Gate {
		if g.Answer == record.GateOpen {
			needed = max(needed, g.Needed)
		}
	}
	// An open gate needs to know how many blocks would close it. A gate with another answer
	// does not.
	switch {
	case r.GateOutcome() != record.GateOpen || needed == 0:
	case needed > mostBlocks:
		sure = append(sure, document.Fact{Label: "Open", Text: longer(r, needed)})
	default:
		sure = append(sure, document.Fact{Label: "Open", Text: fmt.Sprintf("about %s would decide; raise --budget", plural(needed, "block"))})
	}
	if r.GateOutcome() == record.GateOpen {
		sure = append(sure, document.Fact{Label: "Open", Text: remedies(r)})
	}
	return document.Document{
		Name: "gate", State: state(r), Answer: gateAnswer(r), Context: []string{askedBriefly(r)},
		Parts: []document.Part{document.Section{Parts: []document.Part{gateTable(r), document.Lines{gateRule}}}, sure},
	}
}

// gateRule explains the answers below the table.
const gateRule = "worse: surely above no change, and in the median by more than half of what is allowed; fine: surely within what is allowed"

// remedies returns what may close an open gate, apart from more blocks: it asks for less, or loads less.
func remedies(r *record.Result) string {
	var told []string
	for _, g := range r.Gate {
		if g.Answer == record.GateFine {
			told = append(told, cmp.Or(stats.MetricOf(g.Metric).Word, g.Metric))
		}
	}
	text := "a lower --rate has less noise of queueing, and --allow can allow more"
	if len(told) > 0 {
		text += "; --metric " + strings.Join(told, ",") + " leaves out what this machine cannot tell"
	}
	return text
}

// gateAnswer returns the answer of a gate in one or two sentences, with the metrics that
// decided it.
func gateAnswer(r *record.Result) string {
	// said holds the metrics by their answers, in the order of the gate.
	said := map[record.GateAnswer][]string{}
	for _, g := range r.Gate {
		text := stats.MetricOf(g.Metric).Label
		// A metric that is fine needs no figure in the sentence; the table has it.
		if g.Low > 0 && g.Answer != record.GateFine {
			text += fmt.Sprintf(" %s (%s)", change(g.Ratio), allowed(g))
		}
		if g.Answer == record.GateRefused {
			text += " (" + g.Reason.String() + ")"
		}
		said[g.Answer] = append(said[g.Answer], text)
	}
	before, after := r.Arms[0].Name, r.Arms[len(r.Arms)-1].Name
	listed := func(a record.GateAnswer) string { return strings.Join(said[a], ", ") }
	open := ""
	if n := len(said[record.GateOpen]); n > 0 {
		open += " Open: " + listed(record.GateOpen) + "."
	}
	if n := len(said[record.GateRefused]); n > 0 {
		open += " Refused: " + listed(record.GateRefused) + "."
	}
	switch r.GateOutcome() {
	case record.GateWorse:
		return fmt.Sprintf("%s is worse than %s: %s.", after, before, listed(record.GateWorse))
	case record.GateFine:
		text := fmt.Sprintf("%s is not worse than %s: %s within what is allowed.", after, before, listed(record.GateFine))
		return text + strings.ReplaceAll(open, " Open: ", " Open, and only watched: ")
	}
	return fmt.Sprintf("Cannot tell whether %s is worse than %s.%s", after, before, open)
}

// allowed returns how much worse a metric may be: "+10 % allowed", or "-3 % allowed" for goodput.
func allowed(g record.Gated) string {
	if stats.MetricOf(g.Metric).HigherIsBetter {
		return change(1/(1+g.Allow)) + " allowed"
	}
	return change(1+g.Allow) + " allowed"
}

// gateTable returns a row for each metric of the gate: both figures, the change with its
// interval, the change that is allowed, and the answer. Cells without a figure are empty.
func gateTable(r *record.Result) document.Table {
	before, after := r.Arms[0], r.Arms[len(r.Arms)-1]
	rows := [][]string{{"", before.Name, after.Name, "change", "surely between", "allowed", "answer"}}
	for _, g := range r.Gate {
		m := stats.MetricOf(g.Metric)
		row := []string{m.Label, gateFigure(m, before), gateFigure(m, after), "", "", strings.TrimSuffix(allowed(g), " allowed"), string(g.Answer)}
		if g.Ratio > 0 {
			row[3] = change(g.Ratio)
		}
		if g.Low > 0 {
			row[4] = bound(g.Low, false) + " to " + bound(g.High, false)
		}
		rows = append(rows, row)
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
