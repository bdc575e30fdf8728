package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"path"
	"strings"
	"sync"

	"schedlab/internal/command"
	"schedlab/internal/record"
	"schedlab/internal/report/chart"
	"schedlab/internal/report/document"
	"schedlab/internal/report/say"
)

// profiles returns what the arms' profiles show: for each arm the functions that changed most, the states of
// requests in the traces, the commands that open the files, and the flame graphs. It is an empty part without
// profiles.
func profiles(r *record.Result) document.Part {
	if r.Profiles == nil || len(r.Profiles.Arms) == 0 {
		return document.Section{}
	}
	s := document.Section{ID: "profiles", Title: "Profiles", About: "captured in windows of their own, which enter no verdict"}
	add := func(parts ...document.Part) { s.Parts = append(s.Parts, parts...) }
	// The commands are printed in full, so that a reader need not know the tools' flags.
	tools := map[string]string{"cpu.pb.gz": "go tool pprof -http=: ", "trace.out": "go tool trace "}
	var open document.Commands
	for _, a := range r.Profiles.Arms {
		if len(a.Files) == 0 {
			add(document.Note(fmt.Sprintf("%s shows no profiles: there is nothing to capture.", a.Arm)))
		}
		for _, file := range a.Files {
			if tool := tools[path.Base(file)]; tool != "" {
				open = append(open, document.Fact{Label: a.Arm, Text: tool + command.Quote(path.Join(r.Dir, file))})
			}
		}
	}
	base := r.Profiles.Arms[0]
	for _, a := range r.Profiles.Arms[1:] {
		// Shares can be compared only if both arms have samples. An arm that is no Go program may have none.
		if base.Samples == 0 || a.Samples == 0 {
			continue
		}
		var moved document.Lines
		for _, m := range a.Moved {
			moved = append(moved, fmt.Sprintf("%s %s of CPU samples (%s instead of %s)", m.Function, say.Percent("%+.1f", m.To-m.From), say.Percent("%.1f", m.To), say.Percent("%.1f", m.From)))
		}
		if len(moved) == 0 {
			moved = document.Lines{"no function's share differs by more than so few CPU samples do by chance"}
		}
		add(document.Section{
			Title: fmt.Sprintf("The functions that changed most from %s to %s", base.Arm, a.Arm), Parts: []document.Part{moved},
			About: fmt.Sprintf("in their own share of %d CPU samples of %s and %d of %s", base.Samples, base.Arm, a.Samples, a.Arm),
		})
	}
	if rows := requestStates(r.Profiles.Arms); rows != nil {
		add(document.Section{
			Title: "What the requests in the traces did", About: "mean, and 99 % of requests below; the means add up",
			Parts: []document.Part{document.Table{Rows: rows}, document.Note("From when a request was read to when it was answered: the time before that, while its connection waited for a worker, is in the parts of the response time.")},
		})
	}
	if len(open) > 0 {
		add(open, document.Note("Flame graphs, one of each profile that has samples, are beside these files (*.svg)."))
	}
	var graphs document.Page
	for _, f := range r.Profiles.Flames {
		graphs = append(graphs, document.Charts{{Caption: flameTitle(f), Alt: flameTitle(f), File: f.File, Picture: chart.Draw(flameTemplate(), "flame", flameChart(f))}})
	}
	add(graphs)
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
			return func(state string) string {
				if a.Requests == nil {
					return say.None
				}
				return say.Seconds(of(spent[state]))
			}
		}
		fields = append(fields, field[string]{a.Arm, nil, cell(func(t record.StateTime) float64 { return t.Mean })},
			field[string]{"p99", nil, cell(func(t record.StateTime) float64 { return t.P99 })})
	}
	if states == nil {
		return nil
	}
	return rows(append(unique(states), "all"), fields...)
}

// Sizes of a flame graph, in px. flameWidth is all samples, flameRow the height of a frame.
const (
	flameWidth  chart.Px = 1000
	flameRow    chart.Px = 17
	flameTop    chart.Px = 24 // with the title
	flameBelow  chart.Px = 8
	flameLetter chart.Px = 6.3 // width of a letter in a frame's text
)

// A flame is a flame graph ready to draw, with callers below their callees (Gregg, "The Flame Graph", 2016).
type flame struct {
	Title         string
	Width, Height chart.Px
	Boxes         []flameBox
}

// A flameBox is one frame as drawn: X, Y is its upper left corner, and its width is the share
// of samples in the function and all that it called. Title is shown under the pointer; Text is
// the part of the name that fits, "" if fewer than three letters fit.
type flameBox struct {
	X, Y, Wide  chart.Px
	Fill        template.CSS
	Text, Title string
}

// flameTitle returns the title of a flame graph, with the meaning of its colours if it compares two arms.
func flameTitle(f record.Flame) string {
	if f.Base == "" {
		return f.Kind + ": " + f.Arm
	}
	return fmt.Sprintf("%s: %s, red where its share is larger than with %s, blue where it is smaller", f.Kind, f.Arm, f.Base)
}

// flameChart lays out a flame graph. The deepest calls are at the top. A graph with a Base is a difference:
// the widths are of one arm, the colours tell how its shares differ from the other's.
func flameChart(f record.Flame) flame {
	depth := 0
	for _, b := range f.Frames {
		depth = max(depth, b.Depth)
	}
	c := flame{Title: flameTitle(f), Width: flameWidth, Height: flameTop + flameRow*chart.Px(depth+1) + flameBelow}
	for _, b := range f.Frames {
		box := flameBox{
			X: chart.Px(b.Left) * flameWidth, Wide: chart.Px(b.Share) * flameWidth, Y: flameTop + flameRow*chart.Px(depth-b.Depth),
			Title: b.Name + ": " + say.Percent("%.2f", b.Share) + " of the samples", Fill: flameColour(b.Name),
		}
		if f.Base != "" { // the colours carry the comparison, so they cannot tell the package
			box.Title += fmt.Sprintf(", %+.2f points", 100*b.Change)
			// Red for a larger share than in the other arm, blue for a smaller one. The colour is fullest from
			// a tenth of the samples on, and grows with the square root, so that small changes can be seen.
			pale := 255 - int(math.Round(150*min(1, math.Sqrt(math.Abs(b.Change)/.1))))
			colour := "rgb(%d,%d,255)"
			if b.Change > 0 {
				colour = "rgb(255,%d,%d)"
			}
			box.Fill = template.CSS(fmt.Sprintf(colour, pale, pale))
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

// flameSource has the template of a flame graph.
//
//go:embed profiles.html
var flameSource string

var flameTemplate = sync.OnceValue(func() *template.Template { return chart.Templates(flameSource, nil) })

// FlameSVG writes a flame graph as an SVG file of its own.
func FlameSVG(w io.Writer, f record.Flame) error {
	return say.SVG(w, chart.Draw(flameTemplate(), "flame", flameChart(f)))
}
