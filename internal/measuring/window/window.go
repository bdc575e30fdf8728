// Package window reduces the measured part of a trial to figures, and checks whether its data are
// right. It sees one trial and decides nothing.
package window

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"

	"schedlab/internal/shared/cpuset"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
	"schedlab/internal/shared/responses"
	"schedlab/internal/shared/stats"
	"schedlab/internal/shared/timeline"
)

// A Window is the measured part of one trial, reduced to figures. Times are seconds, rates are per second.
type Window struct {
	Trial    record.Trial
	Requests int                   // scheduled in the window
	Others   int                   // of these, in classes other than the judged one
	Classes  []Class               // the first has all requests, then one for each class; nil if the load has no classes
	Good     int                   // of these, with a good reply, within the deadline if there is one
	TooLate  int                   // of these, without a reply by their deadline; the others that are not good failed
	Retries  int                   // attempts after the first of these
	Status   map[uint16]float64    // ratio of each final status; 0 is no answer
	Failures map[string]int        // requests without a good reply, by how they ended
	Values   stats.Figures         // a quantile of too few requests is not known
	FromSent stats.Figures         // the quantiles again, from the time of sending
	Late     stats.Figures         // the quantiles of the time from a request's schedule to its sending
	Hist     *responses.Histogram  // response times of all requests in the window
	Heat     *responses.HeatCounts // the same

	// What took CPU time from the server, each a share.
	Foreign   stats.Opt // of the servers' CPUs, that other programs used
	Stolen    stats.Opt // of all CPUs, that the hypervisor gave to other machines
	Throttled stats.Opt // share of the window for which a limit on CPU time stopped a process
	LoadShare stats.Opt // of CPUs that the load shares with the server, that the load used

	Growth stats.Opt // good replies of the second half of a saturated turn for each of the first
	Beside stats.Opt // CPU time a request in the window, as a multiple of that in the saturated turn
	Busy   stats.Opt // share of its CPUs' time that the server used in the window

	Unsent         float64 // share of a paced closed loop's requests that it never sent; 0 for other loads
	RateOff        float64 // relative difference between the requests sent in the window and scheduled in it
	Generator      float64 // busy ratio of the load's CPUs
	completions    int     // replies in the window
	outcomes       int     // requests of the trial that were sent
	presence       presence
	Asked, Starved int            // connections that were given a request, and of these, that got no reply
	Unclocked      int            // of the Starved in an open loop: their request was sent before the window, so no time has its wait
	backwards      int            // requests with stamps out of order
	Tau            float64        // correlation time of the response times, in requests
	Clients        record.Clients // the load of the arm
	Jain           float64        // Jain's index of the replies per connection; 0 if not known
	Phases         Phases         // of good requests, if the trial has stamps
}

// Reduce is [Reducer.Reduce] for a single trial.
func Reduce(t record.TrialRecord, e record.Env, clients record.Clients) Window {
	return new(Reducer).Reduce(t, e, clients)
}

// Reduce computes the figures of a trial's window from its requests. clients is the load of the trial's arm. The figures
// depend on the record alone.
//
// Times, errors and losses are about the requests scheduled in the window, however late they ended, so that a server
// cannot look better by answering late. Throughput and goodput are about the replies that came in the window.
func (s *Reducer) Reduce(t record.TrialRecord, e record.Env, clients record.Clients) Window {
	var phases Phases
	var dividing sync.WaitGroup
	dividing.Go(func() { phases = phasesOf(t, PerIter(e), s) })
	w := s.tallied(t, e, clients)
	w.Heat = t.Heat(t.Requests)
	dividing.Wait()
	w.Phases = phases
	if s.Classes != nil {
		s.divide(&w, t, e, clients)
	}
	return w
}

// A Class has the figures of the requests of one class, or of all, as a Window has them.
type Class struct {
	Name           string
	Requests, Good int
	Values         stats.Figures // of the metrics that the table of metrics marks as ByClass
	Hist           *responses.Histogram
}

// divide adds the figures of each class to w. If a class is judged, w's quantiles become those of that class.
func (s *Reducer) divide(w *Window, t record.TrialRecord, e record.Env, clients record.Clients) {
	add := func(name string, of Window) {
		w.Classes = append(w.Classes, Class{Name: name, Requests: of.Requests, Good: of.Good, Values: of.Values, Hist: of.Hist})
	}
	add(record.AllRequests, *w)
	whole, one := t.Requests, new(Reducer)
	for i, c := range s.Classes {
		s.class = emptied(s.class, len(whole))
		for _, r := range whole {
			if int(r.Class) == i {
				s.class = append(s.class, r)
			}
		}
		t.Requests = s.class
		of := one.tallied(t, e, clients)
		add(c.Name, of)
		if !c.Judged {
			continue
		}
		w.Others, w.Tau = w.Requests-of.Requests, of.Tau
		for _, m := range stats.Quantiles() {
			f := m.Figure
			w.Values[f], w.FromSent[f], w.Late[f] = of.Values[f], of.FromSent[f], of.Late[f]
		}
	}
}

// tallied returns the figures of a trial's requests without phases and heat map.
func (s *Reducer) tallied(t record.TrialRecord, e record.Env, clients record.Clients) Window {
	response, service, lag := s.room(0, len(t.Requests)), s.room(1, len(t.Requests)), s.room(2, len(t.Requests))
	tally := tallyOf(t.Trial, clients, response, service, &added{}, lag)
	for i := range t.Requests {
		tally.count(t.Requests[i])
	}
	// The correlation time needs the order of the requests, so take it before they are sorted.
	s.series = response.first(stats.LongestSeries, s.series)
	tally.w.Tau = stats.CorrelationTime(s.series)
	w := tally.window(t.Trial, e)
	w.Hist = t.Histogram(t.Requests)
	return w
}

// A Reducer reduces one trial after the other in the same memory: a long trial takes tens of megabytes. The zero value is ready.
// It must not be used concurrently.
type Reducer struct {
	Classes []record.Class // of the plan; nil for none

	class           []request.Request // of one class
	times           [3][]time.Duration
	space           []time.Duration // in which times are sorted
	series          []float64
	passed, slowest []keyed
}

// room returns times in the memory of number i, empty and with room for n. It can be called once for each i.
func (s *Reducer) room(i, n int) *times {
	s.times[i], s.space = emptied(s.times[i], n), emptied(s.space, n)
	return &times{all: s.times[i], space: s.space}
}

// emptied returns s without elements, and with room for n, or for a few more if it is made anew: the next trial may have some
// more requests.
func emptied[T any](s []T, n int) []T {
	if cap(s) < n {
		s = make([]T, 0, n+n/32)
	}
	return s[:0]
}

// PerIter returns the calibrated time of one iteration of CPU demand, in seconds; 0 if it is unknown.
func PerIter(e record.Env) float64 {
	if e.ItersPerUsec <= 0 {
		return 0
	}
	return 1e-6 / e.ItersPerUsec
}

// recorded adds the figures that come from the load's and the server's side of the record, and not from the requests. One that
// the record lacks stays unknown; Jain is 0 without replies.
func (w *Window) recorded(e record.Env) {
	c, s, window := w.Trial.Client, w.Trial.Server, w.Trial.Window.Seconds()
	answers := make([]float64, len(c.ConnAnswers))
	for i, n := range c.ConnAnswers {
		answers[i] = float64(n)
	}
	w.Jain, w.Asked, w.Starved = stats.Jain(answers), c.Asked, c.Starved
	if w.Asked > 0 {
		w.Values[stats.Starved], w.Values[stats.Served] = stats.Known(float64(w.Starved)), stats.Known(float64(w.Asked-w.Starved))
		w.Values[stats.FirstReply] = stats.Known(c.FirstReply)
	}
	if c.Proof != nil {
		w.Values[stats.Busy] = stats.Known(c.Proof.Busy)
	}
	if s.CPU >= 0 && w.completions > 0 {
		w.Values[stats.CPUPerRequest] = stats.Known(s.CPU / float64(w.completions))
	}
	if s.Footprint != nil {
		w.Values[stats.Memory] = stats.Known(float64(s.Footprint.Memory))
	}
	if s.Saturated != nil {
		w.Values[stats.Capacity], w.Growth = stats.Known(s.Saturated.Capacity()), stats.Known(s.Saturated.Growth())
		w.Beside = stats.Known(w.Values[stats.CPUPerRequest].Float() / s.Saturated.PerReply())
		w.Busy = stats.Known(s.CPU / window / float64(s.Saturated.CPUs))
	}
	if n := s.Within; n != nil {
		w.Values[stats.Accepted], w.Values[stats.Done], w.Values[stats.StillOpen] = stats.Known(n.Accepted), stats.Known(n.Done), stats.Known(n.Open)
	}
	if s.LoopBusy != nil && s.CPU > 0 {
		w.Values[stats.Loops] = stats.Known(min(1, *s.LoopBusy/s.CPU)) // a loop counts as busy by the clock, even while something interrupts it
	}
	if s.ThrottledPeriods != nil {
		w.Values[stats.Throttled], w.Values[stats.Stops] = stats.Known(s.Throttled/window), stats.Known(*s.ThrottledPeriods/window)
	}
	if k := s.Kernel; k != nil {
		if k.Voluntary >= 0 && k.Involuntary >= 0 && w.completions > 0 {
			w.Values[stats.Switches] = stats.Known((k.Voluntary + k.Involuntary) / float64(w.completions))
		}
		if k.ListenOverflows >= 0 {
			w.Values[stats.Overflows] = stats.Known(k.ListenOverflows)
		}
	}
	w.Stolen = share(c.Steal, window*float64(max(e.CPUs, 1)))
	w.Throttled = share(c.Throttled, window)
	w.Foreign = share(s.Foreign, window*float64(cpuset.Count(e.ServerCPUs, e.CPUs)))
	if len(e.SharedCPUs()) > 0 {
		w.LoadShare = share(c.CPU, window*float64(cpuset.Count(e.LoadCPUs, e.CPUs)))
	}
}

// share returns which part of the seconds of CPU time was used; not known if used is below 0.
func share(used, of float64) stats.Opt {
	if used < 0 {
		return stats.Opt{}
	}
	return stats.Known(used / of)
}

// Limits beyond which a window's data are wrong, or its arm is overloaded.
const (
	backlogLimit  = .02  // ratio of the arrivals that may be added to the backlog, without what chance adds
	unjoinedLimit = .001 // ratio of good requests for which the server's stamps may be missing
)

// RuleStoodStill is the rule that a window breaks if the load itself stood still in it, as when its process is stopped: the
// times of such a window tell of the load and not of the server.
const RuleStoodStill = "load stood still (s)"

// stillLimit is the time, in seconds, for which a load may stand still in a trial.
const stillLimit = 3

// stoodStill returns the longest time, in seconds, for which the load did nothing although it had to; 0 if it is not known.
func (w *Window) stoodStill() float64 {
	switch p := w.Trial.Client.Proof; {
	case p == nil:
		return 0
	case p.Rest != "": // the engine spin looks at its clock all the time
		return p.LongestGap
	case w.Clients.Closed() || w.Behind(): // a client waits for its reply, or the load cannot keep its schedule
		return 0
	default:
		return p.LongestLag
	}
}

// RuleBacklog is the rule that an overloaded arm breaks, which does not make its data wrong.
const RuleBacklog = "backlog (ratio)"

// RuleLittle is the rule that a window breaks in which Little's law does not hold.
const RuleLittle = LawLittle + " (ratio)"

// Breaches returns the rules that the window breaks. serverCPUs is the number of CPUs that the server had, judged holds
// the quantiles that the plan judges, and stamped says whether the server should have stamped its requests. Noise breaks
// no rule: see verdicts.go of package judge. A window without requests breaks only the rule that it must have some.
func (w *Window) Breaches(serverCPUs int, judged map[stats.Figure]bool, stamped bool) (broken []record.Refusal) {
	add := func(name string, value, limit float64) {
		broken = append(broken, record.Refusal{Block: w.Trial.Block, Arm: w.Trial.Arm, Rule: name, Value: value, Limit: limit})
	}
	rule := func(name string, value, limit float64) {
		if value > limit {
			add(name, value, limit)
		}
	}
	if w.Requests == 0 {
		add("requests in the window", 0, 1)
		return broken
	}
	rule(RuleStoodStill, w.stoodStill(), stillLimit)
	for _, m := range stats.Quantiles() {
		// Here the value is below its limit, so rule does not fit.
		if need := stats.MinRequests(m.Quantile); judged[m.Figure] && w.Judged() < need {
			add("too few requests for "+m.Name, float64(w.Judged()), float64(need))
		}
	}
	// The backlog of a closed loop cannot grow: it is at most the number of its clients.
	if !w.Clients.Closed() {
		rule(RuleBacklog, w.backlog(), w.backlogLimit())
	}
	rule("stamps out of order", float64(w.backwards), 0)
	if stamped && w.Phases.Stamped {
		rule("requests the server did not account for (ratio)", w.Phases.Unjoined(), unjoinedLimit)
		rule("requests with a part below zero", float64(w.Phases.Negative), 0)
	}
	for _, l := range w.Laws(serverCPUs) {
		rule(RuleOf(l), l.Value, l.Limit)
	}
	return broken
}

// Judged returns the number of requests that the quantiles are about.
func (w *Window) Judged() int { return w.Requests - w.Others }

// backlog returns by how much the number in flight grew over the window, as a ratio of the
// arrivals.
func (w *Window) backlog() float64 { return float64(w.Requests-w.completions) / float64(w.Requests) }

// backlogLimit returns by how much a backlog may grow, as a ratio of the arrivals. It allows for the chance in Poisson
// arrivals, by which the numbers in flight at the start and at the end differ with a standard deviation of about
// √(start+end), and for the swing within the window (decision 2).
func (w *Window) backlogLimit() float64 {
	chance := max(3*math.Sqrt(float64(w.presence.ends)), 2.5*w.presence.swing())
	return max(backlogLimit, chance/float64(w.Requests))
}

// Behind reports whether a growing backlog may be in the generator and not the server: the load's CPUs are full.
func (w *Window) Behind() bool { return w.Generator > GeneratorLimit }

// GeneratorLimit is the ratio of the load's CPU time above which its CPUs count as full.
const GeneratorLimit = .80

// ShareLimit is the ratio of a CPU's time that a load may use if it shares the CPU with servers.
// The plan chooses the rate so that the load stays below it.
const ShareLimit = .15

// slowestShare is the ratio of requests that make up the tail. Their mean time is the sum of the means of its parts, which a
// quantile is not.
const slowestShare = .01

// Phases tells where the time of a window's good requests went, in parts that follow each other without a gap. So the
// parts add up to the response time, and a difference between two arms can be traced to the parts. Service is split by
// what the request asked for: CPU time, sleep and the rest.
type Phases struct {
	Stamped  bool // the record has the stamps of the client
	Joined   int  // good requests with stamps of the server
	Good     int
	Negative int // requests with a part below 0
	Lost     int // stamps that the server took and could not keep

	Overtaken          float64                    // share of joined requests that the server read after one that was written later
	Mean, Tail         [timeline.NumParts]float64 // seconds per request, over all and over the slowest
	meanCPU, tailCPU   float64                    // of Service: calibrated demand
	meanWait, tailWait float64                    // of Service: sleep asked for
}

// PhasesOf divides the time of a trial's window by the stamps of the client and the server. perIter is the calibrated
// time of one iteration of CPU demand, in seconds. It is the zero value for a trial without stamps.
func PhasesOf(t record.TrialRecord, perIter float64) Phases {
	return phasesOf(t, perIter, new(Reducer))
}

// phasesOf is PhasesOf in the memory of s.
func phasesOf(t record.TrialRecord, perIter float64, s *Reducer) (p Phases) {
	if len(t.Stamps) == 0 {
		return p
	}
	p.Stamped = true
	p.Lost = int(min(t.Server.StampsLost, math.MaxInt32))
	s.passed = emptied(s.passed, len(t.Requests))
	passed := s.passed
	for i := range t.Requests {
		if r, stamps := &t.Requests[i], &t.Stamps[i]; t.InWindow(*r) && r.Good() {
			p.Good++
			if stamps.Joined() {
				passed = append(passed, keyed{stamps.Wrote, stamps.Read})
			}
		}
	}
	p.Joined, p.Overtaken = len(passed), overtaken(passed)
	divided := p.Good
	if p.Lost > 0 {
		divided = p.Joined // without its stamps, the time of a request cannot be divided
	}
	slowest := slowest{most: int(math.Ceil(slowestShare * float64(divided))), kept: s.slowest[:0]}
	asleep := passed[:0] // the sleeps asked for, by response time
	all, tail := means{n: float64(divided)}, means{n: float64(slowest.most)}
	for i := range t.Requests {
		r, stamps := &t.Requests[i], &t.Stamps[i]
		if !t.InWindow(*r) || !r.Good() || !stamps.Joined() && p.Lost > 0 {
			continue
		}
		parts := PartsOf(*r, *stamps)
		if _, negative := parts.Negative(); negative {
			p.Negative++
		}
		all.add(r, parts, perIter)
		slowest.add(r.Done-r.Scheduled, i)
		if r.Sleep != 0 {
			asleep = append(asleep, keyed{r.Done - r.Scheduled, r.Sleep})
		}
	}
	// The order of the sum decides how it is rounded. In the order of the response times an older record gives the same digits as
	// when it was made.
	slices.SortFunc(asleep, largestFirst)
	for _, one := range asleep {
		all.wait += time.Duration(one.value).Seconds() / all.n
	}
	for _, one := range slowest.list() {
		r := &t.Requests[one.value]
		tail.add(r, PartsOf(*r, t.Stamps[one.value]), perIter)
		tail.wait += time.Duration(r.Sleep).Seconds() / tail.n
	}
	s.slowest = slowest.kept
	p.Mean, p.meanCPU, p.meanWait = all.parts, all.cpu, all.wait
	p.Tail, p.tailCPU, p.tailWait = tail.parts, tail.cpu, tail.wait
	return p
}

// keyed is one figure of a request, with the time by which requests are sorted. It takes less memory than a request.
type keyed struct{ key, value int64 }

// largestFirst is the order of falling keys.
func largestFirst(a, b keyed) int { return cmp.Compare(b.key, a.key) }

// overtaken returns the ratio of requests that the server read after a request that was written later. The key of each is
// when it was written, the value when it was read. overtaken sorts all by key.
func overtaken(all []keyed) float64 {
	slices.SortFunc(all, largestFirst)
	// A request was overtaken if one written after it was read before it, so one pass with the earliest reading so
	// far is enough.
	n, earliest := 0, int64(math.MaxInt64)
	for _, s := range all { // from the last that was written
		n += stats.Count(s.value > earliest)
		earliest = min(earliest, s.value)
	}
	return float64(n) / float64(max(len(all), 1))
}

// slowest keeps the most requests with the longest response times, and at no time more than twice as many.
type slowest struct {
	most  int
	kept  []keyed // by response time and index: the slowest so far and, until the next cut, some others
	floor int64   // 0, or the shortest time of s.most requests that are kept: what took no longer is not added
}

// add adds the request at index, which took so many nanoseconds.
func (s *slowest) add(took int64, index int) {
	if s.floor > 0 && took <= s.floor {
		return
	}
	if s.kept = append(s.kept, keyed{took, int64(index)}); len(s.kept) == 2*s.most {
		s.kept = s.list()
		s.floor = s.kept[s.most-1].key
	}
}

// list returns them, the slowest first.
func (s *slowest) list() []keyed {
	slices.SortFunc(s.kept, largestFirst)
	return s.kept[:min(s.most, len(s.kept))]
}

// means are the means of where n requests' time went, in seconds per request. They are added up in the order of the
// record, but for wait, the sleep asked for.
type means struct {
	n         float64
	parts     [timeline.NumParts]float64
	cpu, wait float64
}

// add adds a request, but for its sleep. perIter is as in [PhasesOf].
func (m *means) add(r *request.Request, parts timeline.Parts, perIter float64) {
	for i, d := range parts {
		if d != 0 { // most parts of most requests are 0
			m.parts[i] += float64(d) / 1e9 / m.n
		}
	}
	m.cpu += float64(r.Iters) * perIter / m.n
}

// Unjoined returns the ratio of good requests that the server did not account for, lost stamps aside. It is in 0..1.
func (p *Phases) Unjoined() float64 {
	return float64(max(0, p.Good-p.Joined-p.Lost)) / float64(max(p.Good, 1))
}

// Handled is the handler's time as the server stamps it, before it is divided.
var Handled = timeline.Stretch{Name: timeline.Service.String(), Phases: []string{timeline.PhaseCPU, timeline.PhaseSleep, timeline.PhaseRest, timeline.PhaseHandler}}

// List returns p in the form of the record, in the order in which time passes.
func (p *Phases) List() (list []timeline.Phase) {
	for part := range timeline.NumParts {
		if part != timeline.Service {
			list = append(list, timeline.Phase{Name: part.String(), Mean: p.Mean[part], Tail: p.Tail[part]})
			continue
		}
		// The rest of Service is waiting for a CPU, preemption, the server's own work. It is below 0 if demands ran
		// faster than when they were calibrated.
		rest := timeline.Phase{Name: timeline.PhaseRest, Mean: p.Mean[part] - p.meanCPU - p.meanWait, Tail: p.Tail[part] - p.tailCPU - p.tailWait}
		handler := timeline.Phase{Name: timeline.PhaseHandler}
		// No request stated a demand, so Service is the handler's time as a whole.
		if p.meanCPU+p.meanWait == 0 {
			rest.Mean, rest.Tail, handler.Mean, handler.Tail = 0, 0, rest.Mean, rest.Tail
		}
		list = append(list,
			timeline.Phase{Name: timeline.PhaseCPU, Mean: p.meanCPU, Tail: p.tailCPU},
			timeline.Phase{Name: timeline.PhaseSleep, Mean: p.meanWait, Tail: p.tailWait}, rest, handler)
	}
	return list
}

// PartsOf divides the response time of a good request by its stamps. Without stamps of the server only the client's
// parts are known.
func PartsOf(r request.Request, s request.Stamps) timeline.Parts {
	c := timeline.Client{Scheduled: r.Scheduled, Sent: r.Sent, Ready: s.Ready, Wrote: s.Wrote, First: s.First, Done: r.Done}
	if !s.Joined() {
		return timeline.Unjoined(c)
	}
	return timeline.Split(c, timeline.Server{
		Accept: s.Accept, Received: s.Received, Read: s.Read,
		Enqueue: s.Enqueue, Dequeue: s.Dequeue, Begin: s.Begin, End: s.End, Write: s.Write,
	})
}
