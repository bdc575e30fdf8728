package audit

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// This file reads the three forms of text that no tool prints: lines of key=value (keyValues),
// Markdown tables (table) and prose with rates in it (sentences). People write these by hand,
// so each form is read only where enough of it makes sense; the rest of the text stays unread
// and is listed.

// key returns the name of the figure that a word of the text stands for, "" for none. It knows
// the words in the section "words" of the tables, and quantiles such as p99.
func key(word string) string {
	word = strings.ToLower(strings.Trim(word, " *`"))
	if _, ok := quantileOf(word); ok && tools().words[word] == "" {
		return word
	}
	return tools().words[word]
}

// A line with one pair may have spaces, as in "p99 = 4 ms". With several pairs spaces would not tell
// where a value ends.
var (
	pairLine = regexp.MustCompile(`^\s*([A-Za-z][\w ./%]*?)\s*=\s*(\S.*?)\s*$`)
	pairWord = regexp.MustCompile(`(?:^|\s)([A-Za-z][\w.]*)=(\S+)`)
)

// pairsOf returns each pair key=value of a line as a match, with the key as group 1 and the
// value as group 2. A line holds several pairs without spaces in them, or one pair, which may
// have spaces in it and around the sign. It returns nil for any other line.
func pairsOf(l string) [][]string {
	if words := pairWord.FindAllStringSubmatch(l, -1); len(words) == len(strings.Fields(l)) {
		return words
	}
	return pairLine.FindAllStringSubmatch(l, -1)
}

// keyValues reads the lines of key=value from the next line on, until an empty line or a fence,
// as one run. It returns true if they are one. An unknown key is an error right after a known
// one, in its line or the next, because a misspelt key in a run must not be ignored silently.
// Elsewhere it is skipped, but a run never begins with one. The run needs a result and at least
// one more figure or a name.
func (r *reader) keyValues() (bool, error) {
	// Lines that were no run once are not tried again from each line in them: that would take
	// time quadratic in their number.
	if r.at < r.noPairs {
		return false, nil
	}
	// read lists the lines of the run, so that others in its paragraph stay unread.
	c, i, read := newClaim("figures", unknownLoop, r.at+1), r.at, []int(nil)
	for ; i < len(r.lines) && strings.TrimSpace(r.lines[i]) != "" && !strings.HasPrefix(r.lines[i], "```"); i++ {
		ours := len(read) > 0 && read[len(read)-1] == i-1 // then an unknown key is an error
		// A comment belongs to the run that it stands in. None begins with one: a shell's settings may.
		if len(read) > 0 && strings.HasPrefix(strings.TrimSpace(r.lines[i]), "#") {
			read = append(read, i)
		}
		for _, p := range pairsOf(r.lines[i]) {
			known, err := c.pair(p[1], p[2])
			switch ours = ours || known; {
			case err == nil:
				read, c.End = append(read, i), i+1
			case ours:
				return false, &SyntaxError{i + 1, err}
			}
		}
		if len(read) == 0 {
			return false, nil
		}
	}
	if !c.measured() || len(c.Figures) < 2 && c.Name == "" { // nothing to compare one figure with
		r.noPairs = i
		return false, nil
	}
	r.keep(c, read...)
	r.at = i
	return true, nil
}

// pair stores one key and value. known is false for a key that means nothing, and err is set as
// well then. A key that is known with a value that is not allowed returns true and an error.
// The keys run, tool and loop are no figures; they set the fields of the claim.
func (c *Claim) pair(word, value string) (known bool, err error) {
	name := key(word)
	f, err := figure(value, kindFor(name))
	if err != nil && name == "seconds" { // people write "duration=30"
		f, err = figure(value+"s", "time")
	}
	switch lower := strings.ToLower(word); {
	case lower == "run":
		c.Name = value
	case lower == "tool":
		c.Tool = value
	case lower == "loop":
		if !slices.Contains([]string{closedLoop, pacedLoop, openLoop}, value) {
			return true, fmt.Errorf("loop %q is none of closed, paced, open", value)
		}
		c.Loop = value
	case name == "":
		return false, fmt.Errorf("unknown key %q", word)
	case err != nil:
		return true, fmt.Errorf("%s: %w", word, err)
	case c.has(name):
		return true, fmt.Errorf("%s is said twice", word)
	case f.Value < 0 && name != "change":
		return true, fmt.Errorf("%s: %s is below 0", word, value)
	default:
		c.set(name, f)
	}
	return true, nil
}

var (
	// tilde matches a number that the writer marks as approximate. Its true error is unknown, so
	// no law can be checked with it.
	tilde = regexp.MustCompile(`^[~≈]\s*[\d.,]+`)
	// pipelined matches how many requests a connection has in flight, in a heading.
	pipelined = regexp.MustCompile(`(?i)^#.*\bpipelin\w+ *[×x](\d{1,4})\b`)
)

// cells splits a row of a Markdown table into the texts of its cells, without emphasis and
// backticks; nil for any other line.
func cells(l string) (all []string) {
	if l = strings.TrimSpace(l); !strings.HasPrefix(l, "|") {
		return nil
	}
	for part := range strings.SplitSeq(strings.Trim(l, "|"), "|") {
		all = append(all, strings.Trim(part, " *`"))
	}
	return all
}

// table reads each row of a Markdown table as a run, if the head names two figures or more. It
// ignores cells that are no figures. Rows with an approximate figure are no runs; they go to
// Guessed. It returns true for every table, read or not, since its lines need no other
// try. A heading above tells the depth of all rows.
func (r *reader) table() (bool, error) {
	if strings.HasPrefix(r.lines[r.at], "#") {
		r.depth = Figure{}
		if m := pipelined.FindStringSubmatch(r.lines[r.at]); m != nil {
			r.depth, _ = figure(m[1], "count")
		}
	}
	head, names := r.at, cells(r.lines[r.at])
	if names == nil {
		return false, nil
	}
	// A table with one known column is about something else, such as settings.
	known := slices.DeleteFunc(slices.Clone(names), func(word string) bool { return key(word) == "" })
	for r.at++; r.at < len(r.lines); r.at++ {
		row := cells(r.lines[r.at])
		if row == nil {
			break
		}
		c := newClaim("table", unknownLoop, r.at+1)
		if slices.ContainsFunc(row, tilde.MatchString) {
			r.Guessed = append(r.Guessed, c)
			continue
		}
		if r.depth.Value > 0 {
			c.set("depth", r.depth)
		}
		for k, cell := range row[:min(len(row), len(names))] {
			if key(names[k]) != "" { // a column "run" or "tool" is about something else
				_, _ = c.pair(names[k], cell) // a cell that is no figure is left out
			}
		}
		// The head and the line below it count as read only with a row that is a run.
		if len(known) >= 2 && c.measured() {
			r.keep(c, head, head+1, r.at)
		}
	}
	return true, nil
}

// sentence matches a rate in prose as group 1, or the CPU time of a request as group 2. These
// two are enough for the utilisation law.
var sentence = regexp.MustCompile(`(?i)(?:^|[\s(])(?:(\d[\d.,]*)\s?(?:requests per second|requests/s(?:ec)?|req/s|rps)|(\d[\d.]*\s?(?:ms|µs|us|s)) of CPU)\b`)

// sentences reads rates in unread lines as runs if the text names one CPU time of a
// request. If it names two, the rates are ignored, as each may belong to either.
func (r *reader) sentences() {
	var service Figure
	var claims []*Claim
	var lines []int // with the CPU time
	for i, l := range r.lines {
		if r.read[i] {
			continue
		}
		for _, m := range sentence.FindAllStringSubmatch(l, -1) {
			rate, notRate := figure(m[1], "rate")
			f, notTime := figure(m[2], "time")
			switch {
			case notRate == nil:
				c := newClaim("prose", unknownLoop, i+1)
				c.set("rate", Figure{rate.Value, .005 * rate.Value}) // writers round
				claims = append(claims, c)
			case notTime == nil && service.Value > 0 && service != f:
				return
			case notTime == nil:
				service, lines = f, append(lines, i)
			}
		}
	}
	for _, c := range claims {
		if service.Value > 0 {
			c.set("service", service)
			r.keep(c, append(lines, c.Line-1)...)
		}
	}
}
