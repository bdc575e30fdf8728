// Package audit reads what load tools print and finds the figures that no server can have had,
// that mislead, or that cannot answer the question. It parses text and judges it: it opens no
// file and measures nothing.
//
// [Read] turns a text into a [Text] with one [Claim] for each run. A claim is a set of figures
// with names, each a [Figure] with the error of its rounding. [Judge] holds the claims to laws
// and returns a Report with the findings. A law is arithmetic (a mean lies between the
// ends), a law of queueing theory (Little's law), or a habit of one tool (wrk's threads each
// open the same number of connections).
//
// Most knowledge is data. tools/*.txt tell how each tool prints its figures and which equations
// hold between them. findings.txt lists every check: its class, its law, its sentence, its
// numbers and, where an equation is enough, what must hold. The other checks are Go functions, in
// judge.go for one run and in across.go for several.
package audit

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// How requests follow each other.
const (
	unknownLoop = "unknown"
	closedLoop  = "closed" // each connection sends when it is answered
	pacedLoop   = "paced"  // held to a rate; times count from the sending
	openLoop    = "open"   // times count from the schedule
)

// A Claim is one run as a text reports it. Figures has the Run's figures with their rounding.
type Claim struct {
	Run
	Figures map[string]Figure // by name; tools/figures.txt has the names and their units

	before  *Claim            // the run before in the text, nil for the first
	of      *layout           // nil unless a tool printed the run
	part    string            // what the figures are about: "" for whole requests, "-" for nothing of use, "*" for a list of anything
	bars    []bar             // histogram of the response times
	derived map[string]Figure // what laws need and no tool prints, such as throughput; nil before derive
	clashes []Finding         // figures that the run prints twice with two values
	// cutShort means that the text ends within a list, so the rest of the list may be missing.
	cutShort bool
}

// A bar of a histogram counts the times up to its end and above the end of the bar before.
type bar struct{ end, n Figure }

// newClaim returns a run without figures. It begins on a line, from 1.
func newClaim(tool, loop string, line int) *Claim {
	return &Claim{Run: Run{Tool: tool, Loop: loop, Line: line, End: line}, Figures: map[string]Figure{}}
}

// has reports whether the run has all of these figures. It is true for no names.
func (c *Claim) has(names ...string) bool {
	return !slices.ContainsFunc(names, func(n string) bool { _, ok := c.figure(n); return !ok })
}

// get returns a figure with its rounding, the zero Figure where the run has none.
func (c *Claim) get(name string) Figure { f, _ := c.figure(name); return f }

// value is a figure without its rounding, 0 where the run has none.
func (c *Claim) value(name string) float64 { return c.get(name).Value }

// figure looks up a name in an expression: a figure of the run, a derived figure, before.NAME for a figure of the run before, or a
// word that is 1 if it applies: the name of the run's tool or of its loop, and "printed" for the output of a tool.
func (c *Claim) figure(name string) (f Figure, ok bool) {
	if f, ok = c.Figures[name]; ok {
		return f, true
	}
	if earlier, of := strings.CutPrefix(name, "before."); of && c.before != nil {
		return c.before.figure(earlier)
	}
	if f, ok = c.derived[name]; ok {
		return f, f.Value > 0
	}
	if name == c.Loop || name == c.Tool && slices.Contains(formats, name) || name == "printed" && c.of != nil {
		return Figure{Value: 1}, true
	}
	return Figure{}, false
}

// derive computes the derived figures. For each figure it uses the first equation whose inputs are all known;
// a result of 0 means that the figure is unknown. line is the run's first line, and column the rate of
// the first run in its column of changes.
func (c *Claim) derive() {
	column := c.get("rate")
	if c.has("change", "rate", "before.rate") {
		column = c.before.derived["column"]
	}
	c.derived = map[string]Figure{"line": {Value: float64(c.Line)}, "column": column, "quantiled": {}, "cut_short": {}}
	if c.cutShort {
		c.derived["cut_short"] = Figure{Value: 1}
	}
	if slices.ContainsFunc(slices.Collect(maps.Keys(c.Figures)), func(name string) bool { _, ok := quantileOf(name); return ok }) {
		c.derived["quantiled"] = Figure{Value: 1}
	}
	for _, e := range tools().sets["derived"] {
		_, has := c.derived[e.left]
		if v, ok := lookup(c.figure).compute(e.value); ok && !has && e.applies(c.figure) {
			c.derived[e.left] = v
		}
	}
}

// set stores a figure, unless it is too large for a float64.
func (c *Claim) set(name string, f Figure) {
	if !math.IsInf(f.high(), 0) && !math.IsNaN(f.high()) {
		c.Figures[name] = f
	}
}

// again is how far a figure may differ between two lines beyond rounding, a ratio: wrk2
// prints quantiles by the buckets of its histogram.
const again = .002

// note stores a figure of a line. op tells what to do with a figure that several lines have.
// With "+" their sum counts, as for errors by kind. With "<" the run gets the least, the most
// and the mean as NAME.min, NAME.max and NAME.mean, and their number as NAME.count. With "" all
// lines must agree: if they do the value with more digits counts, and if they do not the first
// stays and a clash is kept, which becomes a finding.
func (c *Claim) note(op, name string, f Figure) {
	had, ok := c.Figures[name]
	switch {
	case name == "asked_seconds": // exact, because the user typed it
		c.set(name, Figure{Value: f.Value})
	case op == "+":
		c.set(name, had.plus(f))
	case op == "<":
		// The mean is brought up to date with each value, so no list of the values is needed.
		n, mean := c.value(name+".count"), c.value(name+".mean")
		c.set(name+".count", Figure{Value: n + 1})
		c.set(name+".mean", Figure{(mean*n + f.Value) / (n + 1), f.Half})
		if n == 0 || f.Value < c.value(name+".min") {
			c.set(name+".min", f)
		}
		if n == 0 || f.Value > c.value(name+".max") {
			c.set(name+".max", f)
		}
	case ok && math.Abs(had.Value-f.Value) > had.Half+f.Half+again*math.Abs(f.Value):
		c.clashes = append(c.clashes, twice(saidTwice, "", name, had, "", "another line", f))
	case !ok || f.Half < had.Half:
		c.set(name, f)
	}
}

// word matches a code that is a word, such as gRPC's SERVING.
var word = regexp.MustCompile(`^[A-Z_]+$`)

// status adds n replies with a status code, which its reason may follow. Tools write 0 or -1 for a request without a reply, and
// fortio ERROR or a message, which counts as an error instead. Codes that HTTP does not have are
// replies too. It returns an error if n is no count.
func (c *Claim) status(code, n string) error {
	f, err := figure(n, "count")
	if err != nil {
		return err
	}
	for _, class := range "12345" {
		c.note("+", fmt.Sprintf("status_%cxx", class), Figure{}) // so that all five are there
	}
	code, _, isReason := strings.Cut(code, " ")
	switch number, err := strconv.Atoi(code); {
	case err == nil && number <= 0, code == "ERROR", err != nil && (isReason || !word.MatchString(code)):
		c.note("+", "errors", f)
	case number >= 100 && number < 600:
		c.note("+", "status_"+code[:1]+"xx", f)
		c.note("+", "replies", f)
	default:
		c.note("+", "other_codes", f)
		c.note("+", "replies", f)
	}
	return nil
}

// A quantile is the response time that the share Q of the requests did not exceed.
type quantile struct {
	Q    float64
	name string
	Figure
}

// quantileName names the figure of a quantile: p99.9 for 99.9 percent, max for 100.
func quantileName(percent float64) string {
	if percent == 100 {
		return "max"
	}
	return "p" + strconv.FormatFloat(percent, 'f', -1, 64)
}

// quantileOf returns the share, from 0 to 1, that the name of a quantile stands for: 0.99 for
// "p99". ok is false for any other name and for more than 100 percent.
func quantileOf(name string) (q float64, ok bool) {
	digits, ok := strings.CutPrefix(name, "p")
	percent, err := strconv.ParseFloat(digits, 64)
	return percent / 100, ok && err == nil && percent >= 0 && percent <= 100
}

// quantiles returns the claim's quantiles by ascending share, with min and max as the
// shares 0 and 1. Each bar of a histogram ends at a quantile too.
func (c *Claim) quantiles() (all []quantile) {
	for name, f := range c.Figures {
		if q, ok := quantileOf(name); ok {
			all = append(all, quantile{q, name, f})
		}
	}
	// The last bar ends at the longest time, which is max, so only bars with some but not all
	// times below their end count.
	below, total := 0., c.value("histogram")
	bars := c.bars
	if total != c.value("replies") && total != c.value("requests") { // a part of them is missing
		bars = nil
	}
	for _, b := range bars {
		if below += b.n.Value; below > 0 && below < total {
			// A bar has no name, so it is named by its share in percent, with five decimals.
			all = append(all, quantile{below / total, quantileName(math.Round(1e7*below/total) / 1e5), b.end})
		}
	}
	for q, name := range []string{"min", "max"} {
		if c.has(name) {
			all = append(all, quantile{float64(q), name, c.get(name)})
		}
	}
	slices.SortStableFunc(all, func(a, b quantile) int { return cmp.Or(cmp.Compare(a.Q, b.Q), cmp.Compare(a.Value, b.Value)) })
	return all
}

// parts returns the claim itself first, and then one more claim for each other thing that it
// has figures of, such as "connect" with connect.mean and connect.p99. Figures of such a claim
// have no prefix, so the same laws can be checked on it. Its requests are the count of that
// part, where the tool tells.
func (c *Claim) parts() []*Claim {
	all := []*Claim{c}
	for _, name := range slices.Sorted(maps.Keys(c.Figures)) {
		// The names are sorted, so all figures of one part come together. p99.9 has a dot but
		// is no part.
		part, rest, ok := strings.Cut(name, ".")
		if _, whole := quantileOf(name); whole || !ok {
			continue
		}
		last := all[len(all)-1]
		if last.part != part {
			last = newClaim(c.Tool, c.Loop, c.Line)
			last.part, last.derived = part, map[string]Figure{"cut_short": c.derived["cut_short"]}
			all = append(all, last)
			if n, ok := c.Figures[part+".count"]; ok {
				last.set("requests", n)
			} else if c.Tool == "ab" { // its parts are measured for every request
				last.set("requests", c.get("requests"))
			}
		}
		last.set(rest, c.get(name))
	}
	return all
}

// results returns the names of the figures that were measured, in alphabetical order. Settings such as the
// number of connections are left out, because honest repetitions share them, and so are counts: with
// some tools they are settings too.
func (c *Claim) results() []string {
	known := []string{"mean", "stdev", "max", "min", "thread_rate.mean", "thread_rate.max", "rate", "bytes", "sum"}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(c.Figures)), func(name string) bool {
		_, ok := quantileOf(name)
		return !ok && !slices.Contains(known, name)
	})
}

// measured reports whether the claim has any result beyond its settings.
func (c *Claim) measured() bool {
	return c.has("requests") || c.has("accepted") || len(c.results()) > 0
}
