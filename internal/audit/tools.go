package audit

import (
	"embed"
	"io/fs"
	"math"
	"strings"
)

// Load tools.
const (
	toolWrk        = "wrk"
	toolWrk2       = "wrk2"
	toolHTTPerf    = "httperf"
	toolAB         = "ab"
	toolHey        = "hey"
	toolOha        = "oha"
	toolVegeta     = "vegeta"
	toolK6         = "k6"
	toolFortio     = "fortio"
	toolBombardier = "bombardier"
	toolH2load     = "h2load"
)

// Tables of what tools print, and of what they print twice: see [layout.add],
// [document.line] and [newEquation].
//
//go:embed tools/*.txt
var tables embed.FS

var (
	layouts   []*layout
	documents []*document
	equations = map[string][]*equation{} // by tool, "all" for every run
)

func init() {
	files, _ := fs.Glob(tables, "tools/*.txt")
	for _, file := range files {
		text, _ := tables.ReadFile(file)
		var take func(l string)
		for l := range strings.Lines(string(text)) {
			words := strings.Fields(l)
			switch {
			case l[0] == '\t':
				take(strings.TrimSpace(l))
			case words[0] == "text":
				of := &layout{tool: words[1], loop: words[2]}
				layouts, take = append(layouts, of), of.add
			case words[0] == "json":
				of := &document{tool: words[1], loop: words[2], marks: words[3:], fields: map[string]field{}}
				documents, take = append(documents, of), of.line
			case words[0] == "laws":
				take = func(l string) {
					for _, tool := range words[1:] {
						equations[tool] = append(equations[tool], newEquation(l))
					}
				}
			}
		}
	}
}

// finish works out what the lines of a run say together, by its tool's habits.
func (c *Claim) finish() {
	switch c.Tool {
	case toolWrk, toolWrk2: // what happened to sockets is not among the requests
		if c.Tool == toolWrk2 {
			c.Loop = openLoop
		}
		if c.has(asked) && !c.has(Seconds) {
			c.set(Seconds, c.get(asked))
		}
		c.sum(Errors, "connect_errors", "read_errors", "write_errors")
	case toolHTTPerf:
		// A reply's time is the wait for its first byte and the transfer of the rest. A call
		// sends each connection's requests one after another. The median is that of bins of 1 ms.
		c.sum(Mean, "response", "transfer")
		if c.get("calls").Value > 0 && c.get("connection_rate").Value > 0 {
			c.set(Offered, c.get("connection_rate").times(c.get("calls")))
			c.Loop = pacedLoop
		}
		if c.has("connection.p50") {
			c.Figures["connection.p50"] = Figure{c.get("connection.p50").Value, 1e-3}
		}
	case toolAB: // a reply of another length than the first counts as failed, which it need not be
		if c.has("failed") {
			c.set(Errors, Figure{Value: max(0, c.get("failed").Value-c.get("length_differs").Value)})
		}
	case toolHey, toolOha, toolBombardier:
		if c.Tool == toolOha {
			c.Loop = unknownLoop
			c.sum("attempts", replies, Errors)
		}
		c.sum(Requests, append([]string{Errors, CutOff}, statuses...)...)
		switch longest := c.get(Max).high(); {
		case c.Tool == toolHey && c.get(replies).Value >= 1e6: // it keeps a million statuses, and divides by them
			delete(c.Figures, Requests)
			delete(c.Figures, Mean)
		case c.Tool == toolHey:
			// It prints the times of whole requests where those of dialing belong.
			for from, to := range map[string]string{"dial.min": Min, "dial.max": Max} {
				if c.has(from) {
					c.note("", to, c.get(from))
					delete(c.Figures, from)
				}
			}
		case c.has(asked) && !c.has(Seconds): // bombardier waits for the last, and does not print for how long
			t := c.get(asked).Value
			c.set(Seconds, Figure{t + longest/2, .02*t + longest/2})
		}
	case toolVegeta:
		if c.has("success", Requests) {
			c.set(OK, c.get(Requests).times(c.get("success")))
		}
	case toolK6: // a status of 400 or above, or no reply: the summary does not tell which
		c.sum(NotGood, "failed")
		if !c.has("checks") {
			c.sum("checks", "checks_good", "checks_bad")
		}
	case toolFortio:
		if rate := c.get("asked_rate"); rate.Value > 0 { // 0 for as fast as it can
			c.set(Offered, rate)
			c.Loop = pacedLoop
		}
	case toolH2load: // done are the succeeded and the failed; of the failed, those with a status had a reply
		if c.has("failed") {
			c.set(Errors, Figure{Value: max(0, c.get("failed").Value-c.get(Status4xx).Value-c.get(Status5xx).Value)})
		}
	}
}

// sum sets a figure to the sum of others, if any is there.
func (c *Claim) sum(name string, of ...string) {
	for _, part := range of {
		if c.has(part) {
			c.add(name, c.get(part))
		}
	}
}

// backFilled is the longest mean that wrk 4 can print for what its connections can hold.
// For a time x that is longer than two cycles N/X its histogram gets x - N/X, x - 2 N/X and
// so on as well, about x / (N/X) times and x/2 in the mean. All true times sum to N T at
// most, so the mean is highest where those of the longest make up that whole sum: half a
// cycle and a quarter of the longest time.
func backFilled(c *Claim) float64 {
	n, _ := c.inFlight()
	rate, _ := c.rate()
	if !c.has(Max) || rate.low() <= 0 {
		return math.Inf(1)
	}
	cycle := n / rate.low()
	return max(cycle, cycle/2+c.get(Max).high()/4)
}
