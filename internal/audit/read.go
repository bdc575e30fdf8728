package audit

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// mostBytes of a text are read.
const mostBytes = 16 << 20

// A Text is what was read: runs, and lines that belong to none.
type Text struct {
	Claims  []*Claim
	Unread  []int // lines, from 1, in order; empty lines are not among them
	Guessed []int // lines of tables whose cells are marked as approximate
	Lines   []string
}

// Formats are the names of what Read knows.
func Formats() []string {
	return []string{toolWrk, toolWrk2, toolHTTPerf, toolAB, toolHey, toolOha, toolVegeta, toolK6, toolFortio, toolBombardier, toolH2load, "key=value"}
}

// A reader is a text while it is read.
type reader struct {
	*Text
	all   string
	begin []int // where each line begins in it
	at    int   // index of the next line
	read  []bool
	// Lines before this index were looked at as key=value, and say nothing.
	noPairs int
	depth   Figure // requests in flight on a connection, by the last heading
}

// Read finds the runs in a text: what load tools print, key=value lines and tables of
// figures, with anything around them. An error is a [SyntaxError], or the reader's.
func Read(from io.Reader) (*Text, error) {
	all, err := io.ReadAll(io.LimitReader(from, mostBytes+1))
	switch {
	case err != nil:
		return nil, err
	case len(all) > mostBytes:
		return nil, fmt.Errorf("longer than %d MiB", mostBytes>>20)
	}
	text := strings.ReplaceAll(string(all), "\r\n", "\n")
	lines := strings.Split(text, "\n")
	r := &reader{Text: &Text{Lines: lines}, all: text, begin: make([]int, len(lines)), read: make([]bool, len(lines))}
	for i, l := range lines[:len(lines)-1] {
		r.begin[i+1] = r.begin[i] + len(l) + 1
	}
	for r.at < len(lines) {
		if err := r.next(); err != nil {
			return nil, err
		}
	}
	for _, c := range r.Claims {
		c.finish()
	}
	r.prose()
	for i, l := range lines {
		if !r.read[i] && strings.TrimSpace(l) != "" {
			r.Unread = append(r.Unread, i+1)
		}
	}
	if len(r.Claims) == 0 {
		return nil, r.nothing()
	}
	slices.SortStableFunc(r.Claims, func(a, b *Claim) int { return a.Line - b.Line })
	return r.Text, nil
}

// nothing says what was expected.
func (r *reader) nothing() error {
	at := 1
	if len(r.Unread) > 0 {
		at = r.Unread[0]
	}
	first := []rune(strings.TrimSpace(r.Lines[at-1]))
	begins := fmt.Sprintf("begins with %q", string(first[:min(len(first), 60)]))
	if len(first) == 0 {
		begins = "is empty"
	}
	return &SyntaxError{at, fmt.Errorf("no run found; want the output of %s, or lines like 'rate=250/s mean=4ms'; the text %s", strings.Join(Formats()[:len(Formats())-1], ", "), begins)}
}

// next reads what begins on the next line, or passes it.
func (r *reader) next() error {
	l := r.Lines[r.at]
	if strings.HasPrefix(l, "#") {
		r.depth = Figure{}
		if m := depthHead.FindStringSubmatch(l); m != nil {
			r.depth, _ = figure(m[1], "count")
		}
	}
	if n := len(r.Claims); n > 0 && !r.Claims[n-1].has(Requests) {
		last := r.Claims[n-1]
		if i := slices.IndexFunc(layouts, func(of *layout) bool { return of == last.of && of.resumes(l) }); i >= 0 {
			return r.block(layouts[i], last)
		}
	}
	if i := slices.IndexFunc(layouts, func(of *layout) bool { return of.begins(l) }); i >= 0 {
		c := newClaim(layouts[i].tool, r.at+1)
		c.of, c.Loop = layouts[i], layouts[i].loop
		if err := r.block(c.of, c); err != nil {
			return err
		}
		if c.measured() {
			r.Claims = append(r.Claims, c)
		}
		return nil
	}
	for _, try := range []func() (bool, error){r.object, r.table, r.keyValues} {
		if found, err := try(); found || err != nil {
			return err
		}
	}
	r.at++
	return nil
}

// patience is how many lines within a run may be unknown.
const patience = 2

// block reads the lines of a run. It ends before a line that is another run's first, at
// a fence, and where none of several lines is the layout's.
func (r *reader) block(of *layout, c *Claim) error {
	first, strange := r.at, 0
	for i := first; i < len(r.Lines) && strange <= patience; i++ {
		l := r.Lines[i]
		if strings.TrimSpace(l) == "" {
			continue
		}
		if strings.HasPrefix(l, "```") || i > first && slices.ContainsFunc(layouts, func(o *layout) bool { return (o != of || c.measured()) && o.begins(l) }) {
			break
		}
		known, err := of.line(c, l)
		if err != nil {
			return &SyntaxError{i + 1, fmt.Errorf("%s: %w", c.Tool, err)}
		}
		if !known {
			strange++
			continue
		}
		strange = 0
		c.End, r.read[i] = i+1, true
	}
	r.at = max(c.End, first+1)
	if !c.measured() {
		for i := first; i < r.at; i++ {
			r.read[i] = false
		}
	}
	return nil
}
