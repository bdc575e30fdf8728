package audit

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// key returns the figure that a word stands for, "" for none.
func key(word string) string {
	word = strings.ToLower(strings.Trim(word, " *`"))
	if _, ok := quantileOf(word); ok && tools().words[word] == "" {
		return word
	}
	return tools().words[word]
}

// readKey parses the value of a figure. unit is for times without one, "" if they must
// have their own.
func readKey(name, value, unit string) (Figure, error) {
	if name == Seconds {
		unit = "s"
	}
	f, err := figure(value, kindFor(name))
	if err != nil && unit != "" {
		if g, err := figure(value+unit, kindFor(name)); err == nil {
			return g, nil
		}
	}
	return f, err
}

var (
	pairLine  = regexp.MustCompile(`^\s*([A-Za-z][\w ./%]*?)\s*([=:])\s*(\S.*?)\s*$`)
	pairsLine = regexp.MustCompile(`^\s*[A-Za-z][\w.]*=\S+(?:\s+[A-Za-z][\w.]*=\S+)+\s*$`)
	unitLine  = regexp.MustCompile(`(?i)\(in (milliseconds|microseconds|seconds|ms|us)\)`)
)

// A pair is a key and its value in a line: "key=value" or "key: value".
type pair struct{ word, sign, value string }

func pairsOf(l string) (all []pair) {
	if !pairsLine.MatchString(l) {
		if m := pairLine.FindStringSubmatch(l); m != nil {
			all = append(all, pair{m[1], m[2], m[3]})
		}
		return all
	}
	for part := range strings.FieldsSeq(l) {
		word, value, _ := strings.Cut(part, "=")
		all = append(all, pair{word, "=", value})
	}
	return all
}

// known reports whether the key is a figure, or run, tool or loop.
func (p pair) known() bool {
	return key(p.word) != "" || p.sign == "=" && slices.Contains([]string{"run", "tool", "loop"}, strings.ToLower(p.word))
}

// keyValues reads lines of key=value or key: value until an empty one. A line above them
// like "(in milliseconds)" gives the unit of times without one.
func (r *reader) keyValues() (bool, error) {
	if r.at < r.noPairs {
		return false, nil
	}
	unit, i, read := "", r.at, []int(nil)
	first := pairsOf(r.Lines[i])
	if m := unitLine.FindStringSubmatch(r.Lines[i]); m != nil && len(first) == 0 {
		unit, read, i = strings.ToLower(m[1]), []int{i}, i+1
	} else if len(first) == 0 || !first[0].known() {
		return false, nil
	}
	c := newClaim("figures", r.at+1)
	for ; i < len(r.Lines) && strings.TrimSpace(r.Lines[i]) != "" && !strings.HasPrefix(r.Lines[i], "```"); i++ {
		if strings.HasPrefix(strings.TrimSpace(r.Lines[i]), "#") {
			read = append(read, i)
			continue
		}
		ours := len(read) > 0 && read[len(read)-1] == i-1 // then an unknown key is an error
		for _, p := range pairsOf(r.Lines[i]) {
			err := fmt.Errorf("unknown key %q", p.word)
			if p.known() {
				ours, err = true, c.pair(p, unit)
			}
			switch {
			case err == nil:
				read, c.End = append(read, i), i+1
			case ours && p.sign == "=":
				return false, &SyntaxError{i + 1, err}
			}
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

// pair stores one key and value.
func (c *Claim) pair(p pair, unit string) error {
	switch strings.ToLower(p.word) {
	case "run":
		c.Name = p.value
		return nil
	case "tool":
		c.Tool = p.value
		return nil
	case "loop":
		if c.Loop = p.value; !slices.Contains([]string{closedLoop, pacedLoop, openLoop}, p.value) {
			return fmt.Errorf("loop %q is none of closed, paced, open", p.value)
		}
		return nil
	}
	name := key(p.word)
	f, err := readKey(name, p.value, unit)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", p.word, err)
	case c.has(name):
		return fmt.Errorf("%s is said twice", p.word)
	case f.Value < 0 && name != Change:
		return fmt.Errorf("%s: %s is below 0", p.word, p.value)
	}
	c.set(name, f)
	return nil
}

var (
	depthHead = regexp.MustCompile(`(?i)^#.*pipelin\w*,?\s*[×x]\s*(\d+)`)
	tilde     = regexp.MustCompile(`^[~≈]\s*[\d.,]+`)
)

// cells splits a row of a Markdown table; nil for any other line.
func cells(l string) (all []string) {
	if l = strings.TrimSpace(l); !strings.HasPrefix(l, "|") {
		return nil
	}
	for part := range strings.SplitSeq(strings.Trim(l, "|"), "|") {
		all = append(all, strings.Trim(part, " *`"))
	}
	return all
}

// table reads each row of a Markdown table as a run, if the head names two figures or
// more. It ignores cells that are no figures, and rows with an approximate figure.
func (r *reader) table() (bool, error) {
	head, names := r.at, cells(r.Lines[r.at])
	if names == nil {
		return false, nil
	}
	known := 0
	for i, word := range names {
		if names[i] = key(word); names[i] != "" {
			known++
		}
	}
	for r.at++; r.at < len(r.Lines); r.at++ {
		row := cells(r.Lines[r.at])
		if row == nil {
			break
		}
		if slices.ContainsFunc(row, tilde.MatchString) {
			r.Guessed = append(r.Guessed, r.at+1)
			continue
		}
		c := newClaim("table", r.at+1)
		for k, cell := range row[:min(len(row), len(names))] {
			if f, err := readKey(names[k], cell, ""); err == nil && names[k] != "" {
				c.set(names[k], f)
			}
		}
		if known < 2 || !c.measured() {
			continue
		}
		if r.depth.Value > 0 {
			c.set(Depth, r.depth)
		}
		r.keep(c, head, head+1, r.at)
	}
	return true, nil
}

var (
	sentenceRate    = regexp.MustCompile(`(?i)(?:^|[\s(])(\d[\d.,]*)\s?(?:requests per second|requests/s(?:ec)?|req/s|rps)\b`)
	sentenceService = regexp.MustCompile(`(?i)(?:^|[\s(])(\d[\d.]*\s?(?:ms|µs|us|s)) of CPU\b`)
)

// sentences reads rates in unread lines as runs if the text names one CPU time of a
// request. If it names two, the rates are ignored, as each may belong to either.
func (r *reader) sentences() {
	var service Figure
	var claims []*Claim
	var lines []int
	for i, l := range r.Lines {
		if r.read[i] {
			continue
		}
		if m := sentenceService.FindStringSubmatch(l); m != nil {
			f, err := figure(m[1], "time")
			if err != nil || service.Value > 0 && service != f {
				return
			}
			service, lines = f, append(lines, i)
		}
		for _, m := range sentenceRate.FindAllStringSubmatch(l, -1) {
			if f, err := figure(m[1], "rate"); err == nil {
				c := newClaim("prose", i+1)
				c.set(Rate, Figure{f.Value, .005 * f.Value}) // writers round
				claims = append(claims, c)
			}
		}
	}
	if service.Value == 0 {
		return
	}
	for _, c := range claims {
		c.set(Service, service)
		r.keep(c, append(lines, c.Line-1)...)
	}
}
