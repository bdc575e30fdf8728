package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"schedlab/internal/experiment"
	"schedlab/internal/judge"
	"schedlab/internal/record"
	"schedlab/internal/report"
	"schedlab/internal/report/document"
	"schedlab/internal/window"
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
// update shows the step. The other methods are given to the planner as its functions OnTrouble,
// OnCannot, OnDoubt, OnLook and OnWindow. The first three print a sentence each.
type progress struct {
	w        io.Writer
	terminal *os.File // is w where progress is live; else nil
	colour   bool
	off      bool
	lines    *json.Encoder // of record.Progress, for a program; else nil
	last     time.Time
	unread   bool            // nobody reads the lines for programs any longer
	told     map[string]bool // what note has said, by key
	look     string          // the last answer that soFar printed, without its figures
	screen   screen
	drawn    int // lines of the drawing that stands above the cursor
	width    int // columns of the terminal when it was drawn
}

// progressKinds are the values of --progress, and progressHelp explains them. plain prints lines even
// on a terminal.
var progressKinds = []string{"auto", "live", "plain", "json", "none"}

const progressHelp = " on stderr: live (a screen with the answer and figures so far, drawn anew between windows), plain (lines), json (a line a step, as docs/reference/schema/progress.json says), none, or auto: live on a terminal of 60 columns and 15 rows or more, else plain"

// newProgress returns a progress of one of progressKinds on w. Where w is no terminal, live is plain:
// nothing could be drawn anew. auto does not trust a terminal that calls itself dumb.
func newProgress(w io.Writer, kind string) *progress {
	p := &progress{w: w, off: kind == "none", told: map[string]bool{}, colour: textOptions(w).Colour != nil}
	if kind == "json" {
		// Go ends a program that writes to a broken stderr, unless it ignores the signal; write says
		// what happens instead.
		signal.Ignore(syscall.SIGPIPE)
		p.lines = json.NewEncoder(w)
		return p
	}
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return p
	}
	columns, rows, err := term.GetSize(int(f.Fd()))
	if kind == "live" || kind == "auto" && err == nil && columns >= 60 && rows >= 15 && os.Getenv("TERM") != "dumb" {
		p.terminal = f
	}
	return p
}

// update shows the step that runs, done of total steps, and the time left. It has the signature of
// experiment.Progress.
func (p *progress) update(doing string, done, total int, left time.Duration) {
	p.screen.Step, p.screen.Done, p.screen.Total, p.screen.Left = doing, done, total, left.Seconds()
	switch {
	case p.off:
	case p.lines != nil:
		p.write(record.Progress(p.screen))
	case p.terminal != nil:
		p.redraw()
	case time.Since(p.last) >= plainEvery:
		p.last = time.Now()
		fmt.Fprintln(p.w, p.screen.step(document.Harmless(doing), stepWidth))
	}
}

// write writes a line for a program. If nobody reads any longer, the run ends as by Ctrl-C.
func (p *progress) write(line record.Progress) {
	if p.lines.Encode(line) == nil || p.unread {
		return
	}
	p.unread = true
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Signal(os.Interrupt)
	}
}

// ended tells a program where the record of a run is, and its answer, and then is done. A run without a
// trial has no record.
func (p *progress) ended(dir *record.Dir, run record.Run) {
	if run.Result != nil && run.Trials > 0 {
		p.kept(dir, report.Headline(run.Result))
	}
	p.done()
}

// kept tells a program where a record is.
func (p *progress) kept(dir *record.Dir, answer string) {
	if p.lines != nil {
		line := record.Progress(p.screen)
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
	columns, rows, err := term.GetSize(int(p.terminal.Fd()))
	if err != nil || columns <= 0 || rows <= 0 {
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
	if p.terminal != nil {
		columns, _ := p.size()
		fmt.Fprint(p.w, p.erasure(columns))
	}
}

// done takes the drawing away, and forgets its figures. Call it when a run has ended, before anything
// else is printed on the terminal.
func (p *progress) done() {
	p.erase()
	p.screen = screen{}
}

// window keeps the figures of a window for the screen. They are shown at the next step.
func (p *progress) window(plan record.Plan, w window.Window) { p.screen.take(plan, w) }

// note prints a sentence on its own line, once for each key.
func (p *progress) note(key, text string) {
	if p.off || p.told[key] {
		return
	}
	p.told[key] = true
	if p.lines != nil {
		p.write(record.Progress{Note: text})
		return
	}
	p.erase()
	fmt.Fprintf(p.w, "schedlab: %s\n", document.Harmless(text))
}

// machine prints the sentence about the machine, also with --progress none.
func (p *progress) machine(text string) {
	if p.lines != nil {
		p.say(text)
		return
	}
	if text != "" {
		fmt.Fprintln(p.w, text)
	}
}

// say prints a sentence once: a pack's comparisons may all have the same doubt.
func (p *progress) say(text string) { p.note(text, text) }

// soFar prints the answer after a look, so that Ctrl-C is a sensible end: the user sees what would
// be lost. An answer that differs from the last one in figures only is not printed. The live screen
// shows each answer, and so do lines for a program.
func (p *progress) soFar(r *record.Result) {
	answer := report.Headline(r)
	if p.screen.Answer = fmt.Sprintf("after %d blocks: %s", r.Valid, answer); p.terminal != nil || p.lines != nil {
		return
	}
	look := r.Scenario + ": " + figures.ReplaceAllString(answer, "")
	if look == p.look {
		return
	}
	p.look = look
	p.note(fmt.Sprint(look, r.Valid), p.screen.Answer)
}

// figures finds the figures of an answer, which change from look to look: "12 blocks", "9 of 9 blocks",
// "1 more", "56.6 µs", "194/s", "20 %", "×14". A sign before them stays, and so do digits in names.
var figures = regexp.MustCompile(`(\d+ of )?\d[\d.,]*[ \x{00a0}]?(%|[nmµ]?s\b|/s\b|blocks?\b|more\b)|×\d[\d.,]*`)

// trouble prints which program takes CPU time from server or load, once for several comparisons.
// The key has no share, which differs from window to window.
func (p *progress) trouble(t record.Trouble) {
	p.note(fmt.Sprint(t.Cause, t.CPU, t.Program), judge.TroubleSoFar(t).String())
}

// cannot prints which metrics the coming comparison cannot decide, and the flags that would help.
func (p *progress) cannot(f record.Feasibility) {
	for _, u := range experiment.Undecided(f, false) {
		p.say(u.String())
	}
}

// doubt prints a doubt that will break the answer: better known before the run than after it.
func (p *progress) doubt(d record.Fact) { p.say(report.Doubt(d)) }
