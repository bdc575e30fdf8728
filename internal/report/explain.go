package report

import (
	"cmp"
	"fmt"
	"html/template"
	"io"
	"math"
	"path"
	"slices"
	"strings"

	"schedlab/internal/command"
	"schedlab/internal/record"
	"schedlab/internal/report/document"
)

// ExplainFormats returns the formats of an explanation: text, json, markdown and html.
func ExplainFormats() FormatsOf[*record.Explanation] {
	return documentFormats(explanation, func(w io.Writer, x *record.Explanation) error { return record.WriteJSON(w, x) })
}

// Explain writes an explanation, the result of `schedlab explain`, for a terminal.
//
// An explanation divides the difference of two arms' mean times into the stretches of a request's way
// (waterfall), names suspected causes with the evidence for each (causes), and may hold profiles (profiled).
func Explain(w io.Writer, x *record.Explanation, o TextOptions) error {
	return writeText(w, explanation(x), o)
}

// explanation returns an explanation as a separate document. The full report of a run has the
// same parts, by divided.
func explanation(x *record.Explanation) document.Document {
	// A question why would take the difference for granted.
	question := either(x.Outcome == record.NoDifference || x.Outcome == record.NotKnown, "Do %s and %s differ?", "Why do %s and %s differ?")
	return document.Document{
		Name: x.Scenario, Question: fmt.Sprintf(question, x.From, x.To), Answer: cmp.Or(tooBusy(x.Busy), explained(x)),
		Context: append(belowTooBusy(x.Busy, explained(x)), fmt.Sprintf("%s of the run %s; a figure is the mean over them, its interval Student's with 95%s%%", plural(x.Blocks, "block"), command.Quote(x.Dir), nbsp)),
		Parts:   divided(x),
	}
}

// divided returns the causes, the waterfalls and the witnesses, then theory if no cause is
// confirmed, tests and profiles. The waterfall of the slowest requests is there if the tail surely
// differs, or if the mean does not.
func divided(x *record.Explanation) []document.Part {
	parts := []document.Part{causes(x), waterfall(x, x.Mean, "on average")}
	if x.Tail.Sure() || !x.Mean.Sure() {
		parts = append(parts, waterfall(x, x.Tail, "in the slowest 1"+nbsp+"% of requests"))
	}
	witnesses := [][]string{{"", x.From, x.To}}
	for _, w := range x.Witnesses {
		figure := func(v float64) string { return figureOf(v, w.Unit) }
		witnesses = append(witnesses, []string{w.Name, orNone(w.From, figure), orNone(w.To, figure)})
	}
	facts := labelled("Doubts", when(!x.Busy.None() && tooBusy(x.Busy) == "", "%s", x.Busy.String()))
	// A confirmed cause says where the whole difference is from, which theory divides in another way.
	if x.Ideal != nil && x.Outcome != record.Because {
		facts = append(facts, labelled("Theory", ideal(x))...)
	}
	if t := x.Tests; t != nil {
		facts = append(facts, labelled("Tested", fmt.Sprintf("in %s more, recorded in %s", plural(t.Blocks, "block"), command.Quote(t.Dir)))...)
	}
	return append(parts, document.Section{
		ID: "witnesses", Title: "What else is known", About: "medians over the blocks", Parts: []document.Part{document.Table{Rows: witnesses}},
	}, facts, profiled(x))
}

// explained returns the answer in one or two sentences, with a full stop. "because" stands only before
// a cause that was tested or measured directly.
func explained(x *record.Explanation) string {
	switch x.Outcome {
	case record.NoDifference:
		return fmt.Sprintf("No cause is sought: %s.", x.Reason.String())
	case record.NotKnown:
		return fmt.Sprintf("Not known whether they differ, so no cause is sought: %s.", x.Reason.String())
	case record.NoCause:
		if x.Slower == "" {
			return fmt.Sprintf("Their times cannot be explained: %s.", x.Reason.String())
		}
		return fmt.Sprintf("%s. No cause found: %s.", gap(x), x.Reason.String())
	}
	c := x.Causes[0]
	switch x.Outcome {
	case record.Because:
		return fmt.Sprintf("%s, because %s (confirmed: %s).", gap(x), c.Fact.String(), proof(c))
	case record.Shown:
		return fmt.Sprintf("%s, because %s (measured directly).", gap(x), c.Fact.String())
	}
	// A test that failed to confirm the cause is evidence against it, so it is in the answer.
	return fmt.Sprintf("%s. Correlated, not confirmed: %s%s.", gap(x), c.Fact.String(), when(c.State == record.NotConfirmed, " (%s)", proof(c)))
}

// gap tells by how much the slower arm is slower, in the figure that was explained: the mean
// time, the mean of the slowest requests, or the share of requests without a good reply. The first
// cause tells which; without a cause it is the mean, if that surely differs.
func gap(x *record.Explanation) string {
	s, where, tail := x.Mean.Step, "on average", !x.Mean.Sure()
	if len(x.Causes) > 0 {
		tail = x.Causes[0].Tail
		if x.Causes[0].Code == record.CauseTurnedAway {
			more, less := percent("%.2g", max(x.Lost.From, x.Lost.To)), percent("%.2g", min(x.Lost.From, x.Lost.To))
			return fmt.Sprintf("%s leaves %s of its requests without a good reply, %s %s", x.Slower, more, x.Faster(), less)
		}
	}
	if tail {
		s, where = x.Tail.Step, "in its slowest 1"+nbsp+"% of requests"
	}
	return fmt.Sprintf("%s is slower than %s by %s %s (%s instead of %s)", x.Slower, x.Faster(),
		seconds(math.Abs(s.By)), where, seconds(max(s.From, s.To)), seconds(min(s.From, s.To)))
}

// proof describes the test of a cause: how its stretch changed in the extra blocks with the knob, a setting
// that takes the cause away, and with the control, a change that must not matter. The figures are means, as
// in the waterfalls, but of other blocks. It returns "not tested" without a test.
func proof(c record.Suspect) string {
	if c.Moved == nil || c.Still == nil {
		return "not tested"
	}
	figure, of := seconds, "the mean of "+c.Stretch+when(c.Tail, " in the slowest 1"+nbsp+"%% of requests")
	if c.Code == record.CauseTurnedAway {
		figure, of = func(v float64) string { return percent("%.2g", v) }, "the share of "+c.Stretch
	}
	return fmt.Sprintf("in the extra blocks %s %s from %s to %s with %s, and with the control, %s, it was %s", of, either(c.Moved.By >= 0, "went", "fell"),
		figure(c.Moved.From), figure(c.Moved.To), c.Knob, c.Control, figure(c.Still.To)) + when(!c.Why.None(), "; %s", c.Why.String())
}

// states are the words in front of a cause, by its state.
var states = map[record.SuspectState]string{
	record.Confirmed: "confirmed:", record.ShownBy: "measured directly:", record.Untested: "not tested:",
	record.Untestable: "no setting takes it away:", record.NotConfirmed: "not confirmed:",
}

// causes lists all suspected causes, each with its share of the difference, the figures of its witnesses, and
// its test. A witness that disagrees is printed like the others, so that a reader can judge the suspicion.
func causes(x *record.Explanation) document.Part {
	all := each(x.Causes, func(c record.Suspect) document.Finding {
		heard := each(c.Witnesses, func(t record.Testimony) string {
			other := orNone(t.Faster, func(v float64) string { return figureOf(v, t.Unit) })
			return t.Witness + " " + figureOf(t.Slower, t.Unit) + when(t.Faster != nil, ", of the other arm %s", other) +
				when(!t.Agrees, " (disagrees)")
		})
		// Other stretches may be shorter.
		share := either(c.Share <= 1, "%s of the difference lies in %s", "more than the whole difference (%s) lies in %s")
		reason := fmt.Sprintf(share+"; medians over the blocks: %s", percent("%.0f", c.Share), c.Stretch, strings.Join(heard, "; ")) +
			when(c.Moved != nil, "; %s", proof(c))
		return document.Finding{Mark: states[c.State], Class: string(c.State), Text: c.Fact.String(), Reason: reason}
	})
	return document.Section{ID: "causes", Title: "Causes", Parts: []document.Part{document.Findings(all)}}
}

// figureOf formats a witness's figure in its unit: s, ratio, or anything else as a plain number.
func figureOf(v float64, unit string) string {
	switch unit {
	case "s":
		return seconds(v)
	case "ratio":
		return percent("%.3g", v)
	}
	return plain(v)
}

// waterfall returns the table and the chart that lead from one arm's mean to the other's, piece by piece. of
// tells which requests it is about, "on average" or "in the slowest 1 % of requests".
func waterfall(x *record.Explanation, w record.Waterfall, of string) document.Part {
	unit := timeScale(w.From, w.To)
	unit.decimals = min(unit.decimals+1, 3)
	// The sum is of all pieces, including those too small to print.
	pieces := append(only(w.Pieces, visible), record.Piece{Stretch: "sum (" + unit.unit + ")", Step: w.Step})
	table := append([][]string{{"", x.From, x.To, "difference", "interval"}}, each(pieces, func(p record.Piece) []string {
		return []string{p.Stretch, unit.number(p.From), unit.number(p.To), unit.plus(p.By), unit.plus(p.Low) + " to " + unit.plus(p.High)}
	})...)
	title := "From " + x.From + " to " + x.To + " " + of
	return document.Section{
		ID: "waterfall-" + strings.Fields(of)[0], Title: title,
		Lead: "The pieces add up to the difference exactly: each is the mean over the blocks of what requests spent there.",
		Parts: []document.Part{document.Charts{{
			Picture: draw("bars", waterfallChart(x, w, title)), Instead: []document.Part{document.Table{Rows: table}},
		}}},
	}
}

// visible reports whether a piece is large enough to show.
func visible(p record.Piece) bool { return max(math.Abs(p.From), math.Abs(p.To)) > negligible }

// waterfallChart draws the waterfall: the first bar is the whole time of one arm, each further
// bar begins where the previous one ended, and the last is the whole time of the other arm.
func waterfallChart(x *record.Explanation, w record.Waterfall, title string) barChart {
	// A sum may fall below zero on the way, so the scale covers every step and marks 0.
	low, high, at := 0.0, max(w.From, w.To), w.From
	for _, p := range w.Pieces {
		at += p.By
		low, high = min(low, at), max(high, at)
	}
	c := barChart{Label: title + ": bars that begin where the one before ended", Scale: axis{low: low, high: max(high, low+1e-9), From: 10, To: 530}}
	c.Scale.Ticks = []tick{{At: c.Scale.At(0)}}
	unit := timeScale(high)
	add := func(name, total, class, title string, from, to float64) {
		c.Rows = append(c.Rows, barRow{name, total, []bar{{class, title, min(from, to), max(from, to)}}})
	}
	add(x.From, unit.format(w.From), "whole", seconds(w.From), 0, w.From)
	at = w.From // from here on the end of the bar before
	for _, p := range only(w.Pieces, visible) {
		add(p.Stretch, unit.signed(p.By), stretchClass(p.Stretch), fmt.Sprintf("%s: %s to %s", p.Stretch, seconds(p.From), seconds(p.To)), at, at+p.By)
		at += p.By
	}
	add(x.To, unit.format(w.To), "whole", seconds(w.To), 0, w.To)
	return c
}

// ideal tells which part of the difference theory predicts, by the arms' ideal twins. x.Ideal
// must not be nil.
func ideal(x *record.Explanation) string {
	unit := timeScale(math.Abs(x.Ideal.By), math.Abs(x.Mean.By))
	rest := fmt.Sprintf("the other %s are what running them takes", unit.signed(x.Mean.By-x.Ideal.By))
	if x.Mean.Low <= x.Ideal.High && x.Ideal.Low <= x.Mean.High {
		rest = "whether running them takes more is not known, since the intervals overlap"
	}
	return fmt.Sprintf("ideal schedulers of both kinds would differ by %s on the same requests (%s and %s); %s",
		unit.signed(x.Ideal.By), seconds(x.Ideal.From), seconds(x.Ideal.To), rest)
}

// Sizes of a flame graph, in px. flameWidth is all samples, flameRow the height of a frame.
const (
	flameWidth  px = 1000
	flameRow    px = 17
	flameTop    px = 24 // with the title
	flameBelow  px = 8
	flameLetter px = 6.3 // width of a letter in a frame's text
)

// A flame is a flame graph ready to draw, with callers below their callees (Gregg, "The Flame Graph", 2016).
type flame struct {
	Title         string
	Width, Height px
	Boxes         []flameBox
}

// A flameBox is one frame as drawn: X, Y is its upper left corner, and its width is the share
// of samples in the function and all that it called. Title is shown under the pointer; Text is
// the part of the name that fits, "" if fewer than three letters fit.
type flameBox struct {
	X, Y, Wide  px
	Fill        template.CSS
	Text, Title string
}

// flameTitle returns the title of a flame graph, with the meaning of its colours if it compares two arms.
func flameTitle(f record.Flame) string {
	return f.Kind + ": " + f.Arm + when(f.Base != "", ", red where its share is larger than with %s, blue where it is smaller", f.Base)
}

// flameChart lays out a flame graph. The deepest calls are at the top. A graph with a Base is a difference:
// the widths are of one arm, the colours tell how its shares differ from the other's.
func flameChart(f record.Flame) flame {
	depth := slices.Max(append(each(f.Frames, func(b record.Frame) int { return b.Depth }), 0))
	c := flame{Title: flameTitle(f), Width: flameWidth, Height: flameTop + flameRow*px(depth+1) + flameBelow}
	for _, b := range f.Frames {
		box := flameBox{
			X: px(b.Left) * flameWidth, Wide: px(b.Share) * flameWidth, Y: flameTop + flameRow*px(depth-b.Depth),
			Title: b.Name + ": " + percent("%.2f", b.Share) + " of the samples", Fill: flameColour(b.Name),
		}
		if f.Base != "" { // the colours carry the comparison, so they cannot tell the package
			box.Title += fmt.Sprintf(", %+.2f points", 100*b.Change)
			// Red for a larger share than in the other arm, blue for a smaller one. The colour is fullest from
			// a tenth of the samples on, and grows with the square root, so that small changes can be seen.
			pale := 255 - int(math.Round(150*min(1, math.Sqrt(math.Abs(b.Change)/.1))))
			box.Fill = template.CSS(fmt.Sprintf(either(b.Change > 0, "rgb(255,%d,%d)", "rgb(%d,%d,255)"), pale, pale))
		}
		// 3 px stay free at both ends of a name.
		if letters := int((box.Wide - 6) / flameLetter); letters >= 3 {
			box.Text = document.Cut(brief(b.Name), letters)
		}
		c.Boxes = append(c.Boxes, box)
	}
	return c
}

// brief returns a function's name without the path of its package: "http.(*conn).serve" for
// "net/http.(*conn).serve".
func brief(name string) string {
	plain, _, _ := strings.Cut(name, "[") // after [ come type arguments, which have paths too
	return name[strings.LastIndexByte(plain, '/')+1:]
}

// flameColour returns the colour of a frame: blue for the runtime, orange for schedlab, green
// for other modules, and yellow for the standard library.
func flameColour(name string) template.CSS {
	first, _, _ := strings.Cut(name, "/")
	switch pack, _, _ := strings.Cut(name, "."); {
	case pack == "runtime" || strings.HasPrefix(pack, "runtime/") || strings.HasPrefix(pack, "internal/runtime"):
		return "#9db8d9"
	case first == "schedlab":
		return "#f0a35e"
	// Paths of modules begin with a domain; paths of the standard library have no dot.
	case strings.Contains(first, ".") && first != name:
		return "#b6d7a0"
	}
	return "#e8d588"
}

// FlameSVG writes a flame graph as an SVG file of its own.
func FlameSVG(w io.Writer, f record.Flame) error { return writeSVG(w, draw("flame", flameChart(f))) }

// profiled returns the results of an explanation's profiles: the functions that changed most,
// the states of requests in the traces, the commands that open the files, and the flame graphs.
// It is an empty part if no profiles were asked for.
func profiled(x *record.Explanation) document.Part {
	if x.Profiles == nil {
		return document.Lines{}
	}
	s := document.Section{ID: "profiles", Title: "Profiles", About: "captured in windows of their own, which enter no verdict"}
	add := func(parts ...document.Part) { s.Parts = append(s.Parts, parts...) }
	// The commands are printed in full, so that a reader need not know the tools' flags.
	tools := map[string]string{"cpu.pb.gz": "go tool pprof -http=: ", "trace.out": "go tool trace "}
	var open document.Commands
	for _, a := range x.Profiles.Arms {
		if len(a.Files) == 0 {
			add(document.Note(fmt.Sprintf("%s shows no profiles: there is nothing to capture.", a.Arm)))
		}
		for _, file := range a.Files {
			if tool := tools[path.Base(file)]; tool != "" {
				open = append(open, document.Fact{Label: a.Arm, Text: tool + command.Quote(path.Join(x.Dir, file))})
			}
		}
	}
	// Shares can be compared only if both arms have samples. An arm that is no Go program may have none.
	if arms := x.Profiles.Arms; len(arms) == 2 && arms[0].Samples > 0 && arms[1].Samples > 0 {
		moved := document.Lines(each(x.Profiles.Moved, func(m record.FunctionShare) string {
			return fmt.Sprintf("%s %s of CPU samples (%s instead of %s)", m.Function, percent("%+.1f", m.To-m.From), percent("%.1f", m.To), percent("%.1f", m.From))
		}))
		if len(moved) == 0 {
			moved = document.Lines{"no function's share differs by more than so few CPU samples do by chance"}
		}
		add(document.Section{
			Title: "The functions that changed most", Parts: []document.Part{moved},
			About: fmt.Sprintf("in their own share of %d CPU samples of %s and %d of %s", arms[0].Samples, arms[0].Arm, arms[1].Samples, arms[1].Arm),
		})
	}
	if rows := requestStates(x.Profiles.Arms); rows != nil {
		add(document.Section{
			Title: "What the requests in the traces did", About: "mean, and 99 % of requests below; the means add up",
			Parts: []document.Part{document.Table{Rows: rows}, document.Note("From when a request was read to when it was answered: where its connection waited for a worker before that, the parts above say it.")},
		})
	}
	if len(open) > 0 {
		add(open, document.Note("Flame graphs, one of each profile that has samples, are in why.html and beside these files (*.svg)."))
	}
	add(document.Page(each(x.Profiles.Flames, func(f record.Flame) document.Part {
		return document.Charts{{Caption: flameTitle(f), Alt: flameTitle(f), File: f.File, Picture: draw("flame", flameChart(f))}}
	})))
	return s
}

// requestStates returns the table of the time that requests spent in each state, with the arms
// side by side, mean and p99; nil without any state. A state is a row if either arm has it. The last
// row, all, has the whole time; the means above add up to it, the p99s do not.
func requestStates(arms []record.ProfiledArm) [][]string {
	var states []string
	fields := []field[string]{{"", nil, func(state string) string { return state }}}
	for _, a := range arms {
		spent := map[string]record.StateTime{}
		if q := a.Requests; q != nil {
			for _, t := range q.States {
				states, spent[t.State] = append(states, t.State), t
			}
			spent["all"] = record.StateTime{Mean: q.Mean, P99: q.P99}
		}
		// Requests spent no time in a state that they were never in.
		cell := func(of func(record.StateTime) float64) func(string) string {
			return func(state string) string { return either(a.Requests != nil, seconds(of(spent[state])), none) }
		}
		fields = append(fields, field[string]{a.Arm, nil, cell(func(t record.StateTime) float64 { return t.Mean })},
			field[string]{"p99", nil, cell(func(t record.StateTime) float64 { return t.P99 })})
	}
	if states == nil {
		return nil
	}
	return rows(append(unique(states), "all"), fields...)
}
