// Package audit reads what load tools print, and says which of its figures no server
// can have had, which are not what they look like, and which cannot tell. It reads
// text and judges it: it opens no file and measures nothing.
package audit

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A Figure is a number as it was printed: seconds, bytes, a count, a rate per second or
// a share of 1. The printed digits leave it open within Half on either side.
type Figure struct{ Value, Half float64 }

func (f Figure) low() float64  { return f.Value - f.Half }
func (f Figure) high() float64 { return f.Value + f.Half }

// times multiplies; the doubts add up.
func (f Figure) times(g Figure) Figure {
	return Figure{f.Value * g.Value, math.Abs(f.Value)*g.Half + math.Abs(g.Value)*f.Half}
}

// exact is a figure that was not rounded, or by nothing that matters.
func exact(v float64) Figure { return Figure{v, math.Abs(v) * 1e-9} }

// Names of figures, which are the keys of key=value input as well. Quantiles are p50,
// p99.9 and so on.
const (
	Connections = "connections"   // kept open at once
	Opened      = "opened"        // over the whole run, where the tool opens new ones
	Concurrent  = "concurrent"    // open at once, as the tool saw it
	Threads     = "threads"       // of the load tool
	Depth       = "depth"         // requests in flight on a connection: pipelining, streams
	Seconds     = "seconds"       // the run took
	asked       = "asked_seconds" // that it was to take
	Requests    = "requests"      // ended, whether well or not
	OK          = "ok"
	Errors      = "errors" // without a reply
	Timeouts    = "timeouts"
	Status1xx   = "status_1xx"
	Status2xx   = "status_2xx"
	Status3xx   = "status_3xx"
	Status4xx   = "status_4xx"
	Status5xx   = "status_5xx"
	NotGood     = "not_good" // replies of other statuses than 2xx and 3xx, where no more is told
	CutOff      = "cut_off"  // under way when the run ended
	Unsent      = "unsent"   // planned, and never sent
	Rate        = "rate"     // requests per second that ended
	Offered     = "offered"  // requests per second that were planned
	Mean        = "mean"     // response time, as the tool counts it
	Stdev       = "stdev"
	Min         = "min"
	Max         = "max"
	Sum         = "sum" // of all response times
	Bytes       = "bytes"
	BytesRate   = "bytes_rate"
	Cores       = "cores"    // of the server
	Service     = "service"  // CPU time of the server for a request
	CPU         = "cpu"      // of the load tool, a share of one CPU
	Accepted    = "accepted" // connections or requests taken in
	Done        = "done"     // of those, ended
	Change      = "change"   // of the rate, against the row before
	ThreadRate  = "thread_rate.mean"
	ThreadMax   = "thread_rate.max"
	CalibMean   = "calibration.mean" // of wrk2's threads
	CalibLeast  = "calibration.min"
	CalibMost   = "calibration.max"
	replies     = "replies" // of any status
)

var statuses = []string{Status1xx, Status2xx, Status3xx, Status4xx, Status5xx}

// kindFor is the kind of a figure by its name, of which a part before a dot is about
// something else than whole requests.
func kindFor(name string) string {
	if _, ok := quantileOf(name); ok {
		return "time"
	}
	part, last := "", name
	if i := strings.LastIndex(name, "."); i >= 0 {
		part, last = name[:i], name[i+1:]
	}
	about := func(suffix string) bool { return strings.HasSuffix(part, suffix) || strings.HasSuffix(last, suffix) }
	switch {
	case slices.Contains([]string{BytesRate, "sent_rate", "both_rate", "net_rate"}, name), about("size"), strings.HasPrefix(name, Bytes):
		return "bytes"
	case strings.HasPrefix(name, "network"):
		return "si"
	case about(Rate), name == Offered:
		return "rate"
	case about("share"), slices.Contains([]string{CPU, Change, "within", "success"}, last):
		return "share"
	case slices.Contains([]string{Mean, Stdev, Min, Max, Sum, Seconds, asked, Service, "calibration", "attack", "waited", "cycle", "period", "t"}, last):
		return "time"
	}
	if _, ok := quantileOf(last); ok {
		return "time"
	}
	return "count"
}

// How requests follow each other.
const (
	unknownLoop = "unknown"
	closedLoop  = "closed" // each connection sends when it is answered
	pacedLoop   = "paced"  // held to a rate; times count from the sending
	openLoop    = "open"   // times count from the schedule
)

// A Claim is one run as a text reports it.
type Claim struct {
	Tool, Name string // Name only where the text gives one
	Line, End  int    // from 1
	Loop       string
	Figures    map[string]Figure

	of      *layout // nil for what is no tool's text
	part    string  // what the lines that are read are about, with a dot; "" for requests
	bars    []bar   // of a histogram of the times
	clashes []clash
}

// A bar of a histogram: how many times are no longer than its end, and longer than the
// end of the bar before.
type bar struct{ end, n Figure }

// A clash is a figure that a run says twice, and not the same.
type clash struct {
	name        string
	first, then Figure
}

func newClaim(tool string, line int) *Claim {
	return &Claim{Tool: tool, Line: line, End: line, Loop: unknownLoop, Figures: map[string]Figure{}}
}

func (c *Claim) has(names ...string) bool {
	return !slices.ContainsFunc(names, func(n string) bool { _, ok := c.Figures[n]; return !ok })
}

func (c *Claim) get(name string) Figure { return c.Figures[name] }

// set notes a figure, unless no number holds it.
func (c *Claim) set(name string, f Figure) {
	if !math.IsInf(f.high(), 0) && !math.IsNaN(f.high()) {
		c.Figures[name] = f
	}
}

// again is how far a figure may differ from the same one in another line beyond rounding,
// a ratio: wrk2 prints quantiles by the buckets of its histogram.
const again = .002

// note takes a figure of a line: op is "+" to add it up, and "<" to keep the least, the
// most and the mean. Others that stand there twice must be the same.
func (c *Claim) note(op, name string, f Figure) {
	had, ok := c.Figures[name]
	switch {
	case name == asked: // by its user, and not measured
		c.set(name, Figure{Value: f.Value})
	case op == "+":
		c.add(name, f)
	case op == "<":
		n, mean := c.get(name+".count").Value, c.get(name+".mean").Value
		c.set(name+".count", Figure{Value: n + 1})
		c.set(name+".mean", Figure{(mean*n + f.Value) / (n + 1), f.Half})
		if n == 0 || f.Value < c.get(name+".min").Value {
			c.set(name+".min", f)
		}
		if f.Value > c.get(name+".max").Value || n == 0 {
			c.set(name+".max", f)
		}
	case ok && math.Abs(had.Value-f.Value) > had.Half+f.Half+again*math.Abs(f.Value):
		c.clashes = append(c.clashes, clash{name, had, f})
	case !ok || f.Half < had.Half:
		c.set(name, f)
	}
}

// add adds to a figure, which is 0 before.
func (c *Claim) add(name string, f Figure) {
	had := c.Figures[name]
	c.set(name, Figure{had.Value + f.Value, had.Half + f.Half})
}

// A quantile is the response time that the share Q of the requests did not exceed.
type quantile struct {
	Q float64
	Figure
}

// quantileName is the figure's name for a share: p99.9 for .999.
func quantileName(percent float64) string {
	if percent == 100 {
		return Max
	}
	return "p" + strconv.FormatFloat(percent, 'f', -1, 64)
}

// quantileOf is the share that a figure's name stands for.
func quantileOf(name string) (q float64, ok bool) {
	digits, ok := strings.CutPrefix(name, "p")
	if !ok || digits == "" || strings.Trim(digits, "0123456789.") != "" {
		return 0, false
	}
	percent, err := strconv.ParseFloat(digits, 64)
	return percent / 100, err == nil && percent >= 0 && percent <= 100
}

// quantiles are those of the claim, the smallest share first, with min and max as the
// shares 0 and 1. The end of a histogram's bar is one: what is below is no longer, and what
// is above is longer.
func (c *Claim) quantiles() (all []quantile) {
	for name, f := range c.Figures {
		if q, ok := quantileOf(name); ok {
			all = append(all, quantile{q, f})
		}
	}
	below := 0.
	for _, b := range c.bars {
		if below += b.n.Value; below > 0 && below < c.get("histogram").Value {
			all = append(all, quantile{below / c.get("histogram").Value, b.end})
		}
	}
	for q, name := range []string{Min, Max} {
		if c.has(name) {
			all = append(all, quantile{float64(q), c.get(name)})
		}
	}
	slices.SortFunc(all, func(a, b quantile) int { return cmp.Or(cmp.Compare(a.Q, b.Q), cmp.Compare(a.Value, b.Value)) })
	return all
}

// parts are the claim, and a claim for what else it has a distribution of, like
// "connect", whose figures have no part in their names.
func (c *Claim) parts() []*Claim {
	all := []*Claim{c}
	for _, name := range slices.Sorted(maps.Keys(c.Figures)) {
		part, rest, ok := strings.Cut(name, ".")
		if _, whole := quantileOf(name); whole || !ok {
			continue
		}
		last := all[len(all)-1]
		if last.part != part {
			last = newClaim(c.Tool, c.Line)
			last.part = part
			all = append(all, last)
			if n, ok := c.Figures[part+".count"]; ok {
				last.set(Requests, n)
			} else if c.Tool == toolAB { // its parts are of every request
				last.set(Requests, c.get(Requests))
			}
		}
		last.set(rest, c.get(name))
	}
	return all
}

// measured reports whether the claim has any result, and not its settings alone.
func (c *Claim) measured() bool {
	for name := range c.Figures {
		if _, ok := quantileOf(name); ok || slices.Contains([]string{Rate, Requests, Mean, Max, Sum, ThreadRate, Accepted}, name) {
			return true
		}
	}
	return false
}

// inFlight is how many requests the connections can hold; ok is false where that is not
// told.
func (c *Claim) inFlight() (n float64, ok bool) {
	switch {
	case c.has(Concurrent):
		n = c.get(Concurrent).high()
	case c.has(Connections, Threads) && (c.Tool == toolWrk || c.Tool == toolWrk2):
		n = c.spread()
	case c.has(Connections):
		n = c.get(Connections).high()
	default:
		return 0, false
	}
	if c.has(Depth) {
		n *= c.get(Depth).Value
	}
	return n, n > 0
}

// spread is how many connections wrk opens: as many for each thread, rounded down.
func (c *Claim) spread() float64 {
	t := c.get(Threads).Value
	if t < 1 {
		return c.get(Connections).Value
	}
	return t * math.Floor(c.get(Connections).Value/t)
}

// rate is the rate of the whole run: as printed, or from what is.
func (c *Claim) rate() (f Figure, ok bool) {
	switch {
	case c.has(Rate):
		return c.get(Rate), true
	case c.has(Requests, Seconds) && c.get(Seconds).low() > 0:
		n, t := c.get(Requests), c.get(Seconds)
		r := n.Value / t.Value
		return Figure{r, r*t.Half/t.low() + n.Half/t.low()}, true
	case c.has(ThreadRate, Threads): // of wrk's samples, which leave its calibration out
		r := c.get(ThreadRate).times(c.get(Threads))
		if c.has(Offered) {
			r.Value = min(r.Value, c.get(Offered).Value)
		}
		return Figure{r.Value, r.Half + .15*r.Value}, true
	}
	return Figure{}, false
}

// A SyntaxError says which line cannot be read, and why.
type SyntaxError struct {
	Line int
	Err  error
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

func (e *SyntaxError) Unwrap() error { return e.Err }
