package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"schedlab/internal/capabilities/race"
	"schedlab/internal/capabilities/session"
	"schedlab/internal/measuring/judge"
	"schedlab/internal/measuring/report"
	"schedlab/internal/measuring/report/document"
	"schedlab/internal/measuring/window"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/prose"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// plainEvery is how often progress is printed where a line cannot be redrawn, as in the log of a CI
// job.
const plainEvery = 10 * time.Second

// A progress shows which step runs, how far it is and how long it still takes, on stderr: as lines,
// as lines of JSON, or live, as a screen with the answer and the arms' figures so far. It writes between windows only,
// at the events of the run: a clock that ticks, or a terminal that draws, during a window would take
// CPU time from the servers or the load. So the time left stands still while a window lasts. It is not
// safe for concurrent use.
//
// It is the [session.Observer] of every command.
type progress struct {
	w      io.Writer
	live   bool // w is a terminal to draw on
	colour bool
	off    bool
	// terminal reports whether somebody reads w while the run goes on, who could end it.
	terminal bool
	lines    *json.Encoder // of session.Progress, for a program; else nil
	last     time.Time
	unread   bool            // the program has closed its end of the lines
	told     map[string]bool // what note has said, by key
	look     string          // the last answer that Look printed, without its figures
	screen   screen
	drawn    int // lines of the drawing that stands above the cursor
	width    int // columns of the terminal when it was drawn
	// entry prints a scenario of several, or a cell of a grid, when it has ended; nil prints nothing.
	entry func(report.PackEntry) error
}

// progressKinds are the values of --progress, and progressHelp explains them. plain prints lines even
// on a terminal.
var progressKinds = []string{"auto", "live", "plain", "json", "none"}

const progressHelp = " on stderr: live (a screen with the figures so far), plain (lines), json (docs/reference/schema/progress.json), none, or auto: live on a terminal of 60 columns and 15 rows or more, else plain"

// newProgress returns a progress of one of progressKinds on w. Where w is no terminal, or a dumb one, live is plain:
// nothing could be drawn anew.
func newProgress(w io.Writer, kind string) *progress {
	p := &progress{w: w, off: kind == "none", told: map[string]bool{}, colour: textOptions(w).Colour != nil}
	if kind == "json" {
		// Go ends a program that writes to a broken stderr, unless it ignores the signal; write says
		// what happens instead.
		signal.Ignore(syscall.SIGPIPE)
		p.lines = json.NewEncoder(w)
		return p
	}
	is, columns, rows := terminalSize(w)
	p.terminal = is
	p.live = is && !dumb() && (kind == "live" || kind == "auto" && columns >= 60 && rows >= 15)
	return p
}

// terminalSize reports whether w is a terminal, with its columns and rows; 0 if it does not tell them.
func terminalSize(w io.Writer) (is bool, columns, rows int) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return false, 0, 0
	}
	columns, rows, _ = term.GetSize(int(f.Fd()))
	return true, columns, rows
}

// Step shows the step that runs, done of total steps, and the time left. It has the signature of
// runner.Progress.
func (p *progress) Step(doing string, done, total int, left time.Duration) {
	p.screen.Step, p.screen.Done, p.screen.Total, p.screen.Left = doing, done, total, left.Seconds()
	switch {
	case p.off:
	case p.lines != nil:
		p.write(session.Progress(p.screen))
	case p.live:
		p.redraw()
	case time.Since(p.last) >= plainEvery:
		p.last = time.Now()
		fmt.Fprintln(p.w, p.screen.step(document.Harmless(doing), stepWidth))
	}
}

// write writes a line for a program. When the program has stopped reading, the run stops as on Ctrl-C.
func (p *progress) write(line session.Progress) {
	if p.lines.Encode(line) == nil || p.unread {
		return
	}
	p.unread = true
	_ = syscall.Kill(os.Getpid(), syscall.SIGINT)
}

// Ended tells a program where the record of a run is, and its answer, and then is done. A run without a
// trial has no record.
func (p *progress) Ended(dir *record.Dir, run record.Run) {
	if run.Result != nil && run.Trials > 0 {
		p.screen.judge(run.Result)
		p.kept(dir, report.Short(run.Result))
	}
	p.Done()
}

// kept tells a program where a record is.
func (p *progress) kept(dir *record.Dir, answer string) {
	if p.lines != nil {
		line := session.Progress(p.screen)
		line.Step, line.Answer, line.Record = "", answer, dir.Path()
		p.write(line)
	}
}

// redraw puts the screen in place of the last drawing. It asks for the terminal's size each time, so a
// new size holds from the next event on. The cursor is hidden within this one write only: whatever
// ends the program leaves it visible.
func (p *progress) redraw() {
	columns, rows := p.size()
	text := p.screen.draw(columns, rows, p.colour)
	fmt.Fprint(p.w, "\x1b[?25l", p.erasure(columns), text, "\x1b[?25h")
	p.drawn, p.width = strings.Count(text, "\n"), columns
}

// size returns the terminal's columns and rows; the usual ones if it does not tell them.
func (p *progress) size() (columns, rows int) {
	if _, columns, rows = terminalSize(p.w); columns <= 0 || rows <= 0 {
		return 80, 24
	}
	return columns, rows
}

// erasure returns what erases the drawing. The drawing stays if the terminal is narrower now: it may
// have folded the lines, so that the drawing begins higher up, or cut them.
func (p *progress) erasure(columns int) string {
	up := ""
	if p.drawn > 0 && columns >= p.width {
		up = fmt.Sprintf("\x1b[%dA", p.drawn)
	}
	p.drawn = 0
	return "\r" + up + "\x1b[J"
}

// erase takes the drawing away until the next step.
func (p *progress) erase() {
	if p.live {
		columns, _ := p.size()
		fmt.Fprint(p.w, p.erasure(columns))
	}
}

// Done takes the drawing away, and forgets its figures. Call it when a run has ended, before anything
// else is printed on the terminal.
func (p *progress) Done() {
	p.erase()
	p.screen = screen{}
}

// Window keeps the figures of a window for the screen. They are shown at the next step.
func (p *progress) Window(plan record.Plan, w window.Window) { p.screen.take(plan, w) }

// note prints a sentence on its own line, once for each key.
func (p *progress) note(key, text string) {
	if p.off || p.told[key] {
		return
	}
	p.told[key] = true
	if p.lines != nil {
		p.write(session.Progress{Note: text})
		return
	}
	p.erase()
	fmt.Fprintf(p.w, "schedlab: %s\n", document.Harmless(text))
}

// Machine prints the sentence about the machine, also with --progress none.
func (p *progress) Machine(text string) {
	switch {
	case p.lines != nil:
		p.Say(text)
	case text != "":
		fmt.Fprintln(p.w, text)
	}
}

// Say prints a sentence once: a pack's comparisons may all have the same doubt.
func (p *progress) Say(text string) { p.note(text, text) }

// Look prints the answer after a look, so that Ctrl-C is a sensible end: the user sees what would
// be lost. An answer that differs from the last one in figures only is not printed. The live screen
// shows each answer, and so do lines for a program.
func (p *progress) Look(r record.Result, blocks int) {
	answer := report.Short(r)
	p.screen.leave(r)
	p.screen.judge(r)
	if p.screen.Answer = fmt.Sprintf("so far, after %d blocks: %s", blocks, answer); p.live || p.lines != nil {
		return
	}
	look := r.Head().Scenario + ": " + figures.ReplaceAllString(answer, "")
	if look == p.look {
		return
	}
	p.look = look
	p.note(fmt.Sprint(look, blocks), p.screen.Answer)
}

// figures finds the figures of an answer, which change from look to look: "12 blocks", "9 of 9 blocks",
// "1 more", "56.6 µs", "194/s", "20 %", "×14". A sign before them stays, and so do digits in names.
var figures = regexp.MustCompile(`(\d+ of )?\d[\d.,]*[ \x{00a0}]?(%|[nmµ]?s\b|/s\b|blocks?\b|more\b)|×\d[\d.,]*`)

// Trouble prints which program takes CPU time from server or load, once for several comparisons.
// The key has no share, which differs from window to window.
func (p *progress) Trouble(t record.Trouble) {
	p.note(fmt.Sprint(t.Cause, t.CPU, t.Program), judge.TroubleSoFar(t).String())
}

// Doubt prints what will break the answer or cannot be decided: better known before the run than after it.
func (p *progress) Doubt(d fact.Fact) { p.Say(report.Doubt(d)) }

// Entry prints a scenario of several, or a cell of a grid.
func (p *progress) Entry(e report.PackEntry) error {
	if p.entry == nil {
		return nil
	}
	return p.entry(e)
}

// Watched reports whether the progress goes to a terminal.
func (p *progress) Watched() bool { return p.terminal }

// A screen is what progress shows, live or to a program: the step that runs, the answer after the last
// look, and the windows of each arm so far. take and progress fill it in; draw makes a text of it. The
// arms are empty while nothing has been measured in blocks.
type screen session.Progress

// take adds a window of a comparison with this plan. The first trial begins another screen:
// --explain has a second comparison.
func (s *screen) take(p record.Plan, w window.Window) {
	if w.Trial.Number == 1 {
		s.Answer, s.FirstLook, s.Arms, s.Verdicts, s.AA = "", 0, nil, nil, nil
		if len(p.Looks) > 0 {
			s.FirstLook = p.Looks[0]
		}
		for i, a := range p.Arms {
			shown := session.ArmProgress{Name: a.Name, Role: a.Role}
			if i > 0 {
				shown.Against = p.Arms[judge.Reference(p.Arms, i)].Name
			}
			s.Arms = append(s.Arms, shown)
		}
	}
	i := slices.IndexFunc(s.Arms, func(a session.ArmProgress) bool { return a.Name == w.Trial.Arm })
	if i < 0 {
		return
	}
	a := &s.Arms[i]
	for of, f := range map[stats.Figure]*session.BlockFigures{stats.P50: &a.P50, stats.P90: &a.P90, stats.P99: &a.P99, stats.Goodput: &a.Goodput} {
		f.Blocks = append(f.Blocks, w.Values[of].Pointer())
		f.SoFar = stats.SpreadOf(known(*f))
	}
	if a.Connections = nil; len(w.Trial.Server.Readings) > 0 {
		a.Connections = &w.Trial.Server.Readings[len(w.Trial.Server.Readings)-1]
	}
}

// judge keeps the verdicts of a comparison.
func (s *screen) judge(r record.Result) {
	if c, is := r.(*record.Comparison); is {
		s.Verdicts, s.AA = c.Verdicts, c.AA
	}
}

// leave notes which arms of a race are out, and why.
func (s *screen) leave(r record.Result) {
	of, is := r.(*race.Race)
	if !is {
		return
	}
	for _, a := range of.Arms {
		if i := slices.IndexFunc(s.Arms, func(shown session.ArmProgress) bool { return shown.Name == a.Name }); i >= 0 && a.Out != nil {
			s.Arms[i].Out = fmt.Sprintf("out after %s: %s", prose.Plural(a.Out.After, "block"), a.Out.Short())
			if a.Out.By != "" {
				s.Arms[i].Out += " against " + a.Out.By
			}
		}
	}
}

// Styles of a line, as ANSI codes.
const bold, faint = "1", "2"

// draw returns the screen for a terminal of that many columns and rows, as whole lines that are
// shorter and fewer than these: a line that the terminal folds, or that has left it at the top,
// could not be erased. Arms without room are counted on the last line.
func (s screen) draw(columns, rows int, colour bool) string {
	columns, rows = max(columns-1, 1), max(rows-1, 1)
	var drawn []string
	line := func(style, text string) {
		text = document.Cut(strings.NewReplacer("\n", " ", "\t", " ").Replace(document.Harmless(text)), columns)
		if text = strings.TrimRight(text, " "); colour && style != "" {
			text = "\x1b[" + style + "m" + text + "\x1b[0m"
		}
		drawn = append(drawn, text+"\n")
	}
	width := max(columns-len(" 99 %   at most 1h59m59s left"), 1)
	line("", s.step(document.Cut(s.Step, width), min(stepWidth, width)))
	if len(s.Arms) == 0 {
		return drawn[0]
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
	// A sparkline has one column per block, if there is room.
	room := max(columns-utf8.RuneCountInString(row("", 0, "p50", "p99", "goodput", "accepted", "done", "open", "")), 1)
	names = max(min(names, room*2/3), 2)
	room = max(min(room-names, slices.Max(stats.Looks())), 0)
	spark := "p99 by block"
	if len(spark) > room {
		spark = "p99"
	}
	line(faint, row("", names, "p50", "p99", "goodput", "accepted", "done", "open", spark))
	// Arms that are out of a race come last.
	shown := slices.Clone(s.Arms)
	slices.SortStableFunc(shown, func(a, b session.ArmProgress) int { return cmp.Compare(min(len(a.Out), 1), min(len(b.Out), 1)) })
	if free := rows - len(drawn); len(shown) > free {
		shown = shown[:max(free-1, 0)]
	}
	low, high := s.span()
	for _, a := range shown {
		if a.Out != "" {
			line(faint, fmt.Sprintf("%-*s %s", names, s.label(a.Name, names), a.Out))
			continue
		}
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
	return strings.Join(drawn[:min(len(drawn), rows)], "")
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
	left := "about to end" // the budget may end a run before its last step
	if seconds := math.Round(s.Left); seconds > 0 {
		left = fmt.Sprintf("at most %s left", prose.RoundTime(seconds)) // a run ends as soon as it knows
	}
	return fmt.Sprintf("%3d %%  %-*s %s", min(99, 100*s.Done/max(s.Total, 1)), width, doing, left)
}

// shortly formats a time for a narrow column: "1.25ms".
func shortly(seconds float64) string { return strings.ReplaceAll(prose.Seconds(seconds), " ", "") }

// known returns the values of a figure in the blocks that have it.
func known(f session.BlockFigures) (values []float64) {
	for _, v := range f.Blocks {
		if v != nil {
			values = append(values, *v)
		}
	}
	return values
}

// middle formats the median of a figure so far; "-" if it is not known.
func middle(f session.BlockFigures, format func(float64) string) string {
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
