package audit

import (
	"math"
	"slices"
	"strings"

	"schedlab/internal/record"
)

// Laws, as findings name them.
const (
	lawFlow        = "flow law"        // what comes in goes out or is still there: X = C / T
	lawLittle      = "Little's law"    // N = X R (Little 1961)
	lawUtilisation = "utilisation law" // U = X S (Denning and Buzen 1978)
	lawInteractive = "interactive law" // R = N / X - Z in a closed loop (same)
	lawArithmetic  = "arithmetic"
	lawSurvivors   = "survivors" // a quantile over those that were answered is none over all
	lawPlan        = "the load"  // what the tool sent, and when
	lawRepeats     = "repeats"   // without them a difference is no finding
)

// rules are the class and the law of each finding, in the order of a report within its
// class.
var rules = []struct {
	code record.Code
	kind record.Judgement
	law  string
}{
	{auditLittle, record.Impossible, lawLittle},
	{auditTwoReports, record.Impossible, lawLittle},
	{auditUtilisation, record.Impossible, lawUtilisation},
	{auditNotAdded, record.Impossible, lawFlow},
	{auditRateTime, record.Impossible, lawFlow},
	{auditBytesTime, record.Impossible, lawFlow},
	{auditDoneAccepted, record.Impossible, lawFlow},
	{auditOrder, record.Impossible, lawArithmetic},
	{auditMeanBounds, record.Impossible, lawArithmetic},
	{auditSpread, record.Impossible, lawArithmetic},
	{auditSum, record.Impossible, lawArithmetic},
	{auditSaidTwice, record.Impossible, lawArithmetic},
	{auditTooLong, record.Impossible, lawArithmetic},
	{auditChange, record.Impossible, lawArithmetic},

	{auditDead, record.Suspicious, lawSurvivors},
	{auditStatuses, record.Suspicious, lawSurvivors},
	{auditFailed, record.Suspicious, lawSurvivors},
	{auditUnsteady, record.Suspicious, lawFlow},
	{auditOfferedMissed, record.Suspicious, lawFlow},
	{auditBacklogGrows, record.Suspicious, lawFlow},
	{auditLittlePlan, record.Suspicious, lawLittle},
	{auditBursts, record.Suspicious, lawPlan},
	{auditFewerConns, record.Suspicious, lawPlan},
	{auditCalibration, record.Suspicious, lawPlan},
	{auditUneven, record.Suspicious, lawPlan},
	{auditIdentical, record.Suspicious, lawRepeats},

	{auditBackFilled, record.CannotTell, lawLittle},
	{auditConnectionsUntold, record.CannotTell, lawLittle},
	{auditDepthUntold, record.CannotTell, lawLittle},
	{auditInterpolated, record.CannotTell, lawArithmetic},
	{auditCoresUntold, record.CannotTell, lawUtilisation},
	{auditSpinning, record.CannotTell, lawUtilisation},
	{auditInverse, record.CannotTell, lawInteractive},
	{auditTurnaround, record.CannotTell, lawInteractive},
	{auditGrowth, record.CannotTell, lawInteractive},
	{auditSameRate, record.CannotTell, lawFlow},
	{auditOneInFlight, record.CannotTell, lawLittle},
	{auditWithinNoise, record.CannotTell, lawRepeats},
	{auditOneTrial, record.CannotTell, lawRepeats},
	{auditApproximate, record.CannotTell, lawRepeats},
}

// slack is how far a law may be broken beyond what rounding explains, a ratio: tools
// read their clocks at slightly different moments.
const slack = .02

// Given is what the text does not say and the reader knows; 0 for unknown.
type Given struct {
	Cores       float64 // of the server
	Service     float64 // its CPU time for a request, in seconds
	Connections float64
}

// An audit is findings while they are made.
type audit struct {
	text     *Text
	findings []record.AuditFinding
}

// Judge holds the runs of a text to the laws.
func Judge(text *Text, given Given) *record.Audit {
	a := &audit{text: text}
	for _, c := range text.Claims {
		for name, v := range map[string]float64{Cores: given.Cores, Service: given.Service, Connections: given.Connections} {
			if v > 0 && !c.has(name) {
				c.set(name, exact(v))
			}
		}
	}
	for i, c := range text.Claims {
		for _, two := range c.clashes {
			a.add(i, c.Line, c.twice(auditSaidTwice, two.name, two.first.Value, "", "another line", two.then.Value))
		}
		for _, part := range c.parts() {
			for _, check := range []func(*Claim) *finding{order, meanBounds, spread} {
				a.add(i, c.Line, check(part))
			}
			for _, e := range equations["all"] {
				a.add(i, c.Line, e.check(part))
			}
			for _, e := range equations[c.Tool] {
				a.add(i, c.Line, e.check(part))
			}
		}
		for _, check := range []func(*Claim) *finding{
			offeredMissed, little, connectionsUntold, utilisation, spinning, inverse, tooLong,
			dead, refused, failed, fewerConnections, bursts, calibration, uneven,
		} {
			a.add(i, c.Line, check(c))
		}
	}
	a.across()
	result := &record.Audit{Schema: 1, Findings: a.findings, Runs: []record.AuditRun{}, NotRead: unread(text)}
	slices.SortStableFunc(result.Findings, func(x, y record.AuditFinding) int { return ruleOf(x.Code) - ruleOf(y.Code) })
	var tools []string
	for _, c := range text.Claims {
		run := record.AuditRun{Tool: c.Tool, Name: c.Name, Line: c.Line, End: c.End, Loop: c.Loop, Figures: map[string]float64{}}
		for name, f := range c.Figures {
			run.Figures[name] = f.Value
		}
		result.Runs = append(result.Runs, run)
		if !slices.Contains(tools, c.Tool) {
			tools = append(tools, c.Tool)
		}
	}
	result.Format = strings.Join(tools, ", ")
	return result
}

func ruleOf(code record.Code) int {
	for i, r := range rules {
		if r.code == code {
			return i
		}
	}
	panic("audit: no rule for " + code) // a bug here
}

// A finding is what a check comes to.
type finding struct {
	code   record.Code
	values record.Values
	names  record.Names
}

// add notes what was found of a run, or of several for -1; line is the first of the first.
func (a *audit) add(run, line int, f *finding) {
	if f == nil {
		return
	}
	for _, v := range f.values {
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return // figures that no run has
		}
	}
	rule := rules[ruleOf(f.code)]
	a.findings = append(a.findings, record.AuditFinding{Kind: rule.kind, Law: rule.law, Code: f.code, Numbers: f.values, Names: f.names, Run: run, Line: line})
}

// unread are the lines that were not read, those that follow each other together.
func unread(text *Text) []record.AuditLines {
	all := []record.AuditLines{}
	for _, n := range text.Unread {
		if last := len(all) - 1; last >= 0 && all[last].End == n-1 {
			all[last].End = n
			continue
		}
		first := []rune(strings.TrimSpace(text.Lines[n-1]))
		all = append(all, record.AuditLines{Line: n, End: n, Text: string(first[:min(len(first), 80)])})
	}
	return all
}

// exceeds reports whether a is above b for certain.
func exceeds(a, b Figure) bool { return a.low() > b.high()*(1+slack) }

// missed is the share of the planned requests from which a load is another than planned.
const missed = .01

func offeredMissed(c *Claim) *finding {
	rate := c.get(Rate)
	if !c.has(Offered, Rate) || rate.high() >= c.get(Offered).low()*(1-missed) {
		return nil
	}
	v := record.Values{"offered": c.get(Offered).Value, "rate": rate.Value, "share": rate.Value / c.get(Offered).Value}
	if c.has(Requests, Seconds) {
		planned := c.get(Seconds).Value
		if c.has(asked) {
			planned = min(planned, c.get(asked).Value)
		}
		v["missing"] = max(0, c.get(Offered).Value*planned-c.get(Requests).Value)
	}
	return &finding{auditOfferedMissed, v, nil}
}

// little: no more requests are in flight than the connections hold.
func little(c *Claim) *finding {
	n, ok := c.inFlight()
	rate, known := c.rate()
	if !ok || !known || !c.has(Mean) {
		return nil
	}
	l := rate.times(c.get(Mean))
	if l.low() <= n*(1+slack) {
		return nil
	}
	code := auditLittle
	v := record.Values{"rate": rate.Value, "mean": c.get(Mean).Value, "in_flight": l.Value, "connections": n, "depth": c.get(Depth).Value}
	switch most := backFilled(c); {
	case c.Tool == toolWrk && c.get(Mean).low() <= most*(1+2*slack):
		code = auditBackFilled
	case c.Tool == toolWrk:
		v["back_filled"], v["max"] = most, c.get(Max).Value
	case c.Loop == openLoop:
		code = auditLittlePlan
	case (c.Tool == toolH2load || c.Tool == toolK6) && !c.has(Depth):
		code = auditDepthUntold
	}
	return &finding{code, v, record.Names{"tool": c.Tool}}
}

// connectionsUntold: Little's law needs to know how many requests could be in flight.
func connectionsUntold(c *Claim) *finding {
	_, told := c.inFlight()
	rate, known := c.rate()
	if told || !known || !c.has(Mean) || !slices.Contains(Formats(), c.Tool) {
		return nil
	}
	return &finding{auditConnectionsUntold, record.Values{"rate": rate.Value, "mean": c.get(Mean).Value, "in_flight": rate.Value * c.get(Mean).Value}, record.Names{"tool": c.Tool}}
}

// utilisation: the server's cores are busy for at most all the time.
func utilisation(c *Claim) *finding {
	rate, ok := c.rate()
	if !ok || !c.has(Service) {
		return nil
	}
	busy := rate.times(c.get(Service))
	v := record.Values{"rate": rate.Value, "service": c.get(Service).Value, "busy": busy.Value}
	switch {
	case !c.has(Cores):
		v["needed"] = math.Ceil(busy.Value * (1 - slack))
		return &finding{auditCoresUntold, v, nil}
	case exceeds(busy, c.get(Cores)):
		v["cores"] = c.get(Cores).Value
		return &finding{auditUtilisation, v, nil}
	}
	return nil
}

// spinning: httperf asks select without a pause, so it uses its CPU whole at any rate.
func spinning(c *Claim) *finding {
	rate, ok := c.rate()
	if c.Tool != toolHTTPerf || !ok || c.get(CPU).Value < .9 {
		return nil
	}
	return &finding{auditSpinning, record.Values{"cpu": c.get(CPU).Value, "rate": rate.Value, "mean": c.get(Mean).Value, "in_flight": rate.Value * c.get(Mean).Value}, nil}
}

// near is the share of a closed loop's cycle from which the response time is all of it.
const near = .9

// inverse: in a closed loop R = N / X - Z.
func inverse(c *Claim) *finding {
	n, ok := c.inFlight()
	rate, known := c.rate()
	if !ok || !known || !c.has(Mean) || c.Loop == openLoop || c.Loop == pacedLoop || c.has(Concurrent) || rate.Value <= 0 {
		return nil
	}
	l := rate.times(c.get(Mean))
	cycle := n / rate.Value
	v := record.Values{"connections": n, "rate": rate.Value, "cycle": cycle, "mean": c.get(Mean).Value, "share": c.get(Mean).Value / cycle}
	switch {
	case l.Half > .3*l.Value: // a mean of one digit
		return nil
	case l.low() > n*(1+slack): // little has it
		return nil
	case l.high() >= near*n:
		return &finding{auditInverse, v, nil}
	case l.high() >= .2*n: // below, nobody takes the loop for a busy one
		return &finding{auditTurnaround, v, record.Names{"loop": c.Loop}}
	}
	return nil
}

// order: min ≤ p50 ≤ p99 ≤ max, and the mean between the ends.
func order(c *Claim) *finding {
	all := c.quantiles()
	name := func(q float64) string {
		if q == 0 {
			return Min
		}
		return quantileName(math.Round(q*1e7) / 1e5)
	}
	wrong := func(less string, a Figure, more string, b Figure) *finding {
		return &finding{auditOrder, record.Values{"less": a.Value, "more": b.Value}, c.names(record.Names{"less": less, "more": more})}
	}
	// Tools differ in which request of n is the quantile, by one. Both ends of the range are
	// the same time, of which HDR histograms keep three digits.
	gap, longest, next := 0., quantile{}, 0
	if n := c.get(Requests).Value; n > 0 {
		gap = 1 / n
	}
	for _, q := range all {
		for ; all[next].Q < q.Q-gap; next++ {
			if all[next].low() > longest.low() {
				longest = all[next]
			}
		}
		if longest.low()*(1-.005) > q.high() {
			return wrong(name(longest.Q), longest.Figure, name(q.Q), q.Figure)
		}
	}
	switch least, mean, most := c.get(Min), c.get(Mean), c.get(Max); {
	case c.has(Mean, Max) && mean.low() > most.high()*1.005:
		return wrong(Mean, mean, Max, most)
	case c.has(Mean, Min) && least.low() > mean.high()*1.005:
		return wrong(Min, least, Mean, mean)
	}
	return nil
}

// meanBounds: between two quantiles no request took less than the lower, nor more than
// the upper, so Σ (q₊ − q) x(q) ≤ mean ≤ Σ (q₊ − q) x(q₊).
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
	// Tools differ in which request of n is the quantile, by one.
	if n := c.get(Requests).Value; n > 0 {
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
	if c.Tool == toolFortio {
		return &finding{auditInterpolated, v, nil}
	}
	return &finding{auditMeanBounds, v, c.names(record.Names{})}
}

// spread: of values between a and b with mean m the deviation is at most
// √((b − m)(m − a)) (Bhatia and Davis 2000), which is at most (b − a)/2 (Popoviciu 1935).
func spread(c *Claim) *finding {
	if !c.has(Stdev, Mean, Max) {
		return nil
	}
	m, least, most := c.get(Mean), c.get(Min).low(), c.get(Max).high()
	limit := math.Sqrt(max(0, most-m.low()) * max(0, m.high()-max(least, 0)))
	n := max(2, c.get(Requests).Value) // tools divide by n - 1
	limit *= math.Sqrt(n / (n - 1))
	if c.get(Stdev).low() > limit*(1+slack) {
		return &finding{auditSpread, record.Values{"stdev": c.get(Stdev).Value, "limit": limit, "mean": m.Value, "max": c.get(Max).Value}, c.names(record.Names{})}
	}
	return nil
}

// names adds what the figures are of, if not of whole requests, and their unit.
func (c *Claim) names(n record.Names) record.Names {
	n["of"], n["unit"] = c.part, unitOf(c.part+"."+Mean)
	return n
}

// tooLong: no request takes longer than the run.
func tooLong(c *Claim) *finding {
	if c.has(Max, Seconds) && c.get(Max).low() > c.get(Seconds).high()*1.05 {
		return &finding{auditTooLong, record.Values{"max": c.get(Max).Value, "seconds": c.get(Seconds).Value}, nil}
	}
	return nil
}

// fewFailed is the share of requests without a good reply that a comparison stands.
const fewFailed = .001

// failed: quantiles are of the requests that ended well.
func failed(c *Claim) *finding {
	requests, lost := c.get(Requests).Value, c.get(Errors).Value+c.get(Timeouts).Value
	// The timeouts of the dead count one connection many times; those of h2load and httperf are among the errors.
	if dead(c) != nil || c.Tool == toolH2load || c.Tool == toolHTTPerf {
		lost = c.get(Errors).Value
	}
	if requests <= 0 || lost <= fewFailed*requests {
		return nil
	}
	ended, times := requests, "survivors"
	switch c.Tool {
	case toolWrk, toolWrk2, toolHTTPerf: // their requests are those that were answered
		ended += lost
	case toolVegeta, toolFortio, toolK6, toolBombardier:
		times = "all"
	}
	share := lost / ended
	return &finding{auditFailed, record.Values{"lost": lost, "ended": ended, "share": share, "known": 1 - share, "read": c.get("read_errors").Value}, record.Names{"times": times}}
}

// refused: replies that refuse or fail are quick, and no work.
func refused(c *Claim) *finding {
	bad, replies := c.get(Status4xx).Value+c.get(Status5xx).Value+c.get(NotGood).Value, c.get(Requests).Value
	if replies <= 0 || bad <= fewFailed*replies {
		return nil
	}
	return &finding{auditStatuses, record.Values{"bad": bad, "requests": replies, "share": bad / replies}, nil}
}

// wrk2 gives each connection its share of the rate and, every two seconds, counts those
// that wait for an answer for too long once more (check_timeouts in its wrk.c).
const recount = 2.

// dead: what a paced load misses, whole connections miss.
func dead(c *Claim) *finding {
	rate, ok := c.get(Rate), c.has(Rate, Offered, Connections, Timeouts)
	if c.Tool != toolWrk2 || !ok || c.get(Timeouts).Value == 0 || rate.Value >= (1-missed)*c.get(Offered).Value {
		return nil
	}
	n, _ := c.inFlight()
	pace := c.get(Offered).Value / n
	live := rate.Value / pace
	v := record.Values{"pace": pace, "live": live, "dead": n - live, "connections": n, "timeouts": c.get(Timeouts).Value, "rate": rate.Value, "each": c.get(Timeouts).Value / (n - live)}
	if c.has(Seconds) {
		v["seconds"], v["looks"] = c.get(Seconds).Value, c.get(Seconds).Value/recount
	}
	return &finding{auditDead, v, nil}
}

// fewerConnections: wrk gives each thread as many connections, rounded down.
func fewerConnections(c *Claim) *finding {
	if c.Tool != toolWrk && c.Tool != toolWrk2 || !c.has(Connections, Threads) || c.spread() >= c.get(Connections).Value {
		return nil
	}
	return &finding{auditFewerConns, record.Values{"connections": c.get(Connections).Value, "threads": c.get(Threads).Value, "opened": c.spread()}, nil}
}

// manyTimes is how many times its share of the rate a thread of wrk2 sends in a sample
// when its connections go together.
const manyTimes = 5

// bursts: wrk2 paces each connection, and those of a thread begin together.
func bursts(c *Claim) *finding {
	if c.Tool != toolWrk2 || !c.has(Offered, Threads, Connections, ThreadMax) {
		return nil
	}
	share := c.get(Offered).Value / c.get(Threads).Value
	if c.get(ThreadMax).Value <= manyTimes*share {
		return nil
	}
	each := math.Floor(c.get(Connections).Value / c.get(Threads).Value)
	return &finding{auditBursts, record.Values{"max": c.get(ThreadMax).Value, "share": share, "each": each, "within": each / c.get(ThreadMax).Value, "period": each / share}, nil}
}

// discarded is how long wrk2 calibrates: what it measured until then it throws away.
const discarded = 10.

// calibration: the run is another before and after wrk2's calibration.
func calibration(c *Claim) *finding {
	if c.Tool != toolWrk2 || !c.has(CalibMean, Mean) {
		return nil
	}
	ratio := c.get(CalibMean).Value / c.get(Mean).Value
	if ratio > .5 && ratio < 2 {
		return nil
	}
	return &finding{auditCalibration, record.Values{"calibration": c.get(CalibMean).Value, "mean": c.get(Mean).Value, "discarded": discarded, "rest": max(0, c.get(Seconds).Value-discarded)}, nil}
}

// unlike is how many times the quickest thread's mean the slowest one's may be.
const unlike = 8

// uneven: threads that send the same saw servers that differ.
func uneven(c *Claim) *finding {
	least, most := c.get(CalibLeast), c.get(CalibMost)
	if !c.has(CalibLeast, CalibMost) || most.Value <= unlike*least.Value {
		return nil
	}
	return &finding{auditUneven, record.Values{"least": least.Value, "most": most.Value}, nil}
}
