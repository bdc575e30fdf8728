package audit

import (
	"cmp"
	_ "embed"
	"math"
	"slices"
	"strings"

	"schedlab/internal/record"
)

// findings is the table of all findings: their classes, their laws, their codes and sentences,
// in the order of a report.
//
//go:embed findings.txt
var findings string

// rules are the findings of findings.txt in the order of a report, each with its class and
// law. Reading them registers their sentences; CODE+" do" says what to do about a finding.
var rules = func() (all []finding) {
	var kind, law string
	for l := range strings.Lines(findings) {
		l, isFinding := strings.CutPrefix(strings.TrimSuffix(l, "\n"), "\t")
		do, isDo := strings.CutPrefix(l, "\t")
		first, rest, _ := strings.Cut(l, " ")
		switch {
		case isDo:
			record.Sentence(all[len(all)-1].Code+" do", do)
		case isFinding:
			all = append(all, finding{Code: record.Sentence(record.Code(first), rest), Kind: record.Judgement(kind), Law: law})
		case first[0] != '#':
			kind, law = first, rest
		}
	}
	return all
}()

// classes are the classes of findings, the gravest first.
var classes = []record.Judgement{record.Impossible, record.Suspicious, record.CannotTell}

// ruleOf returns the position of a finding in rules. Every code that this package uses must be
// in findings.txt; the position of an unknown one is -1, and add would panic.
func ruleOf(f finding) int {
	return slices.IndexFunc(rules, func(r finding) bool { return r.Code == f.Code })
}

const (
	slack     = .02  // how far a law may be broken beyond rounding, a ratio: tools read clocks at different moments
	missed    = .01  // share of planned requests that a run may lack and still have the planned load
	fewFailed = .001 // share of requests without a good reply that a comparison tolerates
	hdr       = .005 // HDR histograms keep three digits
)

// Given holds what the user knows beyond the text. A field of 0 is unknown. A figure that the
// text has itself wins over the given one.
type Given struct {
	Cores       float64 // of the server
	Service     float64 // the server's CPU time for one request, in seconds
	Connections float64 // requests that could be in flight at once
}

// A finding is one result of an audit. The alias keeps the tables of laws short.
type finding = record.AuditFinding

// An audit is the state of Judge: the runs, and the findings so far in the order in which laws
// found them.
type audit struct {
	runs     []*Claim
	findings []finding
}

// A law looks at one run. broken fills the numbers of the finding, and its names where it has
// any, and tells whether there is one. It may replace the code where the same figures have
// another reading. It is called only where the run has all figures in needs, and it may fill f
// even where it returns false.
type law struct {
	code   record.Code
	tools  string // the only ones that it is about, "" for all
	needs  string // figures without which it says nothing
	broken func(c *Claim, f *finding) bool
}

// ofTimes are the laws of any distribution: of the response times, and of each other part of a
// request that the tool measures. They are arithmetic, so no server can break them.
var ofTimes = []law{
	{"audit-order", "", "", order},
	{"audit-mean-bounds", "", "mean", meanBounds},
	{"audit-spread", "", "stdev mean max", spread},
}

// ofRuns are the laws of a run as a whole. Many are about one tool, because they follow from
// how the tool sends or counts; each says which. Sources: Little 1961; Denning and Buzen 1978
// for the utilisation law and the interactive law; the tools' own code.
var ofRuns = []law{
	{"audit-offered-missed", "", "offered rate", offeredMissed},
	{"audit-little", "", "mean", little},
	// Rate × CPU time keeps no more cores busy than there are.
	{"audit-utilisation", "", "service", func(c *Claim, f *finding) bool {
		rate := c.rate()
		busy := rate.times(c.get("service"))
		f.Numbers = record.Values{"rate": rate.Value, "service": c.value("service"), "busy": busy.Value}
		if !c.has("cores") {
			f.Code, f.Numbers["needed"] = "audit-cores-untold", math.Ceil(busy.Value*(1-slack))
			return rate.Value > 0
		}
		f.Numbers["cores"] = c.value("cores")
		return rate.Value > 0 && busy.exceeds(c.get("cores"))
	}},
	// The tool polls with select without a pause, so it fills a CPU at any rate.
	{"audit-spinning", "httperf", "cpu", func(c *Claim, f *finding) bool {
		rate := c.rate().Value
		f.Numbers = record.Values{"cpu": c.value("cpu"), "rate": rate, "mean": c.value("mean"), "in_flight": rate * c.value("mean")}
		return rate > 0 && c.value("cpu") >= .9
	}},
	{"audit-turnaround", "", "mean", closedCycle},
	// No request takes longer than the run.
	{"audit-too-long", "", "max seconds", func(c *Claim, f *finding) bool {
		f.Numbers = record.Values{"max": c.value("max"), "seconds": c.value("seconds")}
		return c.get("max").low() > c.get("seconds").high()*1.05
	}},
	// If a load of wrk2 lacks some of its rate, whole connections wait for a reply that
	// never comes, because each has its own share of the rate.
	{"audit-dead", "wrk2", "rate connections timeouts", func(c *Claim, f *finding) bool {
		const recount = 2. // seconds between wrk2's counts of connections that wait too long (check_timeouts in its wrk.c)
		rate, offered, timeouts, n := c.value("rate"), c.value("offered"), c.value("timeouts"), c.inFlight()
		pace := offered / n
		live := rate / pace
		f.Numbers = record.Values{"pace": pace, "live": live, "dead": n - live, "connections": n, "timeouts": timeouts, "rate": rate, "each": timeouts / (n - live)}
		if c.has("seconds") {
			f.Numbers["seconds"], f.Numbers["looks"] = c.value("seconds"), c.value("seconds")/recount
		}
		return timeouts != 0 && rate < (1-missed)*offered
	}},
	// Replies that refuse or fail are quick and no work.
	{"audit-statuses", "", "requests", func(c *Claim, f *finding) bool {
		bad, requests := c.value("status_4xx")+c.value("status_5xx")+c.value("not_good"), c.value("requests")
		f.Numbers = record.Values{"bad": bad, "requests": requests, "share": bad / requests}
		return requests > 0 && bad > fewFailed*requests
	}},
	// Most tools' quantiles leave out the requests that failed.
	{"audit-failed", "", "requests", func(c *Claim, f *finding) bool {
		requests, lost := c.value("requests"), c.value("errors")
		ended := requests
		f.Names["times"] = "survivors"
		switch c.Tool {
		case "wrk", "wrk2", "h2load", "httperf": // wrk may answer what it calls a timeout, the others count it as an error
		default:
			lost += c.value("timeouts")
		}
		switch c.Tool {
		case "wrk", "wrk2", "httperf": // they count answered requests only
			ended += lost
		case "vegeta", "fortio", "k6", "bombardier":
			f.Names["times"] = "all"
		}
		share := lost / ended
		f.Numbers = record.Values{"lost": lost, "ended": ended, "share": share, "known": 1 - share, "read": c.value("read_errors")}
		return requests > 0 && lost > fewFailed*requests
	}},
	// wrk 4 answers a request after --timeout like any other, but keeps no time of it.
	{"audit-late", "wrk", "requests", func(c *Claim, f *finding) bool {
		n, least, by := c.late()
		share := n / c.value("requests")
		f.Numbers, f.Names["by"] = record.Values{"late": n, "requests": c.value("requests"), "share": share, "known": 1 - share, "least": least}, by
		return n > 0
	}},
	// The tool gives each thread the same number of connections, rounded down.
	{"audit-fewer-connections", "wrk wrk2", "threads", func(c *Claim, f *finding) bool {
		n, threads, opened := c.value("connections"), c.value("threads"), c.perThread()
		f.Numbers = record.Values{"connections": n, "threads": threads, "opened": opened}
		return opened < n
	}},
	// The tool paces each connection alone, and a thread starts all its connections at once.
	{"audit-bursts", "wrk2", "connections threads offered", func(c *Claim, f *finding) bool {
		const together = 5 // times a thread's share of the rate in one sample
		n, threads, sample := c.value("connections"), c.value("threads"), c.value("thread_rate.max")
		share, each := c.value("offered")/threads, math.Floor(n/threads)
		f.Numbers = record.Values{"max": sample, "share": share, "each": each, "within": each / sample, "period": each / share}
		return n != 0 && share != 0 && sample > together*share
	}},
	// The tool discards its first seconds, so a run that is different before and
	// after is not steady.
	{"audit-calibration", "wrk2", "calibration.mean mean", func(c *Claim, f *finding) bool {
		const discarded = 10. // seconds
		before, mean := c.value("calibration.mean"), c.value("mean")
		f.Numbers = record.Values{"calibration": before, "mean": mean, "discarded": discarded, "rest": max(0, c.value("seconds")-discarded)}
		return before <= mean/2 || before >= 2*mean
	}},
	// Threads that send the same load met servers that differ.
	{"audit-uneven", "", "calibration.min", func(c *Claim, f *finding) bool {
		least, most := c.value("calibration.min"), c.value("calibration.max")
		f.Numbers = record.Values{"least": least, "most": most}
		return most > 8*least
	}},
}

// Judge checks the runs of a text against all laws and returns the findings, the gravest class
// first, then in the order of findings.txt and of the text. It stores figures of given in the claims that lack them,
// so text is changed, and one text must not be judged by two goroutines at once. text must have
// a run, as every text has that Read returns.
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
	a.across(text.Guessed)
	slices.SortStableFunc(a.findings, func(x, y finding) int {
		return cmp.Or(slices.Index(classes, x.Kind)-slices.Index(classes, y.Kind), ruleOf(x)-ruleOf(y))
	})
	result.Findings, result.Format = a.findings, strings.Join(from, ", ")
	return result
}

// judge holds run i to all laws of one run: the clashes that were found while reading, the laws
// of each distribution in it, the equations of its tool, and the laws of whole runs.
func (a *audit) judge(i int, c *Claim) {
	hold := func(laws []law, c *Claim) {
		for _, l := range laws {
			f := finding{Code: l.code, Names: record.Names{}, Run: i, Line: a.runs[i].Line}
			about := l.tools == "" || slices.Contains(strings.Fields(l.tools), c.Tool)
			if about && c.has(strings.Fields(l.needs)...) && l.broken(c, &f) {
				a.add(f)
			}
		}
	}
	for _, f := range c.clashes {
		f.Run = i
		a.add(f)
	}
	for _, part := range c.parts() {
		hold(ofTimes, part)
		hold(tools().laws["all"], part)
		hold(tools().laws[c.Tool], part)
	}
	hold(ofRuns, c)
}

// add adds a finding with the law of its code, and with its class unless it has one. It drops a finding without
// numbers, which is how a check says that there is nothing. It also drops one with an infinite
// number or NaN: such a number comes from a division by a figure that is 0 or missing.
func (a *audit) add(f finding) {
	if f.Numbers == nil {
		return
	}
	for _, v := range f.Numbers {
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return
		}
	}
	r := rules[ruleOf(f)]
	f.Kind, f.Law = cmp.Or(f.Kind, r.Kind), r.Law
	a.findings = append(a.findings, f)
}

// offeredMissed finds a rate below the plan, unless all planned requests were sent in the time that
// was asked for. Many tools count the last response's time as well, which lowers the rate of a short
// run.
func offeredMissed(c *Claim, f *finding) bool {
	rate, offered, sent, seconds := c.get("rate"), c.get("offered"), c.value("requests"), c.value("seconds")
	f.Numbers = record.Values{"offered": offered.Value, "rate": rate.Value, "share": rate.Value / offered.Value}
	if c.has("requests", "seconds") {
		// Only the time that the user asked for can be missing requests; the wait for the last
		// reply is no part of the plan.
		planned := seconds
		if c.has("asked_seconds") {
			planned = min(planned, c.value("asked_seconds"))
		}
		f.Numbers["missing"] = max(0, offered.Value*planned-sent)
	}
	sentPlan := c.has("requests", "seconds", "asked_seconds", "max") && sent >= offered.low()*c.value("asked_seconds")*(1-missed) &&
		seconds <= (c.value("asked_seconds")+c.get("max").high())*(1+missed)
	return rate.high() < offered.low()*(1-missed) && !sentPlan
}

// little checks Little's law, N = X R (Little 1961): rate × response time is the mean number of
// requests in flight, and the connections cannot hold more than there are. Where N is unknown
// it only tells which number would be needed. Where a known habit of the tool explains the
// excess the code names the habit.
func little(c *Claim, f *finding) bool {
	n, rate := c.inFlight(), c.rate()
	l := rate.times(c.get("mean"))
	f.Numbers, f.Names["tool"] = record.Values{"rate": rate.Value, "mean": c.value("mean"), "in_flight": l.Value}, c.Tool
	if n == 0 {
		f.Code = "audit-connections-untold"
		return rate.Value > 0 && slices.Contains(formats, c.Tool)
	}
	f.Numbers["connections"], f.Numbers["depth"] = n, c.value("depth")
	// The order matters: the first explanation that holds becomes the code.
	switch most := backFilled(c); {
	case c.Tool == "wrk" && c.get("mean").low() <= most*(1+2*slack):
		f.Code = "audit-back-filled"
	case c.Tool == "wrk":
		f.Numbers["back_filled"], f.Numbers["max"] = most, c.value("max")
	case c.Loop == openLoop:
		f.Code = "audit-little-plan"
	case (c.Tool == "h2load" || c.Tool == "k6") && !c.has("depth"):
		f.Code = "audit-depth-untold"
	}
	return rate.Value > 0 && l.low() > n*(1+slack)
}

// backFilled is the longest mean that wrk 4 can print for what its connections can hold.
// For a time x above two cycles N/X its histogram also gets x - N/X, x - 2 N/X and so on:
// about x / (N/X) times with a mean of x/2. All true times add up to N T at most, so the
// mean is highest if the longest ones make up that whole sum: half a cycle and a quarter
// of the longest time.
func backFilled(c *Claim) float64 {
	if !c.has("max") || c.rate().low() <= 0 {
		return math.Inf(1)
	}
	cycle := c.inFlight() / c.rate().low()
	return max(cycle, cycle/2+c.get("max").high()/4)
}

// closedCycle applies the interactive law, R = N / X - Z (Denning and Buzen 1978): in a closed
// loop of N connections the response time R follows from the rate X and the pause Z between
// requests. Comparing R of two servers then tells nothing more than comparing X. An R below half of
// N / X is suspicious where the tool does not pause: the mean then leaves out most of the time that
// the connections were in use.
func closedCycle(c *Claim, f *finding) bool {
	const (
		allOfCycle = .9 // of the cycle N / X: a response time above is all of it
		busy       = .2 // below, a loop that may be open is no busy one
		half       = .5 // of the cycle: a mean below it leaves out most of the requests' time
		oneDigit   = .3 // rounding of a mean with one digit
	)
	n, rate, mean := c.inFlight(), c.rate(), c.get("mean")
	l, cycle := rate.times(mean), n/rate.Value
	f.Numbers = record.Values{"connections": n, "rate": rate.Value, "cycle": cycle, "mean": mean.Value, "share": mean.Value / cycle}
	switch {
	case n == 0, rate.Value <= 0, c.paced(), c.has("concurrent"):
		return false
	// A mean of one digit cannot tell whether it is all of the cycle.
	case l.Half > oneDigit*l.Value, l.low() > n*(1+slack): // little reports the latter
		return false
	case l.high() >= allOfCycle*n:
		f.Code = "audit-inverse"
		return true
	}
	f.Names["loop"] = c.Loop
	addLate(c, f, cycle)
	if f.Kind = record.CannotTell; c.neverPauses() && f.Names["by"] != "max" && explained(f) < half {
		f.Kind = record.Suspicious
	}
	return l.high() >= busy*n || c.Loop == closedLoop
}

// neverPauses reports whether the tool sends in a closed loop that it surely does not pace: some
// tools can be held to a rate that they do not print.
func (c *Claim) neverPauses() bool {
	return c.Loop == closedLoop && !slices.Contains([]string{"hey", "bombardier", "h2load"}, c.Tool)
}

// explained returns the ratio of the cycle N / X that the mean is once wrk's late answers count as
// well, each as --timeout.
func explained(f *finding) float64 {
	if v := f.Numbers; v["late"] > 0 {
		return (v["late_seconds"] + v["kept_seconds"]) / v["all_seconds"]
	}
	return f.Numbers["share"]
}

// addLate adds the connection-seconds of wrk's late answers, of the times in the mean and of the
// rest. stats_correct makes the mean longer, never shorter, so kept_seconds is a most.
func addLate(c *Claim, f *finding, cycle float64) {
	n, least, by := c.late()
	if n == 0 {
		return
	}
	requests, v := c.value("requests"), f.Numbers
	all, late, kept := cycle*requests, n*least, (requests-n)*c.value("mean")
	v["late"], v["least"], v["all_seconds"], v["late_seconds"], v["kept_seconds"] = n, least, all, late, kept
	if rest := all - late - kept; rest > slack*all {
		v["rest_seconds"] = rest
	}
	f.Names["by"] = by
}

// order checks that quantiles do not fall as their share rises: min <= p50 <= p99 <= max, and
// that the mean is between the ends. Two quantiles that are at most one request apart may be
// the same request, so their order is not checked. f gets the first pair that is wrong.
func order(c *Claim, f *finding) bool {
	above := func(low, high quantile) bool {
		f.Numbers = record.Values{"less": low.Value, "more": high.Value}
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
	if len(all) == 0 || order(c, f) {
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
	f.Numbers, f.Names = record.Values{"mean": mean.Value, "low": max(low, 0)}, nil
	if before.Q == 1 {
		f.Numbers["high"] = high
	}
	if f.Code = "audit-interpolated"; c.Tool != "fortio" {
		f.Code, f.Names = "audit-mean-bounds", c.names(record.Names{})
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
	f.Numbers, f.Names = record.Values{"stdev": c.value("stdev"), "limit": limit, "mean": m.Value, "max": c.value("max")}, c.names(f.Names)
	return c.get("stdev").low() > limit*(1+slack)
}

// names adds to n the part that the figures are about, "" for whole requests, and the unit of
// its times. It returns n.
func (c *Claim) names(n record.Names) record.Names {
	n["of"], n["unit"] = c.part, unitOf(c.part+".mean")
	return n
}
