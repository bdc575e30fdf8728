package audit

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// What is no tool's output.
const (
	toolFigures = "figures" // key=value
	toolTable   = "table"
	toolProse   = "prose"
)

// keys are what a key=value line may say.
var keys = []string{
	Connections, Opened, Concurrent, Threads, Depth, Requests, OK, Errors, Timeouts, "connect_errors", "read_errors", "write_errors",
	Status1xx, Status2xx, Status3xx, Status4xx, Status5xx, NotGood, CutOff, Unsent, Cores, Accepted, Done, Rate, Offered, ThreadRate, ThreadMax,
	Mean, Stdev, Min, Max, Sum, Service, CalibMean, CalibLeast, CalibMost, Seconds, Bytes, BytesRate, CPU, Change,
}

// aliases are other words for keys, in key=value lines and in the heads of tables.
var aliases = map[string]string{
	"duration": Seconds, "clients": Connections, "concurrency": Connections, "conns": Connections, "pipeline": Depth, "total requests": Requests,
	"throughput": Rate, "rps": Rate, "req/s": Rate, "requests/s": Rate, "requests/sec": Rate, "qps": Rate, "offered rate": Offered, "target rate": Offered,
	"latency": Mean, "avg": Mean, "average": Mean, "avg latency": Mean, "mean latency": Mean, "mean request time": Mean, "median": "p50", "median request time": "p50",
	"minimum request time": Min, "maximum request time": Max, "total request time": Sum, "sd": Stdev, "stddev": Stdev, "p100": Max,
	"service time": Service, "2xx": Status2xx, "3xx": Status3xx, "4xx": Status4xx, "5xx": Status5xx, "vs previous": Change, "vs previous row": Change,
}

// key is the figure that a word stands for; "" for none.
func key(word string) string {
	word = strings.ToLower(strings.Trim(word, " *`"))
	if to, ok := aliases[word]; ok {
		return to
	}
	if _, ok := quantileOf(word); ok || slices.Contains(keys, word) {
		return word
	}
	return ""
}

// readKey reads the value of a key.
func readKey(name, value string) (Figure, error) {
	if name == Seconds { // the key says the unit; another may be written
		if f, err := figure(value+"s", "time"); err == nil {
			return f, nil
		}
	}
	return figure(value, kindFor(name))
}

var (
	pairLine  = regexp.MustCompile(`^\s*([A-Za-z][\w ./%]*?)\s*([=:])\s*(\S.*?)\s*$`)
	pairsLine = regexp.MustCompile(`^\s*[A-Za-z][\w.]*=\S+(?:\s+[A-Za-z][\w.]*=\S+)+\s*$`)
	unitLine  = regexp.MustCompile(`(?i)\(in (milliseconds|microseconds|seconds|ms|us)\)`)
)

var unitWords = map[string]string{"milliseconds": "ms", "microseconds": "us", "seconds": "s", "ms": "ms", "us": "us"}

// words that are no figures.
const (
	runKey  = "run"  // its name; runs of one name repeat each other
	toolKey = "tool" // that measured it: then the tool's habits are known
	loopKey = "loop"
)

// A pair is what a line says of one key.
type pair struct{ word, sign, value string }

func pairsOf(l string) []pair {
	if pairsLine.MatchString(l) {
		var all []pair
		for part := range strings.FieldsSeq(l) {
			word, value, _ := strings.Cut(part, "=")
			all = append(all, pair{word, "=", value})
		}
		return all
	}
	if m := pairLine.FindStringSubmatch(l); m != nil {
		return []pair{{m[1], m[2], m[3]}}
	}
	return nil
}

// known reports whether a pair is ours.
func (p pair) known() bool {
	word := strings.ToLower(p.word)
	return key(p.word) != "" || p.sign == "=" && (word == runKey || word == toolKey || word == loopKey)
}

// keyValues reads lines of key=value or key: value until an empty one. A line above that
// says "(in milliseconds)" gives times that have no unit theirs.
func (r *reader) keyValues() (bool, error) {
	if r.at < r.noPairs {
		return false, nil
	}
	unit := ""
	first := pairsOf(r.Lines[r.at])
	if m := unitLine.FindStringSubmatch(r.Lines[r.at]); m != nil && len(first) == 0 {
		unit = unitWords[strings.ToLower(m[1])]
	} else if len(first) == 0 || !first[0].known() {
		return false, nil
	}
	c, begin := newClaim(toolFigures, r.at+1), r.at
	read := map[int]bool{}
	if unit != "" {
		read[begin] = true
		begin++
	}
	i := begin
	for ; i < len(r.Lines) && strings.TrimSpace(r.Lines[i]) != "" && !strings.HasPrefix(r.Lines[i], "```"); i++ {
		if strings.HasPrefix(strings.TrimSpace(r.Lines[i]), "#") {
			read[i] = true
			continue
		}
		for n, p := range pairsOf(r.Lines[i]) {
			if p.known() {
				if err := c.pair(p, unit); err != nil && p.sign == "=" {
					return false, &SyntaxError{i + 1, err}
				} else if err == nil {
					read[i], c.End = true, i+1
				}
				continue
			}
			if p.sign == "=" && (n > 0 || read[i-1]) { // among our own
				return false, &SyntaxError{i + 1, fmt.Errorf("unknown key %q", p.word)}
			}
		}
	}
	if !c.measured() || len(c.Figures) < 2 && c.Name == "" { // one figure alone says nothing that could be checked
		r.noPairs = i
		return false, nil
	}
	r.Claims = append(r.Claims, c)
	for at := range read {
		r.read[at] = true
	}
	r.at = i
	return true, nil
}

// pair takes one key; unit is that of times without one, "" where they must have it.
func (c *Claim) pair(p pair, unit string) error {
	switch word := strings.ToLower(p.word); word {
	case runKey:
		c.Name = p.value
		return nil
	case toolKey:
		c.Tool = p.value
		return nil
	case loopKey:
		switch p.value {
		case closedLoop, pacedLoop, openLoop:
			c.Loop = p.value
			return nil
		}
		return fmt.Errorf("loop %q is none of closed, paced, open", p.value)
	}
	name := key(p.word)
	f, err := readKey(name, p.value)
	if err != nil && unit != "" {
		if with, again := readKey(name, p.value+unit); again == nil {
			f, err = with, nil
		}
	}
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
	ruleRow   = regexp.MustCompile(`^\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*$`)
	depthHead = regexp.MustCompile(`(?i)pipelin\w*,?\s*[×x]\s*(\d+)`)
	tilde     = regexp.MustCompile(`^[~≈]\s*[\d.,]+`)
)

// cells splits a row of a table, of Markdown or with tabs between.
func cells(l string) (all []string) {
	switch {
	case strings.HasPrefix(strings.TrimSpace(l), "|"):
		for part := range strings.SplitSeq(strings.Trim(strings.TrimSpace(l), "|"), "|") {
			all = append(all, strings.Trim(part, " *`"))
		}
	case strings.Count(l, "\t") >= 2:
		for part := range strings.SplitSeq(l, "\t") {
			all = append(all, strings.TrimSpace(part))
		}
	}
	return all
}

// table reads the rows of a table whose head names a rate, or a time, beside what the
// rows differ by. A cell that cannot be read, or is marked as approximate, is no figure.
func (r *reader) table() (bool, error) {
	head := cells(r.Lines[r.at])
	if len(head) < 2 {
		return false, nil
	}
	names, figures := make([]string, len(head)), 0
	for i, word := range head {
		if names[i] = key(word); names[i] != "" {
			figures++
		}
	}
	depth := r.depth()
	i, found := r.at+1, false
	for ; i < len(r.Lines); i++ {
		row := cells(r.Lines[i])
		if row == nil || ruleRow.MatchString(r.Lines[i]) {
			if row == nil {
				break
			}
			continue
		}
		c := newClaim(toolTable, i+1)
		for k, cell := range row {
			if tilde.MatchString(cell) {
				r.Guessed = append(r.Guessed, i+1)
				break
			}
			if figures < 2 || k >= len(names) || names[k] == "" {
				continue
			}
			if f, err := readKey(names[k], cell); err == nil {
				c.set(names[k], f)
			}
		}
		if !c.measured() {
			continue
		}
		if depth > 0 {
			c.set(Depth, Figure{Value: depth})
		}
		r.Claims, r.read[i], found = append(r.Claims, c), true, true
	}
	if found {
		r.read[r.at] = true
		if ruleRow.MatchString(r.Lines[r.at+1]) {
			r.read[r.at+1] = true
		}
	}
	r.at = i
	return true, nil
}

// depth is how many requests were in flight on a connection, by the heading above the
// next line; 0 where it does not say.
func (r *reader) depth() float64 {
	for i := r.at - 1; i >= 0; i-- {
		l := strings.TrimSpace(r.Lines[i])
		if l == "" {
			continue
		}
		if m := depthHead.FindStringSubmatch(l); m != nil && strings.HasPrefix(l, "#") {
			if f, err := figure(m[1], "count"); err == nil {
				return f.Value
			}
		}
		return 0
	}
	return 0
}

var (
	proseRate    = regexp.MustCompile(`(?i)(?:^|[\s(])(\d[\d.,]*)\s?(?:requests per second|requests/s(?:ec)?|req/s|rps)\b`)
	proseService = regexp.MustCompile(`(?i)(?:^|[\s(])(\d[\d.]*\s?(?:ms|µs|us|s)) of CPU\b`)
)

// prose reads sentences that name both the CPU time of a request and rates. Where they
// name more than one such time nothing is read, because it is not told which goes with
// which.
func (r *reader) prose() {
	var service *Figure
	var claims []*Claim
	var lines []int
	for i, l := range r.Lines {
		if r.read[i] {
			continue
		}
		for _, m := range proseService.FindAllStringSubmatch(l, -1) {
			f, err := figure(m[1], "time")
			if err != nil || service != nil && service.Value != f.Value {
				return
			}
			service, lines = &f, append(lines, i)
		}
		for _, m := range proseRate.FindAllStringSubmatch(l, -1) {
			f, err := figure(m[1], "count")
			if err != nil {
				continue
			}
			c := newClaim(toolProse, i+1)
			c.set(Rate, Figure{f.Value, .005 * f.Value}) // a round number
			claims, lines = append(claims, c), append(lines, i)
		}
	}
	if service == nil {
		return
	}
	for _, c := range claims {
		c.set(Service, *service)
	}
	for _, i := range lines {
		r.read[i] = true
	}
	r.Claims = append(r.Claims, claims...)
}
