package profiling

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"path"
	"slices"
	"strings"
	"sync"

	"schedlab/internal/measuring/profile"
	"schedlab/internal/measuring/report/chart"
	"schedlab/internal/measuring/report/document"
	"schedlab/internal/measuring/report/say"
	"schedlab/internal/shared/cmdline"
	"schedlab/internal/shared/record"
)

// noProfiles tells how a program shows its profiles.
const noProfiles = `no /debug/pprof at the host of its metrics (metrics=...), or without these where it serves; import _ "net/http/pprof" there`

// Missing tells that an arm shows no profiles, and what to do.
func Missing(arm string) string { return arm + " shows no profiles: " + noProfiles }

// Section is the profiles' part of the report of their run.
func (p *Profiles) Section(r *record.Common) document.Part { return captured(p, r.Dir) }

// Below tells where the profiles are, or why there are none.
func (p *Profiles) Below(r *record.Common) document.Facts {
	if !slices.ContainsFunc(p.Arms, func(a Arm) bool { return len(a.Files) > 0 }) {
		return document.Facts{{Label: "Profiles", Text: "none: no arm shows any (" + noProfiles + ")"}}
	}
	return document.Facts{{Label: "Profiles", Text: cmdline.Quote(r.Dir) + "/profiles, with flame graphs; the report compares them"}}
}

// captured returns what the arms' profiles show: for each arm the functions that changed most, the states of
// requests in the traces, the commands that open the files, and the flame graphs. It is an empty part without
// profiles. dir is the run's record.
func captured(p *Profiles, dir string) document.Part {
	if len(p.Arms) == 0 {
		return document.Section{}
	}
	s := document.Section{ID: "profiles", Title: "Profiles", About: "captured in windows of their own, which enter no verdict"}
	add := func(parts ...document.Part) { s.Parts = append(s.Parts, parts...) }
	// The commands are printed in full, so that a reader need not know the tools' flags.
	tools := map[string]string{"cpu.pb.gz": "go tool pprof -http=: ", "trace.out": "go tool trace "}
	var open document.Commands
	for _, a := range p.Arms {
		if len(a.Files) == 0 {
			add(document.Note(Missing(a.Arm) + "."))
		}
		for _, file := range a.Files {
			if tool := tools[path.Base(file)]; tool != "" {
				open = append(open, document.Fact{Label: a.Arm, Text: tool + cmdline.Quote(path.Join(dir, file))})
			}
		}
	}
	for _, a := range p.Arms[1:] {
		// Shares can be compared only if both arms have samples. An arm that is no Go program may have none.
		if p.Arms[0].Samples > 0 && a.Samples > 0 {
			add(moved(p.Arms[0], a))
		}
	}
	if rows := requestStates(p.Arms); rows != nil {
		add(document.Section{
			Title: "What the requests in the traces did", About: "mean, and 99 % of requests below; the means add up",
			Parts: []document.Part{document.Table{Rows: rows}, document.Note("From when a request was read to when it was answered: the time before that, while its connection waited for a worker, is in the parts of the response time.")},
		})
	}
	if len(open) > 0 {
		add(open, document.Note("Flame graphs, one of each profile that has samples, are beside these files (*.svg)."))
	}
	var graphs document.Page
	for _, f := range p.Flames {
		graphs = append(graphs, document.Charts{{Caption: flameTitle(f), Alt: flameTitle(f), File: f.File, Picture: picture(f)}})
	}
	add(graphs)
	return s
}

// moved lists the functions with a different share of an arm's samples than of the base's, those with a larger share first: the
// others have less of the whole for that alone.
func moved(base, a Arm) document.Part {
	var lines document.Lines
	rose := func(f profile.FunctionShare) bool { return f.To > f.From }
	falls := slices.DeleteFunc(slices.Clone(a.Moved), rose)
	rises := slices.DeleteFunc(slices.Clone(a.Moved), func(f profile.FunctionShare) bool { return !rose(f) })
	for _, m := range slices.Concat(rises, falls) {
		name := m.Function
		if m.Callees {
			name += " with all that it calls"
		}
		line := fmt.Sprintf("%s %s of CPU samples (%s)", name, say.Percent("%+.1f", m.To-m.From), shares(m.From, m.To))
		if c := m.Caller; c != nil {
			line += fmt.Sprintf(", called by %s (with all that it calls, %s)", c.Function, shares(c.From, c.To))
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		lines = document.Lines{"no function's share of the CPU samples surely differs"}
	}
	parts := []document.Part{lines}
	if l := a.Leads; l != nil {
		parts = append(parts, document.Note(fmt.Sprintf("Not sure, but a place to look: %s with all that it calls has %d samples more (%d instead of %d), where all functions have %d more.",
			l.Function, l.To-l.From, l.To, l.From, l.Of)))
	}
	if a.Least > 0 {
		parts = append(parts, document.Note(tooFew(base, a)))
	}
	took := ""
	if base.Seconds > 0 && a.Seconds > 0 {
		took = fmt.Sprintf(", in %.0f and %.0f s", base.Seconds, a.Seconds)
	}
	return document.Section{
		Title: fmt.Sprintf("The functions that changed most from %s to %s", base.Arm, a.Arm), Parts: parts,
		About: fmt.Sprintf("in their own share of %d CPU samples of %s and %d of %s", base.Samples, base.Arm, a.Samples, a.Arm) + took,
	}
}

// shares tells a share of the samples of an arm and of the base.
func shares(from, to float64) string {
	return say.Percent("%.1f", to) + " instead of " + say.Percent("%.1f", from)
}

// manySamples is the number of samples from which on a higher rate shortens the profile.
const manySamples = 300

// tooFew tells which changes the samples of two arms cannot show.
func tooFew(base, a Arm) string {
	few := fmt.Sprintf("%d and %d samples: too few to name ", base.Samples, a.Samples)
	if a.Least < 1 {
		few += fmt.Sprintf("a function whose share changed by less than %s", say.Percent("%.1f", a.Least))
	} else {
		few += "any function"
	}
	if min(base.Samples, a.Samples) < manySamples {
		few += "; a higher --rate gives more"
	}
	return few + "."
}

// requestStates returns the table of the time that requests spent in each state, with the arms
// side by side, mean and p99; nil without any state. A state is a row if either arm has it. The last
// row, all, has the whole time; the means above add up to it, the p99s do not.
func requestStates(arms []Arm) [][]string {
	const all = "all"
	head, states := []string{""}, []string{}
	spent := make([]map[string]profile.StateTime, len(arms)) // by state; nil without a trace
	for i, a := range arms {
		head = append(head, a.Arm, "p99")
		if a.Requests == nil {
			continue
		}
		spent[i] = map[string]profile.StateTime{all: {Mean: a.Requests.Mean, P99: a.Requests.P99}}
		for _, t := range a.Requests.States {
			spent[i][t.State] = t
			if !slices.Contains(states, t.State) {
				states = append(states, t.State)
			}
		}
	}
	if len(states) == 0 {
		return nil
	}
	rows := [][]string{head}
	for _, state := range append(states, all) {
		row := []string{state}
		for _, times := range spent {
			if times == nil {
				row = append(row, say.None, say.None)
				continue
			}
			t := times[state] // zero: requests spent no time in a state that they were never in
			row = append(row, say.Seconds(t.Mean), say.Seconds(t.P99))
		}
		rows = append(rows, row)
	}
	return rows
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
func flameTitle(f Flame) string {
	title := f.Kind + ": " + f.Arm
	if f.Base != "" {
		title += ", red where its share is larger than with " + f.Base + ", blue where it is smaller"
	}
	return title
}

// flameChart lays out a flame graph. The deepest calls are at the top. A graph with a Base is a difference:
// the widths are of one arm, the colours tell how its shares differ from the other's.
func flameChart(f Flame) flame {
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
			if b.Change > 0 {
				box.Fill = template.CSS(fmt.Sprintf("rgb(255,%d,%d)", pale, pale))
			} else {
				box.Fill = template.CSS(fmt.Sprintf("rgb(%d,%d,255)", pale, pale))
			}
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
//go:embed flame.html
var flameSource string

var flameTemplate = sync.OnceValue(func() *template.Template { return chart.Templates(flameSource, nil) })

// FlameSVG writes a flame graph as a complete SVG file.
func FlameSVG(w io.Writer, f Flame) error {
	return say.SVG(w, picture(f))
}

func picture(f Flame) template.HTML {
	return chart.Draw(flameTemplate(), "flame", flameChart(f))
}
