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

// known reports whether a pair is ours.
func (p pair) known() bool {
	return key(p.word) != "" || p.sign == "=" && slices.Contains([]string{runKey, toolKey, loopKey}, strings.ToLower(p.word))
}

// keyValues reads lines of key=value or key: value until an empty one. A line above that
// says "(in milliseconds)" gives times that have no unit theirs.
func (r *reader) keyValues() (bool, error) {
	if r.at < r.noPairs {
		return false, nil
	}
	unit, i, read := "", r.at, []int(nil)
	first := pairsOf(r.Lines[i])
	if m := unitLine.FindStringSubmatch(r.Lines[i]); m != nil && len(first) == 0 {
		unit, read, i = unitWords[strings.ToLower(m[1])], []int{i}, i+1
	} else if len(first) == 0 || !first[0].known() {
		return false, nil
	}
	c := newClaim(toolFigures, r.at+1)
	for ; i < len(r.Lines) && strings.TrimSpace(r.Lines[i]) != "" && !strings.HasPrefix(r.Lines[i], "```"); i++ {
		if strings.HasPrefix(strings.TrimSpace(r.Lines[i]), "#") {
			read = append(read, i)
			continue
		}
		ours := len(read) > 0 && read[len(read)-1] == i-1
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
	if !c.measured() || len(c.Figures) < 2 && c.Name == "" { // one figure alone says nothing that could be checked
		r.noPairs = i
		return false, nil
	}
	r.Claims = append(r.Claims, c)
	for _, at := range read {
		r.read[at] = true
	}
	r.at = i
	return true, nil
}

// pair takes one key; unit is that of times without one, "" where they must have it.
func (c *Claim) pair(p pair, unit string) error {
	switch strings.ToLower(p.word) {
	case runKey:
		c.Name = p.value
		return nil
	case toolKey:
		c.Tool = p.value
		return nil
	case loopKey:
		if c.Loop = p.value; !slices.Contains([]string{closedLoop, pacedLoop, openLoop}, p.value) {
			return fmt.Errorf("loop %q is none of closed, paced, open", p.value)
		}
		return nil
	}
	name := key(p.word)
	f, err := readKey(name, p.value)
	if err != nil && unit != "" {
		f, err = readKey(name, p.value+unit)
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
	depthHead = regexp.MustCompile(`(?i)^#.*pipelin\w*,?\s*[×x]\s*(\d+)`)
	tilde     = regexp.MustCompile(`^[~≈]\s*[\d.,]+`)
)

// cells splits a row of a Markdown table; nil for what is none.
func cells(l string) (all []string) {
	if l = strings.TrimSpace(l); !strings.HasPrefix(l, "|") {
		return nil
	}
	for part := range strings.SplitSeq(strings.Trim(l, "|"), "|") {
		all = append(all, strings.Trim(part, " *`"))
	}
	return all
}

// table reads the rows of a table whose head names two figures or more. A cell that cannot
// be read is no figure, and a row with one that is marked as approximate is left out.
func (r *reader) table() (bool, error) {
	first, names, known := r.at, cells(r.Lines[r.at]), 0
	if names == nil {
		return false, nil
	}
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
		c := newClaim(toolTable, r.at+1)
		if slices.ContainsFunc(row, tilde.MatchString) {
			r.Guessed = append(r.Guessed, c.Line)
			continue
		}
		for k, cell := range row[:min(len(row), len(names))] {
			if f, err := readKey(names[k], cell); err == nil && names[k] != "" {
				c.set(names[k], f)
			}
		}
		if known < 2 || !c.measured() {
			continue
		}
		if r.depth.Value > 0 {
			c.set(Depth, r.depth)
		}
		r.Claims = append(r.Claims, c)
		for _, i := range []int{first, first + 1, r.at} { // head, rule and row
			r.read[i] = true
		}
	}
	return true, nil
}

var (
	proseRate    = regexp.MustCompile(`(?i)(?:^|[\s(])(\d[\d.,]*)\s?(?:requests per second|requests/s(?:ec)?|req/s|rps)\b`)
	proseService = regexp.MustCompile(`(?i)(?:^|[\s(])(\d[\d.]*\s?(?:ms|µs|us|s)) of CPU\b`)
)

// prose reads sentences that name rates and one CPU time of a request. Where they name
// another such time nothing is read, because it is not told which goes with which.
func (r *reader) prose() {
	var service Figure
	var claims []*Claim
	var lines []int
	for i, l := range r.Lines {
		if r.read[i] {
			continue
		}
		if m := proseService.FindStringSubmatch(l); m != nil {
			f, err := figure(m[1], "time")
			if err != nil || service.Value > 0 && service != f {
				return
			}
			service, lines = f, append(lines, i)
		}
		for _, m := range proseRate.FindAllStringSubmatch(l, -1) {
			if f, err := figure(m[1], "rate"); err == nil {
				c := newClaim(toolProse, i+1)
				c.set(Rate, Figure{f.Value, .005 * f.Value}) // a round number
				claims, lines = append(claims, c), append(lines, i)
			}
		}
	}
	if service.Value == 0 {
		return
	}
	for _, c := range claims {
		c.set(Service, service)
	}
	for _, i := range lines {
		r.read[i] = true
	}
	r.Claims = append(r.Claims, claims...)
}
