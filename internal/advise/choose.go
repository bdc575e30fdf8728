package advise

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"schedlab/internal/judge"
	"schedlab/internal/mode"
	"schedlab/internal/outcome"
	"schedlab/internal/queueing"
	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// rank returns the index of the named mode in modes, which list the plainest first; -1 if it is not there.
func rank(modes []mode.Mode, name string) int {
	return slices.IndexFunc(modes, func(m mode.Mode) bool { return m.Name == name })
}

// An Ask describes the requests to serve and what matters about them. They come on kept
// connections.
//
// This file answers an Ask for `schedlab choose`. Does puts the requests into a kind, size sizes a
// pool for them, Choose looks the kind up in the table of cells (pack.go) and gives the advice,
// test plans the comparison that would prove the advice wrong, and Verify judges that comparison.
// Nothing here runs: cmd/schedlab runs the test.
//
// SLO is nil if none was given; its terms shape the size and the test. Seed fixes the requests that
// size a pool. Rate is above 0; Connections, Pipeline and Cores are 1 or more.
//
// CPU and Sleep are distributions as in a scenario, "" for none. Lock is CPU time under one lock, in
// addition to CPU.
type Ask struct {
	CPU, Sleep  string
	Lock        time.Duration
	Demand      Demand  // of such a request, or of one that costs as much
	Rate        float64 // requests per second
	Connections int     // connections that carry requests
	Idle        int     // connections without requests, in addition
	Pipeline    int     // requests in flight on a connection
	Arrivals    string  // as in a scenario; "" is poisson
	Path        string  // URL path that asks for such a request
	SLO         stats.SLO
	Matters     string // one of Matters()
	Cores       int    // CPUs of the server
	Seed        uint64
}

// fasthttp is the stack of the modes on fasthttp's parser.
const fasthttp = "fasthttp"

// Limits between the kinds of requests. The squared coefficient of variation (SCV) of the time held
// is 1 for an exponential, above 2 for a mix of two lengths, and 25 for the heavy tail of the
// experiment.
const (
	tiny      = 200 * time.Microsecond // below it, the model's own cost of 10 to 20 us is a tenth of the request
	manyIdle  = 1000                   // connections
	crowded   = 128                    // connections; with a goroutine each, they take a tenth of a small server's memory
	mixedSCV  = 2
	heavySCV  = 15
	smallPart = 0.1 // ratio of the demand: requests with less CPU time count as waiting only, with less waiting as CPU only
)

// Does returns the kind of the requests: the first of its cases that fits. The order matters. A
// lock, a pipeline, a crowd or a burst decides more about a model than the demand does, so these
// come before the shape of the demand.
func (a Ask) Does() string {
	cpu, blocked, scv := a.Demand.moments()
	held := cpu + blocked
	switch {
	case a.Lock > 0:
		return Locks
	case a.Pipeline > 1:
		return Pipelined
	case a.Idle >= manyIdle:
		return Idle
	case a.Arrivals != "" && a.Arrivals != "poisson" && a.Arrivals != "constant":
		return Bursts
	case scv > heavySCV:
		return HeavyTail
	case scv > mixedSCV:
		return Mixed
	// Such a request costs little more than its journey through the model, as in a pipeline.
	case a.Demand.Held() < tiny:
		return Pipelined
	case cpu <= smallPart*held:
		return Blocking
	case cpu >= (1-smallPart)*held:
		return ShortCPU
	}
	return Mixed
}

// CPU seconds that HTTP costs per request. leastHTTP is the cost in an event loop on a CPU that
// never sleeps (docs/evidence/benchmarks.md, kept-64). A request that finds its CPU asleep costs wakeUp
// more: net/http took 69 us at 2,000/s (docs/experiments/keep-alive.md).
const (
	leastHTTP = 5e-6
	wakeUp    = 74e-6
)

// busy returns the ratio of the cores' time that the requests need, HTTP's cost included; it exceeds
// 1 if they need more than there is. Poisson arrivals find a core asleep with probability 1-busy,
// and so busy = rate (cpu + leastHTTP + wakeUp (1-busy)) / cores; busy solves this equation.
func (a Ask) busy() float64 {
	cores := float64(a.Cores)
	return a.Rate * (a.Demand.CPU.Mean().Seconds() + leastHTTP + wakeUp) / (cores + a.Rate*wakeUp)
}

// Carry returns the highest rate, in requests per second, that the connections can carry with one
// request at a time on each (Little's law: rate x time held = connections in use). short reports
// whether the connections limit the requests, and not the cores. Waits are not counted, so the true
// limit is lower.
func (a Ask) Carry() (rate float64, short bool) {
	rate = float64(a.Connections) / a.Demand.Held().Seconds()
	return rate, a.Pipeline <= 1 && a.Rate >= rate && a.busy() < 1
}

// Choose returns the advice and the test of it. The advised mode is the best one of the table's cell
// for such requests. modes are all modes, the plainest first; there must be at least two. An error
// means that no pool could be sized, or that the pack has no answer for the cell.
func Choose(a Ask, pack Pack, modes []mode.Mode) (record.Choice, Test, error) {
	c := record.Choice{Schema: 1, Does: a.Does(), Matters: a.Matters, Known: record.KnownMeasured, Doubts: []record.Fact{}}
	sized, err := a.size()
	if err != nil {
		return c, Test{}, err
	}
	// Under overload more load than the CPUs can do is the question, and no doubt.
	if a.busy() >= 1 && a.Matters != Overload {
		c.Doubts = append(c.Doubts, record.Fact{Code: chooseFull, Values: record.Values{"busy": a.busy()}})
	}
	// Memory goes by connections more than by requests: with a crowd of them, the cell of idle
	// connections is nearer than the cell of the requests' own kind.
	does := c.Does
	if a.Matters == Memory && a.Connections+a.Idle >= crowded {
		does = Idle
	}
	cell := cellOf(Cells(pack, modes), does, a.Matters)
	mode, unmeasured, ok := a.best(cell, modes)
	if !ok {
		return c, Test{}, fmt.Errorf("the pack has no answer of the experiment %s for %s and %s; run it with tools/experiments", cell.Scenario, does, a.Matters)
	}
	c.Cell, c.Why = &cell, measured(cell)
	if does != c.Does {
		c.Known = record.KnownNear
		c.Why = record.Fact{
			Code: chooseCrowded, Names: record.Names{"does": c.Does, "near": does}, Because: []record.Fact{c.Why},
			Values: record.Values{"connections": float64(a.Connections + a.Idle)},
		}
	}
	c.Doubts = append(c.Doubts, cell.Lacks...)
	if unmeasured != "" {
		c.Doubts = append(c.Doubts, record.Fact{Code: unmeasured, Names: record.Names{"mode": mode.Name}})
	}
	c.Mode, c.Size = mode.Name, sized.fact
	names := record.Names{"mode": mode.Name, "summary": mode.Summary}
	// An open outcome has a leader but no winner. The answer then also names the plainest mode that
	// is not known to be worse, if that is another one.
	if cell.Outcome == record.OpenOutcome {
		names["open"] = string(cell.Outcome)
		if plain := a.plainest(cell, modes); plain.Name != mode.Name {
			var at []string
			for _, metric := range cell.Metrics {
				at = append(at, stats.MetricOf(metric).Label)
			}
			names["plain"], names["at"] = plain.Name, strings.Join(at, " and ")
		}
	}
	switch {
	case mode.Has("workers"):
		c.Workers = sized.workers
		if mode.Has("queue-depth") {
			c.Queue = sized.queue
		}
	case mode.Loops:
		c.Size = record.Fact{Code: chooseLoops, Values: record.Values{"cores": float64(a.Cores)}}
	default:
		c.Size = record.Fact{Code: chooseNoSize}
	}
	c.Answer = record.Fact{Code: chooseAdvice, Names: names, Values: record.Values{"workers": float64(c.Workers), "queue": float64(c.Queue)}}
	c.Parser = a.parser(mode, cell, modes)
	c.Asked = record.Fact{
		Code: chooseAsked, Names: record.Names{"does": c.Does, "matters": a.Matters, "arrivals": a.Arrivals, "slo": a.SLO.String()},
		Values: record.Values{
			"cpu": a.Demand.CPU.Mean().Seconds(), "sleep": (a.Demand.Held() - a.Demand.CPU.Mean()).Seconds(), "lock": a.Lock.Seconds(), "rate": a.Rate,
			"connections": float64(a.Connections), "idle": float64(a.Idle), "pipeline": float64(a.Pipeline), "busy": a.busy(),
			"http": a.busy() - a.Rate*a.Demand.CPU.Mean().Seconds()/float64(a.Cores), // the part that is HTTP's cost
		},
	}
	if c.Does == Mixed {
		c.Asked.Names["asks"] = "requests that compute and wait"
		if _, _, scv := a.Demand.moments(); scv > mixedSCV {
			c.Asked.Names["asks"] = "long requests among short ones"
		}
	}
	c.Unless = record.Fact{Code: record.Code("choose-unless-" + does), Values: record.Values{"busy": a.busy()}}
	c.Doubts = append(c.Doubts, record.Fact{Code: record.SizeTheory})
	t := a.test(mode, a.candidatesOf(cell, modes), sized)
	c.Metrics = t.Metrics
	// The test leaves out a quantile for which its windows hold too few requests.
	for _, term := range a.SLO {
		if term.Quantile > 0 && !a.tells(term.Metric) {
			c.Doubts = append(c.Doubts, record.Fact{Code: chooseFewRequests, Metric: term.Metric, Values: record.Values{"rate": a.Rate}, Names: record.Names{"slo": term.String()}})
		}
	}
	return c, t, nil
}

// parser returns the fact that a mode on fasthttp's parser takes no handlers of net/http, with the
// verdicts of the cell between the mode and net/http. It is no fact for a mode on net/http.
func (a Ask) parser(advised mode.Mode, cell record.ChoiceCell, modes []mode.Mode) record.Fact {
	if advised.Axes.Stack != fasthttp {
		return record.Fact{}
	}
	f := record.Fact{Code: chooseParser, Names: record.Names{"mode": advised.Name, "scenario": cell.Scenario}}
	// The mode that stands for each arm, by the arm's name.
	stand := map[string]string{}
	for _, arm := range cell.Arms {
		m, _, _ := a.stands(arm.Mode, modes)
		stand[arm.Name] = m.Name
	}
	for _, v := range cell.Verdicts {
		pair := []string{stand[v.Arm], stand[v.Baseline]}
		if slices.Contains(pair, advised.Name) && slices.Contains(pair, modes[0].Name) {
			f.Because = append(f.Because, Said(v))
			// The reason of the advice has the verdicts of the first of the best arms.
			if first := cell.Best[0].Name; v.Verdict != stats.Refused && (v.Arm == first || v.Baseline == first) {
				f.Names["above"] = first
			}
		}
	}
	return f
}

// cellOf returns the cell of the kind does and of what matters. It must be in cells.
func cellOf(cells []record.ChoiceCell, does, matters string) record.ChoiceCell {
	return cells[slices.IndexFunc(cells, func(c record.ChoiceCell) bool { return c.Does == does && c.Matters == matters })]
}

// stands returns the mode to advise where the named mode was measured. It is the same mode, with
// two exceptions, in which unmeasured is the code of the doubt that the returned mode was not the
// measured one. If a worker holds a connection as long as it is open, the kept connections would
// occupy all workers: stands returns the first pool that takes single requests. If an event loop
// would block while a request waits for more than smallPart of its time, stands returns loops with
// workers behind them. ok is false if there is no such mode.
func (a Ask) stands(name string, modes []mode.Mode) (m mode.Mode, unmeasured record.Code, ok bool) {
	m = modes[rank(modes, name)]
	i := -1
	switch {
	case m.Sticky:
		unmeasured = chooseKept
		i = slices.IndexFunc(modes, func(other mode.Mode) bool { return other.Sized && !other.Sticky && other.Station == m.Station })
	case m.Loops && !m.Has("workers") && a.Demand.CPU.Mean().Seconds() < (1-smallPart)*a.Demand.Held().Seconds():
		unmeasured = chooseWaits
		i = slices.IndexFunc(modes, func(other mode.Mode) bool { return other.Loops && other.Has("workers") })
	default:
		return m, "", true
	}
	if i < 0 {
		return mode.Mode{}, "", false
	}
	return modes[i], unmeasured, true
}

// best returns the mode that a cell advises, and unmeasured as stands does. ok is false if the cell
// was not measured, was refused, or has no mode that suits these requests.
func (a Ask) best(cell record.ChoiceCell, modes []mode.Mode) (m mode.Mode, unmeasured record.Code, ok bool) {
	for _, arm := range cell.Best {
		if m, unmeasured, ok = a.stands(arm.Mode, modes); ok {
			break
		}
	}
	return m, unmeasured, ok
}

// plainest returns the plainest mode that a cell's verdicts leave among the best and that suits
// these requests.
func (a Ask) plainest(cell record.ChoiceCell, modes []mode.Mode) mode.Mode {
	cell.Best = slices.Clone(cell.Best)
	slices.SortFunc(cell.Best, func(x, y record.ChoiceArm) int { return rank(modes, x.Mode) - rank(modes, y.Mode) })
	m, _, _ := a.best(cell, modes)
	return m
}

// candidatesOf returns the modes that may serve these requests, without duplicates, the plainest
// first: net/http and the modes of the cell. If net/http would be the only one, the next plain mode
// is added.
func (a Ask) candidatesOf(cell record.ChoiceCell, modes []mode.Mode) (all []mode.Mode) {
	all = []mode.Mode{modes[0]}
	for _, arm := range cell.Arms {
		if m, _, ok := a.stands(arm.Mode, modes); ok && rank(all, m.Name) < 0 {
			all = append(all, m)
		}
	}
	if len(all) == 1 { // a test compares at least two modes
		all = append(all, modes[1])
	}
	slices.SortFunc(all, func(a, b mode.Mode) int { return rank(modes, a.Name) - rank(modes, b.Name) })
	return all
}

// measured returns the reason that a measured cell gives: its outcome, and the verdicts between the
// first of its best arms and the other arms. Verdicts between two of the others explain nothing
// about the advised mode, and refused ones say nothing.
func measured(cell record.ChoiceCell) record.Fact {
	f := record.Fact{Code: chooseMeasured, Names: record.Names{
		"scenario": cell.Scenario, "commit": cell.Commit, "outcome": string(cell.Outcome),
	}}
	var names []string
	for _, b := range cell.Best {
		names = append(names, b.Name)
	}
	f.Names["best"] = strings.Join(names, ", ")
	first := cell.Best[0].Name
	for _, v := range cell.Verdicts {
		if v.Verdict != stats.Refused && (v.Arm == first || v.Baseline == first) {
			f.Because = append(f.Because, Said(v))
		}
	}
	return f
}

// Said returns a verdict as a fact. Its ratio and interval are arm / baseline; they are 0 if the
// verdict was refused, and Because then holds the reason.
func Said(v record.Verdict) record.Fact {
	return record.Fact{
		Code: chooseVerdict, Arm: v.Arm, Baseline: v.Baseline, Metric: v.Metric, Names: record.Names{"verdict": string(v.Verdict)},
		Values: record.Values{"ratio": v.Ratio, "low": v.Low, "high": v.High}, Because: []record.Fact{v.Reason}[:stats.Count(!v.Reason.None())],
	}
}

// A size is the advised size of a pool. workers is at least 1; queue counts requests.
type size struct {
	workers, queue int
	wait           time.Duration // for a mode without a queue: the longest wait of a request for a worker
	fact           record.Fact   // where the size comes from
}

// flags returns the serve flags that give a pool of a mode this size, each as its name, is and its
// value. A mode without a queue turns a request away after a wait instead.
func (s size) flags(m mode.Mode, is string) (flags []string) {
	for _, f := range []struct {
		name  string
		value any
	}{{"workers", s.workers}, {"queue-depth", s.queue}, {"wait", s.wait}} {
		if m.Has(f.name) {
			flags = append(flags, fmt.Sprint(f.name, is, f.value))
		}
	}
	return flags
}

// Assumptions for the size of a pool.
const (
	// deep is long enough for any burst below capacity, and bounds the wait under overload. margin
	// is that of `schedlab size`, for what theory leaves out. atFull keeps the theory finite: at a
	// utilisation of 1 waits have no mean.
	deep   = 1024 // requests in the queue, if no SLO limits it
	margin = 0.15 // ratio by which the rate may grow
	atFull = 0.85 // utilisation of the cores to size for if the requests need more
)

// size returns the size of a pool for these requests. It is the size that the SLO needs, if there
// is one. If the tail matters, there are enough workers that hardly a request waits for one. If
// overload matters, the queue is short, because a long one only makes every request wait longer.
func (a Ask) size() (size, error) {
	// Above atFull, size for the rate that keeps the cores at atFull: the one for which busy is atFull.
	rate := a.Rate
	if a.busy() >= atFull {
		rate = atFull * float64(a.Cores) / (a.Demand.CPU.Mean().Seconds() + leastHTTP + wakeUp*(1-atFull))
	}
	o := Options{Rate: rate, Cores: a.Cores, Margin: margin, Seed: a.Seed}
	waits, err := Size(a.Demand, nil, o)
	if err != nil {
		return size{}, err
	}
	held := a.Demand.Held().Seconds()
	s := size{workers: waits.Waits[waits.Knee].Workers, queue: deep, fact: record.Fact{
		Code: chooseKnee, Names: record.Names{"matters": a.Matters}, Values: record.Values{"busy": queueing.Little(rate, held), "rate": rate, "held": held},
	}}
	if a.Matters == Tail {
		s.workers = waits.Waits[len(waits.Waits)-1].Workers
	}
	if a.Matters == Overload {
		s.queue = 2 * s.workers
	}
	// The SLO may need more workers than the waits do, and never lowers their number. With more
	// load than the cores can do, no size keeps it.
	if a.SLO != nil && a.busy() < atFull {
		advice, err := Size(a.Demand, a.SLO, o)
		if err != nil {
			return s, err
		}
		s.fact.Code, s.fact.Names["slo"] = chooseHopeless, a.SLO.String()
		if w := advice.Advice.Workers; w > 0 {
			s.workers, s.queue = max(s.workers, w), max(advice.Advice.Queue, 2*max(s.workers, w))
			s.fact.Code, s.fact.Values["least"], s.fact.Values["queue"] = chooseSized, float64(w), float64(advice.Advice.Queue)
		}
	}
	s.wait = patience(s.queue, s.workers, held)
	return s, nil
}

// A Test is the comparison that tests an advice: the arguments of `schedlab compare`, without those
// that every test has. Path is the URL path, with its query, that every arm is asked for.
type Test struct {
	Path    string
	Rate    float64   // requests per second; 0: a closed loop, which has no rate
	Arms    []string  // as compare takes them, the advised mode first
	Vary    []string  // KEY=VALUE for the settings of the load that differ from compare's defaults
	Metrics []string  // metrics in which the advised mode must not be worse
	Keeps   stats.SLO // the terms of the SLO for which a window has enough requests
}

// others is the number of other modes that an advice is compared with. Each makes the run longer:
// two minutes have to do for all.
const others = 2

// enough holds for each quantile the rate, in requests per second, from which on a window of the
// test has enough requests for it.
var enough = []struct {
	metric string
	rate   float64
}{{"p50", 0}, {"p90", 50}, {"p99", 500}}

// tells reports whether a window of the test has enough requests for a response-time metric. A
// closed loop, which a pipeline makes, always has. Of quantiles it knows those in enough only.
func (a Ask) tells(metric string) bool {
	for _, e := range enough {
		if e.metric == metric {
			return a.Rate >= e.rate || a.Pipeline > 1
		}
	}
	return metric == "mean"
}

// test returns the comparison of the advised mode with at most others of the candidates. The
// advised mode is the first arm and so the baseline. All pools in it have the same workers and the
// same queue, so that the modes are compared and not their sizes.
func (a Ask) test(advised mode.Mode, candidates []mode.Mode, s size) Test {
	t := Test{Path: a.Path, Rate: a.Rate, Metrics: strings.Fields(deciding[a.Matters])}
	for _, m := range slices.Concat([]mode.Mode{advised}, candidates) {
		arm := strings.Join(append([]string{m.Name}, s.flags(m, "=")...), ",")
		if len(t.Arms) <= others && !slices.Contains(t.Arms, arm) {
			t.Arms = append(t.Arms, arm)
		}
	}
	// 64 is compare's default.
	if a.Connections != 64 {
		t.Vary = append(t.Vary, fmt.Sprintf("connections=%d", a.Connections))
	}
	if a.Idle > 0 {
		t.Vary = append(t.Vary, fmt.Sprintf("idle=%d", a.Idle))
	}
	switch {
	// An open loop sends one request at a time on a connection.
	case a.Pipeline > 1:
		t.Rate, t.Vary = 0, append(t.Vary, "loop=closed", fmt.Sprintf("pipeline=%d", a.Pipeline))
	case a.Arrivals != "" && a.Arrivals != "poisson":
		t.Vary = append(t.Vary, "arrivals="+a.Arrivals)
	}
	for _, term := range a.SLO {
		// Under overload no mode keeps an SLO on all requests, so none is asked to.
		if a.tells(term.Metric) && a.Matters != Overload {
			t.Keeps = append(t.Keeps, term)
		}
	}
	switch a.Matters {
	// The quantiles of the tail decide for which a window has enough requests, and those of the SLO;
	// p50 if it has enough for none.
	case Tail:
		t.Metrics = nil
		for _, e := range enough {
			inSLO := slices.ContainsFunc(t.Keeps, func(term stats.Term) bool { return term.Metric == e.metric })
			if a.tells(e.metric) && (e.metric != "p50" || inSLO || !a.tells("p90")) {
				t.Metrics = append(t.Metrics, e.metric)
			}
		}
	case Overload:
		// Overload has to be made where the asked rate makes none: half as much again as the cores
		// can do. Requests without CPU time overload no core, and keep their rate.
		if full := 1.5 * float64(a.Cores) / a.Demand.CPU.Mean().Seconds(); a.busy() < 1.2 && !math.IsInf(full, 1) && t.Rate > 0 {
			t.Rate = math.Round(full)
		}
	}
	return t
}

// TestPairs returns the comparisons of a test: in every metric, each other arm with the advised
// arm. The advised arm is arms[0]. Only these pairs count: how the other arms compare with one
// another says nothing about the advice.
func TestPairs(arms, metrics []string) (all []judge.Pair) {
	for _, arm := range arms[1:] {
		for _, metric := range metrics {
			all = append(all, judge.Pair{Metric: metric, Baseline: arms[0], Arm: arm})
		}
	}
	return all
}

// Verify judges an advice by the verdicts of its test. The advice held if no other arm is better
// than the advised arm in one metric without being worse in another, if the advised arm keeps the
// SLO, and if each of its requests got a good reply. The last condition is dropped if overload
// matters. arms[0] is the advised arm. verdicts are those on TestPairs, and slo has the outcomes of
// the SLO's terms for the advised arm. An advice that held names the arms that are undecided against it
// as "open". Dir of the result is left empty.
func Verify(advised record.Arm, arms, metrics []string, verdicts []record.Verdict, slo []record.Expectation) *record.ChoiceTest {
	t := record.ChoiceTest{Answer: outcome.No, Verdicts: verdicts, SLO: slo, Why: record.Fact{
		Code: chooseWrong, Names: record.Names{"mode": arms[0]}, Values: record.Values{"errors": float64(advised.Errors), "requests": float64(advised.Requests)},
	}}
	for _, v := range verdicts {
		t.Why.Because = append(t.Why.Because, Said(v))
	}
	_, best := leaders(arms, metrics, verdicts)
	switch {
	case !judged(verdicts):
		t.Answer, t.Why.Code = outcome.Refused, chooseOpen
	// Another arm is better: the answer stays Failed, as set above.
	case !slices.Contains(best, arms[0]):
	case slices.ContainsFunc(slo, func(e record.Expectation) bool { return e.Outcome == outcome.No }):
		t.Why.Code = chooseBroken
	// Times are about requests that were answered. A mode that lost some may be fast just because
	// of that. Only the metrics of overload count losses.
	case advised.Errors > 0 && !slices.Contains(metrics, "good_mean"):
		t.Answer, t.Why.Code = outcome.Refused, chooseShed
	default:
		t.Answer, t.Why.Code = outcome.Yes, chooseHeld
		if open := undecided(arms[1:], verdicts); len(open) > 0 {
			t.Why.Names["open"] = strings.Join(open, " and ")
		}
	}
	return &t
}

// Tested returns a choice with the result of its test, and with what disturbed the test as its first
// doubts. An answer that calls a plainer mode not known to be worse says otherwise where the test found
// it worse, and one whose models all kept the SLO says that too.
func Tested(c record.Choice, t *record.ChoiceTest, disturbed []record.Fact) record.Choice {
	c.Verified, c.Doubts = t, slices.Concat(disturbed, c.Doubts)
	plain := c.Answer.Names["plain"]
	c.Answer.Names, c.Answer.Values = maps.Clone(c.Answer.Names), maps.Clone(c.Answer.Values)
	if slices.ContainsFunc(t.Verdicts, func(v record.Verdict) bool { return v.Arm == plain && v.Worse() }) {
		c.Answer.Names["worse"] = plain
	}
	if len(t.Keeps) == 0 {
		return c
	}
	least, broken := t.Keeps[0], []string{} // in the fewest blocks
	for _, k := range t.Keeps {
		if k.Names["answer"] != string(outcome.Yes) {
			return c
		}
		if k.Values["kept"] < least.Values["kept"] {
			least = k
		}
		if k.Names["broken"] != "" {
			broken = append(broken, k.Arm)
		}
	}
	names, values := c.Answer.Names, c.Answer.Values
	if names["kept"] = least.Names["slo"]; len(broken) > 0 {
		names["broken"] = strings.Join(broken, " and ")
	}
	values["tested"], values["least"], values["blocks"] = float64(len(t.Keeps)), least.Values["kept"], least.Values["blocks"]
	return c
}

// Keeps returns a fact for each arm of a test, in the order of kept: whether it kept slo, the terms of
// the SLO for which its windows had enough requests. It returns nil without such a term.
func Keeps(slo stats.SLO, kept []judge.Keeping) (all []record.Fact) {
	if slo == nil {
		return nil
	}
	for _, k := range kept {
		f := record.Fact{Code: chooseKeeps, Arm: k.Arm, Names: record.Names{"slo": slo.String(), "answer": string(k.Answer)}, Values: record.Values{"kept": float64(k.Kept), "blocks": float64(k.Blocks)}}
		if broken := k.Breaks(slo); broken != nil {
			f.Names["broken"] = strings.Join(broken, ", ")
		}
		if k.Answer == outcome.Refused && !k.Reason.None() {
			f.Because = []record.Fact{k.Reason}
		}
		all = append(all, f)
	}
	return all
}

// undecided returns the arms of which the verdicts do not say how they compare with the advised arm:
// at least one is open, and none says that the arm is worse.
func undecided(arms []string, verdicts []record.Verdict) (open []string) {
	for _, arm := range arms {
		has := func(is func(record.Verdict) bool) bool {
			return slices.ContainsFunc(verdicts, func(v record.Verdict) bool { return v.Arm == arm && is(v) })
		}
		undecided := func(v record.Verdict) bool { return v.Verdict == stats.Open || v.Verdict == stats.Refused }
		if has(undecided) && !has(record.Verdict.Worse) {
			open = append(open, arm)
		}
	}
	return open
}
