// Package audit reads what load tools print and finds the figures that no server can have had,
// that mislead, or that cannot answer the question. It parses text and judges it: it opens no
// file and measures nothing.
//
// [Read] turns a text into a [Text] with one [Claim] for each run. A claim is a set of figures
// with names, each a [Figure] with the error of its rounding. [Judge] holds the claims to laws
// and returns a record.Audit with the findings. A law is arithmetic (a mean lies between the
// ends), a law of queueing theory (Little's law), or a habit of one tool (wrk's threads each
// open the same number of connections).
//
// Most knowledge is data. tools/*.txt tell how each tool prints its figures and which equations
// hold between them. findings.txt lists every check: its class, its law, its sentence, its
// numbers and, where an equation is enough, what must hold. The other checks are Go functions:
// judge.go has those of one run, across.go those of several.
package audit

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"schedlab/internal/record"
)

// How requests follow each other.
const (
	unknownLoop = "unknown"
	closedLoop  = "closed" // each connection sends when it is answered
	pacedLoop   = "paced"  // held to a rate; times count from the sending
	openLoop    = "open"   // times count from the schedule
)

// A Claim is one run as a text reports it. Its Figures are those of the AuditRun, with their rounding.
type Claim struct {
	record.AuditRun
	Figures map[string]Figure // by name; tools/figures.txt has the names and their units

	of      *layout   // nil unless a tool printed the run
	part    string    // what the figures are about: "" for whole requests, "-" for nothing of use
	bars    []bar     // histogram of the response times
	clashes []finding // figures that the run prints twice with two values
}

// A bar of a histogram counts the times up to its end and above the end of the bar before.
type bar struct{ end, n Figure }

// newClaim returns a run without figures. It begins on a line, from 1.
func newClaim(tool, loop string, line int) *Claim {
	return &Claim{AuditRun: record.AuditRun{Tool: tool, Loop: loop, Line: line, End: line}, Figures: map[string]Figure{}}
}

// has reports whether the run has all of these figures. It is true for no names.
func (c *Claim) has(names ...string) bool {
	return !slices.ContainsFunc(names, func(n string) bool { _, ok := c.Figures[n]; return !ok })
}

// get returns a figure with its rounding, the zero Figure where the run has none.
func (c *Claim) get(name string) Figure { return c.Figures[name] }

// value is a figure without its rounding, 0 where the run has none.
func (c *Claim) value(name string) float64 { return c.Figures[name].Value }

// figure is the lookup of expressions. Besides the run's figures it knows throughput, slots, served
// and served_threads, and the names of the run's tool and loop, which are 1. Other tools and loops are missing figures.
func (c *Claim) figure(name string) (f Figure, ok bool) {
	switch name {
	case "throughput":
		f = c.throughput()
		return f, f.Value > 0
	case "slots":
		n := c.slots()
		return Figure{Value: n}, n > 0
	case "served":
		f.Value = c.served()
		return f, f.Value > 0
	case "served_threads":
		f.Value = c.servedThreads()
		return f, f.Value > 0
	}
	if name == c.Loop || name == c.Tool && slices.Contains(formats, name) {
		return Figure{Value: 1}, true
	}
	f, ok = c.Figures[name]
	return f, ok
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
		c.clashes = append(c.clashes, twice("audit-said-twice", "", name, had, "", "another line", f))
	case !ok || f.Half < had.Half:
		c.set(name, f)
	}
}

// status adds n replies with a status code. Tools write 0 or -1 for a request without a reply,
// which counts as an error instead. It returns an error if n is no count or the code is no HTTP
// status.
func (c *Claim) status(code, n string) error {
	f, err := figure(n, "count")
	if err != nil {
		return err
	}
	for _, class := range "12345" {
		c.note("+", fmt.Sprintf("status_%cxx", class), Figure{}) // so that all five are there
	}
	switch {
	case code == "0", code == "-1":
		c.note("+", "errors", f)
	case len(code) != 3 || code[0] < '1' || code[0] > '5':
		return fmt.Errorf("%q is no status of three digits", code)
	default:
		c.note("+", "status_"+code[:1]+"xx", f)
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
	for _, b := range c.bars {
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
	slices.SortFunc(all, func(a, b quantile) int { return cmp.Or(cmp.Compare(a.Q, b.Q), cmp.Compare(a.Value, b.Value)) })
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
			last.part = part
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

// measured reports whether the claim has any result beyond its settings.
func (c *Claim) measured() bool {
	results := []string{"rate", "requests", "mean", "max", "sum", "thread_rate.mean", "accepted"}
	for name := range c.Figures {
		if _, ok := quantileOf(name); ok || slices.Contains(results, name) {
			return true
		}
	}
	return false
}

// slots is the largest number of requests that the connections can hold at once, N in Little's
// law; 0 if the text does not tell. It uses the upper end of a rounded number, so that a law
// broken with it is broken for certain.
func (c *Claim) slots() float64 {
	n, threads := c.get("connections").high(), c.value("threads")
	switch {
	case c.has("concurrent"): // what the tool saw open counts more than what it was told to open
		n = c.get("concurrent").high()
	case threads >= 1 && strings.HasPrefix(c.Tool, "wrk"): // each thread opens the same number
		n = threads * math.Floor(c.value("connections")/threads)
	}
	if c.has("depth") {
		n *= c.value("depth")
	}
	return n
}

// paced reports whether the requests keep to a rate or a schedule.
func (c *Claim) paced() bool { return c.Loop == openLoop || c.Loop == pacedLoop }

// neverPauses reports whether the tool sends in a closed loop that it surely does not pace: some
// tools can be held to a rate that they do not print.
func (c *Claim) neverPauses() bool {
	return c.Loop == closedLoop && !slices.Contains([]string{"hey", "bombardier", "h2load"}, c.Tool)
}

// throughput is the rate of the whole run in requests per second: printed, or requests by
// seconds, or from the samples of wrk's threads. It is the zero Figure if the text does not tell.
func (c *Claim) throughput() Figure {
	switch {
	case c.has("rate"):
		return c.get("rate")
	case c.has("requests", "seconds") && c.get("seconds").low() > 0:
		return c.get("requests").per(c.get("seconds"))
	case c.has("thread_rate.mean", "threads"): // wrk's samples leave its calibration out
		r := c.get("thread_rate.mean").times(c.get("threads"))
		// A paced run cannot do more than its plan, but a mean of samples can be above it by
		// chance. The samples may differ from the whole run by .15 of the rate.
		if c.has("offered") {
			r.Value = min(r.Value, c.value("offered"))
		}
		return Figure{r.Value, r.Half + .15*r.Value}
	}
	return Figure{}
}

// late returns how many requests wrk 4 calls timeouts and the least time that each took, which is
// "set" in the command line, wrk's "default", or the "max" that it printed. They are among the
// requests: response_complete in wrk.c counts every answer, and calls it a timeout if stats_record
// refuses its time because it is not below --timeout. So every printed time is below --timeout.
func (c *Claim) late() (n, least float64, by string) {
	const unset = 2. // seconds
	n = c.value("timeouts")
	longest := c.get("max").low()
	switch {
	case c.Tool != "wrk" || n == 0 || n > c.value("requests"): // before wrk 4 one request could be many timeouts
		return 0, 0, ""
	case c.has("timeout"):
		return n, c.value("timeout"), "set"
	case longest > unset || n*unset > c.slots()*c.value("seconds"): // another --timeout
		return n, max(0, longest), "max"
	}
	return n, unset, "default"
}

// served is how many connections got answers where the others got none, 0 where the run does not
// look so. In a closed loop without pauses each connection has a request in flight at all times,
// but only answered requests have a time. So if the requests with a time fill a small whole
// number of connections, these had all the answers: a server whose workers keep their connection
// as long as it is open answers as many connections as it has workers. Late answers mean that
// other connections had answers too.
func (c *Claim) served() float64 {
	const most = 16 // connections; a larger number is within rounding of a whole one too often
	late, _, _ := c.late()
	n := wholeNumber(c.throughput().times(c.get("mean")))
	if c.Loop != closedLoop || c.has("concurrent") || late > 0 || n > most || n >= c.slots()/2 {
		return 0
	}
	return n
}

// servedThreads is how many of wrk's threads got answers where the others got none, 0 where the
// run does not look so. wrk takes a sample of a thread's rate only if the thread had an answer since
// the sample before (record_rate in wrk.c), so the mean of the samples is the rate of a thread that
// has answers. A server that stood still for a while lowers the rate as well; then a request took
// that long, or was answered late.
func (c *Claim) servedThreads() float64 {
	threads, each := c.value("threads"), c.get("thread_rate.mean")
	if c.Tool != "wrk" || !c.has("rate") || each.low() <= 0 || c.value("timeouts") > 0 {
		return 0
	}
	n := wholeNumber(c.get("rate").per(each))
	if n >= threads || c.has("max", "seconds") && c.value("max") >= (1-n/threads)*c.value("seconds") {
		return 0
	}
	return n
}

// wholeNumber returns the whole number, 1 or more, that f is about, and 0 if there is none. The load
// needs a moment between an answer and its next request, so f may be off by 5 %.
func wholeNumber(f Figure) float64 {
	const off, apart = .05, .3
	n := math.Round(f.Value)
	if f.Half > apart || math.Abs(f.Value-n) > min(off*n, apart) {
		return 0
	}
	return n
}
