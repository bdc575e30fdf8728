package window

import (
	"math"
	"math/bits"
	"net/http"
	"slices"
	"time"

	"schedlab/internal/shared/cpuset"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
	"schedlab/internal/shared/responses"
	"schedlab/internal/shared/stats"
	"schedlab/internal/shared/timeline"
)

// A Tally counts the requests of a trial as they end, and keeps none of them: its memory does not grow. Make one with
// NewTally, add every request, and take its Window in the end. It is not safe for concurrent use.
//
// [Reduce] counts the same with all times at hand. The Window of a Tally differs in this: its quantiles have three digits,
// requests of one length within 1.6 % count as equally slow, and it has no heat map, no correlation time, no quantiles
// from the sending, and no requests in flight, so no laws can be checked.
type Tally struct {
	w                             Window
	response, service, good, lag  spread // service counts from the sending
	ends                          map[end]int
	lost, sent, goodDone, noReply int
	missed                        [instants]missing // by when requests were scheduled
	parts                         *parts            // nil in Reduce, which has them from [PhasesOf]
}

// An end is how a request ended, in one word: its outcome above its status.
type end uint32

func endOf(r request.Request) end { return end(r.Outcome)<<16 | end(r.Status) }

// request returns a request that ended so.
func (e end) request() request.Request {
	return request.Request{Outcome: request.End(e >> 16), Status: uint16(e)}
}

// missing counts requests, and those of them without a good reply within their deadline.
type missing struct{ all, missed int }

// good reports whether a request got a good reply, within its deadline if it has one.
func (t *Tally) isGood(r request.Request) bool {
	by := t.w.Clients.Patience.Deadline.Duration
	return r.Good() && (by == 0 || r.Done-r.Scheduled <= int64(by))
}

// goodputOf returns the good replies a second: of the replies that came in the window or, where requests have a deadline, of the
// requests that were scheduled in it.
func (t *Tally) goodputOf(window float64) float64 {
	if t.w.Clients.Patience.Deadline.Duration > 0 {
		return float64(t.w.Good) / window
	}
	return float64(t.goodDone) / window
}

// missLimit is the ratio of requests without a good reply within their deadline above which a server has not recovered.
const missLimit = .01

// recovered returns the seconds from the window's start to the end of the last part in which more than missLimit of the requests
// missed their deadline; 0 if there is none.
func (t *Tally) recovered(window float64) float64 {
	for i, part := range slices.Backward(t.missed[:]) {
		if float64(part.missed) > missLimit*float64(part.all) {
			return window * float64(i+1) / instants
		}
	}
	return 0
}

// NewTally returns an empty Tally of a trial. The trial has its Warmup and its Window, and clients is the load of its arm.
func NewTally(trial record.Trial, clients record.Clients) *Tally {
	response := newRounded()
	t := tallyOf(trial, clients, response, &summed{}, &summed{}, newRounded())
	t.w.Hist, t.parts = response.Histogram, new(parts)
	t.w.Tau = math.Inf(1) // not known, so no number of requests counts as independent
	return t
}

// tallyOf returns an empty Tally with its spreads.
func tallyOf(trial record.Trial, clients record.Clients, response, service, good, lag spread) *Tally {
	from := int64(trial.Warmup.Duration)
	return &Tally{
		w: Window{
			Trial: trial, Clients: clients, Status: map[uint16]float64{}, Failures: map[string]int{},
			presence: presence{from: from, to: from + int64(trial.Window.Duration)},
		},
		response: response, service: service, good: good, lag: lag, ends: map[end]int{},
	}
}

// Add counts a request, with the client's stamps.
func (t *Tally) Add(r request.Request, s request.Stamps) {
	if t.count(r) && r.Good() {
		t.parts.add(r, s)
	}
}

// Requests returns how many requests of the window were counted, how many of these got a good reply, and how many got no
// reply at all.
func (t *Tally) Requests() (all, good, noReply int) { return t.w.Requests, t.w.Good, t.noReply }

// Quantile returns a quantile q, 0..1, of the response times so far.
func (t *Tally) Quantile(q float64) time.Duration { return t.w.Hist.Quantile(q) }

// Window returns the figures of the trial. trial is complete now; its Window is shorter than planned if the load was
// stopped. It can be called once.
func (t *Tally) Window(trial record.Trial, e record.Env) Window {
	w := t.window(trial, e)
	phases, tail := t.parts.phases()
	w.Phases, w.Values[stats.Tail] = phases, stats.Known(tail)
	return w
}

// count counts a request, and reports whether the request is of the window. Only its parts are left to be added then.
func (t *Tally) count(r request.Request) (counts bool) {
	w := &t.w
	within := w.presence.within
	counts = w.Trial.InWindow(r)
	switch {
	case t.parts != nil: // who is in flight is not asked
	case w.Clients.Closed():
		// A closed loop has no schedule that the server cannot delay, so its requests count
		// from when they were sent.
		w.presence.add(r.Sent, r.Done, within(r.Done))
	default:
		w.presence.add(r.Scheduled, r.Done, counts)
	}
	w.completions += stats.Count(within(r.Done))
	good := t.isGood(r)
	t.goodDone += stats.Count(within(r.Done) && good)
	// Sent is below 0 for a request that was never sent.
	w.outcomes += stats.Count(r.Sent >= 0)
	t.sent += stats.Count(r.Sent >= 0 && within(r.Sent))
	if !counts {
		return false
	}
	w.Requests++
	w.backwards += stats.Count(r.Sent >= 0 && (r.Sent < r.Scheduled || r.Done < r.Sent))
	w.Good += stats.Count(good)
	if w.Clients.Patience != (record.Patience{}) {
		t.countPatience(r, good)
	}
	t.ends[endOf(r)]++
	took := time.Duration(r.Done - r.Scheduled)
	t.response.add(took)
	if r.Good() {
		t.good.add(took)
	}
	t.noReply += stats.Count(r.Outcome != request.Answered)
	t.lost += stats.Count(r.Outcome != request.Answered || r.Status == http.StatusServiceUnavailable)
	if r.Sent >= 0 {
		t.lag.add(time.Duration(r.Sent - r.Scheduled))
		t.service.add(time.Duration(r.Done - r.Sent))
	}
	return true
}

// countPatience counts a request of the window: its retries, and whether it missed its deadline.
func (t *Tally) countPatience(r request.Request, good bool) {
	w := &t.w
	w.Retries += int(r.Retries)
	part := &t.missed[min(max(int((r.Scheduled-w.presence.from)*instants/max(w.presence.to-w.presence.from, 1)), 0), instants-1)]
	part.all++
	part.missed += stats.Count(!good)
	late := r.Outcome == request.TimedOut || r.Good()
	w.TooLate += stats.Count(!good && late && w.Clients.Patience.Deadline.Duration > 0)
}

// window returns the figures of all that was counted, but for those of the stamps.
func (t *Tally) window(trial record.Trial, e record.Env) Window {
	w := t.w
	w.Trial = trial
	for of, n := range t.ends {
		r := of.request()
		w.Status[r.Status] += float64(n)
		if !r.Good() {
			w.Failures[r.End()] += n
		}
	}
	for code := range w.Status {
		w.Status[code] /= float64(max(w.Requests, 1))
	}
	// A quantile with too few requests beyond it is chance: it stays unknown. The lateness of the load is not judged.
	for _, m := range stats.Quantiles() {
		w.Late[m.Figure] = stats.Known(t.lag.quantile(m.Quantile))
		if w.Requests >= stats.MinRequests(m.Quantile) {
			w.Values[m.Figure], w.FromSent[m.Figure] = stats.Known(t.response.quantile(m.Quantile)), stats.Known(t.service.quantile(m.Quantile))
		}
	}
	window := trial.Window.Seconds()
	w.Values[stats.Goodput] = stats.Known(t.goodputOf(window))
	if w.Clients.Patience.Deadline.Duration > 0 && w.Requests > 0 {
		w.Values[stats.InTime], w.Values[stats.Recovered] = stats.Known(float64(w.Good)/float64(w.Requests)), stats.Known(t.recovered(window))
	}
	if w.Clients.Patience.Retries > 0 && w.Requests > 0 {
		w.Values[stats.Retries] = stats.Known(float64(w.Retries) / float64(w.Requests))
	}
	w.Values[stats.Throughput] = stats.Known(float64(w.completions) / window)
	w.Values[stats.Tail] = stats.Known(t.response.tail())
	w.Values[stats.Mean], w.Values[stats.GoodMean] = stats.Known(t.response.mean()), stats.Known(t.good.mean())
	w.Values[stats.Errors] = stats.Known(float64(w.Requests-w.Good) / float64(max(w.Requests, 1)))
	w.Values[stats.Loss] = stats.Known(float64(t.lost) / float64(max(w.Requests, 1)))
	w.RateOff = math.Abs(float64(t.sent)/float64(max(w.Requests, 1)) - 1)
	w.Generator = trial.Client.CPU / (window * float64(cpuset.Count(e.LoadCPUs, e.CPUs)))
	if p := trial.Client.Proof; p != nil && p.Rest != "" { // the engine spin uses all of its CPU whatever it does, so take its own count
		w.Generator = p.Busy
	}
	if q := trial.Client.Pending; w.Clients.Closed() {
		w.presence.pending(q)
		// Coordinated omission: a client that waits for a slow reply cannot send the requests that are due by its pace meanwhile.
		if due := w.Clients.Rate * window; due > 0 {
			w.Unsent = max(0, 1-float64(t.sent+q.Requests-q.Early)/due)
		}
	} else {
		w.Unclocked = w.presence.leave(trial.Client.Starved)
	}
	w.recorded(e)
	return w
}

// A spread holds times, and tells figures of them in seconds; NaN without any.
type spread interface {
	add(took time.Duration)
	quantile(q float64) float64
	mean() float64
	tail() float64 // the mean of the slowest 1 %, as in Phases
}

// times keeps every time.
type times struct {
	all, space []time.Duration // space has room for all, to sort them
	sorted     bool
}

func (t *times) add(took time.Duration) { t.all = append(t.all, took) }

func (t *times) quantile(q float64) float64 {
	if len(t.all) == 0 {
		return math.NaN()
	}
	return t.ascending()[stats.QuantileIndex(len(t.all), q)].Seconds()
}

func (t *times) tail() float64 {
	all := t.ascending()
	return mean(all[len(all)-len(all)/100:])
}

func (t *times) mean() float64 { return mean(t.all) }

// ascending sorts the times, and returns them.
func (t *times) ascending() []time.Duration {
	if !t.sorted {
		stats.Sort(t.all, t.space)
		t.sorted = true
	}
	return t.all
}

// first returns the first n times that are kept, or fewer, in seconds and in the memory of space.
func (t *times) first(n int, space []float64) []float64 {
	n = min(n, len(t.all))
	seconds := emptied(space, n)
	for _, took := range t.all[:n] {
		seconds = append(seconds, took.Seconds())
	}
	return seconds
}

// mean returns the mean of times, in seconds; NaN without any. It adds them in their order.
func mean(all []time.Duration) float64 {
	sum := 0.0
	for _, took := range all {
		sum += took.Seconds()
	}
	return sum / float64(len(all))
}

// added only adds times up, in the order in which they come. Their quantiles are not known.
type added struct {
	seconds float64
	n       int
}

func (a *added) add(took time.Duration) {
	a.seconds += took.Seconds()
	a.n++
}

func (a *added) quantile(float64) float64 { return math.NaN() }
func (a *added) tail() float64            { return math.NaN() }
func (a *added) mean() float64            { return a.seconds / float64(a.n) }

// summed only adds times up. Their quantiles are not known.
type summed struct {
	sum time.Duration
	n   int
}

func (s *summed) add(took time.Duration) {
	s.sum += took
	s.n++
}

func (s *summed) quantile(float64) float64 { return math.NaN() }
func (s *summed) tail() float64            { return math.NaN() }
func (s *summed) mean() float64            { return s.sum.Seconds() / float64(s.n) }

// rounded counts times to three digits, and adds them up exactly.
type rounded struct {
	summed
	*responses.Histogram
}

func newRounded() *rounded { return &rounded{Histogram: responses.NewHistogram()} }

func (h *rounded) add(took time.Duration) {
	h.summed.add(took)
	h.Record(took)
}

func (h *rounded) quantile(q float64) float64 {
	if h.n == 0 {
		return math.NaN()
	}
	return h.Quantile(q).Seconds()
}

// clientParts are the parts that the client's stamps tell alone, which add up to the response time.
var clientParts = [...]timeline.Part{timeline.Lag, timeline.Connect, timeline.Build, timeline.Ingress, timeline.Receive}

// parts adds up the client's parts of good requests' response times, by the length of the response time, so that the slowest
// 1 % can be told without keeping the requests.
type parts [rows]class

// A class is the requests of about one length.
type class struct {
	sums [len(clientParts)]int64
	n    int
}

// rows is the number of classes of response times: 64 for each power of two of nanoseconds.
const rows = 64 * 64

// rowOf returns the class of a time in nanoseconds: its highest bit, and the six bits below.
func rowOf(took int64) int {
	took = max(took, 1)
	high := bits.Len64(uint64(took)) - 1
	return high<<6 | int(uint64(took)<<(63-high)>>57&63)
}

func (p *parts) add(r request.Request, s request.Stamps) {
	c := &p[rowOf(r.Done-r.Scheduled)]
	c.n++
	from := r.Scheduled
	for i, until := range [len(clientParts)]int64{r.Sent, s.Ready, s.Wrote, s.First, r.Done} {
		c.sums[i] += until - from
		from = until
	}
}

// phases returns the means of the parts, over all requests and over the slowest 1 %, and the mean time of the latter, NaN
// without requests. A class of which only some are among the slowest counts in proportion.
func (p *parts) phases() (f Phases, tail float64) {
	for _, c := range p {
		f.Good += c.n
	}
	if f.Good == 0 {
		return f, math.NaN()
	}
	slow := math.Ceil(slowestShare * float64(f.Good))
	left := slow
	f.Stamped = true
	for row := rows - 1; row >= 0; row-- {
		c := &p[row]
		share := min(1, left/float64(max(c.n, 1)))
		left -= share * float64(c.n)
		for i, part := range clientParts {
			seconds := time.Duration(c.sums[i]).Seconds()
			f.Mean[part] += seconds / float64(f.Good)
			f.Tail[part] += share * seconds / slow
		}
	}
	for _, part := range f.Tail {
		tail += part
	}
	return f, tail
}
