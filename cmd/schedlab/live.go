package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"schedlab/internal/prose"
	"schedlab/internal/record"
	"schedlab/internal/report/document"
	"schedlab/internal/stats"
	"schedlab/internal/window"
)

// A screen is what progress shows, live or to a program: the step that runs, the answer after the last
// look, and the windows of each arm so far. take and progress fill it in; draw makes a text of it. The
// arms are empty while nothing has been measured in blocks.
type screen record.Progress

// take adds a window of a comparison with this plan. The first trial begins another screen: a map
// has many comparisons, and --explain a second one.
func (s *screen) take(p record.Plan, w window.Window) {
	if w.Trial.Number == 1 {
		s.Answer, s.FirstLook, s.Arms = "", 0, nil
		if len(p.Looks) > 0 {
			s.FirstLook = p.Looks[0]
		}
		for _, a := range p.Arms {
			s.Arms = append(s.Arms, record.ArmProgress{Name: a.Name, Role: a.Role})
		}
	}
	i := slices.IndexFunc(s.Arms, func(a record.ArmProgress) bool { return a.Name == w.Trial.Arm })
	if i < 0 {
		return
	}
	a := &s.Arms[i]
	for name, f := range map[string]*record.BlockFigures{"p50": &a.P50, "p99": &a.P99, "goodput": &a.Goodput} {
		if v := w.Values[name]; math.IsNaN(v) { // not known, as a quantile of too few requests
			f.Blocks = append(f.Blocks, nil)
		} else {
			f.Blocks = append(f.Blocks, &v)
		}
		f.SoFar = record.SpreadOf(known(*f))
	}
	if a.Connections = nil; len(w.Trial.Server.Readings) > 0 {
		a.Connections = &w.Trial.Server.Readings[len(w.Trial.Server.Readings)-1]
	}
}

// Styles of a line, as ANSI codes.
const bold, faint = "1", "2"

// draw returns the screen for a terminal of that many columns and rows, as whole lines that are
// shorter and fewer than these: a line that the terminal folds, or that has left it at the top,
// could not be erased. Arms without room are counted on the last line.
func (s screen) draw(columns, rows int, colour bool) string {
	columns, rows = max(columns-1, 1), max(rows-1, 1)
	var b strings.Builder
	used := 0
	line := func(style, text string) {
		if used >= rows {
			return
		}
		text = document.Cut(strings.NewReplacer("\n", " ", "\t", " ").Replace(document.Harmless(text)), columns)
		if text = strings.TrimRight(text, " "); colour && style != "" {
			text = "\x1b[" + style + "m" + text + "\x1b[0m"
		}
		b.WriteString(text + "\n")
		used++
	}
	width := max(columns-len(" 99 %   about 1h59m59s left"), 1)
	line("", s.step(document.Cut(s.Step, width), min(stepWidth, width)))
	if len(s.Arms) == 0 {
		return b.String()
	}
	answer := s.Answer
	if answer == "" && len(s.Arms[0].P50.Blocks) <= s.FirstLook {
		answer = fmt.Sprintf("no answer yet: the first look is after %s", prose.Plural(s.FirstLook, "block"))
	}
	const most = 4 // lines of the answer
	lines := document.Wrap(answer, columns, 0)
	if len(lines) > most {
		lines[most-1] += " …"
	}
	for _, text := range lines[:min(len(lines), most)] {
		line(bold, text)
	}
	names := 0
	for _, a := range s.Arms {
		names = max(names, utf8.RuneCountInString(a.Name))
	}
	// A sparkline has a column for each block, as far as there is room.
	room := max(columns-utf8.RuneCountInString(row("", 0, "p50", "p99", "goodput", "accepted", "done", "open", "")), 1)
	names = max(min(names, room*2/3), 2)
	room = max(min(room-names, slices.Max(stats.Looks())), 0)
	spark := "p99 by block"
	if len(spark) > room {
		spark = "p99"
	}
	line(faint, row("", names, "p50", "p99", "goodput", "accepted", "done", "open", spark))
	shown := s.Arms
	if len(shown) > rows-used {
		shown = shown[:max(rows-used-1, 0)]
	}
	low, high := s.span()
	for _, a := range shown {
		accepted, done, open := "-", "-", "-"
		if c := a.Connections; c != nil {
			accepted, done, open = fmt.Sprint(c.Accepted), fmt.Sprint(c.Done), fmt.Sprint(c.Open)
		}
		line("", row(s.label(a.Name, names), names, middle(a.P50, shortly), middle(a.P99, shortly), middle(a.Goodput, prose.PerSecond),
			accepted, done, open, sparkline(a.P99.Blocks, low, high, room)))
	}
	if more := len(s.Arms) - len(shown); more > 0 {
		line(faint, fmt.Sprintf("and %s more; the terminal is too low", prose.Plural(more, "arm")))
	}
	return b.String()
}

// label shortens the name of an arm to width columns so that it differs from the other arms' labels: of
// "pool,workers=16,steal=true" in eight columns it keeps what follows the longest beginning that
// another arm shares.
func (s screen) label(name string, width int) string {
	runes, differs := []rune(name), 0
	for _, other := range s.Arms {
		n := 0
		for other := []rune(other.Name); n < min(len(runes), len(other)) && runes[n] == other[n]; {
			n++
		}
		if other.Name != name {
			differs = max(differs, n)
		}
	}
	if len(runes) <= width || differs < width-1 {
		return document.Cut(name, width)
	}
	begin := min(differs-width/2, len(runes)-width)
	return "…" + document.Cut(string(runes[begin+1:]), width-1)
}

// row puts the columns of an arm's line side by side.
func row(name string, names int, p50, p99, goodput, accepted, done, open, spark string) string {
	return fmt.Sprintf("%-*s %6s %6s %8s %8s %6s %5s %s", names, name, p50, p99, goodput, accepted, done, open, spark)
}

// stepWidth is how many columns a step has in the line of progress.
const stepWidth = 40

// step returns a line with the share that is done, the step in this many columns, and the time left.
// It never shows 100 %: then the result is printed.
func (s screen) step(doing string, width int) string {
	left := fmt.Sprintf("about %v left", record.Duration(s.Left).Round(time.Second))
	if left == "about 0s left" { // the budget may end a run before its last step
		left = "about to end"
	}
	return fmt.Sprintf("%3d %%  %-*s %s", min(99, 100*s.Done/max(s.Total, 1)), width, doing, left)
}

// shortly formats a time for a narrow column: "1.25ms".
func shortly(seconds float64) string { return strings.ReplaceAll(prose.Seconds(seconds), " ", "") }

// known returns the values of a figure in the blocks that have it.
func known(f record.BlockFigures) (values []float64) {
	for _, v := range f.Blocks {
		if v != nil {
			values = append(values, *v)
		}
	}
	return values
}

// middle formats the median of a figure so far; "-" if it is not known.
func middle(f record.BlockFigures, format func(float64) string) string {
	if f.SoFar == nil {
		return "-"
	}
	return format(f.SoFar.Median)
}

// span returns the scale of the sparklines, which all arms share, so that they can be compared: the
// smallest and the largest p99. It spans a factor of two at least, or noise would look like hills.
func (s screen) span() (low, high float64) {
	low = math.Inf(1)
	for _, a := range s.Arms {
		for _, v := range known(a.P99) {
			low, high = min(low, v), max(high, v)
		}
	}
	return low, max(high, 2*low)
}

// bars are the heights of a sparkline.
var bars = []rune("▁▂▃▄▅▆▇█")

// sparkline draws the newest values that fit into width on a logarithmic scale from low to high,
// one column each. An unknown value is a dot.
func sparkline(values []*float64, low, high float64, width int) string {
	var b strings.Builder
	for _, v := range values[max(len(values)-width, 0):] {
		if v == nil || low <= 0 {
			b.WriteRune('·')
			continue
		}
		height := math.Log(*v/low) / math.Log(high/low) * float64(len(bars))
		b.WriteRune(bars[min(int(height), len(bars)-1)])
	}
	return b.String()
}
