package audit

import (
	"cmp"
	_ "embed"
	"math"
	"regexp"
	"slices"
	"strings"

	"schedlab/internal/record"
)

// findings is the table of all checks, in the order of a report.
//
//go:embed findings.txt
var findings string

// A finding is one result of an audit.
type finding = record.AuditFinding

// A check is one kind of finding, as findings.txt lists it.
type check struct {
	finding             // its class, law and code
	with    []*equation // numbers that are worked out for its sentences: name = expression
	names   []string    // all numbers that its sentences use
	words   []string    // all names that its sentences use
	sure    string      // without this figure the finding is undecidable; "" for none
	tools   []string    // the tools that holds are about, "all" for any
	holds   []*equation // what a run must keep; nil for a check in Go
}

// used finds the numbers and the names that a sentence uses.
var used = regexp.MustCompile(`\.(Values|Names)\.(\w+)`)

// checks are the checks of findings.txt. Reading them registers their sentences: CODE+" do" says
// what to do about a finding, and CODE+" but" what it means for the headline.
var checks = func() (all []*check) {
	var kind, law string
	var last *check
	for l := range strings.Lines(findings) {
		first, rest, _ := strings.Cut(strings.TrimSpace(l), " ")
		// A heading has no tab before it, a check has one, and what belongs to a check has two.
		switch {
		case l[0] == '#':
		case l[0] != '\t':
			kind, law = first, rest
		case !strings.HasPrefix(l, "\t\t"):
			last = &check{finding: finding{Code: record.Sentence(record.Code(first), rest), Kind: record.Judgement(kind), Law: law}}
			all = append(all, last)
		case first == "with":
			last.with = append(last.with, newEquation("", rest))
		case first == "sure":
			last.sure = rest
		case first == "holds":
			tools, law, _ := strings.Cut(rest, ": ")
			last.tools, last.holds = strings.Fields(tools), append(last.holds, newEquation("", law))
		default:
			record.Sentence(last.Code+record.Code(" "+first), rest)
		}
		for _, m := range used.FindAllStringSubmatch(l, -1) {
			if m[1] == "Names" {
				last.words = append(last.words, m[2])
			} else {
				last.names = append(last.names, m[2])
			}
		}
	}
	return all
}()

// checkOf returns the position of a code in checks. Every code that this package uses must be in
// findings.txt; the position of an unknown one is -1, and add would panic.
func checkOf(code record.Code) int {
	return slices.IndexFunc(checks, func(k *check) bool { return k.Code == code })
}

// lookup finds a number of the check first, and then a figure of the run.
func (k *check) lookup(c *Claim, numbers record.Values) lookup {
	own := map[string]Figure{}
	for name, v := range numbers {
		own[name] = Figure{Value: v}
	}
	of := func(name string) (Figure, bool) {
		if f, ok := own[name]; ok {
			return f, true
		}
		return c.figure(name)
	}
	for _, e := range k.with {
		if _, has := own[e.left]; has {
			continue
		}
		if v, ok := lookup(of).compute(e.value); ok && e.applies(of) {
			own[e.left] = v
		}
	}
	return of
}

// fill gives f the numbers that the sentences of the check use and that f does not have yet.
func (k *check) fill(f *finding, of lookup) {
	if f.Numbers == nil {
		f.Numbers = record.Values{}
	}
	for _, name := range k.names {
		if _, has := f.Numbers[name]; !has {
			if v, ok := of(name); ok {
				f.Numbers[name] = v.Value
			}
		}
	}
}

// classes are the classes of findings, the gravest first.
var classes = []record.Judgement{record.Impossible, record.Suspicious, record.CannotTell}

const (
	slack    = .02    // how far a law may be broken beyond rounding, a ratio: tools read clocks at different moments
	unsteady = 1. / 3 // how far the mean of a tool's samples may be from the rate of the run, a ratio: wrk leaves out samples in which nothing ended
	missed   = .01    // share of planned requests that a run may lack and still have the planned load; 0.99 in findings.txt
	hdr      = .005   // HDR histograms keep three digits
)

// Given holds what the user knows beyond the text. A field of 0 is unknown. A figure that the
// text has itself wins over the given one.
type Given struct {
	Cores       float64 // of the server
	Service     float64 // the server's CPU time for one request, in seconds
	Connections float64 // requests that could be in flight at once
}

// An audit is the state of Judge: the runs, and the findings so far in the order in which checks
// found them.
type audit struct {
	runs     []*Claim
	findings []finding
}

// ofTimes are the checks of any distribution that take more than an equation: of the response times, and
// of each other part of a request that the tool measures. They are arithmetic, so no server can break
// them. Each reports whether its law is broken, and then f has the code, the names and some numbers.
var ofTimes = []func(c *Claim, f *finding) bool{order, meanBounds, spread}

// Judge checks the runs of a text against all laws and returns the findings, the gravest class
// first, then in the order of findings.txt and of the text. It stores figures of given in the
// claims that lack them, so text is changed, and one text must not be judged by two goroutines
// at once. text must have a run, as every text has that Read returns.
//
// A finding means that rounding, and slack for clocks, cannot explain the figures. Where a
// figure is missing no law that needs it is checked, so no findings does not mean that the
// figures are right.
func Judge(text *Text, given Given) *record.Audit {
	a := &audit{runs: text.Claims}
	result := &record.Audit{Schema: 1, Runs: []record.AuditRun{}, NotRead: text.Unread}
	var from []string
	for i, c := range a.runs {
		for name, v := range map[string]float64{"cores": given.Cores, "service": given.Service, "connections": given.Connections} {
			if v > 0 && !c.has(name) {
				// A figure that the user typed counts as exact, but for the rounding of
				// floating point.
				c.set(name, Figure{v, v * 1e-9})
			}
		}
		c.derive()
		a.judge(i, c)
		run := c.AuditRun
		run.Figures = map[string]float64{}
		for name, f := range c.Figures {
			run.Figures[name] = f.Value
		}
		result.Runs = append(result.Runs, run)
		if !slices.Contains(from, c.Tool) {
			from = append(from, c.Tool)
		}
	}
	a.across()
	if n := len(text.Guessed); n > 0 {
		a.addGroup("audit-approximate", text.Guessed, record.Values{"rows": float64(n)})
	}
	slices.SortStableFunc(a.findings, func(x, y finding) int {
		return cmp.Or(slices.Index(classes, x.Kind)-slices.Index(classes, y.Kind), checkOf(x.Code)-checkOf(y.Code))
	})
	result.Findings, result.Format = a.findings, strings.Join(from, ", ")
	return result
}

// judge holds run i to all laws of one run: the clashes that were found while reading, the laws
// of each distribution in it, the equations of its tool, and the checks of whole runs.
func (a *audit) judge(i int, c *Claim) {
	found := func(f finding) {
		f.Run, f.Line = i, c.Line
		a.add(f)
	}
	for _, f := range c.clashes {
		found(f)
	}
	for _, part := range c.parts() {
		for _, broken := range ofTimes {
			if f := (finding{Names: record.Names{}}); broken(part, &f) {
				k := checks[checkOf(f.Code)]
				k.fill(&f, k.lookup(part, f.Numbers))
				found(f)
			}
		}
		for _, l := range slices.Concat(tools().laws["all"], tools().laws[c.Tool]) {
			// An equation is not checked on a part that lacks its figures.
			if left, right, broken := l.broken(part.figure); broken {
				is := map[byte]string{'<': "at most", '>': "at least"}[l.sign[0]]
				found(twice(l.code, part.part, l.left, left, is, l.right, right))
			}
		}
	}
	// The equations of findings.txt are about whole requests. One finding of a kind is enough for a
	// run, so the first equation that is broken counts.
	for _, k := range checks {
		if !slices.Contains(k.tools, "all") && !slices.Contains(k.tools, c.Tool) {
			continue
		}
		of := k.lookup(c, nil)
		if slices.ContainsFunc(k.holds, func(e *equation) bool { _, _, broken := e.broken(of); return broken }) {
			f := finding{Code: k.Code, Names: record.Names{"tool": c.Tool}}
			for _, name := range k.words {
				f.Names[name] = c.name(name)
			}
			if _, known := of(k.sure); k.sure != "" && !known {
				f.Kind = record.CannotTell
			}
			k.fill(&f, of)
			found(f)
		}
	}
}

// add adds a finding with the law of its code, and with its class unless it has one. It drops a
// finding with an infinite number or NaN: such a number comes from a division by a figure that
// is 0 or missing.
func (a *audit) add(f finding) {
	for _, v := range f.Numbers {
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return
		}
	}
	k := checks[checkOf(f.Code)]
	f.Kind, f.Law = cmp.Or(f.Kind, k.Kind), k.Law
	a.findings = append(a.findings, f)
}

// twice returns the finding that a figure has two values: here, and in other, a place or an
// expression. of is the part that the figures are about, "" for whole requests. is tells how the
// two should compare: "at least", "at most" or "" for equal.
func twice(code record.Code, of, name string, value Figure, is, other string, otherValue Figure) finding {
	return finding{
		Code:    code,
		Numbers: record.Values{"left": value.Value, "right": otherValue.Value},
		Names:   record.Names{"left": name, "right": other, "is": is, "unit": unitOf(name), "of": of},
	}
}

// order checks that quantiles do not fall as their share rises: min <= p50 <= p99 <= max, and
// that the mean is between the ends. Two quantiles that are at most one request apart may be
// the same request, so their order is not checked. f gets the first pair that is wrong.
func order(c *Claim, f *finding) bool {
	above := func(low, high quantile) bool {
		f.Code, f.Numbers = "audit-order", record.Values{"less": low.Value, "more": high.Value}
		f.Names = c.names(record.Names{"less": low.name, "more": high.name})
		return low.low()*(1-hdr) > high.high()
	}
	all, longest, next := c.quantiles(), quantile{name: "min"}, 0
	for _, q := range all {
		// longest is the largest of the quantiles that are surely below q. next only grows, so
		// the whole takes one pass.
		for ; all[next].Q < q.Q-c.one(); next++ {
			if all[next].low() > longest.low() {
				longest = all[next]
			}
		}
		if above(longest, q) {
			return true
		}
	}
	mean, least, most := quantile{0, "mean", c.get("mean")}, quantile{0, "min", c.get("min")}, quantile{1, "max", c.get("max")}
	return c.has("mean", "max") && above(mean, most) || c.has("mean", "min") && above(least, mean)
}

// one is the share of one request. Tools differ in which request they take as a quantile, by
// one at most. It is 0 where the number of requests is unknown.
func (c *Claim) one() float64 {
	if n := c.value("requests"); n > 0 {
		return 1 / n
	}
	return 0
}

// meanBounds checks Σ (q₊ - q) x(q) <= mean <= Σ (q₊ - q) x(q₊), with x(q) the quantile of the
// share q and q₊ the next share: no request between two quantiles took less than the lower or
// more than the upper. The upper bound needs the maximum. Quantiles in the wrong order are left
// to order.
func meanBounds(c *Claim, f *finding) bool {
	all := c.quantiles()
	if len(all) == 0 || !c.has("mean") || order(c, f) {
		return false
	}
	low, high, before := 0., 0., quantile{}
	for _, q := range all {
		low += (q.Q - before.Q) * before.low()
		high += (q.Q - before.Q) * q.high()
		before = q
	}
	// The requests above the last quantile took at least as long as that one. Each bound gives
	// way by one request at the longest time, for the different ways to pick a quantile.
	low += (1-before.Q)*before.low() - before.Value*c.one()
	high += before.Value * c.one()
	mean := c.get("mean")
	f.Code, f.Numbers, f.Names = "audit-mean-bounds", record.Values{"low": max(low, 0)}, c.names(record.Names{})
	if before.Q == 1 {
		f.Numbers["high"] = high
	}
	if c.Tool == "fortio" {
		f.Code = "audit-interpolated"
	}
	return mean.high() < low*(1-slack) || before.Q == 1 && mean.low() > high*(1+slack)
}

// spread checks the standard deviation. Values between a and b with mean m deviate by at most
// √((b - m)(m - a)) (Bhatia and Davis 2000), which is at most (b - a)/2 (Popoviciu 1935). An
// unknown minimum counts as 0.
func spread(c *Claim, f *finding) bool {
	m, least, most := c.get("mean"), c.get("min").low(), c.get("max").high()
	limit := math.Sqrt(max(0, most-m.low()) * max(0, m.high()-max(least, 0)))
	n := max(2, c.value("requests")) // tools divide by n - 1
	limit *= math.Sqrt(n / (n - 1))
	f.Code, f.Numbers, f.Names = "audit-spread", record.Values{"limit": limit}, c.names(f.Names)
	return c.has("stdev", "mean", "max") && c.get("stdev").low() > limit*(1+slack)
}

// names adds to n the part that the figures are about, "" for whole requests, and the unit of
// its times. It returns n.
func (c *Claim) names(n record.Names) record.Names {
	n["of"], n["unit"] = c.part, unitOf(c.part+".mean")
	return n
}
