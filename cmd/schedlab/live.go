package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"schedlab/internal/prose"
	"schedlab/internal/record"
	"schedlab/internal/report/document"
	"schedlab/internal/stats"
	"schedlab/internal/window"
)

// A screen is what live progress shows, as values: the step that runs, the answer after the last
// look, and the windows of each arm so far. take and progress fill it in; draw makes a text of it.
// The arms are empty while nothing has been measured in blocks.
type screen struct {
	doing       string
	done, total int
	left        time.Duration
	answer      string // "" before the first look
	first       int    // number of blocks of the first look; 0 if none comes
	arms        []watched
}

// A watched is an arm on the screen, with the figures of its windows in the order of the blocks.
// NaN is a figure that is not known, as a quantile of too few requests.
type watched struct {
	name              string
	role              record.Role
	p50, p99, goodput []float64
	conns             *record.Reading // as the newest window ended; nil if the server does not tell
}

// take adds a window of a comparison with this plan. The first trial begins another screen: a map
// has many comparisons, and --explain a second one.
func (s *screen) take(p record.Plan, w window.Window) {
	if w.Trial.Number == 1 {
		s.answer, s.first, s.arms = "", 0, nil
		if len(p.Looks) > 0 {
			s.first = p.Looks[0]
		}
		for _, a := range p.Arms {
			s.arms = append(s.arms, watched{name: a.Name, role: a.Role})
		}
	}
	i := slices.IndexFunc(s.arms, func(a watched) bool { return a.name == w.Trial.Arm })
	if i < 0 {
		return
	}
	a := &s.arms[i]
	a.p50, a.p99, a.goodput = append(a.p50, w.Values["p50"]), append(a.p99, w.Values["p99"]), append(a.goodput, w.Values["goodput"])
	if a.conns = nil; len(w.Trial.Server.Readings) > 0 {
		a.conns = &w.Trial.Server.Readings[len(w.Trial.Server.Readings)-1]
	}
}

// progress returns the screen for a program.
func (s screen) progress() record.Progress {
	p := record.Progress{Step: s.doing, Done: s.done, Total: s.total, Left: s.left.Seconds(), FirstLook: s.first, Answer: s.answer}
	figures := func(values []float64) (f record.BlockFigures) {
		f.SoFar = record.SpreadOf(known(values))
		for _, v := range values {
			if math.IsNaN(v) { // JSON has no word for it
				f.Blocks = append(f.Blocks, nil)
			} else {
				f.Blocks = append(f.Blocks, &v)
			}
		}
		return f
	}
	for _, a := range s.arms {
		p.Arms = append(p.Arms, record.ArmProgress{Name: a.name, Role: a.role, P50: figures(a.p50), P99: figures(a.p99), Goodput: figures(a.goodput), Connections: a.conns})
	}
	return p
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
	line("", s.step(document.Cut(s.doing, width), min(stepWidth, width)))
	if len(s.arms) == 0 {
		return b.String()
	}
	answer := s.answer
	if answer == "" && len(s.arms[0].p50) <= s.first {
		answer = fmt.Sprintf("no answer yet: the first look is after %s", prose.Plural(s.first, "block"))
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
	for _, a := range s.arms {
		names = max(names, utf8.RuneCountInString(a.name))
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
	shown := s.arms
	if len(shown) > rows-used {
		shown = shown[:max(rows-used-1, 0)]
	}
	low, high := s.span()
	for _, a := range shown {
		accepted, done, open := "-", "-", "-"
		if a.conns != nil {
			accepted, done, open = strconv.FormatInt(a.conns.Accepted, 10), strconv.FormatInt(a.conns.Done, 10), strconv.FormatInt(a.conns.Open, 10)
		}
		line("", row(s.label(a.name, names), names, middle(a.p50, shortly), middle(a.p99, shortly), middle(a.goodput, prose.PerSecond),
			accepted, done, open, sparkline(a.p99, low, high, room)))
	}
	if more := len(s.arms) - len(shown); more > 0 {
		line(faint, fmt.Sprintf("and %s more; the terminal is too low", prose.Plural(more, "arm")))
	}
	return b.String()
}

// label shortens the name of an arm to width columns so that it differs from the other arms' labels: of
// "pool,workers=16,steal=true" in eight columns it keeps what follows the longest beginning that
// another arm shares.
func (s screen) label(name string, width int) string {
	runes, differs := []rune(name), 0
	for _, other := range s.arms {
		n := 0
		for other := []rune(other.name); n < min(len(runes), len(other)) && runes[n] == other[n]; {
			n++
		}
		if other.name != name {
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
	left := s.left.Round(time.Second)
	if left == 0 { // the budget may end a run before its last step
		return fmt.Sprintf("%3d %%  %-*s about to end", min(99, 100*s.done/max(s.total, 1)), width, doing)
	}
	return fmt.Sprintf("%3d %%  %-*s about %v left", min(99, 100*s.done/max(s.total, 1)), width, doing, left)
}

// shortly formats a time for a narrow column: "1.25ms".
func shortly(seconds float64) string { return strings.ReplaceAll(prose.Seconds(seconds), " ", "") }

// known returns the values that are not NaN.
func known(values []float64) []float64 {
	return slices.DeleteFunc(slices.Clone(values), math.IsNaN)
}

// middle formats the median of the values that are known; "-" if none is.
func middle(values []float64, format func(float64) string) string {
	if values = known(values); len(values) == 0 {
		return "-"
	}
	return format(stats.Median(values))
}

// span returns the scale of the sparklines, which all arms share, so that they can be compared: the
// smallest and the largest p99. It spans a factor of two at least, or noise would look like hills.
func (s screen) span() (low, high float64) {
	low = math.Inf(1)
	for _, a := range s.arms {
		for _, v := range known(a.p99) {
			low, high = min(low, v), max(high, v)
		}
	}
	return low, max(high, 2*low)
}

// bars are the heights of a sparkline.
var bars = []rune("▁▂▃▄▅▆▇█")

// sparkline draws the newest values that fit into width on a logarithmic scale from low to high,
// one column each. An unknown value is a dot.
func sparkline(values []float64, low, high float64, width int) string {
	var b strings.Builder
	for _, v := range values[max(len(values)-width, 0):] {
		if math.IsNaN(v) || low <= 0 {
			b.WriteRune('·')
			continue
		}
		height := math.Log(v/low) / math.Log(high/low) * float64(len(bars))
		b.WriteRune(bars[min(int(height), len(bars)-1)])
	}
	return b.String()
}
