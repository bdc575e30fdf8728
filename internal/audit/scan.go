package audit

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
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

// A layout is how a tool prints a run in lines of text.
type layout struct {
	tool   string
	begins *regexp.Regexp // a line that no other tool prints
	then   *regexp.Regexp // the next line that is not empty, where the first alone does not tell; nil where it does
	resume *regexp.Regexp // a line that goes on with a run which was cut in two; nil for none
	lines  []pattern
	finish func(c *Claim) // works out what the lines say together; nil for nothing
}

// A pattern is a line of a layout. A line of a layout that says nothing of use has a
// pattern without take.
type pattern struct {
	re   *regexp.Regexp
	take func(c *Claim, m []string) error
}

func line(re string, take func(c *Claim, m []string) error) pattern {
	return pattern{regexp.MustCompile(re), take}
}

// layouts are all of them; where two could begin on a line the first is right.
var layouts = []*layout{&wrkLayout, &httperfLayout, &abLayout, &ohaLayout, &heyLayout, &vegetaLayout, &k6Layout, &bombardierLayout, &h2loadLayout}

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
	first := strings.TrimSpace(r.Lines[at-1])
	if runes := []rune(first); len(runes) > 60 {
		first = string(runes[:60]) + "..."
	}
	begins := fmt.Sprintf("begins with %q", first)
	if first == "" {
		begins = "is empty"
	}
	return &SyntaxError{at, fmt.Errorf("no run found; want the output of %s, or lines like 'rate=250/s mean=4ms'; the text %s", strings.Join(Formats()[:len(Formats())-1], ", "), begins)}
}

// next reads what begins on the next line, or passes it.
func (r *reader) next() error {
	l := r.Lines[r.at]
	if last := r.last(); last != nil {
		if of := layoutOf(last.Tool); of != nil && of.resume != nil && !last.has(Requests) && of.resume.MatchString(l) {
			return r.block(of, last)
		}
	}
	for _, of := range layouts {
		if r.begins(of) {
			c := newClaim(of.tool, r.at+1)
			if err := r.block(of, c); err != nil {
				return err
			}
			if c.measured() {
				r.Claims = append(r.Claims, c)
			}
			return nil
		}
	}
	for _, try := range []func() (bool, error){r.object, r.table, r.keyValues} {
		if found, err := try(); found || err != nil {
			return err
		}
	}
	r.at++
	return nil
}

// last is the newest run; nil for none.
func (r *reader) last() *Claim {
	if len(r.Claims) == 0 {
		return nil
	}
	return r.Claims[len(r.Claims)-1]
}

func layoutOf(tool string) *layout {
	if tool == toolWrk2 {
		tool = toolWrk
	}
	for _, of := range layouts {
		if of.tool == tool {
			return of
		}
	}
	return nil
}

// begins reports whether a run of the layout begins on the next line.
func (r *reader) begins(of *layout) bool {
	if !of.begins.MatchString(r.Lines[r.at]) {
		return false
	}
	if of.then == nil {
		return true
	}
	for _, l := range r.Lines[r.at+1:] {
		if strings.TrimSpace(l) != "" {
			return of.then.MatchString(l)
		}
	}
	return false
}

// patience is how many lines within a run may be unknown.
const patience = 2

// block reads the lines of a run. It ends before a line that is another run's first, at
// a fence, and where none of several lines is the layout's.
func (r *reader) block(of *layout, c *Claim) error {
	first := r.at
	strange := 0
	for i := first; i < len(r.Lines) && strange <= patience; i++ {
		l := r.Lines[i]
		if strings.TrimSpace(l) == "" {
			continue
		}
		if strings.HasPrefix(l, "```") {
			break
		}
		if r.at = i; i > first && (of.begins.MatchString(l) && c.measured() || r.another(of)) {
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
	if of.finish != nil {
		of.finish(c)
	}
	if !c.measured() {
		for i := first; i < r.at; i++ {
			r.read[i] = false
		}
	}
	return nil
}

// another reports whether a run of another layout begins on the next line.
func (r *reader) another(than *layout) bool {
	return slices.ContainsFunc(layouts, func(of *layout) bool { return of != than && r.begins(of) })
}

// line takes what a line says; known is false where it is none of the layout.
func (of *layout) line(c *Claim, l string) (known bool, err error) {
	for _, p := range of.lines {
		if m := p.re.FindStringSubmatch(l); m != nil {
			if p.take == nil {
				return true, nil
			}
			return true, p.take(c, m)
		}
	}
	return false, nil
}

// into takes the groups of a line, each as the figure of a name; "" leaves a group out.
func into(read func(string) (Figure, error), names ...string) func(c *Claim, m []string) error {
	return func(c *Claim, m []string) error {
		for i, name := range names {
			if name == "" || m[i+1] == "" {
				continue
			}
			f, err := read(m[i+1])
			if err != nil {
				return err
			}
			c.set(name, f)
		}
		return nil
	}
}

// in reads figures of one kind of unit; unit is put behind what has none.
func in(units map[string]float64, unit string) func(string) (Figure, error) {
	return func(text string) (Figure, error) { return figure(text+unit, units) }
}

// quantileLine takes a share in percent and its time.
func quantileLine(read func(string) (Figure, error)) func(c *Claim, m []string) error {
	return func(c *Claim, m []string) error {
		q, err := strconv.ParseFloat(strings.TrimSuffix(m[1], "%"), 64)
		if err != nil || q > 100 {
			return fmt.Errorf("%q is no share", m[1])
		}
		f, err := read(m[2])
		if err != nil {
			return err
		}
		c.set(quantileName(q), f)
		return nil
	}
}
