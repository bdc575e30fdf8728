package choose

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"schedlab/internal/queueing"
	"schedlab/internal/record"
	"schedlab/internal/sizing"
	"schedlab/internal/stats"
)

// A Mode is what choose must know of one that may be advised.
type Mode struct {
	Name, Summary string
	Station       string // as queueing.Kind names them
	Workers       bool   // it has a number of workers
	Queue, Wait   bool   // requests wait for those in a queue, or for some time
	Loops         bool   // connections live on event loops
	Sticky        bool   // a worker keeps its connection
	Sized         bool   // it is a pool in the sense of package sizing
}

// rank is where a mode stands among those that are shown, the plainest first.
func rank(modes []Mode, name string) int {
	return slices.IndexFunc(modes, func(m Mode) bool { return m.Name == name })
}

// An Ask is what somebody says about requests on kept connections.
type Ask struct {
	Demand      sizing.Demand // Lock is part of it
	Lock        time.Duration // computed under one lock
	Rate        float64       // per second
	Connections int
	Idle        int    // connections beside them
	Pipeline    int    // requests under way on a connection
	Arrivals    string // as scenarios write them
	Path        string // that asks all this
	SLO         stats.SLO
	Matters     string
	Cores       int
	Seed        uint64
}

// Where kinds of requests part. A mix of two lengths has a squared coefficient of
// variation above 2 where an exponential has 1, and a heavy tail as in the experiment has 25.
const (
	tiny      = 200 * time.Microsecond // a model's own 10 to 20 us are a tenth of less
	manyIdle  = 1000
	crowded   = 128 // connections of which a goroutine each takes a tenth of a small server's memory
	mixedSCV  = 2
	heavySCV  = 15
	smallPart = 0.1 // of a demand that is of one part, the other
)

// Does is what the requests do, the first that fits.
func (a Ask) Does() string {
	held, cpu := a.Demand.Held().Seconds(), a.Demand.CPU.Mean().Seconds()
	scv := a.load().SCV
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
	case a.Demand.Held() < tiny:
		return Pipelined
	case cpu <= smallPart*held:
		return Blocking
	case cpu >= (1-smallPart)*held:
		return ShortCPU
	}
	return Mixed
}

// loadTrace is how many requests predictions rest on.
const loadTrace = 50_000

func (a Ask) load() queueing.Load { return a.Demand.Load(a.Rate, loadTrace, a.Seed) }

// CPU seconds that HTTP itself costs a request. The least is that of a loop on a CPU that never
// sleeps (docs/benchmarks.md, kept-64). A request that finds its CPU asleep costs a wake-up more:
// net/http took 69 us at 2,000/s (docs/experiments/keepalive-vs-close.md).
const (
	leastHTTP = 5e-6
	wakeUp    = 74e-6
)

// busy is the share of the cores that the requests need, HTTP's own cost included. Poisson arrivals
// find a core asleep with probability 1-busy: busy = rate (cpu + leastHTTP + wakeUp (1-busy)) / cores.
func (a Ask) busy() float64 {
	cores := float64(a.Cores)
	return a.Rate * (a.Demand.CPU.Mean().Seconds() + leastHTTP + wakeUp) / (cores + a.Rate*wakeUp)
}

// http is HTTP's own part of busy.
func (a Ask) http() float64 {
	return a.busy() - a.Rate*a.Demand.CPU.Mean().Seconds()/float64(a.Cores)
}

// Carry is the rate that the connections can carry at most, each with one request under way at
// a time (Little's law); short reports that this is what limits the requests, not the cores.
func (a Ask) Carry() (rate float64, short bool) {
	rate = float64(a.Connections) / a.Demand.Held().Seconds()
	return rate, a.Pipeline <= 1 && a.Rate >= rate && a.busy() < 1
}

// Advise is the advice: the model that the table has for such requests, or that of the nearest
// kind that was measured, or the one that theory expects most of. modes are those there are.
func Advise(a Ask, pack Pack, modes []Mode) (record.Choice, Test, error) {
	c := record.Choice{Schema: 1, Does: a.Does(), Matters: a.Matters, Doubts: []record.Fact{}}
	sized, err := a.size()
	if err != nil {
		return c, Test{}, err
	}
	cells := Cells(pack, modes)
	kinds := append([]string{c.Does}, near[c.Does]...)
	if a.Matters == Memory && c.Does != Idle && a.Connections+a.Idle >= crowded {
		kinds = append([]string{Idle}, kinds...)
	}
	mode, ok := Mode{}, false
	for _, does := range kinds {
		cell := cellOf(cells, does, a.Matters)
		if mode, ok = a.best(cell, modes); !ok {
			continue
		}
		c.Known, c.Cell, c.Why = record.KnownMeasured, &cell, measured(cell)
		if does != c.Does {
			c.Known = record.KnownNear
			near := record.Fact{Code: chooseNear, Names: record.Names{"does": c.Does, "near": does}, Because: []record.Fact{c.Why}}
			if does == kinds[0] {
				near.Code, near.Values = chooseCrowded, record.Values{"connections": float64(a.Connections + a.Idle)}
			}
			c.Why = near
		}
		break
	}
	candidates := a.candidatesOf(cellOf(cells, kinds[0], a.Matters), modes)
	if !ok {
		mode = candidates[0]
		c.Known, c.Why = record.KnownNothing, record.Fact{Code: chooseNothing, Names: record.Names{"matters": a.Matters, "mode": mode.Name}}
		if a.Matters == Tail && a.busy() < 1 {
			c.Known = record.KnownPredicted
			mode, c.Why = a.predict(candidates, sized.workers)
		}
	}
	c.Mode, c.Size = mode.Name, sized.fact
	names := record.Names{"mode": mode.Name, "summary": mode.Summary}
	switch {
	case mode.Workers:
		c.Workers = sized.workers
		if mode.Queue {
			c.Queue = sized.queue
		}
	case mode.Loops:
		c.Size = record.Fact{Code: chooseLoops, Values: record.Values{"cores": float64(a.Cores)}}
	default:
		c.Size = record.Fact{Code: chooseNoSize}
	}
	c.Answer = record.Fact{Code: chooseAdvice, Names: names, Values: record.Values{"workers": float64(c.Workers), "queue": float64(c.Queue)}}
	c.Asked = record.Fact{
		Code: chooseAsked, Names: record.Names{"does": c.Does, "matters": a.Matters, "arrivals": a.Arrivals},
		Values: record.Values{
			"cpu": a.Demand.CPU.Mean().Seconds(), "sleep": (a.Demand.Held() - a.Demand.CPU.Mean()).Seconds(), "lock": a.Lock.Seconds(), "rate": a.Rate,
			"connections": float64(a.Connections), "idle": float64(a.Idle), "pipeline": float64(a.Pipeline), "busy": a.busy(), "http": a.http(),
		},
	}
	c.Unless = unless(kinds[0])
	if a.busy() >= 1 && a.Matters != Overload {
		c.Doubts = append(c.Doubts, record.Fact{Code: chooseFull, Values: record.Values{"busy": a.busy()}})
	}
	if c.Cell != nil {
		c.Doubts = append(c.Doubts, c.Cell.Lacks...)
		i := slices.IndexFunc(c.Cell.Best, func(b record.ChoiceArm) bool {
			stands, _ := a.stands(b.Mode, modes)
			return stands.Name == mode.Name && b.Mode != mode.Name
		})
		if i >= 0 {
			doubt := record.Fact{Code: chooseKept, Names: record.Names{"mode": mode.Name}}
			if !modes[rank(modes, c.Cell.Best[i].Mode)].Sticky {
				doubt.Code = chooseWaits
			}
			c.Doubts = append(c.Doubts, doubt)
		}
	}
	if sized.workers > 0 {
		c.Doubts = append(c.Doubts, record.Fact{Code: record.SizeTheory})
	}
	t := a.test(mode, candidates, sized)
	c.Metrics = t.Metrics
	for _, term := range a.SLO {
		if term.Quantile > 0 && !a.tells(term.Metric) {
			c.Doubts = append(c.Doubts, record.Fact{Code: chooseFewRequests, Metric: term.Metric, Values: record.Values{"rate": a.Rate}, Names: record.Names{"slo": term.String()}})
		}
	}
	return c, t, nil
}

// cellOf is the cell of what requests do and what matters.
func cellOf(cells []record.ChoiceCell, does, matters string) record.ChoiceCell {
	return cells[slices.IndexFunc(cells, func(c record.ChoiceCell) bool { return c.Does == does && c.Matters == matters })]
}

// unless is when the choice does not matter, by what requests do.
func unless(does string) record.Fact { return record.Fact{Code: record.Code("choose-unless-" + does)} }

// waits reports whether requests wait for more than a small part of the time that they are held.
func (a Ask) waits() bool {
	return a.Demand.CPU.Mean().Seconds() < (1-smallPart)*a.Demand.Held().Seconds()
}

// stands is the mode to advise where the given one was measured: itself, unless these requests
// would starve it. Where a worker keeps its connection, which here is kept, that is the first
// pool that takes requests; where a loop would stand still while a request waits, loops with
// workers behind them.
func (a Ask) stands(name string, modes []Mode) (Mode, bool) {
	m := modes[rank(modes, name)]
	i := -1
	switch {
	case m.Sticky:
		i = slices.IndexFunc(modes, func(other Mode) bool { return other.Sized && !other.Sticky && other.Station == m.Station })
	case m.Loops && !m.Workers && a.waits():
		i = slices.IndexFunc(modes, func(other Mode) bool { return other.Loops && other.Workers })
	default:
		return m, true
	}
	if i < 0 {
		return Mode{}, false
	}
	return modes[i], true
}

// best is the mode to advise by a cell; false where it was not measured, was refused, or has
// only modes that these requests would starve.
func (a Ask) best(cell record.ChoiceCell, modes []Mode) (Mode, bool) {
	for _, arm := range cell.Best {
		if m, ok := a.stands(arm.Mode, modes); ok {
			return m, true
		}
	}
	return Mode{}, false
}

// candidatesOf are the modes that may serve these requests, each once, the plainest first:
// net/http and those of the cell, or another plain one.
func (a Ask) candidatesOf(cell record.ChoiceCell, modes []Mode) (all []Mode) {
	names := []string{modes[0].Name}
	for _, arm := range cell.Arms {
		if m, ok := a.stands(arm.Mode, modes); ok && !slices.Contains(names, m.Name) {
			names = append(names, m.Name)
		}
	}
	if len(names) == 1 { // a test needs two
		names = append(names, modes[1].Name)
	}
	slices.SortFunc(names, func(a, b string) int { return rank(modes, a) - rank(modes, b) })
	for _, name := range names {
		all = append(all, modes[rank(modes, name)])
	}
	return all
}

// measured is the reason that a cell is: its outcome, and how the first
// of the best stands to the others.
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
		if v.Verdict != string(stats.Refused) && (v.Arm == first || v.Baseline == first) {
			f.Because = append(f.Because, Said(v))
		}
	}
	return f
}

// Said is a verdict as a fact.
func Said(v record.Verdict) record.Fact {
	return record.Fact{
		Code: chooseVerdict, Arm: v.Arm, Baseline: v.Baseline, Metric: v.Metric, Names: record.Names{"verdict": v.Verdict},
		Values: record.Values{"ratio": v.Ratio, "low": v.Low, "high": v.High}, Because: []record.Fact{v.Reason}[:stats.Count(!v.Reason.None())],
	}
}

// A size is how large a pool would be, and where that is from.
type size struct {
	workers, queue int
	wait           time.Duration // that a request waits for a worker at most, of a mode without a queue
	fact           record.Fact
}

// Depth and head room of a pool whose size no SLO says.
const (
	deep   = 1024
	margin = 0.15
	atFull = 0.85 // of the cores, where more is asked than they can do
)

// size is that of a pool for these requests: what the SLO needs, and where the tail matters as
// many workers as keep nearly everybody from waiting for one.
func (a Ask) size() (size, error) {
	rate := a.Rate
	if a.busy() >= atFull {
		rate *= atFull / a.busy()
	}
	o := sizing.Options{Rate: rate, Cores: a.Cores, Margin: margin, Seed: a.Seed}
	waits, err := sizing.Advise(a.Demand, nil, o)
	if err != nil || len(waits.Waits) == 0 {
		return size{}, fmt.Errorf("sizing a pool: %w", err)
	}
	s := size{workers: waits.Waits[waits.Knee].Workers, queue: deep, fact: record.Fact{Code: chooseKnee}}
	if a.Matters == Tail {
		s.workers = waits.Waits[len(waits.Waits)-1].Workers
	}
	if a.Matters == Overload {
		s.queue = 2 * s.workers
	}
	if a.SLO != nil && a.busy() < atFull {
		advice, err := sizing.Advise(a.Demand, a.SLO, o)
		if err != nil {
			return s, fmt.Errorf("sizing a pool: %w", err)
		}
		s.fact = record.Fact{Code: chooseHopeless, Names: record.Names{"slo": a.SLO.String()}}
		if w := advice.Advice.Workers; w > 0 {
			s.workers, s.queue = max(s.workers, w), max(advice.Advice.Queue, 2*max(s.workers, w))
			s.fact.Code = chooseSized
			s.fact.Values = record.Values{"least": float64(w), "queue": float64(advice.Advice.Queue)}
		}
	}
	held := a.Demand.Held().Seconds()
	s.wait = max(time.Millisecond, time.Duration(float64(s.queue+1)*held/float64(s.workers)*1e9).Round(time.Millisecond))
	values := record.Values{"busy": queueing.Little(rate, held), "rate": rate, "held": held}
	maps.Copy(values, s.fact.Values)
	s.fact.Values = values
	if s.fact.Names == nil {
		s.fact.Names = record.Names{}
	}
	s.fact.Names["matters"] = a.Matters
	return s, nil
}

// predict is the candidate with the lowest p99 in theory, of those within a tenth of it the
// plainest.
func (a Ask) predict(candidates []Mode, workers int) (Mode, record.Fact) {
	l := a.load()
	for i := range l.Trace {
		l.Trace[i].Conn = i % max(a.Connections, 1)
	}
	p99 := make([]float64, len(candidates))
	why := record.Fact{Code: choosePredicted}
	for i, m := range candidates {
		s := queueing.Station{Kind: queueing.Goroutines, Cores: a.Cores, Turn: queueing.GoTurn}
		switch {
		case m.Loops && !m.Workers:
			s.Kind, s.Workers, s.Turn = queueing.Loops, a.Cores, queueing.Whole
		case m.Workers:
			s.Kind, s.Workers = queueing.Pool, workers
		}
		p99[i] = math.Inf(1)
		if p := queueing.Predict(s, l); p.P99 != nil {
			p99[i] = *p.P99
		} else if p := queueing.Twin(s, l.Trace); p.P99 != nil {
			p99[i] = *p.P99
		}
		why.Because = append(why.Because, record.Fact{Code: chooseExpected, Arm: m.Name, Metric: "p99", Values: record.Values{"p99": p99[i]}})
	}
	least := slices.Min(p99)
	first := slices.IndexFunc(p99, func(v float64) bool { return v <= least*(1+stats.MetricOf("p99").Same) })
	return candidates[first], why
}

// A Test is the comparison that tests an advice: the advised mode first, then others.
type Test struct {
	Path    string
	Rate    float64   // 0: as many as the clients of a closed loop get
	Arms    []string  // as compare takes them
	Vary    []string  // what of the load is not compare's default
	Metrics []string  // at which the advised mode must not be worse
	Keeps   stats.SLO // what of the SLO its windows hold requests enough for
}

// others is with how many other modes an advice is compared: with more, a run takes longer.
const others = 2

// enough is the rate from which on a test's windows hold requests enough for a quantile.
var enough = []struct {
	metric string
	rate   float64
}{{"p99", 500}, {"p90", 50}, {"p50", 0}}

// tells reports whether a test's windows hold requests enough for a metric of time.
func (a Ask) tells(metric string) bool {
	for _, e := range enough {
		if e.metric == metric {
			return a.Rate >= e.rate || a.Pipeline > 1
		}
	}
	return metric == "mean"
}

func (a Ask) test(advised Mode, candidates []Mode, s size) Test {
	t := Test{Path: a.Path, Rate: a.Rate}
	for _, m := range append([]Mode{advised}, slices.DeleteFunc(slices.Clone(candidates), func(m Mode) bool { return m.Name == advised.Name })...) {
		if len(t.Arms) > others {
			break
		}
		arm := m.Name
		if m.Workers {
			arm += ",workers=" + strconv.Itoa(s.workers)
		}
		switch {
		case m.Queue:
			arm += ",queue-depth=" + strconv.Itoa(s.queue)
		case m.Wait:
			arm += ",wait=" + s.wait.String()
		}
		t.Arms = append(t.Arms, arm)
	}
	if a.Connections != 64 {
		t.Vary = append(t.Vary, fmt.Sprintf("connections=%d", a.Connections))
	}
	if a.Idle > 0 {
		t.Vary = append(t.Vary, fmt.Sprintf("idle=%d", a.Idle))
	}
	switch {
	case a.Pipeline > 1:
		t.Rate, t.Vary = 0, append(t.Vary, "loop=closed", fmt.Sprintf("pipeline=%d", a.Pipeline))
	case a.Arrivals != "" && a.Arrivals != "poisson":
		t.Vary = append(t.Vary, "arrivals="+a.Arrivals)
	}
	for _, term := range a.SLO {
		if a.tells(term.Metric) && a.Matters != Overload {
			t.Keeps = append(t.Keeps, term)
		}
	}
	switch a.Matters {
	case Tail:
		for _, term := range a.SLO {
			if a.tells(term.Metric) && term.Quantile > 0 {
				t.Metrics = []string{term.Metric}
			}
		}
		for _, e := range enough {
			if t.Metrics == nil && a.tells(e.metric) {
				t.Metrics = []string{e.metric}
			}
		}
	case Throughput:
		t.Metrics = []string{"cpu_per_request"}
	case Memory:
		t.Metrics = []string{"memory"}
	case Overload:
		t.Metrics = []string{"good_mean", "goodput"}
		if full := 1.5 * float64(a.Cores) / a.Demand.CPU.Mean().Seconds(); a.busy() < 1.2 && !math.IsInf(full, 1) && t.Rate > 0 {
			t.Rate = math.Round(full)
		}
	}
	return t
}
