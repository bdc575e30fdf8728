package audit

import (
	"cmp"
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strings"

	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
)

// findings is the table of all checks, in the order of a report.
//
//go:embed findings.txt
var findings string

// A check is one kind of finding, as findings.txt lists it.
type check struct {
	Finding                     // its class, law and code
	sentences map[string]string // by name: "" is the finding, "do" the advice, "but" the consequence for the headline
	with      []*equation       // numbers that its sentences need computed: name = expression
	uses      []string          // further figures that its sentences use
	numbers   []string          // all that its sentences use, in the order of the alphabet
	sure      string            // without this figure the finding is open; "" for none
	tools     []string          // the tools that holds are about, "all" for any
	holds     []*equation       // what a run must keep; nil for a check in Go
}

// checks are the checks of findings.txt.
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
			last = &check{Finding: Finding{Code: fact.Code(first), Outcome: headings[kind], Law: law}, sentences: map[string]string{"": rest}}
			all = append(all, last)
		case first == "with":
			last.with = append(last.with, newEquation("", rest))
		case first == "uses":
			last.uses = strings.Fields(rest)
		case first == "sure":
			last.sure = rest
		case first == "holds":
			tools, law, _ := strings.Cut(rest, ": ")
			last.tools, last.holds = strings.Fields(tools), append(last.holds, newEquation("", law))
		default:
			last.sentences[first] = rest
		}
	}
	return all
}()

// checkOf returns the position of a code in checks. Every code that this package uses must be in
// findings.txt; the position of an unknown one is -1, and add would panic.
func checkOf(code fact.Code) int {
	return slices.IndexFunc(checks, func(k *check) bool { return k.Code == code })
}

// lookup returns a lookup of the check's own numbers first, and then of the run's figures.
func (k *check) lookup(c *Claim) lookup {
	own := map[string]Figure{}
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

// about returns the finding of a check on a run, with the numbers of its sentences by the lookup.
func (k *check) about(c *Claim, of lookup) Finding {
	f := Finding{Code: k.Code, Names: map[string]string{"tool": c.Tool, "loop": c.Loop}, Numbers: map[string]float64{}}
	if _, known := of(k.sure); k.sure != "" && !known {
		f.Outcome = outcome.Open
	}
	for _, name := range k.numbers {
		if v, ok := of(name); ok {
			f.Numbers[name] = v.Value
		}
	}
	return f
}

// headings are the first words of the headings of findings.txt. Suspicious figures are possible.
var headings = map[string]outcome.Outcome{"impossible": outcome.No, "suspicious": outcome.Yes, "open": outcome.Open}

// classes are the outcomes of findings, the gravest first.
var classes = []outcome.Outcome{outcome.No, outcome.Yes, outcome.Open}

const (
	slack    = .02    // how far a law may be broken beyond rounding, a ratio: tools read clocks at different moments
	unsteady = 1. / 3 // how far the mean of a tool's samples may be from the rate of the run, a ratio: wrk leaves out samples in which nothing ended
	missed   = .01    // share of planned requests that a run may lack and still have the planned load; 0.99 in findings.txt
	fewest   = 10     // quantiles of fewer requests mean nothing; 10 in tools/figures.txt
	hdr      = .005   // HDR histograms keep three digits
)

// estimated is the share of the requests by which a tool's quantiles may be off. vegeta estimates
// them by a t-digest, which draws a line between groups of times.
var estimated = map[string]float64{"vegeta": .01}

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
	runs     []*Claim          // judged so far, without those in which nothing was answered
	seen     map[string]*Claim // by its results: the first run that has them
	findings []Finding
}

// Judge checks the runs of a text against all laws and returns the findings, the gravest class
// first, then in the order of findings.txt and of the text. It stores figures of given in the
// claims that lack them, so text is changed, and one text must not be judged by two goroutines
// at once. text must have a run, as every text has that Read returns.
//
// A finding means that rounding, and slack for clocks, cannot explain the figures. Where a
// figure is missing no law that needs it is checked, so no findings does not mean that the
// figures are right.
func Judge(text *Text, given Given) *Report {
	a := &audit{seen: map[string]*Claim{}}
	result := &Report{Schema: 1, Runs: []Run{}, NotRead: text.Unread}
	var from []string
	for i, c := range text.Claims {
		for name, v := range map[string]float64{"cores": given.Cores, "service": given.Service, "connections": given.Connections} {
			if v > 0 && !c.has(name) {
				// A figure that the user typed counts as exact, but for the rounding of
				// floating point.
				c.set(name, Figure{v, v * 1e-9})
			}
		}
		if i > 0 {
			c.before = text.Claims[i-1]
		}
		c.derive()
		a.judge(i, c)
		if c.value("unanswered") == 0 {
			a.runs = append(a.runs, c)
		}
		run := c.Run
		run.Figures = map[string]float64{}
		for name, f := range c.Figures {
			run.Figures[name] = f.Value
		}
		result.Runs = append(result.Runs, run)
		if !slices.Contains(from, c.Tool) {
			from = append(from, c.Tool)
		}
	}
	a.backlog()
	a.growth()
	a.sameRate()
	a.repeats()
	if n := len(text.Guessed); n > 0 {
		a.addGroup(approximate.Of(rows{Rows: n}), text.Guessed)
	}
	slices.SortStableFunc(a.findings, func(x, y Finding) int {
		return cmp.Or(slices.Index(classes, x.Outcome)-slices.Index(classes, y.Outcome), checkOf(x.Code)-checkOf(y.Code))
	})
	result.Findings, result.Format = a.findings, strings.Join(from, ", ")
	return result
}

// judge holds run i to all laws of one run: the clashes that were found while reading, the laws
// of each distribution in it, the equations of its tool, and the checks of whole runs. It
// compares it with the runs before, too.
func (a *audit) judge(i int, c *Claim) {
	found := func(f Finding) {
		f.Run, f.Line = i, c.Line
		a.add(f)
	}
	nothing := checks[checkOf("audit-nothing")]
	if c.value("unanswered") > 0 { // its figures are zeros, and no law applies to zeros
		found(nothing.about(c, nothing.lookup(c)))
		return
	}
	for _, f := range c.clashes {
		found(f)
	}
	for _, part := range c.parts() {
		for _, f := range times(part) {
			found(f)
		}
		for _, l := range slices.Concat(tools().laws["all"], tools().laws[c.Tool]) {
			// An equation is not checked on a part that lacks its figures.
			if left, right, broken := l.broken(part.figure); broken {
				is := map[byte]string{'<': "at most", '>': "at least"}[l.sign[0]]
				found(twice(contradictions[l.code], part.part, l.left, left, is, l.right, right))
			}
		}
	}
	// The equations of findings.txt are about whole requests. One finding of a kind is enough for a
	// run, so the first equation that is broken counts.
	for _, k := range checks {
		if !slices.Contains(k.tools, "all") && !slices.Contains(k.tools, c.Tool) {
			continue
		}
		of := k.lookup(c)
		if !slices.ContainsFunc(k.holds, func(e *equation) bool { _, _, broken := e.broken(of); return broken }) {
			continue
		}
		found(k.about(c, of))
	}
	// Runs that agree in every digit are no two measurements. Every copy points to the original.
	results, figures := c.results(), ""
	for _, name := range results {
		figures += fmt.Sprint(name, c.value(name), " ")
	}
	if original := a.seen[figures]; original == nil || len(results) < 4 {
		a.seen[figures] = c
	} else {
		found(findingOf(identical.Of(likeness{Figures: len(results), Line: original.Line})))
	}
}

// add adds a finding with the law of its code, and with its class unless it has one. It drops a
// finding with an infinite number or NaN: such a number comes from a division by a figure that
// is 0 or missing.
func (a *audit) add(f Finding) {
	for _, v := range f.Numbers {
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return
		}
	}
	k := checks[checkOf(f.Code)]
	f.Outcome, f.Law = cmp.Or(f.Outcome, k.Outcome), k.Law
	a.findings = append(a.findings, f)
}

// twice returns the finding that a figure has two values: here, and in other, a place or an
// expression. of is the part that the figures are about, "" for whole requests. is tells how the
// two should compare: "at least", "at most" or "" for equal.
func twice(kind *fact.Kind[twoValues], of, name string, value Figure, is, other string, otherValue Figure) Finding {
	return findingOf(kind.Of(twoValues{
		about: about{Of: of, Unit: unitOf(name)}, Is: is, Left: name, LeftValue: value.Value, Right: other, RightValue: otherValue.Value,
	}))
}

// times returns the broken laws of a distribution that take more than an equation: of the response
// times, and of each other part of a request that the tool measures. They are arithmetic, so no
// server can break them.
func times(c *Claim) (broken []Finding) {
	found := func(f fact.Fact) { broken = append(broken, findingOf(f)) }
	times := about{Of: c.part, Unit: unitOf(c.part + ".mean")}
	all, mean := c.quantiles(), c.get("mean")
	// Two tools may take neighbouring requests as the same quantile. one is the share of one
	// request, 0 if their number is unknown. With few requests a tool may even print one quantile's
	// request for another, as hey does, so only the ends count.
	one := 0.
	n := cmp.Or(c.value("requests"), c.value("rate")*c.value("seconds"))
	if n > 0 {
		one = 1 / n
		if n < fewest {
			all = slices.DeleteFunc(all, func(q quantile) bool { return q.Q > 0 && q.Q < 1 })
		}
	}
	if less, more, wrong := disorder(c, all, one); wrong {
		found(wrongOrder.Of(ordered{about: times, Less: less.name, LessValue: less.Value, More: more.name, MoreValue: more.Value}))
	} else if low, high := meanBounds(all, max(one, estimated[c.Tool])); c.has("mean") && (mean.high() < low*(1-slack) || mean.low() > high*(1+slack)) {
		v, kind := bounded{about: times, Mean: mean.Value, Low: max(low, 0), Bound: &Bound{high}}, outOfBounds
		if math.IsInf(high, 0) {
			v.Bound = nil
		}
		if c.Tool == "fortio" {
			kind = interpolated
		}
		found(kind.Of(v))
	}
	// Values between a and b with mean m deviate by at most √((b - m)(m - a)) (Bhatia and Davis
	// 2000), which is at most (b - a)/2 (Popoviciu 1935). An unknown minimum counts as 0.
	stdev, most := c.get("stdev"), c.get("max")
	limit := math.Sqrt(max(0, most.high()-mean.low()) * max(0, mean.high()-max(c.get("min").low(), 0)))
	n = max(2, c.value("requests")) // tools divide by n - 1
	limit *= math.Sqrt(n / (n - 1))
	if c.has("stdev", "mean", "max") && stdev.low() > limit*(1+slack) {
		found(tooSpread.Of(deviation{about: times, Stdev: stdev.Value, Mean: mean.Value, Max: most.Value, Limit: limit}))
	}
	return broken
}

// disorder returns the first pair in the wrong order: quantiles do not fall as their share rises,
// min <= p50 <= p99 <= max, and the mean is between the ends. Two quantiles that are at most one
// request apart may be the same request, so their order is not checked.
func disorder(c *Claim, all []quantile, one float64) (less, more quantile, wrong bool) {
	above := func(low, high quantile) bool { return low.low()-hdr*math.Abs(low.low()) > high.high() }
	longest, next := quantile{Figure: Figure{Value: math.Inf(-1)}}, 0 // sizes may be below 0: fortio's -1 is none
	for _, q := range all {
		// longest is the largest of the quantiles that are surely below q. next only grows, so
		// the whole takes one pass.
		for ; all[next].Q < q.Q-one; next++ {
			if all[next].low() > longest.low() {
				longest = all[next]
			}
		}
		if above(longest, q) {
			return longest, q, true
		}
	}
	for _, ends := range [][2]string{{"mean", "max"}, {"min", "mean"}} {
		less, more = quantile{name: ends[0], Figure: c.get(ends[0])}, quantile{name: ends[1], Figure: c.get(ends[1])}
		if c.has(ends[:]...) && above(less, more) {
			return less, more, true
		}
	}
	return less, more, false
}

// meanBounds returns the bounds of the mean, Σ (q₊ - q) x(q) <= mean <= Σ (q₊ - q) x(q₊), with
// x(q) the quantile of the share q and q₊ the next share: no request between two quantiles took
// less than the lower or more than the upper. Without a maximum there is no upper bound, and high
// is infinite. Each bound gives way by one request at the longest time, for the different ways to
// pick a quantile.
func meanBounds(all []quantile, one float64) (low, high float64) {
	before := quantile{}
	for _, q := range all {
		low += (q.Q - before.Q) * before.low()
		high += (q.Q - before.Q) * q.high()
		before = q
	}
	if before.Q < 1 {
		high = math.Inf(1)
	}
	// The requests above the last quantile took at least as long as that one.
	return low + (1-before.Q)*before.low() - before.Value*one, high + before.Value*one
}
