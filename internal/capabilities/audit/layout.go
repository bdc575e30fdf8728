package audit

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A layout is how a tool prints a run: as lines of text, or as JSON, which is read as lines of
// "path value".
//
// This file turns the tables in tools/ into code. tools parses a table, newRow turns each of its
// lines into a regular expression, and layout.line and row.take use it on a line of a text. So a
// tool with a new line of output needs a new line in its table and no Go. finish holds the few
// habits of tools that no table can express.
type layout struct {
	// loop is the kind of loop that the tool has by default; finish corrects it by the run.
	tool, loop string
	keys       []string // top-level keys that only this tool's JSON has together
	rows       []*row
}

// A form is an output of the tool that audit does not read, such as another format or ending.
type form struct {
	of  *regexp.Regexp
	say string // what to do instead; may use the groups of the pattern
}

// A row is one line that a tool prints, compiled. fields are in the order of the groups of re.
type row struct {
	re      *regexp.Regexp
	inside  *regexp.Regexp // the line behind a prefix, which is its group; nil for rows without a mark
	word    string         // every matching line contains it; a quick test before re
	certain bool           // word is long enough to tell the tool's line from any other
	mark    string         // ">" for the first line of a run, "?" for a first line that may stand within a run, "~" for one that continues it, "" for others
	tool    string         // only this variant of the tool prints it
	about   string         // "@" and the subject of the lines from here on, "" to keep the subject
	list    bool           // the line is one of a list, of bars, statuses or errors, or its heading
	fields  []field
	each    *row // of each word in the rest of the line; nil for none
}

// A field is a figure in a line. op is how figures of several lines are joined, see Claim.note.
// name is the name of the figure, or of a placeholder such as "t". kind is a key of units; unit
// is appended to the text before it is parsed, "" for none.
// A cut figure is printed without its further digits instead of rounded.
type field struct {
	op, name, kind, unit string
	cut                  bool
}

// habits is what the tables know of tools.
type habits struct {
	layouts []*layout
	starts  []*row // of all layouts, those with a mark
	forms   []form
	laws    map[string][]*equation // by tool; "all" for every run
	sets    map[string][]*equation // by tool: figures that follow from printed ones; "derived" for laws alone
	words   map[string]string      // words for figures in key=value lines and tables
}

// tables holds one file per tool, and figures.txt with words for figures in hand-written text.
//
//go:embed tools/*.txt
var tables embed.FS

// tools parses the tables when they are first needed, which takes 20 ms. They consist of
// sections of indented lines:
//
//	text TOOL LOOP [cut]   lines of text, see newRow; cut where the tool cuts digits off
//	json TOOL LOOP KEY…    paths in a JSON object with these keys, see newRow
//	sets TOOL…             figures that follow from others: name = expression
//	sets derived           such figures of any tool, for laws alone
//	laws TOOL…             a finding and the equation that must hold, see newEquation
//	words                  figure: other words for it
//	instead                /pattern/ of a form that is not read, and what to do about it
var tools = sync.OnceValue(func() habits {
	all := habits{laws: map[string][]*equation{}, sets: map[string][]*equation{}, words: map[string]string{}}
	files, _ := fs.Glob(tables, "tools/*.txt")
	for _, file := range files {
		text, _ := tables.ReadFile(file)
		var head []string
		for l := range strings.Lines(string(text)) {
			if l[0] != '\t' {
				if head = strings.Fields(l); head[0] == "text" || head[0] == "json" {
					all.layouts = append(all.layouts, &layout{tool: head[1], loop: head[2], keys: head[3:]})
				}
				continue
			}
			l = strings.TrimSpace(l)
			switch head[0] {
			case "text", "json":
				last := all.layouts[len(all.layouts)-1]
				p := newRow(l, head[0] == "text" && slices.Contains(head, "cut"))
				if last.rows = append(last.rows, p); p.mark != "" {
					all.starts = append(all.starts, p)
				}
			case "sets":
				for _, tool := range head[1:] {
					all.sets[tool] = append(all.sets[tool], newEquation("", l))
				}
			case "laws":
				code, rest, _ := strings.Cut(l, " ")
				for _, tool := range head[1:] {
					all.laws[tool] = append(all.laws[tool], newEquation("audit-"+code, rest))
				}
			case "instead":
				pattern, say, _ := strings.Cut(strings.TrimPrefix(l, "/"), "/ ")
				all.forms = append(all.forms, form{regexp.MustCompile(pattern), say})
			case "words":
				name, others, _ := strings.Cut(l, ":")
				for word := range strings.SplitSeq(name+","+others, ",") {
					all.words[strings.TrimSpace(word)] = name
				}
			}
		}
	}
	return all
})

// holes are the patterns of placeholders that are no plain figure.
var holes = map[string]string{
	"": `\S+`, ".": `\.{2,}`, "rest": `(?:\s+(.*))?`, "q": `([\d.eE+-]+)`, "f": `([\d.eE+-]+)`,
	"status": `(\S.*?)`, "stat": `(avg|min|med|max|p\(?[\d.]+\)?)`,
}

var (
	marks       = regexp.MustCompile(`^(?:([>?~]) )?(?:=(\S+) )?(?:(@\S*) )?(.*)$`)
	placeholder = regexp.MustCompile(`\{([+<]?)([\w.]*)(?::([^},]*))?(,cut)?\}|…`)
	spaces      = regexp.MustCompile(`\s+`)
	indented    = regexp.MustCompile(`(^|\|)\^`) // the beginning of a line in a pattern
)

// newRow compiles a line as the tool prints it, with these placeholders:
//
//	{name}, {name:ms}   a figure; the unit or kind is added to it, "…" may have a space
//	{name:ms,cut}       a figure that the tool cuts off instead of rounding it
//	{+name} {<name}     a figure to add up; to keep the least, most and mean of, as name.min …
//	{q}% {t}, {f} {t}   a quantile: its share in percent, or as a ratio, and its time
//	{stat} {t}          one of k6's statistics: avg, p(90) and so on
//	{<bar} {+histogram} the end of a histogram's bar, and its count
//	{status} {n}        a status and its count
//	{} {.} …            a word, dots, or anything, ignored
//	* PATTERN           each word in the rest of the line that is like this
//	/…/                 a regular expression; its named groups are figures to add up
//
// Any line may be indented, and may have the mark of k6's thresholds before it. cut is set for a tool
// that cuts all its figures.
//
// Marks before the line, in this order: > a run begins here; ? the same, unless it is within a run
// that lacks the line; ~ a run continues here; =tool only this variant of the tool prints it; @part the
// lines from here on are about part, @- about nothing of use, @* about anything up to a blank line, @
// about whole requests.
func newRow(l string, cut bool) *row {
	m := marks.FindStringSubmatch(l)
	p := &row{mark: m[1], tool: m[2], about: m[3]}
	l = m[4]
	if l[0] == '/' {
		p.re = regexp.MustCompile(indented.ReplaceAllString(strings.Trim(l, "/"), `$1^\s*`))
		for _, name := range p.re.SubexpNames()[1:] {
			p.fields, p.list = append(p.fields, newField("+", name, "", cut)), true
		}
		return p
	}
	if line, each, found := strings.Cut(l, " * "); found {
		l, p.each = line+"{rest}", newRow(each, cut)
	}
	// Any white space in the line matches any amount in the text, because tools align columns.
	re, found := ``, placeholder.FindAllStringSubmatch(l, -1)
	for i, text := range placeholder.Split(l, -1) {
		re += spaces.ReplaceAllString(regexp.QuoteMeta(text), `\s+`)
		for word := range strings.FieldsSeq(text) {
			// The longest literal word is the rarest, so it makes the quickest test.
			if len(word) > len(p.word) {
				p.word = word
			}
		}
		if i == len(found) {
			break
		}
		op, name, unit := found[i][1], found[i][2], found[i][3]
		hole, special := holes[name]
		switch {
		case found[i][0] == "…":
			hole = `.*`
		case unit == "…":
			hole, unit = `(\S+(?: [a-zA-Zµμ]+)?)`, ""
		case !special:
			hole = `(\S+?)`
		}
		re += hole
		if name != "" && name != "." {
			p.fields = append(p.fields, newField(op, name, unit, cut || found[i][4] != ""))
		}
	}
	p.list = slices.ContainsFunc(p.fields, func(f field) bool { return f.name == "status" || f.op == "+" }) || strings.HasSuffix(l, "distribution:")
	p.certain = len(p.word) >= 5 && len(p.fields) > 0
	p.re = regexp.MustCompile(`(?s)^\s*(?:[✓✗] )?` + re + `\s*$`)
	if p.mark != "" {
		p.inside = regexp.MustCompile(`(?s)^(.*?\W)` + re + `\s*$`)
	}
	return p
}

// newField returns a field by the name in a placeholder. unit is a unit such as "ms", or a kind
// of units; otherwise the kind comes from the name.
func newField(op, name, unit string, cut bool) field {
	if _, isKind := units[unit]; isKind {
		return field{op, name, unit, "", cut}
	}
	return field{op, name, kindFor(name), unit, cut}
}

// claim returns an empty run; its output begins on line i, from 0.
func (of *layout) claim(i int) *Claim {
	c := newClaim(of.tool, of.loop, i+1)
	c.of = of
	return c
}

// match returns the groups of a line that this row describes, nil for any other line. The test for a word
// first makes reading many times faster, because most rows do not match most lines.
func (p *row) match(l string) []string {
	if !strings.Contains(l, p.word) {
		return nil
	}
	return p.re.FindStringSubmatch(l)
}

// find returns the first row that matches a line, with the groups of its pattern; nil for none.
func (of *layout) find(l string) (*row, []string) {
	for _, p := range of.rows {
		if m := p.match(l); m != nil {
			return p, m
		}
	}
	return nil, nil
}

// instead returns what to do about a line of a form that is not read, nil for any other line.
func instead(l string) error {
	for _, f := range tools().forms {
		if m := f.of.FindStringSubmatchIndex(l); m != nil {
			return errors.New(string(f.of.ExpandString(nil, f.say, l, m)))
		}
	}
	return nil
}

// marked reports whether a row with this mark matches the line. A nil layout has none.
func (of *layout) marked(mark, l string) bool {
	return of != nil && slices.ContainsFunc(of.rows, func(p *row) bool { return p.mark == mark && p.match(l) != nil })
}

// noNumber matches what tools print for a figure that they divided by zero: -nan, inf, -infus.
var noNumber = regexp.MustCompile(`(?i)^[+-]?(?:nan|inf)`)

// take stores the figures of a line that matched, with its groups in m. It first notes which
// tool and which part the line is about, since both hold for the lines after it as well.
func (p *row) take(c *Claim, m []string) error {
	c.Tool = cmp.Or(p.tool, c.Tool)
	if p.about != "" {
		c.part = p.about[1:]
	}
	if c.part == "-" || c.part == "*" {
		return nil
	}
	// Some fields say how to read others in the same line: a share which time it is, a status
	// which replies it counts. So all are looked up by name before any is stored.
	labels := map[string]string{}
	for i, f := range p.fields {
		labels[f.name] = m[i+1]
	}
	for word := range strings.FieldsSeq(labels["rest"]) {
		if m := p.each.match(word); m != nil {
			if err := p.each.take(c, m); err != nil {
				return err
			}
		}
	}
	timeName, err := timeOf(labels)
	if err != nil {
		return err
	}
	// The end of a bar comes before its count, which completes the bar.
	var end *Figure
	for i, f := range p.fields {
		name, text := f.name, m[i+1]
		if name == "t" || strings.HasSuffix(name, ".t") {
			name = strings.TrimSuffix(name, "t") + timeName
		}
		switch name {
		case "q", "f", "stat", "status", "rest", "p0": // hey writes 0% for a quantile that it does not have
			continue
		case "n":
			if err := c.status(labels["status"], text); err != nil {
				return err
			}
			continue
		}
		if text == "" || noNumber.MatchString(text) {
			continue
		}
		v, err := figure(text+f.unit, f.kind)
		if err != nil {
			return err
		}
		if f.cut { // Half is half a digit, and up to a whole one is missing
			v.Half *= 2
		}
		c.note(f.op, within(c.part, name), v)
		switch {
		case name == "bar":
			end = &v
		case end != nil && c.part == "":
			c.bars = append(c.bars, bar{*end, v})
		}
	}
	return nil
}

// within names a figure of a part: "connect.mean" for mean within connect, and "mean" where
// part is "".
func within(part, name string) string { return strings.TrimPrefix(part+"."+name, ".") }

// statisticName turns k6's names of statistics into ours.
var statisticName = strings.NewReplacer("(", "", ")", "", "avg", "mean", "med", "p50")

// timeOf returns the name of the figure for the time in a line, by the quantile, ratio or
// statistic in the same line; "" where the line has none of them. It returns an error for a
// share outside 0 to 100 percent.
func timeOf(labels map[string]string) (string, error) {
	text := cmp.Or(labels["q"], labels["f"])
	if text == "" {
		return statisticName.Replace(labels["stat"]), nil
	}
	percent, err := strconv.ParseFloat(text, 64)
	if labels["f"] != "" {
		percent *= 100
	}
	if err != nil || !(percent >= 0 && percent <= 100) {
		return "", fmt.Errorf("%q is no share", text)
	}
	return quantileName(percent), nil
}

// finish completes a run after its last line. It computes the figures that follow from printed
// ones by the tables, and corrects what the tool prints in a misleading way.
func (c *Claim) finish() {
	c.part = ""
	known := func(word string) bool { return c.has(strings.TrimSuffix(word, "?")) }
	for _, e := range tools().sets[c.Tool] {
		// A sum of figures that all count as 0 would invent a figure, so at least one must be
		// there.
		v, ok := lookup(c.figure).compute(e.value)
		if ok && !c.has(e.left) && slices.ContainsFunc(strings.Fields(e.right), known) {
			v.Value = max(0, v.Value)
			c.set(e.left, v)
		}
	}
	switch c.Tool {
	case "wrk2":
		c.Loop = openLoop
	case "oha":
		c.Loop = unknownLoop
	case "httperf", "fortio": // each may run without a rate
		if c.value("offered") > 0 {
			c.Loop = pacedLoop
		} else {
			delete(c.Figures, "offered")
		}
		if c.has("connection.p50") { // httperf counts connections in bins of 1 ms
			c.set("connection.p50", Figure{c.value("connection.p50"), 1e-3})
		}
	case "hey": // it keeps a million statuses, and divides by them
		if c.value("replies") >= 1e6 {
			delete(c.Figures, "requests")
			delete(c.Figures, "mean")
		}
	case "vegeta": // it does not divide by an attack of 0
		if c.has("attack") && c.value("attack") == 0 {
			delete(c.Figures, "offered")
			delete(c.Figures, "good_rate")
		}
	case "bombardier": // it waits for the last reply, and does not print for how long
		if t, longest := c.value("asked_seconds"), c.get("max").high(); c.has("asked_seconds") && !c.has("seconds") {
			c.set("seconds", Figure{t + longest/2, .02*t + longest/2})
		}
	}
}
