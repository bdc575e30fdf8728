package report

import (
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

// Sizes of a flame graph.
const (
	flameWidth  px = 1000
	flameRow    px = 17
	flameTop    px = 24 // with the title
	flameBelow  px = 8
	flameLetter px = 6.3 // width of a letter in a frame's text
)

// A flame is a flame graph ready to draw, with callers below their callees.
type flame struct {
	Title         string
	Width, Height px
	Boxes         []flameBox
}

// A flameBox is one frame as drawn. Title is shown under the pointer; Text is the part of the
// name that fits.
type flameBox struct {
	X, Y, Wide  px
	Fill        template.CSS
	Text, Title string
}

// flameTitle returns the title of a flame graph.
func flameTitle(f record.Flame) string {
	if f.Base != "" {
		return fmt.Sprintf("%s: %s, red where its share is larger than with %s, blue where it is smaller", f.Kind, f.Arm, f.Base)
	}
	return fmt.Sprintf("%s: %s", f.Kind, f.Arm)
}

// flameChart lays out a flame graph. The deepest calls are at the top.
func flameChart(f record.Flame) flame {
	depth := 0
	for _, b := range f.Frames {
		depth = max(depth, b.Depth)
	}
	c := flame{Title: flameTitle(f), Width: flameWidth, Height: flameTop + flameRow*px(depth+1) + flameBelow}
	for _, b := range f.Frames {
		box := flameBox{
			X: px(b.Left) * flameWidth, Wide: px(b.Share) * flameWidth, Y: flameTop + flameRow*px(depth-b.Depth),
			Title: fmt.Sprintf("%s: %.2f%s%% of the samples", b.Name, 100*b.Share, nbsp), Fill: flameColour(b.Name),
		}
		if f.Base != "" {
			box.Title += fmt.Sprintf(", %+.2f points", 100*b.Change)
			box.Fill = changeColour(b.Change)
		}
		if letters := int((box.Wide - 6) / flameLetter); letters >= 3 {
			box.Text = document.Cut(brief(b.Name), letters)
		}
		c.Boxes = append(c.Boxes, box)
	}
	return c
}

// brief returns a function's name without the path of its package.
func brief(name string) string {
	plain, _, _ := strings.Cut(name, "[") // after [ come type arguments, which have paths too
	return name[strings.LastIndexByte(plain, '/')+1:]
}

// flameColour returns the colour of a frame: one for the runtime, one for the standard library,
// one for schedlab, one for other modules.
func flameColour(name string) template.CSS {
	first, _, _ := strings.Cut(name, "/")
	switch pack, _, _ := strings.Cut(name, "."); {
	case pack == "runtime" || strings.HasPrefix(pack, "runtime/") || strings.HasPrefix(pack, "internal/runtime"):
		return "#9db8d9"
	case first == "schedlab":
		return "#f0a35e"
	case strings.Contains(first, ".") && first != name:
		return "#b6d7a0"
	}
	return "#e8d588"
}

// changeColour returns red for a frame with a larger share than in the other arm, blue for a
// smaller share. The colour is fullest from a tenth of the samples on.
func changeColour(by float64) template.CSS {
	pale := 255 - int(math.Round(150*min(1, math.Sqrt(math.Abs(by)/.1))))
	if by > 0 {
		return template.CSS(fmt.Sprintf("rgb(255,%d,%d)", pale, pale))
	}
	return template.CSS(fmt.Sprintf("rgb(%d,%d,255)", pale, pale))
}

// FlameSVG writes a flame graph as an SVG file.
func FlameSVG(w io.Writer, f record.Flame) error {
	return writeSVG(w, draw("flame", flameChart(f)))
}

// profiled returns the results of an explanation's profiles.
func profiled(x *record.Explanation) document.Part {
	if x.Profiles == nil {
		return document.Lines{}
	}
	s := document.Section{ID: "profiles", Title: "Profiles", About: "captured in windows of their own, which enter no verdict"}
	var open document.Commands
	for _, a := range x.Profiles.Arms {
		if len(a.Files) == 0 {
			s.Parts = append(s.Parts, document.Note(fmt.Sprintf("%s shows no profiles: there is nothing to capture.", a.Arm)))
			continue
		}
		for _, file := range a.Files {
			switch path.Base(file) {
			case "cpu.pb.gz":
				open = append(open, document.Fact{Label: a.Arm, Text: "go tool pprof -http=: " + command.Quote(path.Join(x.Dir, file))})
			case "trace.out":
				open = append(open, document.Fact{Label: a.Arm, Text: "go tool trace " + command.Quote(path.Join(x.Dir, file))})
			}
		}
	}
	if arms := x.Profiles.Arms; len(arms) == 2 && arms[0].Samples > 0 && arms[1].Samples > 0 {
		moved := document.Lines(each(x.Profiles.Moved, func(m record.FunctionShare) string {
			return fmt.Sprintf("%s %+.1f%s%% of CPU samples (%.1f%s%% instead of %.1f%s%%)", m.Function, 100*(m.To-m.From), nbsp, 100*m.To, nbsp, 100*m.From, nbsp)
		}))
		if len(moved) == 0 {
			moved = document.Lines{"no function's share differs by more than so few CPU samples do by chance"}
		}
		s.Parts = append(s.Parts, document.Section{
			Title: "The functions that changed most", Parts: []document.Part{moved},
			About: fmt.Sprintf("in their own share of %d CPU samples of %s and %d of %s", arms[0].Samples, arms[0].Arm, arms[1].Samples, arms[1].Arm),
		})
	}
	if rows := requestStates(x.Profiles.Arms); len(rows) > 1 {
		s.Parts = append(s.Parts, document.Section{
			Title: "What the requests in the traces did", About: "mean, and 99 % of requests below; the means add up",
			Parts: []document.Part{document.Table{Rows: rows}, document.Note("From when a request was read to when it was answered: where its connection waited for a worker before that, the parts above say it.")},
		})
	}
	if len(open) > 0 {
		s.Parts = append(s.Parts, open, document.Note("Flame graphs, one of each profile that has samples, are in why.html and beside these files (*.svg)."))
	}
	s.Parts = append(s.Parts, document.Page(each(x.Profiles.Flames, func(f record.Flame) document.Part {
		return document.Charts{{Caption: flameTitle(f), Alt: flameTitle(f), File: f.File, Picture: draw("flame", flameChart(f))}}
	})))
	return s
}

// requestStates returns the table of the time that requests spent in each state, with the arms
// side by side; nil without any state.
func requestStates(arms []record.ProfiledArm) [][]string {
	var states []string
	head := []string{""}
	for _, a := range arms {
		head = append(head, a.Arm, "p99")
		if a.Requests == nil {
			continue
		}
		for _, t := range a.Requests.States {
			if !slices.Contains(states, t.State) {
				states = append(states, t.State)
			}
		}
	}
	if states == nil {
		return nil
	}
	rows := [][]string{head}
	for i, state := range append(states, "all") {
		row := []string{state}
		for _, a := range arms {
			switch r := a.Requests; {
			case r == nil:
				row = append(row, none, none)
			case i == len(states):
				row = append(row, seconds(r.Mean), seconds(r.P99))
			default:
				var spent record.StateTime // none in a state that the arm's requests were never in
				if k := slices.IndexFunc(r.States, func(t record.StateTime) bool { return t.State == state }); k >= 0 {
					spent = r.States[k]
				}
				row = append(row, seconds(spent.Mean), seconds(spent.P99))
			}
		}
		rows = append(rows, row)
	}
	return rows
}
