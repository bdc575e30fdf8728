package audit

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A layout is how a tool prints a run in lines of text.
type layout struct {
	tool, loop string
	lines      []pattern
}

// A pattern is one line that a tool prints.
type pattern struct {
	re      *regexp.Regexp
	word    string  // that every such line has, so that few lines are matched
	begins  bool    // only this tool prints it, as the first line of a run
	resumes bool    // it goes on with a run that the text has cut in two
	tool    string  // only this variant of the tool prints it
	part    *string // the lines from here on are about this; nil: no change
	fields  []field
}

// A field is a figure in a line.
type field struct{ op, name, kind, unit string }

var (
	placeholder = regexp.MustCompile(`\{([+<*]?)([\w.]*)(?::([^}]*))?\}|…`)
	flags       = regexp.MustCompile(`^(?:(>)|(~)|=(\w+)|@([\w-]*)) `)
)

// add adds a line as the tool prints it, with
//
//	{name}, {name:ms}   a figure; the unit is added to it, "#" is a count, "…" may have a space
//	{+name} {<name}     is added up; has a least, a most and a mean, as name.min and so on
//	{*name}             statistics as k6 writes them: avg=1ms p(90)=2ms
//	{q}% {t}, {f} {t}   a quantile: its share in percent, or of 1, and its time
//	{status} {n}        a status and how many had it; {statuses} is 200:5 404:1
//	{} {.} …            a word, dots, or anything, of no use
//	/…/                 a regular expression, with figures as named groups, which are added up
//
// and before it > where a run begins, ~ where it resumes, =tool for a variant of the tool,
// and @part for what the lines from here on are about, of which @- is of no use.
func (of *layout) add(l string) {
	var p pattern
	for m := flags.FindStringSubmatch(l); m != nil; m = flags.FindStringSubmatch(l) {
		switch l[0] {
		case '>':
			p.begins = true
		case '~':
			p.resumes = true
		case '=':
			p.tool = m[3]
		case '@':
			if p.part = new(""); m[4] != "" {
				*p.part = m[4] + "."
			}
		}
		l = l[len(m[0]):]
	}
	if strings.HasPrefix(l, "/") {
		p.re = regexp.MustCompile(strings.Trim(l, "/"))
		for _, name := range p.re.SubexpNames()[1:] {
			p.fields = append(p.fields, newField("+", name, ""))
		}
	} else {
		p.compile(l)
	}
	of.lines = append(of.lines, p)
}

func (p *pattern) compile(l string) {
	words := strings.Fields(l)
	for i, word := range words {
		re, end := "", 0
		if w := placeholder.Split(word, -1)[0]; len(w) > len(p.word) {
			p.word = w
		}
		for _, m := range placeholder.FindAllStringSubmatchIndex(word, -1) {
			re += regexp.QuoteMeta(word[end:m[0]])
			end = m[1]
			group := func(n int) string {
				if m[2*n] < 0 {
					return ""
				}
				return word[m[2*n]:m[2*n+1]]
			}
			switch op, name, unit := group(1), group(2), group(3); {
			case word[m[0]:m[1]] == "…":
				re += ".*"
			case op+name == "":
				re += `\S+`
			case name == ".":
				re += `\.{2,}`
			default:
				switch {
				case op == "*" || name == "statuses":
					re += `(.*)`
				case unit == "…":
					re, unit = re+`(\S+(?: [a-zA-Zµμ]+)?)`, ""
				default:
					re += `(\S+?)`
				}
				p.fields = append(p.fields, newField(op, name, unit))
			}
		}
		words[i] = re + regexp.QuoteMeta(word[end:])
	}
	p.re = regexp.MustCompile(`^\s*` + strings.Join(words, `\s+`) + `\s*$`)
}

func newField(op, name, unit string) field {
	switch name { // of a histogram, the end of a bar and how many it holds
	case "bar":
		return field{"<", "histogram", "time", ""}
	case "bar_s":
		return field{"<", "histogram", "time", "s"}
	case "bin":
		return field{"+", "histogram", "count", ""}
	}
	f := field{op, name, kindFor(name), unit}
	if unit != "" {
		f.kind = kindOf(unit)
	}
	switch {
	case unit == "#":
		f.kind, f.unit = "count", ""
	case f.kind == unit: // the name of a kind
		f.unit = ""
	}
	return f
}

// take takes what a line says.
func (p *pattern) take(c *Claim, m []string) error {
	if p.tool != "" {
		c.Tool = p.tool
	}
	if p.part != nil {
		c.part = *p.part
	}
	if c.part == "-." {
		return nil
	}
	percent, status := -1., ""
	var end *Figure
	for i, f := range p.fields {
		var err error
		switch f.name {
		case "q", "f":
			if percent, err = strconv.ParseFloat(m[i+1], 64); f.name == "f" {
				percent *= 100
			}
			if err != nil || !(percent >= 0 && percent <= 100) {
				return fmt.Errorf("%q is no share", m[i+1])
			}
		case "status":
			status = m[i+1]
		}
	}
	for i, f := range p.fields {
		name, op, text := f.name, f.op, m[i+1]
		switch {
		case text == "", name == "q", name == "f", name == "status", name == "t" && percent == 0:
			continue // hey writes 0% for a quantile that it has not
		case strings.Contains(text, "NaN"), strings.Contains(text, "nan"):
			continue // of no request
		case op == "*":
			if err := k6Stats(c, name, text); err != nil {
				return err
			}
			continue
		case name == "statuses":
			for _, s := range statusCount.FindAllStringSubmatch(text, -1) {
				if err := c.status(s[1], s[2]); err != nil {
					return err
				}
			}
			continue
		case name == "n":
			if err := c.status(status, text); err != nil {
				return err
			}
			continue
		case name == "t":
			name = quantileName(percent)
		}
		v, err := figure(text+f.unit, f.kind)
		if err != nil {
			return err
		}
		c.note(op, c.part+name, v)
		switch {
		case name != "histogram" || c.part != "":
		case op == "<":
			end = &v
		case end != nil:
			c.bars = append(c.bars, bar{*end, v})
		}
	}
	return nil
}

var (
	statusCount = regexp.MustCompile(`(\d+):(\d+)`)
	k6Stat      = regexp.MustCompile(`^(?:(avg|min|med|max|p\([\d.]+\))=(\S+)|count=\d+)$`)
)

func k6Stats(c *Claim, name, text string) error {
	for part := range strings.FieldsSeq(text) {
		s := k6Stat.FindStringSubmatch(part)
		if s == nil {
			return fmt.Errorf("%s is no statistic of k6", part)
		}
		if s[1] == "" {
			continue
		}
		f, err := figure(s[2], "time")
		if err != nil {
			return err
		}
		c.note("", strings.TrimPrefix(name+"."+k6Name(s[1]), "."), f)
	}
	return nil
}

// k6Name is the figure for a statistic of k6.
func k6Name(s string) string {
	return strings.NewReplacer("(", "", ")", "", "avg", Mean, "med", "p50").Replace(s)
}

// status adds replies of a status, of which 0 and -1 mean no reply.
func (c *Claim) status(code, n string) error {
	f, err := figure(n, "count")
	if err != nil {
		return err
	}
	at := strings.Index("12345", code[:min(len(code), 1)])
	none := code == "0" || code == "-1"
	if !none && (at < 0 || len(code) != 3) {
		return fmt.Errorf("%q is no status of three digits", code)
	}
	for _, name := range statuses {
		c.add(name, Figure{}) // so that all are there
	}
	if none {
		c.add(Errors, f)
		return nil
	}
	c.add(statuses[at], f)
	c.add(replies, f)
	return nil
}

func (p *pattern) match(l string) []string {
	if !strings.Contains(l, p.word) {
		return nil
	}
	return p.re.FindStringSubmatch(l)
}

// line takes what a line says; known is false where it is none of the layout.
func (of *layout) line(c *Claim, l string) (known bool, err error) {
	for _, p := range of.lines {
		if m := p.match(l); m != nil {
			return true, p.take(c, m)
		}
	}
	return false, nil
}

// begins reports whether the layout's run begins on a line.
func (of *layout) begins(l string) bool {
	return slices.ContainsFunc(of.lines, func(p pattern) bool { return p.begins && p.match(l) != nil })
}

// resumes reports whether a line goes on with a run that was cut in two.
func (of *layout) resumes(l string) bool {
	return slices.ContainsFunc(of.lines, func(p pattern) bool { return p.resumes && p.match(l) != nil })
}
