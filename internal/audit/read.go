package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"schedlab/internal/record"
)

// mostBytes is the largest text that Read accepts, in bytes. Outputs of load tools take
// kilobytes; a larger file is a mistake and would only use up memory.
const mostBytes = 16 << 20

// A Text is the result of Read: the runs, and the lines that belong to none. It has at least
// one run.
type Text struct {
	Claims  []*Claim            // by ascending first line
	Unread  []record.AuditLines // lines that belong to no run, consecutive ones as one span, without the empty ones
	Guessed []*Claim            // table rows that are marked as approximate, without figures
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
// later searched for rates in prose.
type reader struct {
	*Text
	lines []string
	all   string
	begin []int // offset of each line in all
	at    int   // index of the next line
	read  []bool
	depth Figure // requests in flight on a connection, by the last heading; 0 where it does not tell
}

// Read finds the runs in a text: output of load tools, key=value lines and tables of figures,
// with any text around them. It returns a [*SyntaxError] for a figure that cannot be parsed and
// for a text without a run, or the error of from. It refuses texts above 16 MiB. Read may be
// called from several goroutines.
func Read(from io.Reader) (*Text, error) {
	all, err := io.ReadAll(io.LimitReader(from, mostBytes+1))
	switch {
	case err != nil:
		return nil, err
	case len(all) > mostBytes:
		return nil, fmt.Errorf("longer than %d MiB", mostBytes>>20)
	}
	// Tools on Windows end lines with a carriage return, which no pattern of a row knows.
	text := strings.ReplaceAll(string(all), "\r\n", "\n")
	lines := strings.Split(text, "\n")
	r := &reader{Text: &Text{Unread: []record.AuditLines{}}, lines: lines, all: text, begin: make([]int, len(lines)), read: make([]bool, len(lines))}
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
	// Prose is read last: only then is it known which lines no other form has taken.
	r.sentences()
	for i, l := range lines {
		last := len(r.Unread) - 1
		switch {
		case r.read[i] || strings.TrimSpace(l) == "":
		case last >= 0 && r.Unread[last].End == i: // the line after an unread one
			r.Unread[last].End = i + 1
		default:
			r.Unread = append(r.Unread, record.AuditLines{Line: i + 1, End: i + 1, Text: firstRunes(l, 80)})
		}
	}
	if len(r.Claims) == 0 {
		at, begins := 1, "is empty"
		if len(r.Unread) > 0 {
			at, begins = r.Unread[0].Line, fmt.Sprintf("begins with %q", firstRunes(r.Unread[0].Text, 60))
		}
		tools := strings.Join(formats[:len(formats)-1], ", ")
		return nil, &SyntaxError{at, fmt.Errorf("no run found; want the output of %s, or lines like 'rate=250/s mean=4ms'; the text %s", tools, begins)}
	}
	slices.SortStableFunc(r.Claims, func(a, b *Claim) int { return a.Line - b.Line })
	return r.Text, nil
}

// firstRunes returns the first n characters of a line without white space around them.
func firstRunes(l string, n int) string {
	runes := []rune(strings.TrimSpace(l))
	return string(runes[:min(len(runes), n)])
}

// keep adds a run and marks the lines that it was read from as read, given by their indexes from
// 0. Without any, all from its first to its last are marked.
func (r *reader) keep(c *Claim, lines ...int) {
	r.Claims = append(r.Claims, c)
	for i := c.Line - 1; i < c.End && lines == nil; i++ {
		r.read[i] = true
	}
	for _, i := range lines {
		r.read[i] = true
	}
}

// next reads the run that begins on the next line, or skips the line. Either way r.at grows, so
// the loop in Read ends.
func (r *reader) next() error {
	l := r.lines[r.at]
	if n := len(r.Claims); n > 0 && !r.Claims[n-1].has("requests") && r.Claims[n-1].of.marked("~", l) {
		// The end of a tool's output may come after lines of another program, for example a
		// server's log. The line then continues the last run, if that has no number of requests
		// yet.
		last := r.Claims[n-1]
		r.Claims = r.Claims[:n-1]
		return r.block(last)
	}
	if i := slices.IndexFunc(tools().layouts, func(of *layout) bool { return of.marked(">", l) }); i >= 0 {
		return r.block(tools().layouts[i].claim(r.at))
	}
	for _, try := range []func() (bool, error){r.object, r.table, r.keyValues} {
		if found, err := try(); found || err != nil {
			return err
		}
	}
	r.at++
	return nil
}

// block reads the lines of a run into c. The run ends before the first line of another, at a
// fence, or where several lines in a row are not in the layout. A run without any result is
// dropped, and its lines count as unread.
func (r *reader) block(c *Claim) error {
	const patience = 2 // lines in a row that may be unknown
	first, unknown, read := r.at, 0, []int(nil)
	// A tool may print two lines that could begin a run, such as its command and its heading.
	// The second belongs to the same run as long as nothing was measured.
	other := func(l string) bool {
		return slices.ContainsFunc(tools().layouts, func(o *layout) bool { return (o != c.of || c.measured()) && o.marked(">", l) })
	}
	for i := first; i < len(r.lines) && unknown <= patience; i++ {
		l := r.lines[i]
		if strings.TrimSpace(l) == "" {
			continue
		}
		if strings.HasPrefix(l, "```") || i > first && other(l) {
			break
		}
		known, err := c.of.line(c, l)
		if err != nil {
			return &SyntaxError{i + 1, fmt.Errorf("%s: %w", c.Tool, err)}
		}
		if unknown++; known {
			c.End, read, unknown = i+1, append(read, i), 0
		}
	}
	// What follows the last known line was only looked at, and may begin another run.
	if r.at = max(c.End, first+1); c.measured() {
		r.keep(c, read...)
	}
	return nil
}

// object reads a JSON object that begins on the next line, if it has the top-level keys of a
// tool's report. It returns true for any object and even for broken JSON, which is skipped as a
// whole, so that each byte is decoded once. An error means that a figure of the tool cannot be
// parsed.
func (r *reader) object() (bool, error) {
	if !strings.HasPrefix(strings.TrimSpace(r.lines[r.at]), "{") {
		return false, nil
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
		}
		r.at += max(1, strings.Count(rest[:end], "\n"))
		return true, nil
	}
	r.at += strings.Count(rest[:d.InputOffset()], "\n") + 1
	// Layouts of text have no keys, so they never match.
	i := slices.IndexFunc(tools().layouts, func(of *layout) bool {
		return len(of.keys) > 0 && !slices.ContainsFunc(of.keys, func(k string) bool { return document[k] == nil })
	})
	if i < 0 {
		return true, nil
	}
	c := tools().layouts[i].claim(first)
	c.End = r.at
	for _, l := range flatten(nil, "", document) {
		if _, err := c.of.line(c, l); err != nil {
			path, _, _ := strings.Cut(l, " ")
			return false, &SyntaxError{c.Line, fmt.Errorf("%s: %s: %w", c.Tool, path, err)}
		}
	}
	switch {
	case c.measured():
		r.keep(c)
	case c.Tool == "k6":
		return false, &SyntaxError{c.Line, errors.New("k6: the summary has no metric http_req_duration")}
	}
	return true, nil
}

// flatten appends a line "path value" for each number and string of a JSON document, with keys
// in alphabetical order and joined by dots. Elements of an array have the path of the array. So
// the rows of a layout read JSON as they read text.
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
			lines = flatten(lines, path, e)
		}
	case json.Number, string:
		lines = append(lines, fmt.Sprint(path, " ", v))
	}
	return lines
}
