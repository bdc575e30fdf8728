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

// isKey reports whether a word can be the key of a pair: of a figure, or of a field of the claim.
func isKey(word string) bool {
	return key(word) != "" || slices.Contains([]string{"run", "tool", "loop"}, strings.ToLower(word))
}

// A line holds several pairs key=value, or one pair, which may have spaces in it and around the
// sign, as in "p99 = 4 ms". With several pairs spaces would not tell where a value ends.
var (
	pairLine = regexp.MustCompile(`^\s*([A-Za-z][\w ./%]*?)\s*=\s*(\S.*?)\s*$`)
	pairWord = regexp.MustCompile(`(?:^|\s)([A-Za-z][\w.]*)=(\S+)`)
)

// pairsOf returns each pair of a line as a match, with the key as group 1 and the value as group
// 2. It returns nil for a line of anything else.
func pairsOf(l string) [][]string {
	if words := pairWord.FindAllStringSubmatch(l, -1); len(words) == len(strings.Fields(l)) {
		return words
	}
	return pairLine.FindAllStringSubmatch(l, -1)
}

// keyValues reads the lines of key=value from the next line on as one run, with the comments
// between them, up to any other line. It returns true if they are lines of key=value. A line with an
// unknown key or a malformed value counts as not read, because a misspelt key must not be ignored
// silently; its other pairs count. But a run never begins with an unknown key, because settings of a
// shell do. Lines are no run without a result and at least one more figure or a name:
// there is nothing to compare one figure with.
func (r *reader) keyValues() bool {
	c, first := newClaim("figures", unknownLoop, r.at+1), r.at
	for i := first; i < len(r.lines); i++ {
		pairs, begun := pairsOf(r.lines[i]), i > first
		if pairs == nil && (!begun || !strings.HasPrefix(strings.TrimSpace(r.lines[i]), "#")) {
			break
		}
		for _, p := range pairs {
			known, err := c.pair(p[1], strings.TrimRight(p[2], ",;"))
			if !known && !begun {
				return false
			}
			if begun = true; err != nil {
				r.cannot(i, err)
			}
		}
		r.at, c.End = i+1, i+1
	}
	if c.measured() && (len(c.Figures) >= 2 || c.Name != "") {
		r.keep(c)
	}
	return r.at > first
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

// table reads each row of a Markdown table as a run, if the head names two figures or more: a
// table with one is about something else, such as settings. It ignores cells that are no figures.
// Rows with an approximate figure are no runs; they go to Guessed. It returns true for every
// table, read or not, since its lines need no other try. A heading above tells the depth of all
// rows.
func (r *reader) table() bool {
	if strings.HasPrefix(r.lines[r.at], "#") {
		r.depth = Figure{}
		if m := pipelined.FindStringSubmatch(r.lines[r.at]); m != nil {
			r.depth, _ = figure(m[1], "count")
		}
	}
	head, names := r.at, cells(r.lines[r.at])
	known := figuresNamed(names)
	for row := names; row != nil; row = cells(r.lines[r.at]) {
		c := newClaim("table", unknownLoop, r.at+1)
		if slices.ContainsFunc(row, tilde.MatchString) {
			r.Guessed = append(r.Guessed, c)
			row = nil
		} else if r.depth.Value > 0 {
			c.set("depth", r.depth)
		}
		for k, cell := range row[:min(len(row), len(names))] {
			if key(names[k]) != "" { // a column "run" or "tool" is about something else
				_, _ = c.pair(names[k], cell) // a cell that is no figure is left out
			}
		}
		// The head and the line below it count as read only with a row that is a run.
		if known >= 2 && c.measured() {
			r.keep(c, head, head+1, r.at)
		}
		if r.at++; r.at == len(r.lines) {
			break
		}
	}
	return names != nil
}

// figuresNamed returns how many of the words are names of figures.
func figuresNamed(words []string) (n int) {
	for _, word := range words {
		if key(word) != "" {
			n++
		}
	}
	return n
}

// A rate in prose, and the CPU time of a request. These two are enough for the utilisation law.
var (
	rateInProse    = regexp.MustCompile(`(?i)(?:^|[\s(])(\d[\d.,]*)\s?(?:requests per second|requests/s(?:ec)?|req/s|rps)\b`)
	serviceInProse = regexp.MustCompile(`(?i)(?:^|[\s(])(\d[\d.]*\s?(?:ms|µs|us|s)) of CPU\b`)
)

// sentences reads rates in unread lines as runs if the text names one CPU time of a
// request. If it names two, the rates are ignored, as each may belong to either.
func (r *reader) sentences() {
	services := map[Figure][]int{} // the lines with each CPU time
	var claims []*Claim
	for i, l := range r.lines {
		if r.read[i] {
			continue
		}
		for _, m := range serviceInProse.FindAllStringSubmatch(l, -1) {
			if f, err := figure(m[1], "time"); err == nil && f.Value > 0 {
				services[f] = append(services[f], i)
			}
		}
		for _, m := range rateInProse.FindAllStringSubmatch(l, -1) {
			if f, err := figure(m[1], "rate"); err == nil {
				c := newClaim("prose", unknownLoop, i+1)
				c.set("rate", Figure{f.Value, .005 * f.Value}) // writers round
				claims = append(claims, c)
			}
		}
	}
	for service, lines := range services {
		for _, c := range claims {
			if len(services) == 1 {
				c.set("service", service)
				r.keep(c, append(lines, c.Line-1)...)
			}
		}
	}
}
