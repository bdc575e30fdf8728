package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"time"

	"golang.org/x/term"

	"schedlab/internal/experiment"
	"schedlab/internal/judge"
	"schedlab/internal/record"
	"schedlab/internal/report"
	"schedlab/internal/report/document"
)

// plainEvery is how often progress is printed where a line cannot be redrawn, as in the log of a CI
// job.
const plainEvery = 10 * time.Second

// A progress prints which step runs, how far it is and how long it still takes. It prints on
// stderr, and between windows only: printing during a window would take CPU time from the servers
// or the load. It is not safe for concurrent use.
//
// update draws the line. The other methods are given to the planner as its functions OnTrouble,
// OnCannot, OnDoubt and OnLook, and print a sentence each.
type progress struct {
	w    io.Writer
	live bool // redraw one line
	off  bool
	last time.Time
	told map[string]bool // what note has said, by key
	look string          // the last answer that soFar printed, without its figures
}

// progressKinds are the values of --progress. plain prints lines even on a terminal.
var progressKinds = []string{"auto", "plain", "none"}

// newProgress returns a progress of one of progressKinds on w: auto redraws one line on a terminal.
// Where w is no terminal, auto is plain.
func newProgress(w io.Writer, kind string) *progress {
	f, ok := w.(*os.File)
	return &progress{w: w, off: kind == "none", live: ok && kind == "auto" && term.IsTerminal(int(f.Fd())), told: map[string]bool{}}
}

// update prints the step that runs, done of total steps, and the time left. It has the signature of
// experiment.Progress. It never shows 100 %, which is when the result is printed.
func (p *progress) update(doing string, done, total int, left time.Duration) {
	line := fmt.Sprintf("%3d %%  %-40s about %v left", min(99, 100*done/max(total, 1)), document.Harmless(doing), left.Round(time.Second))
	switch {
	case p.off:
	case p.live:
		fmt.Fprintf(p.w, "\r\x1b[K%s", line)
	case time.Since(p.last) >= plainEvery:
		p.last = time.Now()
		fmt.Fprintln(p.w, line)
	}
}

// note prints a sentence on its own line, once for each key.
func (p *progress) note(key, text string) {
	if p.off || p.told[key] {
		return
	}
	p.told[key] = true
	p.done() // the line that is redrawn gives way
	fmt.Fprintf(p.w, "schedlab: %s\n", document.Harmless(text))
}

// say prints a sentence once: a pack's comparisons may all have the same doubt.
func (p *progress) say(text string) { p.note(text, text) }

// soFar prints the answer after a look, so that Ctrl-C is a sensible end: the user sees what would
// be lost. An answer that differs from the last one in figures only is not printed.
func (p *progress) soFar(r *record.Result) {
	answer := report.Headline(r)
	look := r.Scenario + ": " + figures.ReplaceAllString(answer, "")
	if look == p.look {
		return
	}
	p.look = look
	p.note(fmt.Sprint(look, r.Valid), fmt.Sprintf("after %d blocks: %s", r.Valid, answer))
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

// done takes the redrawn line away. Call it before anything else is printed on the terminal.
func (p *progress) done() {
	if p.live && !p.off {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
