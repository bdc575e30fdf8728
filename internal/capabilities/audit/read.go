package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// mostBytes is the largest text that Read accepts, in bytes. Outputs of load tools take
// kilobytes; a larger file is a mistake and would only use up memory.
const mostBytes = 16 << 20

// A Text is the result of Read: the runs, and the lines that belong to none. It has at least
// one run.
type Text struct {
	Claims  []*Claim // by ascending first line
	Unread  []Lines  // lines that belong to no run or that cannot be read, consecutive ones as one span, without the empty ones
	Guessed []*Claim // table rows that are marked as approximate, without figures
}

// A SyntaxError is the first line that cannot be read, and the reason in Err.
type SyntaxError struct {
	Line int // from 1
	Err  error
}

// Error returns "line 7: " and the reason.
func (e *SyntaxError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// formats names everything that Read knows; the last is no tool.
var formats = []string{"wrk", "wrk2", "httperf", "ab", "hey", "oha", "vegeta", "k6", "fortio", "bombardier", "h2load", "key=value"}

// A reader is the state of Read. It goes through the lines once, from top to bottom. At each
// line it tries the forms in the order of their certainty: a line that begins a tool's output,
// a JSON object, a Markdown table, lines of key=value. A line that fits none is skipped, and is
// later searched for rates in prose. A line that cannot be read never ends the reading.
type reader struct {
	*Text
	lines []string
	all   string
	begin []int // offset of each line in all
	at    int   // index of the next line
	read  []bool
	why   map[int]error // the reason for a line that cannot be read, by its index
	depth Figure        // requests in flight on a connection, by the last heading; 0 where it does not tell
}

// Read finds the runs in a text: output of load tools, key=value lines and tables of figures,
// with any text around them, in any encoding and with what terminals, quotes and logs put around
// each line. Lines that cannot be read are listed in Unread. It returns a [*SyntaxError] for a
// text without a run, or the error of from. It refuses texts above 16 MiB. Read may be called from
// several goroutines.
func Read(from io.Reader) (*Text, error) {
	all, err := io.ReadAll(io.LimitReader(from, mostBytes+1))
	switch {
	case err != nil:
		return nil, err
	case len(all) > mostBytes:
		return nil, fmt.Errorf("longer than %d MiB", mostBytes>>20)
	}
	lines := linesOf(all)
	r := &reader{Text: &Text{Unread: []Lines{}}, lines: lines, all: strings.Join(lines, "\n"),
		begin: make([]int, len(lines)), read: make([]bool, len(lines)), why: map[int]error{}}
	for i, l := range lines[:len(lines)-1] {
		r.begin[i+1] = r.begin[i] + len(l) + 1
	}
	for r.at < len(lines) {
		r.next()
	}
	for _, c := range r.Claims {
		c.finish()
	}
	// Prose is read last: only then is it known which lines no other form has taken.
	r.sentences()
	for i, l := range lines {
		last := len(r.Unread) - 1
		if r.why[i] == nil && !r.read[i] {
			r.why[i] = instead(l)
		}
		switch why := r.why[i]; {
		case why != nil:
			r.Unread = append(r.Unread, Lines{Line: i + 1, End: i + 1, Text: firstRunes(l, 80), Reason: why.Error()})
		case r.read[i] || strings.TrimSpace(l) == "":
		case last >= 0 && r.Unread[last].End == i && r.Unread[last].Reason == "": // the line after an unread one
			r.Unread[last].End = i + 1
		default:
			r.Unread = append(r.Unread, Lines{Line: i + 1, End: i + 1, Text: firstRunes(l, 80)})
		}
	}
	if len(r.Claims) == 0 {
		return nil, r.noRun()
	}
	slices.SortStableFunc(r.Claims, func(a, b *Claim) int { return a.Line - b.Line })
	return r.Text, nil
}

// noRun is the error for a text without a run. The first line that could not be read tells most.
func (r *reader) noRun() error {
	at, begins := 1, "is empty"
	if len(r.Unread) > 0 {
		at, begins = r.Unread[0].Line, fmt.Sprintf("begins with %q", firstRunes(r.Unread[0].Text, 60))
	}
	for i := range r.lines {
		if r.why[i] != nil {
			return &SyntaxError{i + 1, r.why[i]}
		}
	}
	known := strings.Join(formats[:len(formats)-1], ", ")
	return &SyntaxError{at, fmt.Errorf("no run found; want the output of %s, or lines like 'rate=250/s mean=4ms'; the text %s", known, begins)}
}

// firstRunes returns the first n characters of a line without white space around them.
func firstRunes(l string, n int) string {
	runes := []rune(strings.TrimSpace(l))
	return string(runes[:min(len(runes), n)])
}

// keep adds a run and marks its lines as read. lines are their indexes, from 0; without any, keep marks all
// lines from the run's first to its last.
func (r *reader) keep(c *Claim, lines ...int) {
	r.Claims = append(r.Claims, c)
	for i := c.Line - 1; i < c.End && lines == nil; i++ {
		r.read[i] = true
	}
	for _, i := range lines {
		r.read[i] = true
	}
}

// cannot keeps the reason why a line, by its index, cannot be read. The first one counts.
func (r *reader) cannot(line int, why error) {
	if r.why[line] == nil {
		r.why[line] = why
	}
}

// next reads the run that begins on the next line, or skips the line. Either way r.at grows, so
// the loop in Read ends.
func (r *reader) next() {
	l := r.lines[r.at]
	if n := len(r.Claims); n > 0 && !r.Claims[n-1].has("requests") && r.Claims[n-1].of.marked("~", l) {
		// The end of a tool's output may come after lines of another program, for example a
		// server's log. The line then continues the last run, if that has no number of requests
		// yet.
		last := r.Claims[n-1]
		r.Claims = r.Claims[:n-1]
		r.block(last)
		return
	}
	if i := slices.IndexFunc(tools().layouts, func(of *layout) bool { return of.marked(">", l) || of.marked("?", l) }); i >= 0 {
		r.block(tools().layouts[i].claim(r.at))
	} else if !r.object() && !r.table() && !r.keyValues() {
		r.at++
	}
}

// block reads the lines of a run into c. The run ends before the first line of another, at a
// fence, or where several lines in a row are not in the layout, unless a line follows that surely
// belongs to the run: a line with words that no other line has, and that the run did not have yet. So a
// script may print between a tool's lines. A run without any result is dropped, and its lines count as unread.
func (r *reader) block(c *Claim) {
	const patience = 2 // lines in a row that may be unknown
	first, unknown, read, seen := r.at, 0, []int(nil), map[*row]bool{}
	for i := first; i < len(r.lines); i++ {
		l := r.lines[i]
		if strings.TrimSpace(l) == "" {
			if c.part == "*" {
				c.part = ""
			}
			continue
		}
		if strings.HasPrefix(strings.TrimSpace(l), "```") || i > first && c.ends(l, seen) {
			break
		}
		p, m := c.of.find(l)
		if c.part == "*" {
			c.End, read = i+1, append(read, i)
			continue
		}
		if p == nil || unknown > patience && (!p.certain || seen[p]) {
			unknown++
			continue
		}
		if err := p.take(c, m); err != nil {
			r.cannot(i, fmt.Errorf("%s: %w", c.Tool, err))
		} else {
			read = append(read, i)
		}
		c.End, unknown, seen[p] = i+1, 0, true
		c.cutShort = p.list && r.endsAfter(i)
	}
	// What follows the last known line was only looked at, and may begin another run.
	if r.at = max(c.End, first+1); c.measured() {
		r.keep(c, read...)
		r.headOf(c)
	}
}

// endsAfter reports whether the text ends behind a line, given by its index, with fewer blank lines
// than tools print at the end of their output.
func (r *reader) endsAfter(line int) bool {
	rest := r.lines[line+1:]
	return len(rest) <= 2 && strings.TrimSpace(strings.Join(rest, "")) == ""
}

// headOf marks the lines right before a run as read that the same tool prints: its log, a warning, or
// the head above its JSON.
func (r *reader) headOf(c *Claim) {
	for i := c.Line - 2; i >= 0 && !r.read[i]; i-- {
		if !slices.ContainsFunc(tools().layouts, func(of *layout) bool {
			p, _ := of.find(r.lines[i])
			return of.tool == c.of.tool && p != nil
		}) {
			return
		}
		r.read[i] = true
	}
}

// ends reports whether another run begins at the line, after the lines of c that are seen. A tool
// may print two lines that could begin a run, such as its command and its heading; the second
// belongs to the same run as long as nothing was measured. A line that may also stand within a run
// begins another only if the run had it already.
func (c *Claim) ends(l string, seen map[*row]bool) bool {
	for _, of := range tools().layouts {
		for _, p := range of.rows {
			switch {
			case p.mark != ">" && p.mark != "?" || p.match(l) == nil:
			case of != c.of, p.mark == ">" && (c.measured() || seen[p]), p.mark == "?" && seen[p] && c.part != "-":
				return true
			}
		}
	}
	return false
}

// object reads a JSON object that begins on the next line, if it has the top-level keys of a
// tool's report. It returns true for any object and even for broken JSON, which is skipped as a
// whole, so that each byte is decoded once.
func (r *reader) object() bool {
	if !strings.HasPrefix(strings.TrimSpace(r.lines[r.at]), "{") {
		return false
	}
	rest, first := r.all[r.begin[r.at]:], r.at
	d := json.NewDecoder(strings.NewReader(rest))
	// Numbers stay text: their digits tell how they were rounded.
	d.UseNumber()
	var document map[string]any
	if err := d.Decode(&document); err != nil {
		// Without an offset the text ended within the object, so nothing is left to read.
		end := int64(len(rest))
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			end = min(end, syntax.Offset-1)
		} else if errors.Is(err, io.ErrUnexpectedEOF) {
			r.cannot(first, errors.New("the text ends within the JSON object that begins here: it was cut off"))
		}
		r.at += max(1, strings.Count(rest[:end], "\n"))
		return true
	}
	r.at += strings.Count(rest[:d.InputOffset()], "\n") + 1
	// Layouts of text have no keys, so they never match.
	i := slices.IndexFunc(tools().layouts, func(of *layout) bool {
		return len(of.keys) > 0 && !slices.ContainsFunc(of.keys, func(k string) bool { return document[k] == nil })
	})
	if i < 0 {
		return true
	}
	c := tools().layouts[i].claim(first)
	c.End = r.at
	for _, l := range flatten(nil, "", document) {
		if p, m := c.of.find(l); p != nil {
			if err := p.take(c, m); err != nil {
				path, _, _ := strings.Cut(l, " ")
				r.cannot(first, fmt.Errorf("%s: %s: %w", c.Tool, path, err))
			}
		}
	}
	switch {
	case c.measured():
		r.keep(c)
		r.headOf(c)
	case c.Tool == "k6":
		r.cannot(first, errors.New("k6: the summary has no metric http_req_duration"))
	}
	return true
}

// flatten appends a line "path value" for each number and string of a JSON document, with keys
// in alphabetical order and joined by dots. Elements of an array have the path of the array, and
// their name if they are named values. So the rows of a layout read JSON as they read text.
func flatten(lines []string, path string, v any) []string {
	switch v := v.(type) {
	case map[string]any:
		if q, ok := v["Percentile"].(json.Number); ok { // in fortio's list of them
			return flatten(lines, within(path, q.String()), v["Value"])
		}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			below := within(path, k)
			if k == "values" { // k6's handleSummary has them around the statistics
				below = path
			}
			lines = flatten(lines, below, v[k])
		}
	case []any:
		for _, e := range v {
			of := path
			if named, ok := e.(map[string]any); ok && named["values"] != nil { // in k6's machine-readable summary
				name, _ := named["name"].(string)
				of, e = within(path, name), named["values"]
			}
			lines = flatten(lines, of, e)
		}
	case json.Number, string:
		lines = append(lines, fmt.Sprint(path, " ", v))
	}
	return lines
}
