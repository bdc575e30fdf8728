package audit

import (
	_ "embed"
	"math"
	"slices"
	"strings"

	"schedlab/internal/record"
)

//go:embed findings.txt
var findings string

// A rule is the class and the law of a finding.
type rule struct {
	code record.Code
	kind record.Judgement
	law  string
}

// rules are the findings of findings.txt, in the order of a report. Reading them registers their
// sentences.
var rules = func() (all []rule) {
	var kind, law string
	for l := range strings.Lines(findings) {
		l, isFinding := strings.CutPrefix(strings.TrimSuffix(l, "\n"), "\t")
		first, rest, _ := strings.Cut(l, " ")
		switch {
		case isFinding:
			all = append(all, rule{record.Sentence(record.Code(first), rest), record.Judgement(kind), law})
		case first[0] != '#':
			kind, law = first, rest
		}
	}
	return all
}()

// ruleOf returns the position of a finding in rules.
func ruleOf(code record.Code) int {
	i := slices.IndexFunc(rules, func(r rule) bool { return r.code == code })
	if i < 0 {
		panic("audit: no rule for " + code) // a bug here
	}
	return i
}

// slack is how far a law may be broken beyond what rounding explains, a ratio: tools
// read their clocks at slightly different moments.
const slack = .02

// Given is what the user knows beyond the text; 0 for unknown.
type Given struct {
	Cores       float64 // of the server
	Service     float64 // the server's CPU time for one request, in seconds
	Connections float64
}

type audit struct {
	text     *Text
	findings []record.AuditFinding
}

// checks look at a run as a whole. Each returns nil where it finds nothing, or where the
// run lacks the figures.
var checks = []func(*Claim) *finding{
	offeredMissed, little, utilisation, spinning, closedCycle, tooLong,
	dead, refused, failed, late, fewerConnections, bursts, calibration, uneven,
}

// Judge checks the runs of a text against the laws. Findings are sorted by rules.
func Judge(text *Text, given Given) *record.Audit {
	a := &audit{text: text}
	for _, c := range text.Claims {
		for name, v := range map[string]float64{Cores: given.Cores, Service: given.Service, Connections: given.Connections} {
			if v > 0 && !c.has(name) {
				c.set(name, Figure{v, v * 1e-9})
			}
		}
	}
	for i, c := range text.Claims {
		for _, two := range c.clashes {
			a.add(i, c.twice("audit-said-twice", two.name, two.first.Value, "", "another line", two.then.Value))
		}
		for _, part := range c.parts() {
			for _, check := range []func(*Claim) *finding{order, meanBounds, spread} {
				a.add(i, check(part))
			}
			for _, e := range slices.Concat(tools().laws["all"], tools().laws[c.Tool]) {
				a.add(i, e.check(part))
			}
		}
		for _, check := range checks {
			a.add(i, check(c))
		}
	}
	a.across()
	result := &record.Audit{Schema: 1, Findings: a.findings, Runs: []record.AuditRun{}, NotRead: unread(text)}
	slices.SortStableFunc(result.Findings, func(x, y record.AuditFinding) int {
		return ruleOf(x.Code) - ruleOf(y.Code)
	})
	var from []string
	for _, c := range text.Claims {
		run := record.AuditRun{Tool: c.Tool, Name: c.Name, Line: c.Line, End: c.End, Loop: c.Loop, Figures: map[string]float64{}}
		for name, f := range c.Figures {
			run.Figures[name] = f.Value
		}
		result.Runs = append(result.Runs, run)
		if !slices.Contains(from, c.Tool) {
			from = append(from, c.Tool)
		}
	}
	result.Format = strings.Join(from, ", ")
	return result
}

// A finding is the result of a check.
type finding struct {
	code   record.Code
	values record.Values
	names  record.Names
}

// add adds a finding about a run, or about all runs for -1. It ignores a nil finding.
func (a *audit) add(run int, f *finding) { a.addAt(run, a.text.Claims[max(run, 0)].Line, f) }

func (a *audit) addAt(run, line int, f *finding) {
	if f == nil {
		return
	}
	for _, v := range f.values {
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return // no run has such figures
		}
	}
	r := rules[ruleOf(f.code)]
	a.findings = append(a.findings, record.AuditFinding{Kind: r.kind, Law: r.law, Code: f.code, Numbers: f.values, Names: f.names, Run: run, Line: line})
}

// unread groups consecutive unread lines.
func unread(text *Text) []record.AuditLines {
	all := []record.AuditLines{}
	for _, n := range text.Unread {
		if last := len(all) - 1; last >= 0 && all[last].End == n-1 {
			all[last].End = n
			continue
		}
		all = append(all, record.AuditLines{Line: n, End: n, Text: firstRunes(text.Lines[n-1], 80)})
	}
	return all
}

// exceeds reports whether a is above b for certain.
func exceeds(a, b Figure) bool { return a.low() > b.high()*(1+slack) }

// missed is the share of planned requests that a run may lack and still have the planned
// load.
const missed = .01

func offeredMissed(c *Claim) *finding {
	rate, offered := c.get(Rate), c.get(Offered)
	if !c.has(Offered, Rate) || rate.high() >= offered.low()*(1-missed) || c.sentPlan() {
		return nil
	}
	v := record.Values{"offered": offered.Value, "rate": rate.Value, "share": rate.Value / offered.Value}
	if c.has(Requests, Seconds) {
		planned := c.value(Seconds)
		if c.has(asked) {
			planned = min(planned, c.value(asked))
		}
		v["missing"] = max(0, offered.Value*planned-c.value(Requests))
	}
	return &finding{"audit-offered-missed", v, nil}
}

// sentPlan reports whether all planned requests were sent in the time that was asked for. Many
// tools count the last response's time as well, which lowers the rate of a short run.
func (c *Claim) sentPlan() bool {
	if !c.has(Requests, Seconds, asked, Max) {
		return false
	}
	most := (c.value(asked) + c.get(Max).high()) * (1 + missed)
	return c.value(Requests) >= c.get(Offered).low()*c.value(asked)*(1-missed) && c.value(Seconds) <= most
}

// little checks Little's law: rate × response time is the number of requests in flight,
// and the connections hold no more than theirs.
func little(c *Claim) *finding {
	n, rate := c.inFlight(), c.rate()
	if rate.Value <= 0 || !c.has(Mean) {
		return nil
	}
	l := rate.times(c.get(Mean))
	code, v := record.Code("audit-little"), record.Values{"rate": rate.Value, "mean": c.value(Mean), "in_flight": l.Value}
	if n == 0 {
		if !slices.Contains(formats, c.Tool) {
			return nil
		}
		return &finding{"audit-connections-untold", v, record.Names{"tool": c.Tool}}
	}
	if l.low() <= n*(1+slack) {
		return nil
	}
	v["connections"], v["depth"] = n, c.value(Depth)
	switch most := backFilled(c); {
	case c.Tool == "wrk" && c.get(Mean).low() <= most*(1+2*slack):
		code = "audit-back-filled"
	case c.Tool == "wrk":
		v["back_filled"], v["max"] = most, c.value(Max)
	case c.Loop == openLoop:
		code = "audit-little-plan"
	case (c.Tool == "h2load" || c.Tool == "k6") && !c.has(Depth):
		code = "audit-depth-untold"
	}
	return &finding{code, v, record.Names{"tool": c.Tool}}
}

// backFilled is the longest mean that wrk 4 can print for what its connections can hold.
// For a time x above two cycles N/X its histogram also gets x - N/X, x - 2 N/X and so on:
// about x / (N/X) times with a mean of x/2. All true times add up to N T at most, so the
// mean is highest if the longest ones make up that whole sum: half a cycle and a quarter
// of the longest time.
func backFilled(c *Claim) float64 {
	if !c.has(Max) || c.rate().low() <= 0 {
		return math.Inf(1)
	}
	cycle := c.inFlight() / c.rate().low()
	return max(cycle, cycle/2+c.get(Max).high()/4)
}

// utilisation checks that rate × CPU time keeps no more cores busy than there are.
func utilisation(c *Claim) *finding {
	rate := c.rate()
	if rate.Value <= 0 || !c.has(Service) {
		return nil
	}
	busy := rate.times(c.get(Service))
	v := record.Values{"rate": rate.Value, "service": c.value(Service), "busy": busy.Value}
	switch {
	case !c.has(Cores):
		v["needed"] = math.Ceil(busy.Value * (1 - slack))
		return &finding{"audit-cores-untold", v, nil}
	case exceeds(busy, c.get(Cores)):
		v["cores"] = c.value(Cores)
		return &finding{"audit-utilisation", v, nil}
	}
	return nil
}

// spinning: httperf polls with select without a pause, so it fills a CPU at any rate.
func spinning(c *Claim) *finding {
	rate := c.rate().Value
	if c.Tool != "httperf" || rate <= 0 || c.value(CPU) < .9 {
		return nil
	}
	return &finding{"audit-spinning", record.Values{"cpu": c.value(CPU), "rate": rate, "mean": c.value(Mean), "in_flight": rate * c.value(Mean)}, nil}
}

// closedCycle applies R = N / X - Z: in a closed loop of N connections the response time R
// follows from the rate X and the pause Z between requests, so it tells nothing more.
func closedCycle(c *Claim) *finding {
	const (
		allOfCycle = .9 // of the cycle N / X: a response time above is all of it
		busy       = .2 // below, a loop that may be open is no busy one
		oneDigit   = .3 // rounding of a mean with one digit
	)
	n, rate, mean := c.inFlight(), c.rate(), c.get(Mean)
	if n == 0 || rate.Value <= 0 || !c.has(Mean) || c.Loop == openLoop || c.Loop == pacedLoop || c.has(Concurrent) {
		return nil
	}
	l, cycle := rate.times(mean), n/rate.Value
	v := record.Values{"connections": n, "rate": rate.Value, "cycle": cycle, "mean": mean.Value, "share": mean.Value / cycle}
	switch {
	case l.Half > oneDigit*l.Value, l.low() > n*(1+slack): // little reports the latter
	case l.high() >= allOfCycle*n:
		return &finding{"audit-inverse", v, nil}
	case l.high() >= busy*n || c.Loop == closedLoop:
		f := &finding{"audit-turnaround", v, record.Names{"loop": c.Loop}}
		f.addLate(c, cycle)
		return f
	}
	return nil
}

// addLate adds the connection-seconds of wrk's late answers, of the times in the mean and of the
// rest. stats_correct makes the mean longer, never shorter, so kept_seconds is a most.
func (f *finding) addLate(c *Claim, cycle float64) {
	n, least, by := c.late()
	if n == 0 {
		return
	}
	requests := c.value(Requests)
	all, late, kept := cycle*requests, n*least, (requests-n)*c.value(Mean)
	v := f.values
	v["late"], v["least"], v["all_seconds"], v["late_seconds"], v["kept_seconds"] = n, least, all, late, kept
	if rest := all - late - kept; rest > slack*all {
		v["rest_seconds"] = rest
	}
	f.names["by"] = by
}

// order checks that min <= p50 <= p99 <= max, and that the mean is between the ends.
func order(c *Claim) *finding {
	all, gap := c.quantiles(), 0.
	// Tools differ by one in which of n requests is the quantile.
	if n := c.value(Requests); n > 0 {
		gap = 1 / n
	}
	check := func(low, high quantile) *finding {
		if low.low()*(1-.005) <= high.high() { // HDR histograms keep three digits
			return nil
		}
		return &finding{"audit-order", record.Values{"less": low.Value, "more": high.Value}, c.names(record.Names{"less": low.name, "more": high.name})}
	}
	longest, next := quantile{name: Min}, 0
	for _, q := range all {
		for ; all[next].Q < q.Q-gap; next++ {
			if all[next].low() > longest.low() {
				longest = all[next]
			}
		}
		if f := check(longest, q); f != nil {
			return f
		}
	}
	mean := quantile{name: Mean, Figure: c.get(Mean)}
	switch {
	case !c.has(Mean):
		return nil
	case c.has(Max) && mean.low()*(1-.005) > c.get(Max).high():
		return check(mean, quantile{name: Max, Figure: c.get(Max)})
	case c.has(Min):
		return check(quantile{name: Min, Figure: c.get(Min)}, mean)
	}
	return nil
}

// meanBounds checks Σ (q₊ - q) x(q) <= mean <= Σ (q₊ - q) x(q₊): no request between two
// quantiles took less than the lower or more than the upper.
func meanBounds(c *Claim) *finding {
	all := c.quantiles()
	if !c.has(Mean) || len(all) == 0 || order(c) != nil {
		return nil
	}
	low, high, before := 0., 0., quantile{}
	for _, q := range all {
		low += (q.Q - before.Q) * before.low()
		high += (q.Q - before.Q) * q.high()
		before = q
	}
	low += (1 - before.Q) * before.low()
	if before.Q < 1 {
		high = math.Inf(1)
	}
	// Tools differ by one in which of n requests is the quantile.
	if n := c.value(Requests); n > 0 {
		low -= before.Value / n
		high += before.Value / n
	}
	mean := c.get(Mean)
	if mean.high() >= low*(1-slack) && mean.low() <= high*(1+slack) {
		return nil
	}
	v := record.Values{"mean": mean.Value, "low": max(low, 0)}
	if before.Q == 1 {
		v["high"] = high
	}
	if c.Tool == "fortio" {
		return &finding{"audit-interpolated", v, nil}
	}
	return &finding{"audit-mean-bounds", v, c.names(record.Names{})}
}

// spread: of values between a and b with mean m the deviation is at most
// √((b - m)(m - a)) (Bhatia and Davis 2000), which is at most (b - a)/2 (Popoviciu 1935).
func spread(c *Claim) *finding {
	if !c.has(Stdev, Mean, Max) {
		return nil
	}
	m, least, most := c.get(Mean), c.get(Min).low(), c.get(Max).high()
	limit := math.Sqrt(max(0, most-m.low()) * max(0, m.high()-max(least, 0)))
	n := max(2, c.value(Requests)) // tools divide by n - 1
	limit *= math.Sqrt(n / (n - 1))
	if c.get(Stdev).low() <= limit*(1+slack) {
		return nil
	}
	return &finding{"audit-spread", record.Values{"stdev": c.value(Stdev), "limit": limit, "mean": m.Value, "max": c.value(Max)}, c.names(record.Names{})}
}

// names adds what the figures are about and their unit.
func (c *Claim) names(n record.Names) record.Names {
	n["of"], n["unit"] = c.part, unitOf(c.part+"."+Mean)
	return n
}

// tooLong checks that no request takes longer than the run.
func tooLong(c *Claim) *finding {
	if !c.has(Max, Seconds) || c.get(Max).low() <= c.get(Seconds).high()*1.05 {
		return nil
	}
	return &finding{"audit-too-long", record.Values{"max": c.value(Max), "seconds": c.value(Seconds)}, nil}
}

// fewFailed is the share of requests without a good reply that a comparison tolerates.
const fewFailed = .001

// failed: most tools' quantiles leave out the requests that failed.
func failed(c *Claim) *finding {
	requests, lost := c.value(Requests), c.value(Errors)
	// What wrk calls a timeout may be answered later; h2load and httperf count timeouts as errors.
	if !c.isWrk() && c.Tool != "h2load" && c.Tool != "httperf" {
		lost += c.value(Timeouts)
	}
	if requests <= 0 || lost <= fewFailed*requests {
		return nil
	}
	ended, times := requests, "survivors"
	switch c.Tool {
	case "wrk", "wrk2", "httperf": // they count answered requests only
		ended += lost
	case "vegeta", "fortio", "k6", "bombardier":
		times = "all"
	}
	share := lost / ended
	return &finding{"audit-failed", record.Values{"lost": lost, "ended": ended, "share": share, "known": 1 - share, "read": c.value("read_errors")}, record.Names{"times": times}}
}

// late: wrk 4 answers a request after --timeout like any other, but keeps no time of it.
func late(c *Claim) *finding {
	n, least, by := c.late()
	if n == 0 {
		return nil
	}
	share := n / c.value(Requests)
	v := record.Values{"late": n, "requests": c.value(Requests), "share": share, "known": 1 - share, "least": least}
	return &finding{"audit-late", v, record.Names{"by": by}}
}

// refused: replies that refuse or fail are quick and no work.
func refused(c *Claim) *finding {
	bad, requests := c.value(Status4xx)+c.value(Status5xx)+c.value(NotGood), c.value(Requests)
	if requests <= 0 || bad <= fewFailed*requests {
		return nil
	}
	return &finding{"audit-statuses", record.Values{"bad": bad, "requests": requests, "share": bad / requests}, nil}
}

// dead: if a load of wrk2 lacks some of its rate, whole connections wait for a reply that
// never comes, because each has its own share of the rate.
func dead(c *Claim) *finding {
	const recount = 2. // seconds between wrk2's counts of connections that wait too long (check_timeouts in its wrk.c)
	rate, offered, timeouts, n := c.value(Rate), c.value(Offered), c.value(Timeouts), c.inFlight()
	if c.Tool != "wrk2" || !c.has(Rate, Connections) || timeouts == 0 || rate >= (1-missed)*offered {
		return nil
	}
	pace := offered / n
	live := rate / pace
	v := record.Values{"pace": pace, "live": live, "dead": n - live, "connections": n, "timeouts": timeouts, "rate": rate, "each": timeouts / (n - live)}
	if c.has(Seconds) {
		v["seconds"], v["looks"] = c.value(Seconds), c.value(Seconds)/recount
	}
	return &finding{"audit-dead", v, nil}
}

// fewerConnections: wrk gives each thread the same number of connections, rounded down.
func fewerConnections(c *Claim) *finding {
	n, threads, opened := c.value(Connections), c.value(Threads), c.perThread()
	if !c.isWrk() || !c.has(Threads) || opened >= n {
		return nil
	}
	return &finding{"audit-fewer-connections", record.Values{"connections": n, "threads": threads, "opened": opened}, nil}
}

// bursts: wrk2 paces each connection by itself, and a thread starts all its connections at once.
func bursts(c *Claim) *finding {
	const together = 5 // times a thread's share of the rate in one sample
	n, threads, sample := c.value(Connections), c.value(Threads), c.value(ThreadRate+".max")
	share, each := c.value(Offered)/threads, math.Floor(n/threads)
	if c.Tool != "wrk2" || n == 0 || threads == 0 || share == 0 || sample <= together*share {
		return nil
	}
	return &finding{"audit-bursts", record.Values{"max": sample, "share": share, "each": each, "within": each / sample, "period": each / share}, nil}
}

// calibration: wrk2 discards its first seconds, so a run that is different before and
// after is not steady.
func calibration(c *Claim) *finding {
	const discarded = 10. // seconds
	before, mean := c.value(Calibration+".mean"), c.value(Mean)
	if ratio := before / mean; c.Tool != "wrk2" || !c.has(Calibration+".mean", Mean) || ratio > .5 && ratio < 2 {
		return nil
	}
	return &finding{"audit-calibration", record.Values{"calibration": before, "mean": mean, "discarded": discarded, "rest": max(0, c.value(Seconds)-discarded)}, nil}
}

// uneven: threads that send the same load met servers that differ.
func uneven(c *Claim) *finding {
	const unlike = 8 // times the quickest thread's mean
	least, most := c.value(Calibration+".min"), c.value(Calibration+".max")
	if !c.has(Calibration+".min") || most <= unlike*least {
		return nil
	}
	return &finding{"audit-uneven", record.Values{"least": least, "most": most}, nil}
}
